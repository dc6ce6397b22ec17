package porter

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
	"github.com/variform/variform/test/proposaltest"
)

const manifestYAML = `
name: app
registry: registry.example.org/org
version: 1.20.0
parameters:
- {name: port, type: integer, default: 80, source: {dependency: db, output: port}}
- {name: on, type: [string, "null"]}
dependencies:
  requires:
  - name: db
    bundle:
      reference: registry.example.org:5000/db:latest
      version: 1.20
      interface: {id: sql, document: {outputs: [{name: url, type: string}]}}
    sharing: {mode: false, group: own}
    parameter: {size: "3"}
    colour: red
  provides: {interface: {id: web}}
install:
- exec: {arguments: ["${ bundle.dependencies.db.outputs.host }"]}
`

// TestReadManifest reads what the examples of PEP003 do not have.
func TestReadManifest(t *testing.T) {
	docs, err := Read([]byte(manifestYAML))
	if err != nil {
		t.Fatal(err)
	}
	port := "80"
	want := resolver.Package{
		Package: "registry.example.org/org/app", Version: "1.20.0",
		Parameters: []resolver.Field{{Name: "port", Type: "integer", Default: &port}, {Name: "on"}},
		Provides:   []resolver.Provide{{Interface: "web"}},
		Requires: []resolver.Requirement{{
			Alias: "db", Package: "registry.example.org:5000/db", Version: "1.20",
			Interface:  &resolver.Interface{ID: "sql", Document: &resolver.Document{Outputs: []resolver.Field{{Name: "url", Type: "string"}}}},
			Share:      resolver.Share{Mode: resolver.ModeNone, Group: "own"},
			Parameters: map[string]string{"size": "3"}, Uses: resolver.Uses{Outputs: []string{"host", "port"}},
		}},
	}
	if diff := cmp.Diff([]resolver.Package{want}, docs.Packages); diff != "" {
		t.Error(diff)
	}
	warnings := []string{
		`line 16: dependencies.requires[0].parameter is read as parameters (hint: write "parameters")`,
		`line 17: dependencies.requires[0].colour is not known and is left out (hint: the fields here are name, bundle, reference, version, interface, namespace, labels, credentials, parameters, outputs, sharing, lifecycle)`,
		`line 12: the tag latest is no version: any version is taken (hint: name a tag such as v1.2.3, or a range of versions)`,
	}
	if diff := cmp.Diff(warnings, strings.Split(docs.Warnings.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

const bundleJSON = `{
	"schemaVersion": "v1.2.0", "name": "app", "version": "0.1.0", "invocationImages": [],
	"definitions": {"size-parameter": {"type": "string", "$id": "size", "default": "3"}},
	"parameters": {"size": {"definition": "size-parameter"}, "name": {"definition": "none", "required": true}},
	"credentials": {"kubeconfig": {"path": "/root/.kube/config"}},
	"custom": {"org.getporter.dependencies@v2": {
		"provides": {"interface": {"id": "web"}},
		"requires": {"db": {"bundle": "org/db:v1.2.3", "version": "1.x", "sharing": {"mode": true, "group": {"name": "g"}},
			"interface": {"document": {"outputs": {"url": {"definition": "x", "$id": "sql"}}}}, "outputs": {"url": "${outputs.url}"}},
			"api": {"interface": {"id": "api"}}}
	}}
}`

// TestReadAsPorter reads what Porter reads, with a warning.
func TestReadAsPorter(t *testing.T) {
	docs, err := Read([]byte("name: app\nversion: 1.10\nparameters:\n- {name: a, type: string}\n- {name: b, type: string}\n- {name: a, type: integer}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := resolver.Package{Package: "app", Version: "1.10.0", Parameters: []resolver.Field{{Name: "a", Type: "integer"}, {Name: "b", Type: "string"}}}
	if diff := cmp.Diff([]resolver.Package{want}, docs.Packages); diff != "" {
		t.Error(diff)
	}
	warnings := []string{
		"line 2: version is no full semantic version: 1.10 is read as 1.10.0 (hint: write three numbers)",
		"line 6: parameters[2] has the name a once more: as in Porter, the last one counts (hint: remove the others)",
	}
	if diff := cmp.Diff(warnings, strings.Split(docs.Warnings.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestReadBundle reads a whole bundle.json, tabs and all.
func TestReadBundle(t *testing.T) {
	docs, err := Read([]byte(bundleJSON))
	if err != nil || len(docs.Warnings) > 0 {
		t.Fatal(err, docs)
	}
	size, yes, no := "3", true, false
	want := resolver.Package{
		Package: "app", Version: "0.1.0",
		Parameters:  []resolver.Field{{Name: "size", Type: "string", ID: "size", Default: &size, Required: &no}, {Name: "name", Required: &yes}},
		Credentials: []resolver.Field{{Name: "kubeconfig", Required: &no}},
		Provides:    []resolver.Provide{{Interface: "web"}},
		Requires: []resolver.Requirement{{
			Alias: "db", Package: "org/db", Default: "v1.2.3", Version: "1.x", Share: resolver.Share{Mode: resolver.ModeGroup, Group: "g"},
			Interface: &resolver.Interface{Document: &resolver.Document{Outputs: []resolver.Field{{Name: "url", ID: "sql"}}}},
			Outputs:   map[string]string{"url": "${outputs.url}"},
		}, {Alias: "api", Interface: &resolver.Interface{ID: "api"}}},
	}
	if diff := cmp.Diff([]resolver.Package{want}, docs.Packages); diff != "" {
		t.Error(diff)
	}
}

func TestReadErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"name: a\ndependencies: {requires: [{bundle: org/a@sha256-x}]}": "line 2: dependencies.requires[0] has no name (hint: templates and overrides need one)\n" +
			`line 2: dependencies.requires[0].bundle: "sha256-x" is no digest (hint: write the algorithm and the hash, such as sha256: and 64 digits)`,
		"name: a\nname: b":          "name is given twice",
		"{":                         "not valid YAML or JSON",
		"{\"name\": \"a\"\n  }\n}x": "not valid YAML or JSON",
		"mixins: [exec]":            dialect.ErrNoDocument.Error(),
		"":                          dialect.ErrNoDocument.Error(),
		"schemaType: Installation":  "line 1: the installation has no name",
	} {
		if docs, err := Read([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v, want %s", doc, docs, err, want)
		}
	}
	if _, err := Read([]byte("mixins: []")); !errors.Is(err, dialect.ErrNoDocument) {
		t.Error(err)
	}
}

// TestReadUnderBundle reads what the format of PEP003 has beside bundle, and its text in it.
func TestReadUnderBundle(t *testing.T) {
	docs, err := Read([]byte("dependencies: {requires: [{name: db, parameters: {a: x, b: y}, bundle: {reference: org/db:v1.0.0, parameters: {a: z, c: w}, " +
		"credentials: {k: '${bundle.credentials.v}'}, outputs: {o: p}, sharing: {mode: none}}}]}"))
	if err != nil {
		t.Fatal(err)
	}
	want := resolver.Requirement{
		Alias: "db", Package: "org/db", Default: "v1.0.0", Share: resolver.Share{Mode: resolver.ModeNone},
		Parameters: map[string]string{"a": "x", "b": "y", "c": "w"}, Credentials: map[string]string{"k": "${bundle.credentials.v}"}, Outputs: map[string]string{"o": "p"},
	}
	if diff := cmp.Diff(want, docs.Packages[0].Requires[0]); diff != "" {
		t.Error(diff)
	}
}

// TestReadOldList reads dependencies as they stood before PEP 003, with a word about it.
func TestReadOldList(t *testing.T) {
	docs, err := Read([]byte("name: a\ndependencies:\n- {name: db, reference: org/db:v1.0.0}\n"))
	if err != nil || len(docs.Packages[0].Requires) != 1 || len(docs.Warnings) != 1 {
		t.Error(docs, err)
	}
}

// FuzzRead holds that reading ends, and gives either documents or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte(manifestYAML))
	f.Add([]byte(bundleJSON))
	f.Add([]byte(bundleV1))
	f.Add([]byte("schemaType: Installation\nname: a\nbundle: {repository: org/a, version: 1.0.0}\n"))
	f.Add([]byte("{\n  \"name\": \"a\"\n    }\n}\n"))
	f.Add([]byte(`{"name": "a", "custom": {"io.cnab.dependencies": {"requires": {"db": null}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Read(data)
		if (docs == nil) == (err == nil) {
			t.Fatalf("%v, %v", docs, err)
		}
	})
}

// TestPinnedDigest resolves bundles whose dependencies are pinned: the digest is met by exactly the version that has
// it, whatever the tag beside it says.
func TestPinnedDigest(t *testing.T) {
	catalog := []resolver.Package{
		{Package: "org/db", Version: "1.0.0", Digest: "sha256:aaa"},
		{Package: "org/db", Version: "1.5.0", Digest: "sha256:bbb"},
		{Package: "org/db", Version: "2.0.0", Digest: "sha256:ccc"},
	}
	for dependency, want := range map[string]string{
		"bundle: {reference: 'org/db@sha256:aaa'}":                "1.0.0",
		"bundle: {reference: 'org/db:v9.9.9@sha256:aaa'}":         "1.0.0",
		"reference: 'org/db@sha256:bbb'":                          "1.5.0",
		"bundle: {reference: org/db, version: 'sha256:bbb'}":      "1.5.0",
		"bundle: {reference: 'org/db@sha256:aaa', version: 1.x}":  "1.5.0",
		"bundle: {reference: 'org/db@sha256:aaa', version: '>8'}": "1.0.0",
		"bundle: {reference: 'org/db@sha256:fff'}":                "",
	} {
		docs, err := Read([]byte("name: app\nversion: 1.0.0\ndependencies: {requires: [{name: db, " + dependency + "}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if ranged := strings.Contains(dependency, "@") && strings.Contains(dependency, "version:"); ranged != (len(docs.Warnings) == 1) {
			t.Errorf("%s: warnings %v", dependency, docs.Warnings)
		}
		res, err := proposaltest.Resolve(t, resolver.Input{}, append(docs.Packages, catalog...), resolver.Request{Package: "app"})
		got := ""
		if err == nil {
			got = res.Binding("db").Version
		} else if !strings.Contains(err.Error(), "org/db@sha256:fff") {
			t.Errorf("%s: %v", dependency, err)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q: %v", dependency, got, want, err)
		}
	}
	docs, err := Read([]byte("schemaType: Installation\nname: a\nbundle: {repository: org/db, digest: 'sha256:bbb'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if i := docs.Installations[0]; i.Version != "sha256:bbb" || i.Digest != "sha256:bbb" {
		t.Errorf("an installation with a digest alone: %+v", i)
	}
}

const bundleV1 = `{
	"name": "wordpress", "version": "0.1.0",
	"custom": {"io.cnab.dependencies": {
		"sequence": ["storage", "mysql", "gone"],
		"requires": {
			"cache": {"bundle": "example.org/cache@sha256:aaa"},
			"mysql": {"bundle": "example.org/mysql:v5.7.1", "version": {"prereleases": true, "ranges": ["5.7.x", "8.5.x - 9"]}},
			"storage": {"bundle": "example.org/storage"}
		}}}
}`

// TestReadBundleV1 reads CNAB's own extension and resolves what it says: any of the ranges, prereleases among them, in
// the order of the sequence.
func TestReadBundleV1(t *testing.T) {
	docs, err := Read([]byte(bundleV1))
	if err != nil {
		t.Fatal(err)
	}
	want := []resolver.Requirement{
		{Alias: "cache", Package: "example.org/cache", Version: "sha256:aaa"},
		{
			Alias: "mysql", Package: "example.org/mysql", Default: "v5.7.1", Version: "5.7.x || 8.5.x - 9", Prereleases: &resolver.Prereleases{},
			After: []string{"storage"},
		},
		{Alias: "storage", Package: "example.org/storage"},
	}
	if diff := cmp.Diff(want, docs.Packages[0].Requires); diff != "" {
		t.Error(diff)
	}
	if got := docs.Warnings.Error(); got != "line 4: custom.io.cnab.dependencies.sequence[2]: no dependency is called gone" {
		t.Errorf("warnings %q", got)
	}
	for newest, fits := range map[string]bool{
		"5.7.9": true, "8.4.0": false, "8.6.0": true, "9.9.0": true, "10.0.0": false, "9.0.0-rc.1": true, "5.8.0-rc.1": false,
	} {
		catalog := []resolver.Package{
			{Package: "example.org/cache", Version: "1.0.0", Digest: "sha256:aaa"},
			{Package: "example.org/mysql", Version: "5.7.0"},
			{Package: "example.org/mysql", Version: newest},
			{Package: "example.org/storage", Version: "2.0.0"},
		}
		res, err := proposaltest.Resolve(t, resolver.Input{}, append(catalog, docs.Packages...), resolver.Request{Package: "wordpress"})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Binding("mysql").Version; (got == newest) != fits {
			t.Errorf("of 5.7.0 and %s got %s", newest, got)
		}
		if !proposaltest.Before(res, "example.org/storage", "example.org/mysql") || proposaltest.Before(res, "example.org/cache", "example.org/storage") {
			t.Errorf("%s: the plan is %v", newest, res.Plan)
		}
	}
	for doc, want := range map[string]string{
		`{"io.cnab.dependencies": {"requires": {"a": {"version": {"ranges": ["1.x"]}}}}}`: "io.cnab.dependencies.requires.a names no bundle",
		`{"io.cnab.dependencies": {"requires": {"a": null}}}`:                             "io.cnab.dependencies.requires.a names no bundle",
		`{"custom": {"io.cnab.dependencies": {"requires": ["a"]}}}`:                       "must be a map",
	} {
		if _, err := Read([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
