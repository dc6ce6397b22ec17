package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/examples"
	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/demo"
	"github.com/variform/variform/internal/fnmain"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/test/gittest"
)

// root is the repository, from this folder.
const root = "../.."

// pages are the patterns of the files with commands; docs/design and docs/adr
// say why, and show none that a user types.
var pages = []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "docs/ci/*.md", "functions/*/README.md", "examples/**/README.md"}

// rules say how each form of command is run; the first that matches all of it
// counts. In the documentation ID, FILE, PACKAGE and OUT stand for what the
// user has, and fleet/ for a management directory.
var rules = []rule{
	{`make ([a-z][a-z0-9-]*)`, (*run).makeTarget},
	{`(?:[A-Z_]+=\S+ )?go test ((?:-C )?\S+) .*`, (*run).goTest},
	{`bin/variform apply .*`, (*run).apply},
	{`bin/variform approve .*--class ID`, (*run).approve},
	{`bin/variform approve (cluster-\S+) -f .*`, (*run).approveTarget},
	{`bin/variform demo --layout --dir demo`, (*run).demo},
	{`bin/variform .*`, (*run).readsOnly},
	{`([a-z]+-[a-z]+) --help`, (*run).help},
	{`kpt fn eval PACKAGE --exec ([a-z-]+) --fn-config FILE`, (*run).eval},
	{`kpt fn source PACKAGE \| ([a-z-]+) \[FILE\] \| kpt fn sink OUT`, (*run).pipe},
	{`kpt fn render (catalog/\S+)`, (*run).render},
	{`echo '[^']*' >> demo/work/\S+|sed -i '[^']*' demo/work/\S+|git -C demo/\S+ .*`, (*run).person},
}

// packages are what the functions' own pages call PACKAGE: a folder of the
// examples, or the input of a function's test.
var packages = map[string]struct {
	from    string
	changed bool // by the functionConfig that the page shows
}{
	"apply-variant":        {"catalog/namespace-base", true},
	"generate-variants":    {"fleet", true},
	"inject-config":        {"catalog/web-app", true},
	"resolve-dependencies": {"functions/resolve-dependencies/testdata/locked/input.yaml", true},
	"set-fields":           {"functions/set-fields/testdata/page/input.yaml", true},
	"validate-package":     {"catalog/web-app", false},
}

// rule runs commands of one form; m is what its pattern matched.
type rule struct {
	pattern string
	run     func(r *run, m []string)
}

func (r rule) match(text string) []string {
	return regexp.MustCompile("^(?:" + r.pattern + ")$").FindStringSubmatch(text)
}

func find(text string) (rule, []string, bool) {
	for _, r := range rules {
		if m := r.match(text); m != nil {
			return r, m, true
		}
	}
	return rule{}, nil, false
}

// TestMain makes the test binary answer as variform and as each function: what
// runs is the code as it stands, with no second build.
func TestMain(m *testing.M) {
	commands := map[string]func(){"variform": func() {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, State: cli.StateDir()}))
	}}
	for name := range function.Builtin {
		commands[name] = func() { os.Exit(fnmain.Main(name, os.Args[1:], fnmain.Std())) }
	}
	testscript.Main(m, commands)
}

func TestCommands(t *testing.T) {
	used := map[string]bool{}
	for _, p := range readPages(t) {
		for _, c := range p.commands {
			if r, _, ok := find(c.text); ok {
				used[r.pattern] = true
			} else {
				t.Errorf("%s:%d: nobody has run %q: add a rule for it", p.file, c.line, c.text)
			}
		}
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			w := &world{dir: t.TempDir()}
			for _, c := range p.commands {
				if rule, m, ok := find(c.text); ok {
					t.Run(fmt.Sprintf("line %d", c.line), func(t *testing.T) {
						rule.run(&run{T: t, page: p, command: c, world: w}, m)
					})
				}
			}
		})
	}
	for _, r := range rules {
		if !used[r.pattern] {
			t.Errorf("no command in the documentation is like %q: take the rule out", r.pattern)
		}
	}
}

func TestUnknownCommand(t *testing.T) {
	for _, text := range []string{"variform plan", "make demo; rm -r x", "kpt fn eval PACKAGE --image x"} {
		if r, _, ok := find(text); ok {
			t.Errorf("%q is taken for %q", text, r.pattern)
		}
	}
}

// TestYAML reads each piece of YAML: kinds of ours and parts of Kptfiles as
// strictly as in use, the rest as YAML.
func TestYAML(t *testing.T) {
	strict := 0
	for _, p := range readPages(t) {
		for _, b := range p.yaml {
			line := b.line
			for _, text := range strings.SplitAfter(b.text, "\n---\n") {
				at := fmt.Sprintf("%s:%d", p.file, line)
				begins := line
				line += strings.Count(text, "\n")
				text = strings.TrimSuffix(text, "---\n")
				n, err := yaml.Parse(text)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				switch {
				case api.Handles(n.GetApiVersion(), n.GetKind()):
					strict++
					_, report := api.Parse([]byte(text), api.WithFile(p.file), api.WithLine(begins))
					if err := report.Err(); err != nil {
						t.Error(err)
					}
				case n.GetKind() == kptfilev1.KptFileKind, strings.HasPrefix(text, "# Kptfile\n"):
					strict++
					d := yaml.NewDecoder(strings.NewReader(text))
					d.KnownFields(true)
					var k kptfilev1.KptFile
					if err := d.Decode(&k); err != nil {
						t.Errorf("%s: %v", at, err)
					}
					if k.Pipeline != nil {
						checkImages(t, at, k.Pipeline)
					}
				}
			}
		}
	}
	if strict == 0 {
		t.Error("the documentation shows no kind that we read")
	}
}

// checkImages looks for functions that no user could run as shown.
func checkImages(t *testing.T, at string, p *kptfilev1.Pipeline) {
	t.Helper()
	for _, f := range slices.Concat(p.Mutators, p.Validators) {
		name, ours := strings.CutPrefix(f.Image, render.OwnRegistry+"/")
		if _, ok := function.Builtin[name]; !ours || !ok {
			t.Errorf("%s: %q is no function of ours: they are %s/<name>", at, f.Image, render.OwnRegistry)
		}
	}
}

// TestBuiltIn compares the reference's table with what is built in.
func TestBuiltIn(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range catalogfn.All() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", f.Name, strings.Join(f.Versions(), ", ")))
	}
	got := regexp.MustCompile("(?m)^\\| `[a-z-]+` \\| v[0-9., v]+ \\|$").FindAllString(string(data), -1)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/reference.md: functions of the catalogue (-built in +listed):\n%s", d)
	}
}

func readPages(t *testing.T) []page {
	t.Helper()
	var out []page
	for _, file := range pageFiles(t) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPage(file, string(data))
		if err != nil {
			t.Error(err)
		}
		out = append(out, p)
	}
	return out
}

// pageFiles lists the files of pages, each pattern's sorted.
func pageFiles(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range pages {
		var found []string
		if dir, name, ok := strings.Cut(pattern, "/**/"); ok {
			err := fs.WalkDir(os.DirFS(root), dir, func(p string, _ fs.DirEntry, err error) error {
				if path.Base(p) == name {
					found = append(found, p)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			var err error
			if found, err = fs.Glob(os.DirFS(root), pattern); err != nil {
				t.Fatal(err)
			}
		}
		found = slices.DeleteFunc(found, func(file string) bool { return slices.Contains(roads, file) })
		if len(found) == 0 {
			t.Errorf("no file is named %s", pattern)
		}
		out = append(out, found...)
	}
	return out
}

// run is one command on its way.
type run struct {
	*testing.T
	page    page
	command command
	world   *world // of the page: its commands follow one another
}

// shell runs a command line in a folder and returns its output; it has to succeed.
func (r *run) shell(dir, line string, env ...string) string {
	r.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		r.Skip("SKIPPED: bash is not on the PATH, so that the documentation's commands were not run")
	}
	cmd := exec.Command(bash, "-o", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = dir, append(gittest.Env(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.Fatalf("%s:%d: %s: %v\n%s%s", r.page.file, r.command.line, line, err, out.String(), errs.String())
	}
	return out.String()
}

// makeTarget looks for the target, and for its place in CI where a block shows
// it: a test cannot run them, for they run the tests.
func (r *run) makeTarget(m []string) {
	for file, want := range map[string]string{"Makefile": `(?m)^` + m[1] + `:.*## `, ".ci/run": `(?m)^\s*(?:step .*|in_memory )\bmake ` + m[1] + `\b`} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			r.Fatal(err)
		}
		if file == ".ci/run" && r.command.inline {
			continue
		}
		if !regexp.MustCompile(want).Match(data) {
			r.Errorf("%s:%d: %s has nothing for %q", r.page.file, r.command.line, file, r.command.text)
		}
	}
}

var selection = regexp.MustCompile(` -(run|bench) (?:'([^']*)'|(\S+))`)

// goTest lists instead of running, for benchmarks take minutes: the package,
// every flag, and a test or benchmark for each pattern have to be there.
func (r *run) goTest(m []string) {
	_, args, _ := strings.Cut(r.command.text, "go test ") // what is set before it says how long, or which file
	dir := root
	if folder, rest, ok := strings.Cut(strings.TrimPrefix(args, "-C "), " "); ok && strings.HasPrefix(args, "-C ") { // a module of its own
		dir, args = filepath.Join(root, filepath.FromSlash(folder)), rest
	}
	out := r.shell(dir, "go test -vet=off "+args+" -list .")
	names := regexp.MustCompile(`(?m)^(Test|Benchmark)\S+$`).FindAllString(out, -1)
	for _, s := range selection.FindAllStringSubmatch(r.command.text, -1) {
		pattern := s[2] + s[3]
		if pattern == "^$" { // none, on purpose
			continue
		}
		kind := map[string]string{"run": "Test", "bench": "Benchmark"}[s[1]]
		top, _, _ := strings.Cut(pattern, "/")
		if !slices.ContainsFunc(names, func(n string) bool {
			return strings.HasPrefix(n, kind) && regexp.MustCompile(top).MatchString(n)
		}) {
			r.Errorf("%s:%d: %s has no %s that is called %q, but %v", r.page.file, r.command.line, m[1], kind, top, names)
		}
	}
}

// variform runs the command beside fleet/ and bin/, and returns what it
// printed and what it changed in Git.
func (r *run) variform(line string) (out string, added, removed []string) {
	r.Helper()
	w := r.world
	w.layOut(r.T, r.page)
	before := w.refs(r.T)
	out = r.shell(w.dir, line, "VARIFORM_CACHE_DIR="+filepath.Join(w.dir, "cache"))
	if strings.TrimSpace(out) == "" {
		r.Errorf("%s:%d: %s prints nothing", r.page.file, r.command.line, line)
	}
	after := w.refs(r.T)
	for ref, hash := range after {
		if before[ref] != hash {
			added = append(added, ref)
		}
	}
	for ref := range before {
		if _, ok := after[ref]; !ok {
			removed = append(removed, ref)
		}
	}
	return out, added, removed
}

func (r *run) readsOnly([]string) {
	if _, added, removed := r.variform(r.command.text); len(added)+len(removed) > 0 {
		r.Errorf("%s:%d: %s changes refs: %v %v", r.page.file, r.command.line, r.command.text, added, removed)
	}
}

// apply writes one Draft for each variant that plan shows, and nothing else.
func (r *run) apply([]string) {
	names, _, _ := r.variform(strings.Replace(r.command.text, " apply", " plan -o name", 1))
	_, added, removed := r.variform(r.command.text)
	drafts := slices.DeleteFunc(slices.Clone(added), func(ref string) bool { return !strings.Contains(ref, " refs/heads/drafts/") })
	if len(drafts) == 0 || len(drafts) != len(added) || len(drafts) != strings.Count(names, "\n") || len(removed) > 0 {
		r.Errorf("%s:%d: of the variants\n%sthe Drafts are %v, with %v added and %v removed", r.page.file, r.command.line, names, drafts, added, removed)
	}
}

// approve publishes a class that review shows: its members are tagged, and
// their Drafts are gone.
func (r *run) approve([]string) {
	out, _, _ := r.variform("bin/variform review -f fleet/ -o json")
	var report struct {
		Classes []struct {
			ID      string
			Members []string
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Classes) == 0 {
		r.Fatalf("review shows no class: %v\n%s", err, out)
	}
	class := report.Classes[len(report.Classes)-1]
	_, added, removed := r.variform(strings.TrimSuffix(r.command.text, "ID") + class.ID)
	tags := slices.DeleteFunc(slices.Clone(added), func(ref string) bool { return !strings.Contains(ref, " refs/tags/") })
	if len(tags) != len(class.Members) || len(removed) != len(class.Members) {
		r.Errorf("%s:%d: approving %v: %v added, %v removed", r.page.file, r.command.line, class.Members, added, removed)
	}
}

// approveTarget publishes all that is open in a cluster's repository, its lock
// too, and nothing elsewhere.
func (r *run) approveTarget(m []string) {
	_, added, removed := r.variform(r.command.text)
	here := func(ref string) bool { return strings.HasPrefix(ref, m[1]+".git ") }
	for ref := range r.world.refs(r.T) {
		if here(ref) && strings.Contains(ref, " refs/heads/drafts/") {
			r.Errorf("%s:%d: %s is still open", r.page.file, r.command.line, ref)
		}
	}
	for _, ref := range slices.Concat(added, removed) {
		if !here(ref) {
			r.Errorf("%s:%d: %s was changed", r.page.file, r.command.line, ref)
		}
	}
	if !slices.Contains(added, m[1]+".git refs/tags/variform-lock/v1") {
		r.Errorf("%s:%d: no lock was published, but %v", r.page.file, r.command.line, added)
	}
}

// demo lays the demo's repositories out by the command itself.
func (r *run) demo([]string) {
	r.Helper()
	gittest.RequireGit(r.T)
	if r.world.laid {
		r.Fatalf("%s:%d: a command before this one needs a fleet already", r.page.file, r.command.line)
	}
	r.world.laid = true
	r.world.link(r.T)
	r.shell(r.world.dir, r.command.text)
	for ref := range r.world.refs(r.T) {
		if strings.Contains(ref, "/drafts/") {
			r.Errorf("%s:%d: %s is there, but nothing was applied", r.page.file, r.command.line, ref)
		}
	}
}

// person is what somebody does by hand in the demo's folders.
func (r *run) person([]string) { r.shell(r.world.dir, r.command.text) }

func (r *run) help(m []string) {
	if out := r.shell("", r.command.text); !strings.Contains(out, m[1]) {
		r.Errorf("%s:%d: the help of %s does not name it:\n%s", r.page.file, r.command.line, m[1], out)
	}
}

// needKpt skips where kpt is not there.
func (r *run) needKpt() {
	r.Helper()
	if _, err := exec.LookPath("kpt"); err != nil {
		r.Skip("SKIPPED: kpt is not on the PATH, so that the documentation's kpt commands were not run")
	}
}

func (r *run) kpt(line string) {
	r.Helper()
	r.shell("", line, "KPT_DISABLE_ATTRIBUTION=true", "NO_COLOR=1")
}

// example copies a folder of the examples.
func (r *run) example(dir string) string {
	r.Helper()
	from, err := fs.Sub(examples.FS, dir)
	if err != nil {
		r.Fatal(err)
	}
	to := filepath.Join(r.TempDir(), path.Base(dir))
	if err := os.CopyFS(to, from); err != nil {
		r.Fatal(err)
	}
	return to
}

// packageOf makes what a function's page calls PACKAGE.
func (r *run) packageOf(function string) string {
	r.Helper()
	p, ok := packages[function]
	switch {
	case !ok:
		r.Fatalf("%s:%d: say in packages what PACKAGE is for %s", r.page.file, r.command.line, function)
	case strings.HasPrefix(p.from, "functions/"):
		to := filepath.Join(r.TempDir(), function)
		r.kpt("kpt fn sink " + to + " < " + filepath.Join(root, filepath.FromSlash(p.from)))
		return to
	}
	return r.example(p.from)
}

// config is the functionConfig that the page shows.
func (r *run) config() (file string, optional bool) {
	r.Helper()
	if len(r.page.yaml) == 0 {
		r.Fatalf("%s shows no functionConfig", r.page.file)
	}
	text := r.page.yaml[0].text
	file = filepath.Join(r.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
	return file, strings.Contains(text, "# may be left out")
}

func (r *run) eval(m []string) {
	r.needKpt()
	dir := r.packageOf(m[1])
	plain := r.plain(dir)
	config, _ := r.config()
	r.kpt(strings.NewReplacer("PACKAGE", dir, "FILE", config).Replace(r.command.text))
	r.checkChanged(m[1], plain, files(r.T, dir))
}

// plain is what kpt makes of a package by itself: it writes every file anew.
func (r *run) plain(dir string) map[string]string {
	r.Helper()
	out := filepath.Join(r.TempDir(), "plain")
	r.kpt("kpt fn source " + dir + " | kpt fn sink " + out)
	return files(r.T, out)
}

// pipe runs with the functionConfig, and without where that is said to do.
func (r *run) pipe(m []string) {
	r.needKpt()
	dir := r.packageOf(m[1])
	config, optional := r.config()
	arguments := []string{config}
	if optional {
		arguments = append(arguments, "")
	}
	plain := r.plain(dir)
	for i, argument := range arguments {
		out := filepath.Join(r.TempDir(), fmt.Sprint("out", i))
		r.kpt(strings.NewReplacer("PACKAGE", dir, "[FILE]", argument, "OUT", out).Replace(r.command.text))
		r.checkChanged(m[1], plain, files(r.T, out))
	}
}

func (r *run) checkChanged(name string, before, after map[string]string) {
	r.Helper()
	if d := cmp.Diff(before, after); (d != "") != packages[name].changed {
		r.Errorf("%s:%d: changed: %t, want %t\n%s", r.page.file, r.command.line, d != "", packages[name].changed, d)
	}
}

var ourImage = regexp.MustCompile(`(?m)^(\s*(?:- )?)image: \S+/variform/([a-z-]+)\S*$`)

// render has the test's own programs run for images of ours.
func (r *run) render(m []string) {
	r.needKpt()
	dir := r.example(m[1])
	before := files(r.T, dir)
	found := 0
	for name, text := range before {
		if path.Base(name) != "Kptfile" {
			continue
		}
		found += len(ourImage.FindAllString(text, -1))
		changed := ourImage.ReplaceAllString(text, "${1}exec: ${2}")
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(changed), 0o644); err != nil {
			r.Fatal(err)
		}
	}
	if found == 0 {
		r.Errorf("%s:%d: %s has no function of ours", r.page.file, r.command.line, m[1])
	}
	r.kpt("kpt fn render " + dir + " --allow-exec")
}

// files is every file below a folder but for prose, which kpt does not carry.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) == ".md" {
			return err
		}
		data, err := fs.ReadFile(tree, p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// world is where a user types: a folder with bin/variform and fleet/.
type world struct {
	dir  string
	laid bool
}

// layOut makes the demo's repositories, once.
func (w *world) layOut(t *testing.T, p page) {
	t.Helper()
	gittest.RequireGit(t)
	if w.laid {
		return
	}
	w.laid = true
	if err := demo.Run(t.Context(), demo.Config{Dir: filepath.Join(w.dir, "demo"), Out: io.Discard, LayOut: true}); err != nil {
		t.Fatalf("laying out the demo's fleet: %v", err)
	}
	w.link(t)
	w.writeFleet(t, p)
}

// link makes bin/variform.
func (w *world) link(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("variform")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(w.dir, "bin", "variform")); err != nil {
		t.Fatal(err)
	}
}

var fleetFile = regexp.MustCompile(`^# (fleet/\S+)\n`)

// writeFleet makes fleet/ of what the page shows, or else of the examples; the
// demo's repositories stand in for those of its Git server.
func (w *world) writeFleet(t *testing.T, p page) {
	t.Helper()
	shown := false
	for _, b := range p.yaml {
		m := fleetFile.FindStringSubmatch(b.text)
		if m == nil {
			continue
		}
		shown = true
		file := filepath.Join(w.dir, filepath.FromSlash(m[1]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(b.text, "https://git.example.com/", filepath.ToSlash(filepath.Join(w.dir, "demo", "git"))+"/")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if shown {
		return
	}
	if err := os.Rename(filepath.Join(w.dir, "demo", "work", "fleet"), filepath.Join(w.dir, "fleet")); err != nil {
		t.Fatal(err)
	}
}

// refs are those of all repositories, "repository ref" to hash.
func (w *world) refs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	repos, err := filepath.Glob(filepath.Join(w.dir, "demo", "git", "*.git"))
	if err != nil || len(repos) == 0 {
		t.Fatalf("no repositories: %v", err)
	}
	for _, dir := range repos {
		for ref, hash := range (&gittest.Repo{Dir: dir}).Refs(t) {
			out[filepath.Base(dir)+" "+ref] = hash
		}
	}
	return out
}
