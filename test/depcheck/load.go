package depcheck

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Load parses the Go files of a module, whatever their build constraints, and
// describes its packages, sorted by path. Tests, testdata, dot-folders, build
// output and nested modules are left out. It needs no go command.
func Load(root fs.FS, module string) ([]Package, error) {
	byPath := map[string]*loader{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byPath[dir] == nil {
			byPath[dir] = &loader{pkg: Package{Path: dir, Module: module}, seen: map[string]bool{}}
		}
		return byPath[dir].add(name, src)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the packages of %s: %w", module, err)
	}
	out := make([]Package, 0, len(byPath))
	for _, l := range byPath {
		sort.Strings(l.pkg.Imports)
		out = append(out, l.pkg)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}

// LoadAll is Load with the module of the controller.
func LoadAll(root fs.FS, module string) ([]Package, error) {
	const controller = "cmd/variform-controller"
	out, err := Load(root, module)
	if err != nil {
		return nil, err
	}
	sub, err := fs.Sub(root, controller)
	if err != nil {
		return nil, err
	}
	more, err := Load(sub, module)
	if err != nil {
		return nil, err
	}
	for _, p := range more {
		p.Path = path.Join(controller, p.Path)
		out = append(out, p)
	}
	return out, nil
}

func skipDir(root fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || dir == "bin" || dir == "dist" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	switch _, err := fs.Stat(root, path.Join(dir, "go.mod")); {
	case err == nil:
		return fs.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// loader gathers the files of one package.
type loader struct {
	pkg  Package
	seen map[string]bool
}

func (l *loader) add(name string, src []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if f.Doc != nil && l.pkg.Doc == "" {
		l.pkg.Doc = new(doc.Package).Synopsis(f.Doc.Text())
	}
	if path.Base(name) == "main.go" {
		l.pkg.Main = bytes.Count(src, []byte("\n"))
	}
	clock := ""
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		if !l.seen[imp] {
			l.seen[imp] = true
			l.pkg.Imports = append(l.pkg.Imports, imp)
		}
		if imp == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
		}
	}
	l.pkg.Size.add(src, f)
	l.walk(fset, f, clock)
	l.pkg.Trees = append(l.pkg.Trees, treeUses(fset, f, path.Base(name))...)
	return nil
}

// clockReaders are the functions of package time that read the clock.
var clockReaders = map[string]bool{
	"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTicker": true, "NewTimer": true, "Sleep": true,
}

func (l *loader) walk(fset *token.FileSet, f *ast.File, clock string) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			l.pkg.Funcs = append(l.pkg.Funcs, fn.Name.Name)
		}
	}
	if clock == "" {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var name *ast.Ident
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && id.Name == clock {
				name = x.Sel
			}
		case *ast.Ident:
			if clock == "." {
				name = x
			}
		}
		if name != nil && clockReaders[name.Name] {
			l.pkg.Clock = append(l.pkg.Clock, fmt.Sprintf("%s: time.%s", fset.Position(name.Pos()), name.Name))
		}
		return true
	})
}
