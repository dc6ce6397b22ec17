package e2e

import (
	"strings"
	"testing"
)

// Found by a review of the reconciler: each was a silent wrong variant, a stuck
// state, or one bad package that stopped the others.

// A renamed variant takes its functions along: those of the old name would run
// last and win.
func TestRenamedVariantKeepsNoOldFunctions(t *testing.T) {
	w := newWorld(t, "c1")
	pipe := func(ns string) string {
		return "  pipeline:\n    mutators:\n      - image: gcr.io/kpt-fn/set-namespace:v0.4.1\n        configMap: {namespace: " + ns + "}\n"
	}
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", pipe("old")))
	w.mustApply()
	w.write("v.yaml", variantOf("two", "v1", "c1", "web", pipe("new")))
	w.mustApply()
	kptfile := w.show("c1", draft1, "web/Kptfile")
	if strings.Contains(kptfile, "PackageVariant.one.") || !strings.Contains(kptfile, "PackageVariant.two.") {
		t.Errorf("functions of the old name are still there:\n%s", kptfile)
	}
	if got := w.show("c1", draft1, "web/deployment.yaml"); !strings.Contains(got, "namespace: new") {
		t.Errorf("the old namespace won:\n%s", got)
	}
}

// One folder seen through two Repositories is one place: two variants for it
// are an error that names both, in each run, and neither is written.
func TestTwoVariantsForOnePlace(t *testing.T) {
	w := newWorld(t, "c1")
	w.write("repositories/c1b.yaml", repository("c1b", w.url("c1"), true, ""))
	w.write("a.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("b.yaml", variantOf("two", "v1", "c1b", "web", ""))
	for range 2 {
		r := w.run("apply")
		if text := r.out + r.err; r.status != 1 || !strings.Contains(text, "one") || !strings.Contains(text, "two") {
			t.Errorf("status %d:\n%s", r.status, text)
		}
		if _, written := w.refs()["c1 "+draft1]; written {
			t.Error("a Draft was written for a place that two variants want")
		}
	}
}

// One Git repository as a whole and by directory lists each revision once.
func TestRootAndDirectoryOfOneRepository(t *testing.T) {
	w := newWorld(t, "mono")
	w.write("repositories/mono-c1.yaml", repository("mono-c1", w.url("mono"), true, "clusters/c1"))
	w.write("v.yaml", variantOf("one", "v1", "mono-c1", "web", ""))
	w.mustApply()
	if r := w.run("review", "--no-diff"); !strings.Contains(r.out, "    1 variant in 1 class\n1 variant:") {
		t.Errorf("review counts twice:\n%s", r.out)
	}
	w.mustRun(0, "approve", "--all")
}

// A Draft and a Proposed branch of one workspace stall that variant alone.
func TestDraftAndProposedOfOneWorkspace(t *testing.T) {
	w := newWorld(t, "c1")
	w.write("a.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.repos["c1"].Branch(t, "proposed/web/packagevariant-1", w.refs()["c1 "+draft1])
	w.publishWeb(webV2, "v2")
	w.write("a.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.write("c.yaml", variantOf("three", "v2", "c1", "third", ""))
	if r := w.run("apply"); r.status != 1 {
		t.Errorf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	if _, ok := w.refs()["c1 refs/heads/drafts/third/packagevariant-1"]; !ok {
		t.Error("the other variant of the repository was not made")
	}
}

// A Draft that holds already what was published since it began can be approved
// after the next apply.
func TestDraftBehindWithEqualContentIsNotStuck(t *testing.T) {
	w := newWorld(t, "c1")
	w.write("a.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("a.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-2", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	c := w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.repos["c1"].Tag(t, "web/v2", c)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
}

// Two management roots without a name would act as one manager: they may not
// delete.
func TestPruneNeedsAManagerName(t *testing.T) {
	w := newWorld(t, "c1")
	w.write("Kptfile", "")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	if r := w.run("apply", "--prune"); r.status != 2 || !strings.Contains(r.err, "--manager") {
		t.Errorf("status %d:\n%s", r.status, r.err)
	}
}
