package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is left where a Repository was taken out of the fleet is told, and never
// touched: by its owner's name, as far as this machine's state folder knows.
func TestRepositoryTakenOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.mustRun(0, "approve", "--all") // notes what it published: no run is between
	repo := repository("c2", w.url("c2"), true, "")
	w.write("repositories/c2.yaml", "")
	before := w.refs()
	for range 2 {
		for _, p := range []planned{w.plan(), w.mustApply("--prune", "--max-delete=9")} {
			text := strings.Join(p.Warnings, "\n")
			w.contains(text, "no Repository shows 1 package in ", "c2.git any more, and they are Published there for this fleet: web", "apply --prune")
			if p.status != 0 {
				t.Errorf("status %d", p.status)
			}
		}
	}
	w.contains(w.mustRun(0, "status").err, "no Repository shows 1 package in ")
	w.lacks(w.mustRun(0, "status").err, "c1.git any more")
	w.unchanged(before)
	w.contains(w.mustRun(0, "plan", "-o", "wide", "--cache-dir", t.TempDir()).err, "no Repository shows 1 package in ")
	w.lacks(runIn(filepath.Join(t.TempDir(), "cache"), "plan", "-f", w.fleet()).err, "no Repository shows") // another machine

	// As it is said: described without labels it is pruned, and then nothing is left.
	w.write("repositories/c2.yaml", strings.Replace(repo, "  labels: {env: prod}\n", "", 1))
	w.wantActions(w.mustApply("--prune"), all("retire", "c2/web"))
	w.mustRun(0, "approve", "c2/web")
	w.write("repositories/c2.yaml", "")
	for range 2 {
		if p := w.mustApply(); len(p.Warnings) > 0 {
			t.Errorf("warnings %v", p.Warnings)
		}
	}
}

// A file that cannot be read may be that of a Repository: nothing is said.
func TestRepositoryUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustApply()
	w.write("repositories/c1.yaml", "kind: [\n")
	w.lacks(strings.Join(w.plan().Warnings, "\n"), "no Repository shows")
}
