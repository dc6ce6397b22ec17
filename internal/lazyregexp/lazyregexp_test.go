package lazyregexp

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestPattern(t *testing.T) {
	p := New(`^(a+)(b?)$`)
	if p.re != nil {
		t.Error("compiled before it is used")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if !p.MatchString("aab") || p.MatchString("c") {
				t.Error("it matches something else")
			}
		})
	}
	wg.Wait()
	if first := p.Regexp(); p.Regexp() != first {
		t.Error("compiled twice")
	}
	if got := p.FindStringSubmatch("aab"); !slices.Equal(got, []string{"aab", "aa", "b"}) {
		t.Errorf("groups %q", got)
	}
	if got := p.ReplaceAllString("aab", "${2}x$1"); got != "bxaa" {
		t.Errorf("replaced by %q", got)
	}
	defer func() {
		if said, ok := recover().(string); !ok || !strings.Contains(said, "(") {
			t.Errorf("what does not compile says %v", said)
		}
	}()
	New("(").MatchString("")
}

// TestAllCompile compiles every pattern of this repository: no start of a program does.
func TestAllCompile(t *testing.T) {
	n := 0
	err := fs.WalkDir(os.DirFS(filepath.Join("..", "..")), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", "..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil //nolint:nilerr // the compiler's to say
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "New" {
				return true
			}
			if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "lazyregexp" {
				return true
			}
			n++
			value, err := types.Eval(fset, nil, token.NoPos, types.ExprString(call.Args[0]))
			if err == nil && value.Value == nil {
				err = errors.New("not a constant")
			}
			if err == nil {
				_, err = regexp.Compile(constant.StringVal(value.Value))
			}
			if err != nil {
				t.Errorf("%s: %v", fset.Position(call.Pos()), err)
			}
			return true
		})
		return nil
	})
	if err != nil || n < 30 {
		t.Errorf("%d patterns, %v: the walk is broken", n, err)
	}
}
