package fnmain

import (
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/programs"
)

// examplePackage is one of functions/<function>/examples: a kpt package in the
// form that kpt writes, and in .expected what has to come out, as catalogues of
// kpt functions have it.
type examplePackage struct {
	function, dir string

	TestType string `yaml:"testType"` // eval, or render with the Kptfile's pipeline
	Image    string `yaml:"image"`    // of eval
	FnConfig string `yaml:"fnConfig"` // of eval: a file of the package; none where the function needs none
	ExitCode int    `yaml:"exitCode"`
}

// outcome is what a run made of a copy of the package.
type outcome struct {
	ExitCode int
	Diff     string
	Results  []functionResults
}

type functionResults struct {
	Image    string     `yaml:"image,omitempty"`
	Exec     string     `yaml:"exec,omitempty"`
	ExitCode int        `yaml:"exitCode"`
	Results  fn.Results `yaml:"results,omitempty"`
}

func examplePackages(t *testing.T) []examplePackage {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(functionsDir, "*", "examples", "*", ".expected", "config.yaml"))
	if err != nil || len(files) < len(function.Builtin) {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	out := make([]examplePackage, len(files))
	for i, file := range files {
		e := &out[i]
		d := yaml.NewDecoder(strings.NewReader(readFile(t, file)))
		d.KnownFields(true)
		if err := d.Decode(e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		e.dir = filepath.Dir(filepath.Dir(file))
		e.function = filepath.Base(filepath.Dir(filepath.Dir(e.dir)))
	}
	return out
}

// TestExamples runs each example by a real kpt with our binary, and in process
// by the builtin runtime, to one diff and one list of results.
func TestExamples(t *testing.T) {
	gittest.RequireGit(t)
	runs := map[string]func(*testing.T, examplePackage, string) (int, []functionResults){"builtin": byBuiltin, "kpt": byKpt}
	for _, e := range examplePackages(t) {
		for name, run := range runs {
			if *update && name != "builtin" {
				continue
			}
			t.Run(filepath.Base(e.dir)+"/"+name, func(t *testing.T) {
				dir := e.copy(t)
				var got outcome
				got.ExitCode, got.Results = run(t, e, dir)
				gittest.Run(t, dir, nil, "add", "--all")
				got.Diff = gittest.Run(t, dir, nil, "diff", "--cached", "--no-renames", "--no-color")
				if got.Diff != "" {
					got.Diff += "\n" // the last one is cut off
				}
				e.check(t, got)
			})
		}
	}
}

// copy lays the package out as a Git repository.
func (e examplePackage) copy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "package")
	if err := os.CopyFS(dir, os.DirFS(e.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".expected")); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, dir, nil, "init", "-q")
	gittest.Run(t, dir, nil, "add", "--all")
	gittest.Run(t, dir, nil, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "example")
	return dir
}

func (e examplePackage) check(t *testing.T, got outcome) {
	t.Helper()
	if got.ExitCode != e.ExitCode {
		t.Errorf("exit code %d, want %d: %v", got.ExitCode, e.ExitCode, got.Results)
	}
	text, err := yaml.Marshal(got.Results)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join(e.dir, ".expected", "diff.patch"), got.Diff)
	compare(t, filepath.Join(e.dir, ".expected", "results.yaml"), string(text))
}

// byBuiltin runs in process.
func byBuiltin(t *testing.T, e examplePackage, dir string) (int, []functionResults) {
	t.Helper()
	files, err := pkgdir.Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	code, results := 0, []functionResults(nil)
	if e.TestType == "eval" {
		c := &function.Call{Package: p}
		if e.FnConfig != "" {
			c.Config = yaml.MustParse(readFile(t, filepath.Join(dir, e.FnConfig)))
		}
		if err := function.Builtin[e.function](t.Context(), c); err != nil {
			t.Fatal(err)
		}
		code = c.Results.ExitCode()
		results = []functionResults{{Image: e.Image, ExitCode: code, Results: c.Results}}
	} else {
		r, err := render.New(render.Options{Builtins: function.Builtin, NoContainers: true}).Render(t.Context(), p)
		if err != nil {
			code = 1
		}
		if r == nil {
			t.Fatal(err)
		}
		for _, f := range r.Functions {
			results = append(results, functionResults{Image: f.Image, ExitCode: f.ExitCode, Results: f.Results})
		}
		p = r.Package
	}
	if code != 0 {
		return code, results
	}
	after, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pkgdir.Write(dir, files, after); err != nil {
		t.Fatal(err)
	}
	return code, results
}

var imageOfOurs = regexp.MustCompile(`(?m)image: ` + render.OwnRegistry + `/([a-z-]+)$`)

// byKpt runs kpt with our binaries for our images.
func byKpt(t *testing.T, e examplePackage, dir string) (int, []functionResults) {
	t.Helper()
	bin := needKpt(t)
	kptfile := filepath.Join(dir, "Kptfile")
	results := t.TempDir()
	var args []string
	if e.TestType == "eval" {
		args = []string{"fn", "eval", dir, "--exec", filepath.Join(bin, e.function), "--results-dir", results}
		if e.FnConfig != "" {
			args = append(args, "--fn-config", filepath.Join(dir, e.FnConfig))
		}
	} else {
		replaceIn(t, kptfile, func(s string) string { return imageOfOurs.ReplaceAllString(s, "exec: "+bin+"/$1") })
		args = []string{"fn", "render", dir, "--allow-exec", "--results-dir", results}
	}
	_, stderr, err := runCommand(t, nil, "kpt", args...)
	code := 0
	if err != nil {
		code = 1
	}
	if e.TestType == "render" {
		replaceIn(t, kptfile, func(s string) string {
			return strings.ReplaceAll(s, "exec: "+bin+"/", "image: "+render.OwnRegistry+"/")
		})
	}
	var list struct {
		Items []functionResults `yaml:"items"`
	}
	file := filepath.Join(results, "results.yaml")
	if !exists(file) {
		t.Fatalf("kpt wrote no results: %s", stderr)
	}
	if err := yaml.Unmarshal([]byte(readFile(t, file)), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		it := &list.Items[i]
		it.Image, it.Exec = render.OwnRegistry+"/"+filepath.Base(it.Exec), ""
	}
	return code, list.Items
}

func replaceIn(t *testing.T, file string, change func(string) string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(change(readFile(t, file))), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestExamplesAreKptPackages holds that kpt alone changes none of their files,
// so that each diff is the function's.
func TestExamplesAreKptPackages(t *testing.T) {
	needKpt(t)
	for _, e := range examplePackages(t) {
		t.Run(filepath.Base(e.dir), func(t *testing.T) {
			dir := e.copy(t)
			out := filepath.Join(t.TempDir(), "out")
			list, stderr, err := runCommand(t, nil, "kpt", "fn", "source", dir)
			if err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			if _, stderr, err := runCommand(t, list, "kpt", "fn", "sink", out); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			for _, name := range yamlFiles(t, dir) {
				if diff := cmp.Diff(readFile(t, filepath.Join(out, name)), readFile(t, filepath.Join(dir, name))); diff != "" {
					t.Errorf("%s (-kpt +example):\n%s", name, diff)
				}
			}
		})
	}
}

func yamlFiles(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		if filepath.Ext(p) == ".yaml" || d.Name() == "Kptfile" {
			out = append(out, p)
		}
		return err
	})
	if err != nil || !slices.Contains(out, "Kptfile") {
		t.Fatalf("%q: %v", out, err)
	}
	return out
}

// kpt fn doc runs an image with --help and prints what that prints.
func TestHelpForKptDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the functions are not built with -short")
	}
	bin := programs.Functions(t)
	for name, doc := range function.Docs {
		out, err := osexec.CommandContext(t.Context(), filepath.Join(bin, name), "--help").Output()
		for _, want := range []string{doc.Short, strings.TrimSpace(doc.Long), "functionConfig:", "Usage:", "50000 items"} {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s --help: %v, without %q:\n%s", name, err, want, out)
			}
		}
	}
}
