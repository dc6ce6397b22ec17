package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A Draft whose history a person replaced is not the variant's any more: every command
// reports that, and nothing is drafted beside it, or published, without what is there.
func TestReplacedDraft(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-2"
	start := func(t *testing.T) (w *world, made string) {
		w = newWorld(t, "c1")
		w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		w.publishWeb(webV2, "v2")
		w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
		w.mustApply()
		made = w.refs()["c1 refs/heads/"+draft]
		w.edit("c1", draft, "web/deployment.yaml", "replicas: 2", "replicas: 7")
		orphan := w.repos["c1"].Git(t, "commit-tree", draft+"^{tree}", "-m", "all that is new")
		w.repos["c1"].Git(t, "update-ref", "refs/heads/"+draft, orphan)
		says := []string{"history of " + draft + " was replaced by", orphan[:7], "the commit that apply made (" + made[:7] + ") is not in it", "adoptExisting", "apply --retry c1/web"}
		before := w.refs()
		for _, args := range [][]string{{"plan"}, {"status"}, {"apply"}, {"apply", "--cache-dir", t.TempDir()}} {
			w.contains(w.mustRun(0, args...).out, says...)
		}
		w.publishWeb(webCPU, "v3")
		w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
		w.contains(w.mustApply().out, says...)
		w.mustRun(1, "approve", "--all")
		for ref, at := range before {
			if ref != "catalog refs/heads/main" && w.refs()[ref] != at {
				t.Errorf("%s moved", ref)
			}
		}
		if got := w.refs()["c1 refs/heads/drafts/web/packagevariant-3"]; got != "" {
			t.Error("a Draft was made beside it")
		}
		return w, made
	}
	t.Run("put back", func(t *testing.T) {
		t.Parallel()
		w, made := start(t)
		upon := w.repos["c1"].Git(t, "commit-tree", draft+"^{tree}", "-m", "my edits", "-p", made)
		w.repos["c1"].Git(t, "update-ref", "refs/heads/"+draft, upon)
		w.wantActions(w.mustApply(), all("update", "c1/web"))
		w.contains(w.show("c1", "refs/heads/"+draft, "web/deployment.yaml"), "replicas: 7", "cpu: 300m", "web:2.0")
	})
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		w, _ := start(t)
		w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
		p := w.mustApply()
		w.wantActions(p, all("update", "c1/web"))
		w.contains(p.out, "adopted: history of "+draft+" was replaced by")
		w.contains(w.show("c1", "refs/heads/"+draft, "web/deployment.yaml"), "replicas: 7", "cpu: 300m", "web:2.0")
	})
	t.Run("one more", func(t *testing.T) {
		t.Parallel()
		w, _ := start(t)
		p := w.mustApply("--retry", "c1/web")
		w.wantActions(p, all("redraft", "c1/web"))
		w.contains(p.out, "packagevariant-3", "no variant owns Draft packagevariant-2, whose history was replaced by")
		w.contains(w.show("c1", "refs/heads/"+draft, "web/deployment.yaml"), "replicas: 7")
		w.contains(w.mustApply().out, "no variant owns Draft packagevariant-2, whose history was replaced by")
	})
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		w, _ := start(t)
		w.repos["c1"].Git(t, "update-ref", "-d", "refs/heads/"+draft)
		w.wantActions(w.mustApply(), all("redraft", "c1/web"))
	})
}

// Nothing but a branch is left of a Draft whose history was replaced and whose variant is
// gone: plan names that branch, and no prune takes it.
func TestReplacedDraftWithoutVariant(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"the first Draft": false, "upon a Published revision": true} {
		t.Run(name, func(t *testing.T) {
			w, draft := newWorld(t, "c1"), "drafts/web/packagevariant-1"
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			if published {
				w.mustRun(0, "approve", "--all")
				w.publishWeb(webV2, "v2")
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				draft = "drafts/web/packagevariant-2"
			}
			orphan := w.repos["c1"].Git(t, "commit-tree", draft+"^{tree}", "-m", "all that is new")
			w.repos["c1"].Git(t, "update-ref", "refs/heads/"+draft, orphan)
			if err := os.Remove(filepath.Join(w.fleet(), "variants/web.yaml")); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"plan"}, {"plan", "--prune"}, {"apply", "--prune"}, {"status"}, {"apply", "--prune", "--cache-dir", t.TempDir()}} {
				w.contains(w.mustRun(0, args...).out, "its variant has gone, and the history of "+draft+" was replaced by", "bring its variant back, or delete the branch "+draft)
			}
			if w.refs()["c1 refs/heads/"+draft] != orphan {
				t.Error("the branch moved")
			}
			w.repos["c1"].Git(t, "update-ref", "-d", "refs/heads/"+draft)
			w.lacks(w.mustRun(0, "plan").out, draft)
		})
	}
}

// A package that a person moved on the registered branch is reported where it is now: it
// is neither made again at its old place nor called deleted.
func TestMovedOnMain(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"Published": false, "with a Draft": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			if open {
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
			}
			moved := gittest.Files{{Path: "web", Mode: gittest.Deleted}}
			for _, f := range strings.Fields(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", "main", "web")) {
				moved = append(moved, gittest.File{Path: "apps/" + f, Data: []byte(w.show("c1", "main", f))})
			}
			w.repos["c1"].Commit(t, "main", "web is an app", moved)
			w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
			before := w.refs()
			says := []string{"moved to apps/web on main by Ann Tester", "set downstream.package to apps/web in its variant, or move it back to web"}
			for _, args := range [][]string{{"plan"}, {"status"}, {"apply"}, {"apply", "--prune"}, {"apply", "--cache-dir", t.TempDir()}} {
				out := w.mustRun(0, args...).out
				w.contains(out, says...)
				w.lacks(out, "deleted on main")
			}
			w.mustRun(1, "approve", "--all")
			w.unchanged(before)

			w.write("variants/web.yaml", variantOf("web", "v2", "c1", "apps/web", ""))
			w.mustApply()
			w.contains(w.show("c1", "refs/heads/drafts/apps/web/packagevariant-2", "apps/web/deployment.yaml"), "web:2.0")
		})
	}
}
