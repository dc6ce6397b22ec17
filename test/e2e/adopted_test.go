package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// noWeb takes the files of webV1 away.
var noWeb = gittest.Text{"deployment.yaml": "", "settings.yaml": "", "README.md": ""}

// What others' packages lack of what every package is given here (the package
// context, the strategy of updates, what the variant says) is no edit of
// anybody's: the first Draft brings it, and nothing is told of it again.
func TestAdoptedLacksWhatVariantsAreGiven(t *testing.T) {
	t.Parallel()
	const all = `  labels: {tier: front}
  packageContext:
    data: {region: north}
  injectors:
  - {kind: ConfigMap, name: live}
  pipeline:
    mutators:
    - {image: "set-labels:v0.2", configMap: {team: shop}}
`
	const asks = `  packageContext:
    data: {region: north}
  pipeline:
    mutators:
    - image: starlark:v0.5
      configMap:
        source: |
          if "mine" not in [r["metadata"]["name"] for r in ctx.resource_list["items"]]:
            fail("there is no mine")
`
	setter := mutator("apply-setters:v0.2", `a: "7"`)
	unset := configMap("set", "a: 1 # kpt-set: ${a}")
	mine := gittest.Text{"mine.yaml": configMap("mine", "a: b")}
	for name, row := range map[string]struct {
		taken bool // by kpt, which names the upstream, once without a strategy
		spec  string
		more  gittest.Text
	}{
		"a folder":                             {false, "", nil},
		"a folder, everything set":             {false, all, nil},
		"a folder with more in it":             {false, all, mine},
		"taken with kpt":                       {true, "", nil},
		"taken with kpt, everything set":       {true, all, nil},
		"taken with kpt, with more in it":      {true, all, mine},
		"rendered by its own pipeline":         {true, setter, gittest.Text{"set.yaml": strings.Replace(unset, "a: 1", "a: 5", 1)}},
		"not rendered yet":                     {true, setter, gittest.Text{"set.yaml": unset}},
		"what it is to hold is there alone":    {false, asks, mine},
		"taken, what it is to hold it has too": {true, asks, mine},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			text := gittest.Text{"Kptfile": kptfile(""), "a.yaml": configMap("a", "x: one"), "point.yaml": pointWith("point", "q: old")}
			if row.spec == setter {
				text["Kptfile"] = kptfile("pipeline:\n  mutators:\n  - {image: \"apply-setters:v0.2\", configMap: {a: \"5\"}}\n")
				text["set.yaml"] = unset
			}
			catalog := w.repos["catalog"]
			v11 := catalog.Commit(t, "main", "v11", files(merged(noWeb, text)))
			catalog.Tag(t, "web/v11", v11)
			catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(gittest.Text{"a.yaml": configMap("a", "x: two")})))
			stood := merged(text, row.more)
			if row.taken {
				origin := "  type: git\n  git:\n    repo: " + w.url("catalog") + "\n    directory: /web\n    ref: web/v11\n"
				stood["Kptfile"] = text["Kptfile"] + "upstream:\n" + origin + "upstreamLock:\n" + origin + "    commit: " + v11 + "\n"
			}
			w.repos["c1"].Commit(t, "main", "a person's package", files(stood))
			w.write("live.yaml", configMap("live", "r: new"))

			adopt := "  adoptionPolicy: adoptExisting\n" + row.spec
			w.write("c1.yaml", variantOf("c1", "v11", "c1", "web", adopt))
			p := w.mustApply("--on-conflict=stop")
			if v := p.variant(t, "c1/web"); len(v.Conflicts)+len(v.Edits) > 0 {
				t.Errorf("told of edits that nobody made: %q %v", v.Conflicts, v.Edits)
			}
			context := w.show("c1", draft1, "web/package-context.yaml")
			w.contains(context, "name: web", "package-path: web")
			if strings.Contains(row.spec, "region") {
				w.contains(context, "region: north")
			}
			w.contains(w.show("c1", draft1, "web/Kptfile"), "updateStrategy: resource-merge")
			for f, text := range row.more {
				w.contains(w.show("c1", draft1, "web/"+f), strings.Replace(text[strings.LastIndex(text, "data:\n"):], "a: 1", "a: 5", 1))
			}
			before := w.refs()
			w.mustApply()
			w.unchanged(before)

			w.mustRun(0, "approve", "--all")
			if row.more == nil {
				w.contains(w.mustRun(0, "edits").out+w.mustRun(0, "edits", "--lost").out, "0 edits in 0 revisions\n0 edits in 0 revisions\n")
			}
			w.write("c1.yaml", variantOf("c1", "v12", "c1", "web", adopt))
			v := w.mustApply("--on-conflict=stop").variant(t, "c1/web")
			w.contains(w.show("c1", v.Ref, "web/a.yaml"), "x: two")
		})
	}
}

// What a person did to a package before it was adopted is told as before, and
// stays.
func TestAdoptedKeepsEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	text := gittest.Text{"Kptfile": kptfile(""), "a.yaml": configMap("a", "x: one"), "b.yaml": configMap("b", "x: one"), "point.yaml": pointWith("point", "q: old")}
	w.repos["catalog"].Tag(t, "web/v11", w.repos["catalog"].Commit(t, "main", "v11", files(merged(noWeb, text))))
	stood := merged(text, gittest.Text{"a.yaml": configMap("a", "x: mine"), "point.yaml": pointWith("point", "q: mine")})
	delete(stood, "b.yaml")
	w.repos["c1"].Commit(t, "main", "a person's package", files(stood))
	w.write("live.yaml", configMap("live", "q: new"))
	w.write("c1.yaml", variantOf("c1", "v11", "c1", "web", "  adoptionPolicy: adoptExisting\n  injectors:\n  - {kind: ConfigMap, name: live}\n"))
	p := w.mustApply()
	w.contains(p.out, "point.yaml: ConfigMap/point: data.q: overruled with new, the edit was mine: change the context object that is injected there")
	w.contains(w.show("c1", draft1, "web/a.yaml"), "x: mine")
	w.contains(w.show("c1", draft1, "web/point.yaml"), "q: new")
	w.contains(w.mustRun(0, "edits").out, "data.x", "ConfigMap b")
}

// A package that was taken with kpt, rendered and left alone since is brought up to
// a later revision as its own variant would be.
func TestAdoptedIsRendered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	set := func(to string) string {
		return "pipeline:\n  mutators:\n  - {image: \"apply-setters:v0.2\", configMap: {a: \"" + to + "\"}}\n"
	}
	unset := configMap("set", "a: 1 # kpt-set: ${a}")
	catalog := w.repos["catalog"]
	v11 := catalog.Commit(t, "main", "v11", files(merged(noWeb, gittest.Text{"Kptfile": kptfile(set("5")), "set.yaml": unset})))
	catalog.Tag(t, "web/v11", v11)
	catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(gittest.Text{"Kptfile": kptfile(set("6"))})))
	origin := "  type: git\n  git:\n    repo: " + w.url("catalog") + "\n    directory: /web\n    ref: web/v11\n"
	w.repos["c1"].Commit(t, "main", "a person's package", files(gittest.Text{
		"Kptfile":  kptfile("upstream:\n" + origin + "upstreamLock:\n" + origin + "    commit: " + v11 + "\n" + set("5")),
		"set.yaml": strings.Replace(unset, "a: 1", "a: 5", 1),
	}))
	w.write("c1.yaml", variantOf("c1", "v12", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	w.mustApply("--on-conflict=stop")
	w.contains(w.show("c1", draft1, "web/set.yaml"), "a: 6")
}

// A package that was rendered elsewhere has the names that its pipeline gives and no
// comment that says what its upstream calls them: every update reaches it, and no
// comment comes into it.
func TestAdoptedFollowsByRenderedNames(t *testing.T) {
	t.Parallel()
	config := func(name, more string) string { return configMap(name, "mode: a") + more }
	second := func(name, mode string) string {
		return "apiVersion: v1\nkind: Service\nmetadata:\n  name: " + name + "\nspec:\n  type: " + mode + "\n"
	}
	replacements := `apiVersion: fn.kpt.dev/v1alpha1
kind: ApplyReplacements
metadata:
  name: names
  annotations: {config.kubernetes.io/local-config: "true"}
replacements:
- source: {kind: ConfigMap, name: kptfile.kpt.dev, fieldPath: data.team}
  targets:
  - select: {kind: ConfigMap, name: a}
    fieldPaths: [metadata.name]
`
	const star = "  pipeline:\n    mutators:\n    - image: starlark:v0.5\n      configMap:\n        source: |\n" +
		"          for r in ctx.resource_list[\"items\"]:\n            if r[\"kind\"] in [\"ConfigMap\", \"Service\"] and r[\"metadata\"][\"name\"] == \"a\":\n              r[\"metadata\"][\"name\"] = \"blue-a\"\n"
	for name, row := range map[string]struct {
		spec    string
		up      gittest.Text // of the first revision
		name    string       // that the pipeline gives the ConfigMap
		service string       // and the Service
		ns      string
	}{
		"set-namespace":         {mutator("set-namespace:v0.4", "namespace: blue"), nil, "a", "a", "blue"},
		"ensure-name-substring": {mutator("ensure-name-substring:v0.2", `prepend: "blue-"`), nil, "blue-a", "blue-a", ""},
		"starlark":              {star, nil, "blue-a", "blue-a", ""},
		"apply-setters": {
			mutator("apply-setters:v0.2", "team: blue"),
			gittest.Text{"a.yaml": strings.Replace(config("a", ""), "name: a", "name: a # kpt-set: ${team}-a", 1)},
			"blue-a", "a", "",
		},
		"apply-replacements": {
			"  packageContext:\n    data: {team: blue}\n",
			gittest.Text{"Kptfile": kptfile("pipeline:\n  mutators:\n  - {image: \"apply-replacements:v0.1\", configPath: names.yaml}\n"), "names.yaml": replacements},
			"blue", "a", "",
		},
	} {
		for layout, together := range map[string]bool{"as upstream has it": false, "in one file": true} {
			t.Run(name+" "+layout, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1", "c2")
				up := merged(gittest.Text{"Kptfile": kptfile(""), "a.yaml": config("a", ""), "s.yaml": second("a", "ClusterIP"), "gone.yaml": configMap("gone", "x: y")}, row.up)
				catalog := w.repos["catalog"]
				catalog.Tag(t, "web/v11", catalog.Commit(t, "main", "v11", files(merged(noWeb, up))))
				next := gittest.Text{"a.yaml": strings.Replace(up["a.yaml"], "mode: a", "mode: b\n  more: c", 1), "s.yaml": second("a", "NodePort"), "gone.yaml": "", "new.yaml": configMap("new", "x: y")}
				catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(next)))
				catalog.Tag(t, "web/v13", catalog.Commit(t, "main", "v13", files(gittest.Text{"s.yaml": ""})))

				placed := func(text string) string {
					if row.ns == "" {
						return text
					}
					return regexp.MustCompile(`(?m)^  name: .*$`).ReplaceAllString(text, "$0\n  namespace: "+row.ns)
				}
				gone := "gone"
				if name == "ensure-name-substring" {
					gone = "blue-gone"
				}
				a, s, g := placed(config(row.name, "")), placed(second(row.service, "ClusterIP")), placed(configMap(gone, "x: y"))
				stood := merged(up, gittest.Text{"a.yaml": a, "s.yaml": s, "gone.yaml": g})
				file := "s.yaml"
				if together {
					file = "all.yaml"
					stood = merged(up, gittest.Text{"all.yaml": a + "---\n" + s + "---\n" + g})
					delete(stood, "a.yaml")
					delete(stood, "s.yaml")
					delete(stood, "gone.yaml")
				}
				w.repos["c1"].Commit(t, "main", "a person's package", files(stood))
				write := func(revision string) {
					for _, c := range []string{"c1", "c2"} {
						w.write(c+".yaml", variantOf(c, revision, c, "web", "  adoptionPolicy: adoptExisting\n"+row.spec))
					}
				}
				write("v11")
				p := w.mustApply("--on-conflict=stop")
				if v := p.variant(t, "c1/web"); len(v.Conflicts)+len(v.Edits) > 0 {
					t.Errorf("told of edits that nobody made: %q %v", v.Conflicts, v.Edits)
				}
				for f, text := range stood {
					if f != "Kptfile" && w.show("c1", draft1, "web/"+f) != text {
						t.Errorf("the adoption changes %s:\n%s", f, w.show("c1", draft1, "web/"+f))
					}
				}
				w.approveSeen()
				if !together && !strings.Contains(up["a.yaml"], "kpt-set") { // else its comment went
					w.contains(w.mustRun(0, "edits").out, "0 edits in 0 revisions\n")
				}

				write("v12")
				v := w.mustApply("--on-conflict=stop").variant(t, "c1/web")
				text := w.show("c1", v.Ref, "web/"+file)
				w.contains(text, "type: NodePort")
				if !together {
					text = w.show("c1", v.Ref, "web/a.yaml")
				}
				w.contains(text, "mode: b", "more: c", "name: "+row.name+"\n")
				if strings.Contains(text, "kpt-merge") {
					t.Errorf("a comment came into it:\n%s", text)
				}
				w.contains(w.show("c1", v.Ref, "web/new.yaml"), "x: y")
				if list := w.texts("c1", v.Ref, "web"); strings.Contains(list, "name: "+gone) {
					t.Errorf("what upstream removed stays: %s\n%s", list, text)
				}
				if out := w.mustRun(0, "review", "--no-diff").out; strings.Contains(out, "edited by hand") || !together && strings.Count(out, "\nclass ") != 1 {
					t.Errorf("the adopted package is not reviewed as the others:\n%s", out)
				}
				w.mustRun(0, "approve", "--all")

				write("v13")
				v = w.mustApply("--on-conflict=stop").variant(t, "c1/web")
				if list := w.texts("c1", v.Ref, "web"); strings.Contains(list, "NodePort") {
					t.Errorf("what upstream removed stays: %s", list)
				}
				w.contains(w.mustRun(0, "approve", "--all").out, "Published")
			})
		}
	}
}

// A folder without a Kptfile is adopted: the Draft adds the Kptfile and what its
// pipeline needs, plan reports it, and no other file changes. What is binary or
// encrypted keeps its bytes through every update.
func TestAdoptedWithoutKptfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	catalog := w.repos["catalog"]
	up := gittest.Text{
		"Kptfile":  kptfile("pipeline:\n  mutators:\n  - {image: \"set-labels:v0.2\", configPath: labels.yaml}\n  - {image: \"set-namespace:v0.4\", configMap: {namespace: blue}}\n"),
		"a.yaml":   configMap("a", "x: one"),
		"b.yaml":   configMap("b", "x: one"),
		"s/a.yaml": configMap("sub", "x: one"), "s/Kptfile": strings.Replace(kptfile(""), "web", "s", 1),
		"labels.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetLabels\nmetadata:\n  name: labels\n  annotations: {config.kubernetes.io/local-config: \"true\"}\nlabels:\n  team: blue\n",
	}
	catalog.Tag(t, "web/v11", catalog.Commit(t, "main", "v11", files(merged(noWeb, up))))
	catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(gittest.Text{"a.yaml": configMap("a", "x: two"), "s/a.yaml": configMap("sub", "x: two")})))
	rendered := func(text string) string {
		return strings.Replace(text, "\ndata:", "\n  namespace: blue\n  labels:\n    team: blue\ndata:", 1)
	}
	const sops = "apiVersion: v1\nkind: Secret\nmetadata:\n    name: s\ndata:\n    a: ENC[AES256_GCM,data:x,type:str]\nsops:\n    mac: ENC[AES256_GCM,data:y,type:str]\n    version: 3.8.1\n"
	untouched := gittest.Text{
		"logo.png": "\x89PNG\r\n\x1a\n\x00\xff\xfe", "crypt.yaml": "\x00GITCRYPT\x00\x01\xff", "Kptfile.enc": "\x00\xff", "secret.enc.yaml": sops, "docs/x.txt": "mine\r\n",
	}
	there := merged(untouched, gittest.Text{"a.yaml": "# our a\n" + rendered(configMap("a", "x: one")), "s/a.yaml": rendered(configMap("sub", "x: one"))})
	stood := append(files(there), gittest.File{Path: "web/run.sh", Data: []byte("#!/bin/sh\n"), Mode: gittest.Executable})
	w.repos["c1"].Commit(t, "main", "a person's folder", stood)
	write := func(revision string) {
		for _, c := range []string{"c1", "c2"} {
			w.write(c+".yaml", variantOf(c, revision, c, "web", "  adoptionPolicy: adoptExisting\n"))
		}
	}
	write("v11")
	w.contains(w.mustRun(0, "plan").out, "adopted from v1", "the folder has no Kptfile: the Draft adds it")
	w.mustApply()
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	changed := w.repos["c1"].Git(t, "diff", "--name-status", "main", draft1)
	if want := "A\tweb/Kptfile\nA\tweb/labels.yaml\nA\tweb/package-context.yaml\nA\tweb/s/Kptfile"; strings.TrimSpace(changed) != want {
		t.Errorf("the adoption changes\n%s\nwant\n%s", changed, want)
	}
	w.contains(w.mustRun(0, "status", "web").out, "Draft")
	w.contains(w.mustRun(0, "approve", "--all").out, "Published v2")
	w.contains(w.mustRun(0, "edits").out, "ConfigMap b", "logo.png", "a.yaml")

	write("v12")
	v := w.mustApply("--on-conflict=stop").variant(t, "c1/web")
	changed = w.repos["c1"].Git(t, "diff", "--name-status", "main", v.Ref)
	if want := "M\tweb/Kptfile\nM\tweb/a.yaml\nM\tweb/s/a.yaml"; strings.TrimSpace(changed) != want {
		t.Errorf("the update changes\n%s\nwant\n%s", changed, want)
	}
	w.contains(w.show("c1", v.Ref, "web/a.yaml"), "# our a\n", "x: two")
	if out := w.mustRun(0, "review", "--no-diff").out; strings.Count(out, "\nclass ") != 1 {
		t.Errorf("the adopted folder is not reviewed as the others:\n%s", out)
	}
	w.contains(w.mustRun(0, "approve", "--all").out, "c1/web", "Published v3")
}

// A Kptfile that the machine made and a person removed is no folder to adopt.
func TestAdoptedKptfileThatWent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("c1.yaml", variantOf("c1", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.repos["c1"].Commit(t, "main", "a person's removal", files(gittest.Text{"Kptfile": ""}))
	w.write("c1.yaml", variantOf("c1", "v2", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	r := w.mustRun(1, "apply")
	w.contains(r.out+r.err, "Kptfile")
}
