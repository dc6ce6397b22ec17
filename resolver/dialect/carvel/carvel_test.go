package carvel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
	"github.com/variform/variform/test/proposaltest"
)

// TestProposal accounts for every YAML block of Carvel's proposal, whose text is one line: the widths give the blocks
// their indentation back.
func TestProposal(t *testing.T) {
	blocks := proposaltest.Fenced(proposaltest.Text(t, proposaltest.Carvel), "yaml")
	if len(blocks) != 6 {
		t.Fatalf("the proposal has %d blocks, and 6 are accounted for", len(blocks))
	}
	for _, n := range []int{0, 1} { // schemas of the kinds, which are no documents of theirs
		if !strings.Contains(blocks[n], "kind: CustomResourceDefinition") {
			t.Errorf("block %d is no CustomResourceDefinition", n)
		}
	}
	example := func(n int, widths []int, warnings ...string) *dialect.Documents {
		text := proposaltest.Unflatten(t, blocks[n], widths...)
		docs, err := Read([]byte(text))
		if err != nil {
			t.Fatalf("block %d: %v\n%s", n, err, text)
		}
		var got []string
		for _, w := range docs.Warnings {
			got = append(got, w.Error())
		}
		if diff := cmp.Diff(warnings, got); diff != "" {
			t.Errorf("block %d: %s\n%s", n, diff, text)
		}
		return docs
	}
	pkg := example(2, []int{0, 0, 0, 2, 0, 2, 2, 2, 2, 4, 4, 6, 10, 10, 6, 10, 10, 4, 8, 8, 4, 8, 8, 6}).Packages[0]
	install := example(3, []int{0, 0, 0, 2, 0, 2, 2, 4, 4, 6, 2, 4, 4, 6, 8, 4, 6, 4, 4, 6, 8, 4, 6, 8, 0, 2, 2, 2},
		`line 15: spec.dependencies.override[0].versionSelection.contraints is read as constraints (hint: write "constraints")`,
		"line 18: spec.dependencies.values has no part in what is resolved, and is left out").Requests[0]
	made := example(4, []int{0, 0, 0, 2, 2, 4, 0, 2, 2, 4, 4, 6, 2, 4, 6},
		`line 13: spec.values is a list; the single map is read as its only entry (hint: put "- " before the entry)`,
		"line 13: spec.values has no part in what is resolved, and is left out").Requests[0]
	future := example(5, []int{0, 0, 0, 2, 0, 2, 2, 2, 2, 6, 6, 6, 0, 0, 0, 0, 2, 0, 2, 2, 2, 2, 6, 6},
		`line 9: spec.dependencies[0].gvk has group and version apart (hint: write apiVersion: group/version)`).Packages

	catalog := []resolver.Package{
		pkg,
		{Package: "pkg2.test.carvel.dev", Version: "1.5.0", Requires: []resolver.Requirement{{Alias: "deep", Package: "deep"}}},
		{Package: "pkg3.test.carvel.dev", Version: "0.1.0"},
		{Package: "pkg3.test.carvel.dev", Version: "0.2.0"},
		{Package: "pkg4.test.carvel.dev", Version: "0.2.0"},
		{Package: "deep", Version: "1.0.0"},
	}
	api := resolver.GVK{APIVersion: "some.api.org/v1", Kind: "MainAPI"}
	t.Run("PackageInstall", func(t *testing.T) {
		if install.Overrides[0].Constraints != "1.0.1" {
			t.Errorf("the misspelt constraints were lost: %+v", install.Overrides[0])
		}
		for served, or := range map[bool]string{true: "or: api", false: "or: new pkg2.test.carvel.dev 1.5.0 pkg2.test.carvel.dev"} {
			in := resolver.Input{}
			if served {
				in.APIs = []resolver.GVK{api}
			}
			res, err := proposaltest.Resolve(t, in, catalog, install)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{or, "pkg3.test.carvel.dev: new pkg3.test.carvel.dev 0.1.0 pkg3.test.carvel.dev"}, proposaltest.Bindings(res)); diff != "" {
				t.Error(diff)
			}
			if len(res.Skipped) != 1 || res.Skipped[0].Alias != "pkg4.test.carvel.dev" {
				t.Errorf("skipped %v, want what the user declined", res.Skipped)
			}
			for _, name := range res.Creates {
				if name == "deep" {
					t.Error("a dependency of a dependency is created: each PackageInstall creates its own")
				}
			}
		}
	})
	t.Run("the PackageInstall that is made", func(t *testing.T) {
		res, err := proposaltest.Resolve(t, resolver.Input{}, catalog, install)
		if err != nil {
			t.Fatal(err)
		}
		dep := res.Find("pkg3.test.carvel.dev")
		// The example has version 1.0.0 of what the Package wants at 0.1.0; all else is what was resolved.
		if made.Package != dep.Package || made.Name != dep.Package+"."+made.Version || dep.Owner != install.Name {
			t.Errorf("made %+v, resolved %+v", made, dep)
		}
	})
	t.Run("one per cluster", func(t *testing.T) {
		if pkg.Scope != resolver.ScopeCluster {
			t.Errorf("the scope is %q", pkg.Scope)
		}
	})
	t.Run("a search for providers", func(t *testing.T) {
		want := resolver.Request{Package: "some-pkg.test.carvel.dev"}
		var c *resolver.ConflictError
		if _, err := proposaltest.Resolve(t, resolver.Input{}, future, want); !errors.As(err, &c) || c.Kind != resolver.MissingProvider {
			t.Errorf("without leave: %v", err)
		}
		want.SearchProviders = true
		res, err := proposaltest.Resolve(t, resolver.Input{}, future, want)
		if err != nil || len(res.Instances) != 2 || res.Instances[1].Package != "provider.carvel.dev" {
			t.Errorf("with leave: %v", err)
		}
	})
}

const installed = `
apiVersion: packaging.carvel.dev/v1alpha1
kind: PackageInstall
metadata: {name: app, namespace: dev, annotations: {kapp-controller.carvel.dev/owner: PackageInstall/root}}
spec:
  packageRef: {refName: app.example.org, versionSelection: {constraints: ">1.20", prereleases: {identifiers: [rc]}}}
  values: [{secretRef: {name: own}}]
  dependencies:
    install: false
    values: [{alias: db, secretRef: {name: s, key: k}}]
status:
  version: 1.21.0
  dependencies: [{created: true, package: {packageInstallRef: db.1.0.0, refName: db, version: 1.0.0}}, {packageInstallRef: unknown}]
`

// TestReadInstall reads what the examples of the proposal do not have.
func TestReadInstall(t *testing.T) {
	docs, err := Read([]byte("apiVersion: v1\nkind: Secret\n---\n" + installed))
	if err != nil {
		t.Fatal(err)
	}
	want := resolver.Request{
		Name: "app", Namespace: "dev", Package: "app.example.org", Version: ">1.20", Prereleases: &resolver.Prereleases{Identifiers: []string{"rc"}},
		ValidateOnly: true, Materialise: "direct", Allow: resolver.Changes{Upgrade: true},
	}
	if diff := cmp.Diff([]resolver.Request{want}, docs.Requests); diff != "" {
		t.Error(diff)
	}
	for _, path := range []string{"spec.values has no part", "spec.dependencies.values has no part"} {
		if !strings.Contains(docs.Warnings.Error(), path) {
			t.Errorf("no warning that %s: %v", path, docs.Warnings)
		}
	}
	is := resolver.Installation{
		Name: "app", Namespace: "dev", Package: "app.example.org", Version: "1.21.0", Owner: "root", Bindings: map[string]string{"db": "db.1.0.0"},
	}
	if diff := cmp.Diff([]resolver.Installation{is}, docs.Installations); diff != "" {
		t.Error(diff)
	}
}

// TestReadPackage reads the forms that stand beside those of the examples.
func TestReadPackage(t *testing.T) {
	docs, err := Read([]byte(`apiVersion: internal.packaging.carvel.dev/v1alpha1
kind: InternalPackage
spec:
  refName: a
  version: 1.0.0
  installationType: onePerNamespace
  kubernetesVersionSelection: {constraints: ">=1.22"}
  provides: [{apiVersion: example.org/v1, kind: K}]
  dependencies:
  - {package: {refName: b, optional: true}}
  - {package: {refName: b, version: ">2"}}
  - {alias: api, gvk: {apiVersion: v1, kind: K}}
`))
	if err != nil || len(docs.Warnings) > 0 {
		t.Fatal(err, docs)
	}
	want := resolver.Package{
		Package: "a", Version: "1.0.0", Scope: resolver.ScopeNamespace,
		Provides: []resolver.Provide{{GVK: &resolver.GVK{APIVersion: "example.org/v1", Kind: "K"}}},
		Requires: []resolver.Requirement{
			{Alias: "b", Package: "b", Optional: true},
			{Alias: "b-2", Package: "b", Version: ">2"},
			{Alias: "api", GVK: &resolver.GVK{APIVersion: "v1", Kind: "K"}},
			{Alias: "kubernetes", Platform: "kubernetes", Version: ">=1.22"},
		},
	}
	if diff := cmp.Diff([]resolver.Package{want}, docs.Packages); diff != "" {
		t.Error(diff)
	}
	docs, err = Read([]byte("apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nspec:\n  refName: a\n  version: 1.0.0\n  kappControllerVersionSelection: {constraints: '>=0.40'}\n"))
	if err != nil || len(docs.Warnings) != 1 || !strings.Contains(docs.Warnings[0].Error(), "line 6: spec.kappControllerVersionSelection is not compared") {
		t.Error(err, docs)
	}
}

// TestReadErrors holds that everything that cannot be read is said at once, with its line.
func TestReadErrors(t *testing.T) {
	_, err := Read([]byte(`apiVersion: data.packaging.carvel.dev/v1alpha1
kind: Package
spec:
  refName: a
  installationType: twice
  dependencies:
  - {package: {refName: x}, gvk: {apiVersion: v1}}
  - {or: 3, optional: perhaps}
`))
	want := []string{
		"line 1: a Package needs spec.refName and spec.version",
		"line 5: spec.installationType must be onePerCluster, onePerNamespace or noRestrictions",
		"line 7: spec.dependencies[0].gvk needs apiVersion and kind",
		"line 7: spec.dependencies[0] must have exactly one of gvk, package and or",
		"line 8: spec.dependencies[1].optional must be true or false",
		"line 8: spec.dependencies[1].or must be a list",
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	if _, err := Read([]byte("apiVersion: v1\nkind: Package\n")); !errors.Is(err, dialect.ErrNoDocument) {
		t.Errorf("a package of nobody's: %v", err)
	}
}

// FuzzRead holds that reading ends, and gives either documents or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(installed))
	f.Add([]byte("apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nspec: {refName: a, version: 1.0.0, dependencies: &d [{or: [{package: {refName: b}}, {gvk: {group: g, version: v1, kind: K}}]}]}\n"))
	f.Add([]byte("apiVersion: data.packaging.carvel.dev/v1\nkind: Package\nspec: {refName: a, version: 1.0.0, dependencies: &d [{or: *d}]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Read(data)
		if (docs == nil) == (err == nil) {
			t.Fatalf("%v, %v", docs, err)
		}
	})
}

// TestImgpkgDigest reads where a package's content is from, and resolves a dependency that is pinned to it.
func TestImgpkgDigest(t *testing.T) {
	docs, err := Read([]byte(`apiVersion: data.packaging.carvel.dev/v1alpha1
kind: Package
metadata: {name: db.1.0.0}
spec:
  refName: db
  version: 1.0.0
  template: {spec: {fetch: [{imgpkgBundle: {image: "registry.example.org/db@sha256:aaa"}}]}}
---
apiVersion: data.packaging.carvel.dev/v1alpha1
kind: Package
metadata: {name: db.2.0.0}
spec:
  refName: db
  version: 2.0.0
  template: {spec: {fetch: [{inline: {paths: {a.yml: ""}}}, {image: {url: "registry.example.org/db:v2"}}]}}
---
apiVersion: data.packaging.carvel.dev/v1alpha1
kind: Package
metadata: {name: app.1.0.0}
spec:
  refName: app
  version: 1.0.0
  dependencies: [{package: {refName: db, version: "@sha256:aaa"}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if one, two := docs.Packages[0], docs.Packages[1]; one.Source != "registry.example.org/db" || one.Digest != "sha256:aaa" || two.Source != "registry.example.org/db:v2" || two.Digest != "" {
		t.Errorf("sources %q %q, digests %q %q", one.Source, two.Source, one.Digest, two.Digest)
	}
	res, err := proposaltest.Resolve(t, resolver.Input{}, docs.Packages, resolver.Request{Package: "app"})
	if err != nil {
		t.Fatal(err)
	}
	if db := res.Find("db"); db.Version != "1.0.0" || res.Lock.Packages[1].Digest != "sha256:aaa" {
		t.Errorf("got %s, locked %+v", db.Version, res.Lock.Packages)
	}
}
