package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// sharedPackages is the folder of real packages; the test skips without it.
func sharedPackages(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "packages")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED: there are no real packages at %s (SHARED names another folder)", dir)
	}
	return dir
}

// readTree reads a folder as a commit's files below prefix.
func readTree(t *testing.T, dir, prefix string) gittest.Files {
	t.Helper()
	var out gittest.Files
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		out = append(out, gittest.File{Path: prefix + "/" + filepath.ToSlash(rel), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const targets = 20

// Each real package goes to 20 targets; every file of every Draft is the
// upstream's, byte for byte, apart from the lines that the variant asked for.
func TestRealPackages(t *testing.T) {
	t.Parallel()
	dir := sharedPackages(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "fleet")
	catalog, fleet := w.repos["catalog"], w.repos["fleet"]
	w.write("repositories/fleet.yaml", "")
	for i := range targets {
		name := fmt.Sprintf("t%02d", i)
		w.write("repositories/"+name+".yaml", repository(name, w.url("fleet"), true, "clusters/"+name))
	}
	var packages []string
	for _, e := range entries {
		if e.IsDir() {
			packages = append(packages, e.Name())
			catalog.Tag(t, e.Name()+"/v1", catalog.Commit(t, "main", e.Name(), readTree(t, filepath.Join(dir, e.Name()), e.Name())))
			w.write("sets/"+e.Name()+".yaml", strings.ReplaceAll(strings.ReplaceAll(webSet, "name: web", "name: "+e.Name()), "package: web", "package: "+e.Name()))
		}
	}
	if len(packages) < 5 {
		t.Fatalf("only %v at %s", packages, dir)
	}
	p := w.mustApply("--no-render")
	if n := p.actions(); len(n) != targets*len(packages) {
		t.Fatalf("%d variants made, want %d", len(n), targets*len(packages))
	}
	files := 0
	for _, pkg := range packages {
		upstream := listing(t, catalog, pkg+"/v1", pkg)
		for i := range targets {
			path := fmt.Sprintf("clusters/t%02d/%s", i, pkg)
			ref := "drafts/" + path + "/packagevariant-1"
			draft := listing(t, fleet, ref, path)
			files += len(draft)
			for name, blob := range upstream {
				switch {
				case draft[name] == blob:
				case i > 0 && name == "Kptfile": // looked at once a package
				case name == "Kptfile" || name == "package-context.yaml":
					checkLines(t, pkg+"/"+name, catalog.Show(t, pkg+"/v1", pkg+"/"+name), fleet.Show(t, ref, path+"/"+name))
				default:
					t.Errorf("%s/%s is not the upstream's: %q, %q", path, name, draft[name], blob)
				}
				delete(draft, name)
			}
			delete(draft, "package-context.yaml") // made where missing
			if len(draft) > 0 {
				t.Errorf("%s has files that the upstream has not: %v", path, draft)
			}
		}
	}
	t.Logf("%d packages, %d variants, %d files", len(packages), targets*len(packages), files)
	w.wantActions(w.mustApply("--no-render"), map[string]string{})
}

// listing maps the files below a folder of a commit to mode and blob.
func listing(t *testing.T, r *gittest.Repo, commit, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(r.Git(t, "ls-tree", "-r", commit+":"+dir)) {
		meta, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out[name] = meta
	}
	return out
}

// intended are the lines that a clone adds to a Kptfile and its context.
var intended = regexp.MustCompile(`^(` + strings.Join([]string{
	`  name: \S+`, `  package-path: \S+`, `  annotations:`, `    variform\.dev/(variant|set): .*`,
	`(upstream|upstreamLock):`, `  type: git`, `  git:`, `  updateStrategy: resource-merge`, `    (repo|directory|ref|commit): .*`, `  name: \S+`,
}, "|") + `)$`)

// checkLines wants the upstream's lines in their order, the name apart, and
// nothing more than intended lines between them.
func checkLines(t *testing.T, name, upstream, draft string) {
	t.Helper()
	want := strings.SplitAfter(upstream, "\n")
	renamed := 0
	for line := range strings.Lines(draft) {
		switch {
		case len(want) > 0 && line == want[0]:
			want = want[1:]
		case len(want) > 0 && strings.HasPrefix(want[0], "  name: ") && strings.HasPrefix(line, "  name: "):
			want = want[1:]
			renamed++
		case !intended.MatchString(strings.TrimSuffix(line, "\n")):
			t.Errorf("%s: a line that nobody asked for: %q", name, line)
		}
	}
	if left := strings.Join(want, ""); left != "" {
		t.Errorf("%s: lines lost or moved:\n%s\nin\n%s", name, left, draft)
	}
	if renamed > 1 {
		t.Errorf("%s: %d names changed", name, renamed)
	}
}
