package examples

import (
	"io/fs"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

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
	kinds := map[string]int{}
	addresses := map[string]int{}
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
