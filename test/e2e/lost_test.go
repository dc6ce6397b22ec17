package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

const draft2 = "drafts/web/packagevariant-2"

// hotfixed is a fleet of c1 and c2 at v1, where a person set cpu on c1's main; v2 changes
// it, too, and is drafted. before says that the Draft is there when the person comes.
func hotfixed(t *testing.T, before bool) *world {
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	hotfix := func() { w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 250m") }
	if !before {
		hotfix()
	}
	w.publishWeb(webCPU, "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	if before {
		w.mustApply()
		hotfix()
	}
	return w
}

const (
	cpu   = "spec.template.spec.containers[name=web].resources.requests.cpu"
	loses = "loses 1 edit: " + cpu + " 250m → 300m (by Ann Tester)"
)

// Whoever reads of a revision that loses an edit by hand is told so, and no door
// publishes it unseen.
func TestLostEditIsToldEverywhere(t *testing.T) {
	for name, before := range map[string]bool{"the edit was there first": false, "the Draft was there first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hotfixed(t, before)
			for _, args := range [][]string{{"plan"}, {"apply"}, {"apply"}, {"plan"}, {"plan", "-o", "json"}, {"plan", "-o", "markdown"}} {
				w.contains(w.mustRun(0, args...).out, strings.TrimPrefix(loses, "loses 1 edit: "))
			}
			for _, args := range [][]string{
				{"status"}, {"status", "-o", "yaml"}, {"review"}, {"review", "-o", "json"}, {"review", "-o", "markdown"}, {"review", "-o", "html"}, {"review", "-o", "wide", "--no-diff"},
			} {
				out := strings.Join(strings.Fields(w.mustRun(0, args...).out), " ") // YAML breaks lines
				w.contains(out, loses)
				w.lacks(out, "edit by hand on main") // it would read as kept
			}
			w.contains(w.mustRun(0, "status", "-o", "json").out, `"type": "LosesEdits"`)
			w.contains(w.mustRun(0, "plan", "-o", "json").out, `"was": "250m"`, `"now": "300m"`, `"by": "Ann Tester (`)
			w.contains(w.mustRun(0, "edits", "--lost").out, "250m")

			main := w.refs()["c1 refs/heads/main"]
			for _, args := range [][]string{{"c1/web"}, {"web"}, {"--all"}, {"-l", "cluster"}} {
				r := w.run(append([]string{"approve"}, args...)...)
				if r.status == 0 || w.refs()["c1 refs/heads/main"] != main {
					t.Fatalf("approve %q: %d\n%s", args, r.status, r.out+r.err)
				}
				if args[0] != "-l" {
					w.contains(r.out, "refused: "+loses, "--accept-lost")
				}
			}
			w.wantRefs("c2", "refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2") // which loses nothing
			w.mustRun(0, "propose", "c1/web")
			w.contains(w.mustRun(1, "approve", "c1/web").out, loses)
			w.contains(w.mustRun(0, "approve", "--class", w.class("c1/web")).out, "Published v2; "+loses)
			w.lacks(w.mustRun(0, "status").out, "loses")
		})
	}
}

// --accept-lost stands for having seen it, and the machine-readable verdict has it.
func TestAcceptLost(t *testing.T) {
	t.Parallel()
	w := hotfixed(t, false)
	w.mustApply()
	w.contains(w.mustRun(0, "approve", "web", "--accept-lost", "-o", "json").out, `"lost": [`, `"was": "250m"`)
	w.contains(w.show("c1", "main", "web/deployment.yaml"), "cpu: 300m")
}

// An edit that is there again is lost no more: kept by the fleet, put back into the
// Draft, or taken back on the branch.
func TestLostEditComesBack(t *testing.T) {
	for name, again := range map[string]func(w *world){
		"edits keep":      func(w *world) { w.mustRun(0, "edits", "keep", "c1/web") },
		"kept":            func(w *world) { w.write("sets/web.yaml", keeping("v2")) },
		"on the Draft":    func(w *world) { w.edit("c1", draft2, "web/deployment.yaml", "cpu: 300m", "cpu: 250m") },
		"off the branch":  func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "cpu: 250m", "cpu: 100m") },
		"with upstream's": func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "cpu: 250m", "cpu: 300m") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hotfixed(t, false)
			w.mustApply()
			again(w)
			w.mustApply()
			for _, args := range [][]string{{"plan"}, {"status"}, {"review"}} {
				w.lacks(w.mustRun(0, args...).out, "loses", "lost")
			}
			w.approveSeen()
		})
	}
}

func keeping(version string) string {
	set := strings.Replace(webSet, "revision: v1", "revision: "+version, 1)
	return strings.Replace(set, "metadata:\n", "metadata:\n  annotations: {variform.dev/on-conflict: keep}\n", 1)
}

// Edits of other kinds are lost as values are: of a Draft, of a field that the pipeline
// sets, of a whole file by the strategy.
func TestLostEditsOfOtherKinds(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(w *world)
		want string
	}{
		"on the Draft, by a newer version": {func(w *world) {
			w.write("sets/web.yaml", webSet)
			w.mustApply()
			w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "cpu: 100m", "cpu: 250m")
			w.publishWeb(webCPU, "v2")
			w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
		}, loses},
		"a file, by the strategy": {func(w *world) {
			w.write("sets/web.yaml", webSet)
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.repos["c1"].Commit(t, "main", "by hand", gittest.Text{"web/mine.yaml": configMap("mine", "a: 1")})
			w.publishWeb(webCPU, "v2")
			set := strings.Replace(webSet, "revision: v1", "revision: v2", 1)
			w.write("sets/web.yaml", strings.Replace(set, "metadata:\n", "metadata:\n  annotations: {variform.dev/update-strategy: force-delete-replace}\n", 1))
		}, "ConfigMap mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			c.lose(w)
			w.contains(w.mustRun(0, "plan").out, "loses 1 edit: ", c.want)
			w.mustApply()
			w.contains(w.mustRun(0, "status").out, "loses 1 edit: ", c.want)
			w.contains(w.mustRun(0, "review").out, "loses 1 edit: ", c.want)
			w.contains(w.mustRun(1, "approve", "--all").out, "loses 1 edit: ", c.want)
		})
	}
}

// Where activation is Automatic, a lost edit waits for a person, who is asked the same.
func TestAutomaticLeavesLostEdits(t *testing.T) {
	t.Parallel()
	w := hotfixed(t, false)
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.mustApply()
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/web"))
	w.contains(strings.Join(p.variant(t, "c1/web").Reasons, "\n"), loses, "activation is Automatic, but")
	w.contains(w.show("c1", "main", "web/deployment.yaml"), "cpu: 250m")
	w.contains(w.mustRun(1, "approve", "c1/web").out, loses)
	w.mustRun(0, "approve", "c1/web", "--accept-lost")
}

// What is kept stands in the Draft of now and in those after it; what is dropped goes.
func TestEditsKeepAndDrop(t *testing.T) {
	t.Parallel()
	w := hotfixed(t, false)
	w.mustApply()
	w.contains(w.mustRun(1, "approve", "c1/web").out, "to keep the edit, run edits keep c1/web")
	w.mustRun(0, "edits", "keep", "c1/web")
	w.contains(w.show("c1", draft2, "web/deployment.yaml"), "cpu: 250m")
	w.wantActions(w.mustApply(), map[string]string{})
	w.publishWeb(webCPU, "v3")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v3", 1))
	w.mustApply()
	w.contains(w.show("c1", draft2, "web/deployment.yaml"), "cpu: 250m")
	w.edit("c1", draft2, "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.contains(w.mustRun(2, "edits", "drop").err, "edits drop: give the names")
	w.mustRun(0, "edits", "drop", "c1/web", "--edit", "spec.replicas")
	w.contains(w.show("c1", draft2, "web/deployment.yaml"), "cpu: 250m", "replicas: 2")
	w.edit("c1", draft2, "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.mustRun(0, "edits", "drop", "c1/web")
	w.contains(w.show("c1", draft2, "web/deployment.yaml"), "cpu: 300m", "replicas: 2")
	w.wantActions(w.mustApply(), map[string]string{})
}
