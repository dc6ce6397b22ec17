package fnmain

import (
	"bytes"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Main(m)) }

// needKpt returns the folder of our functions, or skips where kpt is not there.
func needKpt(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: tests with a real kpt do not run with -short")
	}
	if _, err := osexec.LookPath("kpt"); err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH, so that our functions were not run under a real kpt")
	}
	return programs.Functions(t)
}

// kptPackage is a package with a subpackage, a point in it, context objects,
// and formatting that people use.
var kptPackage = map[string]string{
	"Kptfile": `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # the package
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: for tests
`,
	"package-context.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  name: web
`,
	"untouched.yaml": `# A comment on top.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # its name
spec:
  replicas: 3 # three
  template:
    spec:
      containers:
      # the one container
      - name: web
        image: "nginx:1.27"
        args: ['--flag', "yes"]
---
# A second document.
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - {port: 80}
`,
	"sub/Kptfile": `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: sub
`,
	"sub/team.yaml": `apiVersion: hr.example.com/v1
kind: Team
metadata:
  name: team
  annotations:
    kpt.dev/config-injection: required
spec:
  code: none # replaced
`,
	"context.yaml": `apiVersion: hr.example.com/v1
kind: Team
metadata:
  name: dev
  annotations:
    config.kubernetes.io/local-config: "true"
    variform.dev/context: "true"
spec:
  code: x
`,
	"variant.yaml": `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata:
  name: my-variant
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  upstream: {repo: catalog, package: web, revision: v1}
  downstream: {repo: fleet, package: web}
  packageContext:
    data: {region: useast1}
  injectors:
  - name: dev
`,
}

func writePackage(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func with(files map[string]string, name, content string) map[string]string {
	out := map[string]string{name: content}
	for k, v := range files {
		if k != name {
			out[k] = v
		}
	}
	return out
}

func runCommand(t *testing.T, stdin []byte, name string, args ...string) ([]byte, string, error) {
	t.Helper()
	cmd := osexec.Command(name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	return out, stderr.String(), err
}

// reencoded is a file's documents written by one encoder: kpt re-emits each
// file, so that values, order and comments are what can be compared.
func reencoded(t *testing.T, data string) string {
	t.Helper()
	var docs []string
	for _, doc := range strings.Split(data, "\n---\n") {
		n, err := yaml.Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, n.MustString())
	}
	return strings.Join(docs, "---\n")
}

func checkApplied(t *testing.T, dir string, untouched ...string) {
	t.Helper()
	for _, name := range untouched {
		got := reencoded(t, readFile(t, filepath.Join(dir, name)))
		if diff := cmp.Diff(reencoded(t, kptPackage[name]), got); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", name, diff)
		}
	}
	for file, texts := range map[string][]string{
		"Kptfile":              {"name: web # the package", "conditionType: config.injection.Team.team", `status: "True"`},
		"package-context.yaml": {"region: useast1"},
		"sub/team.yaml":        {"code: x", "kpt.dev/injected-resource: dev", "kpt.dev/injected-resource-name: dev"},
	} {
		content := readFile(t, filepath.Join(dir, file))
		for _, text := range texts {
			if !strings.Contains(content, text) {
				t.Errorf("%s lacks %q:\n%s", file, text, content)
			}
		}
		if strings.Contains(content, "internal.config.kubernetes.io") {
			t.Errorf("%s keeps internal annotations:\n%s", file, content)
		}
	}
	if strings.Contains(readFile(t, filepath.Join(dir, "sub", "Kptfile")), "conditions") {
		t.Error("conditions stand in the subpackage's Kptfile")
	}
}

var untouchedFiles = []string{"untouched.yaml", "sub/Kptfile", "context.yaml", "variant.yaml"}

func TestKptEval(t *testing.T) {
	bin := needKpt(t)
	dir := writePackage(t, kptPackage)
	_, stderr, err := runCommand(t, nil, "kpt", "fn", "eval", dir, "--exec", filepath.Join(bin, "apply-variant"), "--fn-config", filepath.Join(dir, "variant.yaml"))
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	checkApplied(t, dir, untouchedFiles...)
}

func TestKptRender(t *testing.T) {
	bin := needKpt(t)
	pipeline := kptPackage["Kptfile"] + "pipeline:\n  mutators:\n  - exec: " + filepath.Join(bin, "apply-variant") +
		"\n    configPath: variant.yaml\n  validators:\n  - exec: " + filepath.Join(bin, "validate-package") + "\n"
	dir := writePackage(t, with(kptPackage, "Kptfile", pipeline))
	var first map[string]string
	for range 2 {
		_, stderr, err := runCommand(t, nil, "kpt", "fn", "render", dir, "--allow-exec")
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		checkApplied(t, dir, untouchedFiles...)
		files := map[string]string{}
		for name := range kptPackage {
			files[name] = readFile(t, filepath.Join(dir, name))
		}
		if first == nil {
			first = files
		} else if diff := cmp.Diff(first, files); diff != "" {
			t.Errorf("a second render changes files (-first +second):\n%s", diff)
		}
	}
}

func TestKptRenderGenerates(t *testing.T) {
	bin := needKpt(t)
	dir := writePackage(t, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: fleet\n",
		"sets/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sets\npipeline:\n  mutators:\n  - exec: " +
			filepath.Join(bin, "generate-variants") + "\n",
		"sets/all/set.yaml": `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: fleet
spec:
  upstream: {repo: catalog, package: web, revision: v2}
  targets:
  - repositories:
    - {name: a, packageNames: [x, y]}
`,
	})
	for range 2 {
		if _, stderr, err := runCommand(t, nil, "kpt", "fn", "render", dir, "--allow-exec"); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		entries, err := filepath.Glob(filepath.Join(dir, "sets", "all", "packagevariant_fleet-a-*.yaml"))
		if err != nil || len(entries) != 2 {
			t.Errorf("generated files: %v, %v", entries, err)
		}
	}
}

func TestKptSourceSink(t *testing.T) {
	bin := needKpt(t)
	dir := writePackage(t, kptPackage)
	list, stderr, err := runCommand(t, nil, "kpt", "fn", "source", dir)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if _, stderr, err = runCommand(t, list, "kpt", "fn", "sink", plain); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	list, stderr, err = runCommand(t, list, filepath.Join(bin, "apply-variant"), filepath.Join(dir, "variant.yaml"))
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, stderr, err = runCommand(t, list, "kpt", "fn", "sink", out); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	checkApplied(t, out, untouchedFiles...)
	for _, name := range untouchedFiles {
		if diff := cmp.Diff(readFile(t, filepath.Join(plain, name)), readFile(t, filepath.Join(out, name))); diff != "" {
			t.Errorf("%s differs from what kpt alone writes (-kpt +ours):\n%s", name, diff)
		}
	}
}

func TestKptShowsResults(t *testing.T) {
	bin := needKpt(t)
	files := with(kptPackage, "sub/team.yaml", strings.ReplaceAll(kptPackage["sub/team.yaml"], "required", "maybe"))
	dir := writePackage(t, with(files, "package-context.yaml", ""))
	_, stderr, err := runCommand(t, nil, "kpt", "fn", "eval", dir, "--exec", filepath.Join(bin, "apply-variant"), "--fn-config", filepath.Join(dir, "variant.yaml"))
	if err == nil {
		t.Fatal("kpt takes the failure for a success")
	}
	for _, text := range []string{`has invalid "kpt.dev/config-injection" annotation`, `no ConfigMap "kptfile.kpt.dev"`} {
		if !strings.Contains(stderr, text) {
			t.Errorf("kpt does not show %q:\n%s", text, stderr)
		}
	}
	if got := readFile(t, filepath.Join(dir, "Kptfile")); got != kptPackage["Kptfile"] {
		t.Errorf("a failed run changed the Kptfile:\n%s", got)
	}
}
