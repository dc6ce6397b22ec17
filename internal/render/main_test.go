package render

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/test/enginetest"
	"github.com/variform/variform/test/krmtest"
)

// runFunction as the first argument makes the test binary a KRM function: the
// catalogue's functions by name, and a few for tests.
const runFunction = "run-function"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == runFunction {
		os.Exit(serve(os.Args[2], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == HelperCommand {
		if err := Helper(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == WorkerCommand {
		workTime = 5 * time.Second
		if err := Work(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == renderFolder {
		os.Exit(renderInto(os.Args[2]))
	}
	code := m.Run()
	enginetest.Close()
	os.Exit(code)
}

// renderFolder as the first argument makes the test binary render the package in
// a folder by containers, for a test that kills it.
const renderFolder = "render-folder"

func renderInto(dir string) int {
	p, err := krm.Parse(mustRead(dir))
	if err == nil {
		exe, _ := os.Executable()
		_, err = New(Options{ContainerHelper: exe, ImagePullPolicy: PullNever}).Render(context.Background(), p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func mustRead(dir string) []krm.File {
	var files []krm.File
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		files = append(files, krm.File{Path: e.Name(), Data: data})
	}
	return files
}

// serve runs one Processor over a ResourceList, as an exec function does.
func serve(name string, in io.Reader, out, errs io.Writer) int {
	data, err := io.ReadAll(in)
	if err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	if f := rawFunctions[name]; f != nil {
		return f(data, out, errs)
	}
	run := testFunctions[name]
	if c, ok := catalogfn.Lookup(name); ok {
		r := c.Releases[len(c.Releases)-1]
		if run = r.Run; r.List != nil {
			return serveList(r, data, out, errs)
		}
	}
	if run == nil {
		fmt.Fprintf(errs, "no function %q\n", name)
		return 2
	}
	list, err := yaml.Parse(string(data))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	return process1(run, list, out, errs)
}

// serveList runs a function of the sort that gets a ResourceList.
func serveList(f catalogfn.Release, data []byte, out, errs io.Writer) int {
	list := yaml.MustParse(string(data))
	said, err := f.List(context.Background(), list.YNode())
	var results yaml.Node
	_ = results.Encode(said)
	yamltree.Set(list.YNode(), nil, "results", &results)
	fmt.Fprint(out, list.MustString())
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return said.ExitCode()
}

func process1(run function.Processor, list *yaml.RNode, out, errs io.Writer) int {
	p, _ := krm.Parse(nil)
	known := map[*krm.Resource]bool{}
	for _, n := range yamltree.Child(list.YNode(), "items").Content {
		r := yaml.NewRNode(n)
		ann := r.GetAnnotations()
		known[p.Add(path.Join(strings.TrimPrefix(ann[annPackage], "/"), ann[annPath]), r)] = true
	}
	call := &function.Call{Package: p, Selected: inOrder(p, list)}
	if cfg := yamltree.Child(list.YNode(), "functionConfig"); cfg != nil {
		call.Config = yaml.NewRNode(cfg)
	}
	err := run(context.Background(), call)
	items := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range p.Resources() {
		if !known[r] {
			_ = setAnnotations(r.Edit().YNode(), annPath, r.Path())
		}
		items.Content = append(items.Content, r.Node().YNode())
	}
	yamltree.Set(list.YNode(), nil, "items", items)
	var results yaml.Node
	_ = results.Encode(call.Results)
	yamltree.Set(list.YNode(), nil, "results", &results)
	fmt.Fprint(out, list.MustString())
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return call.Results.ExitCode()
}

// inOrder are the package's resources in the order of the list.
func inOrder(p *krm.Package, list *yaml.RNode) []*krm.Resource {
	byNode := map[*yaml.Node]*krm.Resource{}
	for _, r := range p.Resources() {
		byNode[r.Node().YNode()] = r
	}
	out := []*krm.Resource{}
	for _, n := range yamltree.Child(list.YNode(), "items").Content {
		if r := byNode[n]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// testFunctions are Processors for the tests of the renderer itself.
var testFunctions = map[string]function.Processor{
	// note sets the annotation named by the config on what it was given.
	"note": func(_ context.Context, c *function.Call) error {
		for _, r := range c.Resources() {
			for k, v := range c.Config.GetDataMap() {
				if err := r.SetAnnotation(k, v); err != nil {
					return err
				}
			}
		}
		return nil
	},
	// generate adds a ConfigMap without a path of its own.
	"generate": func(_ context.Context, c *function.Call) error {
		n := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: generated\n  namespace: made\ndata:\n  a: b\n")
		c.Package.Add("made/configmap_generated.yaml", n)
		return nil
	},
	"generate-json": func(_ context.Context, c *function.Call) error {
		c.Package.Add("made/new.json", yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\ndata:\n  a: b\n"))
		return nil
	},
	// drop deletes ConfigMaps named drop-*.
	"drop": func(_ context.Context, c *function.Call) error {
		for _, r := range c.Resources() {
			if strings.HasPrefix(r.Name(), "drop") {
				r.Delete()
			}
		}
		return nil
	},
	"fail": func(_ context.Context, c *function.Call) error {
		for _, r := range c.Resources() {
			c.Results = append(c.Results, &fn.Result{
				Severity: fn.Error, Message: "bad " + r.Name(), File: &fn.File{Path: r.Path()},
			})
		}
		return nil
	},
	"warn": func(_ context.Context, c *function.Call) error {
		c.Results.Warningf("mind the gap")
		return nil
	},
	"count": func(_ context.Context, c *function.Call) error {
		c.Results.Infof("%d", len(c.Resources()))
		return nil
	},
	"escape": func(_ context.Context, c *function.Call) error {
		c.Package.Add("../outside.yaml", yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"))
		return nil
	},
	"break": func(context.Context, *function.Call) error { panic("broken") },
}

// endless writes until nobody reads, 4 GB at most.
func endless(w io.Writer) int {
	for part := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16); ; {
		if _, err := w.Write(part); err != nil {
			return 1
		}
	}
}

// rawFunctions see the ResourceList as text.
var rawFunctions = map[string]func(in []byte, out, errs io.Writer) int{
	"flood-stdout": func(_ []byte, out, _ io.Writer) int { return endless(out) },
	"flood-stderr": func(_ []byte, _, errs io.Writer) int { return endless(errs) },
	"flood-values": func(_ []byte, out, _ io.Writer) int { fmt.Fprint(out, strings.Repeat("a: [b, c]\n", 6<<20)); return 0 },
	"flood-messages": func(in []byte, out, errs io.Writer) int {
		fmt.Fprint(errs, strings.Repeat("line\n", 10<<20))
		_, _ = out.Write(in)
		return 0
	},
	"no-list":   func(_ []byte, out, _ io.Writer) int { fmt.Fprint(out, "- a\n- b\n"); return 0 },
	"copy-data": copyData,
	"silent":    func([]byte, io.Writer, io.Writer) int { return 0 },
	"garbage":   func(_ []byte, out, _ io.Writer) int { fmt.Fprint(out, "{{"); return 0 },
	"stderr":    func(in []byte, out, errs io.Writer) int { fmt.Fprint(errs, "said"); _, _ = out.Write(in); return 0 },
	"exit3": func(in []byte, out, errs io.Writer) int {
		fmt.Fprint(errs, "went wrong")
		fmt.Fprint(out, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n- message: why\n  severity: error\n")
		return 3
	},
	"soft-error": func(in []byte, out, _ io.Writer) int {
		_, _ = out.Write(in)
		fmt.Fprint(out, "results:\n- message: only said\n  severity: error\n")
		return 0
	},
	"env": func(in []byte, out, errs io.Writer) int {
		fmt.Fprint(errs, strings.Join(os.Environ(), "\n"))
		_, _ = out.Write(in)
		return 0
	},
	"rewrite-path": func(in []byte, out, _ io.Writer) int {
		_, _ = out.Write(bytes.ReplaceAll(in, []byte("path: 'cm.yaml'"), []byte("path: '../cm.yaml'")))
		return 0
	},
	"move": func(in []byte, out, _ io.Writer) int {
		_, _ = out.Write(bytes.ReplaceAll(in, []byte("path: 'cm.yaml'"), []byte("path: 'moved/cm.yaml'")))
		return 0
	},
	"comments-lost": func(in []byte, out, errs io.Writer) int {
		var v map[string]any
		if err := yaml.Unmarshal(in, &v); err != nil {
			return 1
		}
		for _, it := range v["items"].([]any) {
			if d, ok := it.(map[string]any)["data"].(map[string]any); ok {
				d["changed"] = "yes"
			}
		}
		b, _ := yaml.Marshal(v)
		_, _ = out.Write(b)
		return 0
	},
}

func load(t testing.TB, dir string) *krm.Package {
	t.Helper()
	var files []krm.File
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		files = append(files, krm.File{Path: filepath.ToSlash(rel), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	pkg      = krmtest.Package
	contents = krmtest.Texts
)

func save(t testing.TB, p *krm.Package, dir string) {
	t.Helper()
	for name, data := range contents(t, p) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
