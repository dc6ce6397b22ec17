package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Where it is not known what the machine made of a package, nothing that stands
// there goes: what upstream has instead is listed, and the variant stands at the
// head of review until it is decided.
func TestGuessedBaseTakesNothing(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{"adopted": "", "the record and the trailer are lost": "lost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1", "c2", "c3")
			catalog := w.repos["catalog"]
			v11 := gittest.Text{
				"Kptfile": kptfile(""), "a.yaml": configMap("a", "x: one", "y: one"), "gone.yaml": configMap("gone", "x: one"), "run.sh": "one\n",
			}
			v11commit := catalog.Commit(t, "main", "v11", files(v11))
			catalog.Tag(t, "web/v11", v11commit)
			v12 := merged(v11, gittest.Text{"a.yaml": configMap("a", "x: two", "y: two", "z: two"), "gone.yaml": ""})
			catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(v12)))

			lock := "  type: git\n  git:\n    repo: " + w.url("catalog") + "\n    directory: /web\n    ref: web/v11\n"
			stood := merged(v11, gittest.Text{
				"Kptfile": kptfile("upstream:\n" + lock + "upstreamLock:\n" + lock + "    commit: " + v11commit + "\n"),
				"a.yaml":  configMap("a", "x: mine", "y: one"), "mine.yaml": configMap("mine", "x: y"),
			})
			w.write("c2.yaml", variantOf("c2", "v11", "c2", "web", ""))
			w.write("c3.yaml", variantOf("c3", "v11", "c3", "web", ""))
			adopt := "  adoptionPolicy: adoptExisting\n"
			if record == "" {
				w.repos["c1"].Commit(t, "main", "a person's package", files(stood))
				w.repos["c1"].Tag(t, "web/v1", w.refs()["c1 refs/heads/main"])
				w.mustApply()
			} else {
				adopt = ""
				w.write("c1.yaml", variantOf("c1", "v11", "c1", "web", ""))
				w.mustApply()
				// A forge squashes the Draft, with an edit, and somebody deletes the record.
				git := w.repos["c1"]
				git.Commit(t, "drafts/web/packagevariant-1", "by hand", files(gittest.Text{"a.yaml": stood["a.yaml"], "mine.yaml": stood["mine.yaml"]}))
				git.Git(t, "update-ref", "refs/heads/main", git.Git(t, "commit-tree", "-m", "squashed", "-p", "main", draft1+"^{tree}"))
				git.Git(t, "tag", "web/v1", "main")
				git.Git(t, "update-ref", "-d", draft1)
				git.Git(t, "update-ref", "-d", recordRef)
			}
			w.mustRun(0, "approve", "c2/web", "c3/web")
			w.write("c1.yaml", variantOf("c1", "v12", "c1", "web", adopt))
			w.write("c2.yaml", variantOf("c2", "v12", "c2", "web", ""))
			w.write("c3.yaml", variantOf("c3", "v12", "c3", "web", ""))

			said := []string{
				"data.x: not taken, base unknown: upstream has two; mine stays",
				"gone.yaml: ConfigMap/gone: not taken, base unknown: upstream has (deleted);",
			}
			w.contains(w.run("plan").err, said...)
			w.contains(w.run("plan", "-o", "json").out, `"attention": [`, `"base unknown"`)
			w.contains(w.apply("--on-conflict=stop").variant(t, "c1/web").Error, "conflicts are set to stop")
			w.mustApply()
			refs := w.refs()
			ref := "refs/heads/drafts/web/packagevariant-1"
			if refs["c1 "+ref] == "" {
				ref = "refs/heads/drafts/web/packagevariant-2"
			}
			w.contains(w.show("c1", ref, "web/a.yaml"), "x: mine", "y: two", "z: two")
			w.contains(w.show("c1", ref, "web/gone.yaml"), "x: one")
			w.contains(w.show("c1", ref, "web/mine.yaml"), "x: y")
			w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", ref), append(said, "Variform-Review: needed; base unknown")...)

			out := w.mustRun(0, "review", "--no-diff").out
			classes := strings.Split(out, "\nclass ")[1:]
			if len(classes) != 2 || !strings.Contains(classes[0], "base unknown: ") || !strings.Contains(classes[0], "c1/web") {
				t.Errorf("c1/web is not in a class of its own at the head:\n%s", out)
			}
			w.contains(w.mustRun(0, "review", "-o", "json").out, `"attention": "base unknown"`)
			before := w.refs()
			w.mustApply()
			w.unchanged(before)

			// From then on it is known what the machine made.
			w.mustRun(0, "approve", "--all")
			catalog.Tag(t, "web/v13", catalog.Commit(t, "main", "v13", files(gittest.Text{"a.yaml": configMap("a", "x: two", "y: three", "z: two"), "run.sh": "three\n"})))
			w.write("c1.yaml", variantOf("c1", "v13", "c1", "web", adopt))
			p := w.mustApply("--only", "c1/web")
			if v := p.variant(t, "c1/web"); len(v.Conflicts) > 0 {
				t.Errorf("conflicts of the next update: %q", v.Conflicts)
			}
			w.contains(w.show("c1", p.variant(t, "c1/web").Ref, "web/a.yaml"), "x: mine", "y: three")
		})
	}
}
