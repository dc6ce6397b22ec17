package api

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is what every non-empty Issues unwraps to.
var ErrInvalid = errors.New("invalid configuration")

// Issue is one finding about one field.
//
// Message is a whole sentence that names the field; where Porch has a text for
// the same finding it is that text, word for word, so that Hint never is part of it.
type Issue struct {
	File    string // as given by WithFile, else empty
	Line    int    // 1-based, 0 where unknown
	Field   string // such as spec.targets[0].template.labelExprs[1].valueExpr
	Message string
	Hint    string // what to do about it, may be empty
}

// Error is "file:line: message (hint)", without the parts that are not known.
func (i Issue) Error() string {
	var b strings.Builder
	switch {
	case i.File != "" && i.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", i.File, i.Line)
	case i.File != "":
		fmt.Fprintf(&b, "%s: ", i.File)
	case i.Line > 0:
		fmt.Fprintf(&b, "line %d: ", i.Line)
	}
	b.WriteString(i.Message)
	if i.Hint != "" {
		fmt.Fprintf(&b, " (hint: %s)", i.Hint)
	}
	return b.String()
}

// Issues are findings in the order of the document and, for validation, of
// Porch's own checks. As an error it lists one per line.
type Issues []Issue

// Error lists the issues, one per line.
func (l Issues) Error() string {
	lines := make([]string, len(l))
	for i, issue := range l {
		lines[i] = issue.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (l Issues) Unwrap() error { return ErrInvalid }

// Err is nil for no issues.
func (l Issues) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Messages are the issues' bare texts, without place and hint.
func (l Issues) Messages() []string {
	out := make([]string, len(l))
	for i, issue := range l {
		out[i] = issue.Message
	}
	return out
}

// Report is what reading one document found. Warnings never stop anything:
// tolerated forms and fields without effect here.
type Report struct {
	Errors   Issues
	Warnings Issues
}

// Err is the errors as one error, nil if there are none.
func (r Report) Err() error { return r.Errors.Err() }

func (l *Issues) add(field, message, hint string) {
	*l = append(*l, Issue{Field: field, Message: message, Hint: hint})
}
