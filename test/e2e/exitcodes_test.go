package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Each exit code means one thing, whichever command it is of: 0 done, 1 findings or
// a failure in part, 2 could not run, 3 pending where that was asked.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	v := func(name, revision string) string { return variantOf(name, revision, "c1", name, "") }
	fine := func(w *world) { w.write("web.yaml", v("web", "v1")) }
	applied := func(w *world) { fine(w); w.mustApply() }
	published := func(w *world) { applied(w); w.mustRun(0, "approve", "--all") }
	failing := func(w *world) { applied(w); w.write("bad.yaml", v("bad", "v12")) }
	failed := func(w *world) { failing(w); w.apply() }
	held := func(w *world) { fine(w); w.mustRun(0, "hold", "web", "--reason", "later") }
	hotfix := func(w *world) {
		published(w)
		w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
	}
	outOfDate := func(w *world) { applied(w); w.write("web.yaml", v("web", "v2")) }
	gone := func(w *world) {
		for _, n := range []string{"web", "a", "b"} {
			w.write(n+".yaml", v(n, "v1"))
		}
		w.mustApply()
		for _, n := range []string{"web", "a", "b"} {
			w.write(n+".yaml", "# gone\n")
		}
	}
	unread := func(w *world) { applied(w); w.write("other.yaml", repository("other", "/no/such/place", true, "")) }
	forged := func(w *world) {
		applied(w)
		w.repos["c1"].Git(t, "branch", "-D", "drafts/web/packagevariant-1")
	}
	noSuch := func(w *world) { w.write("x.yaml", "kind: [\n") }
	for _, c := range []struct {
		before func(w *world)
		args   string
		status int
	}{
		{fine, "plan", 0},
		{fine, "plan --exit-code", 3},
		{failing, "plan --exit-code", 1}, // whatever is pending besides
		{applied, "plan --exit-code", 0},
		{held, "plan --exit-code", 0},
		{gone, "plan --exit-code", 0}, // kept: pruning was not asked for
		{gone, "plan --prune --exit-code", 1},
		{gone, "plan --prune --max-delete 3 --exit-code", 3},
		{unread, "plan", 1},
		{noSuch, "plan", 1},
		{fine, "plan --only nosuch", 2},
		{fine, "plan nosuch", 2},
		{fine, "plan -o nosuch", 2},
		{fine, "plan --nosuch", 2},

		{fine, "apply", 0},
		{held, "apply", 0},
		{failing, "apply", 1},
		{gone, "apply", 0},
		{gone, "apply --prune", 1},
		{gone, "apply --prune --max-delete 3", 0},
		{unread, "apply", 1},
		{fine, "apply --retry nosuch", 2},

		{fine, "status", 0},
		{outOfDate, "status", 0},
		{held, "status", 0},
		{failed, "status", 1},
		{unread, "status", 1},
		{fine, "status --only nosuch", 2},

		{outOfDate, "diff", 0},
		{outOfDate, "diff --exit-code", 3},
		{failing, "diff --exit-code", 1}, // whatever is pending besides
		{applied, "diff --exit-code", 0},
		{failing, "diff", 1},
		{fine, "diff nosuch", 2},
		{fine, "diff --against nosuch", 2},

		{applied, "review", 0},
		{unread, "review", 1},
		{applied, "review -o nosuch", 2},

		{applied, "propose web", 0},
		{published, "propose web", 1}, // there is nothing to propose
		{applied, "propose", 2},
		{applied, "approve web", 0},
		{outOfDate, "approve web", 1},
		{unread, "approve web", 1},
		{applied, "approve --class nosuch", 1},
		{applied, "approve nosuch", 1},
		{applied, "approve", 2},
		{hotfix, "approve --main", 0},
		{published, "approve --main", 1},
		{hotfix, "approve --main nosuch", 2},
		{hotfix, "approve --main --all", 2},
		{applied, "reject web", 1},
		{applied, "reject", 2},

		{applied, "discard web --reason x", 0},
		{published, "discard web --reason x", 1},
		{applied, "discard web", 2},
		{applied, "hold web --reason x", 0},
		{applied, "hold --off web", 2},
		{hotfix, "revert web v1", 0},
		{published, "revert web v1", 0}, // it is so already
		{published, "revert web v2", 1},
		{published, "revert web", 2},

		{hotfix, "edits", 0},
		{unread, "edits", 1},
		{applied, "edits nosuch", 2},
		{applied, "record check", 0},
		{forged, "record check", 1},
		{unread, "record show", 1},
		{applied, "resolve", 2}, // nothing is asked for
		{applied, "nosuch", 2},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.repos["catalog"].Tag(t, "web/v12", w.repos["catalog"].Commit(t, "bad", "web v12", gittest.Text{"web/Kptfile": "kind: [\n"}))
			c.before(w)
			w.mustRun(c.status, strings.Fields(c.args)...)
		})
	}
}
