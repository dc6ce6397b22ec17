package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
	"github.com/variform/variform/internal/krm"
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
	_, err := b.Push(t.Context(), PushOptions{})
	return r, err
}

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
		"refs that must not be":    {more: func(*testing.T) func(*Batch) { return func(b *Batch) { b.ExpectAbsent("refs/heads/x") } }, asks: 1},
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
	b := openWith(t, s.urls["http"], o).NewBatch()
	c := draftCommit(t, b, "a", "v2", nil, files("a", 2))
	if err := errors.Join(b.Create("refs/heads/x", c.Hash), b.Create("refs/heads/y", c.Hash)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Push(t.Context(), PushOptions{RequireAtomic: true}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
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
