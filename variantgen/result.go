package variantgen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
)

// Origin says where a variant, a failure or a warning comes from.
type Origin struct {
	Namespace string // of the set
	Set       string // empty for a PackageVariant written by hand
	Variant   string // the name of that one, empty for a set
	Target    int    // index into spec.targets, -1 for the set as a whole
	// Description names the one list entry of the target, such as
	// "spec.targets[0].repositories[1].packageNames[0] (cluster-03/foo-a)".
	Description string
}

// String is "PackageVariantSet namespace/name: description".
func (o Origin) String() string {
	if o.Set == "" {
		return o.Description
	}
	s := "PackageVariantSet " + o.Namespace + "/" + o.Set
	if o.Description != "" {
		s += ": " + o.Description
	}
	return s
}

// Failure is one finding that kept one variant, or a whole set, from being made.
type Failure struct {
	Origin
	Field      string // such as spec.targets[0].template.labelExprs[1].valueExpr
	Expression string // the CEL expression, empty where none is to blame
	Err        error

	cause string // see Cause
}

// Cause is what this finding has in common with others that one thing is to be done about,
// though each names its own package; that of most is their error's text.
func (f Failure) Cause() string {
	if f.cause != "" {
		return f.cause
	}
	return f.Err.Error()
}

// Error names set, target, field, expression and remedy.
func (f Failure) Error() string {
	text := f.Err.Error()
	if f.Field != "" && !strings.Contains(text, f.Field) {
		text = f.Field + ": " + text
	}
	return f.Origin.String() + ": " + text
}

// Unwrap gives Err.
func (f Failure) Unwrap() error { return f.Err }

// Warning is a finding that stops nothing, such as an empty selection.
type Warning struct {
	Origin
	Message string
	// Empty marks a target that selects nothing: what it selected before may be
	// missed and must not be deleted for it
	// (docs/design/fan-out.md#one-bad-target).
	Empty bool
}

// String names set, target and finding.
func (w Warning) String() string { return w.Origin.String() + ": " + w.Message }

// The kinds of failures, beside celexpr's, for errors.Is.
var (
	// ErrRepository: the downstream repository is not registered.
	ErrRepository = errors.New("repository could not be loaded")
	// ErrDuplicate: one downstream package is targeted more than once.
	ErrDuplicate = errors.New("downstream package is targeted more than once")
	// ErrValue: an expression gave a value that is not valid in its place.
	ErrValue = errors.New("value is not valid")
)

// Result is the answer. A target with a failure has no variant.
type Result struct {
	// Variants are sorted by namespace and name.
	Variants []*v1alpha1.PackageVariant

	// Written are the hand-written variants of Inputs that no failure is about,
	// in their order.
	Written []*v1alpha1.PackageVariant

	Failures []Failure // by set, target and field
	Warnings []Warning // by set and target

	candidates []candidate // of Variants
}

// Origin says which set and target Variants[i] comes from.
func (r Result) Origin(i int) Origin { return r.candidates[i].origin() }

// Err is all failures as one error, nil if there are none.
func (r Result) Err() error {
	errs := make([]error, len(r.Failures))
	for i, f := range r.Failures {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// valueError is a message of its own that is errors.Is one of the kinds.
type valueError struct {
	kind error
	text string
}

func (e *valueError) Error() string { return e.text }
func (e *valueError) Unwrap() error { return e.kind }

func errorf(kind error, format string, args ...any) error {
	return &valueError{kind, fmt.Sprintf(format, args...)}
}
