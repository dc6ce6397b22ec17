package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// hide forges that what an edited Draft holds is what Variform built: by the Draft's commit
// and trailer, and by the record.
func (w *world) hide(draft string) {
	w.t.Helper()
	g := w.repos["c1"]
	made := strings.TrimPrefix(trailer(g.Git(w.t, "log", "-1", "--format=%B", draft+"^"), "Variform-Hydrated"), "Variform-Hydrated: ")
	tree, message := g.Git(w.t, "rev-parse", draft+":web"), g.Git(w.t, "log", "-1", "--format=%B", draft+"^")
	was := g.Git(w.t, "rev-parse", draft+"^")
	w.forge("c1", draft, nil, func(string) string { return strings.ReplaceAll(message, made, tree) })
	w.forgeRecord(made, tree)
	w.forgeRecord(was, g.Git(w.t, "rev-parse", draft))
}

var openEntry = regexp.MustCompile(`(?m)^- \{"path":"web","place":"open".*$`)

// An edit is one whatever the record, the trailers of Drafts and of what forges merged, and
// restored caches claim: the base of an update is what an approval names, or what building
// gives.
func TestForgedBaseDropsNoEdit(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-1"
	edit := func(w *world) {
		w.edit("c1", draft, "web/deployment.yaml", "replicas: 2", "replicas: 9")
	}
	for name, forge := range map[string]func(w *world){
		"a record after a squash without trailers": func(w *world) {
			edit(w)
			w.mustApply()
			w.forgeMerge("c1", draft, "squash", true)
			g := w.repos["c1"]
			tree, main := g.Git(w.t, "rev-parse", "main:web"), g.Git(w.t, "rev-parse", "main")
			for _, path := range strings.Fields(g.Git(w.t, "ls-tree", "-r", "--name-only", recordRef, "index/")) {
				for _, line := range openEntry.FindAllString(g.Show(w.t, recordRef, path), -1) {
					var e struct{ Commit, Tree, Hydrated string }
					if err := json.Unmarshal([]byte(line[2:]), &e); err != nil {
						w.t.Fatal(err)
					}
					w.forgeRecord(line, strings.NewReplacer(e.Commit, main, e.Tree, tree, e.Hydrated, tree).Replace(line))
				}
			}
		},
		"a trailer that a forge merged": func(w *world) {
			edit(w)
			w.hide(draft)
			w.forgeMerge("c1", draft, "merge", true)
			w.mustApply()
		},
		"a trailer that a forge merged, fast-forward": func(w *world) {
			edit(w)
			w.hide(draft)
			w.forgeMerge("c1", draft, "fast-forward", true)
			w.mustApply()
		},
		"an amended Draft": func(w *world) {
			edit(w)
			w.hide(draft)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			w.mustApply()
			forge(w)
			w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
			w.mustApply("--cache-dir", t.TempDir())
			drafts := slices.DeleteFunc(w.refNames("c1"), func(ref string) bool { return !strings.HasPrefix(ref, "refs/heads/drafts/") })
			if len(drafts) != 1 {
				t.Fatalf("%d Drafts", len(drafts))
			}
			w.contains(w.show("c1", drafts[0], "web/deployment.yaml"), "replicas: 9")
		})
	}
}

// A Draft is what building makes, or it holds edits, whatever its commit and the record say:
// plan validates what it hides, and approve publishes that only as a class that shows it.
func TestForgedDraftIsNotProved(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-1"
	for name, forget := range map[string]bool{"a forged record": false, "a deleted record": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			w.mustApply()
			g := w.repos["c1"]
			was, tree := g.Git(t, "rev-parse", draft), g.Git(t, "rev-parse", draft+":web")
			w.forge("c1", draft, gittest.Text{"web/b.yaml": backdoor}, nil)
			now := g.Git(t, "rev-parse", draft+":web")
			w.forge("c1", draft, gittest.Text{"web/b.yaml": backdoor}, func(m string) string { return strings.ReplaceAll(m, tree, now) })
			if forget {
				g.Git(t, "update-ref", "-d", recordRef)
			} else {
				w.forgeRecord(tree, now)
				w.forgeRecord(was, g.Git(t, "rev-parse", draft))
			}
			for _, args := range [][]string{{"status"}, {"apply"}} {
				w.run(args...)
				if _, conditions := w.conditions(0); strings.Contains(conditions, "it is what building makes of the inputs of now") {
					t.Errorf("after %s, status reports it as proved: %s", args[0], conditions)
				}
			}
			before := w.refs()
			w.contains(w.mustRun(1, "approve", "--all").out, "b.yaml")
			w.unchanged(before)
			w.contains(w.mustRun(0, "edits", "--cache-dir", t.TempDir()).out, "b.yaml")
			w.contains(w.mustRun(0, "review").out, "backdoor")
			w.approveSeen()
			w.contains(w.show("c1", "main", "web/b.yaml"), "backdoor")
		})
	}
}
