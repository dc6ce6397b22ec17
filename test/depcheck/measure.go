package depcheck

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// Size is how much there is of a package's ordinary files.
type Size struct {
	Code      int            // lines with something other than a comment
	Functions int            // with methods
	Types     int            // declared at the top of a file
	Exported  int            // the exported ones of these
	Fields    int            // of structs, embedded ones included
	Methods   map[string]int // by type
	Words     map[string]int // names with a word of [PrivateWords], by word
	Says      int            // doc comments whose first line says or tells something
}

// PrivateWords are words that only this project uses in names, and the field's
// words for them.
var PrivateWords = map[string]string{
	"alike": "equal", "along": "history", "beside": "other", "came": "merged", "doubt": "uncertain", "drafted": "draft",
	"footing": "footprint", "frame": "index", "fruitless": "noop", "ground": "footprint", "intend": "plan", "intent": "plan",
	"landed": "merged", "made": "result", "maker": "builder", "onto": "rebase", "outline": "trees", "overruled": "overridden",
	"pulled": "request", "question": "input", "restless": "nonIdempotent", "ruling": "decision", "said": "directive",
	"saying": "directive", "settle": "finalize", "settled": "finalized", "standing": "current", "stands": "current",
	"stray": "untracked", "taken": "imported", "tells": "reports", "told": "reported", "unkept": "noRecord",
	"vanished": "yanked", "want": "desired", "wants": "desired", "wires": "bindings",
}

// add counts a parsed file. Generated files are not counted: nobody maintains them.
func (s *Size) add(src []byte, f *ast.File) {
	if ast.IsGenerated(f) {
		return
	}
	s.Code += codeLines(src)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.Functions++
			s.name(d.Name)
			s.comment(d.Doc)
			if d.Recv != nil && len(d.Recv.List) == 1 {
				if name := receiver(d.Recv.List[0].Type); name != "" {
					if s.Methods == nil {
						s.Methods = map[string]int{}
					}
					s.Methods[name]++
				}
			}
		case *ast.GenDecl:
			s.comment(d.Doc)
			for _, spec := range d.Specs {
				s.spec(spec)
			}
		}
	}
}

func (s *Size) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		s.comment(spec.Doc)
		for _, n := range spec.Names {
			s.name(n)
		}
	case *ast.TypeSpec:
		s.Types++
		s.comment(spec.Doc)
		s.name(spec.Name)
		if spec.Name.IsExported() {
			s.Exported++
		}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			s.Fields += s.list(t.Fields)
		case *ast.InterfaceType:
			s.list(t.Methods)
		}
	}
}

// list counts fields, and the words of their names.
func (s *Size) list(fields *ast.FieldList) (n int) {
	for _, f := range fields.List {
		n += max(1, len(f.Names))
		for _, name := range f.Names {
			s.name(name)
		}
	}
	return n
}

var wordsOf = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

func (s *Size) name(id *ast.Ident) {
	for _, w := range wordsOf.FindAllString(id.Name, -1) {
		if w = strings.ToLower(w); PrivateWords[w] != "" {
			if s.Words == nil {
				s.Words = map[string]int{}
			}
			s.Words[w]++
		}
	}
}

var says = regexp.MustCompile(`\b(?:says|tells)\b`)

func (s *Size) comment(doc *ast.CommentGroup) {
	if first, _, _ := strings.Cut(doc.Text(), "\n"); says.MatchString(first) {
		s.Says++
	}
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// codeLines counts the lines of a file that hold a token.
func codeLines(src []byte) (n int) {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(lit, "\n")
		n += end - max(first, last+1) + 1
		last = max(last, end)
	}
}
