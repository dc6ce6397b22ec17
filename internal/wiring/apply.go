package wiring

import (
	"errors"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
)

// Value is one parameter's value and where in the package it goes.
type Value struct {
	Parameter string               // for messages
	To        v1alpha1.InputTarget // exactly one of its fields
	Text      string
	Type      string // the parameter's, a type of JSON schema; empty follows the field that is there, else string
}

// Apply puts values into a package that was not rendered yet: keys of the
// package context, setters, fields of resources. The errors are joined, each
// names its parameter; after one the package, which should be a clone, may be
// changed in part. Applying the same again changes no byte.
func Apply(p *krm.Package, values []Value) error { return errors.ErrUnsupported }
