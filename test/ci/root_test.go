package ci

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	imagename "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/tools/images"
)

// copyRoot is this repository in another folder, without what Git ignores. Its
// functions are called by name, as the programs that this test's binary is.
func copyRoot(t *testing.T) string {
	t.Helper()
	gittest.RequireGit(t)
	list := gittest.Run(t, root, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	dir := filepath.Join(t.TempDir(), "root")
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(data))
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyDir is a folder once more.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "root")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree is every file below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, p)
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func needKpt(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("kpt"); err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH, so that the root Kptfile was not rendered by a real kpt")
	}
}

// command runs a program and returns its output and whether it succeeded.
func command(t *testing.T, env []string, name string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append([]string{"KPT_DISABLE_ATTRIBUTION=true", "NO_COLOR=1"}, env...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// form says how a pipeline names one of our functions.
type form func(function string) string

var ourFunction = regexp.MustCompile(`(?m)^(\s*(?:- )?)image: ghcr\.io/variform/([a-z-]+)$`)

// asExec names it as a program.
func asExec(function string) string { return "exec: " + function }

// name writes our functions into the Kptfiles of a folder in another form, and
// returns which there are.
func name(t *testing.T, dir string, as form) []string {
	t.Helper()
	found := map[string]bool{}
	for file, text := range tree(t, dir) {
		if path.Base(file) != "Kptfile" {
			continue
		}
		write(t, dir, file, ourFunction.ReplaceAllStringFunc(text, func(line string) string {
			m := ourFunction.FindStringSubmatch(line)
			found[m[2]] = true
			return m[1] + as(m[2])
		}))
	}
	return slices.Sorted(maps.Keys(found))
}

// render has kpt render a folder, with functions in another form, and returns
// the files as they are then, with the functions' usual names.
func render(t *testing.T, dir string, as form, env []string, args ...string) map[string]string {
	t.Helper()
	dir = copyDir(t, dir)
	functions := name(t, dir, as)
	if out, ok := command(t, env, "kpt", append([]string{"fn", "render", dir}, args...)...); !ok {
		t.Fatalf("kpt fn render:\n%s", out)
	}
	out := tree(t, dir)
	for file, text := range out {
		if path.Base(file) != "Kptfile" {
			continue
		}
		for _, f := range functions {
			text = strings.ReplaceAll(text, as(f)+"\n", "image: ghcr.io/variform/"+f+"\n")
		}
		out[file] = text
	}
	return out
}

func kptRender(t *testing.T, dir string) map[string]string {
	t.Helper()
	return render(t, dir, asExec, nil, "--allow-exec")
}

// ownRender is variform render with the functions that it has built in.
func ownRender(t *testing.T, dir string) map[string]string {
	t.Helper()
	dir = copyDir(t, dir)
	if out, ok := command(t, nil, "variform", "render", dir); !ok {
		t.Fatalf("variform render:\n%s", out)
	}
	return tree(t, dir)
}

// reencoded is a file's documents written by one encoder: values, order and
// comments are what stays.
func reencoded(t *testing.T, text string) string {
	t.Helper()
	var out []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		n, err := yaml.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n.MustString())
	}
	return strings.Join(out, "---\n")
}

func isYAML(name string) bool {
	return path.Base(name) == "Kptfile" || path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

// changed are the files that differ.
func changed(before, after map[string]string) []string {
	var out []string
	for name := range after {
		if before[name] != after[name] {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// renderedFiles are those of examples/ that pipelines change: the condition of
// an injection stands in the Kptfile of the package that asks for it.
var renderedFiles = []string{"examples/catalog/namespace-base/Kptfile", "examples/catalog/namespace-base/baseline.yaml"}

// elsewhere is a file of the functions' own examples, or of the package that installs the
// controller: kpt looks for packages everywhere and renders these, too.
var elsewhere = regexp.MustCompile(`^(functions/[a-z-]+/examples|config)/`)

func TestRootRender(t *testing.T) {
	dir := copyRoot(t)
	once := ownRender(t, dir)
	var inExamples []string
	for _, file := range changed(tree(t, dir), once) {
		switch {
		case strings.HasPrefix(file, "examples/"):
			inExamples = append(inExamples, file)
		case !elsewhere.MatchString(file):
			t.Errorf("variform render changes %s", file)
		}
	}
	if !slices.Equal(inExamples, renderedFiles) {
		t.Errorf("variform render changes %v, want %v", inExamples, renderedFiles)
	}
	dir = t.TempDir()
	for file, text := range once {
		write(t, dir, file, text)
	}
	if got := changed(once, ownRender(t, dir)); len(got) > 0 {
		t.Errorf("a second render changes %v", got)
	}
}

// kpt and variform render make the same resources of this repository, and
// where a file is as kpt would write it, the same bytes.
func TestRootRenderAsKpt(t *testing.T) {
	needKpt(t)
	dir := copyRoot(t)
	source, byKpt, own := tree(t, dir), kptRender(t, dir), ownRender(t, dir)
	for _, file := range changed(own, byKpt) {
		if !isYAML(file) {
			t.Fatalf("kpt changes %s", file)
		}
		if d := cmp.Diff(reencoded(t, byKpt[file]), reencoded(t, own[file])); d != "" {
			t.Errorf("%s is another resource (-kpt +variform):\n%s", file, d)
		}
		if source[file] == own[file] {
			write(t, dir, file, byKpt[file])
		}
	}
	if d := cmp.Diff(kptRender(t, dir), ownRender(t, dir)); d != "" {
		t.Errorf("of files in kpt's own form come other bytes (-kpt +variform):\n%s", d)
	}
}

// What kpt reads of this repository as one package is the Kptfile and the
// examples, and nothing of the code, its test data or the documentation.
func TestRootHolds(t *testing.T) {
	needKpt(t)
	dir := copyRoot(t)
	cmd := exec.Command("kpt", "fn", "source", dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kpt fn source: %v\n%s", err, errs.String())
	}
	list, err := yaml.Parse(string(out))
	if err != nil {
		t.Fatal(err)
	}
	items, err := list.Field("items").Value.Elements()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, item := range items {
		have[item.GetAnnotations()["internal.config.kubernetes.io/path"]] = true
	}
	want := map[string]bool{}
	for name := range tree(t, dir) {
		if path.Base(name) == "Kptfile" && name != "Kptfile" && !strings.HasPrefix(name, "examples/") && !elsewhere.MatchString(name) {
			t.Errorf("%s makes a package that kpt fn render finds and renders, whatever .krmignore says: keep it under examples/, or lay it out in a test", name)
		}
		if name == "Kptfile" || isYAML(name) && strings.HasPrefix(name, "examples/") && !strings.HasPrefix(name, "examples/catalog-v2/") {
			want[name] = true
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("files that kpt reads (-want +got): see .krmignore\n%s", d)
	}
}

// What is wrong in an example stops the render of the whole, by either.
func TestRootRefuses(t *testing.T) {
	needKpt(t)
	for title, tt := range map[string]struct{ file, old, new, message string }{
		"an unknown field of a set":    {"examples/fleet/sets/web-app.yaml", "targets:", "targest:", "spec.targest"},
		"an injection point's keyword": {"examples/catalog/web-app/endpoints.yaml", "kpt.dev/config-injection: optional", "kpt.dev/config-injection: perhaps", `"perhaps"`},
	} {
		t.Run(title, func(t *testing.T) {
			dir := copyRoot(t)
			text := tree(t, dir)[tt.file]
			if !strings.Contains(text, tt.old) {
				t.Fatalf("%s has no %q", tt.file, tt.old)
			}
			write(t, dir, tt.file, strings.Replace(text, tt.old, tt.new, 1))
			if out, ok := command(t, nil, "variform", "render", copyDir(t, dir)); ok || !strings.Contains(out, tt.message) {
				t.Errorf("variform render says %t:\n%s", ok, out)
			}
			name(t, dir, asExec)
			if out, ok := command(t, nil, "kpt", "fn", "render", dir, "--allow-exec"); ok || !strings.Contains(out, tt.message) {
				t.Errorf("kpt fn render says %t:\n%s", ok, out)
			}
		})
	}
}

// The functions' images do what their programs do.
func TestRootRenderImages(t *testing.T) {
	needKpt(t)
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not on the PATH, so that the root Kptfile was not rendered by images")
	}
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the images")
	}
	dir := copyRoot(t)
	functions := name(t, copyDir(t, dir), asExec)
	env := podmanEnv(t)
	registry := fmt.Sprintf("example.com/variform-test-%d/", os.Getpid())
	bin := t.TempDir()
	for _, f := range functions {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "./functions/"+f)
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", f, err, out)
		}
		archive := pack(t, f, filepath.Join(bin, f), registry+f)
		if out, ok := command(t, env, "podman", "load", "--quiet", "--input", archive); !ok {
			t.Skipf("SKIPPED: podman loads no image here, so that the root Kptfile was not rendered by images:\n%s", out)
		}
		t.Cleanup(func() { command(t, env, "podman", "rmi", "--force", registry+f) })
	}
	asImage := func(f string) string { return "image: " + registry + f }
	byImage := render(t, dir, asImage, append(env, "KPT_FN_RUNTIME=podman"), "--image-pull-policy", "Never")
	if d := changed(kptRender(t, dir), byImage); len(d) > 0 {
		t.Errorf("images make other files than programs: %v", d)
	}
}

// podmanEnv lets podman run as root without the right to raise limits.
func podmanEnv(t *testing.T) []string {
	t.Helper()
	if os.Getenv("CONTAINERS_CONF") != "" || os.Geteuid() != 0 {
		return nil
	}
	dir := t.TempDir()
	write(t, dir, "containers.conf", `[containers]
default_ulimits = ["nofile=1024:20000", "nproc=4096:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
`)
	return []string{"CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf")}
}

// pack makes a function's image of this machine's kind, as an archive.
func pack(t *testing.T, function, binary, reference string) string {
	t.Helper()
	data, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	index, err := images.Index(images.Function{Name: function, Binaries: map[string][]byte{runtime.GOARCH: data}})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := imagename.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), function+".tar")
	if err := tarball.WriteToFile(archive, tag, image); err != nil {
		t.Fatal(err)
	}
	return archive
}
