package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/yamltree"
)

// renderFunctions are what the rendered packages' pipelines run.
var renderFunctions = []string{
	"    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4\n      configMap: {namespace: after}\n",
	"    - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2\n      configMap: {tier: web}\n",
	"    - image: ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1\n      configMap: {team: red}\n",
}

// BenchmarkRenderAgainstKpt renders a package of 1,000 resources in place:
// variform render with its builtin functions, kpt fn render --allow-exec with
// the same functions as programs. Metrics as for BenchmarkUpdateAgainstKpt.
func BenchmarkRenderAgainstKpt(b *testing.B) {
	for _, functions := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("resources=1000/functions=%d", functions), func(b *testing.B) {
			d := &duel{}
			for b.Loop() {
				b.StopTimer()
				renderBoth(b, d, 1000, functions)
				b.StartTimer()
			}
			d.report(b, 1)
		})
	}
}

// renderBoth renders a package of n resources with ours and, where it is, with
// kpt. The results must be the same.
func renderBoth(b testing.TB, d *duel, n, functions int) {
	b.Helper()
	text := largePackage(n, "v1.0.0")
	if functions > 0 {
		text["app/Kptfile"] += "pipeline:\n  mutators:\n" + strings.Join(renderFunctions[:functions], "")
	}
	mine := filepath.Join(b.TempDir(), "app")
	writeAll(b, mine, text)
	start := time.Now()
	child := runSelf(b, "render", "--quiet", mine)
	d.ours = append(d.ours, cost{wall: time.Since(start), cpu: child.cpu})
	if !hasKpt() {
		return
	}
	text["app/Kptfile"] = asPrograms(b, text["app/Kptfile"])
	theirs := filepath.Join(b.TempDir(), "app")
	writeAll(b, theirs, text)
	d.kpts = append(d.kpts, newKpt(b).run(b, theirs, "fn", "render", "--allow-exec"))
	sameResources(b, theirs, mine)
}

func writeAll(b testing.TB, dir string, text map[string]string) {
	b.Helper()
	for name, data := range text {
		file := filepath.Join(dir, strings.TrimPrefix(name, "app/"))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// sameResources compares two directories as parsed, but for the Kptfile, in
// which the functions have other names.
func sameResources(b testing.TB, want, got string) {
	b.Helper()
	w, g := readPackage(b, want), readPackage(b, got)
	same := slices.EqualFunc(w.Resources(), g.Resources(), func(x, y *krm.Resource) bool {
		return x.Path() == y.Path() && x.ID() == y.ID() && (x.Kind() == "Kptfile" || yamltree.SameValue(x.Node().YNode(), y.Node().YNode()))
	})
	if !same {
		b.Fatal("kpt and variform did not render the same: the comparison is void")
	}
}

func readPackage(b testing.TB, dir string) *krm.Package {
	b.Helper()
	files, err := pkgdir.Read(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	p, err := krm.Parse(files)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// runFunction as the first argument makes the test program one of the
// catalogue's functions, for kpt to run.
const runFunction = "run-function"

var catalogueImage = regexp.MustCompile(`image: ghcr\.io/kptdev/krm-functions-catalog/([a-z-]+):\S+`)

// asPrograms makes the images of a Kptfile programs.
func asPrograms(b testing.TB, kptfile string) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return catalogueImage.ReplaceAllString(kptfile, "exec: "+self+" "+runFunction+" $1")
}

func catalogueMain(name string) int {
	if err := runCatalogue(name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runCatalogue(name string, in io.Reader, out io.Writer) error {
	f, ok := catalogfn.Lookup(name)
	if !ok {
		return fmt.Errorf("no function %q", name)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	list, err := yaml.Parse(string(data))
	if err != nil {
		return err
	}
	if f.Releases[len(f.Releases)-1].List != nil {
		if _, err := f.Releases[len(f.Releases)-1].List(context.Background(), list.YNode()); err != nil {
			return err
		}
		return yaml.NewEncoder(out).Encode(list.YNode())
	}
	items, err := list.Field("items").Value.Elements()
	if err != nil {
		return err
	}
	p, err := krm.FromItems(items, func(n *yaml.RNode) string { return n.GetAnnotations()[krm.PathAnnotation] })
	if err != nil {
		return err
	}
	call := &function.Call{Package: p}
	if config := list.Field("functionConfig"); config != nil {
		call.Config = config.Value
	}
	if err := f.Releases[len(f.Releases)-1].Run(context.Background(), call); err != nil {
		return err
	}
	result := &yaml.Node{Kind: yaml.SequenceNode}
	for _, n := range p.Nodes() {
		result.Content = append(result.Content, n.YNode())
	}
	if err := list.PipeE(yaml.SetField("items", yaml.NewRNode(result))); err != nil {
		return err
	}
	return yaml.NewEncoder(out).Encode(list.YNode())
}
