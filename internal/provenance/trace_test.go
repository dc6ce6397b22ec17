package provenance

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/krmtest"
)

// at are the origins of a package's values that the upstream does not have as they
// are: by "file field", of those that a step took away by "- file field".
func at(t *testing.T, trace *Trace) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range trace.Origins().Leaves() {
		if l.Origin.Kind != Upstream || len(l.Origin.Via)+len(l.Origin.Also) > 0 {
			out[strings.TrimSpace(l.File+" "+l.Field)] = l.Origin.String()
		}
	}
	for p, o := range trace.gone {
		out[strings.TrimSpace("- "+p.file+" "+p.id.Name+" "+p.field)] = o.String()
	}
	return out
}

func by(author string) Setter {
	return func(Value) Origin { return Origin{Kind: Person, Author: author} }
}

const served = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1
        args: [a, b, c]
      - name: log
        image: log:1
`

func TestStep(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string]string)
		want   map[string]string
	}{
		"nothing": {func(map[string]string) {}, map[string]string{}},
		"a value": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "replicas: 1", "replicas: 2", 1) }, map[string]string{
			"d.yaml spec.replicas": "edited by Ann",
		}},
		"another type": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "replicas: 1", `replicas: "1"`, 1) }, map[string]string{
			"d.yaml spec.replicas": "edited by Ann",
		}},
		"an element of a list by its key, before others": {func(f map[string]string) {
			f["d.yaml"] = strings.Replace(served, "      - name: web\n", "      - name: new\n        image: new:1\n      - name: web\n", 1)
		}, map[string]string{
			"d.yaml spec.template.spec.containers[name=new].name":  "edited by Ann",
			"d.yaml spec.template.spec.containers[name=new].image": "edited by Ann",
		}},
		"elements in another order": {func(f map[string]string) {
			web := served[strings.Index(served, "      - name: web"):strings.Index(served, "      - name: log")]
			f["d.yaml"] = strings.Replace(served, web, "", 1) + web
		}, map[string]string{}},
		"an element of a plain list, in the middle": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "[a, b, c]", "[a, x, b, c]", 1) }, map[string]string{
			"d.yaml spec.template.spec.containers[name=web].args[1]": "edited by Ann",
		}},
		"one for another in a plain list": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "[a, b, c]", "[a, x, c]", 1) }, map[string]string{
			"d.yaml spec.template.spec.containers[name=web].args[1]": "edited by Ann",
		}},
		"a field goes": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "  replicas: 1\n", "", 1) }, map[string]string{
			"- d.yaml web spec.replicas": "edited by Ann",
		}},
		"a map for a value": {func(f map[string]string) { f["d.yaml"] = strings.Replace(served, "replicas: 1", "replicas: {a: 1}", 1) }, map[string]string{
			"d.yaml spec.replicas.a": "edited by Ann", "- d.yaml web spec.replicas": "edited by Ann",
		}},
		"another name": {func(f map[string]string) {
			f["d.yaml"] = strings.Replace(served, "name: web\nspec", "name: www\nspec", 1)
		}, map[string]string{
			"d.yaml metadata.name": "edited by Ann", "- d.yaml web": "edited by Ann",
		}},
		"another namespace": {func(f map[string]string) {
			f["d.yaml"] = strings.Replace(served, "name: web\nspec", "name: web\n  namespace: x\nspec", 1)
		}, map[string]string{
			"d.yaml metadata.namespace": "edited by Ann", "- d.yaml web": "edited by Ann",
		}},
		"another file": {func(f map[string]string) { f["e.yaml"] = served; delete(f, "d.yaml") }, map[string]string{}},
		"a resource goes": {func(f map[string]string) { delete(f, "d.yaml") }, map[string]string{
			"- d.yaml web": "edited by Ann",
		}},
		"a text": {func(f map[string]string) { f["README.md"] = "new" }, map[string]string{"README.md": "edited by Ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"d.yaml": served, "README.md": "old"}
			trace := New(krmtest.Package(t, files), "cat/web@v1")
			files = maps.Clone(files)
			c.change(files)
			trace.Step(krmtest.Package(t, files), by("Ann"))
			if d := cmp.Diff(c.want, at(t, trace)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What comes back is not gone, and what one step set another one takes over.
func TestSteps(t *testing.T) {
	step := func(trace *Trace, text, author string) {
		trace.Step(krmtest.Package(t, map[string]string{"d.yaml": text}), by(author))
	}
	trace := New(krmtest.Package(t, map[string]string{"d.yaml": served}), "cat/web@v1")
	step(trace, strings.Replace(served, "  replicas: 1\n", "", 1), "Ann")
	step(trace, strings.Replace(served, "replicas: 1", "replicas: 5", 1), "Bob")
	step(trace, strings.NewReplacer("replicas: 1", "replicas: 5", "log:1", "log:2").Replace(served), "Cem")
	want := map[string]string{"d.yaml spec.replicas": "edited by Bob", "d.yaml spec.template.spec.containers[name=log].image": "edited by Cem"}
	if d := cmp.Diff(want, at(t, trace)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if o, _ := trace.Origins().At("d.yaml", krm.ID{Group: "apps", Kind: "Deployment", Name: "web"}, "metadata.name"); o.String() != "cat/web@v1 d.yaml:4" {
		t.Errorf("%s: what no step touched", o)
	}
}

func TestSecretsHaveNoValues(t *testing.T) {
	trace := New(krmtest.Package(t, map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: hidden}\n"}), "p")
	for _, l := range trace.Origins().Leaves() {
		if l.Value != "" {
			t.Errorf("%s is shown", l.Field)
		}
	}
}

const configured = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: p
pipeline:
  mutators:
  - image: example.com/fn:v1
    configMap:
      tier: gold
      count: "3"
`

// edits makes a function of one that writes into each ConfigMap what it is given: its
// configuration and, by name, the ConfigMaps that are there.
func edits(t *testing.T, before *krm.Package, config *yaml.Node, write func(data map[string]string, config map[string]string, all map[string]map[string]string)) Call {
	t.Helper()
	run := func(config *yaml.Node, edit func(*krm.Package)) (*krm.Package, error) {
		p := before.Clone()
		if edit != nil {
			edit(p)
		}
		given := map[string]string{}
		if config != nil {
			given = yaml.NewRNode(config).GetDataMap()
		}
		all := map[string]map[string]string{}
		for _, r := range p.Resources() {
			if r.Kind() == "ConfigMap" {
				all[r.Name()] = r.Node().GetDataMap()
			}
		}
		for _, r := range p.Resources() {
			if r.Kind() == "ConfigMap" {
				data := maps.Clone(all[r.Name()])
				write(data, given, all)
				if !maps.Equal(data, all[r.Name()]) {
					r.Edit().SetDataMap(data)
				}
			}
		}
		return p, nil
	}
	after, err := run(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Call{Dir: ".", Field: "pipeline.mutators[0]", Function: "example.com/fn:v1", Config: config, Before: before, After: after, Again: run}
}

func TestFunction(t *testing.T) {
	const tier, count = "Kptfile:9 via fn:v1", "Kptfile:10 via fn:v1"
	for name, c := range map[string]struct {
		write func(data, config map[string]string, all map[string]map[string]string)
		want  map[string]string
	}{
		"copies an input": {func(d, c map[string]string, _ map[string]map[string]string) { d["a"] = c["tier"] }, map[string]string{"data.a": tier}},
		"joins two": {func(d, c map[string]string, _ map[string]map[string]string) { d["a"] = c["count"] + "-" + c["tier"] }, map[string]string{
			"data.a": count + ", and Kptfile:9",
		}},
		"sets what was there": {func(d, c map[string]string, _ map[string]map[string]string) {
			if c["tier"] == "gold" || strings.Contains(c["tier"], "zqv") {
				d["old"] = strings.Replace(c["tier"], "gold", "1", 1)
			}
		}, map[string]string{"data.old": tier}},
		"adds to what was there": {func(d, c map[string]string, _ map[string]map[string]string) { d["old"] = c["tier"] + "-1" }, map[string]string{
			"data.old": tier + ", and cat/p@v1 c.yaml:6",
		}},
		"decides by an input": {func(d, c map[string]string, _ map[string]map[string]string) {
			if c["count"] == "3" {
				d["a"] = "many"
			}
		}, map[string]string{"data.a": count}},
		"reads a resource": {func(d, _ map[string]string, all map[string]map[string]string) { d["a"] = all["context"]["region"] }, map[string]string{
			"data.a": "edited by Ann via fn:v1",
		}},
		"makes it of nothing": {func(d, _ map[string]string, _ map[string]map[string]string) { d["a"] = "made" }, map[string]string{
			"data.a": "function fn:v1 Kptfile:7",
		}},
		"does nothing": {func(map[string]string, map[string]string, map[string]map[string]string) {}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{
				"Kptfile": configured, "c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  # the old one\n  old: \"1\"\n",
				"context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: context\n  annotations: {config.kubernetes.io/local-config: \"true\"}\ndata:\n  region: eu\n",
			}
			trace := New(krmtest.Package(t, files), "cat/p@v1")
			files["context.yaml"] = strings.Replace(files["context.yaml"], "eu", "us", 1)
			before := krmtest.Package(t, files)
			trace.Step(before, by("Ann"))
			config := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {tier: gold, count: \"3\"}\n").YNode()
			trace.Function(edits(t, before, config, func(data, config map[string]string, all map[string]map[string]string) {
				if _, is := data["old"]; is {
					c.write(data, config, all)
				}
			}))
			got := map[string]string{}
			for k, v := range at(t, trace) {
				if rest, ok := strings.CutPrefix(k, "c.yaml "); ok {
					got[rest] = strings.ReplaceAll(v, "cat/p@v1 Kptfile", "Kptfile")
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What is configured in a file of its own is of that file's fields.
func TestFunctionWithFile(t *testing.T) {
	before := krmtest.Package(t, map[string]string{
		"Kptfile": strings.Replace(configured, "    configMap:\n      tier: gold\n      count: \"3\"\n", "    configPath: fn.yaml\n", 1),
		"fn.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata:\n  tier: gold\n",
		"c.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n",
	})
	trace := New(before, "cat/p@v1")
	config := before.Resources()
	c := edits(t, before, config[len(config)-1].Node().YNode(), func(d, c map[string]string, _ map[string]map[string]string) {
		if d["a"] != "" {
			d["a"] = c["tier"]
		}
	})
	c.ConfigFile = "fn.yaml"
	trace.Function(c)
	if d := cmp.Diff(map[string]string{"c.yaml data.a": "cat/p@v1 fn.yaml:5 via fn:v1"}, at(t, trace)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A function that finds its value there already is the origin, and says what was.
func TestFunctionFoundIt(t *testing.T) {
	before := krmtest.Package(t, map[string]string{"Kptfile": configured, "c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: gold}\n"})
	trace := New(before, "cat/p@v1")
	config := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {tier: gold, count: \"3\"}\n").YNode()
	trace.Function(edits(t, before, config, func(d, c map[string]string, _ map[string]map[string]string) { d["a"] = c["tier"] }))
	o, _ := trace.Origins().At("c.yaml", krm.ID{Kind: "ConfigMap", Name: "c"}, "data.a")
	if o.File != "Kptfile" || o.Carrier() == nil || o.Before == nil || o.Before.File != "c.yaml" {
		t.Errorf("%+v", o)
	}
}

func TestReplacements(t *testing.T) {
	before := krmtest.Package(t, map[string]string{
		"Kptfile": configured, "from.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from}\ndata: {a.b: \"7\"}\n",
		"to.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: to}\ndata: {n: \"7\", m: \"1\"}\n",
	})
	trace := New(before, "cat/p@v1")
	trace.Step(before, by("nobody"))
	config := yaml.MustParse(`apiVersion: fn.kpt.dev/v1alpha1
kind: ApplyReplacements
metadata: {name: r}
replacements:
- source: {kind: ConfigMap, name: from, fieldPath: 'data.a\.b'}
  targets: [{select: {kind: ConfigMap, name: to}, fieldPaths: [data.m]}]
`).YNode()
	run := func(config *yaml.Node, _ func(*krm.Package)) (*krm.Package, error) {
		value := "7"
		if at, err := yaml.NewRNode(config).Pipe(yaml.Lookup("replacements", "0", "sourceValue")); err == nil && at != nil {
			value = at.YNode().Value
		}
		p := before.Clone()
		for _, r := range p.Resources() {
			if r.Name() == "to" {
				r.Edit().SetDataMap(map[string]string{"n": "7", "m": value})
			}
		}
		return p, nil
	}
	after, _ := run(config, nil)
	trace.Function(Call{Dir: ".", Field: "pipeline.mutators[0]", Config: config, Before: before, After: after, Again: run})
	if d := cmp.Diff(map[string]string{"to.yaml data.m": "cat/p@v1 from.yaml:4 via fn:v1"}, at(t, trace)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Packages of one upstream begin with one trace, and one does not change what another has.
func TestClone(t *testing.T) {
	p := krmtest.Package(t, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline:\n  mutators:\n  - {image: fn:v1, configMap: {n: one}}\n",
		"c.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {n: one}\n",
	})
	set := func(config *yaml.Node, _ func(*krm.Package)) (*krm.Package, error) {
		out := p.Clone()
		for _, r := range out.Resources() {
			if r.Name() == "c" {
				r.Edit().SetDataMap(map[string]string{"n": yaml.NewRNode(config).GetDataMap()["n"]})
			}
		}
		return out, nil
	}
	config := yaml.MustParse("data: {n: one}").YNode()
	whole := New(p, "cat/p@v1")
	first, second := whole.Clone(), whole.Clone()
	first.Function(Call{Dir: ".", Field: "pipeline.mutators[0]", Config: config, Before: p, After: p, Again: set})
	second.Step(krmtest.Package(t, map[string]string{"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {n: two}\n"}), by("Ann"))
	for name, c := range map[string]struct {
		of   *Trace
		want map[string]string
	}{
		"the first":           {first, map[string]string{"c.yaml data.n": "cat/p@v1 Kptfile:6 via fn:v1"}},
		"the second":          {second, map[string]string{"c.yaml data.n": "edited by Ann", "- Kptfile p": "edited by Ann"}},
		"the upstream itself": {whole, map[string]string{}},
	} {
		if d := cmp.Diff(c.want, at(t, c.of)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
