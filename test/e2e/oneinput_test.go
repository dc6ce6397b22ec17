package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/fnmain"
)

// TestOneInput asks the command, of targets in Git and of targets that only
// documents name, and the function the same question: the locks are the same, but
// for where versions come from, which the function cannot know.
func TestOneInput(t *testing.T) {
	t.Parallel()
	for name, registered := range map[string]bool{"targets in Git": true, "documents alone": false} {
		t.Run(name, func(t *testing.T) {
			w := resolving(t)
			if registered {
				w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""),
					"metadata:\n", "metadata:\n  annotations: {variform.dev/targets: 'clusters/*'}\n", 1))
			} else {
				w.write("repositories/c1.yaml", "")
			}
			w.write("shop.yaml", "")
			w.write("db.yaml", "")
			w.write("asked.yaml", asked("shop", "target: c1/team, package: shop")+asked("database", "target: c1/other, package: postgres, constraints: 14.x")+
				asked("edge", "target: c1/clusters/east, package: shop, dependencies: {overrides: [{alias: certs, reference: issuer}]}")+
				asked("all", "package: shop, parameters: {db.size: large}"))
			args := []string{"resolve", "-o", "yaml", "--platform", "kubernetes=1.31.0"}
			byCommand := locksIn(t, w.mustRun(0, args...).out)
			if want := map[bool]int{true: 2, false: 1}[registered]; len(byCommand) != want {
				t.Errorf("%d locks, want %d", len(byCommand), want)
			}
			if diff := cmp.Diff(byCommand, locksIn(t, w.byFunction("kubernetes=1.31.0").out)); diff != "" {
				t.Errorf("(-command +function):\n%s", diff)
			}
			if registered { // where the lock in Git counts
				return
			}
			w.write("lock.yaml", w.mustRun(0, "resolve", "-o", "yaml", "--platform", "kubernetes=1.29.0").out)
			held := locksIn(t, w.mustRun(0, args...).out)
			if diff := cmp.Diff(held, locksIn(t, w.byFunction("kubernetes=1.31.0").out)); diff != "" || cmp.Equal(held, byCommand) {
				t.Errorf("with a lock (-command +function):\n%s", diff)
			}
		})
	}
}

// TestOneInputAtRandom asks the command and the function about random fleets of
// Installations: of the targets that both answer the locks are the same, and where one of
// them fails so does the other.
func TestOneInputAtRandom(t *testing.T) {
	t.Parallel()
	answered := 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 27))
		w := newWorld(t, "c1", "c2")
		w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
		for n := range 5 {
			for v := 1; v <= 3; v++ {
				scope := []string{"", "  scope: Cluster\n"}[r.IntN(2)]
				w.offer(fmt.Sprint("p", n), fmt.Sprintf("%d.0.0", v), scope+needsAtRandom(r, n, v), nil)
			}
		}
		for n := range 1 + r.IntN(4) {
			w.write(fmt.Sprint("i", n, ".yaml"), asked(fmt.Sprint("i", n), fmt.Sprintf("target: c%d, package: p%d, constraints: '>=%d'", 1+r.IntN(2), r.IntN(5), 1+r.IntN(3))))
		}
		command, function := w.run("resolve", "-o", "yaml", "--platform", "kubernetes=1.31.0"), w.byFunction("kubernetes=1.31.0")
		if (command.status == 0) != (function.status == 0) {
			t.Errorf("%d: the command ends with %d, the function with %d\n%s\n%s", seed, command.status, function.status, command.err, function.err)
		}
		if command.status != 0 { // the function has no output then
			continue
		}
		answered++
		if diff := cmp.Diff(locksIn(t, command.out), locksIn(t, function.out)); diff != "" {
			t.Errorf("%d: (-command +function):\n%s", seed, diff)
		}
	}
	if answered < 4 {
		t.Errorf("%d of the fleets have an answer, which proves little", answered)
	}
}

func asked(name, spec string) string {
	return "---\napiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
}

// byFunction is what resolve-dependencies makes of the management directory and
// of the manifests in the catalogue.
func (w *world) byFunction(platform string) result {
	w.t.Helper()
	var items []any
	add := func(text string) {
		for _, doc := range strings.Split(text, "---\n") {
			var item map[string]any
			if err := yaml.Unmarshal([]byte(doc), &item); err != nil {
				w.t.Fatal(err)
			}
			if item != nil {
				items = append(items, item)
			}
		}
	}
	for _, pattern := range []string{"*.yaml", "repositories/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(w.fleet(), pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				w.t.Fatal(err)
			}
			add(string(data))
		}
	}
	catalogue := w.repos["catalog"]
	for _, tag := range strings.Fields(catalogue.Git(w.t, "tag")) {
		pkg, version, _ := strings.Cut(tag, "/v")
		if version == "" {
			continue
		}
		for strings.Count(version, ".") < 2 {
			version += ".0"
		}
		manifest := "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: " + pkg + "}\nspec:\n"
		if strings.Contains(catalogue.Git(w.t, "ls-tree", "--name-only", tag, pkg+"/"), "package.yaml") {
			manifest = catalogue.Git(w.t, "show", tag+":"+pkg+"/package.yaml") + "\n"
		}
		if !strings.Contains(manifest, "\n  version: ") {
			manifest += "  version: " + version + "\n"
		}
		add(manifest)
	}
	in, err := yaml.Marshal(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items,
		"functionConfig": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": map[string]any{"platform": platform}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := fnmain.Main("resolve-dependencies", nil, fnmain.Streams{In: bytes.NewReader(in), Out: &out, Err: &errs, ReadFile: os.ReadFile})
	return result{status: code, out: out.String(), err: errs.String()}
}

// locksIn are the specs of the PackageLocks of a text, by target, without where
// their packages come from.
func locksIn(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	var take func(object map[string]any)
	take = func(object map[string]any) {
		if items, ok := object["items"].([]any); ok {
			for _, i := range items {
				take(i.(map[string]any))
			}
		}
		if object["kind"] != "PackageLock" {
			return
		}
		spec := object["spec"].(map[string]any)
		for _, p := range spec["packages"].([]any) {
			for _, field := range []string{"tag", "source", "digest"} {
				delete(p.(map[string]any), field)
			}
		}
		out[spec["target"].(string)] = spec
	}
	for _, doc := range strings.Split(text, "---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
		take(object)
	}
	return out
}
