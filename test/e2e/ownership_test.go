package e2e

import (
	"strings"
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
		"delete to orphan":          {"delete", "orphan", false, all("release", "c1/web")},
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

// So it is where no revision is to be seen: a forge merged the Draft of a package that is
// held, so that no run tags it.
func TestPolicyOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	for now, tt := range map[string]struct{ then, pruned string }{
		"orphan": {"delete", "release"},
		"delete": {"orphan", "retire"},
	} {
		t.Run("now "+now, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy(tt.then)))
			w.mustApply()
			w.mustRun(0, "hold", "web", "--reason", "not now")
			w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy(now)))
			before := w.refs()
			w.contains(w.mustApply().out, "deletionPolicy is "+now+" from now on", "held by Rae Viewer: not now")
			w.unchanged(before)
			recorded := w.repos["c1"].AllRefs(t)
			w.lacks(w.mustApply("--cache-dir", t.TempDir()).out, "from now on")
			if d := cmp.Diff(recorded, w.repos["c1"].AllRefs(t)); d != "" {
				t.Errorf("a second apply wrote (-was +is):\n%s", d)
			}
			w.mustRun(0, "hold", "--off", "web")
			w.write("v.yaml", "# nothing\n")
			out := w.mustApply("--prune").out
			w.contains(out, `"action": "tag"`, `"action": "`+tt.pruned+`"`)
		})
	}
}

// So it is of a variant whose upstream cannot be read: it fails, and what is to become of its
// package is known. Where two variants want one place nobody knows whose word counts.
func TestPolicyOfWhatFails(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	before := w.refs()
	w.write("repositories/too.yaml", repository("too", w.url("c1"), true, ""))
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy("orphan"))+"---\n"+variantOf("too", "v1", "too", "web", ""))
	w.lacks(w.mustRun(1, "apply").out, "from now on")
	w.write("v.yaml", variantOf("web", "v9", "c1", "web", policy("orphan")))
	r := w.mustRun(1, "apply")
	w.contains(r.out+r.err, "no tag, branch or commit has that name", "deletionPolicy is orphan from now on")
	w.lacks(w.mustRun(1, "apply").out, "from now on")
	w.write("v.yaml", variantOf("web", "v9", "elsewhere", "web", "")) // nor is there a record
	w.lacks(w.mustRun(1, "apply").out, "from now on")
	w.unchanged(before)
	w.write("v.yaml", "# nothing\n")
	w.wantActions(w.mustApply("--prune"), all("release", "c1/web"))
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
	w.wantActions(w.mustApply("--prune"), all("release", "c1/web"))
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

func adopting(policy string) string { return "  adoptionPolicy: " + policy + "\n" }

// manager names the fleet's root.
func (w *world) manager(name string) {
	w.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: "+name+"}\n")
}

// A Published package that its variant left behind is released, in the record
// alone: who asks for it has it, of this manager or another, and nobody unasked.
func TestReleasedAndAdopted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manager, adoption string
		says              string // why it is not taken over
	}{
		"the same manager, unasked":   {"variform", "adoptNone", "exists already"},
		"the same manager, asked for": {"variform", "adoptExisting", ""},
		"another manager, unasked":    {"other", "adoptNone", "exists already"},
		"another manager, asked for":  {"other", "adoptExisting", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy("orphan")))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.write("v.yaml", "# nothing\n")
			before := w.refs()
			w.wantActions(w.mustApply(), all("keep", "c1/web"))
			w.wantActions(w.mustApply("--prune"), all("release", "c1/web"))
			w.unchanged(before)
			recorded := w.repos["c1"].AllRefs(t)
			w.wantActions(w.mustApply("--prune"), map[string]string{})
			if d := cmp.Diff(recorded, w.repos["c1"].AllRefs(t)); d != "" {
				t.Errorf("a second prune wrote (-was +is):\n%s", d)
			}
			w.mustRun(0, "record", "check")
			w.mustRun(0, "record", "rebuild")

			w.manager(tt.manager)
			w.write("v.yaml", variantOf("another", "v1", "c1", "web", adopting(tt.adoption)))
			if tt.says != "" {
				p := w.apply()
				w.wantActions(p, all("fail", "c1/web"))
				w.contains(p.out, tt.says)
				return
			}
			w.wantActions(w.mustApply(), all("redraft", "c1/web"))
			w.wantActions(w.mustApply(), map[string]string{})
			w.mustRun(0, "approve", "--all")
			w.wantActions(w.mustApply(), map[string]string{})
			w.contains(w.show("c1", "main", "web/Kptfile"), tt.manager+"/default/another")

			w.manager("variform")
			w.write("v.yaml", "# nothing\n")
			want := map[string]string{}
			if tt.manager == "variform" {
				want = all("retire", "c1/web")
			}
			w.wantActions(w.mustApply("--prune"), want)
		})
	}
}

// A repository whose record is not kept has no place for a release: the package
// stays as it is, and nothing is said of it again and again.
func TestReleasedUnrecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	text := repository("c1", w.url("c1"), true, "")
	w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: none}\n", 1))
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy("orphan")))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.write("v.yaml", "# nothing\n")
	before := w.refs()
	w.wantActions(w.mustApply("--prune"), map[string]string{})
	w.unchanged(before)
}

// A Draft that a forge merged, and whose variant goes before the next run, is not
// forgotten: what stands on the branch is tagged, and then goes the way that its
// policy says.
func TestPruneAfterMerge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec   string
		second bool // a revision is Published before
		squash bool
		kept   bool // the Draft's branch stays
		edited bool // a person committed to the Draft
		after  string
	}{
		"merged":                       {"", false, false, true, false, "retire"},
		"merged, its branch deleted":   {"", false, false, false, false, "retire"},
		"squashed":                     {"", false, true, true, false, "retire"},
		"squashed, its branch deleted": {"", false, true, false, false, "retire"},
		"an update":                    {"", true, false, true, false, "retire"},
		"an update, squashed, deleted": {"", true, true, false, false, "retire"},
		"edited by hand":               {"", false, false, true, true, "retire"},
		"orphan":                       {policy("orphan"), false, false, true, false, "release"},
		"orphan, its branch deleted":   {policy("orphan"), false, true, false, false, "release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			git, draft, tag := w.repos["c1"], "drafts/web/packagevariant-1", "refs/tags/web/v1"
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", tt.spec))
			w.mustApply()
			if tt.second {
				draft, tag = "drafts/web/packagevariant-2", "refs/tags/web/v2"
				w.mustRun(0, "approve", "--all")
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", tt.spec))
				w.mustApply()
			}
			if tt.edited {
				w.edit("c1", draft, "web/deployment.yaml", "replicas: 2", "replicas: 7")
			}
			tree := git.Git(t, "rev-parse", draft+"^{tree}")
			parents := []string{"-p", git.Git(t, "rev-parse", "main")}
			if !tt.squash {
				parents = append(parents, "-p", git.Git(t, "rev-parse", draft))
			}
			merge := git.Git(t, append([]string{"commit-tree", tree, "-m", "merged"}, parents...)...)
			git.Git(t, "update-ref", "refs/heads/main", merge)
			if !tt.kept {
				git.Git(t, "update-ref", "-d", "refs/heads/"+draft)
			}
			w.write("v.yaml", "# nothing\n")
			before := w.refs()
			w.wantActions(w.mustApply(), all("keep", "c1/web"))
			w.unchanged(before)
			p := w.mustApply("--prune")
			w.contains(p.out, `"action": "tag"`, `"action": "`+tt.after+`"`)
			refs := w.refs()
			if refs["c1 "+tag] != merge {
				t.Errorf("%s is at %q, want %s", tag, refs["c1 "+tag], merge)
			}
			if refs["c1 refs/heads/"+draft] != "" {
				t.Error("the Draft's branch stays")
			}
			again := map[string]string{}
			if tt.after == "retire" {
				again = all("wait", "c1/web")
			}
			w.wantActions(w.mustApply("--prune"), again)
			w.unchanged(refs)
		})
	}
}

// A fleet without a name is told what that risks before it makes its first package,
// and not again.
func TestUnnamedFleetIsWarned(t *testing.T) {
	t.Parallel()
	const warning = `warning: this fleet has no name: its packages are signed "variform", as those of any other without one`
	w := newWorld(t, "c1", "c2")
	w.write("c1.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.lacks(w.mustRun(0, "plan").err, warning)
	w.write("Kptfile", "")
	w.lacks(w.mustRun(0, "plan", "--manager", "fleet").err+w.mustRun(0, "status").err, warning)
	for _, command := range []string{"plan", "apply"} {
		w.forgetWarnings()
		w.contains(w.mustRun(0, command).err, warning, "Kptfile with metadata.name", "--manager NAME")
	}
	w.write("c2.yaml", variantOf("two", "v1", "c2", "web", ""))
	w.lacks(w.mustRun(0, "plan").err+w.mustRun(0, "apply").err, warning)
}
