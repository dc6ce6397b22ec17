package forge

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pulled is what the command says of a pull request.
type pulled struct {
	Repository, Action, URL, Title, Reason string
	Number                                 int
	Members                                []string
}

// propose makes pull requests and returns them.
func (f *fleet) propose(args ...string) []pulled {
	f.t.Helper()
	var out struct{ PullRequests []pulled }
	text := f.run(append([]string{"propose", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text[:strings.LastIndexByte(text, '}')+1]), &out); err != nil {
		f.t.Fatalf("%v\n%s", err, text)
	}
	return out.PullRequests
}

// actions are what was done, by what a request holds.
func actions(list []pulled) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		out[strings.Join(p.Members, " ")] = p.Action
	}
	return out
}

// of finds the request that holds a variant.
func of(list []pulled, member string) pulled {
	return list[slices.IndexFunc(list, func(p pulled) bool { return slices.Contains(p.Members, member) })]
}

func (f *fleet) want(list []pulled, want map[string]string) {
	f.t.Helper()
	if d := cmp.Diff(want, actions(list)); d != "" {
		f.t.Fatalf("-want +got:\n%s", d)
	}
}

type pull struct {
	Number      int
	State       string
	Merged      bool
	Title, Body string
	Head        struct{ Ref, SHA string }
}

func (f *fleet) pull(repo string, number int) (p pull) {
	f.t.Helper()
	f.call("GET", fmt.Sprintf("/repos/%s/%s/pulls/%d", user, repo, number), nil, &p)
	return p
}

func (f *fleet) mergePull(repo string, number int, style string) {
	f.t.Helper()
	f.until("merge", func() bool {
		status, _ := f.ask("POST", fmt.Sprintf("/repos/%s/%s/pulls/%d/merge", user, repo, number), object{"Do": style, "delete_branch_after_merge": true}, nil)
		return status/100 == 2
	})
}

// several wants three packages in one repository, two of which change alike.
func (f *fleet) several(version string) {
	f.write("set.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: "+version+"}\n"+
		"  targets:\n  - repositories:\n    - {name: c1, packageNames: [shop, cart]}\n"+
		"  - repositories:\n    - {name: c1, packageNames: [other]}\n    template: {packageContext: {data: {own: \"yes\"}}}\n")
}

// A class of change is one pull request: opened, brought up to date and found again
// whatever it is called, never over a person's commits; merging it publishes all that it holds.
func TestPullRequestsByClass(t *testing.T) {
	f := newFleet(t, "c1")
	f.publish("v1", "1")
	f.several("v1")
	f.run("apply")

	first := f.propose("--all", "--pull-requests=repository")
	f.want(first, map[string]string{"c1/cart c1/other c1/shop": "open"})
	p := f.pull("c1", 1)
	if p.Head.Ref != "variform/fleet/all" || !strings.Contains(p.Body, "c1/other") || !strings.HasPrefix(p.Title, "web v1: ") || !strings.HasSuffix(p.Title, " and 2 more)") {
		t.Errorf("%+v", p)
	}
	f.want(f.propose("--all", "--pull-requests=repository"), map[string]string{"c1/cart c1/other c1/shop": "none"})

	// The forge merges main into the head: no change of the packages that it holds.
	side := filepath.Join(t.TempDir(), "clone")
	f.git(f.dir, "clone", "-q", f.address("c1"), side)
	f.git(side, "checkout", "-q", "-b", "side")
	f.git(side, "commit", "-q", "--allow-empty", "-m", "beside")
	f.git(side, "push", "-q", "origin", "side")
	f.merge("c1", "side", "merge")
	f.until("update", func() bool {
		status, _ := f.ask("POST", fmt.Sprintf("/repos/%s/c1/pulls/1/update", user), nil, nil)
		return status/100 == 2
	})
	if updated := f.refs("c1")["refs/heads/variform/fleet/all"]; updated == p.Head.SHA {
		t.Error("the forge did not merge main into it")
	}
	f.edit("c1", "drafts/other/packagevariant-1", "other/b.yaml", settings("b", "first"))
	f.run("apply")
	f.want(f.propose("--all", "--pull-requests=repository"), map[string]string{"c1/cart c1/other c1/shop": "update"})
	f.mergePull("c1", 1, "squash")
	f.run("apply")
	refs := f.refs("c1")
	want := []string{"refs/heads/main", "refs/tags/cart/v1", "refs/tags/other/v1", "refs/tags/shop/v1", "refs/variform/fleet"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(refs))); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}

	f.publish("v2", "2")
	f.several("v2")
	f.run("apply")
	f.edit("c1", "drafts/other/packagevariant-2", "other/b.yaml", settings("b", "mine"))
	f.run("apply")
	second := f.propose("--all", "--pull-requests")
	f.want(second, map[string]string{"c1/cart c1/shop": "open", "c1/other": "open"})
	number, other := of(second, "c1/shop").Number, of(second, "c1/other").Number
	was := f.pull("c1", number)
	f.call("PATCH", fmt.Sprintf("/repos/%s/c1/pulls/%d", user, number), object{"title": "Ours now", "body": "Ann: looks good\n\n" + was.Body}, nil)
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/cart c1/shop": "none", "c1/other": "none"})

	f.publish("v3", "3") // another change, so another key: the same requests
	f.several("v3")
	f.run("apply")
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/cart c1/shop": "update", "c1/other": "update"})
	now := f.pull("c1", number)
	if now.Head.SHA == was.Head.SHA || now.Head.Ref != was.Head.Ref || now.Title != "Ours now" || !strings.HasPrefix(now.Body, "Ann: looks good\n") || strings.Count(now.Body, "variform: fleet") != 1 {
		t.Errorf("%+v", now)
	}

	// A person commits to the head: the next run takes that onto the Draft, the author
	// kept, and makes the head anew. What was edited is a class of its own.
	f.edit("c1", now.Head.Ref, "cart/b.yaml", settings("b", "by hand"))
	parted := f.propose("--all", "--pull-requests")
	f.want(parted, map[string]string{"c1/cart": "open", "c1/shop": "update", "c1/other": "none"})
	f.publish("v4", "4")
	f.several("v4")
	f.run("apply")
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/cart": "update", "c1/shop": "update", "c1/other": "update"})
	for _, branch := range []string{"drafts/cart/packagevariant-2", f.pull("c1", of(parted, "c1/cart").Number).Head.Ref} {
		if got := f.show("c1", branch, "cart/b.yaml") + f.show("c1", branch, "cart/a.yaml"); got != settings("b", "by hand")+settings("a", "4") {
			t.Errorf("%s has\n%s", branch, got)
		}
	}

	// What is outside of packages is let be.
	f.edit("c1", now.Head.Ref, "README.md", "by hand\n")
	edited := f.refs("c1")["refs/heads/"+now.Head.Ref]
	f.publish("v5", "5")
	f.several("v5")
	if said := f.run("apply"); !strings.Contains(said, "README.md is outside of its packages") {
		t.Errorf("nothing is said of it:\n%s", said)
	}
	kept := f.propose("--all", "--pull-requests")
	f.want(kept, map[string]string{"c1/cart": "update", "c1/shop": "keep", "c1/other": "update"})
	if !strings.Contains(of(kept, "c1/shop").Reason, " committed to its branch") || f.refs("c1")["refs/heads/"+now.Head.Ref] != edited {
		t.Errorf("%+v", kept)
	}

	// What is closed is turned down, until it is asked for by name.
	f.call("PATCH", fmt.Sprintf("/repos/%s/c1/pulls/%d", user, other), object{"state": "closed"}, nil)
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/cart": "none", "c1/shop": "keep", "c1/other": "keep"})
	again := f.propose("c1/other", "--pull-requests")
	f.want(again, map[string]string{"c1/other": "open"})
	f.mergePull("c1", of(again, "c1/other").Number, "merge")
	f.run("apply")
	if refs := f.refs("c1"); refs["refs/tags/other/v2"] == "" || f.show("c1", "main", "other/b.yaml") != settings("b", "mine") {
		t.Errorf("%v", refs)
	}
}

// Each Draft's own branch is a request, where that is asked for; one that a person
// opened is let be, and what waits no more is closed.
func TestPullRequestsByVariant(t *testing.T) {
	f := newFleet(t, "c1", "c2")
	f.publish("v1", "1")
	f.run("apply")
	f.call("POST", "/repos/"+user+"/c2/pulls", object{"head": "drafts/web/packagevariant-1", "base": "main", "title": "By hand"}, nil)
	f.want(f.propose("--all", "--pull-requests=variant"), map[string]string{"c1/web": "open", "c2/web": "keep"})
	f.mergePull("c2", 1, "rebase")
	f.want(f.propose("--all", "--pull-requests=class"), map[string]string{"": "close", "c1/web": "open"})
	if p := f.pull("c1", 1); p.State != "closed" || p.Merged {
		t.Errorf("%+v", p)
	}
	f.run("apply")
	if refs := f.refs("c2"); refs["refs/tags/web/v1"] == "" {
		t.Errorf("%v", refs)
	}
	f.want(f.propose("--all", "--pull-requests=repository"), map[string]string{"c1/web": "none"}) // it keeps its branch
	opened := f.propose("--all", "--pull-requests=variant")
	f.want(opened, map[string]string{"": "close", "c1/web": "open"})
	for name := range f.refs("c1") {
		if strings.HasPrefix(name, "refs/heads/variform/") {
			t.Errorf("%s is left", name)
		}
	}
	f.run("discard", "c1/web", "--reason", "not now")
	// Gitea itself closes the request of a deleted branch, some time after the push.
	if closed := f.propose("--all", "--pull-requests=variant"); len(closed) > 0 {
		f.want(closed, map[string]string{"": "close"})
	}
	f.want(f.propose("--all", "--pull-requests=variant"), map[string]string{})
	if p := f.pull("c1", of(opened, "c1/web").Number); p.State != "closed" || p.Merged {
		t.Errorf("%+v", p)
	}
}
