package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/test/forgetest"
)

// signedIn signs in once, as a user of a forgetest.Server.
func signedIn(t *testing.T, user string) Login {
	asked := 0
	return func(context.Context, string) (string, string, error) {
		if asked++; asked > 1 {
			t.Error("asked for a login twice")
		}
		if user == "" {
			return "", "", nil
		}
		return "", forgetest.Token(user), nil
	}
}

func clientOf(t *testing.T, s *forgetest.Server, servers *Servers) *Client {
	t.Helper()
	p, err := Locate(s.Address(), s.Annotation())
	if err != nil {
		t.Fatal(err)
	}
	return servers.At(p)
}

func eachKind(t *testing.T, test func(t *testing.T, s *forgetest.Server)) {
	for name := range kinds {
		t.Run(name, func(t *testing.T) { test(t, forgetest.NewServer(t, name)) })
	}
}

func TestObligations(t *testing.T) {
	for name := range kinds {
		t.Run(name, func(t *testing.T) {
			forgetest.Obligations(t, func(t *testing.T) (forgetest.World, func(string) pulls.Forge) {
				s := forgetest.NewServer(t, name)
				return s, func(user string) pulls.Forge { return clientOf(t, s, NewServers(signedIn(t, user), wire.Budget{})) }
			})
		})
	}
}

// A client of a kind answers as it is told.
func client(t *testing.T, kind, user, password string, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	root, err := url.Parse(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return NewServers(func(context.Context, string) (string, string, error) { return user, password, nil }, wire.Budget{}).At(Place{kind, root, "team/c1"})
}

// A refusal says what was asked for, what the forge says and what to do, and never
// the login.
func TestRefusals(t *testing.T) {
	for name, k := range kinds {
		for status, says := range map[int]string{301: "has moved", 401: "variable " + k.tokens[0].name, 403: k.needs, 404: "no such repository", 500: "500"} {
			c := client(t, name, "ann", "hunter2", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				fmt.Fprint(w, `{"message": "no, hunter2\nfor `+strings.Repeat("x", 1000)+`"}`)
			})
			_, err := c.Open(t.Context(), "main", "head", pulls.Content{Title: "title"})
			var refused *Error
			if !errors.As(err, &refused) || refused.Status != status || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "POST http://127.0.0.1:") ||
				!strings.Contains(err.Error(), "/team/c1/") || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 900 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %d: %v", name, status, err)
			}
		}
		c := client(t, name, "", "", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
		if _, err := c.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "is not what "+name+" gives") {
			t.Error(err)
		}
	}
}

// A login goes to its forge and nowhere else, and no change is sent twice.
func TestLoginStays(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	for name, want := range map[string]string{Gitea: "token token-1", GitHub: "Bearer token-1", GitLab: "Bearer token-1"} {
		var seen []string
		c := client(t, name, "", "token-1", func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Method+" "+r.Header.Get("Authorization"))
			http.Redirect(w, r, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
		})
		if err := c.Update(t.Context(), pulls.Open{Number: 1}, "t", "b"); err == nil {
			t.Error("followed a redirect of a change")
		}
		if _, err := c.Requests(t.Context(), "main"); err == nil {
			t.Error("followed a redirect to another server")
		}
		if len(seen) != 2 || seen[1] != "GET "+want || !strings.HasSuffix(seen[0], " "+want) {
			t.Errorf("%v", seen)
		}
		place := func(scheme string) Place {
			return Place{name, &url.URL{Scheme: scheme, Host: "git.example.com", Path: "/"}, "team/c1"}
		}
		open := NewServers(func(context.Context, string) (string, string, error) { return "ann", "hunter2", nil }, wire.Budget{}).At(place("http"))
		if _, err := open.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "is not encrypted") || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
		broken := NewServers(func(context.Context, string) (string, string, error) { return "", "", errors.New("no helper") }, wire.Budget{}).At(place("https"))
		if _, err := broken.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "signing in at https://git.example.com: no helper") {
			t.Error(err)
		}
	}
	var user, password string
	c := client(t, Gitea, "ann", "p", func(_ http.ResponseWriter, r *http.Request) { user, password, _ = r.BasicAuth() })
	_ = c.Update(t.Context(), pulls.Open{Number: 1}, "t", "b")
	if user != "ann" || password != "p" {
		t.Errorf("signed in as %q", user)
	}
}

// A forge that is asked too often is waited for, as long as a run waits; clients of
// one server wait together, and sign in once.
func TestLimits(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := func(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }
	for name, c := range map[string]struct {
		status int
		head   map[string]string
		says   string
		waits  time.Duration // 0 for a refusal at once
		err    string
	}{
		"seconds":                   {429, map[string]string{"Retry-After": "7"}, "", 7 * time.Second, ""},
		"a date":                    {403, map[string]string{"Retry-After": now.Add(9 * time.Second).Format(http.TimeFormat)}, "", 9 * time.Second, ""},
		"used up":                   {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": later(20 * time.Second)}, "", 21 * time.Second, ""},
		"used up, GitLab":           {429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": later(20 * time.Second)}, "", 21 * time.Second, ""},
		"a secondary one":           {403, map[string]string{"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": later(time.Hour)}, "You have exceeded a secondary rate limit", time.Minute, ""},
		"nothing said":              {429, nil, "", time.Minute, ""},
		"too long":                  {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": later(40 * time.Minute)}, "", 0, "until 2026-01-02T03:44:06Z: run again then, in 40m1s"},
		"another one":               {403, map[string]string{"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": later(40 * time.Minute)}, "no", 0, "the login may not do that"},
		"one that nobody asked for": {500, map[string]string{"Retry-After": "7"}, "no", 0, "500 no"},
	} {
		eachKind(t, func(t *testing.T, s *forgetest.Server) {
			left := 1
			s.Before = func(w http.ResponseWriter, _ *http.Request) bool {
				if left == 0 {
					return false
				}
				left--
				for k, v := range c.head {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				fmt.Fprintf(w, `{"message": %q}`, c.says)
				return true
			}
			s.Branch(t, "a")
			servers := NewServers(signedIn(t, forgetest.Ann), wire.Budget{})
			at, waited := now, time.Duration(0)
			servers.now = func() time.Time { return at }
			servers.sleep = func(_ context.Context, d time.Duration) error {
				at, waited = at.Add(d), waited+d
				return nil
			}
			one, other := clientOf(t, s, servers), clientOf(t, s, servers)
			_, err := one.Open(t.Context(), "main", "a", pulls.Content{Title: "a"})
			if waited != c.waits || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: waited %s: %v", name, waited, err)
			}
			if name == "too long" {
				var limit *LimitError
				asked := len(s.Calls())
				if _, err := other.Requests(t.Context(), "main"); !errors.As(err, &limit) || asked != 1 || len(s.Calls()) != 0 {
					t.Errorf("%s: asked all the same: %v", name, err)
				}
			}
		})
	}
}

// What is put off again and again is given up, and what would last beyond the run's
// own time is not waited for.
func TestLimitsEnd(t *testing.T) {
	asked := 0
	c := client(t, GitHub, "", "", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if _, err := c.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "put it off 5 times") || asked != 5 {
		t.Errorf("%d: %v", asked, err)
	}
	s := forgetest.NewServer(t, GitHub)
	s.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var limit *LimitError
	if _, err := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{})).Requests(ctx, "main"); !errors.As(err, &limit) {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := wire.Sleep(stopped, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The calls are as few as there can be: writes are what forges count.
func TestCalls(t *testing.T) {
	for name, want := range map[string][]string{
		Gitea:  {"GET pulls", "GET pulls", "POST pulls", "GET pulls", "PATCH pulls/1", "GET commits/" + tipOfA + "/status", "POST statuses/" + tipOfA, "POST issues/1/comments", "PATCH pulls/1"},
		GitHub: {"GET pulls", "GET pulls", "POST pulls", "PATCH pulls/1", "GET commits/" + tipOfA + "/status", "POST statuses/" + tipOfA, "POST issues/1/comments", "PATCH pulls/1"},
		GitLab: {"GET merge_requests", "GET merge_requests", "POST merge_requests", "PUT merge_requests/1", "GET repository/commits/" + tipOfA + "/statuses", "POST statuses/" + tipOfA, "POST merge_requests/1/notes", "PUT merge_requests/1"},
	} {
		s := forgetest.NewServer(t, name)
		s.Branch(t, "a")
		c, ctx := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{})), t.Context()
		_, err := c.Requests(ctx, "main")
		made, oerr := c.Open(ctx, "main", "a", pulls.Content{Title: "a"})
		err = errors.Join(err, oerr, c.Update(ctx, made, "b", ""), c.Status(ctx, tipOfA, pulls.Status{Context: "variform/proof", State: pulls.StateSuccess}), c.Close(ctx, 1, "", "why"))
		if d := cmp.Diff(want, s.Calls()); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}

const tipOfA = "0000000000000000000000000000000000000061"

// GitHub has no request without a commit to merge, and one that is opened is known
// though it refuses what comes after.
func TestGitHubOpens(t *testing.T) {
	s := forgetest.NewServer(t, GitHub)
	c := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{}))
	if _, err := c.Open(t.Context(), "main", "main", pulls.Content{Title: "a"}); !errors.Is(err, pulls.ErrNothing) {
		t.Error(err)
	}
	s.Branch(t, "a")
	made, err := c.Open(t.Context(), "main", "a", pulls.Content{Title: "a", Opening: pulls.Opening{Reviewers: []string{"nobody", "team/" + forgetest.Team}}})
	if made.Number != 1 || err == nil || !strings.Contains(err.Error(), "it is open, and the rest is to be done by hand: POST") || !strings.Contains(err.Error(), "collaborator") {
		t.Errorf("%+v, %v", made, err)
	}
	s.Branch(t, "b")
	if _, err := c.Open(t.Context(), "main", "b", pulls.Content{Title: "a", Opening: pulls.Opening{Reviewers: []string{"team/" + forgetest.Team}}}); err != nil || !cmp.Equal(s.See(t, 2).Reviewers, []string{forgetest.Team}) {
		t.Errorf("%v: %+v", err, s.See(t, 2))
	}
}

// What GitLab merges right now is not opened again, and no group is asked to review.
func TestGitLabOpens(t *testing.T) {
	s := forgetest.NewServer(t, GitLab)
	c := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{}))
	s.Branch(t, "a")
	if _, err := c.Open(t.Context(), "main", "a", pulls.Content{Title: "a", Opening: pulls.Opening{Reviewers: []string{"team/" + forgetest.Team}}}); err == nil || !strings.Contains(err.Error(), "asks no group") {
		t.Error(err)
	}
	if _, err := c.Open(t.Context(), "main", "a", pulls.Content{Title: "a", Opening: pulls.Opening{Assignees: []string{"nobody"}}}); err == nil || !strings.Contains(err.Error(), "has no user nobody") {
		t.Error(err)
	}
	if _, err := c.Open(t.Context(), "main", "a", pulls.Content{Title: "a"}); err != nil {
		t.Fatal(err)
	}
	s.Lock(1)
	all, err := c.Requests(t.Context(), "main")
	if err != nil || len(all) != 1 || all[0].Closed || all[0].Merged {
		t.Errorf("%+v, %v", all, err)
	}
}

// Two runs that open a request in the same moment have one, and changing one in the
// same moment is no failure.
func TestGiteaTogether(t *testing.T) {
	s := forgetest.NewServer(t, "gitea")
	s.Together = true
	c, ctx := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{})), t.Context()
	s.Branch(t, "a")
	made, err := c.Open(ctx, "main", "a", pulls.Content{Title: "a", Body: "<!-- variform: -->"})
	if second := s.See(t, 2); err != nil || made.Number != 1 || second.State != "closed" || second.Body != "" || !strings.Contains(strings.Join(second.Comments, ""), "#1 ") || s.See(t, 1).State != "open" {
		t.Errorf("%+v, %v, %+v", made, err, second)
	}
	s.Together, s.After = false, true
	s.Branch(t, "b")
	made, err = c.Open(ctx, "main", "b", pulls.Content{Title: "b", Body: "<!-- variform: -->"})
	if later := s.See(t, 4); err != nil || made.Number != 3 || later.State != "closed" || later.Body != "" || s.See(t, 3).State != "open" {
		t.Errorf("a little after: %+v, %v, %+v", made, err, later)
	}
	s.After = false
	if made, err = c.Open(ctx, "main", "a", pulls.Content{Title: "a"}); err != nil || made.Number != 1 {
		t.Fatalf("opened again: %+v, %v", made, err)
	}
	asked, status := 0, http.StatusConflict
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch {
			return false
		}
		if asked++; asked == 1 {
			http.Error(w, `{"message": "the issue is already changed"}`, status)
		}
		return asked == 1
	}
	if err := c.Update(ctx, made, "b", "b"); err != nil || s.See(t, 1).Title != "b" {
		t.Error(err, s.See(t, 1))
	}
	asked, status = 0, http.StatusInternalServerError
	if err := c.Close(ctx, made.Number, "c", "It is no more."); err != nil || asked != 2 || s.See(t, 1).State != "closed" || s.See(t, 1).Body != "c" || len(s.See(t, 1).Comments) != 1 {
		t.Error(err, asked, s.See(t, 1))
	}
}

// A check that is there is left, whatever another one says.
func TestPendingAgain(t *testing.T) {
	s := forgetest.NewServer(t, GitLab)
	tip := s.Branch(t, "a")
	c := clientOf(t, s, NewServers(signedIn(t, forgetest.Ann), wire.Budget{}))
	for _, says := range []string{"one", "two"} {
		if err := c.Status(t.Context(), tip, pulls.Status{Context: "variform/proof", State: pulls.StatePending, Description: says}); err != nil {
			t.Error(err)
		}
	}
	if there := s.Statuses(t, tip); len(there) != 1 {
		t.Errorf("%+v", there)
	}
}

// What a refusal says is where the forge has put it, and else its text.
func TestSays(t *testing.T) {
	for body, want := range map[string]string{
		`{"message": "exists  already"}`: "exists already", `{"message": ""}`: `{"message": ""}`, "<html>\n no": "<html> no", "\xff": "?",
		`{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "message": "it exists"}, "and more"]}`: "Validation Failed; it exists; and more",
		`{"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}`:                            "Validation Failed; code invalid; field head",
		`{"message": {"source_branch": ["does not exist"]}}`:                                                            "source_branch does not exist",
		`{"error": "insufficient_scope", "error_description": "The request requires more", "scope": "api"}`:             "insufficient_scope; The request requires more",
		strings.Repeat("é", 400): strings.Repeat("é", 299) + "…",
	} {
		if got := says([]byte(body)); got != want {
			t.Errorf("%q says %q, want %q", body, got, want)
		}
	}
	c := NewServers(signedIn(t, ""), wire.Budget{}).At(Place{GitHub, &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/"}, "team/c1"})
	if _, err := c.Requests(t.Context(), "main"); err == nil || strings.Count(err.Error(), "/team/c1/pulls") != 1 || strings.Contains(err.Error(), "page") {
		t.Error(err)
	}
}

// A list that does not end is given up.
func TestEndlessList(t *testing.T) {
	c := client(t, GitHub, "", "", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", `</x?page=2>; rel="next"`)
		fmt.Fprint(w, "[]")
	})
	if _, err := c.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "more than 200 pages") {
		t.Error(err)
	}
}
