package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/wiring"
	"github.com/variform/variform/resolver"
)

// wires are the values that a variant's package is given beside its spec, and
// those that it still waits for (seed 000, "Wiring").
type wires struct {
	values []wiring.Value
	gates  []wiring.Gate
}

// text is what of the values goes into a variant's digest.
func (w *wires) text() []string {
	var out []string
	for _, v := range w.values {
		out = append(out, v.Parameter+"="+v.Text)
	}
	for _, g := range w.gates {
		if !g.Met {
			out = append(out, g.Name+" "+g.Message)
		}
	}
	return out
}

// apply puts the values into a package.
func (w *wires) apply(p *krm.Package) error {
	if err := wiring.Apply(p, w.values); err != nil {
		return stalledError{err}
	}
	return wiring.SetGates(p, w.gates)
}

// levels gives each variant of an answered target its place in the order of
// wiring: after those whose outputs it reads.
func (t *fleetTarget) levels() {
	res := t.plan.Answer.Resolution
	var level func(ref string, depth int) int
	level = func(ref string, depth int) int {
		v := t.variants[ref]
		if v == nil || depth > len(t.variants) { // the resolver refuses cycles
			return -1
		}
		if v.dep.levelled {
			return v.dep.level
		}
		n := 0
		for _, o := range res.Reads(ref) {
			n = max(n, level(o.Instance, depth+1)+1)
			if r := t.variants[o.Instance]; r != nil {
				r.dep.read = true
			}
		}
		v.dep.level, v.dep.levelled = n, true
		return n
	}
	for ref := range t.variants {
		level(ref, 0)
	}
}

// decideAll decides about variants, in waves where some read what others give:
// those are built first.
func (e *Engine) decideAll(ctx context.Context, variants []*variant) ([]*Item, error) {
	last := 0
	for _, v := range variants {
		if v.dep != nil {
			last = max(last, v.dep.level)
		}
	}
	var out []*Item
	for level := 0; level <= last; level++ {
		var wave []*variant
		for _, v := range variants {
			if v.dep == nil && level == 0 || v.dep != nil && v.dep.level == level {
				wave = append(wave, v)
			}
		}
		decided, err := parallel(ctx, e.limit(), wave, func(ctx context.Context, v *variant) []*Item {
			if err := e.wire(ctx, v); err != nil && v.err == nil {
				v.err = err
			}
			return e.decide(ctx, v)
		})
		if err != nil {
			return nil, err
		}
		var first []*Item
		for i, list := range decided {
			out = append(out, list...)
			if v := wave[i]; v.dep != nil && v.dep.read {
				first = append(first, list...)
				v.dep.items = list
			}
		}
		if err := e.buildAll(ctx, first); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wire finds out what a variant's package is given. An error is that of a
// package whose output it needs.
func (e *Engine) wire(ctx context.Context, v *variant) error {
	res := v.resolution()
	if res == nil || v.isLock() || v.err != nil {
		return nil //nolint:nilerr // it is said where the variant is decided about
	}
	t, w := v.dep.target, &wires{}
	up := e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream)
	if up.err != nil {
		return nil //nolint:nilerr // survey says what is wrong with an upstream
	}
	var failed []error
	assigned := map[string]bool{}
	for _, a := range res.Assign(v.dep.ref, func(o resolver.OutputRef) (string, error) { return e.output(ctx, t, o) }) {
		in, name := up.offer.inputs[a.Field], inputName(a.Field)
		assigned[a.Field] = true
		if in.To == nil {
			continue
		}
		var wait *wiring.WaitError
		switch {
		case a.Err != nil && !errors.As(a.Err, &wait) && a.Outputs:
			failed = append(failed, fmt.Errorf("%s: %w", a.Field, a.Err))
		case a.Err != nil:
			w.gates = append(w.gates, wiring.Gate{Name: name, Message: a.Err.Error()})
		default:
			w.values = append(w.values, wiring.Value{Parameter: name, To: *in.To, Text: a.Text, Type: in.Type})
			if a.Outputs {
				w.gates = append(w.gates, wiring.Gate{Name: name, Met: true, Message: "given by " + a.Template})
			}
		}
	}
	for _, field := range unset(up.offer, assigned) {
		kind, _, _ := strings.Cut(field, ".")
		w.gates = append(w.gates, wiring.Gate{Name: inputName(field), Message: "has no value: give it in the Installation, spec." + kind})
	}
	if len(failed) > 0 {
		return stalledError{fmt.Errorf("a value of another package is missing: %w", errors.Join(failed...))}
	}
	v.dep.wires = w
	return nil
}

// inputName is the name of a parameter, and of a credential that is told from a
// parameter of the same name.
func inputName(field string) string { return strings.TrimPrefix(field, "parameters.") }

// unset are the required inputs that nothing gives and that have a place.
func unset(o *offer, assigned map[string]bool) []string {
	var out []string
	for field, in := range o.inputs {
		if in.To != nil && in.Default == nil && (in.Required == nil || *in.Required) && !assigned[field] {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out
}

// output is the value of an output: of the rendered package of a variant, of a
// package that others put there, or of what an Installation says.
func (e *Engine) output(ctx context.Context, t *fleetTarget, o resolver.OutputRef) (string, error) {
	scope := wiring.Scope{Context: e.objects, Namespace: t.Namespace, AllowKinds: e.cfg.AllowKinds}
	scope.Self = wiring.Self{Namespace: t.Namespace, Target: t.Name(), Repository: t.Repository, Package: path.Join(t.Directory, o.Instance), Name: o.Instance}
	var declared []variformv1alpha1.ManifestOutput
	if v := t.variants[o.Instance]; v != nil {
		pkg, err := e.content(ctx, v)
		if err != nil {
			return "", fmt.Errorf("output %s of %s: %w", o.Output, o.Instance, err)
		}
		up := e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream)
		scope.Package, declared, scope.Self.Name = pkg, up.offer.outputs, v.pv.Name
	} else if there, ok := t.existing[o.Instance]; ok {
		scope.Package, declared = there.pkg, there.outputs
	} else {
		return t.told(o)
	}
	outputs, err := e.wiring.Compile(declared)
	if err != nil {
		return "", fmt.Errorf("package %s: %w", o.Instance, err)
	}
	if !slices.Contains(outputs.Names(), o.Output) {
		return t.told(o)
	}
	values, unknown := outputs.Eval(scope, o.Output)
	if err := unknown[o.Output]; err != nil {
		return "", fmt.Errorf("output %s of %s %w", o.Output, o.Instance, err)
	}
	return values[o.Output], nil
}

// told is an output that an Installation gives as a parameter of the same name.
func (t *fleetTarget) told(o resolver.OutputRef) (string, error) {
	for _, i := range t.Installations {
		ns, here := t.Place(i)
		if v, ok := i.Spec.Parameters[o.Output]; ok && here && path.Join(ns, i.Name) == o.Instance {
			return v, nil
		}
	}
	return "", fmt.Errorf("output %s of %s %w", o.Output, o.Instance, &wiring.WaitError{Object: "Installation " + path.Base(o.Instance), Field: "spec.parameters." + o.Output, Context: true})
}

// content is a variant's package as it will be: as built in this run, or as it
// is there.
func (e *Engine) content(ctx context.Context, v *variant) (*krm.Package, error) {
	if len(v.dep.items) == 0 {
		return nil, &wiring.WaitError{Object: "package " + v.dep.ref, Field: "its outputs"}
	}
	i := v.dep.items[0]
	switch {
	case i.Err != nil:
		return nil, fmt.Errorf("that package failed: %w", i.Err)
	case i.After != nil:
		return i.After, nil
	}
	r, err := e.downstream(v.Namespace, v.Repository)
	if err != nil {
		return nil, err
	}
	_, pkg, err := r.readPackage(ctx, parseHash(i.Commit), i.Path)
	return pkg, err
}

// closure adds what the selected variants need, and the locks of their targets:
// what is restricted to one variant is whole all the same.
func closure(selected, all []*variant) []*variant {
	want, touched := map[*variant]bool{}, map[*fleetTarget]bool{}
	var add func(v *variant)
	add = func(v *variant) {
		if want[v] {
			return
		}
		want[v] = true
		res := v.resolution()
		if res == nil {
			return
		}
		t := v.dep.target
		if i := res.Find(v.dep.ref); i != nil {
			for _, b := range i.Bindings {
				if d := t.variants[path.Join(b.Namespace, b.Installation)]; d != nil && b.Installation != "" {
					add(d)
				}
			}
		}
		for _, o := range res.Reads(v.dep.ref) { // what others map to it, too
			if d := t.variants[o.Instance]; d != nil {
				add(d)
			}
		}
		touched[t] = true
	}
	for _, v := range selected {
		add(v)
	}
	for _, v := range all {
		want[v] = want[v] || v.isLock() && touched[v.dep.target]
	}
	return slices.DeleteFunc(slices.Clone(all), func(v *variant) bool { return !want[v] })
}

// managed are the variants that an action on one of them acts on as well: what
// it needs and manages.
func (v *variant) managed() []*variant {
	if v.resolution() == nil {
		return nil
	}
	var out []*variant
	for _, ref := range v.dep.target.plan.Answer.Invokes(v.dep.ref) {
		if d := v.dep.target.variants[ref]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

// resolution is what was resolved for the variant's target, nil where nothing was.
func (v *variant) resolution() *resolver.Resolution {
	if v.dep == nil || v.dep.target.plan == nil || v.dep.target.plan.Answer == nil {
		return nil
	}
	return v.dep.target.plan.Answer.Resolution
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
