package depend

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// Kept is a lock in which packages that could not be made, and what needs them, are as
// an older lock has them, with what they needed there; a package that is gone and did not
// go is as it was. unmade are those of them that are other than that; for none it is the
// lock as it is.
func Kept(now, old *resolver.Lock, failed func(ref string) bool) (lock *resolver.Lock, unmade []string) {
	var gone []string
	for _, c := range Changed(old, now) {
		switch {
		case !failed(c.Ref):
		case c.Gone:
			gone = append(gone, c.Ref)
		default:
			unmade = append(unmade, c.Ref)
		}
	}
	if len(unmade)+len(gone) == 0 {
		return now, nil
	}
	out := *now
	kept, taken := hangingOn(now, unmade), map[string]bool{}
	out.Packages = slices.DeleteFunc(slices.Clone(now.Packages), func(p resolver.LockedPackage) bool { return kept[lockedRef(&p)] })
	for todo := slices.Concat(slices.Sorted(maps.Keys(kept)), gone); len(todo) > 0; todo = todo[1:] {
		if p := lockedAt(old, todo[0]); p != nil && lockedAt(&out, todo[0]) == nil {
			taken[todo[0]] = true
			out.Packages = append(out.Packages, *p)
			todo = append(todo, lockedNeeds(p)...)
		}
	}
	slices.SortFunc(out.Packages, func(a, b resolver.LockedPackage) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	for n := range out.Packages {
		p := &out.Packages[n]
		resolver.WithoutAskers(p, func(ref string) bool { return lockedAt(&out, ref) != nil })
		p.Wiring = slices.DeleteFunc(slices.Clone(p.Wiring), func(w v1alpha1.LockedWiring) bool { return lockedAt(&out, w.Parent) == nil })
	}
	if old == nil {
		old = &resolver.Lock{}
	}
	out.CustomResourceDefinitions = owners(now.CustomResourceDefinitions, old.CustomResourceDefinitions, kept, taken)
	out.Compositions = owners(now.Compositions, old.Compositions, kept, taken)
	if out.Plan = planOf(&out, now.Plan); len(Changed(old, &out)) == 0 {
		out.Plan = old.Plan
	}
	return &out, slices.Concat(unmade, gone)
}

// hangingOn are some packages of a lock and all that needs them.
func hangingOn(l *resolver.Lock, refs []string) map[string]bool {
	out := map[string]bool{}
	for _, ref := range refs {
		out[ref] = true
	}
	for again := true; again; {
		again = false
		for n := range l.Packages {
			p := &l.Packages[n]
			if !out[lockedRef(p)] && slices.ContainsFunc(lockedNeeds(p), func(d string) bool { return out[d] }) {
				out[lockedRef(p)], again = true, true
			}
		}
	}
	return out
}

// owners are those of now, but for packages that are kept: of these, those that an older
// lock has.
func owners(now, old map[string]string, kept, taken map[string]bool) map[string]string {
	out := maps.Clone(now)
	maps.DeleteFunc(out, func(_, owner string) bool { return kept[owner] })
	for what, owner := range old {
		if taken[owner] && out[what] == "" {
			if out == nil {
				out = map[string]string{}
			}
			out[what] = owner
		}
	}
	return out
}

// planOf is a plan with the packages of a lock alone. What it did not order comes first.
func planOf(l *resolver.Lock, plan [][]string) (out [][]string) {
	ordered := map[string]bool{}
	for _, wave := range plan {
		wave = slices.DeleteFunc(slices.Clone(wave), func(ref string) bool { return lockedAt(l, ref) == nil })
		for _, ref := range wave {
			ordered[ref] = true
		}
		if len(wave) > 0 {
			out = append(out, wave)
		}
	}
	var first []string
	for n := range l.Packages {
		if ref := lockedRef(&l.Packages[n]); !ordered[ref] {
			first = append(first, ref)
		}
	}
	if len(first) > 0 {
		out = slices.Insert(out, 0, first)
	}
	return out
}

// lockedRef is the path of a locked package below its target.
func lockedRef(p *resolver.LockedPackage) string { return path.Join(p.Namespace, p.Name) }

// lockedAt is what a lock has at a path, nil for nothing.
func lockedAt(l *resolver.Lock, ref string) *resolver.LockedPackage {
	if l == nil {
		return nil
	}
	for n := range l.Packages {
		if p := &l.Packages[n]; lockedRef(p) == ref {
			return p
		}
	}
	return nil
}

// lockedNeeds are the paths of what a package of a lock needs directly.
func lockedNeeds(p *resolver.LockedPackage) []string {
	out := make([]string, 0, len(p.Dependencies))
	for _, d := range p.Dependencies {
		out = append(out, d.Ref())
	}
	return out
}
