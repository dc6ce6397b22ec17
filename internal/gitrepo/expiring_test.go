package gitrepo

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// expiring gives the token that is good now for one server.
type expiring struct {
	mu       sync.Mutex
	server   string
	token    string
	err      error
	rejected []string
}

func (e *expiring) Login(_ context.Context, address string) (user, password string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !strings.HasPrefix(address, e.server+"/") {
		return "", "", nil
	}
	return "x-access-token", e.token, e.err
}

func (e *expiring) Reject(token string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rejected = append(e.rejected, token)
}

func (e *expiring) becomes(token string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.token, e.err = token, err
}

// guardedBy serves repositories to who has the token that is good now.
func guardedBy(t *testing.T, s *gittest.Server, e *expiring) *recorder {
	r := recorded(t, func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+e.token))
		e.mu.Unlock()
		if r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	})
	e.server = r.srv.URL
	return r
}

// A token that is renewed while a run goes on is the one of its next requests.
func TestExpiringLogin(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	app := &expiring{token: "ghs-first"}
	srv := guardedBy(t, s.srv, app)
	said := helper(t, map[string]string{hostOf(t, srv.srv.URL): "bob:bob-secret"})
	r := openWith(t, srv.srv.URL+"/fleet.git", Options{App: app})
	app.becomes("ghs-second", nil)
	refused := len(srv.logins())
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	push(t, b)
	for _, sent := range srv.logins()[refused:] {
		if text, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(sent, "Basic ")); string(text) != "x-access-token:ghs-second" {
			t.Errorf("sent %q after the first had ended", text)
		}
	}
	if got := said(); len(got) > 0 || len(app.rejected) > 0 {
		t.Errorf("the helper was called: %v; rejected %v", got, app.rejected)
	}
	app.becomes("ghs-third", errors.New("GitHub is away"))
	if err := r.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "GitHub is away") {
		t.Errorf("got %v", err)
	}
}

// The logins of a file come first, then the App, then what git knows.
func TestExpiringLoginComesBetween(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	for name, tc := range map[string]struct {
		file, app string
		err       error
		helped    bool
		refuses   bool // the server, what it is sent
		want      string
		rejected  []string
	}{
		"the file's":          {file: "ann:ann-word", app: "ghs-1", want: "ann:ann-word"},
		"not in the file":     {file: "-", app: "ghs-1", want: "x-access-token:ghs-1"},
		"before the helper":   {app: "ghs-1", helped: true, want: "x-access-token:ghs-1"},
		"no App, the helper":  {helped: true, want: "bob:bob-word"},
		"refused":             {app: "ghs-1", helped: true, refuses: true, want: "error: refuses the login of the GitHub App (HTTP 401)", rejected: []string{"ghs-1"}},
		"the App has failed":  {err: errors.New("no installation"), helped: true, want: "error: logging in to "},
		"failed, with a file": {file: "-", err: errors.New("no installation"), want: "error: logging in to "},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			srv := recorded(t, func(w http.ResponseWriter, r *http.Request) {
				user, password, ok := r.BasicAuth()
				if !ok || tc.refuses {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				got = user + ":" + password
				s.srv.ServeHTTP(w, r)
			})
			if tc.helped {
				helper(t, map[string]string{hostOf(t, srv.srv.URL): "bob:bob-word"})
			}
			app := &expiring{server: srv.srv.URL, token: tc.app, err: tc.err}
			o := Options{App: app}
			if tc.file != "" {
				o.Credentials = func(context.Context, string) (string, string, error) {
					user, password, _ := strings.Cut(tc.file, ":")
					return strings.Trim(user, "-"), password, nil
				}
			}
			_, err := NewStore(o).Open(t.Context(), srv.srv.URL+"/fleet.git")
			if want, failed := strings.CutPrefix(tc.want, "error: "); failed {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "ghs-") {
					t.Errorf("got %v", err)
				}
			} else if err != nil || got != tc.want {
				t.Errorf("signed in as %q, %v", got, err)
			}
			if diff := cmp.Diff(tc.rejected, app.rejected); diff != "" {
				t.Error(diff)
			}
		})
	}
}
