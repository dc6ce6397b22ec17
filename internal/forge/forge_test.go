package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
)

func TestLocate(t *testing.T) {
	for name, c := range map[string]struct{ address, annotation, want, err string }{
		"https":              {"https://git.example.com/team/c1.git", "gitea", "https://git.example.com/ team c1", ""},
		"no .git":            {"https://git.example.com/team/c1/", "gitea", "https://git.example.com/ team c1", ""},
		"a folder":           {"https://example.com:8443/git/team/c1.git", "gitea", "https://example.com:8443/git/ team c1", ""},
		"a user":             {"https://ann@git.example.com/team/c1", "gitea", "https://git.example.com/ team c1", ""},
		"ssh":                {"ssh://git@git.example.com:2222/team/c1.git", "gitea https://git.example.com", "https://git.example.com/ team c1", ""},
		"short ssh":          {"git@git.example.com:team/c1.git", "gitea  https://git.example.com/git/", "https://git.example.com/git/ team c1", ""},
		"elsewhere":          {"https://git.example.com/team/c1", "gitea https://api.example.com", "https://api.example.com/ team c1", ""},
		"ssh, not told":      {"git@git.example.com:team/c1.git", "gitea", "", "write it after the kind, as in variform.dev/forge: gitea https://git.example.com"},
		"no annotation":      {"https://git.example.com/team/c1", " ", "", "set the annotation variform.dev/forge, to gitea"},
		"another":            {"https://github.com/team/c1", "github", "", `"github" is no forge that pull requests can be made on`},
		"no owner":           {"https://git.example.com/c1", "gitea", "", "names no owner"},
		"a folder here":      {"/srv/git/c1.git", "gitea", "", "is on no forge"},
		"no address":         {"https://git.example.com/team/c1", "gitea git.example.com", "", "is no https address"},
		"a login":            {"https://git.example.com/team/c1", "gitea https://ann:secret@git.example.com", "", "is no https address"},
		"a login, elsewhere": {"https://ann:secret@git.example.com/c1", "gitea", "", "names no owner"},
	} {
		p, err := Locate(c.address, c.annotation)
		got := ""
		if err == nil {
			got = fmt.Sprint(p.Root, " ", p.Owner, " ", p.Name)
		}
		if got != c.want || (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A token is for the server that the environment names.
func TestTokenOf(t *testing.T) {
	env := func(server string) func(string) string {
		return func(name string) string {
			return map[string]string{"GITEA_TOKEN": "t", "GITEA_SERVER_URL": server}[name]
		}
	}
	for server, want := range map[string]string{
		"https://git.example.com": "t", "https://GIT.example.com:443/": "t", "http://git.example.com": "", "https://git.example.com:8443": "", "https://example.com": "", "": "", ":": "",
	} {
		if got := TokenOf("https://git.example.com/", env(server)); got != want {
			t.Errorf("%q: %q", server, got)
		}
	}
}

// client is one of a server that answers as it is told.
func client(t *testing.T, user, password string, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	root, err := url.Parse(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	return New(Place{Gitea, root, "team", "c1"}, func(context.Context, string) (string, string, error) {
		if asked++; asked > 1 {
			t.Error("asked for a login twice")
		}
		return user, password, nil
	}, wire.Budget{})
}

// All pages of what is open are read, and one of what is closed; requests to other
// branches are others'.
func TestRequestsInPages(t *testing.T) {
	var asked []string
	c := client(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, r.URL.Path+" "+q.Get("state")+" "+q.Get("page"))
		n := pageSize
		if q.Get("state") == "open" && q.Get("page") == "2" {
			n = 3
		}
		list := []map[string]any{}
		for i := range n {
			base := "main"
			if i == 0 {
				base = "other"
			}
			list = append(list, map[string]any{"number": i, "state": q.Get("state"), "merged": i == 1, "body": "a\r\nb", "base": map[string]any{"ref": base}, "head": map[string]any{"ref": "x", "sha": "1"}})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	got, err := c.Requests(t.Context(), "main")
	if err != nil || len(got) != 49+2+49 {
		t.Fatal(len(got), err)
	}
	if want := "/api/v1/repos/team/c1/pulls open 1,/api/v1/repos/team/c1/pulls open 2,/api/v1/repos/team/c1/pulls closed 1"; strings.Join(asked, ",") != want {
		t.Errorf("asked for %v", asked)
	}
	last, merged := got[len(got)-1], got[51]
	if !last.Closed || last.Merged || last.Body != "a\nb" || last.Branch != "x" || last.Commit != "1" || merged.Closed || !merged.Merged {
		t.Errorf("%+v %+v", last, merged)
	}
}

// A refusal says what was asked for, what the forge says and what to do, and never
// the login.
func TestRefusals(t *testing.T) {
	for status, says := range map[int]string{401: "GITEA_TOKEN", 403: "a token needs", 404: "no such repository", 409: "exists already", 500: "500"} {
		c := client(t, "ann", "hunter2", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"message": "exists already, hunter2\nfor `+strings.Repeat("x", 1000)+`"}`)
		})
		_, err := c.Open(t.Context(), "main", "head", "title", "body")
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != status || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "POST http://127.0.0.1:") ||
			!strings.Contains(err.Error(), "/team/c1/pulls") || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 700 {
			t.Errorf("%d: %v", status, err)
		}
	}
	c := client(t, "", "", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if _, err := c.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "is not what Gitea gives") {
		t.Error(err)
	}
}

// A login goes to its forge and nowhere else, and no change is sent twice.
func TestLoginStays(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	var seen []string
	c := client(t, "", "token-1", func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
	})
	if err := c.Update(t.Context(), 1, "t", "b"); err == nil {
		t.Error("followed a redirect of a change")
	}
	if _, err := c.Requests(t.Context(), "main"); err == nil {
		t.Error("followed a redirect to another server")
	}
	if strings.Join(seen, ",") != "PATCH token token-1,GET token token-1" {
		t.Errorf("%v", seen)
	}
	open := New(Place{Gitea, &url.URL{Scheme: "http", Host: "git.example.com", Path: "/"}, "team", "c1"},
		func(context.Context, string) (string, string, error) { return "ann", "hunter2", nil }, wire.Budget{})
	if _, err := open.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "is not encrypted") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	broken := New(Place{Gitea, &url.URL{Scheme: "https", Host: "git.example.com", Path: "/"}, "team", "c1"},
		func(context.Context, string) (string, string, error) { return "", "", errors.New("no helper") }, wire.Budget{})
	if _, err := broken.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "signing in at https://git.example.com: no helper") {
		t.Error(err)
	}
}

// What is closed says why first.
func TestClose(t *testing.T) {
	var calls []string
	c := client(t, "ann", "p", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		user, password, _ := r.BasicAuth()
		calls = append(calls, fmt.Sprint(r.Method, " ", r.URL.Path, " ", body, user, password))
		if len(calls) == 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	if err := c.Close(t.Context(), 7, "text", "because"); err != nil {
		t.Fatal(err)
	}
	want := "POST /api/v1/repos/team/c1/issues/7/comments map[body:because]annp|PATCH /api/v1/repos/team/c1/pulls/7 map[body:text state:closed]annp"
	if got := strings.Join(calls, "|"); got != want {
		t.Error(got)
	}
	if err := c.Close(t.Context(), 8, "text", "because"); err == nil || len(calls) != 3 {
		t.Errorf("%v after %d calls", err, len(calls))
	}
}

// What a refusal says is the forge's message where it has one, and else its text; a
// server that is not there is named once.
func TestSays(t *testing.T) {
	for body, want := range map[string]string{
		`{"message": "exists  already"}`: "exists already", `{"message": ""}`: `{"message": ""}`, "<html>\n no": "<html> no", "\xff": "?",
	} {
		if got := says([]byte(body)); got != want {
			t.Errorf("%q says %q, want %q", body, got, want)
		}
	}
	c := client(t, "", "", nil)
	c.place.Root.Host = "127.0.0.1:1"
	if _, err := c.Requests(t.Context(), "main"); err == nil || strings.Count(err.Error(), "/team/c1/pulls") != 1 || strings.Contains(err.Error(), "limit=") {
		t.Error(err)
	}
}

// A check is set where it does not say the same already, in one short line.
func TestStatus(t *testing.T) {
	var calls []string
	c := client(t, "", "", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		calls = append(calls, fmt.Sprint(r.Method, " ", r.URL.Path, " ", body))
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"state": "failure", "statuses": [{"context": "other", "status": "success", "description": "it is", "target_url": "https://x"}, {"context": "variform/proof", "status": "success", "description": "it is", "target_url": "https://x"}]}`)
		}
	})
	at := "/api/v1/repos/team/c1/"
	for said, want := range map[pulls.Status][]string{
		{Context: "variform/proof", State: pulls.StateSuccess, Description: "it\nis", URL: "https://x"}: nil,
		{Context: "variform/proof", State: pulls.StatePending, Description: "it is", URL: "https://x"}: {
			"POST " + at + "statuses/1 map[context:variform/proof description:it is state:pending target_url:https://x]",
		},
		{Context: "variform/proof", State: pulls.StateFailure, Description: strings.Repeat("é", 200)}: {
			"POST " + at + "statuses/1 map[context:variform/proof description:" + strings.Repeat("é", 68) + "… state:failure target_url:]",
		},
	} {
		calls = nil
		if err := c.Status(t.Context(), "1", said); err != nil {
			t.Fatal(err)
		}
		if want = append([]string{"GET " + at + "commits/1/status map[]"}, want...); strings.Join(calls, "\n") != strings.Join(want, "\n") {
			t.Errorf("%+v: %q", said, calls)
		}
	}
	refusing := client(t, "", "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if err := refusing.Status(t.Context(), "1", pulls.Status{}); err == nil {
		t.Error("a refusal is no error")
	}
}
