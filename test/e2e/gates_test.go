package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
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

// A readiness gate that a person met is met for what the Draft holds then: it is asked
// for again when that changes, and in the next Draft.
func TestGateMetByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for i, text := range []gittest.Text{webV1, webV1, webV2, webCPU} {
		w.publishWeb(gatedByReview(text), []string{"v11", "v11-again", "v12", "v13"}[i])
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
	w.contains(w.mustRun(0, "review").out, "gates not met: sec.review")
	w.meet("drafts/web/packagevariant-1")
	w.mustApply()
	w.lacks(w.mustRun(0, "review").out, "gates not met")
	to("v11-again") // of the same content
	w.contains(w.show("c1", "drafts/web/packagevariant-1", "web/Kptfile"), "Reviewed", "web/v11-again")
	p := to("v12") // the same Draft, and another content
	w.wantActions(p, all("update", "c1/web"))
	w.contains(strings.Join(p.variant(t, "c1/web").Warnings, "\n"), "readiness gate sec.review is to be met anew: it was met for another content")
	w.lacks(w.show("c1", "drafts/web/packagevariant-1", "web/Kptfile"), "Reviewed")
	refused()
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	w.meet("drafts/web/packagevariant-1")
	w.mustApply()
	w.approveSeen("c1/web")

	w.write("v.yaml", variantOf("web", "v12", "c1", "web", "  packageContext: {}\n"))
	w.wantActions(w.mustApply(), map[string]string{}) // that alone is no new revision
	p = to("v13")
	w.wantActions(p, all("redraft", "c1/web"))
	w.contains(strings.Join(p.variant(t, "c1/web").Warnings, "\n"), "readiness gate sec.review is to be met anew")
	w.lacks(w.show("c1", second, "web/Kptfile"), "Reviewed")
	refused()
	before = w.refs()
	w.mustApply()
	w.unchanged(before)

	// Nor does it come with what is published meanwhile.
	w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
	w.contains(w.mustRun(1, "approve", "--main").out, "readiness gates were met for v1, and not for what is on main: sec.review", "another reason or message")
	w.edit("c1", "main", "web/Kptfile", "reason: Reviewed", "reason: ReviewedAgain")
	w.mustRun(0, "approve", "--main")
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.lacks(w.show("c1", second, "web/Kptfile"), "Reviewed")
	refused()
	w.meet(second)
	w.mustApply()
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
	w.approveSeen()
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
	w.approveSeen("c1/web")
	text := w.show("c1", "main", "web/Kptfile")
	w.repos["c1"].Commit(t, "main", "no gates", gittest.Text{"web/Kptfile": strings.Replace(text, "  readinessGates:\n  - conditionType: sec.review\n", "", 1)})
	w.contains(w.mustRun(1, "approve", "--main").out, "somebody took out sec.review: put them back there")
}

// What a package is set back to was approved with its gates met: for that very content
// they stay so.
func TestGateOfARevert(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for i, v := range []string{"v11", "v12"} {
		w.publishWeb(gatedByReview([]gittest.Text{webV1, webV2}[i]), v)
		w.write("v.yaml", variantOf("web", v, "c1", "web", ""))
		w.mustApply()
		w.meet("drafts/web/packagevariant-" + v[2:])
		w.mustApply()
		w.approveSeen("c1/web")
	}
	w.mustRun(0, "revert", "web", "v1")
	if w.tree("drafts/web/packagevariant-3") != w.tree("web/v1") {
		t.Error("the Draft is not what v1 was")
	}
	w.contains(w.mustRun(0, "approve", "c1/web").out, "Published v3")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	w.mustApply("--retry", "web") // and of other content they are asked for again
	w.lacks(w.show("c1", "drafts/web/packagevariant-4", "web/Kptfile"), "Reviewed")
	w.contains(w.mustRun(1, "approve", "c1/web").out, "readiness gates are not met: sec.review")
}

// Nor is a revision that came past its gates out of reach: they are met on the Draft
// that the package is set back by.
func TestGateOfARevertNeverMet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for i, v := range []string{"v11", "v12"} {
		w.publishWeb(gatedByReview([]gittest.Text{webV1, webV2}[i]), v)
		w.write("v.yaml", variantOf("web", v, "c1", "web", ""))
		w.mustApply()
		w.forgeMerge("c1", "drafts/web/packagevariant-"+v[2:], "merge", true)
		w.mustApply()
	}
	const draft = "drafts/web/packagevariant-3"
	w.mustRun(0, "revert", "web", "v1")
	w.contains(w.mustRun(1, "approve", "c1/web").out, "readiness gates are not met: sec.review")
	w.meet(draft)
	before := w.refs()
	w.contains(w.mustApply().out, "sets it back to v1")
	w.unchanged(before)
	w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
	w.contains(w.mustRun(1, "approve", "c1/web").out, "was edited by hand")
	w.edit("c1", draft, "web/settings.yaml", "level: debug", "level: info")
	w.contains(w.mustRun(0, "approve", "c1/web").out, "Published v3")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// An injection point that a person added has its condition from injection: that is no
// condition of theirs, to be asked for again by each run. It follows its object like
// those of the upstream.
func TestGateOfAddedPoint(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"drafts/web/packagevariant-1", "main"} {
		t.Run(branch, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("context/settings.yaml", settings("settings", "debug"))
			w.write("context/other.yaml", settings("other", "debug"))
			injectors := "  injectors:\n    - {name: other, point: more}\n    - {kind: ConfigMap, name: settings}\n"
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", injectors))
			w.mustApply()
			if branch == "main" {
				w.mustRun(0, "approve", "c1/web")
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", injectors))
			}
			w.repos["c1"].Commit(t, branch, "a point", gittest.Text{"web/more.yaml": injectionPoint("more", "required")})
			w.lacks(strings.Join(w.mustApply().variant(t, "c1/web").Warnings, "\n"), "met anew")
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			w.write("context/other.yaml", settings("other", "warn"))
			w.contains(w.mustRun(1, "approve", "c1/web").out, "context objects changed that are injected where people asked for it since this Draft was made: run apply")
			draft := "drafts/web/packagevariant-2"
			if branch != "main" {
				draft = branch
			}
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "update"})
			w.contains(w.show("c1", draft, "web/more.yaml"), "level: warn")
			w.approveSeen("c1/web")
			w.contains(w.show("c1", "main", "web/more.yaml"), "level: warn")
			before = w.refs()
			w.mustApply()
			w.unchanged(before)
			w.write("context/other.yaml", settings("other", "error"))
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "redraft"})
			w.mustRun(0, "approve", "c1/web")
			w.contains(w.show("c1", "main", "web/more.yaml"), "level: error")
		})
	}
}
