package forge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/forge/forgetest"
	"github.com/variform/variform/internal/gittest"
)

// A fleet lives by the requests of GitHub and of GitLab as it does by Gitea's: a class
// is one for each of its packages' owners, opened as annotations say, and merged ones
// are tagged.
func TestKinds(t *testing.T) {
	for kind, env := range map[string][]string{"github": {"GH_TOKEN", "GH_HOST"}, "gitlab": {"GITLAB_TOKEN", "GITLAB_HOST"}, "gitea": {"GITEA_TOKEN", "GITEA_SERVER_URL"}} {
		t.Run(kind, func(t *testing.T) {
			api, git := forgetest.NewServer(t, kind), gittest.NewServer(t)
			t.Setenv(env[0], forgetest.Token(forgetest.Ann))
			t.Setenv(env[1], api.URL)
			config := filepath.Join(t.TempDir(), "gitconfig")
			if err := os.WriteFile(config, []byte("[user]\n\tname = Ann\n\temail = ann@example.com\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GIT_CONFIG_GLOBAL", config)
			repo := git.NewRepo(t, api.Path)
			api.Tip = func(branch string) string { return repo.Refs(t)["refs/heads/"+branch] }
			api.Has = func(commit string) bool { return slices.Contains(slices.Collect(maps.Values(repo.Refs(t))), commit) }
			rules := map[string]string{"gitea": "(shop|cart)/.* @shops\nother/.* @others\n"}[kind]
			if rules == "" {
				rules = "/shop/ @shops\n/cart/ @shops\n/other/ @others\n"
			}
			repo.Commit(t, "main", "owners", gittest.Text{"CODEOWNERS": rules})

			f := &fleet{&server{t: t}, t.TempDir(), gittest.NewRepo(t)}
			f.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: fleet}\n")
			f.write("catalog.yaml", f.registered("catalog", f.catalog.Dir, false))
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
			for _, call := range api.Calls() {
				if call[:4] != "GET " {
					t.Errorf("with nothing to do: %s", call)
				}
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
