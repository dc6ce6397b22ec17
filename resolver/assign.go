package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// OutputRef is an output of an instance, by the instance's Ref.
type OutputRef struct{ Instance, Output string }

// Assignment is one value that an instance is to be given: a parameter or a credential of it. A credential's is
// the name of a secret, never what it holds.
type Assignment struct {
	// Field is "parameters.x" or "credentials.x".
	Field string
	// Template is where the value comes from, Parent the instance whose scope it reads.
	Template, Parent string
	// Outputs says that an output of another instance is part of it.
	Outputs bool
	// Text is the value; Err, when there, why it is not known yet.
	Text string
	Err  error
}

// AbsentError is why a value is not known that reads a dependency which its package does not have here: an optional one
// that nothing meets, or that was declined.
type AbsentError struct{ Instance, Alias string }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%s has no dependency %s here", e.Instance, e.Alias)
}

// OutputFunc gives the value of an output that an instance has by itself. The error says what it waits for.
type OutputFunc func(OutputRef) (string, error)

// Assign computes what an instance is to be given, sorted by field: what its parents map, what the user gave, and
// defaults that are templates over its own dependencies (Porter PEP003, "Wiring"). Outputs that a parent promotes are
// followed to where they come from. A value that is not known has Err.
func (r *Resolution) Assign(to string, outputs OutputFunc) []Assignment {
	i := r.Find(to)
	if i == nil || i.manifest == nil {
		return nil
	}
	a := &assigner{r: r, outputs: outputs}
	var out []Assignment
	for _, kind := range []string{"parameters.", "credentials."} {
		fields := i.manifest.Parameters
		if kind == "credentials." {
			fields = i.manifest.Credentials
		}
		for _, f := range fields {
			template, parent, ok := a.source(i, kind, f)
			if !ok {
				continue
			}
			a.asked = false
			text, err := a.expand(template, parent, "")
			out = append(out, Assignment{Field: kind + f.Name, Template: template, Parent: parent.Ref(), Outputs: a.asked, Text: text, Err: err})
		}
	}
	slices.SortFunc(out, func(x, y Assignment) int { return strings.Compare(x.Field, y.Field) })
	return out
}

// Reads lists the outputs that an instance's values are made of, each once, in the order that they are met.
func (r *Resolution) Reads(to string) []OutputRef {
	var out []OutputRef
	r.Assign(to, func(o OutputRef) (string, error) {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
		return "", nil
	})
	return out
}

// assigner expands templates in the scope of instances.
type assigner struct {
	r       *Resolution
	outputs OutputFunc
	depth   int
	asked   bool // an output
}

// source is the template of an input and the instance whose scope it reads: what a parent maps, then what the
// user gave, then the default where that is a template.
func (a *assigner) source(i *Instance, kind string, f Field) (string, *Instance, bool) {
	var found *Wire
	for _, w := range slices.Concat(a.r.Wiring, a.r.made) {
		name, ok := strings.CutPrefix(w.Field, kind)
		if !ok || w.To != i.Ref() {
			continue
		}
		if m, ok := match(Field{Name: name}, []Field{f}); ok && m.Name == f.Name {
			if found == nil || i.maker != nil && w.Parent == i.maker.Ref() && found.Parent != w.Parent {
				found = &w
			}
		}
	}
	if found != nil {
		return found.Template, a.r.Find(found.Parent), true
	}
	if i.root != nil {
		given := i.root.Parameters
		if kind == "credentials." {
			given = i.root.Credentials
		}
		name := f.Name
		if !i.Requested {
			name = i.Alias + "." + f.Name
		}
		if v, ok := given[name]; ok {
			return v, i, true
		}
	}
	if f.Default != nil && len(paths(*f.Default)) > 0 {
		return *f.Default, i, true
	}
	return "", nil, false
}

// maxDepth bounds how far values are followed: the engine refuses cycles of wiring, but not of defaults.
const maxDepth = 64

// expand computes a template in the scope of an instance; from, where not empty, is the instance whose own
// outputs the template reads as outputs.x.
func (a *assigner) expand(template string, scope *Instance, from string) (string, error) {
	if a.depth++; a.depth > maxDepth {
		a.depth--
		return "", fmt.Errorf("%s goes round in a circle", template)
	}
	defer func() { a.depth-- }()
	var failed error
	text, _ := expand(template, func(path string) (v string, ok bool) {
		var err error
		if o, own := strings.CutPrefix(path, "outputs."); own && from != "" {
			v, err = a.output(from, o)
		} else {
			v, err = a.value(path, scope)
		}
		if err != nil && failed == nil {
			failed = err
		}
		return v, err == nil
	})
	if failed != nil {
		return "", failed
	}
	return text, nil
}

// value is what one expression reads in the scope of an instance.
func (a *assigner) value(path string, scope *Instance) (string, error) {
	if d, ok := dependencyOutput(path); ok {
		for n := range scope.Bindings {
			b := &scope.Bindings[n]
			if b.Alias != d.alias || b.Installation == "" {
				continue
			}
			name := d.output
			if mapped, ok := b.OutputMap[name]; ok {
				name = mapped
			}
			return a.output(ref(b), name)
		}
		return "", &AbsentError{Instance: scope.Ref(), Alias: d.alias}
	}
	for _, kind := range []string{"parameters.", "credentials."} {
		if name, ok := strings.CutPrefix(path, "bundle."+kind); ok {
			return a.input(scope, kind, name)
		}
	}
	if v, ok := a.r.scoped(path, scope); ok {
		return v, nil
	}
	return "", fmt.Errorf("${%s} names nothing that exists", path)
}

// input is the value of an instance's own parameter or credential.
func (a *assigner) input(i *Instance, kind, name string) (string, error) {
	if i.manifest != nil {
		fields := i.manifest.Parameters
		if kind == "credentials." {
			fields = i.manifest.Credentials
		}
		if f, ok := match(Field{Name: name}, fields); ok {
			if template, scope, ok := a.source(i, kind, f); ok {
				return a.expand(template, scope, "")
			}
			if f.Default != nil {
				return *f.Default, nil
			}
		}
	}
	return "", fmt.Errorf("%s %s of %s has no value: give it in the Installation", strings.TrimSuffix(kind, "s."), name, i.Ref())
}

// output is the value of an output: one that the instance's package promotes, or its own.
func (a *assigner) output(instance, name string) (string, error) {
	for _, w := range slices.Concat(a.r.Wiring, a.r.made) {
		if w.To == instance && w.Field == "outputs."+name {
			return a.expand(w.Template, a.r.Find(w.Parent), w.From)
		}
	}
	a.asked = true
	return a.outputs(OutputRef{instance, name})
}
