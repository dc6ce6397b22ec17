package build

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/wiring"
	"github.com/variform/variform/resolver"
)

// Wires are the values that a wanted package is given beside its variant's spec,
// and those that it still waits for (Porter PEP003, "Wiring").
type Wires struct {
	values []wiring.Value
	from   map[string]string // where a parameter's value comes from
	gates  []wiring.Gate
	notes  []string // what keeps the package's own value
	order  order
}

// Text is what of the values goes into a package's inputs.
func (w *Wires) Text() []string {
	var out []string
	for _, v := range w.values {
		out = append(out, v.Parameter+"="+v.Text)
	}
	for _, g := range w.gates {
		if !g.Met {
			out = append(out, g.Name+" "+g.Message)
		}
	}
	for _, k := range orderKeys {
		if v := w.order[k.annotation]; v != "" {
			out = append(out, k.annotation+"="+v)
		}
	}
	return out
}

// remarks are what people are told of it: what is kept, and what is waited for.
func (w *Wires) remarks() []string {
	out := slices.Clone(w.notes)
	for _, g := range w.gates {
		if !g.Met {
			out = append(out, g.Name+": "+g.Message)
		}
	}
	return out
}

// apply puts the values into a package.
func (w *Wires) apply(p *krm.Package) error {
	if err := wiring.Apply(p, w.values); err != nil {
		return decide.Stall(err)
	}
	return wiring.SetGates(p, w.gates)
}

// Wirer finds the values that packages give each other. It is safe for
// concurrent use.
type Wirer struct {
	Read       *observe.Reader
	Objects    *wiring.Objects
	Compiler   *wiring.Compiler
	AllowKinds []string
	// Content is a wanted package as it will be: as built in this run, or as it
	// is there.
	Content func(context.Context, *decide.Want) (*krm.Package, error)
}

// Wire finds out what a wanted package is given; nil where nothing was resolved
// for it. An error is that of a package whose output it needs.
func (r *Wirer) Wire(ctx context.Context, w *decide.Want) (*Wires, error) {
	res := w.Resolution()
	if res == nil || w.Lock() != nil || w.Err != nil {
		return nil, nil //nolint:nilerr // it is said where the package is decided about
	}
	up := r.Read.UpstreamOf(ctx, w)
	if up.Err != nil {
		return nil, nil //nolint:nilerr // its own error says what is wrong with an upstream
	}
	out := &Wires{}
	value := func(o resolver.OutputRef) (string, error) { return r.output(ctx, w.Target, o) }
	notes, disputes := res.Sharing(w.Ref, value)
	var failed []error
	for _, d := range disputes {
		failed = append(failed, d)
	}
	if len(failed) > 0 {
		return nil, decide.Stall(errors.Join(failed...))
	}
	out.notes = notes
	assigned := map[string]bool{}
	from := map[string]string{}
	for _, a := range res.Assign(w.Ref, value) {
		in, name := up.Offer.Inputs[a.Field], inputName(a.Field)
		assigned[a.Field] = true
		if in.To == nil {
			continue
		}
		var wait *wiring.WaitError
		var absent *resolver.AbsentError
		switch {
		case errors.As(a.Err, &absent) && decide.Spares(&in):
			out.notes = append(out.notes, fmt.Sprintf("%s keeps the package's own value: %v", a.Field, a.Err))
		case a.Err != nil && !errors.As(a.Err, &wait) && a.Outputs:
			failed = append(failed, fmt.Errorf("%s: %w", a.Field, a.Err))
		case a.Err != nil:
			out.gates = append(out.gates, wiring.Gate{Name: name, Message: a.Err.Error()})
		default:
			from[name] = a.Template
			out.values = append(out.values, wiring.Value{Parameter: name, To: *in.To, Text: a.Text, Type: in.Type})
			if a.Outputs {
				out.gates = append(out.gates, wiring.Gate{Name: name, Met: true, Message: "given by " + a.Template})
			}
		}
	}
	for _, field := range up.Offer.Unset(assigned) {
		kind, _, _ := strings.Cut(field, ".")
		out.gates = append(out.gates, wiring.Gate{Name: inputName(field), Message: "has no value: give it in the Installation, spec." + kind})
	}
	if len(failed) > 0 {
		return nil, decide.Stall(fmt.Errorf("a value of another package is missing: %w", errors.Join(failed...)))
	}
	if len(from) > 0 {
		out.from = from
	}
	if err := r.place(ctx, w, out); err != nil {
		return nil, err
	}
	if out.empty() {
		return &noWires, nil
	}
	return out, nil
}

// noWires are those of a package that is given nothing, as most are.
var noWires Wires

func (w *Wires) empty() bool {
	return len(w.values)+len(w.from)+len(w.gates)+len(w.notes)+len(w.order) == 0
}

// inputName is the name of a parameter, and of a credential that is told from a
// parameter of the same name.
func inputName(field string) string { return strings.TrimPrefix(field, "parameters.") }

// output is the value of an output: of the rendered package of a variant, of a
// package that others put there, or of what an Installation says.
func (r *Wirer) output(ctx context.Context, t *decide.Target, o resolver.OutputRef) (string, error) {
	scope := wiring.Scope{Context: r.Objects, Namespace: t.Namespace, AllowKinds: r.AllowKinds}
	scope.Self = wiring.Self{Namespace: t.Namespace, Target: t.Name(), Repository: t.Repository, Package: path.Join(t.Directory, o.Instance), Name: path.Base(o.Instance)}
	var declared []variformv1alpha1.ManifestOutput
	if w := t.Wants[o.Instance]; w != nil {
		pkg, err := r.Content(ctx, w)
		if err != nil {
			return "", fmt.Errorf("output %s of %s: %w", o.Output, o.Instance, err)
		}
		up := r.Read.UpstreamOf(ctx, w)
		scope.Package, declared = pkg, up.Offer.Outputs
	} else if there, ok := t.There[o.Instance]; ok {
		scope.Package, declared = there.Package, there.Outputs
	} else {
		return told(t, o)
	}
	outputs, err := r.Compiler.Compile(declared)
	if err != nil {
		return "", fmt.Errorf("package %s: %w", o.Instance, err)
	}
	if !slices.Contains(outputs.Names(), o.Output) {
		return told(t, o)
	}
	values, unknown := outputs.Eval(scope, o.Output)
	if err := unknown[o.Output]; err != nil {
		return "", fmt.Errorf("output %s of %s %w", o.Output, o.Instance, err)
	}
	return values[o.Output], nil
}

// told is an output that an Installation gives as a parameter of the same name.
func told(t *decide.Target, o resolver.OutputRef) (string, error) {
	if v, ok := t.Told(o); ok {
		return v, nil
	}
	return "", fmt.Errorf("output %s of %s %w", o.Output, o.Instance, &wiring.WaitError{Object: "Installation " + path.Base(o.Instance), Field: "spec.parameters." + o.Output, Context: true})
}

// unwire says of every value that other packages gave that it may not be there:
// the package was built without them.
func unwire(p *krm.Package) error {
	k, err := mutate.Read(p, "")
	if err != nil {
		return err
	}
	var gates []wiring.Gate
	for _, t := range mutate.Gates(k) {
		if name, ok := strings.CutPrefix(t, wiring.ConditionPrefix); ok {
			gates = append(gates, wiring.Gate{Name: name, Message: "was built with --dependencies=false: a run with them puts the value back"})
		}
	}
	return wiring.SetGates(p, gates)
}
