package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

func TestProposeRejectApprove(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	drafts := w.refs()
	start := drafts["c1 refs/heads/main"]

	w.mustRun(0, "propose", "c1/a")
	w.wantRefs("c1", "refs/heads/drafts/b/packagevariant-1", "refs/heads/main", "refs/heads/proposed/a/packagevariant-1")
	if got, want := w.refs()["c1 refs/heads/proposed/a/packagevariant-1"], drafts["c1 refs/heads/drafts/a/packagevariant-1"]; got != want {
		t.Errorf("proposed is %s, the Draft was %s", got, want)
	}
	w.wantActions(w.mustApply(), map[string]string{}) // a proposal alone is no work

	w.mustRun(0, "reject", "c1/a")
	w.unchanged(drafts)
	w.mustRun(0, "propose", "web-c1-a")

	// A Draft and a Proposed revision of one repository: one push.
	w.srv.ResetCounts()
	r := w.mustRun(0, "approve", "--all")
	w.contains(r.out, "c1/a", "c1/b", "Published v1")
	if n := w.srv.Count(gittest.Push); n != 1 {
		t.Errorf("%d pushes, want 1", n)
	}
	w.wantRefs("c1", "refs/heads/main", "refs/tags/a/v1", "refs/tags/b/v1")

	repo := w.repos["c1"]
	if got := repo.Git(t, "rev-parse", "b/v1"); got != w.refs()["c1 refs/heads/main"] {
		t.Errorf("the last approval is not on main: %s", got)
	}
	for pkg, parent := range map[string]string{"a": start, "b": repo.Git(t, "rev-parse", "a/v1")} {
		parents := strings.Fields(repo.Git(t, "log", "-1", "--format=%P", pkg+"/v1"))
		want := []string{parent, drafts["c1 refs/heads/drafts/"+pkg+"/packagevariant-1"]}
		if d := cmp.Diff(want, parents); d != "" {
			t.Errorf("parents of %s/v1:\n%s", pkg, d)
		}
		message := repo.Git(t, "log", "-1", "--format=%an%n%B", pkg+"/v1")
		w.contains(message, "Rae Viewer", `"workspaceName":"packagevariant-1","revision":"1"`)
	}
	if got := repo.Git(t, "ls-tree", "--name-only", "main"); got != "README.md\na\nb" {
		t.Errorf("main holds %q", got)
	}
	w.wantActions(w.mustApply(), map[string]string{})
	if r := w.mustRun(1, "approve", "c1/a"); !strings.Contains(r.err, "c1/a") {
		t.Errorf("approving what is published says %q", r.err)
	}
}

const gated = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    kpt.dev/config-injection: required
data:
  level: none
`

const settingsInjector = "  injectors:\n    - kind: ConfigMap\n      name: settings\n"

// In a deployment repository a readiness gate that is False stops the approval.
func TestApproveWaitsForReadinessGates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.repo("blueprints", false)
	w.repos["blueprints"].Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	w.publishWeb(merged(webV1, gittest.Text{"web/settings.yaml": gated}), "v2")
	w.write("v/c1.yaml", variantOf("one", "v2", "c1", "web", settingsInjector))
	w.write("v/bp.yaml", variantOf("two", "v2", "blueprints", "web", settingsInjector))
	w.mustApply()
	before := w.refs()

	r := w.mustRun(1, "approve", "c1/web")
	w.contains(r.out+r.err, "config.injection.ConfigMap.settings", "run apply, and approve again")
	w.unchanged(before)
	w.mustRun(0, "approve", "blueprints/web") // no deployment: gates are for later

	w.write("context/settings.yaml", settings("settings", "debug"))
	w.wantActions(w.mustApply(), map[string]string{"c1/web": "update", "blueprints/web": "redraft"})
	w.contains(w.show("c1", draft1, "web/settings.yaml"), "level: debug")
	w.mustRun(0, "approve", "c1/web")
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
}

// What another published since the Draft began is not taken back.
func TestApproveRefusesAfterAnotherPublication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("redraft", "c1/web"))

	// Another publishes v2 with a change of its own.
	other := w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 5")
	w.repos["c1"].Tag(t, "web/v2", other)
	before := w.refs()
	r := w.mustRun(1, "approve", "c1/web")
	w.contains(r.out+r.err, "v2 was published since", "run apply")
	w.unchanged(before)

	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.mustRun(0, "approve", "c1/web")
	deployment := w.show("c1", "web/v3", "web/deployment.yaml")
	w.contains(deployment, "replicas: 5", "web:2.0")
}

// A change on the branch that no revision holds is not taken back either.
func TestApproveRefusesWhatTheBranchAloneHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 9")
	before := w.refs()
	r := w.mustRun(1, "approve", "c1/web")
	w.contains(r.out+r.err, "main", "in no published revision", "run apply")
	w.unchanged(before)
}

// Publishing takes the package alone: what a Draft changes beside it is named
// in review, and stands in the way of an approval.
func TestApproveRefusesWhatItWouldLeaveBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "apps/web"))
	w.mustApply()
	branch := "drafts/apps/web/packagevariant-1"
	w.repos["c1"].Commit(t, branch, "beside", gittest.Text{"apps/NOTES.md": "x\n", "apps/web/deployment.yaml": webV2["web/deployment.yaml"]})
	before := w.refs()
	w.contains(w.mustRun(0, "review").err, "apps/NOTES.md", "the package alone")
	w.contains(w.mustRun(1, "approve", "--all").out, "it holds edits in deployment.yaml: run review")
	r := w.mustRun(1, w.seen()...)
	w.contains(r.out+r.err, "apps/NOTES.md", "the package alone")
	w.unchanged(before)
	w.repos["c1"].Git(t, "update-ref", "refs/heads/"+branch, before["c1 refs/heads/"+branch]+"^")
	w.mustRun(0, "approve", "--all")
}

// What a Draft has from the registered branch is not lost by publishing.
func TestApproveAfterMergingTheBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "other", "web"))
	w.mustApply()
	w.mustRun(0, "approve", "c1/other")
	dir := filepath.Join(t.TempDir(), "tree")
	w.repos["c1"].Git(t, "worktree", "add", "-q", dir, "drafts/web/packagevariant-1")
	gittest.Run(t, dir, nil, "merge", "-q", "--no-edit", "main")
	w.repos["c1"].Git(t, "worktree", "remove", "--force", dir)
	w.mustRun(0, "approve", "c1/web")
	if got := w.repos["c1"].Git(t, "ls-tree", "--name-only", "main"); got != "README.md\nother\nweb" {
		t.Errorf("main holds %q", got)
	}
}

type reviewed struct {
	Summary string
	Classes []struct {
		ID, Key, Says, Diff, Example string
		Members                      []string
	}
}

func (w *world) review() reviewed {
	w.t.Helper()
	var r reviewed
	out := w.mustRun(0, "review", "-o", "json").out
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// class is the ID of the class with exactly these members.
func (w *world) class(members ...string) string {
	w.t.Helper()
	r := w.review()
	for _, c := range r.Classes {
		if cmp.Equal(c.Members, members) {
			return c.ID
		}
	}
	w.t.Fatalf("no class of %v in %+v", members, r)
	return ""
}

// approveSeen approves the classes that review shows of these packages, of all for none, as a
// person who saw them.
func (w *world) approveSeen(packages ...string) result {
	w.t.Helper()
	return w.mustRun(0, w.seen(packages...)...)
}

// seen is the command of approveSeen.
func (w *world) seen(packages ...string) []string {
	w.t.Helper()
	args := []string{"approve"}
	for _, c := range w.review().Classes {
		if len(packages) == 0 || slices.ContainsFunc(c.Members, func(m string) bool { return slices.Contains(packages, m) }) {
			args = append(args, "--class", c.ID)
		}
	}
	return args
}

// Several classes are approved together, however they are given, or not at all.
func TestApproveClasses(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]func(a, b string) []string{
		"Repeated": func(a, b string) []string { return []string{"--class", a, "--class", b} },
		"Comma":    func(a, b string) []string { return []string{"--class", a + "," + b} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1", "c2")
			w.write("context/settings.yaml", settings("loud", "debug"))
			w.write("v1.yaml", variantOf("web-c1-web", "v1", "c1", "web", ""))
			w.write("v2.yaml", variantOf("web-c2-web", "v1", "c2", "web", "  injectors: [{kind: ConfigMap, name: loud}]\n"))
			w.mustApply()
			a, b := w.class("c1/web"), w.class("c2/web")
			r := w.mustRun(1, append([]string{"approve"}, flags(a, "000000000000")...)...)
			w.contains(r.err, "no class 000000000000")
			w.wantRefs("c1", draft1, "refs/heads/main")
			w.mustRun(0, append([]string{"approve"}, flags(a, b)...)...)
			w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
			w.wantRefs("c2", "refs/heads/main", "refs/tags/web/v1")
		})
	}
}

func TestApproveClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2", "c3", "c4")
	w.write("sets/web.yaml", webSet)
	w.write("context/settings.yaml", settings("loud", "debug"))
	w.write("v.yaml", variantOf("web-c4-web", "v1", "c4", "web", "  injectors: [{kind: ConfigMap, name: loud}]\n"))
	w.mustApply()

	id := w.class("c1/web", "c2/web", "c3/web")
	outlier := w.class("c4/web")
	if first := w.review().Classes[0].ID; first != outlier {
		t.Errorf("the outlier does not come first")
	}
	if again := w.class("c1/web", "c2/web", "c3/web"); again != id {
		t.Errorf("the class has another ID when shown again: %s, %s", id, again)
	}
	before := w.refs()
	w.mustRun(0, "approve", "--class", outlier)
	w.wantRefs("c4", "refs/heads/main", "refs/tags/web/v1")

	// A member changes after it was shown: nothing of the class is approved.
	w.edit("c2", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 3")
	r := w.mustRun(1, "approve", "--class", id)
	w.contains(r.err, id, "review again")
	if got, want := w.refs()["c1 refs/heads/main"], before["c1 refs/heads/main"]; got != want {
		t.Errorf("c1 was approved although its class has changed")
	}
	w.mustRun(0, "approve", "--class", w.class("c1/web", "c3/web"))
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
	w.wantRefs("c2", draft1, "refs/heads/main")

	// The same edit in a way that leaves the class's text but moves the commit.
	id = w.class("c2/web")
	w.repos["c2"].Commit(t, "drafts/web/packagevariant-1", "nothing new", gittest.Text{"README.md": "another\n"})
	w.mustRun(1, "approve", "--class", id)
	w.wantRefs("c2", draft1, "refs/heads/main")
}

// A part of a class is approved by names or by number: a canary first, and then the
// rest under the same key.
func TestApprovePartOfAClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2", "c3", "c4")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	published := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range []string{"c1", "c2", "c3", "c4"} {
			if _, ok := w.refs()[c+" refs/tags/web/v1"]; ok {
				got = append(got, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v are published, want %v", got, want)
		}
	}
	id := w.class("c1/web", "c2/web", "c3/web", "c4/web")
	key, _, _ := strings.Cut(id, "@")
	w.contains(w.mustRun(1, "approve", "--class", key).err, id)
	w.contains(w.mustRun(1, "approve", "--class", id, "c9").err, "c9")
	published()
	w.mustRun(0, "approve", "--class", id, "c3")
	published("c3")
	rest := w.class("c1/web", "c2/web", "c4/web")
	if !strings.HasPrefix(rest, key+"@") || rest == id {
		t.Errorf("the rest is %s, and was %s", rest, id)
	}
	w.contains(w.mustRun(1, "approve", "--class", id, "c1").err, "3 members now, as "+rest)
	w.mustRun(0, "approve", "--class", rest, "--max", "2")
	published("c1", "c2", "c3")
	// One member that moved keeps the others from being taken as a part too.
	rest = w.class("c4/web")
	w.edit("c4", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 3")
	w.mustRun(1, "approve", "--class", rest, "c4")
	published("c1", "c2", "c3")
	for _, wrong := range [][]string{{"--max", "1"}, {"--all", "--max", "1"}, {"--class", rest, "--all"}, {"--class", rest, "--max", "-1"}, {"--class", rest, "--max", "0"}} {
		w.mustRun(2, append([]string{"approve"}, wrong...)...)
	}
}

// A pull request that was merged on a forge is published by the next apply.
func TestMergedElsewhere(t *testing.T) {
	t.Parallel()
	for name, merge := range map[string][]string{
		"merge":        {"merge", "-q", "--no-ff", "-m", "Merge the request", "origin/drafts/web/packagevariant-1"},
		"fast-forward": {"merge", "-q", "--ff-only", "origin/drafts/web/packagevariant-1"},
		"squash":       {"merge", "-q", "--squash", "origin/drafts/web/packagevariant-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			w.mustApply()
			draft := w.refs()["c1 "+draft1]
			tree := filepath.Join(t.TempDir(), "tree")
			gittest.Run(t, "", nil, "clone", "-q", w.repos["c1"].Dir, tree)
			gittest.Run(t, tree, nil, merge...)
			if name == "squash" {
				gittest.Run(t, tree, nil, "commit", "-q", "-m", "Squashed")
			}
			gittest.Run(t, tree, nil, "push", "-q", "origin", "main")
			main := w.repos["c1"].Git(t, "rev-parse", "main")

			w.wantActions(w.plan(), all("tag", "c1/web"))
			w.wantActions(w.mustApply(), all("tag", "c1/web"))
			w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
			if got := w.repos["c1"].Git(t, "rev-parse", "main"); got != main {
				t.Errorf("main moved")
			}
			if got := w.refs()["c1 refs/tags/web/v1"]; got != draft && got != main {
				t.Errorf("web/v1 is %s, neither the Draft nor main", got)
			}
			w.wantActions(w.mustApply(), map[string]string{})

			// Life goes on from there.
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
			w.wantActions(w.mustApply(), all("redraft", "c1/web"))
			w.wantRefs("c1", "refs/heads/drafts/web/packagevariant-2", "refs/heads/main", "refs/tags/web/v1")
			w.mustRun(0, "approve", "--all")
			w.contains(w.show("c1", "web/v2", "web/deployment.yaml"), "web:2.0")
		})
	}
}

// What changes a variant's inputs, and what does not.
func TestTriggers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		revision, more string // of the variant at first
		change         func(w *world)
		action         string // "" for nothing to do
		reason         string
		check          func(w *world)
	}{
		"new upstream revision": {
			revision: "v1",
			change: func(w *world) {
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
			},
			action: "update", reason: "upstream changed: now catalog/web@web/v2",
			check: func(w *world) {
				w.contains(w.show("c1", draft1, "web/deployment.yaml"), "web:2.0", "# The server itself.")
				w.contains(w.show("c1", draft1, "web/policy.yaml"), "deny: all # by default")
				w.contains(w.show("c1", draft1, "web/Kptfile"), "ref: web/v2")
				w.contains(w.repos["c1"].Git(w.t, "log", "-1", "--format=%B", draft1), `"type":"upgrade"`, "catalog.web.v2")
			},
		},
		"floating tag": {
			revision: "stable",
			change:   func(w *world) { w.publishWeb(webV2, "stable") },
			action:   "update", reason: "upstream changed",
		},
		"floating tag on equal content": {
			revision: "stable",
			change: func(w *world) {
				c := w.repos["catalog"].Commit(w.t, "main", "another package", gittest.Text{"other/Kptfile": "x: y\n"})
				w.repos["catalog"].Tag(w.t, "web/stable", c)
			},
		},
		"semver range, inside": {
			revision: "~1.0",
			change:   func(w *world) { w.publishWeb(webV2, "v1.0.7") },
			action:   "update", reason: "upstream changed: now catalog/web@web/v1.0.7",
		},
		"semver range, outside": {
			revision: "1.0.x",
			change:   func(w *world) { w.publishWeb(webV2, "v1.1.0") },
		},
		"latest published": {
			revision: "", change: func(w *world) { w.publishWeb(webV2, "v2") },
			action: "update", reason: "upstream changed: now catalog/web@web/v2",
		},
		"branch": {
			revision: "main", change: func(w *world) { w.publishWeb(webV2) },
			action: "update", reason: "upstream changed: now catalog/web@main",
		},
		"spec": {
			revision: "v1",
			change: func(w *world) {
				w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  packageContext: {data: {region: north}}\n"))
			},
			action: "update", reason: "variant spec changed",
			check: func(w *world) {
				w.contains(w.show("c1", draft1, "web/package-context.yaml"), "region: north", "name: web")
			},
		},
		"context object": {
			revision: "v1", more: settingsInjector,
			change: func(w *world) { w.write("context.yaml", settings("settings", "trace")) },
			action: "update", reason: "injected context objects changed",
			check: func(w *world) { w.contains(w.show("c1", draft1, "web/settings.yaml"), "level: trace") },
		},
		"context object that is not injected": {
			revision: "v1", more: settingsInjector,
			change: func(w *world) { w.write("other.yaml", settings("other", "trace")) },
		},
		"labels and annotations of the variant": {
			revision: "v1",
			change: func(w *world) {
				w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  labels: {a: b}\n  annotations: {c: d}\n"))
			},
			action: "record", reason: "its labels have changed: Drafts get them when they are created",
			check: func(w *world) { w.lacks(w.show("c1", draft1, "web/Kptfile"), "a: b") },
		},
		"a hand edit": {
			revision: "v1",
			change: func(w *world) {
				w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 7")
			},
			check: func(w *world) {
				w.contains(w.show("c1", draft1, "web/deployment.yaml"), "replicas: 7")
			},
		},
		"the registered branch": {
			revision: "v1",
			change: func(w *world) {
				w.repos["c1"].Commit(w.t, "main", "elsewhere", gittest.Text{"elsewhere/file": "x\n"})
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV1, "stable", "v1.0.0")
			w.write("v.yaml", variantOf("one", c.revision, "c1", "web", c.more))
			w.write("context.yaml", settings("settings", "debug"))
			w.mustApply()
			c.change(w)
			before := w.refs()
			want := map[string]string{}
			if c.action != "" {
				want["c1/web"] = c.action
			}
			p := w.plan()
			w.wantActions(p, want)
			if c.reason != "" && !strings.HasPrefix(strings.Join(p.variant(t, "c1/web").Reasons, "; "), c.reason) {
				t.Errorf("reasons %q, want %q", p.variant(t, "c1/web").Reasons, c.reason)
			}
			if got := p.variant(t, "c1/web").Reasons; c.action != "" && len(got) != 1 {
				t.Errorf("one thing changed, and these are the reasons: %q", got)
			}
			w.unchanged(before)
			w.wantActions(w.mustApply(), want)
			if c.action == "" {
				w.unchanged(before)
			} else {
				w.repos["c1"].Git(t, "merge-base", "--is-ancestor", before["c1 "+draft1], draft1)
			}
			if c.check != nil {
				c.check(w)
			}
			after := w.refs()
			w.wantActions(w.mustApply(), map[string]string{})
			w.unchanged(after)
		})
	}
}

// Labels and annotations of the variant are the Kptfile's at creation.
func TestLabelsAtCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  labels: {tier: front, \"1\": \"yes\"}\n  annotations: {owner.example.com/team: web}\n"))
	w.mustApply()
	w.contains(w.show("c1", draft1, "web/Kptfile"), "tier: front", `"yes"`, "owner.example.com/team: web")
}

// Changed inputs bring a Proposed package back to Draft.
func TestProposedComesBackToDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "propose", "--all")
	proposed := w.refs()["c1 refs/heads/proposed/web/packagevariant-1"]
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.wantRefs("c1", draft1, "refs/heads/main")
	if got := w.repos["c1"].Git(t, "rev-parse", draft1+"^"); got != proposed {
		t.Errorf("the Draft's parent is %s, not the proposal %s", got, proposed)
	}
}

// An edit on a Draft survives the update, and the formatting around it.
func TestHandEditSurvivesUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	hand := w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2\n", "replicas: 7 # launch week\n")
	w.repos["c1"].Commit(t, "drafts/web/packagevariant-1", "by hand", gittest.Text{"web/mine.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n"})
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	p := w.mustApply()
	w.wantActions(p, all("update", "c1/web"))
	if got := p.variant(t, "c1/web").Conflicts; len(got) > 0 {
		t.Errorf("conflicts: %v", got)
	}
	want := strings.Replace(webV2["web/deployment.yaml"], "replicas: 2\n", "replicas: 7 # launch week\n", 1)
	if d := cmp.Diff(want, w.show("c1", draft1, "web/deployment.yaml")); d != "" {
		t.Errorf("deployment.yaml (-want +got):\n%s", d)
	}
	w.contains(w.show("c1", draft1, "web/mine.yaml"), "name: mine")
	w.repos["c1"].Git(t, "merge-base", "--is-ancestor", hand, draft1)

	// Also in the next cycle, from the Published revision.
	w.approveSeen()
	w.publishWeb(webCPU, "v3")
	w.write("v.yaml", variantOf("one", "v3", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("redraft", "c1/web"))
	w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/deployment.yaml"), "replicas: 7 # launch week", "cpu: 300m")
	w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/mine.yaml"), "name: mine")
}

// In a true conflict upstream wins and the loss is told; or the variant stops.
func TestConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "cpu: 100m", "cpu: 250m")
	w.publishWeb(webCPU, "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))

	p := w.plan()
	w.wantActions(p, all("update", "c1/web", "c2/web"))
	told := strings.Join(p.variant(t, "c1/web").Conflicts, "\n")
	w.contains(told, "deployment.yaml", "cpu", "250m", "300m")
	if got := p.variant(t, "c2/web").Conflicts; len(got) > 0 {
		t.Errorf("c2 has conflicts: %v", got)
	}
	w.contains(w.run("plan").err, "edit lost: c1/web")

	before := w.refs()
	stopped := w.apply("--on-conflict=stop")
	if stopped.status != 1 {
		t.Errorf("status %d, want 1\n%s", stopped.status, stopped.err)
	}
	w.wantActions(stopped, map[string]string{"c1/web": "fail", "c2/web": "update"})
	w.contains(stopped.variant(t, "c1/web").Error, "250m", "deployment.yaml")
	if before["c1 "+draft1] != w.refs()["c1 "+draft1] {
		t.Error("the stopped variant's Draft moved")
	}

	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.contains(w.show("c1", draft1, "web/deployment.yaml"), "cpu: 300m")
	w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", draft1), "250m", "cpu")
	w.mustRun(2, "plan", "--on-conflict=maybe")
}

// Adoption: a stranger's Draft is left alone, and the variant makes its own beside
// it; or it is taken over.
func TestAdoption(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	v1 := w.refs()["catalog refs/tags/web/v1"]
	kptfile := webV1["web/Kptfile"] + `upstream:
  type: git
  git:
    repo: ` + w.url("catalog") + `
    directory: /web
    ref: web/v1
upstreamLock:
  type: git
  git:
    repo: ` + w.url("catalog") + `
    directory: /web
    ref: web/v1
    commit: ` + v1 + "\n"
	w.repos["c1"].CommitFrom(t, "drafts/web/mine", "main", "a person's Draft", merged(webV1, gittest.Text{
		"web/Kptfile":              kptfile,
		"web/package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: web\n",
	}))
	theirs := w.refs()["c1 refs/heads/drafts/web/mine"]
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("create", "c1/web"))
	w.wantRefs("c1", "refs/heads/drafts/web/mine", draft1, "refs/heads/main")
	w.wantActions(w.mustApply(), map[string]string{})
	if now := w.refs()["c1 refs/heads/drafts/web/mine"]; now != theirs {
		t.Errorf("the stranger's Draft moved to %s", now)
	}
	w.repos["c1"].Git(t, "update-ref", "-d", draft1)

	w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.wantRefs("c1", "refs/heads/drafts/web/mine", "refs/heads/main")
	w.contains(w.show("c1", "drafts/web/mine", "web/Kptfile"), "variform.dev/variant: variform/default/one")
	w.wantActions(w.mustApply(), map[string]string{})
}

// status prints the conditions of Porch's PackageVariant design.
func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply("--only", "c1")
	out := w.mustRun(0, "status", "-o", "yaml").out
	w.contains(out, "kind: PackageVariantSet", "kind: PackageVariant\n", "type: Stalled", "type: Ready",
		"downstreamTargets:\n  - name: c1.web.packagevariant-1", "reason: NoErrors", "reason: OutOfDate")
	w.lacks(out, "c2.web.packagevariant-1", "creationTimestamp", "lastTransitionTime: null")
	w.mustApply()
	w.lacks(w.mustRun(0, "status", "-o", "yaml").out, "OutOfDate")
	w.mustRun(0, "approve", "c1/web")
	w.contains(w.mustRun(0, "status", "c1", "c2").out, "Published", "Draft", "v1")
	w.contains(w.mustRun(0, "status", "-o", "json").out, `"kind": "List"`)
	if got := w.mustRun(0, "status", "-o", "name").out; got != "c1/web\nc2/web\n" {
		t.Errorf("names: %q", got)
	}
}

// What a variant lacks is said in each run, not only in the one that made it.
func TestUnfilledPointsAreSaidAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(merged(webV1, gittest.Text{"web/settings.yaml": gated}), "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", settingsInjector))
	first := w.mustApply().variant(t, "c1/web").Warnings
	second := w.mustApply().variant(t, "c1/web").Warnings
	if len(first) != 1 || !strings.Contains(first[0], "config.injection.ConfigMap.settings") {
		t.Errorf("warnings of the first run: %q", first)
	}
	if strings.Join(first, "\n") != strings.Join(second, "\n") {
		t.Errorf("the second run warns %q, the first %q", second, first)
	}
}

// A wanted variant whose package is proposed for deletion is not Ready, is not
// deleted by an approval, and is taken back by the next run.
func TestWantedAndProposedForDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "web"))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.repos["c1"].Git(t, "branch", "deletionProposed/web/v1", "web/v1")
	out := w.mustRun(0, "status", "-o", "yaml").out
	w.contains(out, "the proposed deletion of v1 is taken back: the package is wanted", "1 of 1 package variants are not up to date", "reason: OutOfDate")
	w.lacks(out, `status: "True"`)
	w.contains(w.mustRun(1, "approve", "--all").out, "proposed for deletion, and wanted again: run apply")
	w.contains(w.mustApply().out, "restore", "1 taken back from deletion")
	w.lacks(w.mustRun(0, "status", "-o", "yaml").out, "proposed for deletion", "not up to date")
	w.contains(w.mustRun(0, "status", "c1").out, "c1/web    True    False     Published   v1")
	w.contains(w.mustApply().out, "up to date")
}

// A person without a name cannot approve: the commit would be nobody's.
func TestApproveNeedsAPerson(t *testing.T) {
	if os.Getenv("GIT_AUTHOR_NAME") == "" {
		t.Skip("git has no name to take away")
	}
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	before := w.refs()
	t.Setenv("GIT_AUTHOR_NAME", "")
	t.Setenv("GIT_AUTHOR_EMAIL", "")
	w.contains(w.mustRun(2, "approve", "--all").err, "git config --global user.name")
	w.unchanged(before)
}

// A set without a revision, with latest or with a range over revisions follows what
// is approved upstream: here in a repository between, whose packages are variants.
func TestSetFollowsTheNewestPublished(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"", "revision: latest, ", "revision: '*', ", "revision: '>=1', "} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "between", "c1")
			w.write("variants/web.yaml", variantOf("web", "v1", "between", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "between/web")
			w.write("set.yaml", strings.ReplaceAll(listSet("follow", "web", "", "c1", "web"), `upstream: {repo: catalog, package: web, revision: ""}`, "upstream: {repo: between, "+revision+"package: web}"))
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "create"})
			w.publishWeb(webV2, "v2")
			w.write("variants/web.yaml", variantOf("web", "v2", "between", "web", ""))
			w.wantActions(w.mustApply(), map[string]string{"between/web": "redraft"})
			w.wantActions(w.mustApply(), map[string]string{})
			w.mustRun(0, "approve", "between/web")
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "update"})
			w.contains(w.show("c1", draft1, "web/Kptfile"), "ref: web/v2")
		})
	}
}
