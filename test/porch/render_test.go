package porch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/fn/runtime/runtimeutil"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/fnmain"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/yamltree"
)

const packagePath = "internal.config.kubernetes.io/package-path"

// order is in which order a renderer lists the packages of a tree.
type order bool

const (
	subpackagesFirst order = false // kpt 1.0.0-beta.56
	rootFirst        order = true  // later ones
)

// call is a function as Porch's pipeline runs it: one program, stdin to stdout.
type call func(in io.Reader, out io.Writer) error

// porch renders packages as Porch does with kpt's renderer: in a file system in
// memory with the package at its root.
type porch struct {
	order order
	run   func(image string) call
}

// store runs the pipeline of the root package and returns the files that Porch
// stores afterwards. Images run as they stand in the Kptfile.
func (p porch) store(t *testing.T, files map[string]string) (map[string]string, error) {
	t.Helper()
	disk := filesys.MakeFsInMemory()
	for name, text := range files {
		if err := disk.MkdirAll(path.Dir("/" + name)); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile("/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	items := p.read(t, disk, files)
	var k kptfilev1.KptFile
	if err := yaml.Unmarshal([]byte(files["Kptfile"]), &k); err != nil {
		t.Fatal(err)
	}
	for _, f := range k.Pipeline.Mutators {
		out, err := p.filter(t, disk, &f, items)
		if err != nil {
			return nil, err
		}
		items = out
	}
	for _, f := range k.Pipeline.Validators {
		copies := make([]*yaml.RNode, len(items))
		for i := range items {
			copies[i] = items[i].Copy()
		}
		if _, err := p.filter(t, disk, &f, copies); err != nil {
			return nil, err
		}
	}
	write(t, disk, items)
	return contents(t, disk), nil
}

// read lists the resources of the package and its subpackages.
func (p porch) read(t *testing.T, disk filesys.FileSystem, files map[string]string) []*yaml.RNode {
	t.Helper()
	var dirs []string
	for name := range files {
		if path.Base(name) == kptfilev1.KptFileName {
			dirs = append(dirs, path.Dir("/"+name))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		if p.order == rootFirst {
			return cmp.Or(len(a)-len(b), cmp.Compare(a, b))
		}
		return cmp.Or(len(b)-len(a), cmp.Compare(a, b))
	})
	var out []*yaml.RNode
	for _, dir := range dirs {
		items, err := (&kio.LocalPackageReader{
			PackagePath: dir, PackageFileName: kptfilev1.KptFileName,
			MatchFilesGlob:    append([]string{kptfilev1.KptFileName}, kio.MatchAll...),
			PreserveSeqIndent: true, WrapBareSeqNode: true,
			SetAnnotations: map[string]string{packagePath: dir},
			FileSystem:     filesys.FileSystemOrOnDisk{FileSystem: disk},
		}).Read()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, items...)
	}
	return out
}

// filter runs one function by the filter that kpt uses, and holds the answer to
// kpt's rules of places.
func (p porch) filter(t *testing.T, disk filesys.FileSystem, f *kptfilev1.Function, items []*yaml.RNode) ([]*yaml.RNode, error) {
	t.Helper()
	var config *yaml.RNode
	switch {
	case f.ConfigPath != "":
		text, err := disk.ReadFile("/" + f.ConfigPath)
		if err != nil {
			t.Fatal(err)
		}
		config = yaml.MustParse(string(text))
	case len(f.ConfigMap) > 0:
		config = yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\n")
		config.SetDataMap(f.ConfigMap)
	}
	out, err := (&runtimeutil.FunctionFilter{Run: p.run(f.Image), FunctionConfig: config, GlobalScope: true}).Filter(items)
	if err != nil {
		return nil, err
	}
	places := map[[3]string]bool{}
	for _, n := range out {
		annotations := n.GetAnnotations()
		if annotations[packagePath] == "" {
			if err := n.PipeE(yaml.SetAnnotation(packagePath, "/")); err != nil {
				t.Fatal(err)
			}
		}
		file, index, err := kioutil.GetFileAnnotations(n)
		if err != nil {
			t.Fatal(err)
		}
		place := [3]string{n.GetAnnotations()[packagePath], path.Clean(file), index}
		if places[place] || strings.HasPrefix(place[1], "../") {
			return nil, fmt.Errorf("%s %s stands at %q, which is taken or outside", n.GetKind(), n.GetName(), place)
		}
		places[place] = true
	}
	return out, nil
}

// write puts the resources where their annotations say.
func write(t *testing.T, disk filesys.FileSystem, items []*yaml.RNode) {
	t.Helper()
	for _, n := range items {
		file, _, err := kioutil.GetFileAnnotations(n)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.TrimPrefix(path.Join(n.GetAnnotations()[packagePath], file), "/")
		for _, key := range []string{kioutil.PathAnnotation, krm.LegacyPathAnnotation} {
			if err := n.PipeE(yaml.SetAnnotation(key, at)); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.PipeE(yaml.ClearAnnotation(packagePath)); err != nil {
			t.Fatal(err)
		}
	}
	writer := &kio.LocalPackageReadWriter{
		PackagePath: "/", PackageFileName: kptfilev1.KptFileName, IncludeSubpackages: true,
		PreserveSeqIndent: true, WrapBareSeqNode: true,
		MatchFilesGlob: append([]string{kptfilev1.KptFileName}, kio.MatchAll...),
		FileSystem:     filesys.FileSystemOrOnDisk{FileSystem: disk},
	}
	if err := writer.Write(items); err != nil {
		t.Fatal(err)
	}
	prune(t, disk, items)
}

// prune removes the files that lost their last resource.
func prune(t *testing.T, disk filesys.FileSystem, items []*yaml.RNode) {
	t.Helper()
	kept := map[string]bool{}
	for _, n := range items {
		file, _, err := kioutil.GetFileAnnotations(n)
		if err != nil {
			t.Fatal(err)
		}
		kept[file] = true
	}
	for name := range contents(t, disk) {
		if isYAML(name) && !kept[name] {
			if err := disk.RemoveAll("/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Base(name) == "Kptfile" }

func contents(t *testing.T, disk filesys.FileSystem) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := disk.Walk("/", func(p string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := disk.ReadFile(p)
		out[strings.TrimPrefix(p, "/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ours runs our functions for our images, as their programs would.
func ours(image string) call {
	name := strings.TrimPrefix(image, render.OwnRegistry+"/")
	return func(in io.Reader, out io.Writer) error {
		var stderr bytes.Buffer
		if code := fnmain.Main(name, nil, fnmain.Streams{In: in, Out: out, Err: &stderr, ReadFile: os.ReadFile}); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, stderr.String())
		}
		return nil
	}
}

// nothing is a function that gives its list back.
func nothing(string) call {
	return func(in io.Reader, out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	}
}

// packages are those of the functions' examples that have a pipeline, a
// subpackage added to each.
func packages(t *testing.T) map[string]map[string]string {
	t.Helper()
	kptfiles, err := filepath.Glob("../../functions/*/examples/*/Kptfile")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{
		"apply-variant": {
			"Kptfile":              kptfile("web", "mutators", "apply-variant", "\n    configPath: variant.yaml"),
			"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: web\n",
			"variant.yaml": "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: web\nspec:\n  upstream:\n    repo: a\n    package: web\n    revision: v1\n" +
				"  downstream:\n    repo: b\n    package: web\n  packageContext:\n    data:\n      region: a\n  injectors:\n  - name: dev\n",
			"dev.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dev\n  annotations:\n    variform.dev/context: \"true\"\ndata:\n  a: b\n",
		},
	}
	for _, file := range kptfiles {
		dir := filepath.Dir(file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "pipeline:") {
			continue
		}
		files := map[string]string{}
		tree := os.DirFS(dir)
		names, err := fs.Glob(tree, "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if isYAML(name) {
				text, err := fs.ReadFile(tree, name)
				if err != nil {
					t.Fatal(err)
				}
				files[name] = string(text)
			}
		}
		out[filepath.Base(dir)] = files
	}
	for _, files := range out {
		files["README.md"] = "# prose\n"
		files["sub/Kptfile"] = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n"
		files["sub/point.yaml"] = "# A comment on top.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: point # its name\n  annotations:\n    kpt.dev/config-injection: optional\ndata: {}\n" +
			"---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n    - port: 80\n"
	}
	return out
}

func kptfile(name, list, fn, more string) string {
	return fmt.Sprintf("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: %s\npipeline:\n  %s:\n  - image: %s/%s%s\n", name, list, render.OwnRegistry, fn, more)
}

// TestPipeline runs each function in a pipeline of Porch's: what Porch stores is
// what the function made of the package in process, resource for resource, and
// the files that it left alone are as Porch would have written them without it.
func TestPipeline(t *testing.T) {
	ran := map[string]bool{}
	for name, files := range packages(t) {
		for orderName, o := range map[string]order{"subpackages first": subpackagesFirst, "root first": rootFirst} {
			t.Run(name+"/"+orderName, func(t *testing.T) {
				for f := range function.Builtin {
					if strings.Contains(files["Kptfile"], render.OwnRegistry+"/"+f) {
						ran[f] = true
					}
				}
				got, err := porch{o, ours}.store(t, files)
				want, wantErr := inProcess(t, files)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("Porch's error %v, in process %v", err, wantErr)
				}
				if err != nil {
					return // nothing is stored
				}
				checkStored(t, files, got, want)
				plain, err := porch{o, nothing}.store(t, files)
				if err != nil {
					t.Fatal(err)
				}
				for file, text := range plain {
					if want[file] == files[file] && got[file] != text {
						t.Errorf("%s, which the function left alone (-without +with it):\n%s", file, gocmp.Diff(text, got[file]))
					}
				}
				again, err := porch{o, ours}.store(t, got)
				if diff := gocmp.Diff(got, again); err != nil || diff != "" {
					t.Errorf("a second run: %v (-first +second):\n%s", err, diff)
				}
			})
		}
	}
	if len(ran) != len(function.Builtin) {
		t.Errorf("only %v were run", ran)
	}
}

// inProcess renders by the builtin runtime.
func inProcess(t *testing.T, files map[string]string) (map[string]string, error) {
	t.Helper()
	var list []krm.File
	for name, text := range files {
		list = append(list, krm.File{Path: name, Data: []byte(text)})
	}
	p, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	r, err := render.New(render.Options{Builtins: function.Builtin, NoContainers: true}).Render(t.Context(), p)
	if err != nil {
		return nil, err
	}
	after, err := r.Package.Files()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range after {
		out[f.Path] = string(f.Data)
	}
	return out, nil
}

// checkStored compares the resources of each file.
func checkStored(t *testing.T, before, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if !isYAML(name) {
			if got[name] != text {
				t.Errorf("%s changed", name)
			}
			continue
		}
		a, b := documents(t, got[name]), documents(t, text)
		if len(a) != len(b) || !slices.EqualFunc(a, b, func(x, y *yaml.RNode) bool { return yamltree.SameValue(x.YNode(), y.YNode()) }) {
			t.Errorf("%s (-in process +stored):\n%s", name, gocmp.Diff(text, got[name]))
		}
		for _, mark := range []string{"internal.config.kubernetes.io", "config.kubernetes.io/path", "config.k8s.io/id"} {
			if strings.Contains(got[name], mark) && !strings.Contains(before[name], mark) {
				t.Errorf("%s keeps %s:\n%s", name, mark, got[name])
			}
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is stored and was not made:\n%s", name, got[name])
		}
	}
}

func documents(t *testing.T, text string) []*yaml.RNode {
	t.Helper()
	nodes, err := (&kio.ByteReader{Reader: strings.NewReader(text), OmitReaderAnnotations: true}).Read()
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}
