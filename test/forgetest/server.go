// Package forgetest has servers for tests that answer the calls of internal/forge as
// the public references of GitHub, GitLab and Gitea say, and the obligations that
// hold for every forge, which a real one is asked for as well.
package forgetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Who there is on a Server.
const (
	Ann  = "ann"       // may do everything
	Bob  = "bob"       // may read
	Team = "reviewers" // of the organisation that has the repository
)

// Request is a pull request as a forge has it.
type Request struct {
	Number                       int
	Base, Branch, Title, Body    string
	State                        string // open, closed, merged, locked
	Author                       string
	Draft, Copy                  bool // Copy is one from somebody's copy of the repository
	Labels, Assignees, Reviewers []string
	Comments                     []string
	Auto                         string // style in which it is to be merged when it may be

	moved   int
	checked bool // it is known whether it can be merged
}

// Status is a check of a commit as a forge has it.
type Status struct{ Context, State, Description, URL string }

// Server is a forge with one repository. Its fields are for the time before it is
// asked.
type Server struct {
	Kind, URL string
	// Path is that of the repository.
	Path string
	// PageSize is the most that is in one answer.
	PageSize int
	// Tip is the commit of a branch, "" where there is none; NewServer's are those
	// that Branch made.
	Tip func(branch string) string
	// Has says that a commit is there; NewServer's are the tips of branches.
	Has func(commit string) bool
	// Together says that another run opens each request in the same moment, and a little
	// before; After, a little after.
	Together, After bool
	// Before may answer a request in place of the server, and says so then.
	Before func(w http.ResponseWriter, r *http.Request) bool

	mux      *http.ServeMux
	mu       sync.Mutex
	requests []*Request
	statuses map[string][]Status
	branches map[string]string
	labels   []string
	required string // the check that main is protected with
	calls    []string
	clock    int
}

// NewServer starts one of a kind, which ends with the test.
func NewServer(t testing.TB, kind string) *Server {
	t.Helper()
	s := New(kind, map[bool]string{true: "group/team/c1", false: "team/c1"}[kind == "gitlab"])
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// New is one of a kind that listens nowhere: it is called by ServeHTTP.
func New(kind, path string) *Server {
	s := &Server{Kind: kind, Path: path, PageSize: 3, statuses: map[string][]Status{}, branches: map[string]string{"main": commit("main"), "other": commit("other")}}
	s.Tip = func(branch string) string { return s.branches[branch] }
	s.Has = s.has
	s.mux = http.NewServeMux()
	switch kind {
	case "gitea":
		s.gitea(s.mux)
	case "github":
		s.github(s.mux)
	case "gitlab":
		s.gitlab(s.mux)
	}
	return s
}

// Address is the repository's for Git, and Annotation its Repository's.
func (s *Server) Address() string    { return s.URL + "/" + s.Path + ".git" }
func (s *Server) Annotation() string { return s.Kind + " " + s.URL }

// Calls are what was asked for, "POST pulls", since the last time.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// Branch makes a branch with a commit of its own.
func (s *Server) Branch(_ testing.TB, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branches[name] = commit(name)
	return s.branches[name]
}

func commit(branch string) string { return fmt.Sprintf("%040x", []byte(branch))[:40] }

// Copied opens a request from a branch of somebody's copy of the repository.
func (s *Server) Copied(_ testing.TB, base, branch, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&Request{Base: base, Branch: branch, Title: title, Author: Bob, Copy: true})
}

// Merge merges a request, or says that it is being merged.
func (s *Server) Merge(_ testing.TB, number int) { s.move(number, "merged") }

// Lock is while a request is being merged.
func (s *Server) Lock(number int) { s.move(number, "locked") }

func (s *Server) move(number int, state string) {
	s.Change(number, func(r *Request) { r.State = state })
}

// Change is what people do to a request.
func (s *Server) Change(number int, do func(*Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(s.requests[number-1], do)
}

// All are the requests, in the order of their numbers.
func (s *Server) All() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
	}
	return out
}

// Keep remembers the requests and the checks; undo has them as they were then.
func (s *Server) Keep() (undo func()) {
	requests := s.All()
	s.mu.Lock()
	defer s.mu.Unlock()
	statuses, clock := maps.Clone(s.statuses), s.clock
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests, s.statuses, s.clock = nil, statuses, clock
		for i := range requests {
			s.requests = append(s.requests, &requests[i])
		}
	}
}

// See is a request as it is.
func (s *Server) See(_ testing.TB, number int) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.requests[number-1]
}

// Statuses are all that were ever set for a commit, the last one first.
func (s *Server) Statuses(_ testing.TB, commit string) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses[commit])
}

func (s *Server) add(r *Request) *Request {
	r.Number, r.State, r.Author = len(s.requests)+1, "open", cmp.Or(r.Author, Ann)
	s.requests = append(s.requests, r)
	s.change(r, func(*Request) {})
	return r
}

func (s *Server) change(r *Request, do func(*Request)) {
	do(r)
	s.clock++
	r.moved = s.clock
	for _, l := range r.Labels {
		if !slices.Contains(s.labels, l) {
			s.labels = append(s.labels, l)
		}
	}
}

// Token is what a user signs in with.
func Token(user string) string { return "token-of-" + user }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, what, _ := strings.Cut(r.URL.Path, s.Path+"/")
	s.calls = append(s.calls, r.Method+" "+what)
	w.Header().Set("Content-Type", "application/json")
	if s.Before != nil && s.Before(w, r) {
		return
	}
	said := r.Header.Get("Authorization")
	scheme := map[string]string{"gitea": "token "}[s.Kind]
	who, known := strings.CutPrefix(said, cmp.Or(scheme, "Bearer ")+Token(""))
	switch {
	case said == "": // an open repository is nobody's secret, elsewhere there is none
		say(w, http.StatusNotFound, object{"message": "Not Found"})
	case !known || stranger(who):
		say(w, http.StatusUnauthorized, object{"message": "Bad credentials"})
	case who == Bob && r.Method != http.MethodGet:
		w.Header().Set("X-Accepted-GitHub-Permissions", "pull_requests=write")
		say(w, http.StatusForbidden, object{"message": "Resource not accessible by personal access token"})
	default:
		s.mux.ServeHTTP(w, r)
	}
}

type object = map[string]any

func say(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// read reads the body of a call, in which nothing is that the reference does not name.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		say(w, http.StatusUnprocessableEntity, object{"message": err.Error()})
		return false
	}
	return true
}

// page answers with a page of a list, and says where the next one is.
func page[T any](s *Server, w http.ResponseWriter, r *http.Request, size string, all []T, show func(T) object) {
	q := r.URL.Query()
	number, per := max(1, atoi(q.Get("page"))), min(cmp.Or(atoi(q.Get(size)), 30), s.PageSize)
	from := min((number-1)*per, len(all))
	to := min(from+per, len(all))
	if to < len(all) {
		q.Set("page", strconv.Itoa(number+1))
		elsewhere := url.URL{Scheme: "https", Host: "behind.example.com", Path: r.URL.Path, RawQuery: q.Encode()}
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next", <%s>; rel="last"`, &elsewhere, &elsewhere))
	}
	out := []object{}
	for _, v := range all[from:to] {
		out = append(out, show(v))
	}
	say(w, http.StatusOK, out)
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// chosen are the requests in some states, those that moved last first.
func (s *Server) chosen(base string, states ...string) []*Request {
	var out []*Request
	for _, r := range s.requests {
		if (base == "" || r.Base == base) && slices.Contains(states, r.State) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Request) int { return cmp.Compare(b.moved, a.moved) })
	return out
}

func (s *Server) found(w http.ResponseWriter, r *http.Request) *Request {
	n := atoi(r.PathValue("number"))
	if n < 1 || n > len(s.requests) {
		say(w, http.StatusNotFound, object{"message": "Not Found"})
		return nil
	}
	return s.requests[n-1]
}

// twin is the open request of the same branches.
func (s *Server) twin(base, branch string) *Request {
	for _, r := range s.requests {
		if r.Base == base && r.Branch == branch && !r.Copy && r.State == "open" {
			return r
		}
	}
	return nil
}

// shownStates are a request's state as GitHub and Gitea say it.
func closedOf(r *Request) string {
	if r.State == "open" || r.State == "locked" {
		return "open"
	}
	return "closed"
}

func (s *Server) tipOf(r *Request) string { return cmp.Or(s.Tip(r.Branch), commit(r.Branch)) }

// has says that a commit is a branch's.
func (s *Server) has(commit string) bool {
	for _, r := range s.requests {
		if s.Tip(r.Branch) == commit {
			return true
		}
	}
	for _, tip := range s.branches {
		if tip == commit {
			return true
		}
	}
	return false
}

// newest are the statuses of a commit, one for each context.
func (s *Server) newest(commit string) []Status {
	var out []Status
	for _, st := range s.statuses[commit] {
		if !slices.ContainsFunc(out, func(o Status) bool { return o.Context == st.Context }) {
			out = append(out, st)
		}
	}
	return out
}

func (s *Server) set(commit string, st Status) {
	s.statuses[commit] = append([]Status{st}, s.statuses[commit]...)
	for _, r := range s.requests {
		s.settle(r)
	}
}

// Require protects main: nothing is merged without a check.
func (s *Server) Require(_ testing.TB, check string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.required = check
}

// free says that nothing stands in a request's way.
func (s *Server) free(r *Request) bool {
	return s.required == "" || slices.ContainsFunc(s.newest(s.tipOf(r)), func(st Status) bool { return st.Context == s.required && st.State == "success" })
}

// settle merges a request that is to be merged when it may be.
func (s *Server) settle(r *Request) {
	if r.Auto != "" && r.State == "open" && s.free(r) {
		s.change(r, func(r *Request) { r.State = "merged" })
	}
}

// auto has a request merged when it may be, of Gitea and GitLab: they find out later
// whether it can be.
func (s *Server) auto(w http.ResponseWriter, r *Request, commit, style string, done int) {
	switch {
	case !r.checked || r.Draft || r.State != "open":
		r.checked = true
		say(w, http.StatusMethodNotAllowed, object{"message": "Please try again later"})
	case commit != s.tipOf(r):
		say(w, http.StatusConflict, object{"message": "SHA does not match HEAD of source branch"})
	case r.Auto != "" && s.Kind == "gitea":
		say(w, http.StatusConflict, object{"message": "pull request is already scheduled to auto merge when checks succeed [pull_id: 1]"})
	default:
		r.Auto = style
		s.settle(r)
		say(w, done, object{})
	}
}

func repo(of bool) int {
	if of {
		return 8 // somebody's copy
	}
	return 7
}

func cutFold(text string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if len(text) > len(p) && strings.EqualFold(text[:len(p)], p) {
			return strings.TrimSpace(text[len(p):]), true
		}
	}
	return text, false
}
