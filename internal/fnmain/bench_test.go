//go:build unix

package fnmain

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/function"
)

// BenchmarkFunctions runs each function beside the SDK's own, with a function
// that does nothing, on the same list of 100, 1,000 and 10,000 items, and
// compares processor time, the collector's included.
func BenchmarkFunctions(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(function.Builtin)) {
		for _, n := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				w := workloads[name]
				in := []byte(w.list(n))
				config := Streams{ReadFile: func(string) ([]byte, error) { return []byte(w.config), nil }}
				var ours, sdks []time.Duration
				for b.Loop() {
					ours = append(ours, cpu(func() { w.run(b, name, in, config) }))
					sdks = append(sdks, cpu(func() { identity(b, in) }))
				}
				ratio := float64(middle(ours)) / float64(middle(sdks))
				b.ReportMetric(0, "ns/op") // the loop holds both sides: its time says nothing
				b.ReportMetric(ratio, "xsdk-cpu")
				b.ReportMetric(float64(middle(ours).Microseconds())/float64(n), "cpu-µs/item")
			})
		}
	}
}

// workload is a list with real work for a function in it: about one item in
// twenty is of its own kinds, the others pass through.
type workload struct {
	own    func(n int) []string
	config string
	wrote  string // has to be in the output
}

var workloads = map[string]workload{
	"generate-variants": {own: func(n int) []string {
		return append(targets(n/20), `- apiVersion: config.porch.kpt.dev/v1alpha2
  kind: PackageVariantSet
  metadata: {name: all}
  spec:
    upstream: {repo: catalog, package: web, revision: v1}
    targets:
    - objectSelector: {apiVersion: hr.example.com/v1, kind: Team}
      template:
        downstream: {repo: fleet, packageExpr: "target.name + '-web'"}
`)
	}, wrote: "fleet-team-1-web"},
	"apply-variant": {own: packageOf, config: `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: web, namespace: default}
spec:
  upstream: {repo: catalog, package: web, revision: v1}
  downstream: {repo: fleet, package: web}
  packageContext: {data: {region: useast1}}
  pipeline: {mutators: [{image: set-labels:v0.1, configMap: {app: web}}]}
  injectors: [{name: dev}]
`, wrote: "region: useast1"},
	"inject-config": {own: packageOf, config: `apiVersion: variform.dev/v1alpha1
kind: InjectConfig
metadata: {name: inject}
injectors: [{name: dev}]
`, wrote: "config.injection.ConfigMap.point-1"},
	"resolve-dependencies": {own: func(n int) []string {
		var out []string
		for i := range n / 20 {
			out = append(out, fmt.Sprintf("- apiVersion: variform.dev/v1alpha1\n  kind: PackageManifest\n  metadata: {name: p%d}\n  spec: {version: 1.%d.0}\n", i%10, i/10))
		}
		return append(out, "- apiVersion: variform.dev/v1alpha1\n  kind: Installation\n  metadata: {name: a}\n  spec: {target: t, package: p0}\n")
	}, wrote: "kind: PackageLock"},
	"set-fields": {own: packageOf, config: `apiVersion: fields.example.com/v1
kind: Fields
metadata: {name: f}
spec: {name: set-by-rule}
fields: [{value: "${name}", targets: [{select: {kind: ConfigMap, name: dev}, fieldPaths: [data.a]}]}]
`, wrote: "set-by-rule"},
	"validate-package": {own: packageOf, config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {strict: \"true\"}\n"},
}

func targets(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("- apiVersion: hr.example.com/v1\n  kind: Team\n  metadata: {name: team-%d, labels: {region: a}}\n  spec: {code: x}\n", i)
	}
	return out
}

// packageOf are a Kptfile, a package context, a context object and points.
func packageOf(n int) []string {
	out := []string{
		"- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: web\n    annotations:\n      internal.config.kubernetes.io/path: Kptfile\n  info: {description: web}\n",
		"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: kptfile.kpt.dev}\n  data: {name: web}\n",
		"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: dev, annotations: {variform.dev/context: \"true\"}}\n  data: {a: b}\n",
	}
	for i := range n / 20 {
		out = append(out, fmt.Sprintf("- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: point-%d, annotations: {kpt.dev/config-injection: optional}}\n  data: {}\n", i))
	}
	return out
}

func (w workload) list(n int) string {
	var b strings.Builder
	b.WriteString(head)
	own := w.own(n)
	for i := range n - len(own) {
		b.WriteString(deployment(i))
	}
	return b.String() + strings.Join(own, "")
}

func (w workload) run(b *testing.B, name string, in []byte, s Streams) {
	b.Helper()
	var args []string
	if w.config != "" {
		args = append(args, "config.yaml")
	}
	var out bytes.Buffer
	s.In, s.Out, s.Err = bytes.NewReader(in), &out, os.Stderr
	if code := Main(name, args, s); code != exitDone || !strings.Contains(out.String(), w.wrote) {
		b.Fatalf("exit %d, and %d bytes without %q", code, out.Len(), w.wrote)
	}
}

// identity is what fn.AsMain does between stdin and stdout.
func identity(b *testing.B, in []byte) {
	b.Helper()
	data, err := io.ReadAll(bytes.NewReader(in))
	if err != nil {
		b.Fatal(err)
	}
	nothing := fn.ResourceListProcessorFunc(func(*fn.ResourceList) (bool, error) { return true, nil })
	if out, err := fn.Run(nothing, data); err != nil || len(out) == 0 {
		b.Fatal(err)
	}
}

// cpu is the processor time of this process that f takes.
func cpu(f func()) time.Duration {
	runtime.GC()
	before := used()
	f()
	return used() - before
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
