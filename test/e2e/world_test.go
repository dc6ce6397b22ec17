package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// world is a fleet with its repositories, made from nothing.
type world struct {
	t     testing.TB
	dir   string // fleet/ and cache/, and git/ where repositories are local
	srv   *gittest.Server
	repos map[string]*gittest.Repo
}

// newWorld makes local repositories, the catalogue with web/v1 among them, and
// a Repository object for each. All but the catalogue are deployment
// repositories with the label env: prod.
func newWorld(t testing.TB, clusters ...string) *world {
	t.Helper()
	return makeWorld(t, t.TempDir(), nil, clusters)
}

// newHTTPWorld is newWorld behind a real Git server.
func newHTTPWorld(t testing.TB, clusters ...string) *world {
	t.Helper()
	return makeWorld(t, t.TempDir(), gittest.NewServer(t), clusters)
}

func makeWorld(t testing.TB, dir string, srv *gittest.Server, clusters []string) *world {
	t.Helper()
	short(t)
	gittest.RequireGit(t)
	w := &world{t: t, dir: dir, srv: srv, repos: map[string]*gittest.Repo{}}
	w.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: variform, annotations: {variform.dev/checks: '"+noChecks+"'}}\n")
	w.repo("catalog", false)
	v1 := w.repos["catalog"].Commit(t, "main", "web v1", webV1)
	w.repos["catalog"].Tag(t, "web/v1", v1)
	for _, c := range clusters {
		w.repo(c, true)
		w.repos[c].Commit(t, "main", "start", gittest.Text{"README.md": "# " + c + "\n"})
	}
	t.Cleanup(func() {
		if !t.Failed() {
			for _, r := range w.repos {
				r.Fsck(t)
			}
		}
	})
	return w
}

// repo makes a Git repository and its Repository object.
func (w *world) repo(name string, deployment bool) {
	w.t.Helper()
	if w.srv != nil {
		w.repos[name] = w.srv.NewRepo(w.t, name)
	} else {
		r := &gittest.Repo{Dir: filepath.Join(w.dir, "git", name+".git")}
		gittest.Run(w.t, "", nil, "init", "-q", "--bare", "-b", "main", r.Dir)
		w.repos[name] = r
	}
	w.write("repositories/"+name+".yaml", repository(name, w.url(name), deployment, ""))
}

func repository(name, url string, deployment bool, directory string) string {
	text := fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata:
  name: %s
  labels: {env: %s}
spec:
  type: git
  deployment: %t
  git:
    repo: %s
    branch: main
`, name, map[bool]string{true: "prod", false: "none"}[deployment], deployment, url)
	if directory != "" {
		text += "    directory: " + directory + "\n"
	}
	return text
}

func (w *world) url(name string) string {
	if w.srv != nil {
		return w.srv.RepoURL(name)
	}
	return w.repos[name].Dir
}

func (w *world) fleet() string { return filepath.Join(w.dir, "fleet") }

// write puts a file into the management directory; no content removes it.
func (w *world) write(name, content string) {
	w.t.Helper()
	file := filepath.Join(w.fleet(), filepath.FromSlash(name))
	var err error
	if content == "" {
		err = os.Remove(file)
	} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, []byte(content), 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// result is what a command left behind.
type result struct {
	status   int
	out, err string
}

// run runs variform in this process.
func (w *world) run(args ...string) result {
	w.t.Helper()
	return runIn(filepath.Join(w.dir, "cache"), append(args, "-f", w.fleet())...)
}

func runIn(cache string, args ...string) result {
	var out, errs bytes.Buffer
	if !slices.Contains(args, "--file") && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--cache-dir") }) { // a Catalog's file is edited without the fleet
		args = append(args, "--cache-dir", cache)
	}
	status := cli.Main(context.Background(), args,
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: filepath.Join(filepath.Dir(cache), "state")})
	return result{status, out.String(), errs.String()}
}

// mustRun runs a command that has to end with a status.
func (w *world) mustRun(status int, args ...string) result {
	w.t.Helper()
	r := w.run(args...)
	if r.status != status {
		w.t.Fatalf("variform %s: status %d, want %d\n%s%s", strings.Join(args, " "), r.status, status, r.out, r.err)
	}
	return r
}

// planned is what plan and apply print with -o json.
type planned struct {
	result       `json:"-"`
	Summary      string
	Variants     []plannedVariant
	Problems     []string
	Warnings     []string
	PruneBlocked []string
}

type plannedVariant struct {
	Variant, Name, Set, Action, Error, Lifecycle, Workspace, Ref, Commit, Upstream string
	Stalled                                                                        bool
	Reasons, Warnings, Conflicts                                                   []string
	Edits                                                                          []struct{ Fate, File, Resource, Field, Instead string }
	Conditions                                                                     []struct{ Type, Status, Reason, Message string }
}

func (w *world) plan(args ...string) planned {
	w.t.Helper()
	return w.planned("plan", args)
}

func (w *world) apply(args ...string) planned {
	w.t.Helper()
	return w.planned("apply", args)
}

// mustApply is apply that has to end well.
func (w *world) mustApply(args ...string) planned {
	w.t.Helper()
	p := w.apply(args...)
	if p.status != 0 {
		w.t.Fatalf("apply %v: status %d\n%s%s", args, p.status, p.out, p.err)
	}
	return p
}

func (w *world) planned(command string, args []string) planned {
	w.t.Helper()
	p := planned{result: w.run(append([]string{command, "-o", "json"}, args...)...)}
	if err := json.Unmarshal([]byte(p.out), &p); err != nil {
		w.t.Fatalf("%s %v printed no JSON: %v (status %d)\n%s%s", command, args, err, p.status, p.out, p.err)
	}
	return p
}

// actions maps variants to what was done, without those where nothing was.
func (p planned) actions() map[string]string {
	out := map[string]string{}
	for _, v := range p.Variants {
		if v.Action != "none" {
			out[v.Variant] = v.Action
		}
	}
	return out
}

func (p planned) variant(t testing.TB, name string) plannedVariant {
	t.Helper()
	for _, v := range p.Variants {
		if v.Variant == name {
			return v
		}
	}
	t.Fatalf("no variant %q in\n%s", name, p.out)
	return plannedVariant{}
}

// wantActions compares what was done.
func (w *world) wantActions(p planned, want map[string]string) {
	w.t.Helper()
	if d := cmp.Diff(want, p.actions()); d != "" {
		w.t.Fatalf("actions (-want +got):\n%s\n%s%s", d, p.out, p.err)
	}
}

// all maps each name to one action.
func all(action string, names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		out[n] = action
	}
	return out
}

// forgetWarnings has the next run print all its warnings.
func (w *world) forgetWarnings() {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, "state", "warnings")); err != nil {
		w.t.Fatal(err)
	}
}

// refs lists all refs of all repositories, "repo refs/…" to hash.
func (w *world) refs() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for name, r := range w.repos {
		for ref, hash := range r.Refs(w.t) {
			out[name+" "+ref] = hash
		}
	}
	return out
}

// refNames lists a repository's refs without hashes.
func (w *world) refNames(repo string) []string {
	w.t.Helper()
	var out []string
	for ref := range w.repos[repo].Refs(w.t) {
		out = append(out, ref)
	}
	sort.Strings(out)
	return out
}

func (w *world) wantRefs(repo string, want ...string) {
	w.t.Helper()
	if d := cmp.Diff(want, w.refNames(repo)); d != "" {
		w.t.Fatalf("refs of %s (-want +got):\n%s", repo, d)
	}
}

func (w *world) unchanged(before map[string]string) {
	w.t.Helper()
	if d := cmp.Diff(before, w.refs()); d != "" {
		w.t.Fatalf("refs changed (-before +after):\n%s", d)
	}
}

// show is a file in a repository.
func (w *world) show(repo, commit, file string) string {
	w.t.Helper()
	return w.repos[repo].Show(w.t, commit, file)
}

// texts are all files below a folder in a repository, one after the other.
func (w *world) texts(repo, commit, folder string) (out string) {
	w.t.Helper()
	for f := range strings.Lines(w.repos[repo].Git(w.t, "ls-tree", "-r", "--name-only", commit, folder)) {
		out += w.show(repo, commit, strings.TrimSpace(f))
	}
	return out
}

func (w *world) contains(text string, parts ...string) {
	w.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			w.t.Errorf("missing %q in:\n%s", p, text)
		}
	}
}

func (w *world) lacks(text string, parts ...string) {
	w.t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			w.t.Errorf("unwanted %q in:\n%s", p, text)
		}
	}
}

// snapshot is every file below a folder with its time and content.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			out[p] = "folder"
			return err
		}
		data, err := os.ReadFile(p)
		out[p] = fmt.Sprint(info.Mode(), info.ModTime(), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The catalogue's package, three revisions of it.
var (
	webV1 = web("1.0", "100m", "info")
	// webV2 has another image and one more file.
	webV2 = merged(web("2.0", "100m", "info"), gittest.Text{"web/policy.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: policy\ndata:\n  deny: all # by default\n"})
	// webCPU changes the line that a hand edit may have changed.
	webCPU = web("2.0", "300m", "info")
)

// noChecks switches checks off: most packages of these tests are shorter than Kubernetes accepts.
// validWorld has them.
const noChecks = "label=off type=off unknown-field=off value=off"

const draft1 = "refs/heads/drafts/web/packagevariant-1"

func web(tag, cpu, level string) gittest.Text {
	return gittest.Text{
		"web/Kptfile": `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: A web server. # keep this comment
`,
		"web/deployment.yaml": fmt.Sprintf(`# The server itself.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2

  template:
    spec:
      containers:
        - name: web   # the only one
          image: example.com/web:%s
          args: ['--listen', ":8080"]
          resources:
            requests:
              cpu: %s
              memory: 64Mi
`, tag, cpu),
		"web/settings.yaml": fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    kpt.dev/config-injection: optional
data:
  level: %s
`, level),
		"web/README.md": "# web\n",
	}
}

func merged(a gittest.Text, b gittest.Text) gittest.Text {
	out := gittest.Text{}
	for _, t := range []gittest.Text{a, b} {
		for k, v := range t {
			out[k] = v
		}
	}
	return out
}

// webSet sends the package to every prod repository.
const webSet = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: web
spec:
  upstream:
    repo: catalog
    package: web
    revision: v1
  targets:
    - repositorySelector:
        matchLabels:
          env: prod
`

// listSet sends a package to names in one repository.
func listSet(set, pkg, revision, repo string, names ...string) string {
	return fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: %s
spec:
  upstream: {repo: catalog, package: %s, revision: %q}
  targets:
    - repositories:
        - name: %s
          packageNames: [%s]
`, set, pkg, revision, repo, strings.Join(names, ", "))
}

// variantOf is one PackageVariant; more is added to its spec.
func variantOf(name, revision, repo, pkg, more string) string {
	return fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata:
  name: %s
spec:
  upstream: {repo: catalog, package: web, revision: %q}
  downstream: {repo: %s, package: %s}
%s`, name, revision, repo, pkg, more)
}

// publishWeb puts a revision of web into the catalogue.
func (w *world) publishWeb(tree gittest.Text, tags ...string) {
	w.t.Helper()
	c := w.repos["catalog"].Commit(w.t, "main", "web "+strings.Join(tags, " "), tree)
	for _, tag := range tags {
		w.repos["catalog"].Tag(w.t, "web/"+tag, c)
	}
}

// edit replaces text in a file of a branch, as a person would with a commit.
func (w *world) edit(repo, branch, file, from, to string) string {
	w.t.Helper()
	old := w.show(repo, "refs/heads/"+branch, file)
	changed := strings.Replace(old, from, to, 1)
	if changed == old {
		w.t.Fatalf("%s has no %q:\n%s", file, from, old)
	}
	return w.repos[repo].Commit(w.t, branch, "by hand", gittest.Text{file: changed})
}
