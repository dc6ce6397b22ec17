package depcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// public are the folders at the top that other programs may import.
var public = []string{"api", "injector", "resolver", "variantgen"}

// TestPublicSignatures holds that what can be imported can be called: no type of
// an internal package stands in an exported function, method or field.
func TestPublicSignatures(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	for _, dir := range public {
		err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata"):
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			src, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			for _, v := range internalTypes(t, name, src) {
				t.Errorf("%s shows a type of an internal package: nobody outside can name it", v)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	src := "package p\n\nimport krm2 \"github.com/variform/variform/internal/krm\"\n\ntype T struct{ A, b *krm2.Package }\n\nfunc F([]krm2.File) {}\n\nfunc g(krm2.File) {}\n\nfunc (t T) M() *krm2.Package { return nil }\n"
	if got := internalTypes(t, "p.go", []byte(src)); len(got) != 3 {
		t.Errorf("of three such places these were found: %q", got)
	}
}

// internalTypes lists exported declarations that name an internal package.
func internalTypes(t *testing.T, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	internal := map[string]bool{}
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		if !strings.HasPrefix(imp, module+"/") || !strings.Contains(imp, "/internal/") {
			continue
		}
		own := path.Base(imp)
		if spec.Name != nil {
			own = spec.Name.Name
		}
		internal[own] = true
	}
	var out []string
	look := func(what string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok && internal[id.Name] {
					out = append(out, fset.Position(sel.Pos()).String()+": "+what)
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d.Recv) {
				look(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
					exportedParts(ts, look)
				}
			}
		}
	}
	return out
}

// exportedReceiver says whether a function is none of an unexported type.
func exportedReceiver(recv *ast.FieldList) bool {
	if recv == nil {
		return true
	}
	exported := false
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = exported || id.IsExported()
		}
		return true
	})
	return exported
}

// exportedParts looks at a type, of a struct at its exported fields only.
func exportedParts(ts *ast.TypeSpec, look func(string, ast.Node)) {
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		look(ts.Name.Name, ts.Type)
		return
	}
	for _, field := range st.Fields.List {
		for _, n := range field.Names {
			if n.IsExported() {
				look(ts.Name.Name+"."+n.Name, field.Type)
				break
			}
		}
		if len(field.Names) == 0 {
			look(ts.Name.Name, field.Type)
		}
	}
}

// TestImporters compiles and runs a program of another module that uses the
// public packages, as a stranger's would. Its go.mod is a copy, which may take
// over what this module has begun to need.
func TestImporters(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a module")
	}
	root, mod := filepath.Join("..", ".."), filepath.Join(t.TempDir(), "go.mod")
	for from, to := range map[string]string{"test/importers/go.mod": mod, "go.sum": strings.TrimSuffix(mod, ".mod") + ".sum"} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-mod=mod", "-modfile="+mod, "./...")
	cmd.Dir = filepath.Join(root, "test", "importers")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in test/importers: %v\n%s", err, out)
	}
}

// kubernetes are the modules of Kubernetes that the command may have: types of its objects
// and YAML, no clients.
var kubernetes = []string{
	"k8s.io/apimachinery", "k8s.io/kube-openapi", "k8s.io/klog/v2", "k8s.io/utils", "sigs.k8s.io/json", "sigs.k8s.io/kustomize/api", "sigs.k8s.io/kustomize/kyaml",
	"sigs.k8s.io/randfill", "sigs.k8s.io/structured-merge-diff/v6", "sigs.k8s.io/yaml",
}

// TestNoClientOfKubernetes: the controller is a module of its own, so that the command
// stays small.
func TestNoClientOfKubernetes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(data)) {
		module, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.Contains(module, "k8s.io/") {
			continue
		}
		if found++; !slices.Contains(kubernetes, module) {
			t.Errorf("go.mod names %s: what needs it belongs into cmd/variform-controller", module)
		}
	}
	if found == 0 {
		t.Error("go.mod names nothing of Kubernetes: it is written otherwise than this test reads it")
	}
}
