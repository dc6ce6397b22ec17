package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

const strategy = `apiVersion: variform.dev/v1alpha1
kind: RolloutStrategy
metadata: {name: prod}
spec:
  waves:
  - {name: canary, selector: {matchLabels: {ring: canary}}}
  - {name: rest}
  gates:
  - {soak: 24h}
%s`

// clocked is a world whose commands have a clock.
type clocked struct {
	*world
	now time.Time
}

func (w *clocked) at(status int, args ...string) result {
	w.t.Helper()
	var out, errs bytes.Buffer
	cache := filepath.Join(w.dir, "cache")
	args = append(args, "-f", w.fleet(), "--cache-dir", cache)
	got := cli.Main(context.Background(), args, cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs, State: filepath.Join(w.dir, "state"), Now: func() time.Time { return w.now },
	})
	r := result{got, out.String(), errs.String()}
	if got != status {
		w.t.Fatalf("variform %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, status, r.out, r.err)
	}
	return r
}

// rolledOut is a fleet with web v1 Published everywhere, and v2 approved as the Rollout
// web-v2-prod.
func rolledOut(t *testing.T, gates string, clusters ...string) *clocked {
	t.Helper()
	w := &clocked{newWorld(t, clusters...), time.Now().Add(time.Hour).Truncate(time.Second)}
	w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "env: prod", "env: prod, ring: canary", 1))
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	w.write("strategy.yaml", fmt.Sprintf(strategy, gates))
	w.mustApply()
	w.contains(w.at(0, append([]string{"approve", "--rollout", "prod"}, w.classes()...)...).out, "approved for rollout web-v2-prod: ", "canary 1", "soak 24h", "rollouts/web-v2-prod.yaml")
	return w
}

// classes are --class flags with all classes that review shows.
func (w *world) classes() (args []string) {
	for _, line := range strings.Split(w.mustRun(0, "review", "--no-diff").out, "\n") {
		if _, id, found := strings.Cut(line, "approve --class "); found {
			args = append(args, "--class", strings.Fields(id)[0])
		}
	}
	return args
}

func TestRollout(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2", "c3")
	// Nothing but advance publishes members, and no run changes their Drafts.
	before := w.refs()
	w.contains(w.mustRun(1, "approve", "--all").out, "in rollout web-v2-prod", "rollout stop web-v2-prod c2")
	w.mustApply()
	w.unchanged(before)

	w.contains(w.at(3, "rollout", "advance").out, "published c1/web v2", "1 of 3 published; wave canary, 1 of 2: soaks until")
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2")
	before = w.refs()
	w.now = w.now.Add(24*time.Hour - time.Second)
	w.at(3, "rollout", "advance")
	w.unchanged(before)
	w.now = w.now.Add(-48 * time.Hour) // a clock that goes back
	w.at(3, "rollout", "advance")
	w.unchanged(before)

	w.now = w.now.Add(48*time.Hour + 2*time.Second)
	w.contains(w.at(0, "rollout", "advance").out, "published c2/web v2", "published c3/web v2", "3 of 3 published; done")
	before = w.refs()
	w.contains(w.at(0, "rollout", "advance").out, "3 of 3 published; done")
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
}

// A hotfix of another field is kept; one of the same field stops its member alone.
func TestRolloutHotfix(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "  maxFailures: 1\n", "c1", "c2", "c3")
	w.at(3, "rollout", "advance")
	w.edit("c2", "main", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.edit("c3", "main", "web/deployment.yaml", "web:1.0", "web:1.0-fix")
	w.mustApply() // leaves members as they are
	w.now = w.now.Add(25 * time.Hour)
	r := w.at(0, "rollout", "advance")
	w.contains(r.out, "published c2/web v2", "done, except for c3 (c3/web needs an approval of its own: branch main changes the same")
	w.contains(w.show("c2", "main", "web/deployment.yaml"), "replicas: 7", "web:2.0")
	w.contains(w.show("c3", "main", "web/deployment.yaml"), "web:1.0-fix")
	w.contains(w.repos["c2"].Git(t, "log", "-1", "--format=%B", "main"), "Variform-Carried: ")
	w.wantActions(w.mustApply("--only", "c2"), map[string]string{})

	w.contains(w.at(0, "rollout", "stop", "web-v2-prod", "c3").out, "commit its file")
	w.wantActions(w.mustApply(), map[string]string{"c3/web": "update"})
}

// A hotfix that is a part of the approved change leaves another change to approve, though
// nothing conflicts.
func TestRolloutHotfixOfAPart(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	w.edit("c1", "main", "web/deployment.yaml", "web:1.0", "web:2.0")
	before := w.refs()
	w.contains(w.at(1, "rollout", "advance").out, "c1/web needs an approval of its own: with what branch main holds, it is another change")
	w.unchanged(before)
}

// What others push to Drafts publishes nothing that was not approved, and nothing earlier.
func TestRolloutForgedAndDeletedDrafts(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2", "c3", "c4")
	draft := "drafts/web/packagevariant-2"
	w.edit("c1", draft, "web/deployment.yaml", "web:2.0", "web:6.6.6")
	before := w.refs()
	r := w.at(1, "rollout", "advance")
	w.contains(r.out, "Blocked", "1 member failed, and 0 may: no Draft of c1/web holds what was approved: run variform apply")
	w.contains(r.err, "web-v2-prod: c1 is Moved: ", "variform rollout stop web-v2-prod c1")
	w.unchanged(before)
	w.repos["c1"].Git(t, "update-ref", "refs/heads/"+draft, draft+"~1")
	w.at(3, "rollout", "advance")

	// A Draft that is gone is drafted again of the same inputs, and has the same content.
	w.now = w.now.Add(25 * time.Hour)
	w.repos["c3"].Git(t, "update-ref", "-d", "refs/heads/"+draft)
	r = w.at(1, "rollout", "advance")
	w.contains(r.out, "no Draft of c3/web")
	w.wantRefs("c2", "refs/heads/"+draft, "refs/heads/main", "refs/tags/web/v1")
	w.wantActions(w.mustApply(), all("redraft", "c3/web"))
	w.contains(w.at(0, "rollout", "advance").out, "4 of 4 published; done")
	w.contains(w.show("c3", "main", "web/deployment.yaml"), "web:2.0")
}

func TestRolloutRefusedAndRaced(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	hook := filepath.Join(w.repos["c1"].Dir, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho not today >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.contains(w.at(1, "rollout", "advance").out, "waits for c1: c1/web was refused: ")
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			var out bytes.Buffer
			cli.Main(context.Background(), []string{"rollout", "advance", "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, fmt.Sprint("racer", i))}, cli.Streams{
				In: strings.NewReader(""), Out: &out, Err: &out, State: filepath.Join(w.dir, fmt.Sprint("state", i)), Now: func() time.Time { return w.now },
			})
		})
	}
	both.Wait()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2")
	w.contains(w.at(3, "rollout", "advance").out, "1 of 2 published; wave canary, 1 of 2: soaks until")
}

// A member that a forge merges counts as published, and one that is set back is not published again.
func TestRolloutMergedAndSetBack(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	dir := filepath.Join(t.TempDir(), "tree")
	w.repos["c1"].Git(t, "worktree", "add", "-q", dir, "main")
	gittest.Run(t, dir, nil, "merge", "-q", "--ff-only", "drafts/web/packagevariant-2")
	w.now = w.now.Add(100 * time.Hour)
	w.contains(w.at(3, "rollout", "advance").out, "1 of 2 published; wave canary, 1 of 2: no commit says when c1 was merged")
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	gittest.Run(t, dir, nil, "rm", "-rq", "web")
	gittest.Run(t, dir, nil, "checkout", "-q", "web/v1", "--", "web")
	gittest.Run(t, dir, nil, "commit", "-qm", "Back to v1")
	before := w.refs()
	w.contains(w.at(1, "rollout", "advance").out, "c1/web was set back on its branch, and is not published again")
	w.contains(w.mustRun(0, "status").out, "web-v2-prod", "Blocked")
	w.unchanged(before)

	w.at(0, "rollout", "stop", "web-v2-prod", "c1")
	w.contains(w.at(0, "rollout", "advance").out, "published c2/web v2", "DoneWithExceptions", "1 of 1 published; done, except for c1")
}

func TestRolloutNewerVersionWaits(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "  - {manual: {after: canary}}\n", "c1", "c2", "c3")
	w.at(3, "rollout", "advance")
	w.publishWeb(webV2, "v3")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v3", 1))
	r := w.mustRun(0, "apply")
	w.contains(r.err, "waits behind rollout web-v2-prod", "the same for 1 more variant")
	w.wantRefs("c2", "refs/heads/drafts/web/packagevariant-2", "refs/heads/main", "refs/tags/web/v1")

	w.at(0, "rollout", "pause", "web-v2-prod")
	w.now = w.now.Add(25 * time.Hour)
	w.contains(w.at(3, "rollout", "advance").out, "Paused", "run variform rollout resume web-v2-prod")
	w.at(0, "rollout", "resume", "web-v2-prod")
	w.contains(w.at(3, "rollout", "status").out, "waits for a person: run variform rollout resume web-v2-prod --after canary")
	w.at(0, "rollout", "resume", "web-v2-prod", "--after", "canary")
	w.contains(w.at(0, "rollout", "advance", "-o", "json").out, `"state": "Done"`, `"target": "c3"`)
	w.contains(w.show("c3", "main", "web/Kptfile"), "web/v2")
	w.wantActions(w.mustApply(), all("redraft", "c2/web", "c3/web"))
}

func TestRolloutStopAndRollback(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	w.at(3, "rollout", "advance")
	w.contains(w.at(2, "rollout", "rollback", "web-v2-prod", "canaries").err, `has no wave "canaries"`)
	w.contains(w.at(0, "rollout", "rollback", "web-v2-prod", "canary").out, "c1/web", "sets it back to v1", "next: commit its file")
	w.contains(w.at(3, "rollout", "status").out, "Paused")
	w.approveSeen("c1/web")
	w.at(0, "rollout", "stop", "web-v2-prod")
	before := w.refs()
	w.contains(w.at(0, "rollout", "advance").out, "Stopped", "apply updates the Drafts that are left")
	w.unchanged(before)
	w.contains(w.show("c1", "main", "web/deployment.yaml"), "web:1.0")
}

// A main that is rewritten, and two Rollouts of one package, stop.
func TestRolloutRewrittenAndTwice(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	file := filepath.Join(w.fleet(), "rollouts", "web-v2-prod.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.write("rollouts/again.yaml", strings.Replace(string(text), "name: web-v2-prod", "name: again", 1))
	before := w.refs()
	w.contains(w.at(1, "rollout", "advance").out, "is in the rollouts again and web-v2-prod: stop one of them")
	w.unchanged(before)
	w.write("rollouts/again.yaml", strings.Replace(strings.Replace(string(text), "name: web-v2-prod", "name: again", 1), "spec:\n", "spec:\n  replaces: web-v2-prod\n", 1))
	w.contains(w.at(3, "rollout", "advance").out, "replaced by again", "published c1/web v2")

	w.repos["c2"].Git(t, "update-ref", "refs/heads/main", w.repos["c2"].Git(t, "commit-tree", "-m", "anew", "main^{tree}"))
	w.now = w.now.Add(25 * time.Hour)
	w.contains(w.at(1, "rollout", "advance").out, "the registered branch of c2/web was rewritten since the approval")
}

func TestRolloutBadInput(t *testing.T) {
	t.Parallel()
	w := rolledOut(t, "", "c1", "c2")
	w.contains(w.at(2, "rollout", "pause", "web-v2-pro").err, `no Rollout is called "web-v2-pro": did you mean "web-v2-prod"?`)
	w.contains(w.at(1, "rollout", "advance", "web").err, `no Rollout is called "web"`)
	w.contains(w.at(2, "approve", "--all", "--rollout", "prod").err, "a rollout needs --class ID and --rollout STRATEGY")
	class := w.classes()
	w.contains(w.at(2, append([]string{"approve", "--rollout", "pro"}, class...)...).err, `no RolloutStrategy is called "pro": did you mean "prod"?`)
	w.contains(w.at(2, append([]string{"approve", "--rollout", "prod"}, class...)...).err, "a rollout is approved whole", "in rollout web-v2-prod")
	w.contains(w.at(2, append([]string{"approve", "--rollout", "prod", "--replaces", "web-v2-prod"}, class...)...).err, "a Rollout is called web-v2-prod already, and a name is used once")
	w.contains(w.at(0, append([]string{"approve", "--rollout", "prod", "--rollout-name", "second", "--replaces", "web-v2-prod"}, class...)...).out, "approved for rollout second")
	w.contains(w.at(3, "rollout", "advance").out, "published c1/web v2", "Replaced")

	w.write("rollouts/second.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Rollout\nmetadata: {name: second}\nspec: {stratgy: {}}\n")
	before := w.refs()
	w.now = w.now.Add(25 * time.Hour)
	r := w.at(1, "rollout", "advance") // the first one is not replaced by what cannot be read
	w.contains(r.err, "rollouts/second.yaml", "stratgy", `did you mean "strategy"`)
	w.contains(r.out, "not all files of the fleet can be read")
	w.unchanged(before)
}
