package porch

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// database holds what Porch's does of a repository, under its rules: a workspace
// of a package is one revision, which has a number once it is Published, and the
// same one for ever, and none while it is open. A number is one commit's.
type database struct {
	reader
	numbers map[string]int    // of workspaces that were Published, by package and workspace
	commits map[string]string // of revisions, by package and number
}

func newDatabase(t *testing.T, repo *gittest.Repo, directory string) *database {
	t.Helper()
	return &database{reader{t, repo, directory}, map[string]int{}, map[string]string{}}
}

// sync reads the repository as it is now.
func (d *database) sync(when string) map[string]revision {
	d.t.Helper()
	list := d.list()
	checkAgree(d.t, d.repo, d.directory, list)
	there := map[string]revision{}
	for _, r := range list {
		name := r.Package + "." + r.Workspace
		if o, twice := there[name]; twice {
			d.t.Errorf("%s: workspace %s is two revisions: %+v, %+v", when, name, o, r)
		}
		there[name] = r
		if was, ok := d.numbers[name]; ok && was != r.Revision {
			d.t.Errorf("%s: update of revision of %s from %d to %d is illegal", when, name, was, r.Revision)
		}
		if r.Revision == 0 {
			continue
		}
		d.numbers[name] = r.Revision
		number := fmt.Sprintf("%s/v%d", r.Package, r.Revision)
		commit := d.repo.Git(d.t, "rev-parse", "refs/tags/"+number+"^{commit}")
		if was, ok := d.commits[number]; ok && was != commit {
			d.t.Errorf("%s: %s was %s, and is %s", when, number, was, commit)
		}
		d.commits[number] = commit
	}
	return there
}

// TestEveryKindOfRevision holds Porch's rules of reading against every kind of
// revision that Variform makes or takes over.
func TestEveryKindOfRevision(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	object := func(name, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: \"" + value + "\"\n"
	}
	catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web"), "web/a.yaml": object("a", "1"), "web/b.yaml": object("b", "1")}))
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n", "apps/adopted/Kptfile": kpt("adopted"), "apps/adopted/a.yaml": object("a", "0")})
	f := newFleet(t, catalog, prod)
	db := newDatabase(t, prod, "apps")

	merges := []string{"merge", "squash", "rebase", "fast-forward"}
	packages := append([]string{"plain", "edited", "hotfix", "back", "discarded", "adopted", "porch", "gone"}, merges...)
	want := func(revision string) {
		for _, pkg := range packages {
			f.variant(pkg, revision, map[bool]string{true: "  adoptionPolicy: adoptExisting\n"}[pkg == "adopted"]+"  deletionPolicy: delete\n")
		}
	}
	lifecycles := func(there map[string]revision, lifecycle string, number int, workspace func(pkg string) string, packages ...string) {
		t.Helper()
		for _, pkg := range packages {
			if r := there["apps/"+pkg+"."+workspace(pkg)]; r.Lifecycle != lifecycle || r.Revision != number {
				t.Errorf("%s: %+v, want %s with number %d", pkg, r, lifecycle, number)
			}
		}
	}
	drafted := func(n int) func(string) string {
		return func(string) string { return fmt.Sprintf("packagevariant-%d", n) }
	}
	// A merge or a squash has no line of Porch's: it is named by its number there.
	landed := func(n int) func(string) string {
		return func(style string) string {
			if style == "merge" || style == "squash" {
				return fmt.Sprintf("v%d", n)
			}
			return drafted(n)(style)
		}
	}

	want("v1")
	f.run("apply")
	there := db.sync("first Drafts")
	lifecycles(there, "Draft", 0, drafted(1), packages[0], merges[0], "gone")
	lifecycles(there, "Published", 1, func(string) string { return "v1" }, "adopted")
	prod.Commit(t, "drafts/apps/edited/packagevariant-1", "by hand", gittest.Text{"apps/edited/b.yaml": object("b", "mine")})
	for _, style := range merges {
		forgeMerge(t, prod, "drafts/apps/"+style+"/packagevariant-1", style)
	}
	f.run("apply")
	there = db.sync("forges merged, and deleted the branches")
	lifecycles(there, "Published", 1, landed(1), merges...)
	f.run("propose", "prod/plain")
	db.sync("one is proposed")
	// Default Porch approves with commits of its own, and leaves the branch.
	draft := "drafts/apps/porch/packagevariant-1"
	own := gittest.Run(t, prod.Dir, []byte(line("Intermediate commit", "apps/porch", `,"workspaceName":"packagevariant-1","revision":"0"`)), "commit-tree", draft+"^{tree}", "-p", draft+"^1")
	prod.Branch(t, "own", own)
	prod.Tag(t, "apps/porch/v1", mergeCommit(t, prod, "main", "own", "apps/porch", line("Approving package revision apps/porch/1", "apps/porch", `,"workspaceName":"packagevariant-1","revision":"1"`)))
	prod.Git(t, "branch", "-D", "own")
	f.run("apply")
	db.sync("what Porch approved")
	f.approveSeen()
	f.run("apply")
	there = db.sync("the first are approved")
	lifecycles(there, "Published", 1, drafted(1), "plain", "edited", "hotfix", "back", "discarded", "porch", "gone")

	prod.Commit(t, "main", "a hotfix", gittest.Text{"apps/hotfix/b.yaml": object("b", "hot")})
	catalog.Tag(t, "web/v2", catalog.Commit(t, "main", "web", gittest.Text{"web/a.yaml": object("a", "2")}))
	want("v2")
	f.run("apply")
	there = db.sync("updates")
	lifecycles(there, "Draft", 0, drafted(2), packages...)
	f.run("discard", "prod/discarded", "--reason", "not yet")
	for _, style := range merges {
		forgeMerge(t, prod, "drafts/apps/"+style+"/packagevariant-2", style)
	}
	f.run("apply")
	f.run("approve", "--all", "--accept-lost") // the update of adopted replaces what its folder said
	there = db.sync("updates are approved, one discarded")
	lifecycles(there, "Published", 2, landed(2), merges...)
	lifecycles(there, "Published", 2, drafted(2), "plain", "edited", "hotfix", "back", "porch")
	lifecycles(there, "Published", 3, drafted(2), "adopted") // v1 was the folder
	if _, open := there["apps/discarded.packagevariant-2"]; open {
		t.Error("the discarded Draft is there")
	}

	inClone(t, prod, func(git func(...string)) {
		git("checkout", "apps/back/v1", "--", "apps/back")
		git("commit", "-qm", "Revert")
		git("push", "-q", "origin", "main")
	})
	catalog.Tag(t, "web/v3", catalog.Commit(t, "main", "web", gittest.Text{"web/a.yaml": object("a", "3")}))
	want("v3")
	f.remove("variant-gone.yaml")
	f.run("apply", "--prune", "--max-delete=1", "--retry", "prod/back")
	there = db.sync("an update, a return, a removal")
	lifecycles(there, "DeletionProposed", 1, drafted(1), "gone")
	f.run("approve", "--all")
	f.run("apply")
	there = db.sync("the last")
	lifecycles(there, "Published", 3, drafted(3), "plain", "edited", "hotfix", "back", "porch", "merge", "squash")
	lifecycles(there, "Published", 4, drafted(3), "adopted")

	// What was deleted comes again, what was Published is set back by the command, and
	// what stands on the branch is approved.
	f.variant("gone", "v3", "  deletionPolicy: delete\n")
	f.run("apply")
	f.run("revert", "prod/plain", "v1")
	prod.Commit(t, "main", "a hotfix", gittest.Text{"apps/porch/b.yaml": object("b", "hot")})
	f.run("approve", "--main", "prod/porch")
	f.run("approve", "prod/gone", "prod/plain")
	f.run("apply")
	there = db.sync("made again, set back, approved on the branch")
	lifecycles(there, "Published", 3, drafted(3), "gone") // v1 and v2 were deleted
	lifecycles(there, "Published", 4, drafted(4), "plain")
	lifecycles(there, "Published", 4, func(string) string { return "v4" }, "porch")
	refs := prod.Refs(t)
	f.run("apply")
	if now := prod.Refs(t); len(now) != len(refs) {
		t.Errorf("one more run moves refs: %v, %v", refs, now)
	}
	prod.Fsck(t)
}

// What people committed to main is a revision that Porch names by its number, whether
// it was asked for or variform.dev/tag-main makes it; the Draft beside it goes on.
func TestTagMain(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	for _, v := range []string{"1", "2"} {
		catalog.Tag(t, "web/v"+v, catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web"), "web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: \"" + v + "\"\n"}))
	}
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	f := newFleet(t, catalog, prod)
	f.write("prod.yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: prod, annotations: {variform.dev/tag-main: always}}\nspec: {type: git, deployment: true, git: {repo: %q, branch: main, directory: apps}}\n", prod.Dir))
	db := newDatabase(t, prod, "apps")
	f.variant("web", "v1", "")
	f.run("apply")
	f.run("approve", "--all")
	f.variant("web", "v2", "")
	f.run("apply")
	prod.Commit(t, "main", "a hotfix", gittest.Text{"apps/web/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  a: hot\n"})
	f.run("apply")
	there := db.sync("a hotfix")
	for name, want := range map[string]struct {
		lifecycle string
		number    int
	}{"apps/web.packagevariant-1": {"Published", 1}, "apps/web.v2": {"Published", 2}, "apps/web.packagevariant-2": {"Draft", 0}} {
		if r := there[name]; r.Lifecycle != want.lifecycle || r.Revision != want.number {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
	f.run("approve", "--all")
	if r := db.sync("the Draft is approved")["apps/web.packagevariant-2"]; r.Revision != 3 {
		t.Errorf("%+v", r)
	}
	prod.Fsck(t)
}

// forgeMerge merges a branch into main as forges do, and deletes it.
func forgeMerge(t *testing.T, repo *gittest.Repo, branch, style string) {
	t.Helper()
	inClone(t, repo, func(git func(...string)) {
		switch style {
		case "merge":
			git("merge", "-q", "--no-ff", "-m", "Merge pull request 1", "origin/"+branch)
		case "squash":
			git("merge", "-q", "--squash", "origin/"+branch)
			git("commit", "-qm", "Update (#1)")
		case "rebase", "fast-forward":
			git("checkout", "-q", "-B", "topic", "origin/"+branch)
			git(append([]string{"rebase", "-q"}, map[string][]string{"rebase": {"--force-rebase", "main"}, "fast-forward": {"main"}}[style]...)...)
			git("checkout", "-q", "main")
			git("merge", "-q", "--ff-only", "topic")
		}
		git("push", "-q", "origin", "main", ":"+branch)
	})
}

// inClone runs git on a clone of main.
func inClone(t *testing.T, repo *gittest.Repo, do func(git func(...string))) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	gittest.Run(t, repo.Dir, nil, "clone", "-q", repo.Dir, dir)
	git := func(args ...string) { t.Helper(); gittest.Run(t, dir, nil, args...) }
	git("checkout", "-q", "-B", "main", "origin/main")
	do(git)
}

// A deletion that is approved in Porch takes the tag, and leaves the files on the
// branch: they are retired where nothing wants them, and tagged again where a
// variant does.
func TestPorchDeletes(t *testing.T) {
	gittest.RequireGit(t)
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web")}))
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	f := newFleet(t, catalog, prod)
	f.variant("b", "v1", "")
	f.run("apply")
	f.run("approve", "--all")
	published := []revision{{"apps/b", "packagevariant-1", 1, "Published", "clone"}}
	prod.Git(t, "tag", "-d", "apps/b/v1")
	f.run("apply")
	checkAgree(t, prod, "apps", published)

	prod.Git(t, "tag", "-d", "apps/b/v1")
	f.remove("variant-b.yaml")
	f.run("apply", "--prune")
	published[0].Lifecycle = "DeletionProposed"
	checkAgree(t, prod, "apps", published)
	f.run("approve", "--all")
	checkAgree(t, prod, "apps", nil)
	if files := prod.Git(t, "ls-tree", "-r", "--name-only", "main"); files != "README.md" {
		t.Errorf("left on main: %s", files)
	}
}

// Porch approves a Draft as it knows it, and leaves the branch, to which a person
// committed: a workspace is one revision, so that the rest goes on in another.
func TestPorchLeavesADraft(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	for name, again := range map[string]bool{"began before": false, "began anew at it": true} {
		t.Run(name, func(t *testing.T) {
			catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
			catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web"), "web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"}))
			prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
			f := newFleet(t, catalog, prod)
			f.variant("b", "v1", "")
			f.run("apply")
			const branch = "drafts/apps/b/packagevariant-1"
			prod.Tag(t, "apps/b/v1", mergeCommit(t, prod, "main", branch, "apps/b", line("Approving package revision apps/b/1", "apps/b", `,"workspaceName":"packagevariant-1","revision":"1"`)))
			if again {
				prod.Branch(t, branch, prod.Git(t, "rev-parse", "main"))
			}
			prod.Commit(t, branch, "by hand", gittest.Text{"apps/b/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: mine\n"})
			f.run("apply")
			checkAgree(t, prod, "apps", []revision{
				{"apps/b", "packagevariant-2", 0, "Draft", "edit"},
				{"apps/b", "packagevariant-1", 1, "Published", "clone"},
			})
			f.approveSeen()
			checkAgree(t, prod, "apps", []revision{
				{"apps/b", "packagevariant-1", 1, "Published", "clone"},
				{"apps/b", "packagevariant-2", 2, "Published", "edit"},
			})
			if got := prod.Show(t, "apps/b/v2", "apps/b/a.yaml"); !strings.Contains(got, "a: mine") {
				t.Errorf("the edit is not in v2:\n%s", got)
			}
		})
	}
}

// asPorch writes a package as Porch does when it renders and publishes it: the Kptfile
// without comments, with sorted annotations, wide lists and the outcome of the render,
// everything else in kyaml's layout.
func asPorch(kptfile string) string {
	kptfile = strings.Replace(kptfile, "  annotations:\n    z: last # ours\n    variform.dev/variant: ", "  annotations:\n    variform.dev/variant: ", 1)
	kptfile = strings.Replace(kptfile, "\nupstream:\n", "\n    z: last\nupstream:\n", 1)
	return kptfile + "status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n  renderStatus:\n    mutationSteps:\n      - image: x\n        exitCode: 0\n"
}

// approveInPorch publishes a Draft as Porch does that keeps Drafts in its database: the
// content is Porch's own, in new commits on main, and the Draft's branch stays. more
// changes the content as a person does who edits it there.
func approveInPorch(t *testing.T, repo *gittest.Repo, pkg, workspace string, n int, more func(gittest.Text)) {
	t.Helper()
	draft := "drafts/" + pkg + "/" + workspace
	files := gittest.Text{}
	for _, file := range strings.Fields(repo.Git(t, "ls-tree", "-r", "--name-only", draft, pkg+"/")) {
		text := repo.Show(t, draft, file)
		if path.Base(file) == "Kptfile" {
			text = asPorch(text)
		}
		files[file] = strings.Replace(text, "data: {a: \"1\"}", "data:\n  a: \"1\"", 1)
	}
	if more != nil {
		more(files)
	}
	repo.CommitFrom(t, "porch", "main", line("Creating new revision by cloning\n", pkg, `,"workspaceName":"`+workspace+`","revision":"0","task":{"type":"clone"}`), files)
	repo.Tag(t, fmt.Sprintf("%s/v%d", pkg, n), mergeCommit(t, repo, "main", "porch", pkg, line(fmt.Sprintf("Approving package revision %s/%d", pkg, n), pkg, fmt.Sprintf(`,"workspaceName":"%s","revision":"%d"`, workspace, n))))
	repo.Git(t, "update-ref", "-d", "refs/heads/porch")
}

// summary returns the line that counts variants.
func summary(said string) string {
	i := strings.Index(said, "1 variant: ")
	line, _, _ := strings.Cut(said[max(i, 0):], "\n")
	return line
}

// What Porch notes in a package that it publishes is no difference and no edit: the Draft
// is done, the record knows what it was made from, and the next change is a change of the
// variant's alone.
func TestPorchPublishesFromItsDatabase(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	const branch = "drafts/apps/b/packagevariant-1"
	edit := func(files gittest.Text) {
		files["apps/b/a.yaml"] = strings.Replace(files["apps/b/a.yaml"], "a: \"1\"", "a: theirs", 1)
	}
	for name, c := range map[string]struct {
		before func(*testing.T, fleet, *gittest.Repo) // the approval
		edit   func(gittest.Text)                     // in Porch
		after  func(*testing.T, *gittest.Repo)        // the approval
		says   []string                               // of the run after
		edits  string                                 // in the record of edits
	}{
		"as it stands": {says: []string{"discard   packagevariant-1", "another tool published it as v1"}},
		"and its branch is deleted": {
			after: func(t *testing.T, repo *gittest.Repo) { repo.Git(t, "update-ref", "-d", "refs/heads/"+branch) },
			says:  []string{"record", "v1 was published by another tool"},
		},
		"with an edit": {edit: edit, says: []string{"discard   packagevariant-1", "another tool edited it, and published it as v1"}, edits: "data.a"},
		"before the Draft was updated": {
			before: func(t *testing.T, f fleet, repo *gittest.Repo) {
				f.variant("b", "v1", "  packageContext: {data: {quota: medium}}\n")
				f.run("apply") // Porch has the Draft of before, which has another quota
			},
			edit: func(files gittest.Text) {
				files["apps/b/package-context.yaml"] = strings.Replace(files["apps/b/package-context.yaml"], "medium", "large", 1)
			},
			says: []string{"update   packagevariant-2"},
		},
		"and a formatter follows": {
			after: func(t *testing.T, repo *gittest.Repo) {
				repo.Commit(t, "main", "format", gittest.Text{"apps/b/a.yaml": strings.Replace(repo.Show(t, "main", "apps/b/a.yaml"), "data:\n  a:", "data:\n    a:", 1)})
			},
			says: []string{"another tool published it as v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
			catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{
				"web/Kptfile": kpt("web") + "  annotations:\n    z: last # ours\n",
				"web/a.yaml":  "# what it is for\n\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {a: \"1\"}\n",
			}))
			prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
			f := newFleet(t, catalog, prod)
			f.variant("b", "v1", "  packageContext: {data: {quota: large}}\n")
			f.run("apply")
			if c.before != nil {
				c.before(t, f, prod)
			}
			approveInPorch(t, prod, "apps/b", "packagevariant-1", 1, c.edit)
			if c.after != nil {
				c.after(t, prod)
			}
			plan := f.says("plan", "-o", "wide")
			if status := f.says("status"); summary(status) != summary(plan) {
				t.Errorf("plan and status say two things:\n%s\n%s", plan, status)
			}
			for _, want := range c.says {
				if !strings.Contains(plan, want) {
					t.Errorf("plan says nothing of %q:\n%s", want, plan)
				}
			}
			f.run("apply")
			goesOn := len(prod.Git(t, "for-each-ref", "refs/heads/drafts")) > 0
			if goesOn {
				f.run("approve", "--all")
			}
			refs := prod.Refs(t)
			for _, verb := range []string{"apply", "plan", "status", "edits"} {
				said := f.says(verb)
				if verb != "edits" && !strings.Contains(said, "1 up to date") || strings.Contains(said, "edited by hand") ||
					verb == "edits" && (c.edits == "" && !strings.Contains(said, "0 edits in 0 revisions") || !strings.Contains(said, c.edits)) {
					t.Errorf("%s after it is settled:\n%s", verb, said)
				}
			}
			if diff := gocmp.Diff(refs, prod.Refs(t)); diff != "" {
				t.Errorf("a run with nothing to do:\n%s", diff)
			}
			f.variant("b", "v1", "  packageContext: {data: {quota: huge}}\n")
			if plan = f.says("plan"); !strings.Contains(plan, "variant spec changed") || strings.Contains(plan, "conflict") {
				t.Errorf("a change of the variant:\n%s", plan)
			}
			f.run("apply")
			if name == "and a formatter follows" {
				draft := prod.Git(t, "for-each-ref", "--format=%(refname)", "refs/heads/drafts")
				if text := prod.Show(t, strings.TrimSpace(draft), "apps/b/a.yaml"); !strings.Contains(text, "data:\n    a:") {
					t.Errorf("the update lost the layout:\n%s", text)
				}
			}
			if said := f.says("review"); strings.Contains(said, "by hand") != (c.edits != "") || strings.Contains(said, "enderStatus") {
				t.Errorf("its review:\n%s", said)
			}
		})
	}
}

// A key that a variant no longer sets goes, and plan says so. Porch keeps it until
// removeKeys names it.
func TestContextKeyGoes(t *testing.T) {
	gittest.RequireGit(t)
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web")}))
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	f := newFleet(t, catalog, prod)
	f.variant("b", "v1", "  packageContext: {data: {quota: large, zone: a}}\n")
	f.run("apply")
	f.run("approve", "--all")
	const says = "package-context.yaml loses data.zone"
	f.variant("b", "v1", "  packageContext: {data: {quota: large}}\n")
	if said := f.says("plan"); !strings.Contains(said, says) {
		t.Errorf("plan says nothing of it:\n%s", said)
	}
	f.variant("b", "v1", "  packageContext: {data: {quota: large}, removeKeys: [zone]}\n")
	if said := f.says("plan"); strings.Contains(said, says) {
		t.Errorf("plan says what removeKeys says:\n%s", said)
	}
	f.run("apply")
	if got := prod.Show(t, "drafts/apps/b/packagevariant-2", "apps/b/package-context.yaml"); strings.Contains(got, "zone") || !strings.Contains(got, "quota: large") {
		t.Errorf("the context:\n%s", got)
	}
}

// A Draft that Porch has of a wanted package is named where the variant may not adopt it.
func TestPorchsDraft(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	commit := catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web"), "web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {a: \"1\"}\n"})
	catalog.Tag(t, "web/v1", commit)
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	const draft = "drafts/apps/b/packagevariant-1"
	prod.CommitFrom(t, draft, "main", line("Creating new revision by cloning\n", "apps/b", `,"workspaceName":"packagevariant-1","revision":"0","task":{"type":"clone"}`), gittest.Text{
		"apps/b/Kptfile": kpt("b") + "upstream:\n  type: git\n  git: {repo: " + catalog.Dir + ", directory: /web, ref: web/v1}\nupstreamLock:\n  type: git\n  git: {repo: " + catalog.Dir + ", directory: /web, ref: web/v1, commit: " + commit + "}\n" +
			"status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n",
		"apps/b/a.yaml":               "apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /a\n  name: a\ndata:\n    a: \"1\"\n",
		"apps/b/package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: b\n",
	})
	f := newFleet(t, catalog, prod)
	f.variant("b", "v1", "")
	if said := f.says("plan"); !strings.Contains(said, "no variant owns Draft packagevariant-1 by ") || !strings.Contains(said, "adoptionPolicy: adoptExisting") {
		t.Errorf("plan says nothing of Porch's Draft:\n%s", said)
	}
	f.variant("b", "v1", "  adoptionPolicy: adoptExisting\n")
	if said := f.says("plan"); strings.Contains(said, "no variant owns") || !strings.Contains(said, "adopted") {
		t.Errorf("plan of the adoption:\n%s", said)
	}
	f.run("apply")
	if said := f.says("review"); strings.Contains(said, "base unknown") || strings.Contains(said, "edited by hand") || !strings.Contains(said, "creates the package") {
		t.Errorf("review of the adoption:\n%s", said)
	}
}

// publishInPorch publishes files as Porch does that keeps Drafts in Git: a commit of its own on
// parent, merged into main, with a tag. The Draft's branch goes.
func publishInPorch(t *testing.T, repo *gittest.Repo, pkg, workspace string, n int, parent, task string, files gittest.Text) {
	t.Helper()
	repo.CommitFrom(t, "porch", parent, line("Rendering package\n", pkg, `,"workspaceName":"`+workspace+`","revision":"0","task":`+task), files)
	repo.Tag(t, fmt.Sprintf("%s/v%d", pkg, n), mergeCommit(t, repo, "main", "porch", pkg, line(fmt.Sprintf("Approving package revision %s/%d", pkg, n), pkg, fmt.Sprintf(`,"workspaceName":"%s","revision":"%d"`, workspace, n))))
	for _, branch := range []string{"porch", "drafts/" + pkg + "/" + workspace} {
		repo.Git(t, "update-ref", "-d", "refs/heads/"+branch)
	}
}

// filesAt are a package's files as Porch writes them.
func filesAt(t *testing.T, repo *gittest.Repo, at, pkg string) gittest.Text {
	t.Helper()
	files := gittest.Text{}
	for _, file := range strings.Fields(repo.Git(t, "ls-tree", "-r", "--name-only", at, pkg+"/")) {
		text := repo.Show(t, at, file)
		if path.Base(file) == "Kptfile" && !strings.Contains(text, "renderStatus") {
			text = asPorch(text)
		}
		files[file] = text
	}
	return files
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  image: %q\n  replicas: \"3\"\n"

func porchFleet(t *testing.T) (f fleet, prod *gittest.Repo) {
	t.Helper()
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	for n, from := range []string{"", "", "web/v1"} { // v3 has no extra.yaml
		files := gittest.Text{"web/Kptfile": kpt("web") + "  annotations:\n    z: last # ours\n", "web/a.yaml": fmt.Sprintf(configMap, "a", fmt.Sprint("v", n+1))}
		if n == 1 {
			files["web/extra.yaml"] = fmt.Sprintf(configMap, "extra", "x")
		}
		catalog.Tag(t, fmt.Sprint("web/v", n+1), catalog.CommitFrom(t, "main", from, "web", files))
	}
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	return newFleet(t, catalog, prod), prod
}

// Porch publishes what it read of a Draft before Variform built that again: the fleet's value
// is drafted once more, and nobody edited the earlier one.
func TestPorchPublishesAnEarlierBuild(t *testing.T) {
	f, prod := porchFleet(t)
	quota := func(is string) {
		f.variant("b", "v1", "  packageContext: {data: {quota: "+is+"}}\n")
		f.run("apply")
	}
	quota("small")
	f.run("approve", "--all")
	quota("huge")
	const draft = "drafts/apps/b/packagevariant-2"
	files := filesAt(t, prod, draft, "apps/b")
	quota("vast")
	publishInPorch(t, prod, "apps/b", "packagevariant-2", 2, draft, `{"type":"render"}`, files)
	if edits := f.says("edits"); !strings.Contains(edits, "0 edits in 0 revisions") {
		t.Errorf("nobody edited it:\n%s", edits)
	}
	if plan := f.says("plan"); !strings.Contains(plan, "variant spec changed") {
		t.Errorf("plan says that the fleet's value is live:\n%s", plan)
	}
	f.run("apply")
	f.run("approve", "--all")
	if got := prod.Show(t, "main", "apps/b/package-context.yaml"); !strings.Contains(got, "quota: vast") {
		t.Errorf("published:\n%s", got)
	}
}

// Porch commits a copy of the latest revision upon an older state of the branch, and merges it:
// the copy began with what it copied. Its edit is the only one, and what upstream removes goes.
func TestPorchCopiesUponAnOlderBranch(t *testing.T) {
	f, prod := porchFleet(t)
	var before string
	for n := 1; n <= 2; n++ {
		before = prod.Git(t, "rev-parse", "main")
		f.variant("b", fmt.Sprint("v", n), "")
		f.run("apply")
		f.run("approve", "--all")
	}
	files := filesAt(t, prod, "main", "apps/b")
	files["apps/b/a.yaml"] = strings.Replace(files["apps/b/a.yaml"], `replicas: "3"`, `replicas: "7"`, 1)
	publishInPorch(t, prod, "apps/b", "mine", 3, before, `{"type":"edit","edit":{"sourceRef":{"name":"prod.apps.b.packagevariant-2"}}}`, files)
	f.run("apply")
	edits := f.says("edits", "-o", "json")
	if strings.Count(edits, `"field"`) != 1 || !strings.Contains(edits, "data.replicas") {
		t.Errorf("edits that nobody made:\n%s", edits)
	}
	f.variant("b", "v3", "")
	f.run("apply")
	draft := strings.TrimSpace(prod.Git(t, "for-each-ref", "--format=%(refname)", "refs/heads/drafts"))
	if got := prod.Git(t, "ls-tree", "-r", "--name-only", draft, "apps/b/"); strings.Contains(got, "extra.yaml") {
		t.Errorf("upstream removed it, and nobody edited it:\n%s", got)
	}
	if got := prod.Show(t, draft, "apps/b/a.yaml"); !strings.Contains(got, `replicas: "7"`) || !strings.Contains(got, "image: v3") && !strings.Contains(got, `image: "v3"`) {
		t.Errorf("the update:\n%s", got)
	}
}
