package e2e

import (
	"fmt"
	"testing"
)

// A target whose packages need one another in a ring is refused with the ring, and
// the other targets are served in the same run.
func TestRingDelaysNobody(t *testing.T) {
	t.Parallel()
	const ring, versions = 5, 5
	w := newHTTPWorld(t, "c1", "c2")
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
	for i := range ring {
		for v := range versions {
			w.offer(fmt.Sprintf("p%d", i), fmt.Sprintf("%d.0.0", v+1), fmt.Sprintf("  scope: Cluster\n  requires: [{alias: d, package: p%d}]\n", (i+1)%ring), nil)
		}
	}
	w.offer("db", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("p0", "5.0.0")
	w.write("app.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: app}\nspec: {target: c2, package: app}\n")
	for _, command := range []string{"resolve", "plan", "apply"} {
		r := w.mustRun(1, command)
		w.contains(r.err+r.out, "each must be there before the other: p0 needs p1 needs p2 needs p3 needs p4 needs p0")
	}
	w.contains(w.repos["c2"].Git(t, "branch", "--list"), "drafts/app/", "drafts/db/", "drafts/variform-lock/")
	w.lacks(w.repos["c1"].Git(t, "branch", "--list"), "drafts/")
}
