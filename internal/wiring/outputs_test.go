package wiring_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/wiring"
	"github.com/variform/variform/test/krmtest"
)

var (
	pkg   = krmtest.Package
	texts = krmtest.Texts
)

func objects(tb testing.TB, docs ...string) *wiring.Objects {
	tb.Helper()
	var list []injection.Object
	for i, doc := range docs {
		n, err := yaml.Parse(doc)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, injection.Object{Node: n, Origin: fmt.Sprintf("context.yaml[%d]", i)})
	}
	return wiring.NewObjects(list)
}

// unread is an object that nobody asks for.
type unread struct{ t *testing.T }

func (u unread) ID() injection.ID {
	u.t.Error("an object was looked at though nothing asks for one")
	return injection.ID{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}
}
func (u unread) Node() *yaml.RNode { return nil }
func (u unread) From() string      { return "" }

// A fleet's objects are looked at where an output asks for one.
func TestObjectsAreLookedAtWhenAsked(t *testing.T) {
	wiring.NewObjects([]injection.Object{{Source: unread{t}}})
}

func output(name, from string) v1alpha1.ManifestOutput {
	return v1alpha1.ManifestOutput{ManifestField: v1alpha1.ManifestField{Name: name}, ValueFrom: from}
}

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\n"

var database = map[string]string{
	"Kptfile": kptfile,
	"service.yaml": `apiVersion: v1
kind: Service
metadata:
  name: db
spec:
  ports:
  - {name: sql, port: 5432}
  - {name: metrics, port: 0x10}
`,
	"config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: db
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  host: db.example.org
  app.conf: dotted
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: other
data: &shared
  load: yes
---
apiVersion: example.org/v1
kind: Database
metadata:
  name: db
spec:
  <<: {size: 1}
  replicas: 3
  ratio: 1000000.0
  ha: true
  gone: null
  args: [a, b]
  nested: {apiVersion: v1, kind: Secret, metadata: {name: n}, data: {p: aHVzaA==}}
`,
	"secret.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: db-password
  labels: {tier: db}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"aHVzaA=="}}'}
type: Opaque
data: {password: aHVzaA==}
`,
	"list.yaml": `apiVersion: v1
kind: SecretList
metadata: {name: all}
items:
- {apiVersion: v1, kind: Secret, metadata: {name: inner}, data: {password: aHVzaA==}}
`,
}

func runtime(tb testing.TB) *wiring.Objects {
	return objects(tb,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db-runtime}\ndata: {host: 10.0.0.1}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: team}\ndata: {host: team.example.org}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: token}\ndata: {token: aHVzaA==}\n",
	)
}

func TestEval(t *testing.T) {
	for name, c := range map[string]struct {
		reason, from, typ string
		allow             []string
		want              string
		wait, mistake     string // parts of the error
	}{
		"field":                {from: "ConfigMap/db:data.host", want: "db.example.org"},
		"local config":         {from: "ConfigMap/db:metadata.name", want: "db", reason: "local-config resources are read too"},
		"by key in a list":     {from: "Service/db:spec.ports[name=sql].port", want: "5432"},
		"by place":             {from: "Service:spec.ports[0].name", want: "sql", reason: "the only Service needs no name"},
		"two keys":             {from: "Service/db:spec.ports[name=sql,port=5432].port", want: "5432"},
		"hexadecimal":          {from: "Service/db:spec.ports[1].port", want: "16", reason: "numbers are in one form"},
		"quoted field":         {from: `ConfigMap/db:data["app.conf"]`, want: "dotted"},
		"word of YAML 1.1":     {from: "ConfigMap/other:data.load", want: "true", reason: "as the API server reads it"},
		"group":                {from: "Database.example.org/db:spec.replicas", want: "3"},
		"merge key":            {from: "Database:spec.size", want: "1"},
		"float":                {from: "Database:spec.ratio", want: "1000000"},
		"boolean":              {from: "Database:spec.ha", want: "true"},
		"typed":                {from: "Database:spec.replicas", typ: "integer", want: "3"},
		"context":              {from: "context/ConfigMap/db-runtime:data.host", want: "10.0.0.1"},
		"self":                 {from: "self.name + '.' + self.target", want: "db-1.edge"},
		"expression":           {from: "resources.filter(r, r.kind == 'Service')[0].spec.ports[0].port", want: "5432"},
		"number":               {from: "1 + 2", want: "3"},
		"unsigned":             {from: "7u", want: "7"},
		"double":               {from: "resources.filter(r, r.kind == 'Database')[0].spec.ratio", want: "1000000", reason: "as by a field path"},
		"comparison":           {from: "size(resources) > 1", want: "true"},
		"ternary":              {from: "true ? 'a' : 'b'", want: "a", reason: "a colon alone makes no field path"},
		"comment":              {from: "self.name // why", want: "db-1"},
		"context expression":   {from: "context.filter(c, c.metadata.name == 'db-runtime')[0].data.host", want: "10.0.0.1"},
		"object missing":       {from: "context/ConfigMap/late:data.host", wait: "waits for ConfigMap default/late, field data.host, among the context objects"},
		"field missing":        {from: "context/ConfigMap/db-runtime:data.port", wait: "waits for field data.port of ConfigMap default/db-runtime, which is among the context objects without it"},
		"other namespace":      {from: "context/ConfigMap/elsewhere:data.host", wait: "waits for ConfigMap default/elsewhere, field data.host"},
		"resource missing":     {from: "Ingress/web:spec.host", wait: "waits for Ingress web, field spec.host, among the package's resources"},
		"kind missing":         {from: "Ingress:spec.host", wait: "waits for one Ingress, field spec.host"},
		"null":                 {from: "Database:spec.gone", wait: "waits for field spec.gone of Database db, which"},
		"element missing":      {from: "Service/db:spec.ports[7].port", wait: "waits for field spec.ports[7].port of Service db"},
		"nothing to index":     {from: "resources.filter(r, r.kind == 'Ingress')[0].spec.host", wait: "waits for what its expression reads: valueFrom: index out of bounds"},
		"no such key":          {from: "resources.filter(r, r.kind == 'Service')[0].status.ip", wait: "no such key: status"},
		"map":                  {from: "Service/db:spec.ports", mistake: "is a list; name a field of it"},
		"several":              {from: "ConfigMap:data.host", mistake: "ConfigMap can be any of ConfigMap db (config.yaml), ConfigMap other (config.yaml); name one"},
		"wrong type":           {from: "ConfigMap/db:data.host", typ: "integer", mistake: `ConfigMap/db:data.host gives "db.example.org", which is not of type integer`},
		"list of expression":   {from: "resources", mistake: "must be a string, a number or a boolean"},
		"bytes":                {from: "base64.decode(self.name == '' ? '' : 'aGk=')", mistake: "must be a string, a number or a boolean, not bytes"},
		"cost":                 {from: "string(lists.range(1000).all(a, lists.range(1000).all(b, [a].sort() == [a])) || size(resources) > 0)", mistake: "costs more than"},
		"secret":               {from: "Secret/db-password:metadata.name", mistake: "only where the kind is allowed by name"},
		"secret allowed":       {from: "Secret/db-password:metadata.name", allow: []string{"Secret"}, want: "db-password"},
		"secrets left out":     {from: "string(resources.exists(r, r.kind == 'Secret') || context.exists(c, c.kind == 'Secret'))", want: "false"},
		"secrets by leave":     {from: "resources.filter(r, r.kind == 'Secret')[0].metadata.labels.tier", allow: []string{"Secret"}, want: "db"},
		"secret data":          {from: "resources.filter(r, r.kind == 'Secret')[0].data.password", allow: []string{"Secret"}, wait: "no such key: data"},
		"secret annotation":    {from: "resources.filter(r, r.kind == 'Secret')[0].metadata.annotations.x", allow: []string{"Secret"}, wait: "no such key: annotations"},
		"context secret data":  {from: "context.filter(c, c.kind == 'Secret')[0].data.token", allow: []string{"Secret"}, wait: "no such key: data"},
		"secret in a list":     {from: "resources.filter(r, r.kind == 'SecretList')[0].items[0].data.password", wait: "no such key: data"},
		"path into a list":     {from: "SecretList:items[0].data.password", mistake: "holds a Secret at items[0]"},
		"path into a template": {from: "Database:spec.nested.data.p", mistake: "holds a Secret at spec.nested"},
	} {
		t.Run(name, func(t *testing.T) {
			out := output("o", c.from)
			out.Type = c.typ
			outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{out})
			if err != nil {
				if c.mistake == "" || !strings.Contains(err.Error(), c.mistake) {
					t.Fatal(err)
				}
				return
			}
			values, unknown := outputs.Eval(wiring.Scope{
				Package: pkg(t, database), Context: runtime(t), AllowKinds: c.allow,
				Self: wiring.Self{Name: "db-1", Namespace: "default", Target: "edge", Repository: "edge", Package: "db"},
			})
			if got, ok := values["o"]; got != c.want || ok != (c.wait+c.mistake == "") {
				t.Errorf("got %q, %t: %v (%s)", got, ok, unknown["o"], c.reason)
			}
			var wait *wiring.WaitError
			if got := errors.As(unknown["o"], &wait); got != (c.wait != "") || got && strings.Contains(wait.Error(), "hint:") {
				t.Errorf("waits: %t: %v", got, unknown["o"])
			}
			if want := c.wait + c.mistake; want != "" && (unknown["o"] == nil || !strings.Contains(unknown["o"].Error(), want)) {
				t.Errorf("got %v, want %q", unknown["o"], want)
			}
			if unknown["o"] != nil && (strings.Contains(unknown["o"].Error(), "aHVzaA") || strings.Contains(unknown["o"].Error(), ".map(v")) {
				t.Errorf("the error shows what it must not: %v", unknown["o"])
			}
		})
	}
}

func TestCompile(t *testing.T) {
	_, err := wiring.Compile([]v1alpha1.ManifestOutput{
		output("none", ""),
		output("bare", "status.url"),
		output("escape", "self.name) + string(self.name"),
		output("path", "Service/db:spec..x"),
		output("kind", "service/db:spec"),
		output("content", "Secret/db:data.password"),
		output("string", "Secret/db:stringData.password"),
		output("annotation", "Secret/db:metadata.annotations.x"),
		output("map", "{'a': 1}"),
		output("fine", "Service/db:spec.clusterIP"),
		{ManifestField: v1alpha1.ManifestField{Name: "type", Type: "text"}, ValueFrom: "self.name"},
	})
	want := []string{
		"output bare: valueFrom: ERROR: <input>:1:1: undeclared reference to 'status' (in container ''), in expression `status.url` (hint: the variables here are context, resources, self)",
		"output escape: valueFrom: ERROR: <input>:1:10: Syntax error: mismatched input ')' expecting <EOF>, in expression `self.name) + string(self.name`",
		`output path: field path "spec..x", character 6: a field's name must stand here; quote one with dots or brackets, such as data["a.b"]`,
		`output kind: "service" is not a kind, such as ConfigMap`,
		"output content: what a Secret holds is never an output; give its metadata.name, by which others can refer to it",
		"output string: what a Secret holds is never an output; give its metadata.name, by which others can refer to it",
		"output annotation: what a Secret holds is never an output; give its metadata.name, by which others can refer to it",
		"output map: valueFrom: the result must be a string, a number or a boolean, in expression `{'a': 1}` (hint: take a field of it, or convert it with string(…) or join)",
		`output type: "text" is no type; use string, integer, number, boolean, object, array`,
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	var first *wiring.MistakeError
	if !errors.As(err, &first) || first.Index != 1 || first.Output != "bare" {
		t.Errorf("%#v", first)
	}
}

func TestEvalOnly(t *testing.T) {
	outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{output("a", "self.name"), output("b", "'b'"), output("c", "")})
	if err != nil {
		t.Fatal(err)
	}
	values, unknown := outputs.Eval(wiring.Scope{Self: wiring.Self{Name: "x"}}, "a", "c")
	if diff := cmp.Diff(map[string]string{"a": "x"}, values); diff != "" {
		t.Error(diff)
	}
	if len(unknown) != 1 || !strings.Contains(unknown["c"].Error(), `no value of output "c"; it has a, b`) {
		t.Error(unknown)
	}
}

func TestDangling(t *testing.T) {
	outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{
		output("none", ""), output("good", "Service/db:spec.nothing"), output("gone", "Service/web:spec.x"),
		output("many", "ConfigMap:data.x"), output("later", "context/ConfigMap/x:data.y"), output("cel", "self.name"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range outputs.Dangling(pkg(t, database).Resources()) {
		got = append(got, fmt.Sprint(m.Index, " ", m))
	}
	want := []string{
		"2 output gone: the package has no Service web",
		"3 output many: ConfigMap can be any of ConfigMap db (config.yaml), ConfigMap other (config.yaml); name one with Kind.group/name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
