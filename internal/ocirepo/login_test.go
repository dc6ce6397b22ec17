package ocirepo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/internal/wire"
)

// arrivals is a server that keeps the logins that it is sent.
func arrivals(t *testing.T, answer http.HandlerFunc) (addr string, logins func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		for _, login := range []string{r.Header.Get("Authorization"), r.PostFormValue("refresh_token")} {
			if login != "" {
				got = append(got, login)
			}
		}
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestRedirectTakesNoLogin(t *testing.T) {
	other, logins := arrivals(t, status(http.StatusUnauthorized))
	other = strings.Replace(other, "127.0.0.1", "localhost", 1) // the library goes to no other private address
	away := func(w http.ResponseWriter, r *http.Request, code int) bool {
		http.Redirect(w, r, "http://"+other+r.URL.RequestURI(), code)
		return true
	}
	t.Run("Basic", func(t *testing.T) {
		s := newServer(t)
		s.faults(func(w http.ResponseWriter, r *http.Request) bool {
			return basic(w, r) || strings.Contains(r.URL.Path, "/manifests/") && away(w, r, http.StatusTemporaryRedirect)
		})
		_, repo := open(t, s, Options{Keychain: keychain{s.addr: {Username: "me", Password: testPassword}}})
		if _, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: "v1"}); err == nil {
			t.Error("no error")
		}
	})
	// The body of a login for a token goes along with 307.
	t.Run("IdentityToken", func(t *testing.T) {
		s := newServer(t)
		s.faults(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				return away(w, r, http.StatusTemporaryRedirect)
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="packages"`, s.addr))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		_, repo := open(t, s, Options{Keychain: keychain{s.addr: {IdentityToken: "canary-identity"}}})
		if _, err := repo.Revisions(context.Background(), "app"); err == nil || strings.Contains(err.Error(), "canary-identity") {
			t.Errorf("got %v", err)
		}
	})
	if got := logins(); len(got) > 0 {
		t.Errorf("the other server was sent %q", got)
	}
}

// The library compares hosts alone: from https to http on one host a login went along.
func TestLoginKeepsItsScheme(t *testing.T) {
	var sent []string
	g := &loginGuard{warn: func(string, ...any) {}, inner: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.URL.Scheme+" "+r.Header.Get("Authorization"))
		return &http.Response{StatusCode: http.StatusOK, Request: r}, nil
	})}
	first, _ := http.NewRequest(http.MethodGet, "https://reg.example.com/v2/", http.NoBody)
	first.Header.Set("Authorization", "Basic canary")
	resp, err := g.RoundTrip(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"https://reg.example.com:443/v2/", "http://reg.example.com/v2/", "https://reg.example.com.evil.example/v2/"} {
		next, _ := http.NewRequest(http.MethodGet, to, http.NoBody)
		next.Header.Set("Authorization", "Basic canary")
		next.Response = resp
		if _, err := g.RoundTrip(next); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(sent, ", "); got != "https Basic canary, https Basic canary, http , https " {
		t.Errorf("sent: %s", got)
	}
}

func TestPlainLoginIsWarnedOf(t *testing.T) {
	var said []string
	g := &loginGuard{
		warn: wire.Once(func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }),
		inner: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Request: r}, nil
		}),
	}
	for _, to := range []string{"http://10.0.0.1/v2/", "http://10.0.0.1/v2/a", "http://127.0.0.1/v2/", "https://10.0.0.1/v2/"} {
		req, _ := http.NewRequest(http.MethodGet, to, http.NoBody)
		req.Header.Set("Authorization", "Basic canary")
		if _, err := g.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "http://10.0.0.1") || strings.Contains(said[0], "canary") {
		t.Errorf("warned %q", said)
	}
}

func TestRefusalSaysWhoseLogin(t *testing.T) {
	s := newServer(t)
	s.faults(basic)
	for title, test := range map[string]struct {
		keys keychain
		want string
	}{
		"none":  {nil, "has no login for " + s.addr},
		"wrong": {keychain{s.addr: {Username: "me", Password: "wrong horse"}}, "the login that Docker's configuration has for " + s.addr + " was refused"},
	} {
		_, repo := open(t, s, Options{Keychain: test.keys})
		if _, err := repo.Revisions(context.Background(), "app"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", title, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A manifest is refused at its bound, not when all of it has been read.
func TestManifestIsBoundedWhileItIsRead(t *testing.T) {
	s := newServer(t)
	var sent atomic.Int64
	s.faults(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/manifests/") {
			return false
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		for sent.Load() < 300<<20 {
			n, err := w.Write(make([]byte, 1<<20))
			if sent.Add(int64(n)); err != nil {
				break
			}
		}
		return true
	})
	_, repo := open(t, s, Options{})
	_, err := repo.ReadPackage(context.Background(), "app", digestOf([]byte("x")))
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "manifest") {
		t.Errorf("got %v", err)
	}
	if n := sent.Load(); n > 40<<20 {
		t.Errorf("the registry sent %d bytes", n)
	}
}
