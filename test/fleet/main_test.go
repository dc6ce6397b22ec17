package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

// TestScripts runs every script of testdata, each with a Git server of its own.
func TestScripts(t *testing.T) {
	gittest.RequireGit(t)
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(s), ".txtar"), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, git: gittest.NewServer(t), repos: map[string]*gittest.Repo{}, notes: map[string][]string{}}
			testscript.Run(t, testscript.Params{
				Files: []string{s},
				Setup: func(e *testscript.Env) error {
					scripttest.Setup(e, map[string]string{"VARIFORM_FLEET": filepath.Join(e.WorkDir, "fleet"), "GIT": w.git.URL})
					return w.expand(e.WorkDir)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"repo": w.repo, "publish": w.publish, "show": w.show, "refs": w.refs, "status": scripttest.Wide, "approve-seen": scripttest.ApproveSeen,
					"fleet": w.fleet, "annotate": w.annotate, "pushes": w.pushes,
				},
			})
		})
	}
}

// world is what one script works with.
type world struct {
	t     *testing.T
	git   *gittest.Server
	repos map[string]*gittest.Repo
	notes map[string][]string // annotations, by the Repository's name
	// pushed counts the pushes that a script has asked about.
	pushed int
}

// expand puts the server's address into the files of the fleet, for ${GIT}.
func (w *world) expand(dir string) error {
	return filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(p, []byte(strings.ReplaceAll(string(data), "${GIT}", w.git.URL)), 0o644)
	})
}

// repo makes empty repositories: repo NAME…
func (w *world) repo(_ *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		w.repos[name] = w.git.NewRepo(w.t, name)
	}
}

// fleet makes a catalogue and clusters: empty repositories, and what registers
// them in the management directory: fleet CATALOG CLUSTER…
func (w *world) fleet(ts *testscript.TestScript, _ bool, args []string) {
	w.repo(ts, false, args)
	write := func(file, format string, a ...any) {
		ts.Check(os.WriteFile(ts.MkAbs(filepath.Join("fleet", file)), fmt.Appendf(nil, format, a...), 0o644))
	}
	write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: prod\n")
	for _, name := range args {
		w.register(ts, name, name != args[0])
	}
	write("catalog-of-packages.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: main\nspec:\n  sources:\n  - git:\n      repo: %s/%s.git\n", w.git.URL, args[0])
}

func (w *world) register(ts *testscript.TestScript, name string, cluster bool) {
	labels := "catalog"
	if cluster {
		labels = "prod"
	}
	text := fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nspec:\n  type: git\n  deployment: %t\n  git:\n    repo: %s/%s.git\nmetadata:\n  name: %s\n  labels: {env: %s}\n  annotations:\n",
		cluster, w.git.URL, name, name, labels)
	for _, n := range w.notes[name] {
		text += "    " + n + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Join("fleet", "repository-"+name+".yaml")), []byte(text), 0o644))
}

// annotate gives the Repository of a cluster an annotation:
// annotate NAME KEY VALUE
func (w *world) annotate(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 || w.repos[args[0]] == nil {
		ts.Fatalf("usage: annotate CLUSTER KEY VALUE")
	}
	w.notes[args[0]] = append(w.notes[args[0]], fmt.Sprintf("%s: %q", args[1], args[2]))
	w.register(ts, args[0], true)
}

// kptfiles writes the Kptfiles that scripts leave out, in the folders directly
// below one that have files.
func kptfiles(dir string) error {
	manifests, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	for _, f := range manifests {
		pkg, file := filepath.Dir(f), filepath.Join(filepath.Dir(f), "Kptfile")
		if info, err := os.Stat(f); err != nil || info.IsDir() {
			continue
		}
		if _, err := os.Stat(file); err == nil {
			continue
		}
		text := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + filepath.Base(pkg) + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// publish commits a folder, as all that there is, to main and sets tags; its
// packages get a Kptfile where they have none: publish REPO DIR [TAG…]
func (w *world) publish(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 || w.repos[args[0]] == nil {
		ts.Fatalf("usage: publish REPO DIR [TAG...], of a repository that there is")
	}
	ts.Check(kptfiles(ts.MkAbs(args[1])))
	scripttest.Publish(ts, w.repos[args[0]].Dir, args[1], args[2:])
}

// show prints a file of a revision: show REPO REV:PATH
func (w *world) show(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || w.repos[args[0]] == nil {
		ts.Fatalf("usage: show REPO REV:PATH")
	}
	err := ts.Exec("git", "--git-dir", w.repos[args[0]].Dir, "show", args[1])
	if neg == (err == nil) {
		ts.Fatalf("show %s %s: %v", args[0], args[1], err)
	}
}

// pushes checks how many pushes there were since it was asked last: pushes N
func (w *world) pushes(ts *testscript.TestScript, _ bool, args []string) {
	n := w.git.Count(gittest.Push) - w.pushed
	w.pushed += n
	if len(args) != 1 || args[0] != strconv.Itoa(n) {
		ts.Fatalf("there were %d pushes, want %v", n, args)
	}
}

// refs prints the names of a repository's refs: refs NAME
func (w *world) refs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 || w.repos[args[0]] == nil {
		ts.Fatalf("usage: refs REPO")
	}
	ts.Check(ts.Exec("git", "--git-dir", w.repos[args[0]].Dir, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"))
}
