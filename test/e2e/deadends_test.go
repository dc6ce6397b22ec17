package e2e

import (
	"testing"

	"github.com/variform/variform/internal/gittest"
)

// A Draft that holds no package any more says so, and what leads on.
func TestDraftWithoutPackage(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string][]string{
		"the folder":  {"web"},
		"the Kptfile": {"web/Kptfile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			var gone gittest.Files
			for _, f := range removed {
				gone = append(gone, gittest.File{Path: f, Mode: gittest.Deleted})
			}
			w.repos["c1"].Commit(t, "drafts/web/packagevariant-1", "by hand", gone)
			before := w.refs()
			says := "drafts/web/packagevariant-1 has no package in web any more"
			p := w.apply()
			w.wantActions(p, all("fail", "c1/web"))
			w.contains(p.out, says, "restore it there, or remove the Draft with: variform discard c1/web")
			if !p.variant(t, "c1/web").Stalled {
				t.Error("it is not Stalled")
			}
			w.contains(w.record("c1"), `"place":"built"`, says)
			entries := w.record("c1")
			w.contains(w.mustRun(1, "status", "-o", "yaml").out, says, "variform discard c1/web")
			w.apply("--cache-dir", t.TempDir())
			w.unchanged(before)
			if now := w.record("c1"); now != entries {
				t.Errorf("written again:\n%s\nwas\n%s", now, entries)
			}
			w.contains(w.mustRun(1, "approve", "c1/web").out, says, "variform discard c1/web")
			w.mustRun(1, "review")
			w.mustRun(0, "discard", "c1/web", "--reason", "empty")
			w.wantActions(w.mustApply("--retry", "c1/web"), all("create", "c1/web"))
			w.mustRun(0, "approve", "c1/web")
		})
	}
}

// What strangers publish where our Draft is open is theirs: the Draft waits for a
// person, is not published on top of it, and goes alone with its variant.
func TestStrangersPublishBesideOurDraft(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]string{
		"nobody's":          "",
		"another manager's": "  annotations: {variform.dev/variant: other/default/web}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			spec := variantOf("web", "v1", "c1", "web", "")
			w.write("v.yaml", spec)
			w.mustApply()
			theirs := w.repos["c1"].Commit(t, "main", "theirs", gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n" + owner, "web/cm.yaml": configMap("theirs", "a: b")})
			w.repos["c1"].Tag(t, "web/v1", theirs)
			before := w.refs()
			for range 2 {
				p := w.apply()
				w.wantActions(p, all("fail", "c1/web"))
				w.contains(p.out, `"stalled": true`, "variform discard c1/web")
			}
			w.contains(w.mustRun(1, "status", "-o", "yaml").out, "variform discard c1/web")
			w.contains(w.mustRun(1, "approve", "--all").out, "refused: ")
			w.unchanged(before)
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.mustApply("--prune"), all("discard", "c1/web"))
			w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
		})
	}
}
