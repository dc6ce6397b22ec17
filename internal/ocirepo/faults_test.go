package ocirepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
)

func damageFiles(t *testing.T, dir string, change func([]byte) []byte) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		n++
		return os.WriteFile(p, change(data), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// calls are the ways to ask a registry; each must go through passing faults.
func calls(repo *Repo, digest string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"GET tags":     func(ctx context.Context) error { _, err := repo.Revisions(ctx, "app"); return err },
		"GET _catalog": func(ctx context.Context) error { _, err := repo.Packages(ctx); return err },
		"HEAD manifests": func(ctx context.Context) error {
			_, err := repo.Resolve(ctx, Query{Package: "app", Revision: "v1"})
			return err
		},
		"GET manifests": func(ctx context.Context) error {
			_, err := repo.Resolve(ctx, Query{Package: "app", Revision: digest})
			return err
		},
		"GET blobs": func(ctx context.Context) error { _, err := repo.ReadPackage(ctx, "app", digest); return err },
		"GET ping":  func(ctx context.Context) error { _, err := repo.Revisions(ctx, "app"); return err },
	}
}

func TestServerErrors(t *testing.T) {
	for key := range calls(nil, "") {
		t.Run(key, func(t *testing.T) {
			s := newServer(t)
			setup, _ := open(t, s, Options{})
			digest := push(t, setup, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
			var notes []string
			var mu sync.Mutex
			_, repo := open(t, s, Options{Log: func(f string, a ...any) {
				mu.Lock()
				defer mu.Unlock()
				notes = append(notes, fmt.Sprintf(f, a...))
			}})
			s.faults(only(key, 2, status(http.StatusBadGateway)))
			if err := calls(repo, digest)[key](context.Background()); err != nil {
				t.Errorf("two failures and then none: %v", err)
			}
			if len(notes) != 2 || !strings.Contains(notes[0], "502") {
				t.Errorf("notes: %q", notes)
			}
			_, repo = open(t, s, Options{})
			before := s.count(key)
			s.faults(only(key, 999, status(http.StatusInternalServerError)))
			err := calls(repo, digest)[key](context.Background())
			var e *Error
			if !errors.Is(err, ErrUnavailable) || !errors.As(err, &e) || e.Status != 500 || e.Registry != s.addr || !strings.Contains(err.Error(), "run again later") {
				t.Errorf("got %v", err)
			}
			if n := s.count(key) - before; n != quick.Attempts {
				t.Errorf("it was asked %d times, want %d", n, quick.Attempts)
			}
		})
	}
}

func TestRateLimits(t *testing.T) {
	limited := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	for key := range calls(nil, "") {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			setup, _ := open(t, s, Options{})
			digest := push(t, setup, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest

			_, repo := open(t, s, Options{})
			s.faults(only(key, 1, limited("1")))
			start := time.Now()
			if err := calls(repo, digest)[key](context.Background()); err != nil || time.Since(start) < time.Second {
				t.Errorf("it asked to wait 1 s: %v after %v", err, time.Since(start))
			}

			_, repo = open(t, s, Options{})
			before := s.count(key)
			s.faults(only(key, 999, limited("3600")))
			err := calls(repo, digest)[key](context.Background())
			var e *Error
			if !errors.Is(err, ErrRateLimited) || !errors.As(err, &e) || e.RetryAfter != time.Hour || e.Status != 429 || !strings.Contains(err.Error(), "wait 1h0m0s") {
				t.Errorf("got %v", err)
			}
			if n := s.count(key) - before; n != 1 {
				t.Errorf("it asked to wait an hour and was asked %d times", n)
			}

			// No time to wait: said at once, not at the end of the context.
			ctx, cancel := context.WithTimeout(context.Background(), 900*time.Millisecond)
			defer cancel()
			_, repo = open(t, s, Options{})
			s.faults(only(key, 999, limited("2")))
			if err := calls(repo, digest)[key](ctx); !errors.Is(err, ErrRateLimited) || ctx.Err() != nil {
				t.Errorf("got %v, context %v", err, ctx.Err())
			}
		})
	}
	// Manifests stops at once: going on would make it worse.
	s := newServer(t)
	store, repo := open(t, s, Options{Jobs: 1})
	for i := range 20 {
		push(t, store, fmt.Sprintf("%s/blueprints/app:v%d", s.addr, i+1), kpt("app", strconv.Itoa(i)))
	}
	before := s.count("HEAD manifests")
	s.faults(only("HEAD manifests", 999, limited("3600")))
	if _, err := repo.Manifests(context.Background(), "app"); !errors.Is(err, ErrRateLimited) {
		t.Errorf("got %v", err)
	}
	if n := s.count("HEAD manifests") - before; n > 2 {
		t.Errorf("a limited registry was asked %d times more", n)
	}
}

func TestSlowRegistry(t *testing.T) {
	for key := range calls(nil, "") {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			setup, _ := open(t, s, Options{})
			digest := push(t, setup, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
			_, repo := open(t, s, Options{})
			s.faults(only(key, 1, func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Second):
				}
			}))
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := calls(repo, digest)[key](ctx)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.addr) || !strings.Contains(err.Error(), "too slow") {
				t.Errorf("got %v", err)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("it ended after %v", d)
			}
			s.faults(nil)
			if err := calls(repo, digest)[key](context.Background()); err != nil {
				t.Errorf("a later call: %v", err)
			}
		})
	}
}

// A caller that stops does not take the others along.
func TestStoppedCaller(t *testing.T) {
	s := newServer(t)
	store, _ := open(t, s, Options{})
	push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1"))
	_, repo := open(t, s, Options{})
	release := make(chan struct{})
	s.faults(only("GET ping", 2, func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusOK)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	results := make(chan error, 1)
	go func() { _, err := repo.Revisions(ctx, "app"); results <- err }()
	time.Sleep(50 * time.Millisecond)
	other := make(chan error, 1)
	go func() {
		_, err := repo.Resolve(context.Background(), Query{Package: "app", Workspace: "v1"})
		other <- err
	}()
	time.Sleep(50 * time.Millisecond)
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("the stopped caller: %v", err)
	}
	close(release)
	if err := <-other; err != nil {
		t.Errorf("the other caller: %v", err)
	}
}

// replaceBody answers blobs or manifests with changed bodies.
func replaceBody(key string, inner http.Handler, change func([]byte) []byte, drop bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method+" "+kindOf(r.URL.Path) != key || !strings.Contains(r.URL.Path, digestPrefix) {
			return false
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		changed := change(bytes.Clone(body))
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(changed)))
		if drop {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(changed)
		return true
	}
}

func TestDamagedAnswers(t *testing.T) {
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	half := func(b []byte) []byte { return b[:len(b)/2] }
	tests := map[string]struct {
		key    string
		change func([]byte) []byte
		drop   bool // the length is the true one: the connection breaks
		kind   error
		asked  int
	}{
		"tampered layer":    {"GET blobs", flip, false, ErrDigest, 1},
		"short layer":       {"GET blobs", half, false, ErrDigest, quick.Attempts},
		"broken layer":      {"GET blobs", half, true, ErrDigest, quick.Attempts},
		"long layer":        {"GET blobs", func(b []byte) []byte { return append(b, 'x') }, false, ErrDigest, 1},
		"tampered manifest": {"GET manifests", func(b []byte) []byte { return append(b, '\n') }, false, ErrDigest, 1},
		"short manifest":    {"GET manifests", half, false, ErrDigest, 1},
		"broken manifest":   {"GET manifests", half, true, ErrUnavailable, 2},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			s := newServer(t)
			dir := t.TempDir()
			store, repo := open(t, s, Options{CacheDir: dir})
			digest := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
			before := s.count(tt.key)
			s.faults(replaceBody(tt.key, s.inner, tt.change, tt.drop))
			_, err := repo.ReadPackage(context.Background(), "app", digest)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), s.addr+"/blueprints/app@"+digest) {
				t.Errorf("got %v", err)
			}
			if n := s.count(tt.key) - before; n != tt.asked {
				t.Errorf("it was asked %d times, want %d", n, tt.asked)
			}
			s.faults(nil)
			p, err := repo.ReadPackage(context.Background(), "app", digest)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(kpt("app", "1"), textsOf(t, p)); diff != "" {
				t.Errorf("after that (-want +got):\n%s", diff)
			}
		})
	}
}

type keychain map[string]authn.AuthConfig // by host

func (k keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if c, ok := k[r.RegistryStr()]; ok {
		return authn.FromConfig(c), nil
	}
	return authn.Anonymous, nil
}

const testPassword = "correct horse"

// basic wants a login, and repeats what it was sent in its refusals.
func basic(w http.ResponseWriter, r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	if user == "me" && password == testPassword {
		return false
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":"no access for %s with %s (%s)"}]}`, user, password, r.Header.Get("Authorization"))
	return true
}

func TestCredentials(t *testing.T) {
	s := newServer(t)
	s.faults(basic)
	ctx := context.Background()
	good := keychain{s.addr: {Username: "me", Password: testPassword}}
	store, repo := open(t, s, Options{Keychain: good})
	digest := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
	if _, err := repo.ReadPackage(ctx, "app", digest); err != nil {
		t.Error(err)
	}
	if got, err := repo.Packages(ctx); err != nil || len(got) != 1 {
		t.Errorf("packages: %v, %v", got, err)
	}

	for title, keys := range map[string]keychain{"none": nil, "wrong": {s.addr: {Username: "me", Password: "wrong horse"}}} {
		store, repo := open(t, s, Options{Keychain: keys})
		errs := map[string]error{}
		_, errs["revisions"] = repo.Revisions(ctx, "app")
		_, errs["resolve"] = repo.Resolve(ctx, Query{Package: "app", Revision: "v1"})
		_, errs["read"] = repo.ReadPackage(ctx, "app", digest)
		_, errs["manifests"] = repo.Manifests(ctx, "app")
		_, errs["push"] = store.Push(ctx, s.addr+"/blueprints/app:v2", parse(t, kpt("app", "2")), PushOptions{})
		for call, err := range errs {
			if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "docker login") || !strings.Contains(err.Error(), s.addr+"/blueprints/app") {
				t.Errorf("%s, %s: got %v", title, call, err)
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "wrong horse") || strings.Contains(text, "bWU6") {
				t.Errorf("%s, %s: the error holds credentials: %s", title, call, text)
			}
		}
	}
}

// Most registries give out tokens: those are credentials, too.
func TestBearerTokens(t *testing.T) {
	const token = "dG9rZW4tZm9yLXRoaXMtdGVzdA"
	s := newServer(t)
	allowed := true
	s.faults(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			if user, password, _ := r.BasicAuth(); user != "me" || password != testPassword {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, `{"errors":[{"code":"UNAUTHORIZED","message":"not %s"}]}`, password)
				return true
			}
			fmt.Fprintf(w, `{"token":%q}`, token)
			return true
		}
		if allowed && r.Header.Get("Authorization") == "Bearer "+token {
			return false
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="packages"`, s.addr))
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":"you sent %s"}]}`, r.Header.Get("Authorization"))
		return true
	})
	ctx := context.Background()
	store, repo := open(t, s, Options{Keychain: keychain{s.addr: {Username: "me", Password: testPassword}}})
	push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1"))
	if _, err := repo.Resolve(ctx, Query{Package: "app"}); err != nil {
		t.Error(err)
	}
	_, wrong := open(t, s, Options{Keychain: keychain{s.addr: {Username: "me", Password: "wrong horse"}}})
	_, err1 := wrong.Revisions(ctx, "app")
	allowed = false
	repo.Refresh()
	_, err2 := repo.Revisions(ctx, "app")
	for _, err := range []error{err1, err2} {
		if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "***") || strings.Contains(fmt.Sprintf("%#v", err), token) || strings.Contains(fmt.Sprintf("%#v", err), "wrong horse") {
			t.Errorf("got %v", err)
		}
	}
}

// An identity token is sent in the body of a request.
func TestIdentityToken(t *testing.T) {
	const secret = "identity-token-for-this-test"
	s := newServer(t)
	s.faults(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":"not with %s"}]}`, r.PostFormValue("refresh_token"))
			return true
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="packages"`, s.addr))
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	_, repo := open(t, s, Options{Keychain: keychain{s.addr: {IdentityToken: secret}}})
	_, err := repo.Revisions(context.Background(), "app")
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "not with ***") || strings.Contains(fmt.Sprintf("%#v", err), secret) {
		t.Errorf("got %v", err)
	}
}

// Some registries answer HEAD without a digest, or not at all.
func TestWithoutHead(t *testing.T) {
	for title, answer := range map[string]http.HandlerFunc{
		"no digest":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") },
		"not allowed": status(http.StatusMethodNotAllowed),
	} {
		s := newServer(t)
		store, repo := open(t, s, Options{})
		digest := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
		s.faults(only("HEAD manifests", 99, answer))
		if at, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: "1"}); err != nil || at.Digest != digest {
			t.Errorf("%s: %+v, %v", title, at, err)
		}
		if at, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: "2"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %+v, %v", title, at, err)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := &blobCache{dir: t.TempDir(), most: 100}
	var digests []string
	for i := range 5 {
		data := bytes.Repeat([]byte{byte(i)}, 30)
		digest := digestOf(data)
		digests = append(digests, digest)
		c.put(digest, data)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.file(digest), old, old); err != nil {
			t.Fatal(err)
		}
	}
	dead, young := filepath.Join(c.dir, tempPrefix+"1"), filepath.Join(c.dir, tempPrefix+"2")
	for _, f := range []string{dead, young} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(dead, long, long); err != nil {
		t.Fatal(err)
	}
	c.clean()
	var kept []bool
	for _, d := range digests {
		_, ok := c.get(d, 1000)
		kept = append(kept, ok)
	}
	if diff := cmp.Diff([]bool{false, false, false, false, true}, kept); diff != "" {
		t.Errorf("the newest half of the bound stays (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("a dead process's file is there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("a file in writing went: %v", err)
	}
}

// The user's Docker configuration is what is used when nothing is given.
func TestDockerKeychain(t *testing.T) {
	s := newServer(t)
	s.faults(basic)
	dir := t.TempDir()
	config := fmt.Sprintf(`{"auths":{%q:{"username":"me","password":%q}}}`, s.addr, testPassword)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", dir)
	store, repo := open(t, s, Options{})
	push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1"))
	if _, err := repo.Resolve(context.Background(), Query{Package: "app"}); err != nil {
		t.Error(err)
	}
}

func TestNobodyThere(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	addr := strings.TrimPrefix(h.URL, "http://")
	h.Close()
	repo, err := NewStore(Options{Retry: quick}).Open(addr + "/blueprints")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Revisions(context.Background(), "app"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "check the address") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

func TestBadDigest(t *testing.T) {
	repo, err := NewStore(Options{}).Open("registry.example.com/blueprints")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"", "v1", "sha256:12", "sha256:" + strings.Repeat("G", 64), "sha256:" + strings.Repeat("../", 21) + "a"} {
		if _, err := repo.ReadPackage(context.Background(), "app", d); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: got %v", d, err)
		}
	}
}
