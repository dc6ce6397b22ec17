package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// forge speaks as much of Gitea's API as requests take, for the repositories of a
// world, and counts what is written. The real one is test/forge's.
type forge struct {
	*httptest.Server
	w *world

	mu       sync.Mutex
	requests map[string][]*request // by repository
	statuses map[string]status     // by commit
	writes   []string
	closed   int                     // are in one answer, the newest first; 0 is all
	refuse   func(*http.Request) int // an HTTP status instead of an answer; 0 lets it pass
}

type request struct {
	Number  int    `json:"number"`
	HTMLURL string `json:"html_url"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	State   string `json:"state"`
	Merged  bool   `json:"merged"`
	Head    struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

type status struct {
	Context     string `json:"context"`
	State       string `json:"state,omitempty"`
	Status      string `json:"status,omitempty"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// newForgeWorld is newWorld whose clusters are on a forge and say so, with more
// annotations.
func newForgeWorld(t testing.TB, annotations string, clusters ...string) (*world, *forge) {
	t.Helper()
	w := makeWorld(t, t.TempDir(), gittest.NewServer(t), nil)
	f := &forge{w: w, requests: map[string][]*request{}, statuses: map[string]status{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	t.Setenv("GITEA_SERVER_URL", f.URL)
	t.Setenv("GITEA_TOKEN", "not-a-secret")
	for _, c := range clusters {
		w.repos[c] = w.srv.NewRepo(t, "team/"+c)
		w.repos[c].Commit(t, "main", "start", gittest.Text{"README.md": "# " + c + "\n"})
		f.annotate(c, annotations)
	}
	return w, f
}

func (f *forge) annotate(repo, annotations string) {
	f.w.t.Helper()
	text := repository(repo, f.w.url("team/"+repo), true, "")
	f.w.write("repositories/"+repo+".yaml", strings.Replace(text, "metadata:\n", "metadata:\n  annotations:\n    variform.dev/forge: gitea "+f.URL+"\n"+annotations, 1))
}

// wrote are the writes since it was asked last.
func (f *forge) wrote() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.writes
	f.writes = nil
	return out
}

// wroteKinds is wrote without what numbers and commits the writes are about.
func (f *forge) wroteKinds() (out []string) {
	for _, w := range f.wrote() {
		out = append(out, w[:strings.LastIndexByte(w, '/')])
	}
	return out
}

// open are the requests that are, by their heads.
func (f *forge) open(repo string) map[string]*request {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]*request{}
	for _, r := range f.requests[repo] {
		if r.State == "open" {
			out[r.Head.Ref] = r
		}
	}
	return out
}

// change is what people do in a forge's pages.
func (f *forge) change(repo string, number int, change func(*request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f.requests[repo][number-1])
}

// ServeHTTP implements http.Handler.
func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	repo, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/repos/team/"), "/")
	if f.refuse != nil {
		if code := f.refuse(r); code != 0 {
			w.WriteHeader(code)
			return
		}
	}
	if r.Method != http.MethodGet {
		f.writes = append(f.writes, r.Method+" "+repo+"/"+rest)
	}
	answer, code := f.answer(r, repo, strings.Split(rest, "/"))
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *forge) answer(r *http.Request, repo string, at []string) (any, int) {
	var in struct {
		Base, Head, Title, Body, State string
		Context, Description           string
		TargetURL                      string `json:"target_url"`
	}
	if r.Method != http.MethodGet && json.NewDecoder(r.Body).Decode(&in) != nil {
		return nil, http.StatusBadRequest
	}
	heads := map[string]string{}
	for name, commit := range f.w.repos[repo].Refs(f.w.t) {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			heads[branch] = commit
		}
	}
	switch r.Method + " " + at[0] {
	case "GET pulls":
		list := []*request{}
		for _, p := range slices.Backward(f.requests[repo]) {
			if p.State == "open" {
				p.Head.SHA = heads[p.Head.Ref]
			}
			if p.State == r.URL.Query().Get("state") {
				list = append(list, p)
			}
		}
		if page, _ := strconv.Atoi(r.URL.Query().Get("page")); f.closed > 0 && r.URL.Query().Get("state") == "closed" {
			list = list[min(len(list), (page-1)*f.closed):min(len(list), page*f.closed)]
		}
		return list, http.StatusOK
	case "POST pulls":
		if heads[in.Head] == "" || slices.ContainsFunc(f.requests[repo], func(p *request) bool { return p.State == "open" && p.Head.Ref == in.Head }) {
			return map[string]string{"message": "it exists already, or its head does not"}, http.StatusConflict
		}
		p := &request{Number: len(f.requests[repo]) + 1, Title: in.Title, Body: in.Body, State: "open"}
		p.HTMLURL = fmt.Sprintf("%s/team/%s/pulls/%d", f.URL, repo, p.Number)
		p.Head.Ref, p.Head.SHA, p.Base.Ref = in.Head, heads[in.Head], in.Base
		f.requests[repo] = append(f.requests[repo], p)
		return p, http.StatusCreated
	case "PATCH pulls":
		var n int
		if _, err := fmt.Sscan(at[1], &n); err != nil || n < 1 || n > len(f.requests[repo]) {
			return nil, http.StatusNotFound
		}
		p := f.requests[repo][n-1]
		if in.Title != "" {
			p.Title = in.Title
		}
		if in.State != "" {
			p.State = in.State
		}
		p.Body = in.Body
		return p, http.StatusCreated
	case "POST issues":
		return struct{}{}, http.StatusCreated
	case "GET commits":
		list := []status{}
		if s, ok := f.statuses[at[1]]; ok {
			s.Status, s.State = s.State, ""
			list = append(list, s)
		}
		return map[string]any{"statuses": list}, http.StatusOK
	case "POST statuses":
		f.statuses[at[1]] = status{Context: in.Context, State: in.State, Description: in.Description, TargetURL: in.TargetURL}
		return struct{}{}, http.StatusCreated
	}
	return nil, http.StatusNotFound
}

// proof is what the check says of a branch.
func (f *forge) proof(repo, branch string) status {
	f.w.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.statuses[f.w.repos[repo].Refs(f.w.t)["refs/heads/"+branch]]
}
