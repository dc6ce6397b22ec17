package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/gittest"
)

// TestServe: the APIs of definitions are those that packages provide, where
// somebody needs one of their group.
func TestServe(t *testing.T) {
	gittest.RequireGit(t)
	crd := func(group, version string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos." + group + "}\nspec: {group: " + group + ", names: {kind: Foo}, versions: [{name: " + version + ", served: true}]}\n"
	}
	needing := manifest("app", "version: 1.0.0, requires: [{alias: o, anyOf: [{gvk: {apiVersion: x.io/v1, kind: Foo}}, {gvk: {apiVersion: apps/v1, kind: Deployment}}]}]")
	for name, tc := range map[string]struct {
		app    string
		needed []resolver.GVK
		want   []string
	}{
		"nobody needs any":   {"", nil, nil},
		"a package does":     {needing, nil, []string{"op 1.0.0 x.io/v0 Foo", "op 1.0.0 x.io/v1 Foo", "op 2.0.0 x.io/v0 Foo", "op 2.0.0 x.io/v2 Foo"}},
		"another one does":   {"", []resolver.GVK{{APIVersion: "y.io/v9", Kind: "Foo"}}, []string{"op 2.0.0 y.io/v1 Foo"}},
		"both do":            {needing, []resolver.GVK{{APIVersion: "y.io/v9", Kind: "Foo"}}, []string{"op 1.0.0 x.io/v0 Foo", "op 1.0.0 x.io/v1 Foo", "op 2.0.0 x.io/v0 Foo", "op 2.0.0 x.io/v2 Foo", "op 2.0.0 y.io/v1 Foo"}},
		"one of Kubernetes'": {"", []resolver.GVK{{APIVersion: "apps/v1", Kind: "Deployment"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.NewRepo(t)
			text := gittest.Text{
				"op/Kptfile": kptfile("op", ""), "op/package.yaml": manifest("op", "provides: [{gvk: {apiVersion: x.io/v0, kind: Foo}}]"), "op/crds/deep/a.yaml": crd("x.io", "v1"),
				"op/notes.md": crd("x.io", "v7"), "op/notes.yaml": crd("x.io", "v8") + "a: [\n", "app/Kptfile": kptfile("app", ""),
			}
			if tc.app != "" {
				text["app/package.yaml"] = tc.app
			}
			c := repo.Commit(t, "main", "one", text)
			repo.Tag(t, "op/v1.0.0", c)
			repo.Tag(t, "app/v1.0.0", c)
			text["op/crds/deep/a.yaml"] = crd("x.io", "v2") + "---\n" + crd("y.io", "v1")
			repo.Tag(t, "op/v2.0.0", repo.Commit(t, "main", "two", text))
			content := Reader{Git: gitrepo.NewStore(gitrepo.Options{})}.Read(t.Context(), []*v1alpha1.Catalog{gitCatalog(repo.Dir, "")}).Serve(tc.needed)
			var got []string
			for _, e := range content.Entries {
				for _, p := range e.Provides {
					if p.GVK != nil && (tc.app != "" || p.GVK.APIVersion != "x.io/v0") {
						got = append(got, strings.Join([]string{e.Package.Package, e.Version, p.GVK.String()}, " "))
					}
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" || content.Problems != nil {
				t.Errorf("-want +got:\n%s%v", d, content.Problems)
			}
		})
	}
}
