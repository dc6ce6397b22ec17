package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clashing is a fleet whose two packages need one database in versions that exclude
// each other.
func clashing(t *testing.T) *world {
	w := needing(t)
	w.offer("db", "1.0.0", "  scope: Cluster\n", nil)
	w.offer("db", "2.0.0", "  scope: Cluster\n", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: data, package: db, version: ^1}]\n", nil)
	w.offer("web", "1.0.0", "  requires: [{alias: data, package: db, version: ^2}]\n", nil)
	w.offer("old", "1.0.0", "  requires: [{alias: data, package: db, version: ^1}]\n", nil)
	return w
}

// Hints say in which file and line the field is that they would have a person edit, or,
// where no Installation has it yet, where what asks for it is.
func TestHintsSayWhere(t *testing.T) {
	t.Parallel()
	w := clashing(t)
	w.write("i.yaml", "# about app\napiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: app}\nspec:\n  target: c1\n  package: app\n  dependencies:\n    enabled: true\n")
	w.needs("app", "1.0.0")
	w.needs("web", "1.0.0")
	app, web := "spec.dependencies.overrides of the Installation of app (i.yaml:8)", "spec.dependencies.overrides of the Installation of web (no Installation yet for what web.yaml:1 asks for)"
	for _, command := range []string{"plan", "apply", "resolve", "why app", "why-not db 2.0.0", "graph", "status"} {
		r := w.run(strings.Fields(command)...)
		if strings.Count(r.err, app) != 1 || strings.Count(r.err, web) != 1 {
			t.Errorf("%s does not say once where:\n%s", command, r.err)
		}
	}
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: app}\nspec:\n  target: c1\n  package: app\n  dependencies:\n    overrides:\n    - {alias: data, constraints: '^1'}\n")
	w.contains(w.mustRun(1, "resolve").err, "of the Installation of app (i.yaml:8)")
}

// A target in which all conflicts still has what stands in it: why, why-not and graph
// tell that, and what was asked for, and the conflict once.
func TestAllConflicts(t *testing.T) {
	t.Parallel()
	w := clashing(t)
	w.needs("old", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	if err := os.Remove(filepath.Join(w.fleet(), "old.yaml")); err != nil {
		t.Fatal(err)
	}
	w.offer("lost", "1.0.0", "  requires: [{alias: data, package: nosuch}]\n", nil)
	w.needs("lost", "1.0.0")
	for command, want := range map[string]string{
		"why db":           "db 1.0.0 stands as it is locked, needed by old as data, until the target has an answer",
		"why lost":         "lost 1.0.0 was asked for and has no answer",
		"why-not db 2.0.0": "db 1.0.0 stands as it is locked",
		"graph":            "old<br/>1.0.0",
		"graph -o dot":     `lost\nno answer: 1.0.0`,
	} {
		r := w.mustRun(1, strings.Fields(command)...)
		w.contains(r.out, want)
		if n := strings.Count(r.out+r.err, "lost 1.0.0 needs nosuch"); n != 1 {
			t.Errorf("%s tells the conflict %d times:\n%s%s", command, n, r.out, r.err)
		}
	}
	w.lacks(w.mustRun(1, "outdated").err, "newest version")
}
