package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// fleet is a catalogue, repositories for variants, all behind a real Git
// server, and a management directory.
type fleet struct {
	t     testing.TB
	dir   string // management/, kept/ and caches
	srv   *gittest.Server
	repos map[string]*gittest.Repo
	names []string // of the repositories for variants
}

func newFleet(t testing.TB, names ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), srv: gittest.NewServer(t), repos: map[string]*gittest.Repo{}, names: names}
	f.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: fleet}\n")
	for _, n := range append([]string{"catalog"}, names...) {
		f.repos[n] = f.srv.NewRepo(t, n)
		f.write("repositories/"+n+".yaml", fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata: {name: %s}
spec:
  type: git
  deployment: %t
  git: {repo: %s, branch: main}
`, n, n != "catalog", f.srv.RepoURL(n)))
		f.repos[n].Commit(t, "main", "start", gittest.Text{"README.md": "# " + n + "\n"})
	}
	return f
}

// write puts a file into the management directory.
func (f *fleet) write(name, content string) {
	f.t.Helper()
	file := filepath.Join(f.dir, "management", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// publish makes revision vN of the package in the catalogue: another image, and
// another file.
func (f *fleet) publish(n int) {
	f.t.Helper()
	tree := gittest.Text{
		"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\ninfo:\n  description: A web server. # as kpt shows it\n",
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
        - name: web
          image: example.com/web:%d.0
          args: ['--listen', ":8080"]
`, n),
		fmt.Sprintf("web/release-%d.yaml", n): fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: release-%d\ndata:\n  number: \"%[1]d\"\n", n),
	}
	c := f.repos["catalog"].Commit(f.t, "main", fmt.Sprintf("web v%d", n), tree)
	f.repos["catalog"].Tag(f.t, fmt.Sprintf("web/v%d", n), c)
}

// want makes the fleet's only set give these packages, by repository, a
// revision of the catalogue's.
func (f *fleet) want(revision int, packages map[string][]string) {
	f.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: web}
spec:
  upstream: {repo: catalog, package: web, revision: v%d}
  targets:
    - repositories:
`, revision)
	for _, n := range f.names {
		if len(packages[n]) > 0 {
			fmt.Fprintf(&b, "        - name: %s\n          packageNames: [%s]\n", n, strings.Join(packages[n], ", "))
		}
	}
	f.write("web.yaml", b.String())
}

// variform is a command on the fleet, with a cache of its own for each name.
func (f *fleet) variform(person, cache string, args ...string) *child {
	f.t.Helper()
	if args[0] == "approve" && !slices.Contains(args, "--class") {
		args = append(slices.Clone(args), "--accept-edits")
	}
	return start(f.t, person, append(args, "-f", filepath.Join(f.dir, "management"), "--cache-dir", f.cache(cache))...)
}

func (f *fleet) cache(name string) string { return filepath.Join(f.dir, "cache-"+name) }

func (f *fleet) state() string { return filepath.Join(f.dir, "state", "variform") }

// must is a command that has to end well.
func (f *fleet) must(cache string, args ...string) *child {
	f.t.Helper()
	c := f.variform("rae", cache, args...)
	if c.status() != 0 {
		f.t.Fatal(c)
	}
	f.srv.Wait()
	return c
}

// refs are all refs of all repositories for variants, "repository refs/…" to hash.
func (f *fleet) refs() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for _, n := range f.names {
		for ref, hash := range f.repos[n].Refs(f.t) {
			out[n+" "+ref] = hash
		}
	}
	return out
}

func (f *fleet) wantRefs(want map[string]string, format string, args ...any) {
	f.t.Helper()
	if d := cmp.Diff(want, f.refs()); d != "" {
		f.t.Errorf("%s: refs (-want +got):\n%s", fmt.Sprintf(format, args...), d)
	}
}

func (f *fleet) hook(name, script string) {
	f.t.Helper()
	for _, n := range f.names {
		f.repos[n].Hook(f.t, name, script)
	}
}

func (f *fleet) fsck() {
	f.t.Helper()
	for _, n := range f.names {
		f.repos[n].Fsck(f.t)
	}
}

// keep remembers the repositories for variants as they are, for restore.
func (f *fleet) keep() {
	f.t.Helper()
	for _, n := range f.names {
		f.repos[n].Git(f.t, "repack", "-adq")
		f.repos[n].Git(f.t, "pack-refs", "--all")
		copyDir(f.t, f.repos[n].Dir, filepath.Join(f.dir, "kept", n))
	}
}

func (f *fleet) restore() {
	f.t.Helper()
	for _, n := range f.names {
		copyDir(f.t, filepath.Join(f.dir, "kept", n), f.repos[n].Dir)
	}
}

// copyDir makes to a copy of from.
func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// work is a clone of a repository for variants, as a person has one.
type work struct {
	f      *fleet
	person string
	dir    string
}

func (f *fleet) clone(repo, person string) *work {
	f.t.Helper()
	w := &work{f, person, f.t.TempDir()}
	w.must("clone", "-q", f.srv.RepoURL(repo), ".")
	return w
}

// git runs git in the clone.
func (w *work) git(args ...string) (string, error) {
	return runGit(w.dir, w.person, args...)
}

func (w *work) must(args ...string) string {
	w.f.t.Helper()
	out, err := w.git(args...)
	if err != nil {
		w.f.t.Fatal(err)
	}
	return out
}

// numbered are names from p<from> to p<to-1>.
func numbered(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("p%02d", i))
	}
	return out
}
