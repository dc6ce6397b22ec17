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
