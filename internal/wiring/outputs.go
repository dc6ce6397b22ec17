package wiring

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/celexpr"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
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
	Field   string // such as data.host
	Found   bool   // whether the object is there, without the field
	Context bool   // whether the object is to be among the context objects
	Err     error  // what the expression says, nil for a field path
}

// Error begins with "waits for".
func (e *WaitError) Error() string {
	if e.Err != nil {
		return "waits for what its expression reads: " + e.Err.Error()
	}
	among := "the package's resources"
	if e.Context {
		among = "the context objects"
	}
	if e.Found {
		return fmt.Sprintf("waits for field %s of %s, which is among %s without it", e.Field, e.Object, among)
	}
	return fmt.Sprintf("waits for %s, field %s, among %s", e.Object, e.Field, among)
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }

// Compiler compiles outputs and keeps the programs by their text. It is safe
// for concurrent use; one serves a whole run.
type Compiler struct {
	once sync.Once
	env  *celexpr.Env
	err  error
}

// NewCompiler is a Compiler that has compiled nothing.
func NewCompiler() *Compiler { return &Compiler{} }

// environment declares the variables of outputs; making it is most of the cost
// of a first expression.
var environment = sync.OnceValues(func() (*celexpr.Env, error) {
	return celexpr.NewEnv(celexpr.Dynamic("resources"), celexpr.Dynamic("context"), celexpr.Dynamic("self"))
})

// expressions is the compiler's own cache of programs.
func (c *Compiler) expressions() (*celexpr.Env, error) {
	c.once.Do(func() {
		env, err := environment()
		if err != nil {
			c.err = err
			return
		}
		c.env = env.Fresh()
	})
	return c.env, c.err
}

// Outputs are the compiled outputs of one manifest. They are safe for
// concurrent use.
type Outputs struct {
	list []output
}

// output has a field or a program.
type output struct {
	index     int // in the manifest
	name, typ string
	field     *api.ResourceField
	program   *celexpr.Program
	expr      string
}

// Compile compiles a manifest's outputs; those without valueFrom are left out.
// The error joins all mistakes, each a *MistakeError; the outputs without one
// are there all the same.
func (c *Compiler) Compile(outputs []v1alpha1.ManifestOutput) (*Outputs, error) {
	out := &Outputs{}
	var errs []error
	for i := range outputs {
		o := &outputs[i]
		if o.ValueFrom == "" {
			continue
		}
		compiled, err := c.compile(i, o)
		if err != nil {
			errs = append(errs, &MistakeError{Output: o.Name, Index: i, Err: err})
			continue
		}
		out.list = append(out.list, compiled)
	}
	return out, errors.Join(errs...)
}

// MistakeError is an output that can never have a value.
type MistakeError struct {
	Output string
	Index  int // its place in the manifest's outputs, from 0
	Err    error
}

// Error names the output.
func (e *MistakeError) Error() string { return fmt.Sprintf("output %s: %v", e.Output, e.Err) }

// Unwrap returns what is wrong.
func (e *MistakeError) Unwrap() error { return e.Err }

// Compile is Compiler.Compile with a cache of its own.
func Compile(outputs []v1alpha1.ManifestOutput) (*Outputs, error) {
	return NewCompiler().Compile(outputs)
}

func (c *Compiler) compile(index int, o *v1alpha1.ManifestOutput) (output, error) {
	out := output{index: index, name: o.Name, typ: o.Type, expr: o.ValueFrom}
	if err := checkType(o.Type); err != nil {
		return out, err
	}
	if !api.IsResourceField(o.ValueFrom) {
		env, err := c.expressions()
		if err != nil {
			return out, err
		}
		out.program, err = compileExpression(env, o.ValueFrom)
		return out, err
	}
	var err error
	if out.field, err = api.ParseResourceField(o.ValueFrom); err != nil {
		return out, err
	}
	return out, out.field.CheckReadable()
}

// What stands around an expression tells the type of its value, which is lost
// in the text: floats have another canonical form here than in CEL.
const (
	before    = "["
	after     = "\n].map(v, (type(v) == double ? 'd' : type(v) == bytes ? 'b' : 's') + string(v))[0]"
	wrongType = "the result must be a string, a number or a boolean"
)

// compileExpression compiles the bare expression first: what is wrong with it
// has the author's own positions, and no text can break out of the rest.
func compileExpression(env *celexpr.Env, expr string) (*celexpr.Program, error) {
	if _, err := env.Compile("valueFrom", expr); err != nil && !errors.Is(err, celexpr.ErrType) {
		return nil, err
	}
	p, err := env.Compile("valueFrom", before+expr+after)
	var ee *celexpr.Error
	if errors.As(err, &ee) && (errors.Is(err, celexpr.ErrCompile) || strings.HasPrefix(ee.Text, "no such overload")) {
		return nil, &celexpr.Error{Field: "valueFrom", Expr: expr, Kind: celexpr.ErrType, Text: wrongType, Hint: "take a field of it, or convert it with string(…) or join"}
	}
	return p, authored(err, expr)
}

// authored makes an error one of the expression as it was written.
func authored(err error, expr string) error {
	var ee *celexpr.Error
	if !errors.As(err, &ee) {
		return err
	}
	own := *ee
	own.Expr = expr
	if strings.HasPrefix(own.Text, "no such overload") {
		own.Hint = wrongType + "; convert what an operator takes with string(…)"
	}
	return &own
}

// Names lists the outputs that have a valueFrom, in the manifest's order.
func (o *Outputs) Names() []string {
	names := make([]string, len(o.list))
	for i := range o.list {
		names[i] = o.list[i].name
	}
	return names
}

// Eval reads outputs, all or only some: values by name as text, and for each of
// the others in unknown why it has none, a *WaitError where it may have one
// later. Numbers are in their shortest form, booleans true or false.
func (o *Outputs) Eval(in Scope, only ...string) (values map[string]string, unknown map[string]error) {
	values, unknown = map[string]string{}, map[string]error{}
	for _, name := range only {
		if !slices.ContainsFunc(o.list, func(out output) bool { return out.name == name }) {
			unknown[name] = fmt.Errorf("the package says no value of output %q; it has %s", name, listed(o.Names()))
		}
	}
	e := newEvaluation(in)
	for i := range o.list {
		out := &o.list[i]
		if len(only) > 0 && !slices.Contains(only, out.name) {
			continue
		}
		value, err := e.output(out)
		if err != nil {
			unknown[out.name] = err
			continue
		}
		values[out.name] = value
	}
	return values, unknown
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Dangling lists the outputs whose field path names a resource that is not
// among some of a package's, in order. Before a package is rendered that may be
// no mistake: its pipeline can make the resource.
func (o *Outputs) Dangling(resources []*krm.Resource) []*MistakeError {
	s := resourcesOf(resources)
	var out []*MistakeError
	for i := range o.list {
		f := o.list[i].field
		if f == nil || f.Context {
			continue
		}
		if _, err := s.one(f, ""); err != nil {
			var wait *WaitError
			if errors.As(err, &wait) {
				err = fmt.Errorf("the package has no %s", wait.Object)
			}
			out = append(out, &MistakeError{Output: o.list[i].name, Index: o.list[i].index, Err: err})
		}
	}
	return out
}

// evaluation reads the outputs of one installation. It is the activation of
// their expressions.
type evaluation struct {
	in        Scope
	resources *space
	context   *space
	namespace string
	secrets   bool
	budget    *celexpr.Budget
}

func newEvaluation(in Scope) *evaluation {
	e := &evaluation{in: in, namespace: api.NamespaceOr(in.Namespace), secrets: slices.Contains(in.AllowKinds, "Secret"), budget: celexpr.NewBudget()}
	var own []*krm.Resource
	if in.Package != nil {
		own = in.Package.Resources()
	}
	e.resources, e.context = resourcesOf(own), in.Context.in(e.namespace)
	return e
}

// ResolveName implements celexpr.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case "resources":
		return e.resources.list(e.secrets), true
	case "context":
		return e.context.list(e.secrets), true
	case "self":
		s := &e.in.Self
		return map[string]string{
			"name": s.Name, "namespace": s.Namespace, "target": s.Target, "repository": s.Repository, "package": s.Package,
		}, true
	}
	return nil, false
}

// Parent implements celexpr.Activation.
func (e *evaluation) Parent() celexpr.Activation { return nil }

func (e *evaluation) output(o *output) (string, error) {
	read := e.field
	if o.program != nil {
		read = e.expression
	}
	text, err := read(o)
	if err != nil {
		return "", err
	}
	if _, err := typed(text, o.typ, nil); err != nil {
		return "", fmt.Errorf("%s gives %w", o.expr, err)
	}
	return text, nil
}

// missing begins CEL's texts where an object or a field is not there.
var missing = []string{"no such key", "index out of bounds", "no such attribute"}

func (e *evaluation) expression(o *output) (string, error) {
	text, err := o.program.Eval(e, e.budget)
	if err != nil {
		err = authored(err, o.expr)
		var ee *celexpr.Error
		if errors.As(err, &ee) && errors.Is(err, celexpr.ErrEvaluate) &&
			slices.ContainsFunc(missing, func(s string) bool { return strings.HasPrefix(ee.Text, s) }) {
			wait := *ee
			wait.Hint = "" // a guard would hide what is awaited
			return "", &WaitError{Err: &wait}
		}
		return "", err
	}
	kind, text := text[:1], text[1:]
	switch kind {
	case "d":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", err
		}
		return floatText(f), nil
	case "b":
		return "", &celexpr.Error{Field: "valueFrom", Expr: o.expr, Kind: celexpr.ErrType, Text: wrongType + ", not bytes", Hint: "convert it with string(…)"}
	}
	return text, nil
}

func (e *evaluation) field(o *output) (string, error) {
	s, namespace := e.resources, ""
	if o.field.Context {
		s, namespace = e.context, e.namespace
	}
	if o.field.Secret() && !e.secrets {
		return "", errors.New("a Secret is read only where the kind is allowed by name, and then its identity alone")
	}
	found, err := s.one(o.field, namespace)
	if err != nil {
		return "", err
	}
	n, err := found.readable(o.field.Path)
	if err != nil {
		return "", err
	}
	switch {
	case yamltree.IsNull(n):
		named := *o.field
		named.Name = found.name
		wait := waitFor(&named, namespace)
		wait.Found = true
		return "", wait
	case n.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s is %s; name a field of it that is a string, a number or a boolean", o.field, describe(n))
	}
	return textOf(n), nil
}

// readable follows a path as far as no Secret's content is on it; nil where it
// leads nowhere.
func (o *object) readable(path api.FieldPath) (*yaml.Node, error) {
	n := o.root()
	if o.secret() {
		n = withoutContent(n)
	}
	for i, s := range path {
		if i > 0 && isSecret(n) {
			return nil, fmt.Errorf("%s holds a Secret at %s, whose content is never an output", o, path[:i])
		}
		if n = step(n, s); n == nil {
			return nil, nil
		}
	}
	return n, nil
}

// one is the object that a field path names. There may be none, a *WaitError,
// or several, which the error lists.
func (s *space) one(f *api.ResourceField, namespace string) (*object, error) {
	found := s.find(f)
	switch len(found) {
	case 0:
		return nil, waitFor(f, namespace)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = o.String()
	}
	return nil, fmt.Errorf("%s can be any of %s; name one with Kind.group/name", f.Resource(), strings.Join(names, ", "))
}

func waitFor(f *api.ResourceField, namespace string) *WaitError {
	kind, name, named := strings.Cut(f.Resource(), "/")
	switch {
	case named && namespace != "":
		kind += " " + namespace + "/" + name
	case named:
		kind += " " + name
	case namespace != "":
		kind = "one " + kind + " in namespace " + namespace
	default:
		kind = "one " + kind
	}
	return &WaitError{Object: kind, Field: f.Path.String(), Context: f.Context}
}
