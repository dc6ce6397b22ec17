package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

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

// mostBody bounds what a forge may say: it lists the commits of a push.
const mostBody = 8 << 20

// NeedLeaderElection implements manager.LeaderElectionRunnable: any replica is told.
func (w *Webhooks) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *Webhooks) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", w.Address)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	s := &http.Server{Handler: w, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10}
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
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, mostBody))
	if err != nil {
		http.Error(out, "the body is too large, or broke off", http.StatusRequestEntityTooLarge)
		return
	}
	if !signed(r.Header, body, secret) {
		http.Error(out, "signed with another secret, or not at all", http.StatusUnauthorized)
		return
	}
	keys, err := repositoriesOf(body)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.Wake(keys)
	out.WriteHeader(http.StatusAccepted)
}

// signed says that who sent this knows the secret: GitHub and Gitea sign the body,
// GitLab sends it.
func signed(h http.Header, body, secret []byte) bool {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body)
	sum := mac.Sum(nil)
	for _, said := range []string{strings.TrimPrefix(h.Get("X-Hub-Signature-256"), "sha256="), h.Get("X-Gitea-Signature")} {
		if got, err := hex.DecodeString(said); err == nil && hmac.Equal(got, sum) {
			return true
		}
	}
	token := h.Get("X-Gitlab-Token")
	return token != "" && subtle.ConstantTimeCompare([]byte(token), secret) == 1
}

// addresses are the fields of forges that hold one.
var addresses = []string{"clone_url", "ssh_url", "git_url", "html_url", "git_http_url", "git_ssh_url", "http_url", "web_url", "homepage", "url"}

// repositoriesOf are the keys of the repository that an event is about.
func repositoriesOf(body []byte) (keys []string, err error) {
	var event struct {
		Repository map[string]any `json:"repository"`
		Project    map[string]any `json:"project"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, errors.New("the body is no event in JSON: choose application/json as its type")
	}
	for _, of := range []map[string]any{event.Repository, event.Project} {
		for _, field := range addresses {
			if address, _ := of[field].(string); address != "" {
				keys = append(keys, wakeKey(address))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
