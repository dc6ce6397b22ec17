package celexpr

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with an expression, for errors.Is.
var (
	ErrCompile  = errors.New("expression does not compile")
	ErrEvaluate = errors.New("expression cannot be evaluated")
	ErrType     = errors.New("expression does not return a string")
	ErrCost     = errors.New("expression costs too much")
)

// Error is a failed expression.
type Error struct {
	Field string // such as spec.targets[0].template.labelExprs[1].valueExpr
	Expr  string
	Kind  error  // one of ErrCompile, ErrEvaluate, ErrType, ErrCost
	Text  string // what is wrong; cel-go's own text, whole, where it is cel-go's
	Hint  string // what to do, may be empty
}

// Error is "field: first line of what is wrong, in expression `…` (hint)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	fmt.Fprintf(&b, "%s, in expression `%s`", e.FirstLine(), shorten(e.Expr))
	if e.Hint != "" {
		fmt.Fprintf(&b, " (hint: %s)", e.Hint)
	}
	return b.String()
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// FirstLine is the first line of Text.
func (e *Error) FirstLine() string {
	line, _, _ := strings.Cut(e.Text, "\n")
	return line
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= 200 {
		return s
	}
	return s[:197] + "..."
}
