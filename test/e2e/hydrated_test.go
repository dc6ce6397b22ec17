package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// past is one update of a package: what was approved of it, what a person did to
// the Draft before, and what came then.
type past struct {
	v1, v2       gittest.Text // files of the package; in v2 "" takes one away
	spec1, spec2 string       // of the variant
	// edit are files that a person writes on the first Draft; "" takes one away.
	edit gittest.Text
	// replace is a file of the first Draft, a text in it and what a person writes
	// for that.
	replace [3]string
	// between is a version that was approved before v2, and set back on main to what
	// stood there before.
	between gittest.Text
	// later are files that a person writes on the second Draft.
	later gittest.Text
	// want are parts of files at the end; "" says that there is no such file, and
	// a part after "!" is not there.
	want map[string][]string
	// lost are parts of the conflicts told, one each.
	lost []string
	// fates are the lists that the edits end in, "fate resource field"; nil is not
	// looked at.
	fates []string
	// context is an object beside the variant, annotations are the variant's, and
	// stops is a part of why the update stops.
	context, annotations, stops string
}

func kptfile(more string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n" + more
}

func configMap(name string, data ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(data, "\n  ") + "\n"
}

func pointWith(name string, data ...string) string {
	return strings.Replace(configMap(name, data...), "metadata:\n", "metadata:\n  annotations:\n    kpt.dev/config-injection: optional\n", 1)
}

func mutator(image, config string) string {
	return "  pipeline:\n    mutators:\n    - image: " + image + "\n      configMap: {" + config + "}\n"
}

// files are a text's files with the package's folder before their names.
func files(text gittest.Text) gittest.Files {
	var out gittest.Files
	for name, data := range text {
		f := gittest.File{Path: "web/" + name, Data: []byte(data)}
		if data == "" {
			f.Mode = gittest.Deleted
		}
		out = append(out, f)
	}
	return out
}

// What the machine wrote is no edit: an update is a merge of what it made of the
// package then, what it makes of it now, and what is there.
func TestUpdateFromWhatTheMachineMade(t *testing.T) {
	t.Parallel()
	set := func(value string) string { return mutator("apply-setters:v0.2", `a: "`+value+`"`) }
	target := func(value string) string { return configMap("c", `a: "`+value+`" # kpt-set: ${a}`) }
	labels := mutator("set-labels:v0.2", "app: x")
	prefix := mutator("ensure-name-substring:v0.2", "prepend: dev-")
	two := configMap("c", "a: 1", "b: 1")
	point := gittest.Text{"settings.yaml": pointWith("settings", "mode: none")}
	injector := "  injectors:\n  - {kind: ConfigMap, name: live}\n"
	for name, c := range map[string]past{
		"a setter's target": {
			v1: gittest.Text{"c.yaml": target("1")}, v2: gittest.Text{"c.yaml": target("2")}, spec1: set("5"), spec2: set("5"),
			want: map[string][]string{"c.yaml": {`a: "5"`}},
		},
		"a setter's value": {
			v1: gittest.Text{"c.yaml": target("1")}, v2: gittest.Text{"c.yaml": target("1")}, spec1: set("5"), spec2: set("6"),
			want: map[string][]string{"c.yaml": {`a: "6"`}},
		},
		"a setter's target, edited": {
			v1: gittest.Text{"c.yaml": target("1")}, v2: gittest.Text{"c.yaml": target("2")}, spec1: set("5"), spec2: set("5"),
			edit: gittest.Text{"c.yaml": target("7")},
			want: map[string][]string{"c.yaml": {`a: "5"`}},
			lost: []string{`data.a: overruled with 5, the edit was 7: change function apply-setters:v0.2, spec.pipeline of PackageVariant web`},
		},
		"a resource removed upstream that a function touched": {
			v1: gittest.Text{"g.yaml": configMap("g", "a: 1")}, v2: gittest.Text{"g.yaml": ""}, spec1: labels, spec2: labels,
			want: map[string][]string{"g.yaml": nil},
		},
		"a resource removed upstream that a person edited": {
			v1: gittest.Text{"g.yaml": configMap("g", "a: 1")}, v2: gittest.Text{"g.yaml": ""}, spec1: labels, spec2: labels,
			edit: gittest.Text{"g.yaml": configMap("g", "a: 2")},
			want: map[string][]string{"g.yaml": {"a: 2"}},
			lost: []string{"ConfigMap"},
		},
		"a function that goes takes with it what it wrote": {
			v1: gittest.Text{"g.yaml": configMap("g", "a: 1")}, v2: gittest.Text{"g.yaml": configMap("g", "a: 1")}, spec1: labels,
			want: map[string][]string{"g.yaml": {"!app: x"}, "Kptfile": {"!mutators"}},
		},
		"a function that goes leaves a label by hand": {
			v1: gittest.Text{"g.yaml": configMap("g", "a: 1")}, v2: gittest.Text{"g.yaml": configMap("g", "a: 1")}, spec1: labels,
			edit: gittest.Text{"g.yaml": strings.Replace(configMap("g", "a: 1"), "name: g\n", "name: g\n  labels:\n    mine: y\n", 1)},
			want: map[string][]string{"g.yaml": {"mine: y", "!app: x"}},
		},
		"a renamed resource": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")}, spec1: prefix, spec2: prefix,
			replace: [3]string{"g.yaml", "a: 1", "a: 3"},
			want:    map[string][]string{"g.yaml": {"name: dev-c", "a: 3", "b: 2"}},
		},
		"a resource that a person renamed, and a function names again": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")}, spec1: prefix, spec2: prefix,
			replace: [3]string{"g.yaml", "name: dev-c", "name: c"},
			want:    map[string][]string{"g.yaml": {"name: dev-c", "b: 2"}},
			lost: []string{
				"ConfigMap/dev-c: overruled with (resource), the edit was (deleted): change function ensure-name-substring:v0.2",
				"ConfigMap/c: overruled with (deleted), the edit was (resource): change function ensure-name-substring:v0.2",
			},
		},
		"a renamed resource that goes": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": ""}, spec1: prefix, spec2: prefix,
			want: map[string][]string{"g.yaml": nil},
		},
		"another name for the function's resource": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")}, spec1: prefix,
			spec2: mutator("ensure-name-substring:v0.2", "prepend: prod-"),
			want:  map[string][]string{"g.yaml": {"name: prod-c", "b: 2", "!dev-"}},
		},
		"a value changed on both sides": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 2", "b: 1")},
			edit: gittest.Text{"g.yaml": configMap("c", "a: 3", "b: 1")},
			want: map[string][]string{"g.yaml": {"a: 2"}},
			lost: []string{"data.a: upstream wins with 2; local was 3"},
		},
		"a value changed to the same": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 2", "b: 1")},
			edit: gittest.Text{"g.yaml": configMap("c", "a: 2", "b: 1")},
			want: map[string][]string{"g.yaml": {"a: 2"}},
		},
		"an edit beside what changed": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")},
			edit: gittest.Text{"g.yaml": configMap("c", "a: 3 # mine", "b: 1"), "mine.yaml": configMap("mine", "x: 1")},
			want: map[string][]string{"g.yaml": {"a: 3 # mine", "b: 2"}, "mine.yaml": {"x: 1"}},
		},
		"an edit on the second Draft": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")},
			edit: gittest.Text{"g.yaml": configMap("c", "a: 3", "b: 1")}, later: gittest.Text{"mine.yaml": configMap("mine", "x: 1")},
			want: map[string][]string{"g.yaml": {"a: 3", "b: 2"}, "mine.yaml": {"x: 1"}},
		},
		"a resource that a person removed and upstream changed": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 1", "b: 2")},
			edit: gittest.Text{"g.yaml": ""},
			want: map[string][]string{"g.yaml": nil},
			lost: []string{"g.yaml"},
		},
		"a key of the package context": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": two},
			spec1: "  packageContext: {data: {region: a}}\n", spec2: "  packageContext: {data: {region: b}}\n",
			want: map[string][]string{"package-context.yaml": {"region: b"}},
		},
		"a key of the package context that goes": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": two},
			spec1: "  packageContext: {data: {region: a}}\n",
			want:  map[string][]string{"package-context.yaml": {"!region"}},
		},
		"a key of the package context by hand": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": two},
			spec1: "  packageContext: {data: {region: a}}\n", spec2: "  packageContext: {data: {region: b}}\n",
			edit: gittest.Text{"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: web\n  package-path: web\n  region: mine\n  zone: z\n"},
			want: map[string][]string{"package-context.yaml": {"region: b", "zone: z"}},
			lost: []string{"data.region"},
		},
		"an injector that goes takes with it what it brought": {
			v1: point, v2: point, spec1: injector, context: configMap("live", "mode: live"),
			want: map[string][]string{"settings.yaml": {"mode: none"}},
		},
		"an injection point that upstream changed": {
			v1: point, v2: gittest.Text{"settings.yaml": pointWith("settings", "mode: other")},
			spec1: injector, spec2: injector, context: configMap("live", "mode: live"),
			want: map[string][]string{"settings.yaml": {"mode: live"}},
		},
		"labels are those of each new Draft": {
			v1: gittest.Text{"g.yaml": two}, v2: gittest.Text{"g.yaml": configMap("c", "a: 2", "b: 1")},
			spec1: "  labels: {l: one, gone: x}\n", spec2: "  labels: {l: two}\n",
			want: map[string][]string{"Kptfile": {"l: two", "!gone"}},
		},
		"text that is no resource": {
			v1: gittest.Text{"run.sh": "a\n", "g.yaml": two}, v2: gittest.Text{"run.sh": "b\n", "g.yaml": two}, spec1: labels, spec2: labels,
			want: map[string][]string{"run.sh": {"b"}},
		},
	} {
		t.Run(name, c.run)
	}
}

// run plays an update, and looks at what came.
func (c past) run(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	catalog := w.repos["catalog"]
	if c.v1["Kptfile"] == "" {
		c.v1 = merged(c.v1, gittest.Text{"Kptfile": kptfile("")})
	}
	catalog.Tag(t, "web/v11", catalog.Commit(t, "main", "v11", files(c.v1)))
	if c.context != "" {
		w.write("context.yaml", c.context)
	}
	w.write("variants/web.yaml", variantOf("web", "v11", "c1", "web", c.spec1))
	w.mustApply()
	const first = "drafts/web/packagevariant-1"
	if c.edit != nil {
		w.repos["c1"].Commit(t, first, "by hand", files(c.edit))
	}
	if r := c.replace; r[0] != "" {
		w.edit("c1", first, "web/"+r[0], r[1], r[2])
	}
	var overruled, firstFates []string
	if c.edit == nil && c.replace[0] == "" {
		w.mustRun(0, "approve", "--all")
	} else { // as a forge does it, before any run has rendered the edit
		w.forgeMerge("c1", first, "merge", true)
		built := w.mustApply() // which tells what it overruled
		for _, v := range built.Variants {
			overruled = append(overruled, v.Conflicts...)
			firstFates = append(firstFates, fatesOf(v.Edits)...)
		}
		if w.refs()["c1 refs/tags/web/v1"] == "" {
			t.Fatal("what was merged has no tag")
		}
	}
	last, retry := "v12", []string{}
	second := "drafts/web/packagevariant-2"
	if c.between != nil {
		last, retry, second = "v13", []string{"--retry", "web"}, "drafts/web/packagevariant-3"
		w.setBack(c.between, variantOf("web", "v12", "c1", "web", c.spec1))
	}
	catalog.Tag(t, "web/"+last, catalog.Commit(t, "main", last, files(c.v2)))
	variant := variantOf("web", last, "c1", "web", c.spec2)
	w.write("variants/web.yaml", strings.Replace(variant, "metadata:\n", "metadata:\n  annotations: {"+c.annotations+"}\n", 1))
	if c.stops != "" {
		w.contains(w.apply().variant(t, "c1/web").Error, c.stops)
		return
	}
	p := w.mustApply(retry...)
	if c.later != nil {
		w.repos["c1"].Commit(t, second, "by hand", files(c.later))
		w.write("variants/web.yaml", variantOf("web", "v12", "c1", "web", c.spec2+"  packageContext: {data: {late: x}}\n"))
		p = w.mustApply()
	}
	var told []string
	for _, v := range p.Variants {
		told = append(told, v.Conflicts...)
	}
	if len(told) == 0 && len(c.lost) > 0 {
		told = overruled
	}
	if c.fates == nil && len(told) != len(c.lost) {
		t.Errorf("conflicts: %q, want %q", told, c.lost)
	}
	if c.fates != nil {
		fates := fatesOf(p.variant(t, "c1/web").Edits)
		if len(fates) == 0 && c.later == nil { // the run that built what was merged met the edits
			fates = append(fates, firstFates...)
		}
		head := strings.Contains(p.out, `"attention": [`)
		if kept := strings.Contains(strings.Join(fates, "\n"), "kept though removed"); kept != head {
			t.Errorf("to be seen first: %v, want %v", head, kept)
		}
		if d := gocmp.Diff(c.fates, fates); d != "" {
			t.Errorf("what became of the edits (-want +got):\n%s", d)
		}
	}
	for _, part := range c.lost {
		if !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no conflict says %q: %q", part, told)
		}
	}
	there := strings.Fields(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", second+":web"))
	for file, parts := range c.want {
		if has := slices.Contains(there, file); !has || parts == nil {
			if has || parts != nil {
				t.Errorf("%s: there: %v", file, has)
			}
			continue
		}
		text := w.show("c1", second, "web/"+file)
		for _, part := range parts {
			part, not := strings.CutPrefix(part, "!")
			if strings.Contains(text, part) == not {
				t.Errorf("%s: has %q: %v\n%s", file, part, !not, text)
			}
		}
	}
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	if c.edit != nil || c.later != nil || c.replace[0] != "" {
		return
	}
	// A variant that was never edited is what a new one would be.
	w.write("variants/web.yaml", variantOf("web", last, "c2", "web", c.spec2))
	w.mustApply()
	got, want := w.repos["c1"].Git(t, "rev-parse", second+":web"), w.repos["c2"].Git(t, "rev-parse", draft1+":web")
	if got != want {
		t.Errorf("another past gave another package:\n%s\nthan a new one:\n%s", w.repos["c1"].Git(t, "show", second+":web/Kptfile"), w.repos["c2"].Git(t, "show", draft1+":web/Kptfile"))
	}
}

// setBack approves a version, and sets main back to what stood there before.
func (w *world) setBack(text gittest.Text, variant string) {
	w.t.Helper()
	catalog, r := w.repos["catalog"], w.repos["c1"]
	before := r.Git(w.t, "rev-parse", "main^{tree}")
	catalog.Tag(w.t, "web/v12", catalog.Commit(w.t, "main", "v12", files(text)))
	w.write("variants/web.yaml", variant)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	r.Git(w.t, "update-ref", "refs/heads/main", r.Git(w.t, "-c", "user.name=Ann Tester", "-c", "user.email=ann@example.com", "commit-tree", before, "-p", "main", "-m", "set back"))
}

// A set, or a variant over it, says how its packages are updated, whatever their
// Kptfiles say; a change of that alone is no update.
func TestUpdateStrategyOfTheFleet(t *testing.T) {
	t.Parallel()
	const strategy = "  name: web\n  annotations: {variform.dev/update-strategy: %}\n"
	annotated := func(text, value string) string {
		return strings.Replace(text, "  name: web\n", strings.ReplaceAll(strategy, "%", value), 1)
	}
	for name, c := range map[string]struct {
		set, variant string
		edited       bool // the person's file is there after the update
	}{
		"none":              {edited: true},
		"of the set":        {set: "force-delete-replace"},
		"of the variant":    {variant: "force-delete-replace"},
		"the variant's own": {set: "force-delete-replace", variant: "resource-merge", edited: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			want := func(revision string) {
				set, variant := listSet("web", "web", revision, "c1", "web"), variantOf("web", revision, "c1", "web", "")
				if c.set != "" {
					set = annotated(set, c.set)
				}
				if c.variant == "" || c.set != "" {
					w.write("set.yaml", set)
				}
				if c.variant != "" { // in the place of its twin of the set, where there is one
					w.write("variant.yaml", strings.Replace(annotated(variant, c.variant), "name: web\n", "name: web-c1-web\n", 1))
				}
			}
			want("v1")
			w.mustApply()
			w.repos["c1"].Commit(t, "drafts/web/packagevariant-1", "by hand", gittest.Text{"web/mine.yaml": configMap("mine", "x: 1")})
			w.mustApply()
			w.wantActions(w.mustApply(), map[string]string{})
			w.publishWeb(webV2, "v2")
			want("v2")
			w.mustApply()
			there := strings.Contains(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", draft1), "web/mine.yaml")
			if there != c.edited {
				t.Errorf("the person's file is there: %t", there)
			}
			w.contains(w.show("c1", draft1, "web/deployment.yaml"), ":2.0")
		})
	}
	w := newWorld(t, "c1")
	w.write("set.yaml", annotated(listSet("web", "web", "v1", "c1", "web"), "sometimes"))
	r := w.mustRun(1, "apply")
	w.contains(r.out+r.err, "variform.dev/update-strategy", "resource-merge")
	w.write("set.yaml", listSet("web", "web", "v1", "c1", "web"))
	w.mustApply()
	w.write("set.yaml", annotated(listSet("web", "web", "v1", "c1", "web"), "copy-merge"))
	w.wantActions(w.mustApply(), map[string]string{})
}

// fatesOf names what became of edits.
func fatesOf(edits []struct{ Fate, File, Resource, Field, Instead string }) []string {
	out := []string{}
	for _, e := range edits {
		out = append(out, strings.TrimSpace(e.Fate+": "+cmp.Or(e.Resource, e.File)+" "+e.Field))
	}
	return out
}
