package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
)

const recordRef = "refs/variform/variform" // of a root without a name

// edited is a fleet whose one Draft holds an edit through an update: no commit has
// what the machine made of that.
func edited(t *testing.T) *world {
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "kind: Deployment", "kind: Deployment # mine")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.mustApply()
	if _, ok := w.repos["c1"].AllRefs(t)[recordRef]; !ok {
		t.Fatalf("there is no record: %v", w.repos["c1"].AllRefs(t))
	}
	return w
}

// forgeRecord replaces text in the record's index.
func (w *world) forgeRecord(old, now string) {
	w.t.Helper()
	git := w.repos["c1"]
	changed := gittest.Text{}
	for _, path := range strings.Fields(git.Git(w.t, "ls-tree", "-r", "--name-only", recordRef, "index/")) {
		if text := git.Show(w.t, recordRef, path); strings.Contains(text, old) {
			changed[path] = strings.ReplaceAll(text, old, now)
		}
	}
	if len(changed) == 0 {
		w.t.Fatalf("the record has no %q", old)
	}
	git.Git(w.t, "update-ref", recordRef, git.CommitFrom(w.t, "forging", recordRef, "forged", changed))
	git.Git(w.t, "update-ref", "-d", "refs/heads/forging")
}

func TestRecordCommands(t *testing.T) {
	t.Parallel()
	w := edited(t)
	w.contains(w.mustRun(0, "record", "show").out, "c1", "open/web/packagevariant-1", "yes", "/default/one", "1 entry")
	w.contains(w.mustRun(0, "record", "show", "-o", "yaml").out, "place: open", "repository: c1", "hydrated: ")
	w.contains(w.mustRun(0, "record", "show", "-o", "name").out, "c1 open/web/packagevariant-1\n")
	w.mustRun(0, "record", "check")
	w.mustRun(0, "approve", "--all")
	w.contains(w.mustRun(0, "record", "check", "-o", "wide").out, "main/web", "past/web/v1", "2 entries")
	w.mustRun(0, "record", "rebuild")
	w.contains(w.mustRun(0, "record", "check").out, "main/web", "past/web/v1")
	// The next update starts from what the record has.
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	draft := w.show("c1", "drafts/web/packagevariant-2", "web/deployment.yaml")
	w.contains(draft, "kind: Deployment # mine", "replicas: 2")
	w.mustRun(0, "record", "check")
}

// A record that lies, or is lost, is found out, and costs no run.
func TestRecordFindings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm func(w *world)
		says []string // check
		// made is whether rebuild makes all anew.
		made bool
	}{
		"another tree": {func(w *world) {
			hydrated := w.repos["c1"].Git(w.t, "rev-parse", recordRef+":open/web/packagevariant-1")
			w.forgeRecord(hydrated, w.repos["c1"].Git(w.t, "rev-parse", "drafts/web/packagevariant-1:web"))
		}, []string{"its commit names another tree"}, true},
		"another commit": {func(w *world) {
			w.forgeRecord(w.repos["c1"].Git(w.t, "rev-parse", "drafts/web/packagevariant-1"), strings.Repeat("1", 40))
		}, []string{"the repository has its commit no more"}, true},
		"another workspace": {func(w *world) { w.forgeRecord("packagevariant-1", "packagevariant-7") }, []string{"no such revision is there"}, true},
		"damaged":           {func(w *world) { w.forgeRecord(`"place"`, `"plaice"`) }, []string{"unknown field", "index/"}, true},
		"newer":             {func(w *world) { w.forgeRecord("record/v1", "record/v3") }, []string{"newer version of variform"}, false},
		"lost":              {func(w *world) { w.repos["c1"].Git(w.t, "update-ref", "-d", recordRef) }, nil, true},
		"lost for good": {func(w *world) {
			w.repos["c1"].Git(w.t, "update-ref", "-d", recordRef)
			w.repos["c1"].Git(w.t, "gc", "-q", "--prune=now")
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := edited(t)
			tt.harm(w)
			status := 1
			if tt.says == nil {
				status = 0
			}
			r := w.mustRun(status, "record", "check")
			w.contains(r.out+r.err, tt.says...)
			w.mustRun(0, "plan")
			w.wantActions(w.mustApply(), map[string]string{})
			if tt.made {
				w.mustRun(0, "record", "rebuild")
				w.contains(w.mustRun(0, "record", "check").out, "open/web/packagevariant-1")
				return
			}
			w.mustRun(1, "record", "rebuild")
			w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
			w.wantActions(w.mustApply(), all("update", "c1/web"))
			w.contains(w.show("c1", "drafts/web/packagevariant-1", "web/deployment.yaml"), "kind: Deployment # mine")
		})
	}
}
