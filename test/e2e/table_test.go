package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// TestMergeTable is the table of docs/design/hydration-and-update.md: what both
// sides changed, what stands, and the list that the edit ends in.
func TestMergeTable(t *testing.T) {
	t.Parallel()
	cm := func(data ...string) gittest.Text { return gittest.Text{"c.yaml": configMap("c", data...)} }
	annotated := func(text, annotation string) string {
		return strings.Replace(text, "metadata:\n", "metadata:\n  annotations:\n    "+annotation+"\n", 1)
	}
	const keep = "variform.dev/on-conflict: keep"
	set := func(value string) string { return mutator("apply-setters:v0.2", `a: "`+value+`"`) }
	target := func(value string) gittest.Text { return cm(`a: "` + value + `" # kpt-set: ${a}`) }
	image := func(tag string) gittest.Text {
		return cm("image: app:" + tag + ` # {"$imagepolicy": "flux-system:app"}`)
	}
	role := func(verb string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: r\nrules:\n- verbs: [" + verb + "]\n"
	}
	with := func(texts ...gittest.Text) gittest.Text {
		out := gittest.Text{}
		for _, x := range texts {
			out = merged(out, x)
		}
		return out
	}
	one, two, mine := cm("x: one"), cm("x: two"), cm("x: mine")
	point := annotated(configMap("settings", "mode: none"), "kpt.dev/config-injection: optional")
	required := strings.Replace(point, "optional", "required", 1)
	injected := "apiVersion: example.com/v1\nkind: App\nmetadata:\n  name: app\n  annotations:\n    kpt.dev/config-injection: required\nspec:\n  size: none\n"
	app := "  injectors:\n  - {kind: App, name: settings}\n"
	named := mutator("set-namespace:v0.4", "namespace: shop") + "    - image: ensure-name-substring:v0.2\n      configMap: {prepend: dev-}\n"
	setter := func(value string) gittest.Text {
		return gittest.Text{"Kptfile": kptfile("pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configMap:\n      a: \"" + value + "\"\n")}
	}
	generates := gittest.Text{
		"Kptfile":   kptfile("pipeline:\n  mutators:\n  - image: upsert-resource:v0.2\n    configPath: make.yaml\n"),
		"make.yaml": "apiVersion: v1\nkind: List\nmetadata:\n  name: make\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: made\n    annotations:\n      config.kubernetes.io/target-path: made.yaml\n  data:\n    x: made\n",
	}
	injectors := "  injectors:\n  - {kind: ConfigMap, name: settings}\n"
	script := func(first, last string) gittest.Text {
		return gittest.Text{"run.sh": "#!/bin/sh\n" + first + "\nmiddle\nmiddle\n" + last + "\n"}
	}
	for name, c := range map[string]past{
		"a value that upstream defaults: lost": {
			v1: one, v2: two, edit: mine,
			want: map[string][]string{"c.yaml": {"x: two"}}, fates: []string{"lost: ConfigMap/c data.x"},
		},
		"a comment: lost, and no value keeps another one's setter": {
			v1: cm(`a: "1" # kpt-set: ${a}`, "b: two # ours"), v2: cm(`a: "2"`, "b: two # theirs"), edit: cm(`a: "1" # kpt-set: ${a}`, "b: two # mine", "c: mine"),
			spec1: set("1"), spec2: set("1"),
			want: map[string][]string{"c.yaml": {"a: \"2\"\n", "b: two # theirs\n", "c: mine"}}, fates: []string{"lost: ConfigMap/c data.b"},
		},
		"lines of a string: lost where they overlap": {
			v1: cm("f: |", "  a", "  -", "  b", "  -", "  c"), v2: cm("f: |", "  a", "  -", "  up", "  -", "  C"), edit: cm("f: |", "  A", "  -", "  mine", "  -", "  c"),
			want: map[string][]string{"c.yaml": {"    A\n    -\n    up\n    -\n    C\n"}}, fates: []string{"lost: ConfigMap/c data.f"},
		},
		"the same, kept for an annotation of the variant": {
			v1: one, v2: two, edit: mine, annotations: keep,
			want: map[string][]string{"c.yaml": {"x: mine"}}, fates: []string{"kept: ConfigMap/c data.x"},
		},
		"the same, kept for an annotation of the package": {
			v1: one, v2: two, edit: mine, replace: [3]string{"Kptfile", "annotations:\n", "annotations:\n    " + keep + "\n"},
			want: map[string][]string{"c.yaml": {"x: mine"}}, fates: []string{"kept: ConfigMap/c data.x"},
		},
		"the same, kept for an annotation of the resource": {
			v1: one, v2: two, edit: gittest.Text{"c.yaml": annotated(mine["c.yaml"], keep)},
			want: map[string][]string{"c.yaml": {"x: mine"}}, fates: []string{"kept: ConfigMap/c data.x"},
		},
		"the resource says upstream, the variant keep": {
			v1: one, v2: two, edit: gittest.Text{"c.yaml": annotated(mine["c.yaml"], "variform.dev/on-conflict: upstream")}, annotations: keep,
			want: map[string][]string{"c.yaml": {"x: two"}}, fates: []string{"lost: ConfigMap/c data.x"},
		},
		"an annotation that says neither": {v1: one, v2: two, edit: mine, annotations: "variform.dev/on-conflict: mine", stops: "choose keep or upstream"},
		"a value of the package context, changed: overruled": {
			v1: one, v2: one, spec1: "  packageContext: {data: {region: a}}\n", spec2: "  packageContext: {data: {region: b}}\n",
			replace: [3]string{"package-context.yaml", "region: a", "region: mine"}, annotations: keep,
			want:  map[string][]string{"package-context.yaml": {"region: b"}},
			lost:  []string{"overruled with b, the edit was mine: change spec.packageContext of PackageVariant web"},
			fates: []string{"overruled: ConfigMap/kptfile.kpt.dev data.region"},
		},
		"a value of the package context, as it was: overruled": {
			v1: one, v2: two, spec1: "  packageContext: {data: {region: a}}\n", spec2: "  packageContext: {data: {region: a}}\n",
			replace: [3]string{"package-context.yaml", "region: a", "region: mine"},
			want:    map[string][]string{"package-context.yaml": {"region: a"}, "c.yaml": {"x: two"}},
			lost:    []string{"overruled with a, the edit was mine: change spec.packageContext of PackageVariant web"},
			fates:   []string{"overruled: ConfigMap/kptfile.kpt.dev data.region"},
		},
		"what is injected: overruled": {
			context: configMap("settings", "mode: live"), v1: with(one, gittest.Text{"settings.yaml": point}), v2: with(two, gittest.Text{"settings.yaml": point}), spec1: injectors, spec2: injectors,
			replace: [3]string{"settings.yaml", "mode: live", "mode: mine"},
			want:    map[string][]string{"settings.yaml": {"mode: live"}},
			lost:    []string{"overruled with live, the edit was mine: change the context object that is injected there"},
			fates:   []string{"overruled: ConfigMap/settings data.mode"},
		},
		"a value that the pipeline sets back: overruled": {
			v1: target("1"), v2: with(target("1"), gittest.Text{"n.yaml": configMap("n", "x: one")}), spec1: set("5"), spec2: set("5"), edit: target("7"),
			want:  map[string][]string{"c.yaml": {`a: "5"`}},
			lost:  []string{"overruled with 5, the edit was 7: change function apply-setters:v0.2, spec.pipeline of PackageVariant web"},
			fates: []string{"overruled: ConfigMap/c data.a"},
		},
		"a value that the pipeline sets anew: overruled": {
			v1: target("1"), v2: target("1"), spec1: set("5"), spec2: set("6"), edit: target("7"), annotations: keep,
			want: map[string][]string{"c.yaml": {`a: "6"`}}, fates: []string{"overruled: ConfigMap/c data.a"},
		},
		"an image that automation sets: owned elsewhere": {
			v1: image("1"), v2: image("2"), edit: image("9"), want: map[string][]string{"c.yaml": {"app:9"}}, fates: []string{},
		},
		"a field that is declared: owned elsewhere": {
			v1: one, v2: two, edit: gittest.Text{"c.yaml": annotated(mine["c.yaml"], "variform.dev/owned-elsewhere: data.x, data.z")},
			want: map[string][]string{"c.yaml": {"x: mine"}}, fates: []string{},
		},
		"a resource upstream has no more, of which automation set a field: goes": {
			v1: with(one, gittest.Text{"i.yaml": strings.Replace(image("1")["c.yaml"], "name: c", "name: i", 1)}), v2: with(one, gittest.Text{"i.yaml": ""}),
			replace: [3]string{"i.yaml", "app:1", "app:9"}, want: map[string][]string{"i.yaml": nil}, fates: []string{},
		},
		"a resource that upstream removed: kept though removed": {
			v1: with(one, gittest.Text{"g.yaml": configMap("g", "x: one")}), v2: with(two, gittest.Text{"g.yaml": ""}), edit: gittest.Text{"g.yaml": configMap("g", "x: mine")},
			want: map[string][]string{"g.yaml": {"x: mine"}, "c.yaml": {"x: two"}}, fates: []string{"kept though removed: ConfigMap/g"},
		},
		"a file that upstream removed: kept though removed": {
			v1: with(one, gittest.Text{"f": "one\n"}), v2: with(two, gittest.Text{"f": ""}), edit: gittest.Text{"f": "mine\n"},
			want: map[string][]string{"f": {"mine"}}, fates: []string{"kept though removed: f"},
		},
		"a Role that upstream removed stops the variant": {
			v1: with(one, gittest.Text{"r.yaml": role("get")}), v2: with(two, gittest.Text{"r.yaml": ""}), edit: gittest.Text{"r.yaml": role("delete")},
			stops: "Role.rbac.authorization.k8s.io/r of r.yaml was removed upstream, and an edit by hand would keep it",
		},
		"a resource that a person removed: kept": {
			v1: with(one, gittest.Text{"g.yaml": configMap("g", "x: one")}), v2: gittest.Text{"g.yaml": configMap("g", "x: two")}, edit: gittest.Text{"g.yaml": ""},
			want: map[string][]string{"g.yaml": nil}, fates: []string{"kept: ConfigMap/g"},
		},
		"both added one resource: one entry": {
			v1: one, v2: gittest.Text{"n.yaml": configMap("n", "x: two", "y: two", "z: two")}, edit: gittest.Text{"mine.yaml": configMap("n", "x: mine", "y: mine", "a: mine")},
			want:  map[string][]string{"n.yaml": {"x: two", "y: two", "z: two", "a: mine"}, "mine.yaml": nil},
			lost:  []string{"both added it: upstream wins with data.x: two, data.y: two; local was data.x: mine, data.y: mine"},
			fates: []string{"both added: ConfigMap/n"},
		},
		"text, other lines: merged": {
			v1: script("one", "one"), v2: script("two", "one"), edit: script("one", "mine"),
			want: map[string][]string{"run.sh": {"#!/bin/sh\ntwo\nmiddle\nmiddle\nmine"}}, fates: []string{},
		},
		"text, the same line: lost": {
			v1: script("one", "one"), v2: script("two", "one"), edit: script("mine", "mine"),
			want: map[string][]string{"run.sh": {"#!/bin/sh\ntwo\nmiddle\nmiddle\nmine"}}, fates: []string{"lost: run.sh line 2"},
		},
		"text, the same line, kept": {
			v1: script("one", "one"), v2: script("two", "two"), edit: script("mine", "one"), annotations: keep,
			want: map[string][]string{"run.sh": {"#!/bin/sh\nmine\nmiddle\nmiddle\ntwo"}}, fates: []string{"kept: run.sh line 2"},
		},
		"a setter and its target, edited: kept": {
			v1: with(setter("1"), target("1")), v2: with(setter("1"), target("1"), gittest.Text{"n.yaml": configMap("n", "x: one")}), edit: target("7"), replace: [3]string{"Kptfile", `a: "1"`, `a: "7"`},
			want: map[string][]string{"Kptfile": {`a: "7"`}, "c.yaml": {`a: "7"`}, "n.yaml": {"x: one"}}, fates: []string{},
		},
		"a setter that both changed, and its target: lost": {
			v1: with(setter("1"), target("1")), v2: with(setter("2"), target("2")), edit: target("7"), replace: [3]string{"Kptfile", `a: "1"`, `a: "7"`},
			want: map[string][]string{"Kptfile": {`a: "2"`}, "c.yaml": {`a: "2"`}}, fates: []string{"lost: Kptfile.kpt.dev/web pipeline.mutators[image=apply-setters].configMap.a", "lost: ConfigMap/c data.a"},
		},
		"namespace and prefix by functions: an edit stays": {
			v1: cm("x: one", "y: one"), v2: cm("x: one", "y: two"), spec1: named, spec2: named, replace: [3]string{"c.yaml", "x: one", "x: mine"},
			want: map[string][]string{"c.yaml": {"name: dev-c", "namespace: shop", "x: mine", "y: two"}}, fates: []string{},
		},
		"namespace by a function, edited: overruled": {
			v1: cm("x: one"), v2: cm("x: two"), spec1: named, spec2: named, replace: [3]string{"c.yaml", "namespace: shop", "namespace: mine"},
			want: map[string][]string{"c.yaml": {"name: dev-c", "namespace: shop", "x: two"}}, fates: []string{"overruled: ConfigMap/mine/dev-c", "overruled: ConfigMap/shop/dev-c"},
		},
		"a gate deleted by hand: overruled": {
			context: configMap("settings", "mode: live"), v1: with(one, gittest.Text{"settings.yaml": required}), v2: with(two, gittest.Text{"settings.yaml": required}), spec1: injectors, spec2: injectors,
			replace: [3]string{"Kptfile", "info:\n  readinessGates:\n  - conditionType: config.injection.ConfigMap.settings\n", ""},
			want:    map[string][]string{"Kptfile": {"conditionType: config.injection.ConfigMap.settings"}, "c.yaml": {"x: two"}}, fates: []string{"overruled: Kptfile.kpt.dev/web info"},
		},
		"a generated resource, deleted: overruled": {
			v1: with(one, generates), v2: with(two, generates), edit: gittest.Text{"made.yaml": ""},
			want: map[string][]string{"made.yaml": {"x: made"}, "c.yaml": {"x: two"}}, fates: []string{"overruled: ConfigMap/made"},
		},
		"a Role that upstream removed, with a label by hand, stops the variant": {
			v1: with(one, gittest.Text{"r.yaml": role("get")}), v2: with(two, gittest.Text{"r.yaml": ""}), replace: [3]string{"r.yaml", "  name: r\n", "  name: r\n  labels:\n    mine: y\n"},
			stops: "Role.rbac.authorization.k8s.io/r of r.yaml was removed upstream, and an edit by hand would keep it",
		},
		"set back, then a new version: an edit stays": {
			v1: cm("x: one", "y: one"), between: cm("x: one", "y: two"), v2: cm("x: one", "y: three"), edit: cm("x: mine", "y: one"),
			want: map[string][]string{"c.yaml": {"x: mine", "y: three"}}, fates: []string{},
		},
		"set back, then a new version: the machine's goes": {
			v1: one, between: with(two, gittest.Text{"n.yaml": configMap("n", "x: one")}), v2: with(cm("x: three"), gittest.Text{"n.yaml": ""}),
			want: map[string][]string{"c.yaml": {"x: three"}, "n.yaml": nil}, fates: []string{},
		},
		"inside of an injected spec: overruled": {
			context: "apiVersion: example.com/v1\nkind: App\nmetadata:\n  name: settings\nspec:\n  size: big\n", spec1: app, spec2: app,
			v1: with(one, gittest.Text{"app.yaml": injected}), v2: with(two, gittest.Text{"app.yaml": injected}), replace: [3]string{"app.yaml", "size: big", "size: mine"},
			want: map[string][]string{"app.yaml": {"size: big"}, "c.yaml": {"x: two"}}, fates: []string{"overruled: App.example.com/app spec.size"},
		},
		"a resource renamed by hand: kept": {
			v1: with(one, gittest.Text{"g.yaml": configMap("g", "x: one")}), v2: with(one, gittest.Text{"g.yaml": configMap("g", "x: two")}), replace: [3]string{"g.yaml", "name: g", "name: h"},
			want: map[string][]string{"g.yaml": {"name: h", "x: one", "!name: g"}}, fates: []string{"kept: ConfigMap/g"},
		},
		"copy-merge: lost": {
			v1: with(one, gittest.Text{"g.yaml": configMap("g", "x: one")}), v2: with(two, gittest.Text{"g.yaml": configMap("g", "x: one")}), edit: with(cm("x: one", "y: mine"), gittest.Text{"mine.yaml": configMap("mine", "x: mine")}), annotations: "variform.dev/update-strategy: copy-merge",
			want: map[string][]string{"c.yaml": {"x: two", "!mine"}, "mine.yaml": {"x: mine"}}, fates: []string{"lost: ConfigMap/c data.y"},
		},
		"force-delete-replace: lost": {
			v1: one, v2: two, edit: with(cm("x: one", "y: mine"), gittest.Text{"mine.yaml": configMap("mine", "x: mine")}), annotations: "variform.dev/update-strategy: force-delete-replace",
			want: map[string][]string{"c.yaml": {"x: two", "!mine"}, "mine.yaml": nil}, fates: []string{"lost: ConfigMap/c data.y", "lost: ConfigMap/mine"},
		},
	} {
		t.Run(name, c.run)
	}
}

// A set says for all of its variants that edits are kept.
func TestKeepEditsOfASet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	set := strings.Replace(webSet, "metadata:", "metadata:\n  annotations: {variform.dev/on-conflict: keep}", 1)
	w.write("sets/web.yaml", set)
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "cpu: 100m", "cpu: 250m")
	w.publishWeb(webCPU, "v2")
	w.write("sets/web.yaml", strings.Replace(set, "revision: v1", "revision: v2", 1))
	p := w.mustApply()
	if v := p.variant(t, "c1/web"); len(v.Edits) != 1 || v.Edits[0].Fate != "kept" {
		t.Errorf("edits: %v", v.Edits)
	}
	w.contains(w.show("c1", draft1, "web/deployment.yaml"), "cpu: 250m")
	w.contains(w.show("c2", draft1, "web/deployment.yaml"), "cpu: 300m")
}
