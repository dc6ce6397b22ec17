package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/fnmain"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/test/gittest"
)

// root is the repository, from this folder.
const root = "../.."

// TestMain makes the test binary answer as variform, as each function, and as
// GitHub's command.
func TestMain(m *testing.M) {
	commands := map[string]func(){
		"variform": func() {
			os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, State: cli.StateDir()}))
		},
		"gh": func() { os.Exit(gh(os.Args[1:])) },
	}
	for name := range function.Builtin {
		commands[name] = func() { os.Exit(fnmain.Main(name, os.Args[1:], fnmain.Std())) }
	}
	testscript.Main(m, commands)
}

// The credentials of the test; neither may be seen anywhere.
const (
	gitToken     = "git-s3cret"
	commentToken = "comment-s3cret"
)

// world is a checkout of a fleet on a CI machine, and the Git server that the
// fleet is about.
type world struct {
	t    *testing.T
	dir  string // the checkout; its fleet/ is the management directory
	home string
	srv  *gittest.Server
	git  map[string]*gittest.Repo
	env  map[string]string // of every script
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template:
    spec:
      containers:
      - name: web
        image: registry.example.com/web:%s
`

func set(name, revision string) string {
	return fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: %s}
spec:
  upstream: {repo: catalog, package: web, revision: %s}
  targets:
  - repositorySelector: {matchLabels: {env: prod}}
    template:
      downstream: {package: %s}
`, name, revision, name)
}

// newWorld makes a catalogue with web at v1 and v2, two clusters, and a fleet
// that wants web v1 in both. Git wants a login.
func newWorld(t *testing.T, user string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), home: t.TempDir(), srv: gittest.NewServer(t), git: map[string]*gittest.Repo{}}
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n"
	w.write("fleet/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: platform}\n")
	for _, name := range []string{"catalog", "c1", "c2"} {
		w.git[name] = w.srv.NewRepo(t, name)
		labels := ""
		if name != "catalog" {
			w.git[name].Commit(t, "main", "start", gittest.Text{"README.md": "# " + name + "\n"})
			labels = ", labels: {env: prod}"
		}
		w.write("fleet/repositories/"+name+".yaml", fmt.Sprintf(
			"apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s%s}\nspec:\n  type: git\n  deployment: %t\n  git: {repo: %s, branch: main}\n",
			name, labels, name != "catalog", w.srv.RepoURL(name)))
	}
	for i, version := range []string{"1.0", "2.0"} {
		commit := w.git["catalog"].Commit(t, "main", "web "+version, gittest.Text{"web/Kptfile": kptfile, "web/deployment.yaml": fmt.Sprintf(web, version)})
		w.git["catalog"].Tag(t, fmt.Sprintf("web/v%d", i+1), commit)
	}
	w.write("fleet/sets/web.yaml", set("web", "v1"))
	w.srv.RequireLogin(user, gitToken)
	w.env = map[string]string{
		"HOME": w.home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(w.home, ".gitconfig"), "GIT_TERMINAL_PROMPT": "0",
		"NO_COLOR": "1", "CI": "true",
	}
	return w
}

func (w *world) write(name, content string) {
	w.t.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
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

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// drafts are the open Drafts, "c1 web" and so on.
func (w *world) drafts() []string {
	w.t.Helper()
	var out []string
	for name, r := range w.git {
		for ref := range r.Refs(w.t) {
			if pkg, ok := strings.CutPrefix(ref, "refs/heads/drafts/"); ok {
				out = append(out, name+" "+strings.TrimSuffix(pkg, "/packagevariant-1"))
			}
		}
	}
	slices.Sort(out)
	return out
}

// result is what a job left behind.
type result struct {
	status   int
	out, err string
}

// bash runs a script in the checkout and looks for what must not be seen.
func (w *world) bash(script string, env map[string]string) result {
	w.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		w.t.Skip("SKIPPED: no bash on the PATH, so that the scripts of the recipes were not run")
	}
	cmd := exec.Command(bash, "-euo", "pipefail", "-c", script)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.home}
	for _, e := range []map[string]string{w.env, env} {
		for k, v := range e {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := result{}
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		r.status = exit.ExitCode()
	}
	r.out, r.err = out.String(), errs.String()
	for _, secret := range []string{gitToken, commentToken} {
		if strings.Contains(r.out+r.err, secret) {
			w.t.Errorf("%s is in the log of:\n%s", secret, script)
		}
	}
	return r
}

// need skips where a program is not there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED: %s is not on the PATH, so that this recipe was not run", p)
		}
	}
}

// platform is a CI system with a recipe.
type platform struct {
	plan, apply, drift func() result
	// comments are the bodies of all that were written on the change, oldest first.
	comments func() []string
	// shows is where people see the findings beside their change.
	shows func() string
}

const marker = "<!-- variform plan -->\n"

// story walks through a change as people would see it.
func (w *world) story(p platform) {
	t := w.t
	t.Helper()
	others := len(p.comments())
	ours := func(status int, r result, texts ...string) {
		t.Helper()
		if r.status != status {
			t.Fatalf("status %d, want %d:\n%s%s", r.status, status, r.out, r.err)
		}
		list := p.comments()
		if len(list) != others+1 {
			t.Fatalf("%d comments of ours, want 1: %v", len(list)-others, list[others:])
		}
		body := list[others]
		for _, text := range append(texts, marker+"### Variform plan") {
			if !strings.Contains(body, text) {
				t.Errorf("the comment lacks %q:\n%s", text, body)
			}
		}
	}
	ours(0, p.plan(), "2 variants: 2 to create", "all of set `web`")
	if d := w.drafts(); len(d) != 0 {
		t.Errorf("plan made %v", d)
	}

	w.write("fleet/sets/broken.yaml", set("broken", "v9"))
	ours(1, p.plan(), "4 variants: 2 to create, 2 failed", "**2 variants**: `spec.upstream:", "see `fleet/sets/broken.yaml:1`")
	for _, text := range []string{"fleet/sets/broken.yaml", "2 variants", "no tag, branch or commit has that name"} {
		if !strings.Contains(p.shows(), text) {
			t.Errorf("beside the change %q is not shown:\n%s", text, p.shows())
		}
	}

	// What fails in part is done in part, and says so.
	if r := p.apply(); r.status != 1 {
		t.Errorf("status %d, want 1:\n%s%s", r.status, r.out, r.err)
	}
	if d := w.drafts(); !slices.Equal(d, []string{"c1 web", "c2 web"}) {
		t.Errorf("Drafts: %v", d)
	}
	w.write("fleet/sets/broken.yaml", "")
	if r := p.apply(); r.status != 0 {
		t.Errorf("status %d, want 0:\n%s%s", r.status, r.out, r.err)
	}
	ours(0, p.plan(), "2 variants: 2 waiting for review")

	if p.drift != nil {
		if r := p.drift(); r.status != 0 {
			t.Errorf("nothing waits, and the status is %d:\n%s%s", r.status, r.out, r.err)
		}
	}
	w.write("fleet/sets/web.yaml", set("web", "v2"))
	if p.drift != nil {
		if r := p.drift(); r.status != 3 {
			t.Errorf("2 variants wait, and the status is %d:\n%s%s", r.status, r.out, r.err)
		}
	}
	ours(0, p.plan(), "2 to update", "\n```diff\n", "+        image: registry.example.com/web:2.0\n")

	// A run that could not begin is no verdict about the fleet.
	was := p.comments()
	if err := os.Rename(filepath.Join(w.dir, "fleet"), filepath.Join(w.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func() result{"plan": p.plan, "apply": p.apply} {
		if r := run(); r.status != 2 {
			t.Errorf("%s without a fleet: status %d, want 2:\n%s%s", name, r.status, r.out, r.err)
		}
	}
	if !slices.Equal(was, p.comments()) {
		t.Error("a plan that did not happen changed the comments")
	}
}

// recipe reads a file of docs/ci.
func recipe(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var interpolation = regexp.MustCompile(`\$\{\{|\$\((params|workspaces|results|context)\.`)

// plainScript refuses a script that a system would write values into: what
// people can name belongs in the environment.
func plainScript(t *testing.T, name, script string) {
	t.Helper()
	if m := interpolation.FindString(script); m != "" {
		t.Errorf("%s: the script holds %s", name, m)
	}
	for _, word := range []string{"--max-delete", "set -x", "TOKEN@", "--allow-exec"} {
		if strings.Contains(script, word) {
			t.Errorf("%s: the script holds %s", name, word)
		}
	}
}
