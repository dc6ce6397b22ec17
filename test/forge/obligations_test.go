package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/test/forgetest"
)

// world is a repository on a real Gitea, with another for each obligation.
type world struct {
	*server
	repo string
}

func (w *world) at(path string) string { return "/repos/" + user + "/" + w.repo + path }

// Branch implements forgetest.World.
func (w *world) Branch(_ testing.TB, name string) string { return w.commit(user, name) }

func (w *world) commit(owner, branch string) string {
	w.t.Helper()
	var made struct{ Commit struct{ SHA string } }
	w.call("POST", "/repos/"+owner+"/"+w.repo+"/contents/"+url.PathEscape(strings.ReplaceAll(branch, "/", "-"))+".txt", object{"branch": "main", "new_branch": branch, "content": "", "message": branch}, &made)
	return made.Commit.SHA
}

// Copied implements forgetest.World.
func (w *world) Copied(_ testing.TB, base, branch, title string) {
	w.t.Helper()
	w.call("POST", w.at("/forks"), object{"organization": "copies"}, nil)
	w.commit("copies", branch)
	w.call("POST", w.at("/pulls"), object{"base": base, "head": "copies:" + branch, "title": title}, nil)
}

// Merge implements forgetest.World.
func (w *world) Merge(_ testing.TB, number int) {
	w.t.Helper()
	w.until("merge", func() bool {
		status, _ := w.ask("POST", w.at(fmt.Sprintf("/pulls/%d/merge", number)), object{"Do": "merge"}, nil)
		return status/100 == 2
	})
}

// Require implements forgetest.World.
func (w *world) Require(_ testing.TB, check string) {
	w.t.Helper()
	w.call("POST", w.at("/branch_protections"), object{"rule_name": "main", "enable_status_check": true, "status_check_contexts": []string{check}}, nil)
}

// See implements forgetest.World.
func (w *world) See(_ testing.TB, number int) forgetest.Request {
	w.t.Helper()
	type login struct{ Login string }
	var p struct {
		Title, Body, State  string
		Merged, Draft       bool
		Base, Head          struct{ Ref string }
		Labels              []struct{ Name string }
		Assignees           []login
		Requested_Reviewers []login
	}
	var comments []struct{ Body string }
	w.call("GET", w.at(fmt.Sprintf("/pulls/%d", number)), nil, &p)
	w.call("GET", w.at(fmt.Sprintf("/issues/%d/comments", number)), nil, &comments)
	r := forgetest.Request{Number: number, Title: p.Title, Body: p.Body, State: p.State, Base: p.Base.Ref, Branch: p.Head.Ref, Draft: p.Draft}
	for _, l := range p.Labels {
		r.Labels = append(r.Labels, l.Name)
	}
	for _, a := range p.Assignees {
		r.Assignees = append(r.Assignees, a.Login)
	}
	for _, a := range p.Requested_Reviewers {
		r.Reviewers = append(r.Reviewers, a.Login)
	}
	for _, c := range comments {
		r.Comments = append(r.Comments, c.Body)
	}
	return r
}

// Statuses implements forgetest.World. Gitea gives the last one first where the least
// is asked for.
func (w *world) Statuses(_ testing.TB, commit string) (out []forgetest.Status) {
	w.t.Helper()
	for page := 1; ; page++ {
		var list []struct {
			Context, Status, Description string
			Target_URL                   string
		}
		w.call("GET", w.at(fmt.Sprintf("/commits/%s/statuses?sort=leastindex&page=%d", commit, page)), nil, &list)
		if len(list) == 0 {
			return out
		}
		for _, s := range list {
			out = append(out, forgetest.Status{Context: s.Context, State: s.Status, Description: s.Description, URL: s.Target_URL})
		}
	}
}

// What holds of the servers that tests of the adapters have holds of a real one.
func TestObligations(t *testing.T) {
	s := newServer(t)
	s.call("POST", "/admin/users", object{"username": forgetest.Bob, "email": "bob@example.com", "password": password, "must_change_password": false}, nil)
	s.call("POST", "/orgs", object{"username": "copies"}, nil)
	n := 0
	forgetest.Obligations(t, func(t *testing.T) (forgetest.World, func(string) pulls.Forge) {
		n++
		here := *s
		here.t = t
		w := &world{&here, fmt.Sprintf("o%d", n)}
		w.call("POST", "/user/repos", object{"name": w.repo, "auto_init": true, "default_branch": "main"}, nil)
		w.call("PUT", w.at("/collaborators/"+forgetest.Bob), object{"permission": "read"}, nil)
		w.call("POST", w.at("/branches"), object{"new_branch_name": "other", "old_ref_name": "main"}, nil)
		return w, func(name string) pulls.Forge { return w.client(t, name) }
	})
}

// client is one that is signed in as a user with the password, or with a token that
// may not do more than read.
func (w *world) client(t *testing.T, name string) *forge.Client {
	t.Helper()
	p, err := forge.Locate(w.address(w.repo), forge.Gitea)
	if err != nil {
		t.Fatal(err)
	}
	return forge.NewServers(func(context.Context, string) (string, string, error) {
		switch name {
		case user:
			return user, password, nil
		case forgetest.Bob:
			var token struct{ SHA1 string }
			w.askAs(forgetest.Bob, http.MethodPost, "/users/"+forgetest.Bob+"/tokens", object{"name": w.repo, "scopes": []string{"read:repository"}}, &token)
			return "", token.SHA1, nil
		}
		return "", forgetest.Token(name), nil
	}, wire.Budget{}).At(p)
}
