package build

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/render"
)

var update = flag.Bool("update", false, "write testdata/hydration.txt anew")

// TestHydrationVersion holds that decide.Hydration is raised where packages are
// made otherwise. testdata/hydration.txt has the version and, of each package,
// digests of what goes in and of what comes out.
func TestHydrationVersion(t *testing.T) {
	file := filepath.Join("testdata", "hydration.txt")
	golden, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was := map[string]string{}
	for line := range strings.Lines(string(golden)) {
		name, digests, _ := strings.Cut(strings.TrimSpace(line), " ")
		was[name] = digests
	}
	version := fmt.Sprint(decide.Hydration)
	now := maps.Clone(was) // real packages may not be there today
	for name, p := range hydrationPackages(t) {
		made, err := hydrate(t, p)
		if err != nil && strings.HasPrefix(name, "real-") {
			t.Logf("%s is left out: %v", name, err) // it needs an image
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		in, out := digestOf(t, p), digestOf(t, made)
		if before, ok := strings.CutPrefix(was[name], in+" "); ok && before != out && was["version"] == version {
			t.Errorf("%s: equal inputs give other bytes than with version %s: raise decide.Hydration, then run this test with -update", name, version)
		}
		now[name] = in + " " + out
	}
	now["version"] = version
	if t.Failed() || maps.Equal(was, now) {
		return
	}
	if !*update {
		t.Fatalf("%s is not up to date: run this test with -update", file)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintln(&b, name, now[name])
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hydrate makes a package of an upstream with all that a variant can say.
func hydrate(t *testing.T, p *krm.Package) (*krm.Package, error) {
	t.Helper()
	c, err := injection.NewContext([]injection.Object{{Node: yaml.MustParse(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\ndata: {mode: live, number: \"10\", text: \"a\\nb\\n\"}\n",
	)}})
	if err != nil {
		t.Fatal(err)
	}
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", "shop.one"
	pv.Spec.Labels, pv.Spec.Annotations = map[string]string{"team": "blue"}, map[string]string{"note": "yes"}
	pv.Spec.PackageContext = &v1alpha1.PackageContext{Data: map[string]string{"region": "north", "on": "yes"}}
	pv.Spec.Injectors = []v1alpha1.InjectionSelector{{Name: "settings"}}
	pv.Spec.Pipeline = &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{{Name: "team", Image: "set-labels:v0.2", ConfigMap: map[string]string{"team": "blue"}}}}
	r := render.New(render.Options{Builtins: function.Builtin, NoContainers: true})
	t.Cleanup(r.Close)
	git := &kptfilev1.GitLock{Repo: "https://git.example/catalog", Directory: "/web", Ref: "web/v1", Commit: strings.Repeat("a", 40)}
	up := &decide.Upstream{Package: p, Lock: &kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: git}}
	repo := &decide.Repository{Namespace: "default", Name: "c1", Deployment: true}
	q := decide.Question{
		Want: &decide.Want{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: "web"}, Name: pv.Name, Set: "shop", Content: &decide.Variant{Object: pv}},
		Repo: repo, Package: &decide.Package{Path: "clusters/c1/web"},
	}
	m := &maker{
		Builder: &Builder{Manager: "fleet", Context: c, Renderer: r}, Made: &Made{},
		Job: Job{Question: q, Repo: &observe.Repo{Repository: repo}, Upstream: up},
	}
	return m.hydrate(t.Context(), origin{pkg: up.Package, upstream: up.Kptfile(nil), lock: up.Lock}, nil)
}

func digestOf(t *testing.T, p *krm.Package) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %v %d\n%s\n", f.Path, f.Mode, len(f.Data), f.Data)
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}

// hydrationPackages are generated ones, and the real ones that are beside the
// repository (SHARED names another folder).
func hydrationPackages(t *testing.T) map[string]*krm.Package {
	t.Helper()
	out := map[string]*krm.Package{}
	for i := range 40 {
		out[fmt.Sprintf("generated-%02d", i)] = generatedPackage(t, rand.New(rand.NewPCG(uint64(i), 7)))
	}
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	entries, err := os.ReadDir(filepath.Join(shared, "packages"))
	if err != nil {
		t.Logf("there are no real packages at %s", shared)
	}
	for _, e := range entries {
		dir := filepath.Join(shared, "packages", e.Name())
		if _, err := os.Stat(filepath.Join(dir, kptfilev1.KptFileName)); err != nil {
			continue
		}
		files, err := pkgdir.Read(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if out["real-"+e.Name()], err = krm.Parse(files); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// generatedPackage is one of many forms of text, functions and subpackages.
func generatedPackage(t *testing.T, r *rand.Rand) *krm.Package {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	functions := func(n int) string {
		if n == 0 {
			return ""
		}
		text := "pipeline:\n  mutators:\n"
		for range n {
			text += pick(
				"  - image: set-namespace:v0.4\n    configMap: {namespace: shop}\n",
				"  - image: set-annotations:v0.1 # who\n    configMap:\n      by: \"pipeline\"\n",
				"  - image: ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2\n    configMap:\n      tier: gold\n      size: \"3\"\n",
				"  - image: ensure-name-substring:v0.2\n    configMap: {prepend: dev-}\n",
				"  - image: search-replace:v0.2\n    configMap: {by-path: data.color, put-value: red}\n",
			)
		}
		return text
	}
	kptfile := func(name string, n int) krm.File {
		head := pick("", "# a package\n") + "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n" + pick("", "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n")
		return krm.File{Path: name + "/Kptfile", Data: []byte(head + pick("", "info:\n  description: |\n    what it is\n") + functions(n))}
	}
	files := []krm.File{kptfile(".", r.IntN(4))}
	files[0].Path = kptfilev1.KptFileName
	if r.IntN(3) == 0 {
		files = append(files, kptfile("sub", r.IntN(2)), krm.File{Path: "sub/cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub}\ndata: {color: blue}\n")})
	}
	indent := pick("", "  ")
	for i := range 1 + r.IntN(4) {
		files = append(files, krm.File{Path: fmt.Sprintf("r%d.yaml", i), Data: []byte(
			pick("", "---\n", "# head\n") + "apiVersion: apps/v1\nkind: Deployment\nmetadata: # kept\n  name: " + fmt.Sprintf("r%d", i) + "\n" +
				pick("", "  namespace: base\n") + pick("", "  labels: {app: web}\n") + "spec:\n  replicas: 2 # kpt-set: ${size}\n  template:\n    spec:\n      containers:\n" +
				indent + "      - name: app\n" + indent + "        image: 'web:1' # why\n" + indent + "        args: [\"a\",  'b', no]\n" +
				pick("", "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c"+fmt.Sprint(i)+"\ndata:\n  color: blue\n  tier: base # kpt-set: ${tier}\n  octal: 0o17\n  text: |\n    a\n     b\n\n"),
		)})
	}
	if r.IntN(2) == 0 {
		files = append(files, krm.File{Path: "settings.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations:\n    kpt.dev/config-injection: " + pick("required", "optional") + "\ndata:\n  mode: none # now\n  old: x\n")})
	}
	files = append(files, krm.File{Path: "run.sh", Mode: krm.Executable, Data: []byte("#!/bin/sh\n")}, krm.File{Path: "README.md", Data: []byte("# " + pick("a", "b") + "\n")})
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
