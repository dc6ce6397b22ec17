package resolver

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
)

const manifest = `
apiVersion: variform.dev/v1alpha1
kind: PackageManifest
metadata: {name: app}
spec:
  version: 1.0.0
  scope: Cluster
  parameters: [{name: size, required: false, to: {setter: size}}]
  outputs: [{name: url, id: web, valueFrom: status.url}]
  provides: [{gvk: {apiVersion: x.org/v1, kind: X}}, {interface: {id: web, version: 1.0.0}}]
  requires:
  - {alias: db, package: db, version: ">=1", share: {mode: group, group: g}, lifecycle: {managed: true}}
  - {alias: host, platform: {name: kubernetes, version: ">=1.30"}}
  - {alias: any, anyOf: [{gvk: {apiVersion: y/v1, kind: Yak}}, {package: z}]}
`

func TestFromManifest(t *testing.T) {
	var m v1alpha1.PackageManifest
	if err := yaml.UnmarshalStrict([]byte(manifest), &m); err != nil {
		t.Fatal(err)
	}
	want := Package{
		Package: "app", Version: "1.0.0", Scope: ScopeCluster,
		Parameters: []Field{{Name: "size", Required: ptr(false)}},
		Outputs:    []Field{{Name: "url", ID: "web"}},
		Provides:   []Provide{{GVK: gvk("X")}, {Interface: "web", Version: "1.0.0"}},
		Requires: []Requirement{
			{Alias: "db", Package: "db", Version: ">=1", Share: Share{ModeGroup, "g"}, Lifecycle: Lifecycle{Managed: true}},
			{Alias: "host", Platform: "kubernetes", Version: ">=1.30"},
			{Alias: "any", AnyOf: []Requirement{{GVK: &GVK{"y/v1", "Yak"}}, {Package: "z"}}},
		},
	}
	if diff := cmp.Diff(want, FromManifest(&m)); diff != "" {
		t.Error(diff)
	}
}

// TestLockDocument holds that a lock is read back as it was written, and that one changed dependency changes
// its own lines only.
func TestLockDocument(t *testing.T) {
	render := func(version string) []byte {
		cat := mustCatalog(t, []Package{
			{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a", Parameters: map[string]string{"p": "1"}}, {Alias: "b", Package: "b"}}},
			{Package: "a", Version: version, Digest: "sha256:" + version, Parameters: []Field{{Name: "p"}}},
			{Package: "b", Version: "1.0.0", Digest: "sha256:b"},
		})
		res, err := Resolve(Input{Catalog: cat, Want: []Request{{Package: "app", Namespace: "n"}}})
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(res.Document("edge-1"))
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseLock(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(res.Lock.version("a", "n"), back.version("a", "n")); diff != "" {
			t.Error(diff)
		}
		return data
	}
	before, after := strings.Split(string(render("1.0.0")), "\n"), strings.Split(string(render("1.1.0")), "\n")
	var changed []string
	for _, l := range after {
		if !slices.Contains(before, l) {
			changed = append(changed, strings.TrimSpace(l))
		}
	}
	if diff := cmp.Diff([]string{"- digest: sha256:1.1.0", "version: 1.1.0"}, changed); diff != "" || len(before) != len(after) {
		t.Errorf("%s\n%s", diff, strings.Join(after, "\n"))
	}
}

func TestParseLockErrors(t *testing.T) {
	head := "apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: t}\nspec:\n  packages:\n"
	for doc, want := range map[string]string{
		"kind: Pod\napiVersion: v1": "not a variform.dev/v1alpha1 PackageLock",
		head + "  - {name: a, version: 1.0.0}\n  - {name: a, version: 1.0.0}": "spec.packages[1].name",
		head + "  - {name: a, version: one}":                                  "spec.packages[0].version",
		head + "  - {name: a, version: 1.0.0, digset: x}":                     "digset",
	} {
		if _, err := ParseLock([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nspec: {packages: [{name: a, version: 1.0.0}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock(data)
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
	})
}
