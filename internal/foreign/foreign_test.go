package foreign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
)

func TestRead(t *testing.T) {
	const carvelPackage = "apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nspec: {refName: a.example.org, version: 1.0.0}\n"
	for name, c := range map[string]struct{ file, text, packages, warning, err string }{
		"Carvel by kind":                 {file: "x.yml", text: carvelPackage, packages: "Carvel Package a.example.org 1.0.0"},
		"Crossplane by kind":             {file: "package.yaml", text: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nspec: {}\n", packages: "Crossplane package  "},
		"Upbound's project":              {file: "upbound.yaml", text: "apiVersion: meta.dev.upbound.io/v2alpha1\nkind: Project\nspec: {dependsOn: [{apiVersion: pkg.crossplane.io/v1, kind: Provider, package: xpkg.example.org/a/b, version: v1}]}\n", packages: "Crossplane package  "},
		"Porter by name":                 {file: "a/porter.yaml", text: "name: b\nversion: 2.0.0\nregistry: example.com\n", packages: "Porter bundle example.com/b 2.0.0"},
		"CNAB by name":                   {file: "bundle.json", text: `{"name": "b", "version": "2.0.0", "invocationImages": []}`, packages: "Porter bundle b 2.0.0"},
		"what looks alike":               {file: "values.yaml", text: "name: b\nversion: 2.0.0\n"},
		"a kind of theirs without needs": {file: "x.yaml", text: "apiVersion: packaging.carvel.dev/v1alpha1\nkind: PackageRepository\n"},
		"a fault":                        {file: "x.yaml", text: "kind: X\n---\n" + strings.ReplaceAll(carvelPackage, ", version: 1.0.0", ""), err: "x.yaml:3: a Package needs spec.refName and spec.version"},
		"a literal credential": {
			file: "porter.yaml", text: "name: b\ndependencies:\n  requires:\n  - name: db\n    bundle:\n      reference: org/db\n      credentials:\n        token: hunter2\n",
			err: "porter.yaml:8: dependencies.requires[0].bundle.credentials.token must be a reference: a literal would be a secret in clear",
		},
		"a credential with a value": {
			file: "porter.yaml", text: "name: b\ncredentials:\n- name: token\n  default: hunter2\n", err: "porter.yaml:4: credentials[0].default would be a secret in clear",
		},
		"no YAML": {file: "porter.yaml", text: "a: b: c", err: "porter.yaml: the file is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Read(c.file, []byte(c.text))
			if c.err != "" || err != nil {
				if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("%v, want %q", err, c.err)
				}
				return
			}
			var got []string
			if docs != nil {
				for _, p := range docs.Packages {
					got = append(got, p.Foreign+" "+p.Package+" "+p.Version)
				}
			}
			if diff := cmp.Diff(c.packages, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Only what says its name and version itself stands alone.
func TestWhole(t *testing.T) {
	docs, err := Whole("porter.yaml", []byte("name: b\nversion: v2.0.0\n"))
	if err != nil || docs.Packages[0].Version != "2.0.0" || docs.Packages[0].Source != "porter.yaml" {
		t.Errorf("%+v %v", docs, err)
	}
	docs, err = Whole("crossplane.yaml", []byte("apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nspec: {}\n"))
	if err != nil || len(docs.Packages) > 0 || !strings.Contains(docs.Warnings.Error(), "does not say its name and its version") {
		t.Errorf("%+v %v", docs, err)
	}
}

// A PackageInstall is an Installation, which reads back as what it asks for.
func TestInstallation(t *testing.T) {
	docs, err := Read("i.yaml", []byte(`apiVersion: packaging.carvel.dev/v1alpha1
kind: PackageInstall
metadata: {name: app, namespace: dev}
spec:
  packageRef: {refName: app.example.org, versionSelection: {constraints: ">1.20", prereleases: {identifiers: [rc]}}}
  dependencies: {install: false, override: [{refName: db.example.org, versionSelection: {constraints: 1.x}}]}
status:
  version: 1.21.0
  dependencies: [{package: {refName: db.example.org, packageInstallRef: db.example.org.1.0.0}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	i := docs.Installations[0]
	if i.Status.CurrentRevision != "1.21.0" || i.Status.Dependencies[0].Installation != "db.example.org.1.0.0" {
		t.Errorf("status %+v", i.Status)
	}
	want := resolver.Request{
		Name: "app", Namespace: "dev", Package: "app.example.org", Version: ">1.20", Prereleases: &resolver.Prereleases{Identifiers: []string{"rc"}},
		ValidateOnly: true, Materialise: "direct", Allow: resolver.Changes{Upgrade: true}, Overrides: []resolver.Override{{Package: "db.example.org", Constraints: "1.x"}},
	}
	if diff := cmp.Diff(want, resolver.FromInstallation(i)); diff != "" {
		t.Error(diff)
	}
}

// Crossplane's own Lock is a previous answer.
func TestLock(t *testing.T) {
	docs, err := Read("lock.yaml", []byte("apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata: {name: lock}\npackages:\n- {name: p-1, source: example.org/p, version: v0.1.0}\n"))
	if err != nil || docs.Lock == nil || docs.Lock.Spec.Packages[0].Package != "example.org/p" || docs.Lock.Spec.Packages[0].Version != "v0.1.0" {
		t.Errorf("%+v %v", docs, err)
	}
}
