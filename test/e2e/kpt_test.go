package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/examples"
	"github.com/variform/variform/test/gittest"
)

var ourImage = regexp.MustCompile(`(?m)^(\s*(?:- )?)image: ghcr\.io/variform/([a-z-]+)(?::\S+)?$`)

// Real kpt reads what we wrote: it renders checked-out Drafts whose functions
// are ours, and shows them as packages; nothing that we rendered changes.
func TestKptReadsDrafts(t *testing.T) {
	short(t)
	kpt, err := exec.LookPath("kpt")
	if err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH: that it reads our Drafts was not tested")
	}
	t.Parallel()
	gittest.RequireGit(t)
	dir := t.TempDir()
	layOutFleet(t, dir)
	cases := map[string]struct{ repo, pkg, sub string }{
		"subpackage, pipeline, injection":    {"cluster-01", "web-app", "cache"},
		"pipeline of the variant":            {"cluster-01", "edge-gateway", "observability"},
		"mutator of ours, package context":   {"cluster-02", "payments", ""},
		"injection that nothing matched":     {"cluster-07", "edge-gateway", "observability"},
		"written by hand, in staging":        {"cluster-10", "web-app-canary", "cache"},
		"a Repository with a directory":      {"tenants", "eu-north/team-atlas", ""},
		"a generated name, two in one place": {"cluster-08", "web-app-preview", "cache"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := filepath.Join(t.TempDir(), "tree")
			gittest.Run(t, "", nil, "clone", "-q", "--branch", "drafts/"+c.pkg+"/packagevariant-1", filepath.Join(dir, "git", c.repo+".git"), tree)
			pkg := filepath.Join(tree, filepath.FromSlash(c.pkg))
			out := runKpt(t, kpt, "pkg", "tree", pkg)
			for _, want := range []string{filepath.Base(c.pkg), c.sub} {
				if !strings.Contains(out, want) {
					t.Errorf("kpt pkg tree does not show %q:\n%s", want, out)
				}
			}
			if n := execs(t, tree); n == 0 {
				t.Fatal("no function of ours in the Draft")
			}
			gittest.Run(t, tree, nil, "commit", "-q", "-a", "-m", "functions as programs")
			out = runKpt(t, kpt, "fn", "render", pkg, "--allow-exec")
			if !strings.Contains(out, "Successfully executed") {
				t.Errorf("kpt fn render:\n%s", out)
			}
			// kpt re-emits files and may add a status; it changes no values.
			if left := gittest.Run(t, tree, nil, "diff", "--ignore-all-space", "--ignore-blank-lines", "--numstat", "--", ":!**/Kptfile"); left != "" {
				t.Errorf("kpt's rendering differs from ours:\n%s", gittest.Run(t, tree, nil, "diff", "--", ":!**/Kptfile"))
			}
		})
	}
}

// layOutFleet runs the demo's first steps: the example fleet, applied.
func layOutFleet(t *testing.T, dir string) {
	t.Helper()
	w := &world{repos: map[string]*gittest.Repo{}}
	names := []string{"catalog", "tenants"}
	for i := 1; i <= 12; i++ {
		names = append(names, "cluster-"+string(rune('0'+i/10))+string(rune('0'+i%10)))
	}
	for _, n := range names {
		r := &gittest.Repo{Dir: filepath.Join(dir, "git", n+".git")}
		gittest.Run(t, "", nil, "init", "-q", "--bare", "-b", "main", r.Dir)
		w.repos[n] = r
		if n != "catalog" {
			r.Commit(t, "main", "start", gittest.Text{"README.md": n + "\n"})
		}
	}
	tree := readTree(t, writeExamples(t, dir, examples.Catalog), ".")
	for i := range tree {
		tree[i].Path = strings.TrimPrefix(tree[i].Path, "./")
	}
	c := w.repos["catalog"].Commit(t, "main", "catalogue", tree)
	for _, pkg := range []string{"web-app", "edge-gateway", "namespace-base"} {
		w.repos["catalog"].Tag(t, pkg+"/v1", c)
	}
	fleet := writeExamples(t, dir, examples.Fleet)
	if r := runIn(filepath.Join(dir, "cache"), "apply", "-q", "-f", fleet); r.status != 0 {
		t.Fatalf("apply: %d\n%s%s", r.status, r.out, r.err)
	}
}

// writeExamples writes an embedded folder below dir, with the repositories'
// place filled in, and returns where.
func writeExamples(t *testing.T, dir, from string) string {
	t.Helper()
	err := fs.WalkDir(examples.FS, from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(p))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(examples.FS, p)
		if err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(data), examples.ReposPlaceholder, filepath.Join(dir, "git"))), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, from)
}

// execs maps our images to the programs that TestMain put on the PATH.
func execs(t *testing.T, tree string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "Kptfile" {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		n += len(ourImage.FindAll(data, -1))
		return os.WriteFile(p, ourImage.ReplaceAll(data, []byte("${1}exec: ${2}")), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func runKpt(t *testing.T, kpt string, args ...string) string {
	t.Helper()
	cmd := exec.Command(kpt, args...)
	cmd.Env = append(os.Environ(), "KPT_DISABLE_ATTRIBUTION=true", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kpt %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
