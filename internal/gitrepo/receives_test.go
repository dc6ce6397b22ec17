package gitrepo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// pushed is a run that pushes a commit to a branch of its own and moves another on.
func pushed(t *testing.T, url string, o Options, n int, more func(b *Batch)) (*Repo, error) {
	t.Helper()
	r := openWith(t, url, o)
	b := r.NewBatch()
	defer func() { _ = b.Close() }()
	was, _ := r.Refs().Branch("moves")
	c := draftCommit(t, b, "a", fmt.Sprintf("v%d", n), nil, files(fmt.Sprintf("a%d", n), 3))
	if err := errors.Join(b.Update("refs/heads/moves", was.Hash, c.Hash), b.Create(fmt.Sprintf("refs/heads/new-%d", n), c.Hash)); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		more(b)
	}
	var err error
	last, err = b.Push(t.Context(), PushOptions{})
	return r, err
}

// last is what the last pushed reports.
var last *PushReport

// What a server can do is asked for where it is not known of that server, or where the answer
// has more to say than that; and no more once it took a push.
func TestPushUnasked(t *testing.T) {
	large := func(t *testing.T) func(b *Batch) {
		return func(b *Batch) {
			var fs []krm.File
			for i := range 11 {
				fs = append(fs, krm.File{Path: fmt.Sprintf("sub/%d", i), Data: noisy(i)[1].Data})
			}
			if err := b.Create("refs/heads/large", draftCommit(t, b, "a", "large", nil, fs).Hash); err != nil {
				t.Fatal(err)
			}
		}
	}
	type world struct {
		*site
		cache string
	}
	for name, tc := range map[string]struct {
		between func(t *testing.T, w *world)
		more    func(t *testing.T) func(b *Batch)
		asks    int
	}{
		"the same server":          {},
		"another version of it":    {between: func(t *testing.T, w *world) { w.repo.Git(t, "config", "uploadpack.allowTipSHA1InWant", "true") }, asks: 1},
		"an empty cache":           {between: func(_ *testing.T, w *world) { w.cache = "" }, asks: 1},
		"a damaged one":            {between: func(t *testing.T, w *world) { damageReceives(t, w.urls["http"], w.cache, "{") }, asks: 1},
		"one of something else":    {between: func(t *testing.T, w *world) { damageReceives(t, w.urls["http"], w.cache, `{"Of":""}`) }, asks: 1},
		"much to send":             {more: large, asks: 1},
		"a ref that was read anew": {more: func(t *testing.T) func(*Batch) { return func(b *Batch) { moveBehind(t, b) } }, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{newSite(t), t.TempDir()}
			w.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
			for n := range 3 {
				if _, err := pushed(t, w.urls["http"], Options{CacheDir: w.cache}, n, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.srv.Count(gittest.WriteRefs); got != 1 {
				t.Errorf("three runs asked %d times", got)
			}
			if tc.between != nil {
				tc.between(t, w)
			}
			var more func(b *Batch)
			if tc.more != nil {
				more = tc.more(t)
			}
			w.srv.ResetCounts()
			_, err := pushed(t, w.urls["http"], Options{CacheDir: w.cache}, 3, more)
			if stale := name == "a ref that was read anew"; err != nil != stale || stale && !errors.Is(err, ErrStale) {
				t.Fatal(err)
			}
			if got := w.srv.Count(gittest.WriteRefs); got != tc.asks {
				t.Errorf("asked %d times, want %d", got, tc.asks)
			}
			w.repo.Fsck(t)
		})
	}
}

func damageReceives(t *testing.T, url, cache, text string) {
	t.Helper()
	r := openWith(t, url, Options{CacheDir: cache})
	if err := os.WriteFile(r.receivesFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// moveBehind adds a move of a ref from where this run has not seen it.
func moveBehind(t *testing.T, b *Batch) {
	t.Helper()
	if err := b.Delete("refs/heads/new-0", Hash{1}); err != nil {
		t.Fatal(err)
	}
}

// A push that is sent unasked and not taken says what one says that asked, and moves nothing;
// the next one asks.
func TestPushUnaskedRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(t *testing.T, s *site)
		more    func(t *testing.T, b *Batch)
		want    error
		says    string
		asks    int // in the push
		sent    int
	}{
		"a ref moved": {
			between: func(t *testing.T, s *site) {
				s.srv.Before(func(kind, _ string) {
					if kind == gittest.Push {
						s.srv.Before(nil)
						s.repo.Commit(t, "moves", "by another", gittest.Text{"b": "b"})
					}
				})
			},
			want: ErrStale, says: "refs/heads/moves", sent: 1,
		},
		"a hook": {
			between: func(t *testing.T, s *site) { s.repo.Hook(t, "update", "echo not so; exit 1") },
			want:    ErrRejected, says: "hook declined", sent: 1,
		},
		"a name that cannot be": {
			more: func(t *testing.T, b *Batch) {
				if err := b.Create("refs/heads/moves/below", draftCommit(t, b, "a", "below", nil, files("a", 2)).Hash); err != nil {
					t.Fatal(err)
				}
			},
			want: ErrRejected, says: "Git cannot hold it beside refs/heads/moves", // before it is sent
		},
		"a server that wants to be asked first": {
			between: func(_ *testing.T, s *site) { s.srv.FailNext(gittest.Push, http.StatusBadRequest) },
			asks:    1, sent: 2,
		},
		"one that has it elsewhere": {
			between: func(_ *testing.T, s *site) { s.srv.FailNext(gittest.Push, http.StatusNotFound) },
			asks:    1, sent: 2,
		},
		"an answer that is lost": {
			between: func(_ *testing.T, s *site) { s.srv.DropPushReply() },
			sent:    1, // the refs tell
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			cache := t.TempDir()
			s.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
			if _, err := pushed(t, s.urls["http"], Options{CacheDir: cache}, 0, nil); err != nil {
				t.Fatal(err)
			}
			if tc.between != nil {
				tc.between(t, s)
			}
			s.srv.ResetCounts()
			_, err := pushed(t, s.urls["http"], Options{CacheDir: cache}, 1, func(b *Batch) {
				if tc.more != nil {
					tc.more(t, b)
				}
			})
			if !errors.Is(err, tc.want) || tc.want != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %v: %s", err, tc.want, tc.says)
			}
			if asks, sent := s.srv.Count(gittest.WriteRefs), s.srv.Count(gittest.Push); asks != tc.asks || sent != tc.sent {
				t.Errorf("asked %d times, sent %d; want %d and %d", asks, sent, tc.asks, tc.sent)
			}
			if _, there := s.repo.Refs(t)["refs/heads/new-1"]; there != (tc.want == nil) {
				t.Errorf("moved: %t", there)
			}
			if name == "a hook" {
				s.repo.Hook(t, "update", "exit 0")
			}
			s.srv.ResetCounts()
			if _, err := pushed(t, s.urls["http"], Options{CacheDir: cache}, 2, nil); err != nil {
				t.Error(err)
			}
			want := 1
			if tc.sent == 0 || tc.asks > 0 { // it was not the server, or was learnt anew
				want = 0
			}
			if asks := s.srv.Count(gittest.WriteRefs); asks != want {
				t.Errorf("the next one asked %d times, want %d", asks, want)
			}
		})
	}
}

// A server that moves all or none no more, and says so to who asks alone: what it moved is
// told, and the next push asks.
func TestPushUnaskedNotAtomic(t *testing.T) {
	s := newSite(t)
	cache := t.TempDir()
	s.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
	if _, err := pushed(t, s.urls["http"], Options{CacheDir: cache}, 0, nil); err != nil {
		t.Fatal(err)
	}
	s.repo.Git(t, "config", "receive.advertiseAtomic", "false")
	s.repo.Hook(t, "update", `test "$1" != refs/heads/moves`)
	var warned []string
	o := Options{CacheDir: cache, Warn: func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }}
	s.srv.ResetCounts()
	r, err := pushed(t, s.urls["http"], o, 1, nil)
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "refs/heads/moves") || strings.Contains(err.Error(), "new-1") {
		t.Errorf("got %v", err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "all or none") {
		t.Errorf("warned: %q", warned)
	}
	if ref, ok := r.Refs().Branch("new-1"); !ok || ref.Hash.IsZero() || s.srv.Count(gittest.WriteRefs) != 0 {
		t.Errorf("%v, asked %d times", ref, s.srv.Count(gittest.WriteRefs))
	}
	if rep := last; rep == nil || rep.Atomic {
		t.Errorf("reported: %+v", rep)
	}
	b := openWith(t, s.urls["http"], o).NewBatch()
	c := draftCommit(t, b, "a", "v2", nil, files("a", 2))
	if err := errors.Join(b.Create("refs/heads/x", c.Hash), b.Create("refs/heads/y", c.Hash)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Push(t.Context(), PushOptions{RequireAtomic: true}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// A machine that never asked a server sends Drafts as it would to most where the manager has a
// record there, and asks for all else. What came of it is told as ever, and what is not taken
// is asked for the next time, by who has a cache.
func TestPushUnaskedAnew(t *testing.T) {
	for name, tc := range map[string]struct {
		config  string
		hook    string // update
		opts    func(o *PushOptions)
		asks    int
		refused string // package
		moved   []string
		next    int // asks of the next push
	}{
		"a record":              {moved: []string{"db", "web"}},
		"none":                  {opts: func(o *PushOptions) { o.Record = nil }, asks: 1, moved: []string{"db", "web"}},
		"another's":             {opts: func(o *PushOptions) { o.Record = &RecordOf{Manager: "other", Author: machine} }, asks: 1, moved: []string{"db", "web"}},
		"all or none":           {opts: func(o *PushOptions) { o.RequireAtomic = true }, asks: 1, moved: []string{"db", "web"}},
		"refused":               {hook: `case "$1" in *web*) exit 1;; esac`, refused: "web", next: 1},
		"not atomic":            {config: "receive.advertiseAtomic", moved: []string{"db", "web"}},
		"not atomic, refused":   {config: "receive.advertiseAtomic", hook: `case "$1" in *web*) exit 1;; esac`, refused: "web", moved: []string{"db"}, next: 1},
		"without offset deltas": {config: "repack.useDeltaBaseOffset", moved: []string{"db", "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			k.drafted(1, "first")
			if tc.config != "" {
				k.git.Git(t, "config", tc.config, "false")
			}
			if tc.hook != "" {
				k.git.Hook(t, "update", tc.hook)
			}
			k.open(t.TempDir())
			b := k.repo.NewBatch()
			k.edited(b, "web", 2)
			k.edited(b, "db", 2)
			o := PushOptions{Record: &k.of}
			if tc.opts != nil {
				tc.opts(&o)
			}
			k.srv.ResetCounts()
			_, err := b.Push(t.Context(), o)
			if refused := errors.Is(err, ErrRejected); refused != (tc.refused != "") || err != nil && !refused || refused && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v", err)
			}
			if got := k.srv.Count(gittest.WriteRefs); got != tc.asks {
				t.Errorf("asked %d times, want %d", got, tc.asks)
			}
			var moved []string
			for _, path := range []string{"db", "web"} {
				if k.git.Refs(t)["refs/heads/drafts/"+path+"/packagevariant-2"] != "" {
					moved = append(moved, path)
				}
			}
			if diff := cmp.Diff(tc.moved, moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			k.git.Hook(t, "update", "true")
			k.open(k.opts.CacheDir)
			k.srv.ResetCounts()
			b = k.repo.NewBatch()
			k.edited(b, "next", 3)
			k.mustPush(b)
			if got := k.srv.Count(gittest.WriteRefs); got != tc.next && tc.asks == 0 {
				t.Errorf("the next push asked %d times, want %d", got, tc.next)
			}
			k.git.Fsck(t)
		})
	}
}

// A server that lets everybody read and wants a login of who writes: what is sent without it
// would be thrown away half-way, so it is asked, unless the login is at hand.
func TestPushUnaskedLogin(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
	asked, refused := 0, 0
	reads := false // want a login too
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writes := strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
		if writes && r.Method == http.MethodGet {
			asked++
		}
		if user, _, _ := r.BasicAuth(); (writes || reads) && user != "ann" {
			if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
				refused++
			}
			w.Header().Set("WWW-Authenticate", `Basic realm="front"`)
			http.Error(w, "login needed", http.StatusUnauthorized)
			return
		}
		s.srv.ServeHTTP(w, r)
	}))
	defer front.Close()
	o := Options{CacheDir: t.TempDir(), Credentials: func(context.Context, string) (string, string, error) { return "ann", "secret-7", nil }}
	for n, want := range []int{2, 1} { // that which is refused finds the login, with which nothing is to be asked
		asked = 0
		r, err := pushed(t, front.URL+"/fleet.git", o, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if asked != want || refused > 0 {
			t.Errorf("push %d: asked %d times, %d were sent without the login", n, asked, refused)
		}
		if said, err := os.ReadFile(r.receivesFile()); err != nil || strings.Contains(string(said), "secret-7") || strings.Contains(string(said), "ann") {
			t.Errorf("the cache has %s, %v", said, err)
		}
	}
	reads, asked = true, 0
	if _, err := pushed(t, front.URL+"/fleet.git", o, 2, nil); err != nil {
		t.Fatal(err)
	}
	if asked != 0 || refused > 0 {
		t.Errorf("with the login at hand: asked %d times, %d were sent without it", asked, refused)
	}
}

// What a push meets that is sent unasked and comes to nothing is what one says that asks: the
// connection was closed while the run was at work, the server has gone elsewhere or away, a
// proxy answers. What can land lands.
func TestPushUnaskedMeets(t *testing.T) {
	var transport *http.Transport
	answer := func(status int, kind, text string) func(t *testing.T, f *front) {
		return func(_ *testing.T, f *front) {
			f.answers = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			}
		}
	}
	moved := func(status int) func(t *testing.T, f *front) {
		return func(_ *testing.T, f *front) {
			f.answers = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, f.s.srv.URL+r.URL.RequestURI(), status)
			}
			f.all = true
		}
	}
	for name, tc := range map[string]struct {
		meet func(t *testing.T, f *front)
		want string // "" where it lands
		lost bool   // it cannot be known that git did not see it
	}{
		"nothing":                {meet: func(*testing.T, *front) {}},
		"a connection that ends": {meet: func(_ *testing.T, f *front) { f.CloseClientConnections() }},
		"one that ends with it": {meet: func(_ *testing.T, f *front) {
			f.answers = func(w http.ResponseWriter, r *http.Request) {
				if f.answers = nil; r.Method != http.MethodPost {
					f.s.srv.ServeHTTP(w, r)
					return
				}
				c, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					_ = c.Close()
				}
			}
		}},
		"moved for good": {meet: moved(301)}, "found elsewhere": {meet: moved(302)}, "moved as it is": {meet: moved(308)},
		"too much to do": {meet: answer(503, "text/plain", "later"), want: "503", lost: true},
		"a page":         {meet: answer(200, "text/html", "<p>log in</p>"), want: "web page"},
		"nobody": {meet: func(_ *testing.T, f *front) {
			transport.CloseIdleConnections() // of which one may not have seen the end
			f.Close()
		}, want: "connection refused"},
		"more than it will take": {meet: answer(413, "text/plain", ""), want: "413"},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/known %t", name, known), func(t *testing.T) {
				f := newFront(t)
				url, cache := f.URL+"/fleet.git", t.TempDir()
				if _, err := pushed(t, url, Options{CacheDir: cache}, 0, nil); err != nil {
					t.Fatal(err)
				}
				if !known {
					damageReceives(t, url, cache, "{")
				}
				transport = &http.Transport{}
				r := openWith(t, url, Options{CacheDir: cache, Transport: transport})
				b := r.NewBatch()
				was, _ := r.Refs().Branch("moves")
				c := draftCommit(t, b, "a", "v1", nil, files("a1", 3))
				if err := errors.Join(b.Update("refs/heads/moves", was.Hash, c.Hash), b.Create("refs/heads/new-1", c.Hash)); err != nil {
					t.Fatal(err)
				}
				tc.meet(t, f)
				rep, err := b.Push(t.Context(), PushOptions{})
				if errors.Is(err, ErrUnknownOutcome) && !tc.lost || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				for _, ref := range rep.Refs {
					if (ref.Outcome == Moved) != (tc.want == "") || ref.Outcome == Unknown {
						t.Errorf("%s: %s", ref.Name, ref.Outcome)
					}
				}
				if _, there := f.s.repo.Refs(t)["refs/heads/new-1"]; there != (tc.want == "") {
					t.Errorf("there: %t", there)
				}
			})
		}
	}
}

// front is a proxy before a server, for which it may answer what is to write.
type front struct {
	*httptest.Server
	s       *site
	answers http.HandlerFunc
	all     bool // for reading too
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{s: newSite(t)}
	f.s.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writes := strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
		if f.answers != nil && (writes || f.all) {
			f.answers(w, r)
			return
		}
		f.s.srv.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// A push whose answer is lost and that the server makes late, while it is asked what it can
// do or sent the push again, has landed, and what others did then is not taken for its end.
func TestPushUnaskedLate(t *testing.T) {
	for name, c := range map[string]struct {
		at     string // the request of the second push before which the first lands
		fails  bool   // that request
		moveOn bool   // one of the refs is moved by another then
		status int    // of the first push, 0 where its connection ends
		unsure bool
	}{
		"while it is asked":        {at: http.MethodGet},
		"while it is sent again":   {at: http.MethodPost},
		"and moved on":             {at: http.MethodGet, moveOn: true, unsure: true},
		"sent again, and moved on": {at: http.MethodPost, moveOn: true, unsure: true},
		"and it cannot be asked":   {at: http.MethodGet, fails: true},
		"of a gateway":             {at: http.MethodPost, status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			o := Options{CacheDir: t.TempDir()}
			if _, err := pushed(t, f.URL+"/fleet.git", o, 0, nil); err != nil {
				t.Fatal(err)
			}
			var late *http.Request
			f.answers = func(w http.ResponseWriter, r *http.Request) {
				switch {
				case late == nil:
					data, err := io.ReadAll(r.Body)
					late = r.Clone(context.WithoutCancel(r.Context()))
					late.Body = io.NopCloser(bytes.NewReader(data))
					if c.status != 0 {
						w.WriteHeader(c.status)
					} else if c, _, herr := http.NewResponseController(w).Hijack(); err == nil && herr == nil {
						_ = c.Close()
					}
					return
				case r.Method == c.at:
					f.answers = nil
					f.s.srv.ServeHTTP(httptest.NewRecorder(), late)
					if c.moveOn {
						f.s.repo.Commit(t, "moves", "by another", gittest.Text{"b": "b"})
					}
					if c.fails {
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
				}
				f.s.srv.ServeHTTP(w, r)
			}
			r, err := pushed(t, f.URL+"/fleet.git", o, 1, nil)
			if c.unsure != errors.Is(err, ErrUnknownOutcome) || !c.unsure && err != nil {
				t.Errorf("got %v", err)
			}
			for _, ref := range last.Refs {
				if want := map[bool]Outcome{true: Unknown, false: Moved}[c.moveOn && ref.Name == "refs/heads/moves"]; ref.Outcome != want {
					t.Errorf("%s is said to be %s, want %s", ref.Name, ref.Outcome, want)
				}
			}
			if ref, ok := r.Refs().Branch("new-1"); !ok || f.s.repo.Refs(t)["refs/heads/new-1"] != ref.Hash.String() {
				t.Errorf("%v", ref)
			}
		})
	}
}

// A server that cannot do what a push needs is asked whether it can by now.
func TestPushUnaskedToLess(t *testing.T) {
	for _, lacks := range []string{"delete-refs", "atomic", "report-status"} {
		t.Run(lacks, func(t *testing.T) {
			f := newFront(t)
			o := Options{CacheDir: t.TempDir()}
			if _, err := pushed(t, f.URL+"/fleet.git", o, 0, nil); err != nil {
				t.Fatal(err)
			}
			r := openWith(t, f.URL+"/fleet.git", o)
			known, _ := r.knownReceives()
			if !strings.Contains(known.Can, lacks) {
				t.Fatalf("%s is not in %q", lacks, known.Can)
			}
			known.Can = strings.Replace(known.Can, lacks, "x", 1)
			data, err := json.Marshal(known)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range []int{1, 0} { // and is known to be able then
				if n == 0 {
					if err := os.WriteFile(r.receivesFile(), data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				f.s.srv.ResetCounts()
				_, err := pushed(t, f.URL+"/fleet.git", o, n+1, func(b *Batch) {
					ref, _ := b.repo.Refs().Branch(fmt.Sprintf("new-%d", n))
					if err := b.Delete(ref.Name, ref.Hash); err != nil {
						t.Fatal(err)
					}
				})
				if got := f.s.srv.Count(gittest.WriteRefs); err != nil || got != want {
					t.Errorf("%v, asked %d times, want %d", err, got, want)
				}
			}
		})
	}
}

// A second push of a run knows what the first was told, without a cache too.
func TestPushUnaskedInOneRun(t *testing.T) {
	s := newSite(t)
	r := open(t, s.urls["http"])
	s.repo.Commit(t, "moves", "begin", gittest.Text{"a/Kptfile": kptfile("a")})
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := r.NewBatch()
	for i := range 6 {
		if err := b.Create(fmt.Sprintf("refs/heads/b%d", i), draftCommit(t, b, "a", fmt.Sprintf("v%d", i), nil, files("a", 2)).Hash); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Push(t.Context(), PushOptions{MaxRefsPerPush: 2}); err != nil {
		t.Fatal(err)
	}
	if asks, sent := s.srv.Count(gittest.WriteRefs), s.srv.Count(gittest.Push); asks != 1 || sent != 3 {
		t.Errorf("asked %d times, sent %d", asks, sent)
	}
}
