// Package celexpr compiles and evaluates the CEL expressions of Variform's
// templates (Porch's PackageVariant design, "PackageVariant Template";
// docs/design/fan-out.md#expressions).
//
// A program is compiled once and evaluated for many targets. Every evaluation
// has a cost limit, and shares a budget with the others of its set. Results
// are strings; everything else is an error that names field and expression.
//
// The package is pure: expressions reach only what their activation gives them.
package celexpr

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// The limits (docs/design/fan-out.md#expressions). Costs are cel-go's own
// units, about one per step and one per ten characters that are copied.
const (
	CallLimit = 1_000_000
	SetLimit  = 10_000_000

	maxExpression = 16 << 10
	interruptStep = 100
)

// Variable declares one variable of an Env.
type Variable struct {
	name string
	typ  *cel.Type
}

// String declares a variable whose value is a string.
func String(name string) Variable { return Variable{name, cel.StringType} }

// Dynamic declares a variable of any type, such as an object's metadata.
func Dynamic(name string) Variable { return Variable{name, cel.DynType} }

// Activation gives variables their values: Go strings, map[string]any and
// map[string]string, or CEL values. ResolveName is called once for each use;
// an implementation that is a pointer to a struct allocates nothing.
type Activation = interpreter.Activation

// Env is a set of variable declarations with cel-go's string, list, math, set
// and encoder extensions. It caches programs by their text and is safe for
// concurrent use.
type Env struct {
	env *cel.Env

	mu       sync.Mutex
	programs map[string]*compiled
}

// base is the environment without variables: building it is most of the cost.
var base = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append([]cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		ext.Strings(), ext.Lists(), ext.Math(), ext.Sets(), ext.Encoders(),
	}, boundedStrings()...)...)
})

// NewEnv declares variables. It fails where two have one name or a name is not
// a CEL identifier.
func NewEnv(vars ...Variable) (*Env, error) {
	b, err := base()
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	opts := make([]cel.EnvOption, len(vars))
	for i, v := range vars {
		opts[i] = cel.Variable(v.name, v.typ)
	}
	env, err := b.Extend(opts...)
	if err != nil {
		return nil, fmt.Errorf("declaring CEL variables: %w", err)
	}
	return &Env{env: env, programs: map[string]*compiled{}}, nil
}

// Value boxes a string once, for activations that are asked many times.
func Value(s string) any { return types.String(s) }

// Vars is a plain Activation, for tests and single evaluations.
type Vars map[string]any

// ResolveName implements Activation.
func (v Vars) ResolveName(name string) (any, bool) {
	x, ok := v[name]
	return x, ok
}

// Parent implements Activation.
func (v Vars) Parent() Activation { return nil }

// Object is the value of an object in expressions. Only these four fields are
// there (Porch's PackageVariant design: anything else could leak what its
// author may not see). The maps are not copied.
func Object(name, namespace string, labels, annotations map[string]string) any {
	return map[string]any{
		"name": Value(name), "namespace": Value(namespace), "labels": labels, "annotations": annotations,
	}
}

// Fresh is an Env with the same declarations and an empty cache, which is much
// cheaper than NewEnv.
func (e *Env) Fresh() *Env { return &Env{env: e.env, programs: map[string]*compiled{}} }
