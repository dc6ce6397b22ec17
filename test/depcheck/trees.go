package depcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// There is one package that knows the shape of YAML nodes. Where a second one
// finds keys or compares values for itself, the two come to differ, and one
// reports a change that the other does not write.

// treeHome is that package.
const treeHome = "internal/yamltree"

// TreeAllowed are the functions, by package and name, that do themselves what
// is treeHome's to do, and why.
var TreeAllowed = map[string]string{
	"internal/merge.followsKptfile":           "SameValue of what a Kptfile takes from its upstream",
	"internal/merge.edited":                   "SameValue, but for fields that are owned elsewhere",
	"internal/krm.mapping":                    "pairs the entries of two mappings by their places in the text",
	"internal/krm.sameKeys":                   "compares keys alone, place by place",
	"internal/merge.equal":                    "SameValue, but for a version that is not there",
	"internal/catalogfn/carry.Differs":        "SameData, and no comment that the program wrote",
	"internal/catalogfn/carry.commentChanged": "compares comments alone",
	"internal/catalogfn/carry.commented":      "finds comments, the data being the same",
	"internal/catalogfn/carry.renamed":        "compares the names of items alone",
}

// TreeUse is a function that works on YAML nodes as treeHome does.
type TreeUse struct {
	Func  string
	Place string // file and line
	What  string // what it does, and what does it in treeHome
}

// The fingerprints: they are of the shape of Kubernetes' YAML library and no
// names, so that renaming does not get around them.
const (
	walksPairs   = "walks the keys and values of a mapping: use Child, Path, Text, Index, Fields or Keys"
	comparesTwo  = "is an equality of YAML nodes: use Identical, SameText, SameValue or SameData"
	followsAlias = "follows aliases: use Deref"
)

// treeRules says which functions of a package do for themselves what
// internal/yamltree is there for.
func (p Package) treeRules(allowed map[string]string) []string {
	if p.Path == treeHome {
		return nil
	}
	var out []string
	for _, u := range p.Trees {
		if allowed[p.Path+"."+u.Func] == "" {
			out = append(out, fmt.Sprintf("%s: %s %s of %s", u.Place, u.Func, u.What, treeHome))
		}
	}
	return out
}

// treeUses finds the fingerprints in a file, each once for a function.
func treeUses(fset *token.FileSet, f *ast.File, file string) []TreeUse {
	var out []TreeUse
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		found := map[string]bool{comparesTwo: isEquality(fn.Type)}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.ForStmt:
				found[walksPairs] = found[walksPairs] || stepsInPairs(x)
			case *ast.AssignStmt:
				found[followsAlias] = found[followsAlias] || stepsToAlias(x)
			}
			return true
		})
		for _, what := range []string{walksPairs, comparesTwo, followsAlias} {
			if found[what] {
				out = append(out, TreeUse{fn.Name.Name, fmt.Sprintf("%s:%d", file, fset.Position(fn.Pos()).Line), what})
			}
		}
	}
	return out
}

// stepsInPairs is true of `for i := 0; i+1 < len(n.Content); i += 2`.
func stepsInPairs(loop *ast.ForStmt) bool {
	post, ok := loop.Post.(*ast.AssignStmt)
	if !ok || post.Tok != token.ADD_ASSIGN {
		return false
	}
	two, ok := post.Rhs[0].(*ast.BasicLit)
	return ok && two.Value == "2" && loop.Cond != nil && mentions(loop, "Content")
}

// mentions says whether a field is selected anywhere in a loop's head or body.
func mentions(n ast.Node, field string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == field {
			found = true
		}
		return !found
	})
	return found
}

// stepsToAlias is true of `n = n.Alias`.
func stepsToAlias(a *ast.AssignStmt) bool {
	if len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return false
	}
	to, ok := a.Rhs[0].(*ast.SelectorExpr)
	return ok && to.Sel.Name == "Alias" && text(to.X) == text(a.Lhs[0])
}

// text writes a chain of names, "" for any other expression.
func text(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if left := text(x.X); left != "" {
			return left + "." + x.Sel.Name
		}
	}
	return ""
}

// isEquality is true of func(a, b *yaml.Node) bool, and of RNode alike.
func isEquality(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) != 1 || len(t.Results.List[0].Names) > 1 || text(t.Results.List[0].Type) != "bool" {
		return false
	}
	count := 0
	for _, p := range t.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok || !strings.HasPrefix(text(star.X), "yaml.") {
			continue
		}
		if name := text(star.X); name == "yaml.Node" || name == "yaml.RNode" {
			count += max(len(p.Names), 1)
		}
	}
	return count == 2
}
