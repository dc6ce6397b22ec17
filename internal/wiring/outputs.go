package wiring

import (
	"errors"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
)

// Self is the installation that has the outputs, `self` in expressions.
type Self struct {
	Name, Namespace string // of the PackageVariant
	Target          string
	Repository      string
	Package         string // the downstream's path
}

// Scope is what outputs are read from.
type Scope struct {
	// Package is the rendered package; nil where there is none (yet).
	Package *krm.Package
	// Context holds the context objects; nil holds none.
	Context *Objects
	// Namespace is the variant's; only context objects of it are read. Empty is "default".
	Namespace string
	// AllowKinds names kinds that are read only by leave: "Secret". Even then
	// no more of a Secret is there than its identity, labels and type.
	AllowKinds []string
	// Self is the installation.
	Self Self
}

// WaitError says that an output cannot be known yet, and what it waits for.
// Every other error of Eval is a mistake of the output.
type WaitError struct {
	Object  string // such as "ConfigMap default/db-runtime"; empty for an expression
	Field   string // such as data.host; empty where the object itself is missing
	Context bool   // whether it is to be among the context objects
	Err     error  // what the expression says, nil for a field path
}

// Compiler compiles outputs and keeps the programs by their text. It is safe
// for concurrent use; one serves a whole run.
type Compiler struct{}

// NewCompiler is a Compiler that has compiled nothing.
func NewCompiler() *Compiler { return &Compiler{} }

// Outputs are the compiled outputs of one manifest. They are safe for
// concurrent use.
type Outputs struct{}

// Compile compiles a manifest's outputs; those without valueFrom are left out.
// The error joins all mistakes, each with the output's name.
func (c *Compiler) Compile(outputs []v1alpha1.ManifestOutput) (*Outputs, error) {
	return nil, errors.ErrUnsupported
}

// Compile is Compiler.Compile with a cache of its own.
func Compile(outputs []v1alpha1.ManifestOutput) (*Outputs, error) {
	return NewCompiler().Compile(outputs)
}

// Names lists the outputs that have a valueFrom, in the manifest's order.
func (o *Outputs) Names() []string { return nil }

// Eval reads outputs, all or only some: values by name as text, and for each of
// the others in unknown why it has none, a *WaitError where it may have one
// later. Numbers are in their shortest form, booleans true or false.
func (o *Outputs) Eval(in Scope, only ...string) (values map[string]string, unknown map[string]error) {
	return nil, nil
}
