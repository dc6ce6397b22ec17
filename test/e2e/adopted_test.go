package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
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
