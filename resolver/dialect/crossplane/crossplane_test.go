package crossplane

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
	"github.com/variform/variform/test/proposaltest"
)

// fieldsOf lists the JSON names of a Go type of the design; of several of that name the one that has a marker.
func fieldsOf(t *testing.T, design, name, marker string) []string {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?s)\ntype `+name+` struct \{\n(.*?)\n\}`).FindAllStringSubmatch(design, -1) {
		if !strings.Contains(m[1], marker) {
			continue
		}
		var out []string
		for _, f := range regexp.MustCompile("`json:\"(\\w+)").FindAllStringSubmatch(m[1], -1) {
			out = append(out, f[1])
		}
		return out
	}
	t.Fatalf("the design has no type %s with %s", name, marker)
	return nil
}

// TestDesign holds that every field of the types of packages v2 is known. The document has no YAML: its blocks are Go.
func TestDesign(t *testing.T) {
	design := proposaltest.Text(t, proposaltest.Crossplane)
	if blocks := append(proposaltest.Fenced(design, "yaml"), proposaltest.Unfenced(design)...); len(blocks) > 0 {
		t.Fatalf("the design has YAML that is not accounted for: %q", blocks)
	}
	nothing := func(fields []string, but ...string) string {
		text := strings.Join(but, ", ")
		for _, f := range fields {
			if !strings.Contains(text, f+":") {
				text += ", " + f + ": null"
			}
		}
		return "{" + strings.TrimPrefix(text, ", ") + "}"
	}
	for kind, spec := range map[string]string{
		"Package": nothing(append(fieldsOf(t, design, "PackageSpec", "RevisionHistoryLimit"), fieldsOf(t, design, "PackageControllerOptions", "packaged controller")...),
			`package: "org/a:v1.0.0"`),
		"PackageRevision": nothing(fieldsOf(t, design, "PackageRevisionSpec", "DependsOn"), "desiredState: Active",
			"dependsOn: ["+nothing(fieldsOf(t, design, "Dependency", "CustomResourceDefinition"), `package: "org/b:>=v1"`)+`, {crossplane: ">=v0.13"}]`),
		"PackageLock": nothing(fieldsOf(t, design, "PackageLockSpec", "Compositions"),
			"packages: ["+nothing(fieldsOf(t, design, "PackageDependencies", "Image"), `image: "org/a:v1.0.0"`)+"]"),
	} {
		doc := "apiVersion: packages.crossplane.io/v1beta1\nkind: " + kind +
			"\nmetadata: {name: a, ownerReferences: [{name: p, controller: true}]}\nspec: " + spec
		docs, err := Read([]byte(doc))
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if len(docs.Warnings) > 0 {
			t.Errorf("%s: %v", kind, docs.Warnings)
		}
	}
}

const designed = `
apiVersion: packages.crossplane.io/v1beta1
kind: PackageRevision
metadata: {name: "sha256:old", uid: u1, ownerReferences: [{name: app, controller: true}]}
spec:
  desiredState: Inactive
  revision: 1
---
apiVersion: packages.crossplane.io/v1beta1
kind: PackageRevision
metadata: {name: "sha256:new", uid: u2, ownerReferences: [{name: app, controller: true}]}
spec:
  desiredState: Active
  revision: 2
  customResourceDefinitions: [{apiVersion: example.org/v1, kind: App}]
  compositions: [{apiVersion: example.org/v1, kind: Plan}]
  dependsOn:
  - package: "localhost:5000/org/db:>=v1.0 <v2"
  - package: org/db 1.x
  - crd: storage.example.org/v1/Bucket
  - crossplane: ">=0.13"
---
apiVersion: packages.crossplane.io/v1beta1
kind: Package
metadata: {name: app}
spec:
  package: org/app:v1.1.0
  revisionActivationPolicy: Manual
  revisionHistoryLimit: 0
  imagePullSecrets: [{name: pull}]
  imagePullPolicy: Always
  serviceAccount: {annotations: {role: r}}
status: {currentRevision: "org/app:v1.0.0"}
---
apiVersion: packages.crossplane.io/v1beta1
kind: PackageLock
metadata: {name: lock}
spec:
  packages: [{name: app, image: "org/app:v1.0.0", dependencies: [db]}, {name: db, image: "org/db@sha256:x"}]
  compositions: {Plan: app}
  customResourceDefinitions: {example.org/App: app}
`

// TestReadDesigned reads the kinds of Crossplane's packages v2 with all that they can say.
func TestReadDesigned(t *testing.T) {
	docs, err := Read([]byte(designed))
	if err != nil {
		t.Fatal(err)
	}
	app := resolver.GVK{APIVersion: "example.org/v1", Kind: "App"}
	want := &dialect.Documents{
		Packages: []resolver.Package{
			{Package: "org/app", Digest: "sha256:old", Scope: resolver.ScopeCluster},
			{
				Package: "org/app", Version: "v1.1.0", Digest: "sha256:new", Scope: resolver.ScopeCluster,
				Provides: []resolver.Provide{{GVK: &app}}, Compositions: []string{"example.org/Plan"},
				Requires: []resolver.Requirement{
					{Alias: "db", Package: "localhost:5000/org/db", Version: ">=v1.0 <v2"},
					{Alias: "db-2", Package: "org/db", Version: "1.x"},
					{Alias: "Bucket", GVK: &resolver.GVK{APIVersion: "storage.example.org/v1", Kind: "Bucket"}},
					{Alias: "crossplane", Platform: "crossplane", Version: ">=0.13"},
				},
			},
		},
		Requests:      []resolver.Request{{Name: "app", Package: "org/app", Version: "v1.1.0", Allow: resolver.Changes{Upgrade: true}}},
		Installations: []resolver.Installation{{Name: "app", Package: "org/app", Version: "v1.0.0"}},
		Lock: &resolver.Lock{
			Packages: []resolver.LockedPackage{
				{Name: "app", Package: "org/app", Version: "v1.0.0", Dependencies: []v1alpha1.LockedEdge{{Name: "db"}}},
				{Name: "db", Package: "org/db", Digest: "sha256:x"},
			},
			Compositions: map[string]string{"Plan": "app"}, CustomResourceDefinitions: map[string]string{"example.org/App": "app"},
		},
	}
	warnings := docs.Warnings.Error()
	docs.Warnings = nil
	if diff := cmp.Diff(want, docs); diff != "" {
		t.Error(diff)
	}
	wantWarnings := "line 33: status.currentRevision is a full image name (hint: it is the name of a revision, which is a digest)"
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}
}

const today = `
apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata: {name: app}
spec:
  crossplane: {version: ">=v1.14.0-0"}
  dependsOn:
  - {provider: registry.example.org/org/provider-a, version: ">=v0.1.0"}
  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: registry.example.org/org/function-b, version: v0.2.0}
---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xapps.example.org}
spec:
  group: example.org
  names: {kind: XApp}
  claimNames: {kind: App}
  versions: [{name: v1, served: true}, {name: v0, served: false}]
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: small}
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: provider-a}
spec: {package: "registry.example.org/org/provider-a:v0.1.0", packagePullSecrets: [{name: s}], skipDependencyResolution: true, runtimeConfigRef: {name: c}}
---
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata: {name: lock}
packages:
- {name: provider-a-1, kind: Provider, source: registry.example.org/org/provider-a, version: v0.1.0, dependencies: [{package: org/x, constraints: ">=v1"}]}
`

// TestReadToday reads what Crossplane has today, and resolves it.
func TestReadToday(t *testing.T) {
	docs, err := Read([]byte(today))
	if err != nil {
		t.Fatal(err)
	}
	xapp, claim := resolver.GVK{APIVersion: "example.org/v1", Kind: "XApp"}, resolver.GVK{APIVersion: "example.org/v1", Kind: "App"}
	want := resolver.Package{
		Scope: resolver.ScopeCluster, Compositions: []string{"small"},
		Provides: []resolver.Provide{
			{GVK: &xapp},
			{GVK: &claim},
			{Object: &resolver.Object{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition", Name: "xapps.example.org"}},
		},
		Requires: []resolver.Requirement{
			{Alias: "provider-a", Package: "registry.example.org/org/provider-a", Version: ">=v0.1.0"},
			{Alias: "function-b", Package: "registry.example.org/org/function-b", Version: "v0.2.0"},
			{Alias: "crossplane", Platform: "crossplane", Version: ">=v1.14.0-0"},
		},
	}
	if diff := cmp.Diff([]resolver.Package{want}, docs.Packages); diff != "" {
		t.Error(diff)
	}
	if q := docs.Requests[0]; q.Version != "v0.1.0" || !q.SkipDependencies {
		t.Errorf("%+v", q)
	}
	if p := docs.Lock.Packages[0]; p.Package != "registry.example.org/org/provider-a" || p.Version != "v0.1.0" || len(p.Dependencies) != 1 {
		t.Errorf("%+v", p)
	}
	app := docs.Packages[0]
	app.Package, app.Version = "org/app", "1.0.0"
	catalog := []resolver.Package{
		app,
		{Package: "registry.example.org/org/provider-a", Version: "0.1.0"},
		{Package: "registry.example.org/org/provider-a", Version: "0.3.0"},
		{Package: "registry.example.org/org/function-b", Version: "0.2.0"},
		{Package: "registry.example.org/org/function-b", Version: "0.9.0"},
	}
	for version, fits := range map[string]bool{"1.14.0": true, "1.13.0": false} {
		in := resolver.Input{Platform: map[string]string{Platform: version}, Lock: docs.Lock}
		res, err := proposaltest.Resolve(t, in, catalog, resolver.Request{Package: "org/app"})
		if (err == nil) != fits {
			t.Fatalf("on %s: %v", version, err)
		}
		if !fits {
			continue
		}
		// The lock has provider-a at 0.1.0; nothing locks function-b, whose range is one version.
		want := []string{
			"crossplane: platform", "function-b: new registry.example.org/org/function-b 0.2.0 function-b",
			"provider-a: new registry.example.org/org/provider-a 0.1.0 provider-a",
		}
		if diff := cmp.Diff(want, proposaltest.Bindings(res)); diff != "" {
			t.Error(diff)
		}
	}
}

// An upbound.yaml has the dependencies of the Configuration that is built from it.
func TestReadProject(t *testing.T) {
	for _, dependency := range []string{
		"{apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org/org/provider-a, version: '>=v0.1.0'}",
		"{provider: registry.example.org/org/provider-a, version: '>=v0.1.0'}",
	} {
		docs, err := Read([]byte("apiVersion: meta.dev.upbound.io/v1alpha1\nkind: Project\nmetadata: {name: app}\nspec:\n  repository: registry.example.org/org/app\n  crossplane: {version: '>=v2.0.0'}\n  dependsOn:\n  - " + dependency + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		want := []resolver.Requirement{
			{Alias: "provider-a", Package: "registry.example.org/org/provider-a", Version: ">=v0.1.0"},
			{Alias: "crossplane", Platform: "crossplane", Version: ">=v2.0.0"},
		}
		if diff := cmp.Diff(want, docs.Packages[0].Requires); diff != "" {
			t.Errorf("%s: %s", dependency, diff)
		}
	}
}

// TestReadErrors holds that everything that cannot be read is said at once, with its line.
func TestReadErrors(t *testing.T) {
	_, err := Read([]byte(`apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
spec:
  dependsOn:
  - {provider: a, function: b}
  - {package: "a@sha256-abc"}
  - crd: Bucket
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: {name: a}
spec: {package: "org/a@latest"}
`))
	want := []string{
		"line 5: spec.dependsOn[0] must have exactly one of package, crd and crossplane (hint: or of provider, configuration and function)",
		`line 6: spec.dependsOn[1].package: "sha256-abc" is no digest (hint: write the algorithm and the hash, such as sha256: and 64 digits)`,
		"line 7: spec.dependsOn[2].crd is no API (hint: write group/version/Kind, or a map of apiVersion and kind)",
		`line 12: spec.package: "latest" is no digest (hint: write the algorithm and the hash, such as sha256: and 64 digits)`,
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	if _, err := Read([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")); !errors.Is(err, dialect.ErrNoDocument) {
		t.Errorf("a definition alone: %v", err)
	}
}

// FuzzRead holds that reading ends, and gives either documents or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(designed))
	f.Add([]byte(today))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Read(data)
		if (docs == nil) == (err == nil) {
			t.Fatalf("%v, %v", docs, err)
		}
	})
}

// TestPinnedDigest reads digests wherever Crossplane takes one for a version, and resolves by them.
func TestPinnedDigest(t *testing.T) {
	docs, err := Read([]byte(`apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata: {name: app}
spec:
  dependsOn:
  - {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: registry.example.org:5000/org/a, version: "sha256:aaa"}
  - {function: "registry.example.org:5000/org/b@sha256:bbb"}
---
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata: {name: app}
spec: {package: "org/app:v7.0.0@sha256:app"}
---
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
packages:
- {name: b, source: "registry.example.org:5000/org/b", version: "sha256:bbb"}
- {name: c, source: org/c, version: latest}
`))
	if err != nil || docs.Warnings.Error() != "line 18: packages[1] names no version, and locks none (hint: name the image with a tag such as v1.2.3)" {
		t.Fatal(err, docs)
	}
	app := docs.Packages[0]
	app.Package, app.Version, app.Digest = "org/app", "1.0.0", "sha256:app"
	newer := app
	newer.Version, newer.Digest = "2.0.0", "sha256:newer"
	catalog := []resolver.Package{
		app, newer,
		{Package: "registry.example.org:5000/org/a", Version: "0.1.0", Digest: "sha256:aaa"},
		{Package: "registry.example.org:5000/org/a", Version: "0.2.0", Digest: "sha256:a2"},
		{Package: "registry.example.org:5000/org/b", Version: "0.1.0", Digest: "sha256:bbb"},
		{Package: "registry.example.org:5000/org/b", Version: "0.2.0", Digest: "sha256:b2"},
	}
	res, err := proposaltest.Resolve(t, resolver.Input{Lock: docs.Lock}, catalog, docs.Requests[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a: new registry.example.org:5000/org/a 0.1.0 a", "b: new registry.example.org:5000/org/b 0.1.0 b"}
	if diff := cmp.Diff(want, proposaltest.Bindings(res)); diff != "" {
		t.Error(diff)
	}
	if res.Root().Version != "1.0.0" {
		t.Errorf("the request that is pinned got %s", res.Root().Version)
	}
	app.Requires = []resolver.Requirement{{Alias: "b", Package: "registry.example.org:5000/org/b"}}
	catalog[0] = app
	res, err = proposaltest.Resolve(t, resolver.Input{Lock: docs.Lock}, catalog, docs.Requests[0])
	if err != nil || res.Binding("b").Version != "0.1.0" {
		t.Errorf("a lock by digest alone locks nothing: %v %v", proposaltest.Bindings(res), err)
	}
}
