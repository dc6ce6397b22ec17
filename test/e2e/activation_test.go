package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

func installation(name, target, more string) string {
	return fmt.Sprintf(`apiVersion: variform.dev/v1alpha1
kind: Installation
metadata:
  name: %s
spec:
  target: %q
  package: web
%s`, name, target, more)
}

// With activation Automatic a Draft is published in the run that makes it; the
// packages beside it wait for a person.
func TestActivationAutomatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.write("installations/c1.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.contains(w.mustRun(0, "plan").out, "published at once: activation is Automatic")
	w.wantRefs("c1", "refs/heads/main")

	w.mustApply()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
	w.wantRefs("c2", "refs/heads/drafts/web/packagevariant-1", "refs/heads/main")
	w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%an %B", "main"), "Variform Approve web/v1")
	before := w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)

	// The same input gives the same commits, publication included.
	again := newWorld(t, "c1", "c2")
	again.write("sets/web.yaml", webSet)
	again.write("installations/c1.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	again.mustApply()
	w.contains(again.repos["c1"].Git(t, "log", "-1", "--format=%cd", "--date=unix", "web/v1"), w.repos["c1"].Git(t, "log", "-1", "--format=%cd", "--date=unix", "web/v1"))

	// An update goes the same way.
	w.publishWeb(webV2, "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	w.mustApply()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2")
}

// What people did to a Draft, and what was lost on the way, is for a person to
// publish, also when Variform's own commits come on top.
func TestActivationWaitsForPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/web"))
	w.contains(p.variant(t, "c1/web").Reasons[0], "edits by hand", "review and approve")

	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	p = w.mustApply()
	w.wantActions(p, all("update", "c1/web"))
	w.contains(strings.Join(p.variant(t, "c1/web").Warnings, "\n"), "edits by hand")
	before := w.refs()
	w.wantActions(w.mustApply(), all("wait", "c1/web"))
	w.unchanged(before)
	w.approveSeen("c1/web")
	w.wantActions(w.mustApply(), map[string]string{})
}

func TestActivationWaitsForGates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(merged(webV1, gittest.Text{"web/settings.yaml": gated}), "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", settingsInjector))
	w.write("i.yaml", installation("auto", "", "  activation: Automatic\n"))
	w.contains(strings.Join(w.mustApply().variant(t, "c1/web").Warnings, "\n"), "readiness gates are not met")
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/web"))
	w.contains(p.variant(t, "c1/web").Reasons[0], "config.injection.ConfigMap.settings")
	w.write("context/settings.yaml", settings("settings", "debug"))
	w.mustApply()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
}

// Of the Published revisions historyLimit are kept beside the latest, and
// whatever a package still needs; nothing goes without --prune.
func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "edge")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n  historyLimit: 1\n"))
	for i := range 4 {
		w.write("v.yaml", variantOf("one", "v1", "c1", "web", fmt.Sprintf("  packageContext:\n    data: {round: \"%d\"}\n", i)))
		w.mustApply()
	}
	all4 := []string{"refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2", "refs/tags/web/v3", "refs/tags/web/v4"}
	w.wantRefs("c1", all4...)

	// A package that another has as its upstream keeps all.
	w.write("edge.yaml", strings.Replace(variantOf("edge", "v1", "edge", "web", ""), "repo: catalog", "repo: c1", 1))
	w.mustApply("--prune")
	w.wantRefs("c1", all4...)
	w.wantRefs("edge", "refs/heads/drafts/web/packagevariant-1", "refs/heads/main")
	w.write("edge.yaml", "# gone\n")
	w.mustApply("--prune") // its Draft goes; until then its upstreamLock holds the revision
	w.wantRefs("edge", "refs/heads/main")

	p := w.plan("--prune")
	w.wantActions(p, all("trim", "c1/web"))
	w.contains(p.variant(t, "c1/web").Reasons[0], "historyLimit 1: v1, v2 go")
	w.wantRefs("c1", all4...)
	w.mustApply("--prune")
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v3", "refs/tags/web/v4")
	before := w.refs()
	w.wantActions(w.mustApply("--prune"), map[string]string{})
	w.unchanged(before)
}

// amend makes a branch's last commit anew with other files, as a person would:
// its message stays, Variform's trailers in it.
func (w *world) amend(repo, branch string, files gittest.Text) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "tree")
	w.repos[repo].Git(w.t, "worktree", "add", "-q", dir, branch)
	for name, data := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	gittest.Run(w.t, dir, nil, "add", "-A")
	gittest.Run(w.t, dir, nil, "commit", "-q", "--amend", "--no-edit")
	w.repos[repo].Git(w.t, "worktree", "remove", "--force", dir)
}

// A commit of Variform's that a person made anew is the person's.
func TestAmendedDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	branch := "drafts/web/packagevariant-1"
	w.amend("c1", branch, gittest.Text{"web/deployment.yaml": strings.Replace(w.show("c1", draft1, "web/deployment.yaml"), "replicas: 2", "replicas: 77", 1)})
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.wantActions(w.mustApply(), all("wait", "c1/web"))
	w.write("i.yaml", "# none\n")
	w.amend("c1", branch, gittest.Text{"beside/x": "x\n"})
	r := w.mustRun(1, w.seen()...)
	w.contains(r.out+r.err, "beside", "the package alone")
}

// What is said wrongly, or twice, about one package does not fall back to what
// is said about all.
func TestActivationIsHeldByMistakes(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]string{
		"two for one package": {"  activation: Manual\n", "  activation: Manual\n"},
		"a mistyped field":    {"  activation: Manual\n  historyLimitt: 3\n"},
	} {
		w := newWorld(t, "c1")
		w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
		w.write("wide.yaml", installation("wide", "", "  activation: Automatic\n"))
		for i, more := range own {
			w.write(fmt.Sprintf("own-%d.yaml", i), installation(fmt.Sprint("own-", i), "c1", more))
		}
		w.mustRun(1, "apply")
		if got := strings.Join(w.refNames("c1"), " "); got != "refs/heads/drafts/web/packagevariant-1 refs/heads/main" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Unrendered packages, proposed ones and several Drafts are for a person.
func TestActivationWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.contains(strings.Join(w.mustApply("--no-render").variant(t, "c1/web").Warnings, "\n"), "left unrun")
	w.contains(w.mustRun(0, "status", "-o", "yaml").out, "reason: OutOfDate")

	w.repos["c1"].Git(t, "branch", "drafts/web/copy", "drafts/web/packagevariant-1")
	p := w.mustApply()
	w.contains(fmt.Sprint(p.variant(t, "c1/web").Reasons, p.variant(t, "c1/web").Warnings), "several Drafts")
	w.repos["c1"].Git(t, "branch", "-D", "drafts/web/copy")

	w.mustRun(0, "propose", "c1/web")
	w.wantActions(w.mustApply(), all("wait", "c1/web"))
	r := w.mustRun(1, "reject", "c1/web")
	w.contains(r.out+r.err, "set activation Manual first")
	w.mustRun(0, "approve", "c1/web")
}

// Of an adopted package the revisions from before are not trimmed.
func TestHistoryLimitKeepsWhatOthersPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	by := w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 3") // somebody else's v2
	w.repos["c1"].Tag(t, "web/v2", by)
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n  historyLimit: 1\n"))
	for i := range 3 {
		w.write("v.yaml", variantOf("one", "v1", "c1", "web", fmt.Sprintf("  adoptionPolicy: adoptExisting\n  packageContext:\n    data: {round: \"%d\"}\n", i)))
		w.mustApply()
	}
	w.mustApply("--prune")
	refs := strings.Join(w.refNames("c1"), " ")
	w.contains(refs, "web/v2", "web/v4", "web/v5")
	w.lacks(refs, "web/v1", "web/v3")
}

func TestTwoInstallationsOfOnePackage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("a.yaml", installation("a", "c1", "  activation: Automatic\n"))
	w.write("b.yaml", installation("b", "c1", "  activation: Manual\n"))
	w.contains(w.mustRun(1, "apply").err, `Installations default/a and default/b are both for package "web" of target "c1": keep one`)
	w.wantRefs("c1", "refs/heads/drafts/web/packagevariant-1", "refs/heads/main")
}
