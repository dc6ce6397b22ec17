package gitrepo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/test/gittest"
)

// recorder serves a Git server's answers and keeps what it was sent.
type recorder struct {
	mu   sync.Mutex
	sent []string // the logins, "" for none
	srv  *httptest.Server
}

func (r *recorder) logins() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func recorded(t *testing.T, h http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.sent = append(r.sent, req.Header.Get("Authorization"))
		r.mu.Unlock()
		h(w, req)
	}))
	t.Cleanup(r.srv.Close)
	return r
}

// redirects is a server that sends every request to another.
func redirects(t *testing.T, to string) *recorder {
	return recorded(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusFound)
	})
}

// wantsLogin asks for a login before it serves a Git server's repositories.
func wantsLogin(t *testing.T, s *gittest.Server, user, password string) *recorder {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	return recorded(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	})
}

// helper is a git credential helper that knows logins by host and notes what it
// was called for.
func helper(t *testing.T, known map[string]string) (said func() []string) {
	t.Helper()
	home := t.TempDir()
	var cases strings.Builder
	for host, login := range known {
		user, password, _ := strings.Cut(login, ":")
		fmt.Fprintf(&cases, "%s) echo username=%s; echo password=%s;;\n", host, user, password)
	}
	log, script := filepath.Join(home, "log"), filepath.Join(home, "helper")
	text := "#!/bin/sh\nin=$(cat)\nhost=$(echo \"$in\" | sed -n 's/^host=//p')\necho \"$1 $host\" >>" + log +
		"\nif [ $1 = get ]; then case $host in\n" + cases.String() + "esac; fi\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(config, []byte("[credential]\n\thelper = "+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return func() []string {
		data, _ := os.ReadFile(log)
		return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(data)), " ", "="))
	}
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func TestRedirectTakesNoLogin(t *testing.T) {
	const canary = "canary-of-the-first-server"
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	other := recorded(t, s.srv.ServeHTTP)
	first := redirects(t, other.srv.URL)
	use := func(t *testing.T, r *Repo) {
		t.Helper()
		b := r.NewBatch()
		draft(t, b, fmt.Sprintf("app-%d", r.Refs().Len()), "w", head(t, r, "main"), files("app", 2))
		push(t, b)
	}
	t.Run("OfTheAddress", func(t *testing.T) {
		use(t, open(t, strings.Replace(first.srv.URL, "://", "://bob:"+canary+"@", 1)+"/fleet.git"))
	})
	t.Run("OfTheHelper", func(t *testing.T) {
		said := helper(t, map[string]string{hostOf(t, first.srv.URL): "bob:" + canary})
		use(t, open(t, first.srv.URL+"/fleet.git"))
		if got := said(); len(got) > 0 {
			t.Errorf("nobody asked for a login, and the helper was called: %v", got)
		}
	})
	if len(first.logins()) == 0 || !strings.HasPrefix(first.logins()[0], "Basic ") {
		t.Fatalf("the first server was sent %q", first.logins())
	}
	for _, sent := range other.logins() {
		if sent != "" {
			t.Errorf("the other server was sent %q", sent)
		}
	}
}

// Each server of a chain has a login of its own, and a refusal unlearns no other's.
func TestEachServerItsLogin(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	other := wantsLogin(t, s.srv, "ann", "ann-secret")
	first := redirects(t, other.srv.URL)
	one, two := hostOf(t, first.srv.URL), hostOf(t, other.srv.URL)
	t.Run("Good", func(t *testing.T) {
		said := helper(t, map[string]string{one: "bob:bob-secret", two: "ann:ann-secret"})
		r := open(t, first.srv.URL+"/fleet.git")
		b := r.NewBatch()
		draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
		push(t, b)
		if diff := cmp.Diff([]string{"get=" + two, "store=" + two}, said()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("Bad", func(t *testing.T) {
		said := helper(t, map[string]string{one: "bob:bob-secret", two: "ann:wrong-secret"})
		_, err := NewStore(Options{}).Open(context.Background(), first.srv.URL+"/fleet.git")
		if diff := cmp.Diff([]string{"get=" + two, "erase=" + two}, said()); diff != "" {
			t.Error(diff)
		}
		if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), other.srv.URL) || !strings.Contains(err.Error(), "credential helper") || strings.Contains(err.Error(), "wrong-secret") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("None", func(t *testing.T) {
		_, err := NewStore(Options{Credentials: func(_ context.Context, u string) (string, string, error) {
			if want := other.srv.URL + "/fleet.git"; u != want {
				t.Errorf("asked for %s, want %s", u, want)
			}
			return "", "", nil
		}}).Open(context.Background(), first.srv.URL+"/fleet.git")
		if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), two) || !strings.Contains(err.Error(), "give Variform one for") {
			t.Errorf("got %v", err)
		}
	})
}

// What a helper gave is good until its server says otherwise, not until another fails.
func TestFailureIsNoJudgement(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	for title, status := range map[string]int{"forbidden": http.StatusForbidden, "broken": http.StatusNotImplemented} {
		t.Run(title, func(t *testing.T) {
			srv := recorded(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.WriteHeader(status)
			})
			said := helper(t, map[string]string{hostOf(t, srv.srv.URL): "bob:bob-secret"})
			if _, err := NewStore(Options{}).Open(context.Background(), srv.srv.URL+"/fleet.git"); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff([]string{"get=" + hostOf(t, srv.srv.URL)}, said()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoControlsForHelpers(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:1/a%0ahost=github.com", "http://u%0d:p@127.0.0.1:1/a", "http://u:p%00@127.0.0.1:1/a", "http://127.0.0.1:1/a%1b"} {
		if _, err := parseLocation(address); err == nil || !strings.Contains(err.Error(), "control characters") {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if in, err := credentialInput("http://127.0.0.1/a%0ahost=github.com", "", ""); err == nil {
		t.Errorf("a helper would be told %q", in)
	}
	said := helper(t, nil)
	var srv *recorder
	srv = recorded(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "host=") {
			http.Redirect(w, r, srv.srv.URL+"/x%0ahost=github.com/info/refs?service=git-upload-pack", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	if _, err := NewStore(Options{}).Open(context.Background(), srv.srv.URL+"/fleet.git"); !errors.Is(err, ErrAuth) {
		t.Errorf("got %v", err)
	}
	if got := said(); len(got) > 0 {
		t.Errorf("the helper was called: %v", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestPlainLoginIsWarnedOf(t *testing.T) {
	dead := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("nobody there") })
	for address, want := range map[string]int{"http://bob:bob-secret@git.example.com/a": 1, "https://bob:bob-secret@git.example.com/a": 0, "http://git.example.com/a": 0, "http://bob:bob-secret@127.0.0.1/a": 0} {
		var said []string
		s := NewStore(Options{Transport: dead, Warn: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
		for range 2 {
			_, _ = s.Open(context.Background(), address)
		}
		if len(said) != want || want > 0 && (!strings.Contains(said[0], "http://git.example.com") || strings.Contains(said[0], "bob-secret")) {
			t.Errorf("%s: warned %q", wire.Redact(address), said)
		}
	}
}
