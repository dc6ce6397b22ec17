package mutate

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a mistake at a place: of the package where File is set, of the
// PackageVariant where it is not.
type Error struct {
	File  string // path in the package, "" for the variant
	Field string // such as spec.pipeline.mutators[0], may be ""
	Err   error  // what is wrong and what to do
}

// Error is "file: field: what", without the parts that are not known.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{e.File, e.Field, e.Err.Error()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// fieldf is a mistake in a field.
func fieldf(field, format string, args ...any) error {
	return &Error{Field: field, Err: fmt.Errorf(format, args...)}
}

// inFile says which file errors are about, each of a joined error.
func inFile(file string, err error) error {
	if err == nil {
		return nil
	}
	var out []error
	for _, e := range Split(err) {
		at := &Error{File: file, Err: e}
		var known *Error
		if errors.As(e, &known) {
			at = &Error{File: file, Field: known.Field, Err: known.Err}
		}
		out = append(out, at)
	}
	return errors.Join(out...)
}

// Split takes apart what errors.Join joined, at every depth; nil gives nil.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*Error); ok { //nolint:errorlint // the error itself, not what it wraps
		return []error{err}
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !isJoin(err, joined.Unwrap()) {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, Split(e)...)
	}
	return out
}

// isJoin tells errors.Join from fmt.Errorf with several %w: the first says no
// more than its parts do.
func isJoin(err error, parts []error) bool {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Error()
	}
	return err.Error() == strings.Join(texts, "\n")
}
