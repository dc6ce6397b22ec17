package variantgen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/variantgen"
)

// porchRepos is the design's table of four repositories, and those that its
// objectSelector leads to.
func porchRepos() []*v1alpha1.Repository {
	table := map[string]map[string]string{
		"cluster-01": {"region": "useast1", "env": "prod", "org": "hr"},
		"cluster-02": {"region": "uswest1", "env": "prod", "org": "finance"},
		"cluster-03": {"region": "useast2", "env": "prod", "org": "hr"},
		"cluster-04": {"region": "uswest1", "env": "prod", "org": "hr"},
		"team-a":     {}, "team-b": {},
	}
	var out []*v1alpha1.Repository
	for name, labels := range table {
		out = append(out, repo(name, labels))
	}
	return out
}

func repo(name string, labels map[string]string) *v1alpha1.Repository {
	r := &v1alpha1.Repository{}
	r.Name, r.Namespace, r.Labels = name, "default", labels
	return r
}

func porchTeams() []variantgen.Object {
	team := func(name, role string) variantgen.Object {
		return variantgen.Object{
			APIVersion: "krm-platform.bigco.com/v1", Kind: "Team", Namespace: "default", Name: name,
			Labels: map[string]string{"org": "hr", "role": role},
		}
	}
	return []variantgen.Object{team("team-b", "dev"), team("team-c", "ops"), team("team-a", "dev")}
}

// TestPorchExamples runs every PackageVariantSet of Porch's PackageVariant design
// and compares with its own tables and PackageVariants.
func TestPorchExamples(t *testing.T) {
	cases := map[string]struct {
		want     [][2]string // repository, package name
		warnings int
	}{
		"repositories": {want: [][2]string{
			{"cluster-01", "foo"},
			{"cluster-02", "foo"},
			{"cluster-03", "foo-a"},
			{"cluster-03", "foo-b"},
			{"cluster-03", "foo-c"},
			{"cluster-04", "foo-a"},
			{"cluster-04", "foo-b"},
		}},
		"repository-selector": {want: [][2]string{
			{"cluster-01", "foo"},
			{"cluster-03", "foo"},
			{"cluster-04", "foo"},
			{"cluster-02", "foo-a"},
			{"cluster-02", "foo-b"},
			{"cluster-02", "foo-c"},
			{"cluster-04", "foo-a"},
			{"cluster-04", "foo-b"},
			{"cluster-04", "foo-c"},
		}, warnings: 1},
		"object-selector": {want: [][2]string{{"team-a", "foo"}, {"team-b", "foo"}}},
		"base-ns":         {want: [][2]string{{"cluster-01", "ns-1"}, {"cluster-01", "ns-2"}, {"cluster-01", "ns-3"}}},
		"base-ns-labels":  {want: [][2]string{{"cluster-01", "ns-1"}, {"cluster-01", "ns-2"}, {"cluster-01", "ns-3"}}},
		"expressions":     {want: [][2]string{{"cluster-01", "foo"}, {"cluster-03", "foo"}, {"cluster-04", "foo"}}, warnings: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := readPorchExample(t, name+".yaml")
			obj, report := api.Parse([]byte(text))
			if err := report.Err(); err != nil {
				t.Fatal(err)
			}
			if len(report.Warnings) != tc.warnings {
				t.Errorf("want %d warnings, got %v", tc.warnings, report.Warnings)
			}
			env := variantgen.NewEnv(variantgen.Inputs{Repositories: porchRepos(), Objects: porchTeams()})
			res := variantgen.ExpandAll(env, setIn(t, obj))
			if err := res.Err(); err != nil {
				t.Fatal(err)
			}
			var got [][2]string
			for _, pv := range res.Variants {
				got = append(got, [2]string{pv.Spec.Downstream.Repo, pv.Spec.Downstream.Package})
			}
			byPair := cmpopts.SortSlices(func(a, b [2]string) bool { return a[0]+" "+a[1] < b[0]+" "+b[1] })
			if diff := cmp.Diff(tc.want, got, byPair); diff != "" {
				t.Errorf("repository and package names (-want +got):\n%s", diff)
			}
			compareSpecs(t, name, res.Variants)
		})
	}
}

// compareSpecs compares with the PackageVariants that the design prints,
// apart from their names, which it makes up.
func compareSpecs(t *testing.T, name string, got []*v1alpha1.PackageVariant) {
	t.Helper()
	path := name + ".variants.yaml"
	if _, err := os.Stat(filepath.Join("testdata", "porch", path)); err != nil {
		return
	}
	for i, doc := range strings.Split(readPorchExample(t, path), "\n---\n") {
		obj, report := api.Parse([]byte(doc))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(obj.(*v1alpha1.PackageVariant).Spec, got[i].Spec); diff != "" {
			t.Errorf("variant %d (-design +got):\n%s", i, diff)
		}
	}
}

// readPorchExample reads an example and checks that each of its lines stands in
// the design, where that is at hand.
func readPorchExample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "porch", name))
	if err != nil {
		t.Fatal(err)
	}
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	found, _ := filepath.Glob(filepath.Join(shared, "seeds", "002_*.txt"))
	if len(found) == 0 {
		t.Logf("the design is not at %s (set SHARED): the lines of %s are not compared with it", shared, name)
		return string(data)
	}
	design, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for _, l := range strings.Split(string(design), "\n") {
		lines[strings.TrimSpace(l)] = true
	}
	for _, l := range strings.Split(string(data), "\n") {
		if l = strings.TrimSpace(l); l != "" && !lines[l] {
			t.Errorf("%s: the line %q is not in the design", name, l)
		}
	}
	return string(data)
}
