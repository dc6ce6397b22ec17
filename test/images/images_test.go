package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/test/enginetest"
	"github.com/variform/variform/tools/images"
)

const (
	root    = "../.."
	version = "v0.0.1"
)

// TestMain makes the test binary the helper that variform is inside of its
// containers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == render.HelperCommand {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	code := m.Run()
	for _, undo := range slices.Backward(cleanup) {
		undo()
	}
	os.Exit(code)
}

var cleanup []func()

// build is what `make images` makes for this machine's architecture.
type build struct {
	dir      string // dist/images/…, and dist/bin/<GOARCH>/<function>
	registry string // in the names of the images that were loaded
}

func (b build) image(function string) string { return b.registry + "/" + function + ":" + version }

func (b build) program(function string) string {
	return filepath.Join(b.dir, "dist", "bin", runtime.GOARCH, function)
}

// made builds a copy of this checkout, once.
var made = sync.OnceValues(func() (build, error) {
	dir, err := copyTree()
	if err != nil {
		return build{}, err
	}
	b := build{dir: dir, registry: fmt.Sprintf("example.com/variform-test-%d", os.Getpid())}
	return b, makeImages(dir, "FUNCTIONS=generate-variants apply-variant inject-config resolve-dependencies set-fields validate-package")
})

// copyTree copies the files that Git has or would take to a folder of their own.
func copyTree() (string, error) {
	dir, err := os.MkdirTemp("", "variform-images-")
	if err != nil {
		return "", err
	}
	cleanup = append(cleanup, func() { _ = os.RemoveAll(dir) })
	cmd := exec.Command("bash", "-o", "pipefail", "-c",
		`git ls-files -co --exclude-standard | while read -r f; do test -e "$f" && echo "$f"; done | tar -cf - -T - | tar -xf - -C "$1"`, "copy", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("copying the checkout: %w: %s", err, out)
	}
	return dir, nil
}

func makeImages(dir string, args ...string) error {
	args = append([]string{"images", "ARCHES=" + runtime.GOARCH, "VERSION=" + version, "REVISION=c0ffee", "CREATED=1700000000"}, args...)
	cmd := exec.Command("make", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make images: %w: %s", err, out)
	}
	return nil
}

func needBuild(t *testing.T) build {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: images are not built with -short")
	}
	for _, tool := range []string{"make", "git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is not on the PATH, so that the images were not built", tool)
		}
	}
	b, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReproducible: the same sources in another folder are the same images.
func TestReproducible(t *testing.T) {
	b := needBuild(t)
	other, err := copyTree()
	if err != nil {
		t.Fatal(err)
	}
	const one = "validate-package"
	if err := makeImages(other, "FUNCTIONS="+one, "CONTROLLER="); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{one + "/index.json", one + "-" + runtime.GOARCH + ".tar"} {
		first := readFile(t, filepath.Join(b.dir, "dist", "images", name))
		if second := readFile(t, filepath.Join(other, "dist", "images", name)); first != second {
			t.Errorf("%s differs between two folders:\n%.400s\n%.400s", name, first, second)
		}
	}
}

// configured sets the environment of podman and of those who call it.
var configured = sync.OnceValue(func() error {
	cleanup = append(cleanup, enginetest.Close)
	for _, pair := range enginetest.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return os.Setenv("KPT_FN_RUNTIME", "podman")
})

var errNoPodman = errors.New("podman does not work here")

// loaded loads the archives into podman, once.
var loaded = sync.OnceValue(func() error {
	b, err := made()
	if err != nil {
		return err
	}
	if err := configured(); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(b.dir, "dist", "images", "*-"+runtime.GOARCH+".tar"))
	if err != nil {
		return err
	}
	functions, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil {
		return err
	}
	if len(archives) != len(functions)+3 { // all in one, the command, the controller
		return fmt.Errorf("%d archives of images: %v", len(archives), archives)
	}
	for _, file := range archives {
		if out, err := exec.Command("podman", "load", "--quiet", "--input", file).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %w: %s", errNoPodman, err, out)
		}
		name := strings.TrimSuffix(filepath.Base(file), "-"+runtime.GOARCH+".tar")
		from := "ghcr.io/variform/" + name + ":" + version
		if out, err := exec.Command("podman", "tag", from, b.image(name)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		cleanup = append(cleanup, func() { _ = exec.Command("podman", "rmi", "--force", from, b.image(name)).Run() })
	}
	return nil
})

func needEngine(t *testing.T) build {
	t.Helper()
	b := needBuild(t)
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not on the PATH, so that the images did not run (apt-get install podman runc)")
	}
	switch err := loaded(); {
	case errors.Is(err, errNoPodman):
		t.Skip("SKIPPED:", err)
	case err != nil:
		t.Fatal(err)
	}
	return b
}

func needKpt(t *testing.T) build {
	t.Helper()
	b := needEngine(t)
	if _, err := exec.LookPath("kpt"); err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH, so that it did not run the images")
	}
	return b
}

// TestPrograms: the images of the command and of the controller run as a restricted
// pod has them, with nothing to write.
func TestPrograms(t *testing.T) {
	b := needEngine(t)
	for _, c := range []struct {
		image string
		args  []string
		says  string
	}{
		{images.Command, []string{"version"}, version},
		{images.Controller, []string{"-help"}, "-git-credentials"},
		{images.Controller, nil, "variform-controller: "}, // it is outside of a cluster
	} {
		run := append([]string{"run", "--rm", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--network", "none", b.image(c.image)}, c.args...)
		out, _ := exec.Command("podman", run...).CombinedOutput()
		if !strings.Contains(string(out), c.says) || strings.Contains(string(out), "read-only") {
			t.Errorf("%s %s says %s", c.image, strings.Join(c.args, " "), out)
		}
		if out, err := exec.Command("podman", "inspect", "--format", "{{.Config.User}}", b.image(c.image)).Output(); err != nil || strings.TrimSpace(string(out)) != "65534:65534" {
			t.Errorf("the user of %s is %s, %v", c.image, out, err)
		}
	}
}

// cases are inputs of the functions' own tests; those named "errors" fail.
var cases = []string{
	"apply-variant/everything", "apply-variant/errors", "generate-variants/prune", "inject-config/conditions", "inject-config/errors",
	"resolve-dependencies/fleet", "validate-package/good",
}

// unfold writes the items of a case to files, and its functionConfig to another
// folder; "" where it has none.
func unfold(t *testing.T, name string) (dir, config string) {
	t.Helper()
	function, test, _ := strings.Cut(name, "/")
	folder := filepath.Join(root, "functions", function, "testdata", test)
	list, err := yaml.Parse(readFile(t, filepath.Join(folder, "input.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	items, err := list.Field("items").Value.Elements()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]string{}
	for _, item := range items {
		file := item.GetAnnotations()["internal.config.kubernetes.io/path"]
		for _, place := range []string{"path", "index"} {
			if err := item.PipeE(yaml.ClearAnnotation("internal.config.kubernetes.io/" + place)); err != nil {
				t.Fatal(err)
			}
		}
		if err := yaml.ClearEmptyAnnotations(item); err != nil {
			t.Fatal(err)
		}
		text, err := item.String()
		if err != nil {
			t.Fatal(err)
		}
		if file == "" {
			file = fmt.Sprintf("item-%d.yaml", len(files))
		}
		files[file] = append(files[file], text)
	}
	dir = t.TempDir()
	for file, texts := range files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(file)), strings.Join(texts, "---\n"))
	}
	config = filepath.Join(t.TempDir(), "config.yaml")
	if f := list.Field("functionConfig"); f != nil {
		text, err := f.Value.String()
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, config, text)
		return dir, config
	}
	if data, err := os.ReadFile(filepath.Join(folder, "config.yaml")); err == nil {
		writeFile(t, config, string(data))
		return dir, config
	}
	return dir, ""
}

// answer is what a run left: all files, and what was said.
type answer struct {
	Files   map[string]string
	Results string
	Failed  bool
}

// kptEval runs `kpt fn eval` on a copy of a package.
func kptEval(t *testing.T, dir, config string, args ...string) answer {
	t.Helper()
	work, results := t.TempDir(), t.TempDir()
	copyFolder(t, dir, work)
	args = append([]string{"fn", "eval", work, "--results-dir", results}, args...)
	if config != "" {
		args = append(args, "--fn-config", config)
	}
	out, err := exec.Command("kpt", args...).CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%v\n%s", err, out)
	}
	return answer{Files: readFolder(t, work), Results: said(readFile(t, filepath.Join(results, "results.yaml"))), Failed: err != nil}
}

// runner is the line of a Kptfile, or of results, that says who ran a function.
var runner = regexp.MustCompile(`(?m)^(\s*-?\s*)(?:image|exec): \S+$`)

func namesLeftOut(text string) string { return runner.ReplaceAllString(text, "${1}image: function") }

// said is a results file: kpt cuts the line ends off what containers say on
// stderr, and leaves those of programs.
func said(results string) string {
	return strings.ReplaceAll(namesLeftOut(results), "stderr: |-\n", "stderr: |\n")
}

// TestKptEval: kpt gets the same from an image as from the program, to the byte.
func TestKptEval(t *testing.T) {
	b := needKpt(t)
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			function, test, _ := strings.Cut(name, "/")
			dir, config := unfold(t, name)
			want := kptEval(t, dir, config, "--exec", b.program(function))
			got := kptEval(t, dir, config, "--image", b.image(function), "--image-pull-policy", "Never")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-exec +image):\n%s", diff)
			}
			if want.Failed != (test == "errors") {
				t.Errorf("failed: %v\n%s", want.Failed, want.Results)
			}
			if want.Failed && !strings.Contains(got.Results, "severity: error") {
				t.Errorf("no results of the failure:\n%s", got.Results)
			}
		})
	}
}

// TestKptDoc: kpt shows each function's help, as the program prints it.
func TestKptDoc(t *testing.T) {
	b := needKpt(t)
	for _, function := range []string{"apply-variant", "generate-variants", "inject-config", "resolve-dependencies", "set-fields", "validate-package"} {
		want, err := exec.Command(b.program(function), "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("kpt", "fn", "doc", "--image", b.image(function))
		got, err := cmd.Output()
		if err != nil || len(want) == 0 || strings.TrimSpace(string(got)) != strings.TrimSpace(string(want)) {
			t.Errorf("%s: %v; (-help +doc):\n%s", function, err, cmp.Diff(string(want), string(got)))
		}
	}
}

// TestAllInOne: the image with all functions, by sub-command and by name.
func TestAllInOne(t *testing.T) {
	b := needEngine(t)
	const function = "validate-package"
	input := readFile(t, filepath.Join(root, "functions", function, "testdata", "good", "input.yaml"))
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Stdin = strings.NewReader(input)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr.String())
		}
		return string(out)
	}
	want := run(b.program(function))
	hardened := []string{"run", "--rm", "-i", "--network", "none", "--user", "nobody", "--read-only", "--cap-drop", "all"}
	for name, args := range map[string][]string{
		"SubCommand": {b.image(images.All), function},
		"Name":       {"--entrypoint", function, b.image(images.All)},
		"OwnImage":   {b.image(function)},
	} {
		if diff := cmp.Diff(want, run("podman", append(slices.Clone(hardened), args...)...)); diff != "" {
			t.Errorf("%s (-program +image):\n%s", name, diff)
		}
	}
}

// pipeline is a package with one function of each sort, and a subpackage with
// another; line says how a function is named.
func pipeline(t *testing.T, line func(function string) string) string {
	t.Helper()
	dir, config := unfold(t, "inject-config/conditions")
	writeFile(t, filepath.Join(dir, "inject.yaml"), readFile(t, config))
	kptfile := filepath.Join(dir, "Kptfile")
	writeFile(t, kptfile, readFile(t, kptfile)+fmt.Sprintf(
		"pipeline:\n  mutators:\n  - %s\n    configPath: inject.yaml\n  validators:\n  - %s\n", line("inject-config"), line("validate-package")))
	writeFile(t, filepath.Join(dir, "sub", "Kptfile"), fmt.Sprintf(
		"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\npipeline:\n  validators:\n  - %s\n", line("validate-package")))
	writeFile(t, filepath.Join(dir, "sub", "a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kept\ndata: {k: v}\n")
	return dir
}

// rendered renders a package by a command and returns its files, the functions'
// names left out.
func rendered(t *testing.T, dir string, run func(dir string) error) map[string]string {
	t.Helper()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	files := readFolder(t, dir)
	for name, text := range files {
		files[name] = namesLeftOut(text)
	}
	return files
}

func kptRender(args ...string) func(string) error {
	return func(dir string) error {
		out, err := exec.Command("kpt", append([]string{"fn", "render", dir}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("kpt fn render: %w\n%s", err, out)
		}
		return nil
	}
}

func variform(args ...string) error {
	var out bytes.Buffer
	if code := cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
		return fmt.Errorf("variform %v: exit %d\n%s", args, code, out.String())
	}
	return nil
}

func variformRender(args ...string) func(string) error {
	return func(dir string) error { return variform(append([]string{"render", dir}, args...)...) }
}

// TestRender: the same package by images, programs and in process, under kpt and
// under variform.
func TestRender(t *testing.T) {
	b := needEngine(t)
	byImage := func(f string) string { return "image: " + b.image(f) }
	byExec := func(f string) string { return "exec: " + b.program(f) }
	builtin := func(f string) string { return "image: " + render.OwnRegistry + "/" + f + ":" + version }
	containers := []string{"--allow-image", b.registry + "/*", "--image-pull-policy", "Never"}

	inProcess := rendered(t, pipeline(t, builtin), variformRender())
	same := func(what string, got map[string]string) {
		t.Helper()
		if diff := cmp.Diff(inProcess, got); diff != "" {
			t.Errorf("%s (-builtin +got):\n%s", what, diff)
		}
	}
	same("programs", rendered(t, pipeline(t, byExec), variformRender("--allow-exec")))
	same("images", rendered(t, pipeline(t, byImage), variformRender(containers...)))
	same("images, fresh containers", rendered(t, pipeline(t, byImage), variformRender(append(containers, "--fresh-containers")...)))
	if unrendered := readFolder(t, pipeline(t, builtin)); cmp.Equal(unrendered["endpoints.yaml"], inProcess["endpoints.yaml"]) {
		t.Error("the pipeline changed nothing: this compares nothing")
	}

	needKpt(t)
	kptExec := rendered(t, pipeline(t, byExec), kptRender("--allow-exec"))
	kptImage := rendered(t, pipeline(t, byImage), kptRender("--image-pull-policy", "Never"))
	if diff := cmp.Diff(kptExec, kptImage); diff != "" {
		t.Errorf("kpt (-exec +image):\n%s", diff)
	}
	if diff := cmp.Diff(trees(t, kptImage), trees(t, inProcess)); diff != "" {
		t.Errorf("resources (-kpt with images +variform in process):\n%s", diff)
	}
}

// TestPinned pushes an image, pins a package to it, and lets podman fetch it by
// what was written: variform and kpt run it.
func TestPinned(t *testing.T) {
	b := needEngine(t)
	srv := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	conf := filepath.Join(t.TempDir(), "registries.conf")
	writeFile(t, conf, fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", host))
	t.Setenv("CONTAINERS_REGISTRIES_CONF", conf)
	digests := map[string]string{}
	for _, f := range []string{"inject-config", "validate-package"} {
		p, err := images.Push(context.Background(), filepath.Join(b.dir, "dist", "images", f), host+"/fn", f, []string{version})
		if err != nil {
			t.Fatal(err)
		}
		_, digest, _ := strings.Cut(p.Image, "@")
		digests[f] = digest
		t.Cleanup(func() {
			_ = exec.Command("podman", "rmi", "--force", host+"/fn/"+f+"@"+digest).Run()
		})
	}
	byTag := func(f string) string { return "image: " + host + "/fn/" + f + ":" + version + " # pinned" }
	dir := pipeline(t, byTag)
	before := readFolder(t, dir)
	if err := variform("pin", dir); err == nil || !strings.Contains(err.Error(), "not on the list") {
		t.Errorf("images of a registry that nobody allowed: %v", err)
	}
	for range 2 {
		if err := variform("pin", dir, "--allow-image", host+"/*"); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for name, text := range before {
		for f, digest := range digests {
			text = strings.ReplaceAll(text, "/"+f+":"+version+" #", "/"+f+"@"+digest+" #")
		}
		want[name] = text
	}
	if diff := cmp.Diff(want, readFolder(t, dir)); diff != "" {
		t.Errorf("pinned (-want +got):\n%s", diff)
	}
	if cmp.Equal(before, want) {
		t.Error("there was nothing to pin")
	}
	again := t.TempDir()
	copyFolder(t, dir, again)
	if err := variformRender("--allow-image", host+"/*")(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("kpt"); err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH, so that it did not run the pinned images")
	}
	if err := kptRender()(again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trees(t, readFolder(t, again)), trees(t, readFolder(t, dir))); diff != "" {
		t.Errorf("resources (-kpt +variform):\n%s", diff)
	}
}

// trees are the documents of a package's files, parsed.
func trees(t *testing.T, files map[string]string) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	for name, text := range files {
		d := yaml.NewDecoder(strings.NewReader(text))
		for {
			var v any
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[name] = append(out[name], v)
		}
	}
	return out
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readFolder(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[p] = readFile(t, filepath.Join(dir, p))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func copyFolder(t testing.TB, from, to string) {
	t.Helper()
	for name, text := range readFolder(t, from) {
		writeFile(t, filepath.Join(to, name), text)
	}
}
