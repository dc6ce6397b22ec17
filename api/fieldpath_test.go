package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api"
)

func TestParseFieldPath(t *testing.T) {
	field := func(s string) api.FieldStep { return api.FieldStep{Field: s} }
	for text, want := range map[string]api.FieldPath{
		"a":                         {field("a")},
		"spec.ports[name=sql].port": {field("spec"), field("ports"), {Keys: []api.FieldKey{{Name: "name", Value: "sql"}}}, field("port")},
		"p[containerPort=80,protocol=TCP]": {
			field("p"), {Keys: []api.FieldKey{{Name: "containerPort", Value: "80"}, {Name: "protocol", Value: "TCP"}}},
		},
		`data["a.b"].c`:                  {field("data"), field("a.b"), field("c")},
		`["a.b"]["c\"d\n"]`:              {field("a.b"), field("c\"d\n")},
		`p[name="a,b]",x=a=b]`:           {field("p"), {Keys: []api.FieldKey{{Name: "name", Value: "a,b]"}, {Name: "x", Value: "a=b"}}}},
		"m[0][12].x":                     {field("m"), {}, {Index: 12}, field("x")},
		"metadata.annotations.example/x": {field("metadata"), field("annotations"), field("example/x")},
	} {
		got, err := api.ParseFieldPath(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
		again, err := api.ParseFieldPath(got.String())
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("%s written as %s: %v\n%s", text, got, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                               "the field path is empty",
		".a":                             `character 1: a field's name must stand here`,
		"a.":                             `character 3: a field's name must stand here`,
		"a..b":                           `character 3: a field's name must stand here`,
		"a]":                             `character 2: a dot or a bracket must follow, not ']'`,
		"a[0]b":                          `character 5: a dot or a bracket must follow, not 'b'`,
		"a[":                             `character 3: an element of a list is chosen with [name=value]`,
		"a[]":                            `character 3: "" is no place in a list`,
		"a[-1]":                          `character 3: "-1" is no place in a list`,
		"a[99999999999]":                 `is no place in a list`,
		"a[x]":                           `character 3: "x" is no place in a list: write [0], [name=value] or ["field"]`,
		"a[x=]":                          `a value must stand after "="`,
		"a[x=y":                          "a closing bracket is missing",
		"a[x=y,]":                        "an element of a list is chosen with [name=value]",
		`a["x]`:                          "the quoted text has no end",
		`a[""]`:                          "the field's name is empty",
		"a" + strings.Repeat("[0]", 200): "has more than 100 steps",
	} {
		if _, err := api.ParseFieldPath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestParseResourceField(t *testing.T) {
	port := api.FieldPath{{Field: "spec"}, {Field: "port"}}
	for text, want := range map[string]api.ResourceField{
		"Service/db:spec.port":                      {Kind: "Service", Name: "db", Path: port},
		"Service:spec.port":                         {Kind: "Service", Path: port},
		"Certificate.cert-manager.io/web:spec.port": {Kind: "Certificate", Group: "cert-manager.io", Name: "web", Path: port},
		"context/ConfigMap/db.runtime:spec.port":    {Context: true, Kind: "ConfigMap", Name: "db.runtime", Path: port},
	} {
		got, err := api.ParseResourceField(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, *got); diff != "" || got.String() != text || !api.IsResourceField(text) {
			t.Errorf("%s, written %s:\n%s", text, got, diff)
		}
	}
	for text, want := range map[string]string{
		"spec.port":          "names no resource",
		"service/db:spec":    `"service" is not a kind`,
		":spec":              `"" is not a kind`,
		"Service/:spec":      `"" is not a resource's name`,
		"Service/Db:spec":    `"Db" is not a resource's name`,
		"Service/a/b:spec":   `"a/b" is not a resource's name`,
		"Service.:spec":      `"" is not an API group`,
		"Kptfile/x:info.x":   "the Kptfile is no resource of the package",
		"Service/db:":        "the field path is empty",
		"context/Service:x[": "character 3",
	} {
		if _, err := api.ParseResourceField(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for _, expr := range []string{
		"self.name", "a ? b : c", "a?b:c", "{'a':1}.a", "a.b['x'] ? 'c' : 'd'", "size(x) > 1 ? 'a' : 'b'", "'a:b'", "\"Service/db:spec\"", "x == 'a:b'",
	} {
		if api.IsResourceField(expr) {
			t.Errorf("%s is an expression and was taken for a field path", expr)
		}
	}
}

// TestManifestWiring holds that a manifest's field paths and templates are checked with file and field.
func TestManifestWiring(t *testing.T) {
	_, report := api.Parse([]byte(head + `PackageManifest
metadata: {name: a}
spec:
  parameters:
  - {name: good, to: {fieldPath: 'Deployment/web:spec.replicas'}, default: '${bundle.dependencies.db.outputs.replicas}'}
  - {name: path, to: {fieldPath: spec.replicas}}
  - {name: secret, to: {fieldPath: 'Secret/x:stringData.p'}}
  - {name: context, to: {fieldPath: 'context/ConfigMap/x:data.p'}}
  - {name: reserved, to: {contextKey: name}}
  - {name: open, default: '${bundle.parameters.x'}
  - {name: empty, default: 'a${ }'}
  - {name: alias, default: '${bundle.dependencies.cache.outputs.host}'}
  - {name: word, default: '${bundle.dependencies.db.output.host}'}
  - {name: shell, default: 'costs $5 {x} $$'}
  outputs:
  - {name: good, valueFrom: 'Service/web:spec.clusterIP'}
  - {name: expression, valueFrom: "resources.size() > 1 ? 'a' : 'b'"}
  - {name: path, valueFrom: 'Service/web:spec['}
  - {name: secret, valueFrom: 'context/Secret/web:data.p'}
  requires:
  - {alias: db, package: db, parameters: {good: 'x-${installation.name}', bad: '${bundle..x}'}, outputs: {o: '${outputs.a b}'}}
`))
	want := []string{
		`line 7: spec.parameters[1].to.fieldPath: "spec.replicas" names no resource: write Kind/name:path, such as Service/db:spec.clusterIP (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
		`line 8: spec.parameters[2].to.fieldPath: a Secret's content does not belong in Git; let the package refer to one by name (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
		`line 9: spec.parameters[3].to.fieldPath: context objects are only read; name a resource of the package (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
		`line 10: spec.parameters[4].to.contextKey: must not contain the key "name", which kpt sets itself (hint: choose another key)`,
		`line 19: spec.outputs[2].valueFrom: field path "spec[", character 6: an element of a list is chosen with [name=value] (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
		`line 20: spec.outputs[3].valueFrom: what a Secret holds is never an output; give its metadata.name, by which others can refer to it (hint: a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port)`,
		`line 11: spec.parameters[5].default: the template "${bundle.parameters.x" has no closing brace (hint: write ${bundle.dependencies.<alias>.outputs.<name>})`,
		`line 12: spec.parameters[6].default: the template ${} names nothing that could be read (hint: write ${bundle.dependencies.<alias>.outputs.<name>})`,
		`line 13: spec.parameters[7].default: ${bundle.dependencies.cache.outputs.host} reads a dependency "cache" that spec.requires does not have (hint: give one that alias or correct the template)`,
		`line 14: spec.parameters[8].default: ${bundle.dependencies.db.output.host} names no output of a dependency (hint: write ${bundle.dependencies.<alias>.outputs.<name>})`,
		`line 22: spec.requires[0].parameters[bad]: the template ${bundle..x} names nothing that could be read (hint: write ${bundle.dependencies.<alias>.outputs.<name>})`,
		`line 22: spec.requires[0].outputs[o]: the template ${outputs.a b} names nothing that could be read (hint: write ${bundle.dependencies.<alias>.outputs.<name>})`,
	}
	if diff := cmp.Diff(want, strings.Split(report.Errors.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// FuzzParseResourceField holds that what is read is written as a text that is read the same.
func FuzzParseResourceField(f *testing.F) {
	for _, s := range []string{
		"Service/db:spec.ports[name=sql].port", `ConfigMap:data["a.b"]`, "context/A.b.c/d:x[0][a=b,c=\"d]\"].e", "a ? b : c", "K:[\"\\x00\"]", "K:a[",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := api.ParseResourceField(text)
		if err != nil {
			if got != nil && got.Path != nil {
				t.Errorf("%q: a path beside the error %v", text, err)
			}
			return
		}
		again, err := api.ParseResourceField(got.String())
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("%q, written %q: %v\n%s", text, got, err, diff)
		}
		_, _ = got.CheckReadable(), got.CheckSettable()
	})
}
