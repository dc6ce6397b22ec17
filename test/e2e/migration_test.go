package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// beforeHydrated is a commit whose program does not say in its commits what the
// machine made, and keeps no record.
const beforeHydrated = "6020f25c7c6bc2691127616048e8373dcbfedbb1"

// older builds the program of an earlier commit.
func older(t *testing.T, commit string) (program string) {
	t.Helper()
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skip("this is no Git repository, in which the earlier program could be found")
	}
	top := strings.TrimSpace(string(root))
	if exec.Command("git", "-C", top, "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Skip("the history is not whole: it lacks " + commit)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	source := filepath.Join(dir, "source")
	program = filepath.Join(dir, "variform")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/variform")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	for _, c := range []*exec.Cmd{
		exec.Command("git", "-C", top, "archive", "-o", archive, commit),
		exec.Command("tar", "-xf", archive, "-C", source),
		build,
	} {
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out)
		}
	}
	return program
}

// A fleet that an earlier version made goes on: what has not changed is not drafted
// anew, no edit goes, and where it is not known what the machine made it says so.
func TestMigration(t *testing.T) {
	t.Parallel()
	short(t)
	program := older(t, beforeHydrated)
	clusters := []string{"plain", "hotfix", "draft", "squashed", "published", "edited"}
	w := newWorld(t, clusters...)
	old := func(args ...string) {
		t.Helper()
		var out bytes.Buffer
		c := exec.Command(program, append(args, "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, "cache"))...)
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", c.Args, err, out.String())
		}
	}
	want := func(revision string) {
		for _, c := range clusters {
			w.write("variants/"+c+".yaml", variantOf(c, revision, c, "web", mutator("set-labels:v0.2", "team: x")))
		}
	}
	const draft1, draft2 = "drafts/web/packagevariant-1", "drafts/web/packagevariant-2"
	want("v1")
	old("apply")
	w.edit("edited", draft1, "web/settings.yaml", "level: info", "level: debug")
	old("approve", "--all")
	w.edit("hotfix", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
	before := w.refs()
	w.wantActions(w.plan(), map[string]string{})
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)

	w.publishWeb(webV2, "v2")
	want("v2")
	old("apply")
	w.edit("draft", draft2, "web/settings.yaml", "level: info", "level: warn")
	w.forgeMerge("squashed", draft2, "squash", true)
	old("approve", "published")

	// The first run of this version: only what others moved is touched, and gets
	// what this version makes otherwise.
	plan := w.plan()
	w.wantActions(plan, map[string]string{"draft/web": "update", "hotfix/web": "update", "squashed/web": "redraft"})
	w.contains(plan.out, "main moved since", "merged into main by other means: becomes v2")
	w.mustApply()
	before = w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
	w.contains(w.show("hotfix", "refs/heads/"+draft2, "web/deployment.yaml"), "cpu: 900m")
	if v2 := w.repos["squashed"].Git(t, "rev-parse", "refs/tags/web/v2", "main"); len(slices.Compact(strings.Fields(v2))) != 1 {
		t.Errorf("the squashed Draft is not tagged on main: %s", v2)
	}

	// The next update has every edit, and what upstream removed goes where nobody
	// edited.
	three := web("3.0", "100m", "info")
	w.publishWeb(three, "v3")
	w.repos["catalog"].Commit(t, "main", "no policy", gittest.Files{{Path: "web/policy.yaml", Mode: gittest.Deleted}})
	w.repos["catalog"].Tag(t, "web/v4", w.repos["catalog"].Git(t, "rev-parse", "main"))
	want("v4")
	update := w.mustApply()
	for cluster, draft := range map[string]string{
		"plain": draft2, "hotfix": draft2, "draft": draft2, "squashed": "drafts/web/packagevariant-3", "published": "drafts/web/packagevariant-3", "edited": draft2,
	} {
		ref := "refs/heads/" + draft
		w.contains(w.show(cluster, ref, "web/deployment.yaml"), ":3.0", "team: x", map[bool]string{true: "cpu: 900m", false: "cpu: 100m"}[cluster == "hotfix"])
		w.contains(w.show(cluster, ref, "web/settings.yaml"), map[string]string{"draft": "level: warn", "edited": "level: debug"}[cluster])
		policy := strings.Contains(w.repos[cluster].Git(t, "ls-tree", "--name-only", ref, "web/"), "policy.yaml")
		// Of an edited package of the earlier version it is not known what the machine
		// made, and nothing is taken away; the first run has made the Draft anew.
		guessed := cluster == "edited"
		if policy != guessed {
			t.Errorf("%s: there is policy.yaml, which upstream removed: %t", cluster, policy)
		}
		told := slices.ContainsFunc(update.variant(t, cluster+"/web").Conflicts, func(c string) bool { return strings.Contains(c, "policy.yaml") && strings.Contains(c, "base unknown") })
		if told != guessed {
			t.Errorf("%s: told of policy.yaml: %t", cluster, told)
		}
	}
	before = w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
	w.approveSeen()
	w.mustApply()
	if got := len(w.edits()); got == 0 {
		t.Error("no edit is known any more")
	}
}
