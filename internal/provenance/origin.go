package provenance

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what set a value.
type Kind string

// The kinds of origins.
const (
	// Upstream is a value of the upstream package, as it stands there.
	Upstream Kind = "upstream"
	// Template is a field of a PackageVariant, or a field or expression of the set
	// that made it.
	Template Kind = "template"
	// Name is the package's own name or path, which its context and its Kptfile tell.
	Name Kind = "name"
	// Object is a field of a context object.
	Object Kind = "contextObject"
	// Wired is an output of another package, or a parameter of an Installation.
	Wired Kind = "wired"
	// Function is what a function made of no one input.
	Function Kind = "function"
	// Order is the package's place in the order of its target.
	Order Kind = "order"
	// Machine is bookkeeping of Variform: conditions, locks, ownership.
	Machine Kind = "machine"
	// Person is an edit by hand.
	Person Kind = "person"
)

// Origin is where a value comes from. What does not apply is empty.
type Origin struct {
	Kind Kind `json:"kind"`
	// File, Line and Field are the place that a person opens: in the management
	// directory for Template and Object, else in the Package. Line is 0 where it is
	// not known.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
	// Expression is the CEL expression in that field.
	Expression string `json:"expression,omitempty"`
	// Object is what holds the field: "PackageVariantSet web", "ConfigMap c1".
	Object string `json:"object,omitempty"`
	// Package is the upstream, repository/package@ref, or the package that a value is wired from.
	Package string `json:"package,omitempty"`
	// Function is the function that made the value: its image or command.
	Function string `json:"function,omitempty"`
	// Commit and Author are those of a Person's edit, where they are known.
	Commit string `json:"commit,omitempty"`
	Author string `json:"author,omitempty"`
	// Since is the commit that the input's line came with; nil where that was not asked
	// for or is not known.
	Since *Since `json:"since,omitempty"`
	// Via are the functions and the injection that carried the value, outermost last.
	Via []Via `json:"via,omitempty"`
	// Also are further inputs of the same value.
	Also []Origin `json:"also,omitempty"`
	// Before is where the value came from that a function found there already, and
	// would have set.
	Before *Origin `json:"-"`
}

// Since is a commit in the management directory's history; without a Commit the line is
// not committed.
type Since struct {
	Commit string    `json:"commit,omitempty"`
	Author string    `json:"author,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	// Committed is when it came into the history, which rebasing and merging change.
	Committed time.Time `json:"-"`
}

// newer says that a line came after another; what is not committed is the newest.
func (s *Since) newer(than *Since) bool {
	if s == nil || than == nil {
		return s != nil
	}
	return than.Commit != "" && (s.Commit == "" || s.Committed.After(than.Committed))
}

// After says that a line came after a package was last approved; never where it was not.
func (s *Since) After(approved time.Time) bool {
	return s != nil && !approved.IsZero() && (s.Commit == "" || s.Committed.After(approved))
}

// String is the commit in short, its day and author; "" for nil.
func (s *Since) String() string {
	switch {
	case s == nil:
		return ""
	case s.Commit == "":
		return "not committed"
	}
	return fmt.Sprintf("%.7s %s %s", s.Commit, s.Time.UTC().Format(time.DateOnly), s.Author)
}

// Managed says that File is in the management directory.
func (o Origin) Managed() bool {
	return (o.Kind == Template || o.Kind == Object) && o.File != "" && o.Line > 0
}

// Via is one carrier of a value.
type Via struct {
	// Carrier is Function, or Object for an injection.
	Carrier Kind `json:"carrier"`
	// Name is the function's image or command as it is written, or the injection point.
	Name string `json:"name"`
	// Place is the function's in the package: "Kptfile pipeline.mutators[0]".
	Place string `json:"place,omitempty"`
}

// Explained says that the machine set the value, and no person's hand.
func (o Origin) Explained() bool { return o.Kind != "" && o.Kind != Person }

// Carrier is the function that carried the value last, nil for none.
func (o Origin) Carrier() *Via {
	for i := len(o.Via) - 1; i >= 0; i-- {
		if o.Via[i].Carrier == Function {
			return &o.Via[i]
		}
	}
	return nil
}

// Place is file:line of what a person opens, "" where there is none.
func (o Origin) Place() string {
	switch {
	case o.File == "":
		return ""
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Shape is the origin without its object's name, and without lines, versions and
// commits: values of one shape follow one rule, whatever they are.
func (o Origin) Shape() string {
	kind, _, _ := strings.Cut(o.Object, " ")
	parts := []string{string(o.Kind), o.Field, o.Expression}
	switch o.Kind {
	case Object:
		parts = append(parts, kind)
	case Person:
		parts = parts[:1]
	case Upstream:
		parts = []string{string(o.Kind), o.File, o.Field}
	case Function:
		parts = append(parts, untagged(o.Function))
	}
	for _, v := range o.Via {
		if v.Carrier == Function {
			parts = append(parts, untagged(v.Name))
		}
	}
	for _, a := range o.Also {
		parts = append(parts, a.Shape())
	}
	return strings.Join(parts, "|")
}

// untagged is an image without tag or digest.
func untagged(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if slash, colon := strings.LastIndexByte(image, '/'), strings.LastIndexByte(image, ':'); colon > slash {
		image = image[:colon]
	}
	return image
}

// ShortName is an image without registry.
func ShortName(image string) string { return image[strings.LastIndexByte(image, '/')+1:] }

// String is one line for a table: what set it, its place, and what carried it.
func (o Origin) String() string {
	text := o.says()
	for _, v := range o.Via {
		if v.Carrier == Function && o.Kind != Function {
			text += " via " + ShortName(v.Name)
		}
	}
	for i, a := range o.Also {
		if i == maxAlso {
			return text + fmt.Sprintf(", and %d more", len(o.Also)-i)
		}
		text += ", and " + a.says()
	}
	return text
}

// maxAlso bounds the further inputs that a line names.
const maxAlso = 2

func (o Origin) says() string {
	place := o.Place()
	switch o.Kind {
	case Upstream:
		return joined(" ", o.Package, place)
	case Template, Object:
		what := o.Field
		if _, rest, ok := strings.Cut(what, ".template."); ok {
			what = rest
		}
		if o.Expression != "" {
			what = cut(o.Expression)
		}
		if place == "" || o.Kind == Object {
			what = joined(" ", o.Object, what)
		}
		return joined(" ", place, what)
	case Name:
		return "the package's own " + o.Field
	case Wired:
		return joined(" ", "wired:", o.Object, o.Field, o.Package)
	case Function:
		return joined(" ", "function", ShortName(o.Function), place)
	case Order:
		return joined(" ", "order of the target:", o.Field)
	case Machine:
		return joined(" ", "variform:", o.Field)
	case Person:
		if o.Author == "" {
			return "edited by hand"
		}
		return joined(" ", "edited by", o.Author, brackets(o.Commit))
	}
	return "unknown"
}

// maxExpression bounds what a line shows of an expression.
const maxExpression = 60

func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxExpression {
		return string(r[:maxExpression]) + "…"
	}
	return text
}

func brackets(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// joined are the words that there are.
func joined(sep string, words ...string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, sep)
}
