package examples

import (
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
)

// read parses everything below a folder.
func read(t *testing.T, dir string) *krm.Package {
	t.Helper()
	sub, err := fs.Sub(FS, dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []krm.File
	err = fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sub, name)
		files = append(files, krm.File{Path: name, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.Problems() {
		t.Errorf("%s/%s: %v", dir, problem.Path, problem.Err)
	}
	return p
}

func packages(t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(FS, Catalog)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

func TestCatalog(t *testing.T) {
	points := map[string][]string{}
	for _, name := range packages(t) {
		p := read(t, path.Join(Catalog, name))
		kptfile := p.Kptfile("")
		if kptfile == nil || kptfile.Name() != name {
			t.Errorf("%s: the Kptfile does not have the package's name", name)
		}
		seen := map[string]string{}
		for _, r := range p.Resources() {
			id := path.Dir(r.Path()) + " " + r.Group() + " " + r.Kind() + " " + r.Namespace() + " " + r.Name()
			if other, ok := seen[id]; ok {
				t.Errorf("%s: %s and %s hold the same resource", name, other, r.Path())
			}
			seen[id] = r.Path()
			if value, ok := r.Annotation("kpt.dev/config-injection"); ok {
				points[name] = append(points[name], r.Kind()+"/"+r.Name()+" "+value)
			}
			if r.Kind() == "Kptfile" {
				checkFunctions(t, p, r)
			}
		}
	}
	want := map[string][]string{
		"edge-gateway":   {"ConfigMap/listener optional", "RegionConfig/region required"},
		"namespace-base": {"NamespaceBaseline/baseline optional"},
		"web-app":        {"ConfigMap/endpoints optional"},
	}
	if diff := cmp.Diff(want, points); diff != "" {
		t.Errorf("injection points (-want +got):\n%s", diff)
	}
}

// checkFunctions holds pipelines to this project's functions, and to
// configuration files that exist.
func checkFunctions(t *testing.T, p *krm.Package, kptfile *krm.Resource) {
	t.Helper()
	for _, list := range []string{"mutators", "validators"} {
		fns, err := kptfile.Node().Pipe(yaml.Lookup("pipeline", list))
		if err != nil || fns == nil {
			continue
		}
		elements, err := fns.Elements()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range elements {
			image := yaml.GetValue(f.Field("image").Value)
			if !strings.HasPrefix(image, "ghcr.io/variform/") {
				t.Errorf("%s runs %s, which is none of ours", kptfile.Path(), image)
			}
			if config := f.Field("configPath"); config != nil {
				file := path.Join(path.Dir(kptfile.Path()), yaml.GetValue(config.Value))
				if _, ok := p.Read(file); !ok {
					t.Errorf("%s: configPath %s does not exist", kptfile.Path(), file)
				}
			}
		}
	}
}

// The second revision must change an image, add a resource and change a line
// elsewhere, or the demo has nothing to show.
func TestCatalogV2(t *testing.T) {
	var changed, added []string
	p := read(t, path.Join(CatalogV2, "web-app"))
	for _, name := range p.Paths() {
		f, _ := p.Read(name)
		old, err := fs.ReadFile(FS, path.Join(Catalog, "web-app", name))
		if err != nil {
			added = append(added, name)
			continue
		}
		if n := differentLines(string(old), string(f.Data)); n != 1 {
			t.Errorf("%s: %d lines differ, want 1", name, n)
		}
		changed = append(changed, name)
	}
	sort.Strings(changed)
	if diff := cmp.Diff([][]string{{"autoscaling.yaml", "deployment.yaml"}, {"network-policy.yaml"}}, [][]string{changed, added}); diff != "" {
		t.Errorf("changed and added files (-want +got):\n%s", diff)
	}
}

func differentLines(a, b string) int {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) {
		return -1
	}
	n := 0
	for i := range x {
		if x[i] != y[i] {
			n++
		}
	}
	return n
}

func TestFleet(t *testing.T) {
	p := read(t, Fleet)
	kinds, addresses := count(t, p)
	wantKinds := map[string]int{
		"ConfigMap": 5, "Kptfile": 1, "PackageVariant": 1, "PackageVariantSet": 4, "RegionConfig": 3, "Repository": 16, "Team": 6,
	}
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if addresses[ReposPlaceholder+"/tenants.git"] != 3 || len(addresses) != 14 {
		t.Errorf("want 14 Git repositories, tenants.git in three Repositories, got %v", addresses)
	}
}

// count gives the number of resources of each kind, and of Repositories at
// each address.
func count(t *testing.T, p *krm.Package) (kinds, addresses map[string]int) {
	t.Helper()
	kinds, addresses = map[string]int{}, map[string]int{}
	for _, r := range p.Resources() {
		kinds[r.Kind()]++
		if r.Kind() != "Repository" {
			continue
		}
		repo, err := r.Node().GetString("spec.git.repo")
		if err != nil || !strings.HasPrefix(repo, ReposPlaceholder+"/") {
			t.Errorf("%s: repository %s has the address %q, want one below %s", r.Path(), r.Name(), repo, ReposPlaceholder)
		}
		addresses[repo]++
	}
	return kinds, addresses
}

// A resource that a variant renames is found by an update only where it says
// what it was called.
func TestRenamed(t *testing.T) {
	renamed := 0
	for _, r := range read(t, PlatformCatalog).Resources() {
		fields := r.Node().Field("metadata")
		if fields == nil {
			continue
		}
		set := false
		for _, name := range []string{"name", "namespace"} {
			if f := fields.Value.Field(name); f != nil && strings.Contains(f.Value.YNode().LineComment, "kpt-set:") {
				set = true
			}
		}
		if !set {
			continue
		}
		renamed++
		if got, want := fields.Key.YNode().LineComment, "# kpt-merge: "+r.Namespace()+"/"+r.Name(); got != want {
			t.Errorf("%s: %s %s: metadata has the comment %q, want %q", r.Path(), r.Kind(), r.Name(), got, want)
		}
	}
	if renamed == 0 {
		t.Error("no setter renames anything")
	}
}

// manifests are those of the platform's catalogue, by package.
func manifests(t *testing.T) map[string]*v1alpha1.PackageManifest {
	t.Helper()
	out := map[string]*v1alpha1.PackageManifest{}
	folders, err := fs.Glob(FS, PlatformCatalog+"/*/Kptfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		name := path.Base(path.Dir(f))
		p := read(t, path.Dir(f))
		if k := p.Kptfile(""); k.Name() != name {
			t.Errorf("%s: the Kptfile does not have the package's name", name)
		} else {
			checkFunctions(t, p, k)
		}
		file, _ := p.Read("package.yaml")
		o, report := api.Parse(file.Data, api.WithFile(name+"/package.yaml"))
		m, ok := o.(*v1alpha1.PackageManifest)
		if err := report.Err(); err != nil || !ok || m.Name != name {
			t.Fatalf("%s: no manifest of that name: %v", name, err)
		}
		out[name] = m
	}
	return out
}

// The example is about packages of the catalogue that need each other, and
// about an interface that two of them provide.
func TestPlatform(t *testing.T) {
	all := manifests(t)
	providers, needed := map[string][]string{}, map[string]bool{}
	for name, m := range all {
		for _, o := range m.Spec.Provides {
			if o.Interface != nil {
				providers[o.Interface.ID] = append(providers[o.Interface.ID], name)
			}
		}
		for _, r := range m.Spec.Requires {
			if r.Package != "" && all[r.Package] == nil {
				t.Errorf("%s needs %s, which the catalogue does not have", name, r.Package)
			}
			if r.Interface != nil {
				needed[r.Interface.ID] = true
			}
		}
	}
	p := read(t, Platform)
	_, addresses := count(t, p)
	for _, r := range p.Resources() {
		if r.Kind() != "Catalog" {
			continue
		}
		for id := range needed {
			given, err := r.Node().Pipe(yaml.Get("spec"), yaml.Get("defaults"), yaml.Get(id))
			if err != nil || len(providers[id]) != 2 || !slices.Contains(providers[id], yaml.GetValue(given)) {
				t.Errorf("interface %s: the default is %q of %v, want one of two: %v", id, yaml.GetValue(given), providers[id], err)
			}
		}
	}
	if len(needed) != 1 {
		t.Errorf("want one interface that is needed, got %v", needed)
	}
	clusters, err := fs.ReadDir(FS, PlatformClusters)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		if c.IsDir() && addresses[ReposPlaceholder+"/"+c.Name()+".git"] == 0 {
			t.Errorf("%s: no Repository of the fleet has what this cluster had before", c.Name())
		}
	}
}
