package catalogfn

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// notKptfile ends the names of Kptfiles here, because kpt renders each folder that has
// a Kptfile as a part of this repository's own package.
const notKptfile = ".test"

var update = flag.Bool("update", false, "write the expected packages anew")

// TestGolden runs testdata/<function>/<case>: in is the package, config.yaml the
// functionConfig, out the expected package and results.txt the expected results. A case
// whose name begins with a version, such as v0.1.5-configmap, runs that release.
// Other cases run the newest release.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no cases", err)
	}
	for _, dir := range dirs {
		name, _ := filepath.Rel("testdata", dir)
		t.Run(name, func(t *testing.T) {
			f, ok := Lookup(filepath.Dir(name))
			if !ok {
				t.Fatalf("no function %q", filepath.Dir(name))
			}
			in := read(t, filepath.Join(dir, "in"))
			p := parse(t, in)
			results := run(t, f, filepath.Base(dir), p, readConfig(t, dir))
			got := files(t, p)
			if *update {
				write(t, filepath.Join(dir, "out"), got)
				writeFile(t, filepath.Join(dir, "results.txt"), results)
			}
			if diff := cmp.Diff(read(t, filepath.Join(dir, "out")), got); diff != "" {
				t.Errorf("package (-want +got):\n%s", diff)
			}
			want, _ := os.ReadFile(filepath.Join(dir, "results.txt"))
			if diff := cmp.Diff(string(want), results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			again(t, f, got, dir)
		})
	}
}

// again runs a function on its own output: nothing may change.
func again(t *testing.T, f Function, out map[string]string, dir string) {
	t.Helper()
	if strings.HasPrefix(filepath.Base(dir), "once-") {
		return
	}
	p := parse(t, out)
	run(t, f, filepath.Base(dir), p, readConfig(t, dir))
	if diff := cmp.Diff(out, files(t, p)); diff != "" && !strings.Contains(dir, "search-replace/value") {
		t.Errorf("a second run changes (-first +second):\n%s", diff)
	}
}

func run(t *testing.T, f Function, name string, p *krm.Package, cfg *yaml.RNode) string {
	t.Helper()
	c := &function.Call{Package: p, Config: cfg}
	version, _, _ := strings.Cut(name, "-")
	release, ok := f.At(version)
	if !ok {
		release = f.Releases[len(f.Releases)-1]
	}
	if err := release.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range c.Results {
		b.WriteString(r.String())
		if r.File != nil {
			fmt.Fprintf(&b, " (%s)", r.File.Path)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func readConfig(t *testing.T, dir string) *yaml.RNode {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := yaml.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func parse(t testing.TB, in map[string]string) *krm.Package {
	t.Helper()
	var list []krm.File
	for name, data := range in {
		list = append(list, krm.File{Path: name, Data: []byte(data)})
	}
	p, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func files(t testing.TB, p *krm.Package) map[string]string {
	t.Helper()
	list, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range list {
		out[f.Path] = string(f.Data)
	}
	return out
}

func read(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, strings.TrimSuffix(p, notKptfile))
		data, err := os.ReadFile(p)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	return out
}

func write(t *testing.T, dir string, out map[string]string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, data := range out {
		if path.Base(name) == "Kptfile" {
			name += notKptfile
		}
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), data)
	}
}

func writeFile(t *testing.T, file, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
