package forge

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/forgetest"
	"github.com/variform/variform/test/gittest"
)

// A fleet lives by the requests of GitHub and of GitLab as it does by Gitea's: a class
// is one for each of its packages' owners, opened as annotations say, and merged ones
// are tagged.
func TestKinds(t *testing.T) {
	for kind := range tokens {
		t.Run(kind, func(t *testing.T) {
			api, git, repo := played(t, kind)
			rules := map[string]string{"gitea": "(shop|cart)/.* @shops\nother/.* @others\n"}[kind]
			if rules == "" {
				rules = "/shop/ @shops\n/cart/ @shops\n/other/ @others\n"
			}
			repo.Commit(t, "main", "owners", gittest.Text{"CODEOWNERS": rules})

			f := playedFleet(t)
			f.write("c1.yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: c1\n  annotations: {variform.dev/forge: %q, variform.dev/review-labels: fleet}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main}}\n", api.Annotation(), git.RepoURL(api.Path)))
			set := func(version string) {
				f.write("set.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web, annotations: {variform.dev/reviewers: bob, variform.dev/review-draft: \"true\"}}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: "+version+"}\n  targets:\n  - repositories:\n    - {name: c1, packageNames: [shop, cart, other]}\n")
			}
			f.publish("v1", "1")
			set("v1")
			f.run("apply")
			first := f.propose("--all", "--pull-requests")
			f.want(first, map[string]string{"c1/cart c1/shop": "open", "c1/other": "open"})
			shops := of(first, "c1/shop")
			if r := api.See(t, shops.Number); !r.Draft || !slices.Equal(r.Labels, []string{"fleet"}) || !slices.Equal(r.Reviewers, []string{"bob"}) || r.Base != "main" || shops.URL == "" {
				t.Errorf("%+v, %+v", r, shops)
			}
			api.Calls()
			f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/cart c1/shop": "none", "c1/other": "none"})
			for _, call := range writes(api) {
				t.Errorf("with nothing to do: %s", call)
			}
			repo.Git(t, "update-ref", "refs/heads/main", api.Tip(api.See(t, shops.Number).Branch))
			api.Merge(t, shops.Number)
			f.run("apply")
			f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/other": "none"})
			tags := slices.DeleteFunc(slices.Sorted(maps.Keys(repo.Refs(t))), func(name string) bool { return name[:len("refs/tags/")] != "refs/tags/" })
			if d := cmp.Diff([]string{"refs/tags/cart/v1", "refs/tags/shop/v1"}, tags); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// tokens are the variables that name a token of a kind, and the server that it is for.
var tokens = map[string][2]string{"github": {"GH_TOKEN", "GH_HOST"}, "gitlab": {"GITLAB_TOKEN", "GITLAB_HOST"}, "gitea": {"GITEA_TOKEN", "GITEA_SERVER_URL"}}

// played is a forge of the tests with its repository at a Git server, to which a run
// signs in.
func played(t *testing.T, kind string) (*forgetest.Server, *gittest.Server, *gittest.Repo) {
	t.Helper()
	api, git := forgetest.NewServer(t, kind), gittest.NewServer(t)
	t.Setenv(tokens[kind][0], forgetest.Token(forgetest.Ann))
	t.Setenv(tokens[kind][1], api.URL)
	config := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = Ann\n\temail = ann@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	repo := git.NewRepo(t, api.Path)
	api.Tip = func(branch string) string { return repo.Refs(t)["refs/heads/"+branch] }
	api.Has = func(commit string) bool { return slices.Contains(slices.Collect(maps.Values(repo.Refs(t))), commit) }
	return api, git, repo
}

func playedFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{&server{t: t}, t.TempDir(), gittest.NewRepo(t)}
	f.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: fleet}\n")
	f.write("catalog.yaml", f.registered("catalog", f.catalog.Dir, false))
	return f
}

// writes are the calls that changed something since the last time.
func writes(api *forgetest.Server) (out []string) {
	for _, call := range api.Calls() {
		if !strings.HasPrefix(call, "GET ") {
			out = append(out, call)
		}
	}
	return out
}

// A request is given to the forge to merge, once: where that was refused, the next run
// asks again.
func TestAutoMerge(t *testing.T) {
	api, git, repo := played(t, "gitea")
	repo.Commit(t, "main", "first", gittest.Text{"README.md": ""})
	api.Require(t, "somebody else's")
	f := playedFleet(t)
	f.publish("v1", "1")
	f.write("c1.yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: c1\n  labels: {cluster: \"true\"}\n  annotations: {variform.dev/forge: %q, variform.dev/review-auto-merge: squash}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main}}\n", api.Annotation(), git.RepoURL(api.Path)))
	f.run("apply")

	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/merge") {
			return false
		}
		http.Error(w, `{"message": "not you"}`, http.StatusForbidden)
		return true
	}
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), []string{"propose", "--all", "--pull-requests", "-f", f.dir, "--cache-dir", t.TempDir()}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "having the forge merge "+api.URL+"/team/c1/pulls/1 by itself: ") || !strings.Contains(errs.String(), "not you") {
		t.Errorf("%d: %s%s", code, &out, &errs)
	}
	if r := api.See(t, 1); r.State != "open" || strings.Contains(r.Body, " merge=") || !strings.Contains(r.Body, " proof=") {
		t.Errorf("%+v", r)
	}
	api.Before = nil
	api.Calls()
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/web": "update"})
	want := []string{"PATCH pulls/1", "POST pulls/1/merge", "POST pulls/1/merge"} // Gitea wants a moment
	if d := cmp.Diff(want, writes(api)); d != "" || api.See(t, 1).Auto != "squash" {
		t.Errorf("%+v, -want +got:\n%s", api.See(t, 1), d)
	}
	f.want(f.propose("--all", "--pull-requests"), map[string]string{"c1/web": "none"})
	if w := writes(api); len(w) > 0 {
		t.Errorf("one more run writes: %v", w)
	}
}
