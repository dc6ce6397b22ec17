package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func policy(name string) string { return "  deletionPolicy: " + name + "\n" }

// The deletion policy in force is the variant's present one: a change of it is
// recorded, with no Draft and no commit on the package.
func TestPolicyInForce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then, now string
		open      bool // a Draft is open beside what is Published
		pruned    map[string]string
	}{
		"delete to orphan":          {"delete", "orphan", false, map[string]string{}},
		"orphan to delete":          {"orphan", "delete", false, all("retire", "c1/web")},
		"delete to orphan, a Draft": {"delete", "orphan", true, all("release", "c1/web")},
		"orphan to delete, a Draft": {"orphan", "delete", true, all("discard", "c1/web")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy(tt.then)))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			version := "v1"
			if tt.open {
				version = "v2"
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", policy(tt.then)))
				w.mustApply()
			}
			w.write("v.yaml", variantOf("web", version, "c1", "web", policy(tt.now)))
			before := w.refs()
			w.contains(w.plan().out, "deletionPolicy is "+tt.now+" from now on")
			w.wantActions(w.mustApply(), all("record", "c1/web"))
			w.unchanged(before)
			recorded := w.repos["c1"].AllRefs(t)
			w.wantActions(w.mustApply(), map[string]string{})
			w.wantActions(w.mustApply("--cache-dir", t.TempDir()), map[string]string{})
			if d := cmp.Diff(recorded, w.repos["c1"].AllRefs(t)); d != "" {
				t.Errorf("a second apply wrote (-was +is):\n%s", d)
			}
			w.mustRun(0, "record", "check")
			w.mustRun(0, "record", "rebuild")
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.mustApply("--prune"), tt.pruned)
		})
	}
}

// A Draft that is made anyway says the new policy itself; where nothing can be
// recorded, its next revision does.
func TestPolicyWithDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", policy("orphan")))
	w.wantActions(w.mustApply(), all("redraft", "c1/web"))
	w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/Kptfile"), "variform.dev/deletion-policy: orphan")
	w.repos["c1"].Git(t, "update-ref", "-d", "refs/heads/drafts/web/packagevariant-2") // a person's no
	w.write("v.yaml", "# nothing\n")
	w.wantActions(w.mustApply("--prune"), map[string]string{})
}

// One variant of many that a set makes is as many entries, and no Draft.
func TestPolicyOfASet(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	set := listSet("web", "web", "v1", "c1", "a", "b", "c", "d")
	w.write("set.yaml", set)
	w.mustApply()
	w.mustRun(0, "approve", "c1/a")
	w.write("set.yaml", set+"      template: {deletionPolicy: orphan}\n")
	w.srv.ResetCounts()
	before := w.refs()
	p := w.mustApply()
	w.wantActions(p, all("record", "c1/a", "c1/b", "c1/c", "c1/d"))
	w.contains(p.Summary, "4 recorded")
	w.unchanged(before)
	if n := w.srv.Count("push"); n != 1 {
		t.Errorf("%d pushes", n)
	}
	w.wantActions(w.mustApply(), map[string]string{})
}
