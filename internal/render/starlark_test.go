package render

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
)

var update = flag.Bool("update", false, "write the expected packages anew")

// starlarkKinds are the two ways in which built-in scripts run.
func starlarkKinds(t testing.TB) map[string]Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside, worker := testOptions(), testOptions()
	worker.Worker = self
	return map[string]Options{"process": inside, "worker": worker}
}

// TestStarlark runs testdata/starlark/<case>: in is the package, config.yaml the
// functionConfig, out the expected package and results.txt what is said.
func TestStarlark(t *testing.T) {
	dirs, err := filepath.Glob("testdata/starlark/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no cases", err)
	}
	for _, dir := range dirs {
		for kind, opts := range starlarkKinds(t) {
			t.Run(filepath.Base(dir)+"/"+kind, func(t *testing.T) {
				config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				in, err := pkgdir.Read(filepath.Join(dir, "in"), nil)
				if err != nil {
					t.Fatal(err)
				}
				in = append(in, krm.File{Path: "config.yaml", Data: config}, krm.File{Path: "Kptfile", Data: []byte(kptfileOf("p",
					"pipeline:\n  mutators:\n  - image: starlark:v0.5\n    configPath: config.yaml\n    exclude: [{kind: Kptfile}, {kind: StarlarkRun}, {name: check}]\n"))})
				p, err := krm.Parse(in)
				if err != nil {
					t.Fatal(err)
				}
				r := New(opts)
				defer r.Close()
				res, err := r.Render(context.Background(), p)
				var said strings.Builder
				for _, r := range res.Functions[0].Results {
					fmt.Fprintln(&said, r)
				}
				want, _ := os.ReadFile(filepath.Join(dir, "results.txt"))
				if diff := cmp.Diff(string(want), said.String()); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if err != nil {
					if !errors.Is(err, ErrFindings) {
						t.Error(err)
					}
					return
				}
				got, err := res.Package.Files()
				if err != nil {
					t.Fatal(err)
				}
				wanted, err := pkgdir.Read(filepath.Join(dir, "out"), nil)
				if err != nil {
					t.Fatal(err)
				}
				if *update {
					_, err = pkgdir.Write(filepath.Join(dir, "out"), wanted, without(got, "config.yaml", "Kptfile"))
					if err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(wanted, without(got, "config.yaml", "Kptfile")); diff != "" {
					t.Errorf("package (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// greedy are scripts that take more memory or time than they get, and the
// bound that ends each.
var greedy = map[string]struct{ source, bound string }{
	"Strings":    {`x = ["x" * (1000000 + i) for i in range(3000)]`, "256 MiB"},
	"Doubling":   {"s = 'x'\nfor i in range(60):\n  s = s + s", "256 MiB"},
	"Repeated":   {"s = 'x' * 1000000000\nt = s + s + s", "256 MiB"},
	"Items":      {"items = ctx.resource_list['items']\nfor i in range(20000000):\n  items.append({'a': i})", "256 MiB"},
	"Lists":      {"l = [0] * 1000000\nm = [l[:] for i in range(1000)]", "256 MiB"},
	"Format":     {"x = 'y' * 1000000\nz = ('%s' * 100000) % tuple([x] * 100000)", "256 MiB"},
	"Shared":     {"a = ['x']\nfor i in range(60):\n  a = [a, a]\nb = str(a)", "it needs more than"},
	"Squaring":   {"x = 3\nfor i in range(60):\n  x = x * x", "5s of processor time"},
	"Comparing":  {"a = [1] * 1000\nb = [1] * 1000\nfor i in range(5):\n  a = [a] * 1000\n  b = [b] * 1000\nx = a == b", "5s of processor time"},
	"Hashing":    {"t = (1,)\nfor i in range(60):\n  t = (t, t)\nd = {t: 1}", "5s of processor time"},
	"Recursion":  {"def f():\n  f()\nf()", "256 MiB of memory (runtime: goroutine stack exceeds 134217728-byte limit)"},
	"Printing":   {"while True:\n  print('x' * 1000000)", "256 MiB"},
	"Expression": {"load('re.star', 're')\nx = re.findall('(x+x+)+y|' * 1000 + 'z', 'x' * 30000000)", "5s of processor time"},
}

// TestGreedyScripts holds that no script costs more than its bounds, and that
// the next script runs all the same.
func TestGreedyScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out scripts that take all the memory they may")
	}
	opts := starlarkKinds(t)["worker"]
	for name, tc := range greedy {
		t.Run(name, func(t *testing.T) {
			r := New(opts)
			defer r.Close()
			_, err := r.Render(context.Background(), scripted(t, tc.source))
			var failed *FunctionError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"starlark:v0.5", tc.bound, "greedy"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
			if _, err := r.Render(context.Background(), scripted(t, "x = 1")); err != nil {
				t.Errorf("the next script: %v", err)
			}
		})
	}
}

// TestWorkerMemory runs the greediest scripts in a process that has no other
// children, and looks at what they took.
func TestWorkerMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out scripts that take all the memory they may")
	}
	const inside = "VARIFORM_TEST_PEAK"
	if os.Getenv(inside) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestWorkerMemory$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for _, name := range []string{"Strings", "Doubling", "Items", "Recursion", "Format"} {
		r := New(starlarkKinds(t)["worker"])
		if _, err := r.Render(context.Background(), scripted(t, greedy[name].source)); err == nil {
			t.Errorf("%s went through", name)
		}
		r.Close()
	}
	const most = 512 << 20 // workData, and what of the program is in memory
	if got := peakOfChildren(t); got > most {
		t.Errorf("a worker took %d MiB, at most %d are its bound", got>>20, most>>20)
	}
}

// TestScriptIsCancelled holds that a script ends where its caller does.
func TestScriptIsCancelled(t *testing.T) {
	for kind, opts := range starlarkKinds(t) {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			r := New(opts)
			defer r.Close()
			if _, err := r.Render(ctx, scripted(t, "def f():\n  while True:\n    pass\nf()")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestWorkerIsUsedAgain holds that scripts of one Renderer share a process, and
// that nothing of one reaches the next.
func TestWorkerIsUsedAgain(t *testing.T) {
	r := New(starlarkKinds(t)["worker"])
	defer r.Close()
	for i := range 5 {
		source := fmt.Sprintf("mine = %d\nfor r in ctx.resource_list['items']:\n  r['metadata'].setdefault('labels', {})['i'] = str(mine)", i)
		res, err := r.Render(context.Background(), scripted(t, source))
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, res.Package)["a.yaml"]; !strings.Contains(got, fmt.Sprintf("i: %q", fmt.Sprint(i))) {
			t.Errorf("got %s", got)
		}
	}
	if got := r.runtimes[0].(*builtins).workers.pool.idle; len(got) != 1 {
		t.Errorf("%d workers wait, want 1", len(got))
	}
}

// TestWorkersShareAPool holds that Renderers which share a pool have no more processes
// than it allows, that they take turns, and that none stays once all are closed.
func TestWorkersShareAPool(t *testing.T) {
	const most = 2
	pool := NewWorkerPool(most)
	opts := starlarkKinds(t)["worker"]
	opts.Workers = pool
	children := func() (n int) {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		if pool.processes > most || len(pool.idle) > pool.processes {
			t.Errorf("%d processes, %d of them idle, at most %d", pool.processes, len(pool.idle), most)
		}
		return pool.processes
	}
	greedy, other := New(opts), New(opts)
	script := func(r *Renderer, n int) {
		if _, err := r.Render(t.Context(), scripted(t, fmt.Sprintf("def f():\n  x = [i for i in range(200000)]\nf()\ny = %d", n))); err != nil {
			t.Error(err)
		}
		children()
	}
	var calls sync.WaitGroup
	var done, before atomic.Int64
	for n := range 24 {
		calls.Go(func() { script(greedy, n); done.Add(1) })
	}
	for done.Load() < 2 { // the others wait by now
		time.Sleep(time.Millisecond)
	}
	before.Store(done.Load())
	script(other, 100)
	if n := done.Load() - before.Load(); n > 2*most+1 {
		t.Errorf("another Renderer's only call waited for %d calls of the first", n)
	}
	calls.Wait()
	if children() == 0 {
		t.Error("no process waits for another call")
	}
	greedy.Close()
	other.Close()
	if n := children(); n != 0 || len(pool.idle) != 0 {
		t.Errorf("%d processes stay", n)
	}
}

func without(files []krm.File, paths ...string) (out []krm.File) {
	for _, f := range files {
		if !slices.Contains(paths, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

// scripted is a package with a script named greedy in its pipeline.
func scripted(t testing.TB, source string) *krm.Package {
	t.Helper()
	return pkg(t, map[string]string{
		"Kptfile": kptfileOf("p", "pipeline:\n  mutators:\n  - image: starlark:v0.5\n    configPath: run.yaml\n"), "a.yaml": configMap("a"),
		"run.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: greedy\nsource: |\n  " + strings.ReplaceAll(source, "\n", "\n  ") + "\n",
	})
}

func BenchmarkScript(b *testing.B) {
	for kind, opts := range starlarkKinds(b) {
		b.Run(kind, func(b *testing.B) {
			r := New(opts)
			defer r.Close()
			i := 0
			for b.Loop() {
				i++ // or the second is cached
				p := scripted(b, fmt.Sprintf("for r in ctx.resource_list['items']:\n  r['metadata']['labels'] = {'i': '%d'}", i))
				if _, err := r.Render(context.Background(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
