package controller_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// TestAsItWas: a fleet that had nothing to do, met a bad object and is again as it was says
// so.
func TestAsItWas(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.repo("c1")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), fmt.Sprintf(webSet, "{name: c1}"))
	fleet := fmt.Sprintf(objectsFleet, "1s")
	w.apply(fleet)
	w.start()
	w.says(fleet, "Ready", "True Reconciled")
	fetched := func() int { return w.git.Count(gittest.ReadRefs) }
	for range 2 { // it settles
		was := fetched()
		w.until("looked again", func() bool { return fetched() > was })
	}
	bad := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: bad}\nspec: {upstrem: {}}\n"
	w.apply(bad)
	w.says(fleet, "Ready", "False Error")
	if err := w.api.Delete(context.Background(), w.object(bad)); err != nil {
		t.Fatal(err)
	}
	w.says(fleet, "Ready", "True Reconciled")
}
