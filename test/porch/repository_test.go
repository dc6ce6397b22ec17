package porch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/scripttest"
)

// revision is a PackageRevision as Porch lists it.
type revision struct {
	Package   string // path in the repository
	Workspace string
	Revision  int // 0 for Draft and Proposed
	Lifecycle string
	FirstTask string // of its commits' annotations; "" for none
}

// annotation is Porch's line in a commit message.
type annotation struct {
	Package       string `json:"package"`
	WorkspaceName string `json:"workspaceName"`
	Revision      string `json:"revision"`
	Task          *struct {
		Type string `json:"type"`
	} `json:"task"`
}

// reader lists a repository by Porch's rules, with git alone: refs, tags and
// commit annotations, and a Kptfile at the package's path.
type reader struct {
	t         *testing.T
	repo      *gittest.Repo
	directory string
}

func (r reader) list() []revision {
	r.t.Helper()
	refs := r.repo.Refs(r.t)
	var out []revision
	for ref := range refs {
		for prefix, lifecycle := range map[string]string{"refs/heads/drafts/": "Draft", "refs/heads/proposed/": "Proposed", "refs/tags/": "Published"} {
			rest, ok := strings.CutPrefix(ref, prefix)
			slash := strings.LastIndex(rest, "/")
			if !ok || slash <= 0 {
				continue
			}
			rev := revision{Package: rest[:slash], Workspace: rest[slash+1:], Lifecycle: lifecycle}
			if !r.inside(rev.Package) || !r.hasKptfile(ref, rev.Package) {
				continue
			}
			if lifecycle == "Published" && !r.published(&rev, ref, refs) {
				continue
			}
			rev.FirstTask = r.firstTask(ref, rev)
			out = append(out, rev)
		}
	}
	sortRevisions(out)
	return out
}

// published completes a tagged revision; false for a tag that is no number,
// which Porch lists without a place in the package's history.
func (r reader) published(rev *revision, ref string, refs map[string]string) bool {
	r.t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(rev.Workspace, "v"))
	if err != nil {
		return false
	}
	rev.Revision, rev.Workspace = n, "v"+strconv.Itoa(n)
	for _, a := range r.annotations(r.repo.Git(r.t, "log", "-1", "--format=%B", ref)) {
		if a.Package == rev.Package && a.WorkspaceName != "" {
			rev.Workspace = a.WorkspaceName
			break
		}
	}
	if _, ok := refs[fmt.Sprintf("refs/heads/deletionProposed/%s/v%d", rev.Package, n)]; ok {
		rev.Lifecycle = "DeletionProposed"
	}
	return true
}

func (r reader) inside(pkg string) bool {
	return r.directory == "" || pkg == r.directory || strings.HasPrefix(pkg, r.directory+"/")
}

func (r reader) hasKptfile(ref, pkg string) bool {
	return r.repo.Git(r.t, "ls-tree", "--name-only", ref, path.Join(pkg, "Kptfile")) != ""
}

func (r reader) annotations(message string) []annotation {
	var out []annotation
	for _, line := range strings.Split(message, "\n") {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "kpt:")
		var a annotation
		if ok && json.Unmarshal([]byte(text), &a) == nil {
			out = append(out, a)
		}
	}
	return out
}

// firstTask goes back to where the revision began: its oldest task of those
// that Porch lets begin one, and no further than an init or a clone.
func (r reader) firstTask(ref string, rev revision) string {
	r.t.Helper()
	first := ""
	for _, message := range strings.Split(r.repo.Git(r.t, "log", "--date-order", "--format=%B%x00", ref), "\x00") {
		for _, a := range r.annotations(message) {
			mine := a.WorkspaceName == rev.Workspace || a.WorkspaceName == "" && a.Revision == rev.Workspace
			if a.Package != rev.Package || !mine || a.Task == nil {
				continue
			}
			if slices.Contains([]string{"init", "clone", "edit", "upgrade"}, a.Task.Type) {
				first = a.Task.Type
			}
			if a.Task.Type == "init" || a.Task.Type == "clone" {
				return first
			}
		}
	}
	return first
}

func sortRevisions(list []revision) {
	slices.SortFunc(list, func(a, b revision) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), a.Revision-b.Revision, cmp.Compare(a.Lifecycle, b.Lifecycle), cmp.Compare(a.Workspace, b.Workspace))
	})
}

// readByUs lists the same by internal/gitrepo, in which a Kptfile is what makes
// a path a package, too.
func readByUs(t *testing.T, repo *gittest.Repo, directory string) []revision {
	t.Helper()
	r, err := gitrepo.NewStore(gitrepo.Options{CacheDir: t.TempDir()}).Open(t.Context(), repo.Dir)
	if err != nil {
		t.Fatal(err)
	}
	index := r.Index(directory)
	var out []revision
	for _, pkg := range index.Packages() {
		p := index.Package(pkg)
		workspaces, err := r.PublishedWorkspaces(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, rev := range slices.Concat(p.Drafts, p.Proposed, p.Published) {
			if !hasKptfile(t, r, rev) {
				continue
			}
			one := revision{Package: rev.Package, Workspace: rev.Workspace, Revision: rev.Number, Lifecycle: string(rev.Lifecycle)}
			if rev.Number > 0 {
				one.Workspace = workspaces[rev.Ref.Name]
			}
			out = append(out, one)
		}
	}
	sortRevisions(out)
	return out
}

func hasKptfile(t *testing.T, r *gitrepo.Repo, rev gitrepo.Revision) bool {
	t.Helper()
	tree, ok, err := r.TreeAt(t.Context(), rev.Ref.Commit, rev.Package)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return false
	}
	files, err := r.ReadFiles(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == "Kptfile" {
			return true
		}
	}
	return false
}

// checkAgree holds that both list one and the same, and that it is want.
func checkAgree(t *testing.T, repo *gittest.Repo, directory string, want []revision) {
	t.Helper()
	byPorch := reader{t, repo, directory}.list()
	if diff := gocmp.Diff(want, byPorch); diff != "" {
		t.Errorf("by Porch's rules (-want +got):\n%s", diff)
	}
	for i := range byPorch {
		byPorch[i].FirstTask = ""
	}
	if diff := gocmp.Diff(byPorch, readByUs(t, repo, directory)); diff != "" {
		t.Errorf("the two readers (-Porch's rules +ours):\n%s", diff)
	}
}

func kpt(name string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"
}

func line(message, pkg, more string) string {
	return fmt.Sprintf("%s\n\nkpt:{\"package\":%q%s}\n", message, pkg, more)
}

// TestPorchsLayouts lays repositories out as Porch's own fixtures are: what both
// readers make of them is what Porch does.
func TestPorchsLayouts(t *testing.T) {
	layouts := map[string]struct {
		directory string
		lay       func(*testing.T, *gittest.Repo)
		want      []revision
	}{
		"simple: tags alone, no annotation": {"", func(t *testing.T, r *gittest.Repo) {
			r.Tag(t, "empty/v1", r.Commit(t, "main", "Empty Package", gittest.Text{"empty/Kptfile": kpt("empty")}))
			first := r.Commit(t, "main", "Namespaces", gittest.Text{"basens/Kptfile": kpt("basens"), "istions/Kptfile": kpt("istions")})
			r.Tag(t, "basens/v1", first)
			r.Tag(t, "istions/v1", first)
			r.Tag(t, "basens/v2", r.Commit(t, "main", "Resource", gittest.Text{"basens/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"}))
			r.AnnotatedTag(t, "istions/v2", r.Git(t, "rev-parse", "main"))
		}, []revision{
			{"basens", "v1", 1, "Published", ""},
			{"basens", "v2", 2, "Published", ""},
			{"empty", "v1", 1, "Published", ""},
			{"istions", "v1", 1, "Published", ""},
			{"istions", "v2", 2, "Published", ""},
		}},
		"drafts: of old, with a revision for a workspace, and one without a package": {"", func(t *testing.T, r *gittest.Repo) {
			r.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
			r.CommitFrom(t, "drafts/bucket/v1", "main", "Empty Bucket Package", gittest.Text{"bucket/Kptfile": kpt("bucket")})
			r.CommitFrom(t, "drafts/none/v1", "main", "nothing", gittest.Text{"a": "b\n"})
			r.CommitFrom(t, "drafts/history/v1", "main", line("Intermediate commit: init", "history", `,"revision":"v1","task":{"type":"init","init":{"description":"sample"}}`), gittest.Text{"history/Kptfile": kpt("history")})
			r.Commit(t, "drafts/history/v1", line("Intermediate commit: eval", "history", `,"revision":"v1","task":{"type":"eval","eval":{"image":"render","config":null,"match":{}}}`), gittest.Text{"history/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
		}, []revision{
			{"bucket", "v1", 0, "Draft", ""},
			{"history", "v1", 0, "Draft", "init"},
		}},
		"nested: packages in folders, a registered directory": {"catalog", func(t *testing.T, r *gittest.Repo) {
			all := r.Commit(t, "main", "packages", gittest.Text{
				"sample/Kptfile": kpt("sample"), "catalog/empty/Kptfile": kpt("empty"), "catalog/gcp/bucket/Kptfile": kpt("bucket"), "catalogue/x/Kptfile": kpt("x"),
			})
			for _, tag := range []string{"sample/v1", "catalog/empty/v1", "catalog/gcp/bucket/v1", "catalogue/x/v1", "catalog/gcp/bucket/stable"} {
				r.Tag(t, tag, all)
			}
			r.CommitFrom(t, "drafts/catalog/gcp/bucket/v2", "main", "Enable Versioning", gittest.Text{"catalog/gcp/bucket/a.yaml": "a: b\n"})
			r.CommitFrom(t, "drafts/catalog/gcp/spanner/v1", "main", "Spanner", gittest.Text{"catalog/gcp/spanner/Kptfile": kpt("spanner")})
		}, []revision{
			{"catalog/empty", "v1", 1, "Published", ""},
			{"catalog/gcp/bucket", "v2", 0, "Draft", ""},
			{"catalog/gcp/bucket", "v1", 1, "Published", ""},
			{"catalog/gcp/spanner", "v1", 0, "Draft", ""},
		}},
		"published: as Porch writes today, with a broken annotation beside": {"", func(t *testing.T, r *gittest.Repo) {
			r.Commit(t, "main", "start\n\nkpt:{broken\n", gittest.Text{"README.md": "x\n"})
			r.CommitFrom(t, "drafts/web/blue", "main", line("Creating new revision by cloning\n", "web", `,"workspaceName":"blue","revision":"0","task":{"type":"clone","clone":{"upstreamRef":{"upstreamRef":{"name":"catalog.web.v1"}}}}`), gittest.Text{"web/Kptfile": kpt("web")})
			r.Commit(t, "drafts/web/blue", line("Rendering package\n", "web", `,"workspaceName":"blue","revision":"0","task":{"type":"render"}`), gittest.Text{"web/a.yaml": "a: b\n"})
			merge := mergeCommit(t, r, "main", "drafts/web/blue", "web", line("Approving package revision web/1", "web", `,"workspaceName":"blue","revision":"1"`))
			r.Tag(t, "web/v1", merge)
			r.Git(t, "update-ref", "-d", "refs/heads/drafts/web/blue")
			r.Branch(t, "deletionProposed/web/v1", merge)
			r.CommitFrom(t, "proposed/web/green", "main", line("Creating new revision by copying previous revision\n", "web", `,"workspaceName":"green","revision":"0","task":{"type":"edit","editTask":{"sourceRef":{"name":"r.web.blue"}}}`), gittest.Text{"web/a.yaml": "a: c\n"})
		}, []revision{
			{"web", "green", 0, "Proposed", "edit"},
			{"web", "blue", 1, "DeletionProposed", "clone"},
		}},
	}
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			gittest.RequireGit(t)
			repo := gittest.NewRepo(t)
			l.lay(t, repo)
			checkAgree(t, repo, l.directory, l.want)
		})
	}
}

// mergeCommit merges a package's branch into another as Porch approves: the
// package's tree alone is taken.
func mergeCommit(t *testing.T, r *gittest.Repo, into, branch, pkg, message string) string {
	t.Helper()
	index := "GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")
	for _, args := range [][]string{{"read-tree", into}, {"rm", "-rq", "--cached", "--ignore-unmatch", pkg}, {"read-tree", "-i", "--prefix=" + pkg, branch + ":" + pkg}} {
		withIndex(t, r, index, args...)
	}
	tree := withIndex(t, r, index, "write-tree")
	commit := gittest.Run(t, r.Dir, []byte(message), "commit-tree", tree, "-p", into, "-p", branch)
	r.Branch(t, into, commit)
	return commit
}

func withIndex(t *testing.T, r *gittest.Repo, index string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = r.Dir, append(gittest.Env(), index)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// fleet is a management directory with a catalogue and one downstream repository.
type fleet struct {
	t   *testing.T
	dir string
}

func newFleet(t *testing.T, catalog, prod *gittest.Repo) fleet {
	t.Helper()
	f := fleet{t, t.TempDir()}
	f.write("Kptfile", kpt("variform"))
	for name, repo := range map[string]*gittest.Repo{"catalog": catalog, "prod": prod} {
		f.write(name+".yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s}\nspec:\n  type: git\n  deployment: %t\n  git: {repo: %q, branch: main%s}\n",
			name, name == "prod", repo.Dir, map[bool]string{true: ", directory: apps"}[name == "prod"]))
	}
	return f
}

func (f fleet) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f fleet) variant(pkg, revision, more string) {
	f.t.Helper()
	f.write("variant-"+path.Base(pkg)+".yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: %s}\nspec:\n"+
		"  upstream: {repo: catalog, package: web, revision: %s}\n  downstream: {repo: prod, package: %s}\n%s", path.Base(pkg), revision, pkg, more))
}

func (f fleet) run(args ...string) {
	f.t.Helper()
	f.says(args...)
}

// says is run for what is printed.
func (f fleet) says(args ...string) string {
	f.t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "-f", f.dir, "--cache-dir", filepath.Join(f.t.TempDir(), "cache"))
	if code := cli.Main(f.t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		f.t.Fatalf("variform %v: %d\n%s%s", args, code, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// approveSeen approves the classes that review shows, as a person who saw them.
func (f fleet) approveSeen() {
	f.t.Helper()
	f.run(scripttest.Approval(f.says("review"))...)
}

func (f fleet) remove(name string) {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
}

// TestSharedRepository has Variform and Porch's rules take turns on one
// repository: what one writes the other reads, and goes on with.
func TestSharedRepository(t *testing.T) {
	gittest.RequireGit(t)
	for key, value := range map[string]string{"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com"} {
		t.Setenv(key, value)
	}
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	web := gittest.Text{"web/Kptfile": kpt("web"), "web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: \"1\"\n"}
	catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", web))
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	f := newFleet(t, catalog, prod)

	// Variform: four Drafts, one proposed, two published.
	for _, pkg := range []string{"a", "b", "team/c", "d"} {
		f.variant(pkg, "v1", "  deletionPolicy: delete\n")
	}
	f.run("apply")
	f.run("propose", "prod/b")
	f.run("approve", "prod/team/c")
	f.run("approve", "prod/d")
	checkAgree(t, prod, "apps", []revision{
		{"apps/a", "packagevariant-1", 0, "Draft", "clone"},
		{"apps/b", "packagevariant-1", 0, "Proposed", "clone"},
		{"apps/d", "packagevariant-1", 1, "Published", "clone"},
		{"apps/team/c", "packagevariant-1", 1, "Published", "clone"},
	})

	// Porch publishes a new revision of d.
	prod.CommitFrom(t, "drafts/apps/d/by-hand", "apps/d/v1", line("Creating new revision by copying previous revision\n", "apps/d", `,"workspaceName":"by-hand","revision":"0","task":{"type":"edit","editTask":{"sourceRef":{"name":"prod.d.packagevariant-1"}}}`),
		gittest.Text{"apps/d/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"})
	prod.Tag(t, "apps/d/v2", mergeCommit(t, prod, "main", "drafts/apps/d/by-hand", "apps/d", line("Approving package revision apps/d/2", "apps/d", `,"workspaceName":"by-hand","revision":"2"`)))
	prod.Git(t, "update-ref", "-d", "refs/heads/drafts/apps/d/by-hand")

	// Variform: everything moves to v2 of the upstream, team/c goes.
	catalog.Tag(t, "web/v2", catalog.Commit(t, "main", "web", gittest.Text{"web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: \"2\"\n"}))
	for _, pkg := range []string{"a", "b", "d"} {
		f.variant(pkg, "v2", "  deletionPolicy: delete\n")
	}
	f.remove("variant-c.yaml")
	f.run("apply", "--prune", "--max-delete=1")
	f.run("approve", "prod/d")
	checkAgree(t, prod, "apps", []revision{
		{"apps/a", "packagevariant-1", 0, "Draft", "clone"},
		{"apps/b", "packagevariant-1", 0, "Draft", "clone"},
		{"apps/d", "packagevariant-1", 1, "Published", "clone"},
		{"apps/d", "by-hand", 2, "Published", "edit"},
		{"apps/d", "packagevariant-2", 3, "Published", "upgrade"},
		{"apps/team/c", "packagevariant-1", 1, "DeletionProposed", "clone"},
	})
	if got := prod.Show(t, "apps/d/v3", "apps/d/b.yaml"); !strings.Contains(got, "name: b") {
		t.Errorf("what was published through Porch is not in the next revision:\n%s", got)
	}
	prod.Fsck(t)
}

// A Draft of Variform's that Porch approves stays Variform's: the next Draft
// begins at what was published.
func TestPorchApprovesOurDraft(t *testing.T) {
	gittest.RequireGit(t)
	catalog, prod := gittest.NewRepo(t), gittest.NewRepo(t)
	catalog.Tag(t, "web/v1", catalog.Commit(t, "main", "web", gittest.Text{"web/Kptfile": kpt("web")}))
	prod.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	f := newFleet(t, catalog, prod)
	f.variant("b", "v1", "")
	f.run("apply")
	prod.Tag(t, "apps/b/v1", mergeCommit(t, prod, "main", "drafts/apps/b/packagevariant-1", "apps/b", line("Approving package revision apps/b/1", "apps/b", `,"workspaceName":"packagevariant-1","revision":"1"`)))
	prod.Git(t, "update-ref", "-d", "refs/heads/drafts/apps/b/packagevariant-1")
	refs := prod.Refs(t)
	f.run("apply")
	if diff := gocmp.Diff(refs, prod.Refs(t)); diff != "" {
		t.Errorf("a run with nothing to do:\n%s", diff)
	}
	catalog.Tag(t, "web/v2", catalog.Commit(t, "main", "web", gittest.Text{"web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"}))
	f.variant("b", "v2", "")
	f.run("apply")
	checkAgree(t, prod, "apps", []revision{
		{"apps/b", "packagevariant-2", 0, "Draft", "upgrade"},
		{"apps/b", "packagevariant-1", 1, "Published", "clone"},
	})
}
