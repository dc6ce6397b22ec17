package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutation is one small fault that can be put into a source file.
type mutation struct {
	file        string
	line        int
	start, end  int    // bytes that are replaced
	replacement string // "" removes a statement
	what        string
}

func (m mutation) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// apply returns the source with the fault in it.
func (m mutation) apply(src []byte) []byte {
	out := append([]byte{}, src[:m.start]...)
	return append(append(out, m.replacement...), src[m.end:]...)
}

// swapped are operators and what they are mistaken for.
var swapped = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// mutations lists the faults of a file in the order of its text: statements and
// cases that are gone, conditions that are turned around, operators and
// constants that are others. What only words an error is left alone.
func mutations(name string, src []byte) ([]mutation, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: fset, name: name, src: src}
	ast.Inspect(file, f.visit)
	return f.found, nil
}

type finder struct {
	fset  *token.FileSet
	name  string
	src   []byte
	found []mutation
}

func (f *finder) add(from, to token.Pos, replacement, what string) {
	start, end := f.fset.Position(from), f.fset.Position(to)
	old := strings.Join(strings.Fields(string(f.src[start.Offset:end.Offset])), " ")
	if len(old) > 60 {
		old = old[:60] + "…"
	}
	f.found = append(f.found, mutation{
		file: f.name, line: start.Line, start: start.Offset, end: end.Offset, replacement: replacement,
		what: strings.ReplaceAll(what, "@", old),
	})
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.StructType:
		return false
	case *ast.CallExpr:
		return !words(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
		f.add(n.Pos(), n.End(), "", "without the case: @")
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		if op, ok := swapped[n.Op]; ok {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op, "@ is "+op)
		}
	case *ast.BasicLit:
		f.constant(n)
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.add(n.Pos(), n.End(), other, "@ is "+other)
		}
	}
	return true
}

// words says whether a call makes a text for people.
func words(n *ast.CallExpr) bool {
	s, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && (pkg.Name == "fmt" || pkg.Name == "errors" && s.Sel.Name == "New")
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt, *ast.DeferStmt, *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue // does not compile
			}
		default:
			continue
		}
		f.add(s.Pos(), s.End(), "", "without: @")
	}
}

func (f *finder) negate(cond ast.Expr) {
	start, end := f.fset.Position(cond.Pos()).Offset, f.fset.Position(cond.End()).Offset
	f.add(cond.Pos(), cond.End(), "!("+string(f.src[start:end])+")", "not: @")
}

func (f *finder) constant(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			f.add(n.Pos(), n.End(), strconv.FormatInt(v+1, 10), "@ is one more")
		}
	case token.STRING:
		f.add(n.Pos(), n.End(), strconv.Quote("mutant"), "@ is another text")
	}
}
