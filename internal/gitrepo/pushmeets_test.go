package gitrepo

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// A push that is not taken names the reason, and moves nothing.
func TestPushRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(t *testing.T, s *site)
		more    func(t *testing.T, b *Batch)
		want    error
		says    string
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
			if sent := s.srv.Count(gittest.Push); sent != tc.sent {
				t.Errorf("sent %d, want %d", sent, tc.sent)
			}
			if _, there := s.repo.Refs(t)["refs/heads/new-1"]; there != (tc.want == nil) {
				t.Errorf("moved: %t", there)
			}
		})
	}
}

// A push reports what it meets: the server has gone elsewhere or away, or a proxy answers. Each
// outcome is known, and what can land lands.
func TestPushMeets(t *testing.T) {
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
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			url, cache := f.URL+"/fleet.git", t.TempDir()
			if _, err := pushed(t, url, Options{CacheDir: cache}, 0, nil); err != nil {
				t.Fatal(err)
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
