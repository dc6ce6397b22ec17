package depend

import (
	"errors"
	"slices"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// Conflict is an explanation with what of the fleet its hints would have a person
// edit.
type Conflict struct {
	error
	Edits []Edit
}

// Unwrap is the explanation.
func (c *Conflict) Unwrap() error { return c.error }

// Edit says what has the field of a hint: Installations, and, of variants about which
// none decides yet, the variants. It has neither where the field is a Catalog's.
type Edit struct {
	Hint          resolver.Hint
	Installations []*v1alpha1.Installation
	Variants      []*Variant
}

// edits adds to an explanation what its hints are about.
func (a *Answer) edits(err error) error {
	e, ok := errors.AsType[*resolver.ConflictError](err)
	if !ok {
		return err
	}
	c := &Conflict{error: err}
	for _, h := range e.Hints {
		if h.Field != "" {
			c.Edits = append(c.Edits, a.edit(h))
		}
	}
	return c
}

func (a *Answer) edit(h resolver.Hint) Edit {
	e := Edit{Hint: h}
	if h.Field == resolver.FieldDefaults {
		return e
	}
	of := func(ref string) bool {
		return h.Of == ref || h.Of == "" && slices.ContainsFunc(a.in.Want, func(w resolver.Request) bool { return w.Ref() == ref && !slices.Contains(a.Stands, ref) })
	}
	decides := map[*v1alpha1.Installation]bool{}
	add := func(i *v1alpha1.Installation) {
		if !slices.Contains(e.Installations, i) {
			e.Installations = append(e.Installations, i)
		}
	}
	for _, v := range a.Target.Variants {
		i := a.Target.decision(v)
		decides[i] = true
		switch {
		case !of(v.Ref):
		case i == nil:
			e.Variants = append(e.Variants, v)
		default:
			add(i)
		}
	}
	for _, i := range a.Target.Installations {
		if ref := a.Target.askedBy(i); !decides[i] && ref != "" && of(ref) {
			add(i)
		}
	}
	return e
}

// Asking are the Installations that ask for a package of the target.
func (t *Target) Asking(ref string) (out []*v1alpha1.Installation) {
	for _, i := range t.Installations {
		if ref != "" && t.askedBy(i) == ref {
			out = append(out, i)
		}
	}
	return out
}

// askedBy is the package that an Installation asks for here, "" for none.
func (t *Target) askedBy(i *v1alpha1.Installation) string {
	own := *i
	ns, here := t.Place(i)
	if own.Namespace = ns; !here {
		return ""
	}
	return resolver.FromInstallation(&own).Ref()
}
