package controller

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/source"
)

// wakes knows which shards a repository concerns: those whose last run named it. A
// shard that has not run yet needs no waking.
type wakes struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[Request]
	uses  map[Request][]string
	moved map[Request][]string // since the last run began
}

// note remembers the repositories of a run: the management directory's and the Fleet's.
// The first of several shards is concerned by what others move, too.
func (w *wakes) note(r Request, f *variformv1alpha1.Fleet, read *source.Fleet) {
	var list []string
	add := func(address string) {
		if k := wakeKey(address); !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	if g := f.Spec.Source.Git; g != nil {
		add(g.Repo)
	}
	for _, repo := range read.Repositories {
		if repo.Spec.Git != nil {
			add(repo.Spec.Git.Repo)
		}
	}
	if r.Shard.Index == 1 && !r.Shard.Whole() {
		list = append(list, othersKey(r))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uses == nil {
		w.uses = map[Request][]string{}
	}
	w.uses[r] = list
}

func (w *wakes) forget(fleet client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.uses {
		if r.NamespacedName == fleet {
			delete(w.uses, r)
			delete(w.moved, r)
		}
	}
}

// keep forgets shards other than these.
func (w *wakes) keep(live map[Request]*unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.uses, func(r Request, _ []string) bool { return live[r] == nil })
	maps.DeleteFunc(w.moved, func(r Request, _ []string) bool { return live[r] == nil })
}

// wake has the shards run that a repository concerns.
func (w *wakes) wake(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, uses := range w.uses {
		used := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !slices.Contains(uses, k) })
		if w.queue == nil || len(used) == 0 {
			continue
		}
		if w.moved == nil {
			w.moved = map[Request][]string{}
		}
		w.moved[r] = append(w.moved[r], used...)
		w.queue.Add(r)
	}
}

// again has a shard run once more, in a moment, for repositories that it moved itself, by
// observe.ShardKey.
func (w *wakes) again(r Request, keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil || len(keys) == 0 {
		return
	}
	if w.moved == nil {
		w.moved = map[Request][]string{}
	}
	for _, k := range keys {
		w.moved[r] = append(w.moved[r], wakeKeyOf(k))
	}
	w.queue.AddAfter(r, time.Second)
}

// taken are the keys of the repositories that moved since it was asked last.
func (w *wakes) taken(r Request) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.moved[r]
	delete(w.moved, r)
	return out
}

// wakeKey stands for a repository, however its address is spelled: what replicas tell
// one another is no address.
func wakeKey(address string) string {
	return wakeKeyOf(decide.PlainAddress(gitrepo.Key(address)))
}

// wakeKeyOf is the same by observe.ShardKey.
func wakeKeyOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// othersKey stands for what the shards of a Fleet move beside its first.
func othersKey(r Request) string { return wakeKeyOf("shards of " + string(r.UID)) }

// Webhooks is told by forges that a repository has moved: Gitea, GitHub, GitLab and those
// that speak like one of them. It wakes who looks at the repository, and nothing else of
// what it is told is used.
type Webhooks struct {
	// Address is where it listens.
	Address string
	// Secret is what forges sign with, or send. It is asked each time.
	Secret func() ([]byte, error)
	// Wake is told of repositories, by key.
	Wake func(keys []string)
}

const (
	// mostBody bounds what a forge may say: it lists the commits of a push.
	mostBody = 8 << 20
	// mostConnections is how many are served at once, each with little memory: of a body
	// only what names the repository is kept. Others wait to be accepted.
	mostConnections = 256
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: any replica is told.
func (w *Webhooks) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *Webhooks) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", w.Address)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	l = netutil.LimitListener(l, mostConnections)
	s := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("webhooks: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (w *Webhooks) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(out, "POST what happened", http.StatusMethodNotAllowed)
		return
	}
	secret, err := w.Secret()
	if err != nil || len(secret) == 0 {
		http.Error(out, "no secret is set here: nobody can be believed", http.StatusServiceUnavailable)
		return
	}
	mac := hmac.New(sha256.New, secret)
	signed := sender(r.Header, secret, mac)
	if signed == nil { // nothing of the body is read
		http.Error(out, unsigned, http.StatusUnauthorized)
		return
	}
	body := http.MaxBytesReader(out, r.Body, mostBody)
	keys, bad := repositoriesOf(io.TeeReader(body, mac))
	_, err = io.Copy(mac, body) // what stands behind the event is signed, too
	switch {
	case err != nil:
		http.Error(out, "the body is too large, or broke off", http.StatusRequestEntityTooLarge)
		return
	case !signed():
		http.Error(out, unsigned, http.StatusUnauthorized)
		return
	case bad != nil:
		http.Error(out, "the body is no event in JSON: choose application/json as its type", http.StatusBadRequest)
		return
	}
	w.Wake(keys)
	out.WriteHeader(http.StatusAccepted)
}

const unsigned = "signed with another secret, or not at all"

// sender returns nil for one who does not know the secret, whatever the body is, and else
// what to ask once mac has seen the body: GitHub and Gitea sign it, GitLab sends the secret.
func sender(h http.Header, secret []byte, mac hash.Hash) (signed func() bool) {
	token := h.Get("X-Gitlab-Token")
	if token != "" && subtle.ConstantTimeCompare([]byte(token), secret) == 1 {
		return func() bool { return true }
	}
	var sums [][]byte
	for _, said := range []string{strings.TrimPrefix(h.Get("X-Hub-Signature-256"), "sha256="), h.Get("X-Gitea-Signature")} {
		if sum, err := hex.DecodeString(said); err == nil && len(sum) == mac.Size() {
			sums = append(sums, sum)
		}
	}
	if len(sums) == 0 {
		return nil
	}
	return func() bool {
		is := mac.Sum(nil)
		return slices.ContainsFunc(sums, func(said []byte) bool { return hmac.Equal(said, is) })
	}
}

// addresses are the fields of forges that hold one.
var addresses = []string{"clone_url", "ssh_url", "git_url", "html_url", "git_http_url", "git_ssh_url", "http_url", "web_url", "homepage", "url"}

// mostDepth and mostToken bound an event's JSON: what a decoder holds of it at once.
const (
	mostDepth = 100
	mostToken = 4 << 10
)

// repositoriesOf returns the keys of the repository that an event is about. It holds one
// token at a time, as nobody has vouched for the event yet.
func repositoriesOf(body io.Reader) (keys []string, err error) {
	in := json.NewDecoder(&shortTokens{in: bufio.NewReader(body)})
	found := map[[2]string]string{} // by object and field: the last counts
	var path []string               // of objects, "" for a list
	name, isName := "", false
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) && len(path) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		inObject := len(path) > 0 && path[len(path)-1] != list
		switch t := token.(type) {
		case json.Delim:
			switch {
			case t == '}' || t == ']':
				path = path[:len(path)-1]
			case len(path) == mostDepth:
				return nil, errors.New("it is nested too deeply")
			case t == '[':
				path = append(path, list)
			default:
				path = append(path, name+".")
			}
			isName = len(path) > 0 && path[len(path)-1] != list
			continue
		case string:
			if inObject && isName {
				name, isName = t, false
				continue
			}
			if len(path) == 2 && (path[1] == "repository." || path[1] == "project.") && slices.Contains(addresses, name) {
				found[[2]string{path[1], name}] = t
			}
		}
		isName = inObject
	}
	for _, address := range found {
		if address != "" {
			keys = append(keys, wakeKey(address))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// list is a list's place in a path: an object's ends in a dot.
const list = "[]"

// wholeEscape is the length of \u0000 without its backslash; others have one character.
const wholeEscape = 5

// shortTokens passes JSON on, of long strings the beginning alone. Anything else that is
// long is no event.
type shortTokens struct {
	in     *bufio.Reader
	quoted bool
	length int  // of the token
	escape int  // how much of an escape is to come, which is kept whole or not at all
	kept   bool // it is kept
}

// Read implements io.Reader.
func (s *shortTokens) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c, err := s.in.ReadByte()
		if err != nil {
			return n, err
		}
		keep := true
		switch {
		case s.quoted && s.escape > 0:
			if keep = s.kept; s.escape == wholeEscape && c != 'u' {
				s.escape = 1
			}
			s.escape--
		case s.quoted && c == '"':
			s.quoted, s.length = false, 0
		case s.quoted:
			if s.length++; c == '\\' {
				s.escape, s.kept = wholeEscape, s.length <= mostToken
			}
			keep = s.length <= mostToken
		case c == '"':
			s.quoted, s.length = true, 0
		case strings.IndexByte(" \t\r\n,:[]{}", c) >= 0:
			s.length = 0
		default:
			if s.length++; s.length > mostToken {
				return n, errors.New("it has a long word")
			}
		}
		if keep {
			p[n] = c
			n++
		}
	}
	return n, nil
}
