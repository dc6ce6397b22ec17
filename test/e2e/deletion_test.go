package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// A set whose targets shrink by half: nothing goes without leave, and the
// brake holds until the number is said.
func TestShrinkingSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	eight := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", eight...))
	w.mustApply()
	w.mustRun(0, "approve", "c1/a", "c1/b", "c1/e", "c1/f")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", eight[4:]...))
	before := w.refs()
	gone := []string{"c1/a", "c1/b", "c1/c", "c1/d"}

	p := w.mustApply()
	w.wantActions(p, all("keep", gone...))
	w.contains(p.variant(t, "c1/a").Reasons[0], "--prune")
	w.unchanged(before)

	p = w.apply("--prune")
	w.wantActions(p, all("keep", gone...))
	w.contains(p.variant(t, "c1/a").Reasons[0], "--max-delete=4", "set default/web", "4 of 8")
	w.contains(strings.Join(p.Warnings, "\n"), "braked")
	w.unchanged(before)
	w.wantActions(w.apply("--prune", "--max-delete=3"), all("keep", gone...))
	w.wantActions(w.plan("--prune", "--max-delete=4"), map[string]string{"c1/a": "retire", "c1/b": "retire", "c1/c": "discard", "c1/d": "discard"})
	w.unchanged(before)

	w.mustApply("--prune", "--max-delete=4")
	after := w.refs()
	for _, pkg := range []string{"a", "b"} {
		if got, want := after["c1 refs/heads/deletionProposed/"+pkg+"/v1"], after["c1 refs/tags/"+pkg+"/v1"]; got == "" || got != want {
			t.Errorf("the proposal to delete %s is %q, its tag %q", pkg, got, want)
		}
	}
	for _, pkg := range []string{"c", "d"} {
		if _, ok := after["c1 refs/heads/drafts/"+pkg+"/packagevariant-1"]; ok {
			t.Errorf("Draft %s is still there", pkg)
		}
	}
	for ref, hash := range before {
		if strings.Contains(ref, "/e/") || strings.Contains(ref, "/h/") || strings.HasSuffix(ref, "heads/main") {
			if after[ref] != hash {
				t.Errorf("%s was touched", ref)
			}
		}
	}
	w.wantActions(w.mustApply("--prune", "--max-delete=4"), all("wait", "c1/a", "c1/b"))
	w.unchanged(after)
	w.contains(w.mustRun(0, "status").out, "proposed for deletion: approve that, or reject it")

	// A person decides: one deletion is taken back, one carried out.
	w.mustRun(0, "reject", "c1/a")
	if _, ok := w.refs()["c1 refs/heads/deletionProposed/a/v1"]; ok {
		t.Error("the rejected proposal is still there")
	}
	r := w.mustRun(0, "approve", "c1/b")
	w.contains(r.out, "DeletionProposed", "removed")
	refs := strings.Join(w.refNames("c1"), " ")
	w.lacks(refs, "/b/")
	w.contains(refs, "refs/tags/a/v1", "refs/tags/e/v1", "refs/tags/f/v1")
	if got := w.repos["c1"].Git(t, "ls-tree", "--name-only", "main"); got != "README.md\na\ne\nf" {
		t.Errorf("main holds %q", got)
	}
}

// Two of nine go without a word about numbers: the brake is for many.
func TestFewDeletionsNeedNoNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c"))
	w.mustApply()
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a"))
	w.wantActions(w.mustApply("--prune"), all("discard", "c1/b", "c1/c"))
	w.wantRefs("c1", "refs/heads/drafts/a/packagevariant-1", "refs/heads/main")
}

// The package stays where the policy says orphan, owned by nobody.
func TestOrphanPolicyReleases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("draft.yaml", variantOf("one", "v1", "c1", "open", "  deletionPolicy: orphan\n"))
	w.write("published.yaml", variantOf("two", "v1", "c1", "done", "  deletionPolicy: orphan\n"))
	w.write("keep.yaml", variantOf("three", "v1", "c1", "kept", ""))
	w.mustApply()
	w.mustRun(0, "approve", "c1/done")
	w.write("draft.yaml", "")
	w.write("published.yaml", "")
	pruned := w.mustApply("--prune")
	w.wantActions(pruned, all("release", "c1/open", "c1/done"))
	w.contains(strings.Join(pruned.variant(t, "c1/open").Reasons, "\n"), "leaves the package, and its branch drafts/open/packagevariant-1, for you to delete where it is not wanted")
	w.lacks(strings.Join(pruned.variant(t, "c1/done").Reasons, "\n"), "branch")
	kptfile := w.show("c1", "drafts/open/packagevariant-1", "open/Kptfile")
	w.lacks(kptfile, "variform.dev/")
	w.contains(kptfile, "# keep this comment", "upstreamLock")
	w.contains(strings.Join(w.refNames("c1"), " "), "refs/tags/done/v1")
	before := w.refs()
	w.wantActions(w.mustApply("--prune"), map[string]string{})
	w.unchanged(before)
}

// A second manager on the same repositories touches nothing of the first one's,
// whatever it is told to delete.
func TestSecondManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.write("sets/mine.yaml", listSet("mine", "web", "v1", "c1", "a", "b"))
	w.mustApply("--manager", "first")
	w.mustRun(0, "approve", "c1/a", "--manager", "first")
	before := w.refs()

	w.write("sets/mine.yaml", listSet("mine", "web", "v1", "c1", "second"))
	p := w.apply("--manager", "second", "--prune", "--max-delete=100")
	if p.status != 1 {
		t.Errorf("status %d, want 1", p.status)
	}
	w.wantActions(p, map[string]string{"c1/web": "fail", "c2/web": "fail", "c1/second": "create"})
	v := p.variant(t, "c1/web")
	if !v.Stalled {
		t.Error("not Stalled")
	}
	w.contains(v.Error, "first/default/web-c1-web", "another downstream package")
	now := w.refs()
	delete(now, "c1 refs/heads/drafts/second/packagevariant-1")
	for ref, hash := range before {
		if now[ref] != hash {
			t.Errorf("%s moved from %s to %s", ref, hash, now[ref])
		}
		delete(now, ref)
	}
	if len(now) > 0 {
		t.Errorf("new refs: %v", now)
	}
	// Nor can it decide about them.
	w.mustRun(1, "approve", "c1/b", "--manager", "second")
	w.mustRun(1, "propose", "c2/web", "--manager", "second")
	w.contains(w.mustRun(1, "status", "-o", "yaml", "--manager", "second").out, "reason: ValidationError")
	p = w.apply("--manager", "first")
	if p.status != 1 || p.variant(t, "c1/second").Action != "fail" {
		t.Errorf("the first manager took the second one's package: %s", p.out)
	}
}

// What forbids deletions in a run.
func TestNothingIsPrunedWhen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(w *world)
		args   []string
		reason string
		status int
	}{
		"the run is restricted": {args: []string{"--only", "c1/a"}, reason: "--only"},
		"a file could not be read": {
			change: func(w *world) { w.write("bad.yaml", "a: [") }, reason: "could not be read", status: 1,
		},
		"an object is not valid": {
			change: func(w *world) { w.write("bad.yaml", variantOf("bad", "v1", "c1", "../x", "")) }, reason: "could not be read", status: 1,
		},
		"a repository could not be read": {
			change: func(w *world) { w.write("bad.yaml", repository("bad", "/nowhere", true, "")) }, reason: "could not be read", status: 1,
		},
		"a target of a set fails": {
			change: func(w *world) { w.write("bad.yaml", listSet("bad", "web", "v1", "c9", "x")) }, reason: "set default/bad", status: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c"))
			w.mustApply()
			w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b"))
			if c.change != nil {
				c.change(w)
			}
			before := w.refs()
			p := w.apply(append([]string{"--prune", "--max-delete=10"}, c.args...)...)
			if p.status != c.status {
				t.Errorf("status %d, want %d\n%s", p.status, c.status, p.err)
			}
			if got := p.variant(t, "c1/c"); got.Action != "keep" {
				t.Errorf("c1/c: %s %v, want keep", got.Action, got.Reasons)
			}
			w.contains(strings.Join(p.PruneBlocked, "\n"), c.reason)
			w.unchanged(before)
		})
	}
}

// A set that selects nothing any more is taken for a mistake, however few go.
func TestEmptySelectionBlocksDeletions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.write("sets/web.yaml", strings.Replace(webSet, "env: prod", "env: prd", 1))
	before := w.refs()
	p := w.apply("--prune")
	w.wantActions(p, all("keep", "c1/web", "c2/web"))
	w.contains(strings.Join(p.Warnings, "\n"), "spec.targets[0]", "braked")
	w.unchanged(before)
	w.wantActions(w.mustApply("--prune", "--max-delete=2"), all("discard", "c1/web", "c2/web"))
}

// A package that others have as their upstream is kept.
func TestUpstreamIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("base.yaml", variantOf("base", "v1", "c1", "base", ""))
	w.mustApply()
	w.mustRun(0, "approve", "c1/base")
	w.write("leaf.yaml", strings.Replace(variantOf("leaf", "v1", "c2", "leaf", ""), "{repo: catalog, package: web,", "{repo: c1, package: base,", 1))
	w.wantActions(w.mustApply(), all("create", "c2/leaf"))
	w.write("base.yaml", "")
	before := w.refs()
	p := w.mustApply("--prune", "--max-delete=10")
	w.wantActions(p, all("keep", "c1/base"))
	w.contains(p.variant(t, "c1/base").Reasons[0], "upstream")
	w.unchanged(before)

	// It goes once nothing comes from it any more.
	w.write("leaf.yaml", "")
	w.wantActions(w.mustApply("--prune"), map[string]string{"c1/base": "keep", "c2/leaf": "discard"})
	w.wantActions(w.mustApply("--prune"), all("retire", "c1/base"))
}

// A revision that any upstreamLock names is never pruned, even where no variant
// names it any more: the next update has to merge from it.
func TestLockedUpstreamIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("base.yaml", variantOf("base", "v1", "c1", "base", ""))
	w.mustApply()
	w.mustRun(0, "approve", "c1/base")
	w.write("leaf.yaml", strings.Replace(variantOf("leaf", "v1", "c2", "leaf", "  deletionPolicy: orphan\n"), "{repo: catalog, package: web,", "{repo: c1, package: base,", 1))
	w.mustApply()
	w.mustRun(0, "approve", "c2/leaf")
	w.write("leaf.yaml", "")
	w.write("base.yaml", "")
	before := w.refs()
	want := map[string]string{"c1/base": "keep", "c2/leaf": "release"} // leaf stays, and its upstreamLock with it
	w.wantActions(w.mustApply("--prune"), want)
	w.wantActions(w.mustApply("--prune"), all("keep", "c1/base"))
	w.unchanged(before)
}

// A set, or a variant, that is called something else moves what it owns.
func TestRenameMovesOwnership(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c", "d"))
	w.write("v.yaml", variantOf("one", "v1", "c1", "single", ""))
	w.mustApply()
	w.mustRun(0, "approve", "c1/a")
	w.write("sets/web.yaml", listSet("site", "web", "v1", "c1", "a", "b", "c", "d"))
	w.write("v.yaml", variantOf("two", "v1", "c1", "single", ""))
	p := w.mustApply("--prune", "--max-delete=10")
	want := all("update", "c1/b", "c1/c", "c1/d", "c1/single")
	want["c1/a"] = "redraft"
	w.wantActions(p, want)
	w.contains(w.show("c1", "drafts/b/packagevariant-1", "b/Kptfile"), "variform.dev/variant: variform/default/site-c1-b", "variform.dev/set: site")
	w.contains(w.show("c1", "drafts/single/packagevariant-1", "single/Kptfile"), "variform.dev/variant: variform/default/two")
	w.contains(strings.Join(w.refNames("c1"), " "), "refs/tags/a/v1")
	w.wantActions(w.mustApply("--prune", "--max-delete=10"), map[string]string{})
}

// Ownership is never inherited: an upstream that is itself owned does not make
// its variants someone else's, nor does a person's copy of one.
func TestOwnershipIsNotInherited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("base.yaml", variantOf("base", "v1", "c1", "base", "  deletionPolicy: orphan\n"))
	w.mustApply()
	w.mustRun(0, "approve", "c1/base")
	w.write("leaf.yaml", strings.Replace(variantOf("leaf", "v1", "c2", "leaf", ""), "{repo: catalog, package: web,", "{repo: c1, package: base,", 1))
	w.mustApply()
	kptfile := w.show("c2", "drafts/leaf/packagevariant-1", "leaf/Kptfile")
	w.contains(kptfile, "variform.dev/variant: variform/default/leaf")
	w.lacks(kptfile, "default/base", "orphan")

	// A person copies an owned package by hand and pushes the copy.
	files := gittest.Text{}
	for _, f := range []string{"Kptfile", "deployment.yaml"} {
		files["copy/"+f] = w.show("c2", "drafts/leaf/packagevariant-1", "leaf/"+f)
	}
	theirs := w.repos["c2"].CommitFrom(t, "drafts/copy/packagevariant-1", "main", "my copy", files)
	w.mustApply("--prune", "--max-delete=10")
	if got := w.refs()["c2 refs/heads/drafts/copy/packagevariant-1"]; got != theirs {
		t.Errorf("the copy was touched: %q", got)
	}
}

// A set under a mistyped kind has not gone: nothing of it does either.
func TestMistypedKindDeletesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a"))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.write("sets/web.yaml", strings.Replace(listSet("web", "web", "v1", "c1", "a"), "PackageVariantSet", "PackageVariantset", 1))
	before := w.refs()
	r := w.mustRun(1, "apply", "--prune", "--max-delete=9")
	w.contains(r.err, "sets/web.yaml:", `kind "PackageVariantset"`, `did you mean "PackageVariantSet"`)
	w.contains(r.out, "this run cannot tell whether a variant wants it: 1 input could not be read")
	w.unchanged(before)
}

// While part of the fleet cannot be read, or in a run of a part of it, a Draft whose
// variant cannot be judged is reported as that: its variant may be there, and a person's
// edit with it.
func TestUnjudgedDraftKeepsItsEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("one.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("two.yaml", variantOf("two", "v1", "c2", "web", ""))
	set := listSet("s", "web", "v1", "c1", "inset")
	w.write("s.yaml", set)
	w.mustApply()
	for _, at := range []string{"web", "inset"} {
		w.edit("c1", "drafts/"+at+"/packagevariant-1", at+"/settings.yaml", "info", "debug")
	}
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		why   string
	}{
		"no YAML":             {map[string]string{"one.yaml": "kind: [\n"}, nil, "1 input could not be read"},
		"an invalid field":    {map[string]string{"one.yaml": strings.Replace(variantOf("one", "v1", "c1", "web", ""), "upstream:", "upstreem:", 1)}, nil, "2 inputs could not be read"},
		"a set that fails":    {map[string]string{"one.yaml": "", "s.yaml": set + "      template: {labelExprs: [{key: r, valueExpr: \"repository.labels['region']\"}]}\n"}, nil, "set default/s has 1 target that failed"},
		"another is selected": {map[string]string{"one.yaml": "", "s.yaml": ""}, []string{"--only", "c2/web"}, "--only restricts the run"},
	} {
		for file, text := range c.files {
			w.write(file, text)
		}
		before := w.refs()
		for _, command := range [][]string{{"plan"}, {"plan", "--prune"}, {"status"}, {"apply"}, {"apply", "--prune", "--max-delete=9"}} {
			if command[0] == "status" && c.args != nil {
				continue
			}
			r := w.run(append(command, c.args...)...)
			w.contains(r.out, "this run cannot tell whether a variant wants it: "+c.why)
			w.lacks(r.out+r.err, "its variant has gone", "variform discard")
			w.unchanged(before)
		}
		if t.Failed() {
			t.Fatal(name)
		}
		w.write("one.yaml", variantOf("one", "v1", "c1", "web", ""))
		w.write("s.yaml", set)
	}
	w.mustApply()
	w.contains(w.show("c1", "drafts/web/packagevariant-1", "web/settings.yaml"), "debug")
}

// A Draft that a forge merges while a run withdraws it, or later, is Published: the fleet
// wants what was Published before, and a Draft sets the package back to that.
func TestMergedWhileItIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		style string
		later bool
	}{
		"merged": {"merge", false}, "squashed": {"squash", false}, "rebased": {"rebase", false}, "fast-forwarded": {"fast-forward", false},
		"merged, later": {"merge", true}, "squashed, later": {"squash", true}, "rebased, later": {"rebase", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const branch = "drafts/web/packagevariant-2"
			w := newHTTPWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			fleet := func(revision string) { w.write("v.yaml", variantOf("web", revision, "c1", "web", "")) }
			fleet("v1")
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			was := w.repos["c1"].Git(t, "rev-parse", "main:web")
			fleet("v2")
			w.mustApply()
			draft := w.refs()["c1 refs/heads/"+branch]
			fleet("v1")
			if tc.later {
				w.wantActions(w.mustApply(), map[string]string{"c1/web": "discard"})
				w.wantActions(w.mustApply(), map[string]string{}) // nothing is left to do, and nothing to tell
				w.repos["c1"].Git(t, "update-ref", "refs/heads/"+branch, draft)
				w.forgeMerge("c1", branch, tc.style, true)
			} else {
				w.once(gittest.Push, "c1", func() { w.forgeMerge("c1", branch, tc.style, false) })
				w.mustApply()
			}
			w.mustApply()
			w.mustRun(0, "record", "check")
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			if before["c1 refs/tags/web/v2"] == "" {
				t.Fatalf("what was merged is no revision: %v", before)
			}
			w.mustRun(0, "approve", "--all")
			w.contains(w.show("c1", "main", "web/Kptfile"), "ref: web/v1")
			if now := w.repos["c1"].Git(t, "rev-parse", "main:web"); now != was {
				t.Errorf("main is not set back: %s, was %s", now, was)
			}
			w.wantActions(w.mustApply(), map[string]string{})
		})
	}
}

// A second fleet that has the name of one by mistake is rejected at its first apply: it
// would delete the other's packages, and the other its own.
func TestTwoFleetsOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	second := filepath.Join(t.TempDir(), "second")
	if err := os.CopyFS(second, os.DirFS(w.fleet())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "v.yaml"), []byte(variantOf("db", "v1", "c1", "db", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	run := func(status int, args ...string) string {
		t.Helper()
		r := runIn(cache, append(args, "-f", second)...)
		if r.status != status {
			t.Fatalf("%v: status %d, want %d\n%s%s", args, r.status, status, r.out, r.err)
		}
		return r.out + r.err
	}
	for _, published := range []bool{false, true} {
		before := w.refs()
		for _, command := range [][]string{{"plan"}, {"apply"}, {"apply", "--prune"}, {"status"}} {
			w.contains(run(2, command...), `another fleet has the name "variform": it owns c1/web`, "metadata.name of the Kptfile", "--manager variform")
		}
		w.unchanged(before)
		if !published {
			w.mustRun(0, "approve", "--all")
		}
	}

	// Under another name both go on, and the first may replace all that it has.
	if err := os.WriteFile(filepath.Join(second, "Kptfile"), []byte(kptfileOf("second")), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "apply", "--prune")
	w.write("v.yaml", variantOf("new", "v1", "c1", "new", ""))
	w.wantActions(w.mustApply("--prune"), map[string]string{"c1/new": "create", "c1/web": "retire"})

	// A person may say that it is the same fleet.
	if err := os.WriteFile(filepath.Join(second, "Kptfile"), []byte(kptfileOf("variform")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "v.yaml"), []byte(variantOf("more", "v1", "c1", "more", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	cache = t.TempDir()
	run(2, "apply")
	run(0, "apply", "--manager", "variform")
	run(0, "plan")
}

// A target that comes or goes renames no other variant.
func TestTargetRenamesNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "r", "r-a")
	one, both := listSet("s", "web", "v1", "r", "a-b"), listSet("s", "web", "v1", "r", "a-b")+"        - name: r-a\n          packageNames: [b]\n"
	names := func() (out []string) {
		for _, v := range w.mustApply().Variants {
			out = append(out, v.Variant+"="+v.Name)
		}
		return out
	}
	w.write("s.yaml", one)
	first := names()
	w.mustRun(0, "approve", "--all")
	w.write("s.yaml", both)
	w.wantActions(w.plan(), map[string]string{"r-a/b": "create"})
	second := names()
	if len(second) != 2 || !slices.Contains(second, first[0]) || strings.HasSuffix(second[1], "=s-r-a-b") == strings.HasSuffix(second[0], "=s-r-a-b") {
		t.Errorf("names %q, then %q", first, second)
	}
	w.mustRun(0, "approve", "--all")
	w.write("s.yaml", strings.Replace(both, "        - name: r\n          packageNames: [a-b]\n", "", 1))
	for _, v := range w.mustApply().Variants {
		if v.Variant == "r-a/b" && (v.Action != "none" || !slices.Contains(second, "r-a/b="+v.Name)) {
			t.Errorf("a target went, and r-a/b: %s as %s", v.Action, v.Name)
		}
	}
}

// A fleet that got a name later is told how to go on.
func TestManagerRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a"))
	w.mustRun(0, "apply", "--manager", "former")
	before := w.refs()
	r := w.mustRun(1, "apply", "--manager", "later")
	w.contains(r.out+r.err, "belongs to the variant former/default/web-c1-a", "go on under it with --manager former")
	w.unchanged(before)
	w.mustRun(0, "apply", "--manager", "former")
	w.unchanged(before)
}

// What somebody put on the branch without a revision is not replaced. Where the
// variant is to adopt it, it becomes v1 as it stands, and what it has of its own
// stays, whether or not its Kptfile says where it came from.
func TestFolderOnTheBranch(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]bool{"by kpt pkg get": true, "by hand": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			folder := merged(webV1, gittest.Text{"web/own.txt": "mine\n", "web/deployment.yaml": strings.Replace(webV1["web/deployment.yaml"], "cpu: 100m", "cpu: 900m", 1)})
			if lock { // and the same repository by another way
				folder["web/Kptfile"] += "upstreamLock:\n  type: git\n  git:\n    repo: file://" + w.url("catalog") + "/\n    directory: /web\n    ref: web/v1\n    commit: " + w.refs()["catalog refs/tags/web/v1"] + "\n"
			}
			commit := w.repos["c1"].Commit(t, "main", "by hand", folder)
			w.repos["c1"].Commit(t, "main", "later", gittest.Text{"README.md": "# later\n"})
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			before := w.refs()
			r := w.mustRun(1, "apply")
			w.contains(r.out+r.err, "is on branch main already", "adoptExisting to take it over as web/v1")
			w.unchanged(before)

			// What cannot be built is not tagged either.
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"+mutator("example.com/none:v1", "")))
			w.mustRun(1, "apply")
			w.unchanged(before)

			w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
			plan := w.plan()
			w.contains(plan.out, "becomes v1")
			w.mustApply()
			w.wantRefs("c1", draft1, "refs/heads/main", "refs/tags/web/v1")
			if v1 := w.refs()["c1 refs/tags/web/v1"]; v1 != commit {
				t.Errorf("v1 is %s, want the commit that brought the folder, %s", v1, commit)
			}
			w.contains(w.show("c1", draft1, "web/own.txt"), "mine")
			w.contains(w.show("c1", draft1, "web/deployment.yaml"), "cpu: 900m")
			w.contains(w.show("c1", draft1, "web/Kptfile"), "variform.dev/variant: variform/default/one", "ref: web/v1")
			before = w.refs()
			w.mustApply()
			w.unchanged(before)

			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
			w.mustApply()
			const draft2 = "drafts/web/packagevariant-2"
			w.contains(w.show("c1", draft2, "web/deployment.yaml"), ":2.0", "cpu: 900m")
			w.contains(w.show("c1", draft2, "web/own.txt"), "mine")
			w.contains(w.show("c1", draft2, "web/policy.yaml"), "deny: all")
		})
	}
}

// A branch of anybody's beside a folder on the registered branch is no leave to
// replace the folder, and what a forge merged without deleting its branch is one.
func TestFolderBesideAStrangersDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.repos["c1"].CommitFrom(t, "drafts/web/mine", "main", "a person's", gittest.Text{"web/Kptfile": webV1["web/Kptfile"]})
	w.repos["c1"].Commit(t, "main", "by hand", merged(webV1, gittest.Text{"web/own.txt": "mine\n"}))
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	before := w.refs()
	r := w.mustRun(1, "apply")
	w.contains(r.out+r.err, "is on branch main already")
	w.unchanged(before)
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	w.mustApply()
	w.approveSeen()
	w.contains(w.show("c1", "main", "web/own.txt"), "mine")
	w.contains(strings.Join(w.refNames("c1"), " "), "refs/tags/web/v1", "refs/tags/web/v2")
}

// A Draft that is merged while a prune removes its branch, or later from somebody's
// clone, is known by the record: the next run tells of it, and retires it.
func TestMergedWhileItIsPruned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		style       string
		later, lost bool
	}{
		"merged":             {style: "merge"},
		"squashed":           {style: "squash"},
		"rebased":            {style: "rebase"},
		"squashed, later":    {style: "squash", later: true},
		"the record is anew": {style: "squash", lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1", "c2")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			w.write("o.yaml", variantOf("two", "v1", "c1", "other", ""))
			w.mustApply()
			w.mustRun(0, "approve", "c1/other")
			w.write("v.yaml", variantOf("one", "v1", "c2", "web", ""))
			merge := func() { w.forgeMerge("c1", "drafts/web/packagevariant-1", tc.style, false) }
			if tc.later {
				draft := w.refs()["c1 "+draft1]
				merge = func() {
					w.repos["c1"].Git(t, "update-ref", draft1, draft)
					w.forgeMerge("c1", "drafts/web/packagevariant-1", tc.style, true)
				}
			} else {
				w.once(gittest.Push, "c1", merge)
			}
			w.wantActions(w.mustApply("--prune"), map[string]string{"c1/web": "discard", "c2/web": "create"})
			w.mustRun(0, "record", "check")
			if tc.lost {
				w.mustRun(0, "record", "rebuild")
				w.contains(w.texts("c1", recordRef, "index/"), `"withdrawn":1}`)
			}
			if tc.later {
				w.wantActions(w.mustApply("--prune"), map[string]string{}) // nothing is left to do, and nothing to tell
				merge()
			}
			w.wantActions(w.plan(), all("keep", "c1/web"))
			p := w.mustApply("--prune")
			if a := p.variant(t, "c1/web").Action; a != "tag" {
				t.Errorf("%s, want tag", a)
			}
			w.mustRun(0, "approve", "--all")
			w.mustApply("--prune")
			w.mustRun(0, "record", "check")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
			w.lacks(w.repos["c1"].Git(t, "ls-tree", "--name-only", "main"), "web")
		})
	}
}

// A Draft that was merged, its branch kept, goes as its variant does, and a tag comes in a
// push of its own: where that is refused the package is not forgotten.
func TestPrunedAndItsTagRefused(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash"} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			w.write("o.yaml", variantOf("two", "v1", "c1", "other", ""))
			w.mustApply()
			w.mustRun(0, "approve", "c1/other")
			w.forgeMerge("c1", "drafts/web/packagevariant-1", style, false)
			w.write("v.yaml", "")
			w.repos["c1"].Hook(t, "update", `case "$1" in refs/tags/*) echo "no tags today" >&2; exit 1;; esac`)
			before := w.refs()
			w.contains(w.mustRun(0, "apply", "--prune").err, "no tags today")
			w.unchanged(before)
			w.repos["c1"].Hook(t, "update", "exit 0")
			w.mustApply("--prune")
			w.contains(strings.Join(w.refNames("c1"), " "), "refs/tags/web/v1")
			w.contains(strings.Join(w.refNames("c1"), " "), "refs/heads/deletionProposed/web/v1")
			w.mustRun(0, "approve", "--all")
			w.mustApply("--prune")
			w.mustRun(0, "record", "check")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
			w.lacks(w.repos["c1"].Git(t, "ls-tree", "--name-only", "main"), "web")
		})
	}
}

// What was pruned as a Draft is made again where it is wanted again.
func TestPrunedAndWantedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("o.yaml", variantOf("two", "v1", "c1", "other", ""))
	w.mustApply()
	w.write("v.yaml", "")
	w.wantActions(w.mustApply("--prune"), all("discard", "c1/web"))
	w.unchanged(func() map[string]string { before := w.refs(); w.mustApply("--prune"); return before }())
	w.mustRun(0, "record", "check")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("create", "c1/web"))
	w.wantActions(w.mustApply(), map[string]string{})
	w.mustRun(0, "approve", "--all")
	w.mustRun(0, "record", "check")
}

// A variant that names no Repository is no reason to delete what it was.
func TestPruneWithAMistypedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("o.yaml", variantOf("two", "v1", "c1", "other", ""))
	w.mustApply()
	w.mustRun(0, "approve", "c1/other")
	before := w.refs()
	w.write("v.yaml", variantOf("one", "v1", "c1x", "web", ""))
	w.write("o.yaml", variantOf("two", "v1", "c1x", "other", ""))
	r := w.mustRun(1, "apply", "--prune")
	w.contains(r.out+r.err, "2 variants of a Repository that is not there")
	w.unchanged(before)
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.write("o.yaml", variantOf("two", "v1", "c1", "other", ""))
	w.wantActions(w.mustApply("--prune"), map[string]string{})
	w.unchanged(before)
}

// The number of a revision that was deleted names no other one, nor does its workspace.
func TestNumbersOutliveDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	variant := variantOf("web", "v1", "c1", "web", "")
	for _, pkg := range []string{"web/v1", "web/v2"} {
		w.write("v.yaml", variant)
		w.mustApply()
		w.contains(w.mustRun(0, "approve", "web").out, "Published "+pkg[len("web/"):])
		w.mustRun(0, "record", "check")
		w.write("v.yaml", "")
		w.mustApply("--prune")
		w.mustRun(0, "approve", "--all")
		w.lacks(strings.Join(w.refNames("c1"), " "), "web/")
		w.wantActions(w.mustApply("--prune"), map[string]string{})
	}
	w.mustRun(0, "record", "rebuild")
	w.write("v.yaml", variant)
	p := w.mustApply("--cache-dir", t.TempDir()) // another machine knows it, too
	if v := p.variant(t, "c1/web"); v.Workspace != "packagevariant-3" {
		t.Errorf("workspace %s", v.Workspace)
	}
	w.contains(w.mustRun(0, "approve", "web").out, "Published v3")
}

// Status has one row for what a run first does with a package and what it makes of
// that then.
func TestStatusTellsOfARevisionOnce(t *testing.T) {
	t.Parallel()
	v1, v2 := variantOf("one", "v1", "c1", "web", ""), variantOf("one", "v2", "c1", "web", "")
	proposed := func(w *world) {
		w.mustRun(0, "approve", "--all")
		w.write("v.yaml", "")
		w.mustApply("--prune")
	}
	merged := func(w *world) { w.repos["c1"].Git(t, "update-ref", "refs/heads/main", draft1) }
	for name, tt := range map[string]struct {
		before func(*world)
		now    string
		row    []string
	}{
		"a deletion is taken back":          {proposed, v1, []string{"False", "False", "DeletionProposed", "v1", "-", "the proposed deletion of v1 is taken back: the package is wanted"}},
		"a deletion is taken back, updated": {proposed, v2, []string{"False", "False", "DeletionProposed", "v1", "-", "the proposed deletion of v1 is taken back: the package is wanted; upstream changed: now catalog/web@web/v2"}},
		"a forge merged it":                 {merged, v1, []string{"False", "False", "Draft", "packagevariant-1", "-", "merged into main by other means: becomes v1"}},
		"a forge merged it, updated":        {merged, v2, []string{"False", "False", "Draft", "packagevariant-1", "-", "merged into main by other means: becomes v1; upstream changed: now catalog/web@web/v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", v1)
			w.mustApply()
			tt.before(w)
			w.write("v.yaml", tt.now)
			lines := strings.Split(w.mustRun(0, "status", "c1").out, "\n")
			got := strings.SplitN(strings.Join(strings.Fields(lines[3]), " "), " ", 7) // below the fleet and the head of the table
			if d := cmp.Diff(append([]string{"c1/web"}, tt.row...), got); d != "" || strings.HasPrefix(lines[4], "c1/web") {
				t.Errorf("(-want +got):\n%s\n%s", d, strings.Join(lines, "\n"))
			}
		})
	}
}

// What a variant wants is wanted, in whichever way another Repository spells the
// address of its Git repository.
func TestPruneKnowsOneRepositoryByTwoAddresses(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.write("repositories/b1.yaml", repository("b1", strings.TrimSuffix(w.url("c1"), ".git"), true, ""))
	for _, command := range [][]string{{"plan"}, {"apply", "--prune", "--max-delete=99"}} {
		w.lacks(w.mustRun(0, command...).out, "its variant has gone", "delet")
	}
	w.write("w.yaml", variantOf("two", "v1", "b1", "web", ""))
	w.contains(w.mustRun(1, "plan").err, `makes the same folder "web"`)
}
