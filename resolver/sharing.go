package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// DisputeError is that what is asked of an instance cannot be: scope leaves one for all who need it, and they want
// different things of it.
type DisputeError struct {
	// By is the instance that asks for what is not so, With the one because of which it is not, by Ref.
	By, With string
	text     string
}

func (e *DisputeError) Error() string { return e.text }

// one says how many of an instance there can be, empty for any number.
func (i *Instance) one() string {
	if i.manifest == nil || i.scope == ScopeAny {
		return ""
	}
	return fmt.Sprintf("there is one %s per %s", i.Package, i.scope)
}

// apart is with whom an instance is shared, nil where all may: any number of them can be, and nobody named a group.
func (i *Instance) apart() *Share {
	if i.one() != "" || i.Share.Mode != ModeNone && i.Share.Group == "" {
		return nil
	}
	s := i.Share
	if s.Mode == ModeNone {
		s.Group = ""
	} else {
		s.Mode = ""
	}
	return &s
}

// sharedAs tells whether a lock has an instance shared with the same ones.
func (i *Instance) sharedAs(p *LockedPackage) bool {
	s := i.apart()
	return (s == nil) == (p.Share == nil) && (s == nil || *s == *p.Share)
}

// disputed are the inputs of a shared instance that a parent sets to other values than it is given.
func (a *assigner) disputed(d, parent *Instance) (errs []*DisputeError) {
	for _, kind := range []string{"parameters.", "credentials."} {
		fields := d.manifest.Parameters
		if kind == "credentials." {
			fields = d.manifest.Credentials
		}
		for _, f := range fields {
			template, from, ok := a.source(d, kind, f)
			if !ok || from == parent {
				continue
			}
			value, err := a.expand(template, from, "")
			if err != nil { // it waits for that
				continue
			}
			for _, w := range slices.Concat(a.r.Wiring, a.r.made) {
				name, ok := strings.CutPrefix(w.Field, kind)
				if m, is := match(Field{Name: name}, []Field{f}); !ok || w.To != d.Ref() || w.Parent != parent.Ref() || !is || m.Name != f.Name {
					continue
				}
				if own, err := a.expand(w.Template, parent, ""); err == nil && own != value {
					// As it is written: values of outputs and of objects are told nowhere.
					errs = append(errs, &DisputeError{parent.Ref(), from.Ref(), fmt.Sprintf("%s sets %s of %s to %q, %s sets it to %q, and %s: set it alike in both, or in neither and give it in an Installation of %s",
						a.r.place(parent, d), kind+f.Name, d.Ref(), w.Template, a.r.place(from, d), template, d.one(), d.Package)})
				}
			}
		}
	}
	return errs
}

// place is where an instance says what it needs of another.
func (r *Resolution) place(parent, of *Instance) string {
	for n := range parent.Bindings {
		if b := &parent.Bindings[n]; b.Installation != "" && ref(b) == of.Ref() {
			return fmt.Sprintf("requires[%s] of %s %s", b.Alias, parent.Ref(), parent.Version)
		}
	}
	return parent.Ref()
}

// Sharing says what an instance asks of its dependencies and does not get, because scope leaves one for all. Another
// value of an input than the one that stands, which is that of whom it was made for, is disputed, and so is
// what was to be shared with nobody, and is; other groups are noted, and so is what is there and lacks what is used.
func (r *Resolution) Sharing(of string, outputs OutputFunc) (notes []string, disputes []*DisputeError) {
	i := r.Find(of)
	if i == nil || i.manifest == nil {
		return nil, nil
	}
	a := &assigner{r: r, outputs: outputs}
	for n := range i.Bindings {
		b := &i.Bindings[n]
		req, group := a.asking(i, b)
		if req == nil {
			continue
		}
		for _, what := range b.passed {
			notes = append(notes, fmt.Sprintf("requires[%s]: %s; %s is made beside it", b.Alias, what, ref(b)))
		}
		d := r.Find(ref(b))
		if d == nil || d.one() == "" {
			continue
		}
		if !slices.ContainsFunc(i.Bindings[:n], func(o Binding) bool { return o.Installation != "" && ref(&o) == d.Ref() }) {
			disputes = append(disputes, a.disputed(d, i)...)
		}
		for _, other := range r.Instances {
			for m := range other.Bindings {
				o := &other.Bindings[m]
				if o.Installation == "" || ref(o) != d.Ref() || other == i && o.Alias == b.Alias {
					continue
				}
				theirs, theirGroup := a.asking(other, o)
				switch {
				case theirs == nil:
				case req.Share.Mode == ModeNone:
					disputes = append(disputes, &DisputeError{of, other.Ref(), fmt.Sprintf("%s has share.mode none, but %s needs %s, too, and %s: leave the mode out, or that need",
						r.place(i, d), other.Ref(), d.Ref(), d.one())})
				case theirs.Share.Mode != ModeNone && group != theirGroup:
					notes = append(notes, fmt.Sprintf("requires[%s].share: %s is shared with %s, which is of group %q and not %q: %s", b.Alias, d.Ref(), other.Ref(), theirGroup, group, d.one()))
				}
			}
		}
	}
	return notes, disputes
}

// disputes are those that are known before anything is rendered: of values that no output is part of, and of sharing.
func (r *Resolution) disputes() (out []*DisputeError) {
	if !slices.ContainsFunc(r.Instances, func(i *Instance) bool { return i.one() != "" }) {
		return nil
	}
	unknown := func(o OutputRef) (string, error) {
		return "", fmt.Errorf("%s of %s is not known", o.Output, o.Instance)
	}
	for _, i := range r.Instances {
		_, disputes := r.Sharing(i.Ref(), unknown)
		out = append(out, disputes...)
	}
	return out
}

// asking is the requirement that led to a binding, and its group as rendered; nil where it led to no installation.
func (a *assigner) asking(i *Instance, b *Binding) (*Requirement, string) {
	if i.manifest == nil || b.Installation == "" {
		return nil, ""
	}
	at := slices.IndexFunc(i.manifest.Requires, func(q Requirement) bool { return q.Alias == b.Alias })
	if at < 0 {
		return nil, ""
	}
	req := &i.manifest.Requires[at]
	group, err := a.expand(req.Share.Group, i, "")
	if err != nil {
		group = req.Share.Group
	}
	return req, group
}
