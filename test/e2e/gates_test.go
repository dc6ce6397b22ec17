package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
)

// gatedByReview is a revision of web whose upstream asks for a review.
func gatedByReview(text gittest.Text) gittest.Text {
	return merged(text, gittest.Text{"web/Kptfile": text["web/Kptfile"] + "  readinessGates:\n  - conditionType: sec.review\n"})
}

// meet says on a branch that the review was done.
func (w *world) meet(branch string) {
	w.t.Helper()
	text := w.show("c1", branch, "web/Kptfile")
	const met = "  - type: sec.review\n    status: \"True\"\n    reason: Reviewed\n"
	if head, tail, ok := strings.Cut(text, "  conditions:\n"); ok {
		text = head + "  conditions:\n" + met + tail
	} else {
		text += "status:\n  conditions:\n" + met
	}
	w.repos["c1"].Commit(w.t, branch, "reviewed", gittest.Text{"web/Kptfile": text})
}

// A readiness gate that a person met stays met for that Draft, whatever becomes of
// it, and is asked for again in the next.
func TestGateMetByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for i, text := range []gittest.Text{webV1, webV2, webCPU} {
		w.publishWeb(gatedByReview(text), []string{"v11", "v12", "v13"}[i])
	}
	to := func(revision string) planned {
		w.write("v.yaml", variantOf("web", revision, "c1", "web", ""))
		return w.mustApply()
	}
	const second = "drafts/web/packagevariant-2"
	refused := func() {
		t.Helper()
		w.contains(w.mustRun(1, "approve", "c1/web").out, "readiness gates are not met: sec.review")
	}
	to("v11")
	refused()
	w.meet("drafts/web/packagevariant-1")
	w.mustApply()
	to("v12") // the same Draft
	w.contains(w.show("c1", "drafts/web/packagevariant-1", "web/Kptfile"), "Reviewed")
	w.mustRun(0, "approve", "c1/web")

	w.write("v.yaml", variantOf("web", "v12", "c1", "web", "  packageContext: {}\n"))
	w.wantActions(w.mustApply(), map[string]string{}) // that alone is no new revision
	p := to("v13")
	w.wantActions(p, all("redraft", "c1/web"))
	w.contains(strings.Join(p.variant(t, "c1/web").Warnings, "\n"), "readiness gate sec.review is to be met anew")
	w.lacks(w.show("c1", second, "web/Kptfile"), "Reviewed")
	refused()
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	// Nor does it come with what is published meanwhile.
	w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
	w.mustRun(0, "approve", "--main")
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.lacks(w.show("c1", second, "web/Kptfile"), "Reviewed")
	refused()
	w.meet(second)
	w.mustApply()
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
	w.mustRun(0, "approve", "c1/web")
	w.contains(w.show("c1", "main", "web/settings.yaml"), "level: debug")
}

// A gate that was taken out on main is not met by that.
func TestGateTakenOutOnMain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(gatedByReview(webV1), "v11")
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
	w.mustApply()
	w.meet("drafts/web/packagevariant-1")
	w.mustApply()
	w.mustRun(0, "approve", "c1/web")
	text := w.show("c1", "main", "web/Kptfile")
	w.repos["c1"].Commit(t, "main", "no gates", gittest.Text{"web/Kptfile": strings.Replace(text, "  readinessGates:\n  - conditionType: sec.review\n", "", 1)})
	w.contains(w.mustRun(1, "approve", "--main").out, "somebody took out sec.review: put them back there")
}
