package gitrepo

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/test/gittest"
)

// TestIsPassing: what heals by itself, of real servers that fail in each way.
func TestIsPassing(t *testing.T) {
	answers := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	status := func(code int) string {
		return answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	closed := l.Addr().String()
	git := gittest.NewServer(t)
	git.RequireLogin("nobody", "has it")
	for name, tc := range map[string]struct {
		url    string
		passes bool
	}{
		"nobody listens":        {"http://" + closed + "/a.git", true},
		"with a login":          {"http://me:hunter22@" + closed + "/a.git", true},
		"nobody listens to git": {"git://" + closed + "/a.git", true},
		"hangs up": {answers(func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		}), true},
		"hangs":        {answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), true},
		"fails":        {status(http.StatusBadGateway), true},
		"is away":      {status(http.StatusServiceUnavailable), true},
		"no such host": {"http://no-such-host.invalid/a.git", true},
		"is not there": {status(http.StatusNotFound), false},
		"a login":      {git.URL + "/a.git", false},
		"a web page": {answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>"))
		}), false},
		"no folder": {"/no/such/folder", false},
		"a scheme":  {"ftp://git.example.com/a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := wire.Patience(200 * time.Millisecond)
			_, err := NewStore(Options{Budget: b, Credentials: CredentialsIn("none", "")}).Open(t.Context(), tc.url)
			if err == nil || IsPassing(err) != tc.passes {
				t.Errorf("passing is %v: %v", IsPassing(err), err)
			}
		})
	}
}
