package e2e

import (
	"strings"
	"testing"
)

// What many variants or targets fail of is said once.
func TestOneCauseOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2", "c3", "c4", "c5")
	w.write("set.yaml", stagedSet+"            stage: live\n          dataExprs:\n          - key: tier\n            valueExpr: repository.labels['nope']\n")
	for _, command := range []string{"plan", "apply", "status"} {
		r := w.mustRun(1, command)
		w.contains(r.err, "the same for 4 more targets: Repository c2, package web; Repository c3, package web; Repository c4, package web; and 1 more")
		if n := strings.Count(r.err, "no such key"); n != 1 {
			t.Errorf("%s says it %d times:\n%s", command, n, r.err)
		}
	}
	w.publishWeb(map[string]string{
		"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n  - exec: /not/there\n",
	}, "v2")
	w.write("set.yaml", strings.Replace(stagedSet, "revision: v1", "revision: v2", 1)+"            stage: live\n")
	r := w.mustRun(1, "apply", "-o", "name")
	w.contains(r.err, "error: the same for 4 more variants (c2/web, c3/web, c4/web, and 1 more): ")
	if n := strings.Count(r.err, "pipeline.mutators[0]"); n > 2 {
		t.Errorf("said %d times:\n%s", n, r.err)
	}
}

// A warning that the run before printed is counted, until it changes.
func TestKnownWarnings(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("lib", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: l, package: lib}]\n", nil)
	w.repos["catalog"].Git(t, "tag", "lib/1.02.3", "lib/v1.0.0")
	w.needs("app", "1.0.0")
	const known, passed = "note: 1 warning as in the run before: -o wide prints all\n", "passed over what is no semantic version"
	w.mustRun(0, "plan", "-q") // it prints none, and hides none
	w.contains(w.mustRun(0, "plan").err, passed)
	if r := w.mustRun(0, "apply"); r.err != known {
		t.Errorf("apply after plan: %q", r.err)
	}
	r := w.mustRun(0, "plan", "-o", "wide")
	w.contains(r.err, passed)
	w.lacks(r.err, "as in the run before")
	w.repos["catalog"].Git(t, "tag", "lib/1.02.4", "lib/v1.0.0")
	w.contains(w.mustRun(0, "apply").err, passed)
	for range 2 { // the second looks at refs alone
		if r := w.mustRun(0, "apply"); r.err != known {
			t.Errorf("again: %q", r.err)
		}
	}
}
