package merge

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// pkg makes a package of a text of files, each after a line "-- path --".
func pkg(t testing.TB, text string) *krm.Package {
	t.Helper()
	var files []krm.File
	for i, part := range strings.Split("\n"+text, "\n-- ") {
		if i == 0 {
			continue
		}
		head, data, _ := strings.Cut(part, "\n")
		if data != "" && !strings.HasSuffix(data, "\n") {
			data += "\n"
		}
		files = append(files, krm.File{Path: strings.TrimSuffix(head, " --"), Data: []byte(data)})
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.Problems() {
		t.Fatalf("the test's own YAML: %v", problem)
	}
	return p
}

// textOf is the inverse of pkg.
func textOf(t testing.TB, p *krm.Package) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		b.WriteString("-- " + f.Path + " --\n")
		b.Write(f.Data)
		if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func conflictLines(r *Result) []string {
	var out []string
	for _, c := range r.Conflicts {
		out = append(out, c.String())
	}
	return out
}

// mergeCase is one merge of packages or, without a line "-- path --", of the
// file r.yaml alone.
type mergeCase struct {
	reason                      string
	base, upstream, local, want string
	conflicts                   []string
	options                     Options
}

func (tc mergeCase) run(t *testing.T) {
	t.Helper()
	wrap := func(s string) string {
		if strings.HasPrefix(s, "-- ") || s == "" {
			return s
		}
		return "-- r.yaml --\n" + s
	}
	b, u, l := pkg(t, wrap(tc.base)), pkg(t, wrap(tc.upstream)), pkg(t, wrap(tc.local))
	before := textOf(t, b) + textOf(t, u) + textOf(t, l)
	res, err := Packages(b, u, l, tc.options)
	if err != nil {
		t.Fatalf("%s\nPackages(): %v", tc.reason, err)
	}
	if diff := cmp.Diff(wrap(tc.want), textOf(t, res.Package)); diff != "" {
		t.Errorf("%s\nmerged (-want +got):\n%s", tc.reason, diff)
	}
	if diff := cmp.Diff(tc.conflicts, conflictLines(res)); diff != "" {
		t.Errorf("%s\nconflicts (-want +got):\n%s", tc.reason, diff)
	}
	if diff := cmp.Diff(before, textOf(t, b)+textOf(t, u)+textOf(t, l)); diff != "" {
		t.Errorf("the inputs were changed:\n%s", diff)
	}
	if tc.options.Strategy == "fast-forward" {
		b = u // else what it brought is a local change
	}
	again, err := Packages(b, u, res.Package, tc.options)
	if err != nil {
		t.Fatalf("merging again: %v", err)
	}
	if diff := cmp.Diff(textOf(t, res.Package), textOf(t, again.Package)); diff != "" {
		t.Errorf("%s\nmerging again changes something:\n%s", tc.reason, diff)
	}
}

func runCases(t *testing.T, cases map[string]mergeCase) {
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// configMap is a ConfigMap with some data.
func configMap(name string, data ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(data, "\n  ") + "\n"
}

func TestFields(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"both sides": {
			reason:   "different fields are both changed, the rest of the local text stays",
			base:     configMap("a", "x: one", "y: two", "z: three"),
			upstream: configMap("a", "x: ONE", "y: two", "z: three"),
			local:    configMap("a", "x: 'one' # mine", "", "y: \"zwei\"", "z:   three"),
			want:     configMap("a", "x: 'ONE' # mine", "", "y: \"zwei\"", "z:   three"),
		},
		"conflict": {
			reason:    "upstream wins and the lost value is told",
			base:      configMap("a", "x: one"),
			upstream:  configMap("a", "x: two"),
			local:     configMap("a", "x: three"),
			want:      configMap("a", "x: two"),
			conflicts: []string{`r.yaml: ConfigMap/a: data.x: upstream wins with two; local was three`},
		},
		"same change": {
			reason:   "what both sides did is no conflict",
			base:     configMap("a", "x: one"),
			upstream: configMap("a", "x: two"),
			local:    configMap("a", "x: 'two'"),
			want:     configMap("a", "x: 'two'"),
		},
		"new fields": {
			reason:   "upstream's new fields come where they are there, with their comments",
			base:     configMap("a", "x: one", "y: two"),
			upstream: configMap("a", "x: one", "# about u", "u: new # here", "y: two", "o: other"),
			local:    configMap("a", "x: one", "l: local", "y: zwei"),
			want:     configMap("a", "x: one", "# about u", "u: new # here", "l: local", "y: zwei", "o: other"),
		},
		"deleted upstream, changed locally": {
			base:      configMap("a", "x: one", "y: two", "z: 3"),
			upstream:  configMap("a", "y: two", "z: 3"),
			local:     configMap("a", "x: mine", "y: two", "z: 4"),
			want:      configMap("a", "y: two", "z: 4"),
			conflicts: []string{`r.yaml: ConfigMap/a: data.x: upstream wins with (deleted); local was mine`},
		},
		"deleted locally, changed upstream": {
			base:      configMap("a", "x: one", "y: two"),
			upstream:  configMap("a", "x: uno", "y: two"),
			local:     configMap("a", "y: zwei"),
			want:      configMap("a", "x: uno", "y: zwei"),
			conflicts: []string{`r.yaml: ConfigMap/a: data.x: upstream wins with uno; local was (deleted)`},
		},
		"deleted on both sides": {
			base:     configMap("a", "x: one", "y: two", "z: 3"),
			upstream: configMap("a", "y: two", "z: 4"),
			local:    configMap("a", "y: zwei", "z: 3"),
			want:     configMap("a", "y: zwei", "z: 4"),
		},
		"a key with a dot": {
			base:      configMap("a", "a.conf: one"),
			upstream:  configMap("a", "a.conf: two"),
			local:     configMap("a", "a.conf: three"),
			want:      configMap("a", "a.conf: two"),
			conflicts: []string{`r.yaml: ConfigMap/a: data["a.conf"]: upstream wins with two; local was three`},
		},
		"kind of value": {
			base:      "apiVersion: e.x/v1\nkind: T\nmetadata: {name: a}\nspec:\n  x: 1\n  y: 1\n",
			upstream:  "apiVersion: e.x/v1\nkind: T\nmetadata: {name: a}\nspec:\n  x: {a: 1}\n  y: 1\n",
			local:     "apiVersion: e.x/v1\nkind: T\nmetadata: {name: a}\nspec:\n  x: [1]\n  y: 2\n",
			want:      "apiVersion: e.x/v1\nkind: T\nmetadata: {name: a}\nspec:\n  x: {a: 1}\n  y: 2\n",
			conflicts: []string{`r.yaml: T.e.x/a: spec.x: upstream wins with {a: 1}; local was [1]`},
		},
		"comment of upstream": {
			reason:   "a setter that upstream adds to a value that nobody changed is an edit",
			base:     configMap("a", "x: one", "y: two"),
			upstream: configMap("a", "x: one # kpt-set: ${x}", "y: two"),
			local:    configMap("a", "x: one", "y: zwei"),
			want:     configMap("a", "x: one # kpt-set: ${x}", "y: zwei"),
		},
		"anchors": {
			reason:   "aliases are written out where both sides changed a document",
			base:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {x: y}\n  annotations: *l\ndata:\n  k: v\n",
			upstream: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {x: y}\n  annotations: *l\ndata:\n  k: w\n",
			local:    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {x: y}\n  annotations: *l\ndata:\n  k: v\n  l: w\n",
			want:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {x: y}\n  annotations: *l\ndata:\n  k: w\n  l: w\n",
		},
	})
}

// deployment is a Deployment with the given pod spec, indented by 6.
func deployment(podSpec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n" + podSpec
}

func custom(spec string) string {
	return "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n" + spec
}

func TestLists(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"keyed by schema": {
			base:     deployment("      containers:\n      - name: a\n        image: a:1\n      - name: b\n        image: b:1\n"),
			upstream: deployment("      containers:\n      - name: a\n        image: a:2\n      - name: b\n        image: b:1\n      - name: c\n        image: c:1\n"),
			local:    deployment("      containers:\n      - name: mine\n        image: m:1\n      - name: a\n        image: a:1\n        tty: true\n"),
			want:     deployment("      containers:\n      - name: mine\n        image: m:1\n      - name: a\n        image: a:2\n        tty: true\n      - name: c\n        image: c:1\n"),
		},
		"new upstream item ahead": {
			reason:   "init containers run in order",
			base:     deployment("      initContainers:\n      - name: a\n        image: a:1\n"),
			upstream: deployment("      initContainers:\n      - name: first\n        image: f:1\n      - name: a\n        image: a:1\n"),
			local:    deployment("      initContainers:\n      - name: a\n        image: a:1\n      - name: mine\n        image: m:1\n"),
			want:     deployment("      initContainers:\n      - name: first\n        image: f:1\n      - name: a\n        image: a:1\n      - name: mine\n        image: m:1\n"),
		},
		"reordered upstream": {
			base:     deployment("      initContainers:\n      - name: a\n        image: a:1\n      - name: b\n        image: b:1\n"),
			upstream: deployment("      initContainers:\n      - name: b\n        image: b:1\n      - name: a\n        image: a:1\n"),
			local:    deployment("      initContainers:\n      - name: a\n        image: a:1\n      - name: mine\n        image: m:1\n      - name: b\n        image: b:9\n"),
			want:     deployment("      initContainers:\n      - name: b\n        image: b:9\n      - name: a\n        image: a:1\n      - name: mine\n        image: m:1\n"),
		},
		"item deleted upstream, changed locally": {
			base:      deployment("      containers:\n      - name: a\n        image: a:1\n      - name: b\n        image: b:1\n"),
			upstream:  deployment("      containers:\n      - name: a\n        image: a:1\n"),
			local:     deployment("      containers:\n      - name: a\n        image: a:1\n      - name: b\n        image: b:9\n"),
			want:      deployment("      containers:\n      - name: a\n        image: a:1\n"),
			conflicts: []string{`r.yaml: Deployment.apps/web: spec.template.spec.containers[name=b]: upstream wins with (deleted); local was {name: b, image: 'b:9'}`},
		},
		"both added one item": {
			base:      deployment("      containers:\n      - name: a\n        image: a:1\n"),
			upstream:  deployment("      containers:\n      - name: a\n        image: a:1\n      - name: n\n        image: n:1\n        tty: true\n"),
			local:     deployment("      containers:\n      - name: a\n        image: a:1\n      - name: n\n        image: n:2\n        stdin: true\n"),
			want:      deployment("      containers:\n      - name: a\n        image: a:1\n      - name: n\n        image: n:1\n        stdin: true\n        tty: true\n"),
			conflicts: []string{`r.yaml: Deployment.apps/web: spec.template.spec.containers[name=n].image: upstream wins with n:1; local was n:2`},
		},
		"arguments": {
			reason:   "changes at different places of a list of scalars are all kept",
			base:     deployment("      containers:\n      - name: a\n        args: [one, two, three]\n"),
			upstream: deployment("      containers:\n      - name: a\n        args: [one, two, three, four]\n"),
			local:    deployment("      containers:\n      - name: a\n        args: [uno, two, three]\n"),
			want:     deployment("      containers:\n      - name: a\n        args: [uno, two, three, four]\n"),
		},
		"arguments in conflict": {
			base:      deployment("      containers:\n      - name: a\n        args: [x=1, y1]\n"),
			upstream:  deployment("      containers:\n      - name: a\n        args: [x=2, y1]\n"),
			local:     deployment("      containers:\n      - name: a\n        args: [x=3, y1, z1]\n"),
			want:      deployment("      containers:\n      - name: a\n        args: [x=2, y1, z1]\n"),
			conflicts: []string{`r.yaml: Deployment.apps/web: spec.template.spec.containers[name=a].args[0]: upstream wins with [x=2]; local was [x=3]`},
		},
		"both append": {
			base:     custom("  list:\n  - a\n"),
			upstream: custom("  list:\n  - a\n  - u\n"),
			local:    custom("  list:\n  - a\n  - l\n"),
			want:     custom("  list:\n  - a\n  - l\n  - u\n"),
		},
		"moved here, deleted there": {
			base:     custom("  list:\n  - a\n  - b\n  - c\n"),
			upstream: custom("  list:\n  - b\n  - c\n"),
			local:    custom("  list:\n  - b\n  - a\n  - c\n"),
			want:     custom("  list:\n  - b\n  - c\n"),
		},
		"maps without identity": {
			reason:   "rules of a role are merged by their places, and one by its fields",
			base:     "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\nrules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [get]\n- apiGroups: [apps]\n  resources: [deployments]\n  verbs: [get]\n",
			upstream: "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\nrules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [get, list]\n- apiGroups: [apps]\n  resources: [deployments]\n  verbs: [get]\n",
			local:    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\nrules:\n- apiGroups: ['']\n  resources: [pods, secrets]\n  verbs: [get]\n- apiGroups: [apps]\n  resources: [deployments]\n  verbs: [watch]\n",
			want:     "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: a\nrules:\n- apiGroups: ['']\n  resources: [pods, secrets]\n  verbs: [get, list]\n- apiGroups: [apps]\n  resources: [deployments]\n  verbs: [watch]\n",
		},
		"a set": {
			base:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [x, y]\n",
			upstream: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [y, u]\n",
			local:    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [l, x, y]\n",
			want:     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [l, y, u]\n",
		},
	})
}

func TestResources(t *testing.T) {
	a, b := configMap("a", "x: 1"), configMap("b", "x: 1")
	runCases(t, map[string]mergeCase{
		"added upstream to a file that local changed": {
			base:     a,
			upstream: a + "---\n" + b,
			local:    configMap("a", "x: 2"),
			want:     configMap("a", "x: 2") + "---\n" + b,
		},
		"deleted upstream": {
			base:     a + "---\n" + b,
			upstream: a,
			local:    configMap("a", "x: 2") + "---\n" + b,
			want:     configMap("a", "x: 2"),
		},
		"deleted upstream, changed locally": {
			reason:    "kpt keeps it, and so do we",
			base:      a + "---\n" + b,
			upstream:  a,
			local:     a + "---\n" + configMap("b", "x: 2"),
			want:      a + "---\n" + configMap("b", "x: 2"),
			conflicts: []string{`r.yaml: ConfigMap/b: removed upstream, kept for an edit: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: 2}}`},
		},
		"deleted locally, changed upstream": {
			base:      a + "---\n" + b,
			upstream:  a + "---\n" + configMap("b", "x: 2"),
			local:     a,
			want:      a,
			conflicts: []string{`r.yaml: ConfigMap/b: local wins with (deleted); upstream was {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: 2}}`},
		},
		"added on both sides": {
			base:      "-- x.yaml --\n" + a,
			upstream:  "-- x.yaml --\n" + a + "-- y.yaml --\n" + configMap("b", "x: 1", "u: 1"),
			local:     "-- x.yaml --\n" + a + "-- z.yaml --\n" + configMap("b", "x: 2", "l: 1"),
			want:      "-- x.yaml --\n" + a + "-- y.yaml --\n" + configMap("b", "x: 1", "l: 1", "u: 1"),
			conflicts: []string{`y.yaml: ConfigMap/b: both added it: upstream wins with data.x: 1; local was data.x: 2`},
		},
		"one identity in several files": {
			reason:   "overlays of one resource are told apart by their files",
			base:     "-- dev/a.yaml --\n" + a + "-- prod/a.yaml --\n" + a,
			upstream: "-- dev/a.yaml --\n" + configMap("a", "x: 1", "u: 1") + "-- prod/a.yaml --\n" + a + "-- test/a.yaml --\n" + a,
			local:    "-- dev/a.yaml --\n" + configMap("a", "x: 2") + "-- prod/a.yaml --\n" + configMap("a", "x: 3") + "-- mine/a.yaml --\n" + a,
			want: "-- dev/a.yaml --\n" + configMap("a", "x: 2", "u: 1") + "-- mine/a.yaml --\n" + a + "-- prod/a.yaml --\n" +
				configMap("a", "x: 3") + "-- test/a.yaml --\n" + a,
		},
		"a file deleted upstream": {
			base:     "-- x.yaml --\n" + a + "-- y.yaml --\n" + b,
			upstream: "-- x.yaml --\n" + a,
			local:    "-- x.yaml --\n" + a + "-- y.yaml --\n" + b,
			want:     "-- x.yaml --\n" + a,
		},
		"a comment of the file": {
			reason:   "a file that local left alone is taken whole, comments between resources included",
			base:     "# one\n\n" + a,
			upstream: "# two\n\n" + a + "# end\n",
			local:    "# one\n\n" + a,
			want:     "# two\n\n" + a + "# end\n",
		},
		"renamed locally": {
			base:     a,
			upstream: configMap("a", "x: 2"),
			local:    strings.Replace(configMap("a", "x: 1"), "metadata:\n  name: a", "metadata: # kpt-merge: /a\n  name: dev-a", 1),
			want:     strings.Replace(configMap("a", "x: 2"), "metadata:\n  name: a", "metadata: # kpt-merge: /a\n  name: dev-a", 1),
		},
	})
}

func TestFilesWithoutResources(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"each side": {
			base:     "-- a.txt --\n1\n-- b.txt --\n1\n-- c.txt --\n1\n-- d.txt --\n1\n",
			upstream: "-- a.txt --\n2\n-- b.txt --\n1\n-- d.txt --\n1\n-- n.txt --\nnew\n",
			local:    "-- a.txt --\n1\n-- b.txt --\n3\n-- c.txt --\n1\n-- m.txt --\nmine\n",
			want:     "-- a.txt --\n2\n-- b.txt --\n3\n-- m.txt --\nmine\n-- n.txt --\nnew\n",
		},
		"conflicts": {
			base:     "-- a.txt --\n1\n-- b.txt --\n1\n-- c.txt --\n1\n",
			upstream: "-- a.txt --\n2\n-- c.txt --\n2\n",
			local:    "-- a.txt --\n3\n-- b.txt --\n3\n",
			want:     "-- a.txt --\n2\n-- b.txt --\n3\n",
			conflicts: []string{
				`a.txt: line 1: upstream wins with "2"; local was "3"`,
				"b.txt: removed upstream, kept for an edit: sha256:1121cfccd591 (2 bytes)",
				"c.txt: local wins with (deleted); upstream was sha256:53c234e5e847 (2 bytes)",
			},
		},
		"YAML that is no resource": {
			base:     "-- kustomization.yaml --\ncommonLabels:\n  app: dev\n",
			upstream: "-- kustomization.yaml --\ncommonLabels:\n  app: dev\n  tier: back\n",
			local:    "-- kustomization.yaml --\ncommonLabels:\n  app: prod\n",
			want:     "-- kustomization.yaml --\ncommonLabels:\n  app: prod\n  tier: back\n",
		},
		"YAML that is no resource keeps its bytes": {
			base:     "-- values.yaml --\n# values\na:   1\n\nb: 'x' # b\nl: [1, 2]\n---\n- one\n",
			upstream: "-- values.yaml --\n# values\na:   1\n\nb: 'y' # b\nl: [1, 2]\n---\n- one\n- two\n",
			local:    "-- values.yaml --\n# mine\na:   5\n\nb: 'x' # b\nl: [1,   2]\n---\n-   one\n",
			want:     "-- values.yaml --\n# mine\na:   5\n\nb: 'y' # b\nl: [1,   2]\n---\n-   one\n- two\n",
		},
		"JSON that is no resource stays JSON": {
			base:     "-- values.json --\n{\"a\": 1, \"b\": null}\n",
			upstream: "-- values.json --\n{\"a\": 1, \"b\": {\"c\": [true]}}\n",
			local:    "-- values.json --\n{\n \"b\": null,\n \"a\": \"mine\"\n}\n",
			want:     "-- values.json --\n{\n \"b\": {\"c\": [true]},\n \"a\": \"mine\"\n}\n",
		},
	})
}

// TestJSONResources: resources in JSON files are merged as all others are, and
// their files stay JSON.
func TestJSONResources(t *testing.T) {
	cm := func(data string) string {
		return "-- a.json --\n{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\"name\": \"a\"},\n  \"data\": {" + data + "}\n}\n"
	}
	runCases(t, map[string]mergeCase{
		"both sides": {
			base: cm(`"k": "1", "l": "1"`), upstream: cm(`"k": "2", "l": "1", "n": "yes"`), local: cm(`"l": "mine", "k": "1"`),
			want: cm(`"l": "mine", "n": "yes", "k": "2"`),
		},
		"deleted on both sides, another field each": {
			base: cm(`"k": "1", "l": "1", "m": "1"`), upstream: cm(`"l": "1", "m": "1"`), local: cm(`"k": "1", "m": "1"`),
			want: cm(`"m": "1"`),
		},
		"moved into YAML upstream": {
			base: cm(`"k": "1"`), upstream: "-- a.yaml --\n" + configMap("a", "k: 2"), local: cm(`"k": "1", "l": "mine"`),
			want: "-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: 2\n  \"l\": \"mine\"\n",
		},
	})
}

// TestNulls: upstream's explicit null clears a field; local's stays.
func TestNulls(t *testing.T) {
	runCases(t, map[string]mergeCase{
		"local cleared what upstream changed": {
			base: configMap("a", "k: 1", "l: 1"), upstream: configMap("a", "k: 2", "l: 1"), local: configMap("a", "k: null", "l: 1"),
			want:      configMap("a", "k: null", "l: 1"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.k: local wins with null; upstream was 2"},
		},
		"local cleared what upstream deleted": {
			base: configMap("a", "k: 1", "l: 1"), upstream: configMap("a", "l: 2"), local: configMap("a", "k: ~", "l: 1"),
			want: configMap("a", "k: ~", "l: 2"),
		},
		"local added a null, upstream a value": {
			base: configMap("a", "l: 1"), upstream: configMap("a", "k: 2", "l: 1"), local: configMap("a", "k: null", "l: 1"),
			want:      configMap("a", "k: null", "l: 1"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.k: local wins with null; upstream was 2"},
		},
		"upstream cleared what local changed": {
			base: configMap("a", "k: 1", "l: 1"), upstream: configMap("a", "k: null", "l: 1"), local: configMap("a", "k: 2", "l: 1"),
			want:      configMap("a", "l: 1"),
			conflicts: []string{"r.yaml: ConfigMap/a: data.k: upstream wins with null; local was 2"},
		},
		"local gave a null a value": {
			base: configMap("a", "k: null", "l: 1"), upstream: configMap("a", "k: null", "l: 2"), local: configMap("a", "k: 2", "l: 1"),
			want: configMap("a", "k: 2", "l: 2"),
		},
	})
}

func TestModes(t *testing.T) {
	file := func(mode krm.Mode, data string) *krm.Package {
		p, err := krm.Parse([]krm.File{{Path: "run.sh", Mode: mode, Data: []byte(data)}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	cases := map[string]struct {
		b, u, l, want *krm.Package
	}{
		"upstream mode, local data": {file(krm.Regular, "1"), file(krm.Executable, "1"), file(krm.Regular, "2"), file(krm.Executable, "2")},
		"upstream data, local mode": {file(krm.Regular, "1"), file(krm.Regular, "2"), file(krm.Executable, "1"), file(krm.Executable, "2")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := Packages(tc.b, tc.u, tc.l, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := res.Package.Read("run.sh")
			want, _ := tc.want.Read("run.sh")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const subKptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n"

func TestSubpackages(t *testing.T) {
	sub := "-- sub/Kptfile --\n" + subKptfile
	a, a2, a3 := "-- sub/a.yaml --\n"+configMap("a", "x: 1"), "-- sub/a.yaml --\n"+configMap("a", "x: 2"), "-- sub/a.yaml --\n"+configMap("a", "x: 1", "y: 3")
	runCases(t, map[string]mergeCase{
		"merged":             {base: sub + a, upstream: sub + a2, local: sub + a3, want: sub + "-- sub/a.yaml --\n" + configMap("a", "x: 2", "y: 3")},
		"added upstream":     {base: "-- x --\n", upstream: "-- x --\n" + sub + a, local: "-- x --\n", want: sub + a + "-- x --\n"},
		"added locally":      {base: "-- x --\n", upstream: "-- x --\n", local: sub + a + "-- x --\n", want: sub + a + "-- x --\n"},
		"deleted upstream":   {base: sub + a + "-- x --\n", upstream: "-- x --\n", local: sub + a + "-- x --\n", want: "-- x --\n"},
		"deleted locally":    {base: sub + a + "-- x --\n", upstream: sub + a + "-- x --\n", local: "-- x --\n", want: "-- x --\n"},
		"deleted and edited": {base: sub + a + "-- x --\n", upstream: "-- x --\n", local: sub + a3 + "-- x --\n", want: sub + a3 + "-- x --\n", conflicts: []string{"sub: removed upstream, kept for an edit: (changed)"}},
		"gone and changed":   {base: sub + a + "-- x --\n", upstream: sub + a2 + "-- x --\n", local: "-- x --\n", want: "-- x --\n", conflicts: []string{"sub: local wins with (deleted); upstream was (changed)"}},
		"added on both sides": {
			base: "-- x --\n", upstream: sub + a2 + "-- x --\n", local: sub + a3 + "-- x --\n", want: sub + "-- sub/a.yaml --\n" + configMap("a", "x: 2", "y: 3") + "-- x --\n",
			conflicts: []string{"sub/a.yaml: ConfigMap/a: both added it: upstream wins with data.x: 2; local was data.x: 1"},
		},
	})
}

// TestSubpackageEnds: what was a subpackage becomes a part of its parent, unless
// its Kptfile was edited locally.
func TestSubpackageEnds(t *testing.T) {
	root, sub, cm := "-- Kptfile --\n"+kptfileHead, "-- sub/Kptfile --\n"+strings.Replace(kptfileHead, "app", "sub", 1), "-- sub/cm.yaml --\n"
	runCases(t, map[string]mergeCase{
		"untouched locally": {
			base: root + sub + cm + configMap("a", "k: 1"), upstream: root + cm + configMap("a", "k: 2"), local: root + sub + cm + configMap("a", "k: 1", "l: mine"),
			want: root + cm + configMap("a", "k: 2", "l: mine"),
		},
		"edited locally": {
			base: root + sub + cm + configMap("a", "k: 1"), upstream: root + cm + configMap("a", "k: 2"), local: root + sub + "info:\n  description: mine\n" + cm + configMap("a", "k: 1"),
			want:      root + sub + "info:\n  description: mine\n" + cm + configMap("a", "k: 2"),
			conflicts: []string{"sub/Kptfile: removed upstream, kept for an edit: sha256:418e0279ee29 (85 bytes)"},
		},
	})
}

func TestStrategies(t *testing.T) {
	kf := "-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: mine\n"
	theirs := "-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: theirs\n"
	a, a2, a3 := "-- a.yaml --\n"+configMap("a", "x: 1"), "-- a.yaml --\n"+configMap("a", "x: 2"), "-- a.yaml --\n"+configMap("a", "x: 3")
	own := "-- package-context.yaml --\n" + configMap("kptfile.kpt.dev", "name: mine")
	runCases(t, map[string]mergeCase{
		"replace": {
			base: theirs + a, upstream: theirs + a2, local: kf + a3 + "-- mine.txt --\n" + own, want: kf + a2 + own,
			options: Options{Strategy: "force-delete-replace", Own: []string{"package-context.yaml"}},
		},
		"copy": {
			base: theirs + a, upstream: theirs + a2, local: kf + a3 + "-- mine.txt --\n", want: kf + a2 + "-- mine.txt --\n",
			conflicts: []string{"a.yaml: upstream wins with sha256:7d42dff6c14e (64 bytes); local was sha256:2ba5fc0156ae (64 bytes)"},
			options:   Options{Strategy: "copy-merge"},
		},
	})
	t.Run("fast-forward", func(t *testing.T) {
		o := Options{Strategy: "fast-forward", Own: []string{"package-context.yaml"}}
		res, err := Packages(pkg(t, theirs+a), pkg(t, theirs+a2), pkg(t, kf+a+own), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kf+a2+own, textOf(t, res.Package)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		res, err = Packages(pkg(t, theirs+a), pkg(t, theirs+a2), pkg(t, kf+a3+"-- mine.txt --\n"), o)
		var modified *ModifiedError
		if res != nil || !errors.As(err, &modified) || !errors.Is(err, ErrModified) {
			t.Fatalf("got %v, %v, want a ModifiedError", res, err)
		}
		if diff := cmp.Diff([]string{"a.yaml", "mine.txt"}, modified.Paths); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		if _, err := Packages(pkg(t, a), pkg(t, a), pkg(t, a), Options{Strategy: "best"}); err == nil || !strings.Contains(err.Error(), "resource-merge") {
			t.Errorf("got %v, want an error that lists the strategies", err)
		}
	})
}

func TestSecretsAreNotShown(t *testing.T) {
	secret := func(v string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  k: " + v + "\n"
	}
	env := func(v string) string {
		return deployment("      containers:\n      - name: a\n        env:\n        - name: DB_PASSWORD\n          value: " + v + "\n        - name: URL\n          value: https://me:" + v + "@host/\n")
	}
	cases := map[string][3]string{
		"a field":       {secret("hidden1"), secret("hidden2"), secret("hidden3")},
		"whole":         {secret("hidden1"), configMap("other", "x: 1"), secret("hidden3")},
		"a variable":    {env("hidden1"), env("hidden2"), env("hidden3")},
		"by its name":   {custom("  token: hidden1\n"), custom("  token: hidden2\n"), custom("  token: hidden3\n")},
		"below a field": {custom("  db: {password: hidden1}\n"), custom("  db: 1\n"), custom("  db: {password: hidden3}\n")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := Packages(pkg(t, "-- r.yaml --\n"+tc[0]), pkg(t, "-- r.yaml --\n"+tc[1]), pkg(t, "-- r.yaml --\n"+tc[2]), Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(conflictLines(res), "\n")
			for _, c := range res.Conflicts {
				all += c.Base + c.Upstream + c.Local
			}
			if len(res.Conflicts) == 0 || strings.Contains(all, "hidden") {
				t.Errorf("conflicts:\n%s", all)
			}
		})
	}
}

func TestLines(t *testing.T) {
	base := configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1", "y: 1")
	upstream := configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1", "y: 2")
	local := "# head\n" + configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1", "y: 3")
	res, err := Packages(pkg(t, "-- r.yaml --\n"+base), pkg(t, "-- r.yaml --\n"+upstream), pkg(t, "-- r.yaml --\n"+local), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Conflict{{Path: "r.yaml", Line: 15, Resource: krm.ID{Kind: "ConfigMap", Name: "b"}, Field: "data.y", Base: "1", Upstream: "2", Local: "3", Winner: Upstream, Fate: Lost}}
	if diff := cmp.Diff(want, res.Conflicts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDuplicates(t *testing.T) {
	a, a2 := "-- r.yaml --\n"+configMap("a", "x: 1"), "-- r.yaml --\n"+configMap("a", "x: 2")
	twice := a + "---\n" + configMap("a", "x: 3")
	t.Run("upstream changed it", func(t *testing.T) {
		res, err := Packages(pkg(t, a), pkg(t, a2), pkg(t, twice), Options{})
		var dup *DuplicateError
		if res != nil || !errors.As(err, &dup) {
			t.Fatalf("got %v, %v, want a DuplicateError", res, err)
		}
		if diff := cmp.Diff(&DuplicateError{Side: "local", Path: "r.yaml", Resource: krm.ID{Kind: "ConfigMap", Name: "a"}}, dup); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("upstream did not", func(t *testing.T) {
		n := "---\n" + configMap("new", "x: 1")
		res, err := Packages(pkg(t, a), pkg(t, a+n), pkg(t, twice), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(twice+n, textOf(t, res.Package)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
