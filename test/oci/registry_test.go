package oci

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/variform/variform/test/ocitest"
)

// registries start a registry each and return what serves its requests.
var registries = map[string]func(testing.TB) http.Handler{
	"process": func(testing.TB) http.Handler {
		return registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	},
	"docker": dockerRegistry,
}

// dockerRegistry starts Debian's registry.
func dockerRegistry(t testing.TB) http.Handler {
	t.Helper()
	addr := ocitest.Registry(t)
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	p.ErrorLog = log.New(io.Discard, "", 0) // clients that went away
	return p
}

// front stands before a registry, at an address of its own.
type front struct {
	addr  string // host:port
	inner http.Handler

	mu             sync.Mutex
	seen           map[string]int // "GET blobs" and the like
	user, password string         // "" for none
	fail           map[string]fault
	damage         string // kind of request whose answers are changed
}

// fault answers some requests with a status.
type fault struct{ times, status int }

func newFront(t testing.TB, inner http.Handler) *front {
	t.Helper()
	f := &front{inner: inner}
	f.heal()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	f.addr = strings.TrimPrefix(s.URL, "http://")
	return f
}

// heal ends all faults and counts from 0.
func (f *front) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.fail = map[string]int{}, map[string]fault{}
	f.user, f.password, f.damage = "", "", ""
}

func kindOf(r *http.Request) string {
	for _, k := range []string{"blobs", "manifests", "tags"} {
		if strings.Contains(r.URL.Path, "/"+k+"/") {
			return r.Method + " " + k
		}
	}
	return r.Method + " other"
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := kindOf(r)
	f.mu.Lock()
	f.seen[kind]++
	user, password, _ := r.BasicAuth()
	refused := f.user != "" && (user != f.user || password != f.password)
	fails := f.fail[kind]
	f.fail[kind] = fault{fails.times - 1, fails.status}
	damaged := f.damage == kind
	f.mu.Unlock()
	switch {
	case refused:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	case fails.times > 0:
		w.WriteHeader(fails.status)
	case damaged:
		f.serveDamaged(w, r)
	default:
		f.inner.ServeHTTP(w, r)
	}
}

// serveDamaged turns the answer's last byte.
func (f *front) serveDamaged(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	f.inner.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	if rec.Code == http.StatusOK && len(body) > 0 {
		body[len(body)-1] ^= 1
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}
