package gittest

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The kinds of request that a Server counts.
const (
	ReadRefs  = "read refs"  // GET info/refs?service=git-upload-pack
	Fetch     = "fetch"      // POST git-upload-pack
	WriteRefs = "write refs" // GET info/refs?service=git-receive-pack
	Push      = "push"       // POST git-receive-pack
)

// Server serves bare repositories over HTTP by git http-backend. Its methods
// may be called at any time.
type Server struct {
	URL  string // without a final slash
	root string

	backend cgi.Handler
	mu      sync.Mutex
	idle    *sync.Cond // nobody is connected, or nothing is served
	clients int        // connections
	serving int        // requests
	counts  map[string]int
	bytes   map[string]int64
	passed  map[Stream]int64
	stop    *stop
	before  func(kind, repo string)
	user    string
	pass    string
	faults  map[string][]fault
}

// fault breaks one request; a nil func does not.
type fault struct {
	status     int    // answer this instead
	retryAfter string // with that header; "" without
	bodyBytes  int64  // hand on this many body bytes, then drop; below 0: all but so many
	wholeBody  bool   // hand on all of it
	dropReply  bool
	emptyReply bool
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	RequireGit(t)
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skipf("skipped: git has no http-backend here: %v", err)
	}
	s := &Server{root: t.TempDir(), faults: map[string][]fault{}}
	s.idle = sync.NewCond(&s.mu)
	s.ResetCounts()
	s.backend = cgi.Handler{
		Path: backend,
		Root: "",
		Env: []string{
			"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=tester",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_HTTP_MAX_REQUEST_BUFFER=1000M",
		},
		InheritEnv: []string{"PATH"},
		Stderr:     io.Discard,
		Logger:     log.New(io.Discard, "", 0), // clients that were killed
	}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = s.connected
	srv.Start()
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// NewRepo makes an empty bare repository that accepts pushes.
func (s *Server) NewRepo(t testing.TB, name string) *Repo {
	t.Helper()
	r := newRepoAt(t, filepath.Join(s.root, filepath.FromSlash(name)+".git"))
	r.Git(t, "config", "http.receivepack", "true")
	return r
}

// Repo is a repository that is there.
func (s *Server) Repo(name string) *Repo {
	return &Repo{Dir: filepath.Join(s.root, filepath.FromSlash(name)+".git")}
}

// Twin is another server with copies of all repositories as they are.
func (s *Server) Twin(t testing.TB) *Server {
	t.Helper()
	twin := NewServer(t)
	if err := os.CopyFS(twin.root, os.DirFS(s.root)); err != nil {
		t.Fatal(err)
	}
	return twin
}

// RepoURL is the address of a repository made by NewRepo.
func (s *Server) RepoURL(name string) string { return s.URL + "/" + name + ".git" }

// Before runs f before each request reaches git: a test's chance to race.
// f must not make requests of the same kind without end.
func (s *Server) Before(f func(kind, repo string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// RequireLogin answers 401 to all without this user and password.
func (s *Server) RequireLogin(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.pass = user, password
}

// DropPushAfter makes the next push die after n body bytes: git receives those,
// then the end of its input, and the client's connection breaks.
func (s *Server) DropPushAfter(n int64) { s.order(Push, fault{bodyBytes: n, dropReply: true}) }

// DropPushBeforeEnd makes the next push die n body bytes before its end. How like
// objects are written depends on which was made first, so a push of the same refs
// differs by some bytes from run to run.
func (s *Server) DropPushBeforeEnd(n int64) { s.order(Push, fault{bodyBytes: -n, dropReply: true}) }

// DropPushReply lets the next push happen and breaks the connection before the answer.
func (s *Server) DropPushReply() { s.order(Push, fault{wholeBody: true, dropReply: true}) }

// EmptyPushReply lets the next push happen and answers 200 with no body.
func (s *Server) EmptyPushReply() { s.order(Push, fault{wholeBody: true, emptyReply: true}) }

// FailNext answers the next request of a kind with an HTTP status.
func (s *Server) FailNext(kind string, status int) { s.order(kind, fault{status: status}) }

// LimitNext answers the next request of a kind with 429 and Retry-After.
func (s *Server) LimitNext(kind, after string) {
	s.order(kind, fault{status: http.StatusTooManyRequests, retryAfter: after})
}

func (s *Server) order(kind string, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[kind] = append(s.faults[kind], f)
}

// Count is the number of requests of a kind so far.
func (s *Server) Count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[kind]
}

// Bytes is the size of all request bodies of a kind so far.
func (s *Server) Bytes(kind string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes[kind]
}

// ResetCounts sets all counts to 0 and forgets StopAt.
func (s *Server) ResetCounts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts, s.bytes, s.passed, s.stop = map[string]int{}, map[string]int64{}, map[Stream]int64{}, nil
}

// Wait returns when all clients have gone and all that they asked for is done,
// also by those that were killed. An HTTP client that keeps its connections, as
// one in the test's own process may, is waited for in vain.
func (s *Server) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.clients > 0 {
		s.idle.Wait()
	}
}

// WaitServed returns when all that was asked for so far is done, also for a client whose
// connection is kept, or who gave up.
func (s *Server) WaitServed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.serving > 0 {
		s.idle.Wait()
	}
}

func (s *Server) serve(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving += more; s.serving == 0 {
		s.idle.Broadcast()
	}
}

func (s *Server) connected(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.clients++
	case http.StateClosed, http.StateHijacked:
		if s.clients--; s.clients == 0 {
			s.idle.Broadcast()
		}
	case http.StateActive, http.StateIdle:
	}
}

func kindOf(r *http.Request) string {
	switch {
	case strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
		return Fetch
	case strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
		return Push
	case r.URL.Query().Get("service") == "git-receive-pack":
		return WriteRefs
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		return ReadRefs
	}
	return "other"
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serve(1)
	defer s.serve(-1)
	kind := kindOf(r)
	out := &meteredWriter{ResponseWriter: w, meter: meter{s, Stream{kind, true}}}
	defer out.end()
	w = out
	in := &meteredReader{r: r.Body, meter: meter{s, Stream{kind, false}}}
	body, err := io.ReadAll(in) // the CGI host refuses chunked bodies: spool
	if err != nil {
		// The client has gone. Git sees what came of it, as behind a server
		// that hands bodies on while they arrive.
		s.run(httptest.NewRecorder(), r, body)
		out.cut = true
		return
	}
	f, broken, before, ok := s.admit(kind, r, int64(len(body)))
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="gittest"`)
		http.Error(w, "login needed", http.StatusUnauthorized)
		return
	}
	if before != nil {
		before(kind, repoOf(r.URL.Path))
	}
	if broken && f.status != 0 {
		if f.retryAfter != "" {
			w.Header().Set("Retry-After", f.retryAfter)
		}
		http.Error(w, "ordered failure", f.status)
		return
	}
	if !broken {
		s.run(w, r, body)
		return
	}
	if !f.wholeBody {
		n, size := f.bodyBytes, int64(len(body))
		if n < 0 {
			n += size
		}
		body = body[:min(max(n, 0), size)]
	}
	s.run(httptest.NewRecorder(), r, body)
	if f.emptyReply {
		w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		w.WriteHeader(http.StatusOK)
		return
	}
	drop(w)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request, body []byte) {
	r2 := r.Clone(r.Context())
	r2.Body = io.NopCloser(bytes.NewReader(body))
	r2.ContentLength = int64(len(body))
	r2.TransferEncoding = nil
	s.backend.ServeHTTP(w, r2)
}

func (s *Server) admit(kind string, r *http.Request, size int64) (f fault, broken bool, before func(string, string), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[kind]++
	s.bytes[kind] += size
	if user, pass, _ := r.BasicAuth(); s.user != "" && (user != s.user || pass != s.pass) {
		return f, false, nil, false
	}
	if q := s.faults[kind]; len(q) > 0 {
		f, broken = q[0], true
		s.faults[kind] = q[1:]
	}
	return f, broken, s.before, true
}

func repoOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".git/")
	return name
}

func drop(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
		return
	}
	panic(http.ErrAbortHandler)
}
