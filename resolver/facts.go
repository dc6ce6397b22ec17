package resolver

import (
	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver/internal/solve"
)

// facts are what is known of a version from the catalogue alone, whatever it is resolved with. They do not change.
type facts struct {
	problems []problem
	needs    []needFacts // by the index of its requirements
}

// needFacts is what the catalogue alone says of a requirement.
type needFacts struct {
	text     string // the same for requirements that are the same, and of which the same is read
	contract contract
	pkg      string // the package, or the default implementation, that it is on; "" for none
	// fits are the indexes of the versions of pkg that can stand in, its default for lack of a range apart; nil where
	// that was not worked out. cands are they among entry.cands, which are counted from 1.
	fits, cands solve.Set
}

// facts of a version are worked out once. Two that do so at the same time find the same.
func (c *Catalog) facts(v *version) *facts {
	if f := v.facts.Load(); f != nil {
		return f
	}
	f := &facts{problems: c.check(v.Package, &c.ranges)}
	for i := range v.Requires {
		r := &v.Requires[i]
		k := needFacts{contract: c.contract(v.Package, r), pkg: c.packageOf(r)}
		k.text = canonical(r) + canonical(k.contract.uses)
		if e := c.packages[k.pkg]; e != nil && len(f.problems) == 0 && r.GVK == nil && r.Platform == "" && len(r.AnyOf) == 0 {
			k.fits = c.fits(e, r, k.contract)
			k.cands = solve.NewSet(len(e.versions) + 1)
			for _, n := range k.fits.Values() {
				k.cands.Add(n + 1)
			}
		}
		f.needs = append(f.needs, k)
	}
	v.facts.Store(f)
	return f
}

// packageOf is the package that a requirement is on: its own, or the default implementation of its interface.
func (c *Catalog) packageOf(r *Requirement) string {
	if r.Package != "" || r.Interface == nil {
		return r.Package
	}
	if d, ok := c.Default(r.Interface.id()); ok {
		return d
	}
	for _, id := range sortedKeys(c.defaults) { // it may be named by the last part of its identifier
		if sameInterface(id, r.Interface.id()) {
			return c.defaults[id]
		}
	}
	return ""
}

// fits are the indexes of the versions of a package that can stand in for a requirement, by range and contract.
func (c *Catalog) fits(e *entry, r *Requirement, k contract) solve.Set {
	key := canonical(r.Prereleases)
	if r.Package != "" { // else the range is not of the package
		key += "|" + r.Version + "|" + r.Default
	}
	var in solve.Set
	if got, ok := e.admitted.Load(key); ok {
		in = got.(solve.Set)
	} else {
		in = solve.NewSet(len(e.versions))
		for n, v := range e.versions {
			if v.in(r, r.Prereleases, &c.ranges) {
				in.Add(n)
			}
		}
		e.admitted.Store(key, in)
	}
	if k.trivial() {
		return in
	}
	out := in.Clone()
	for _, n := range in.Values() {
		if len(k.unmet(e.versions[n].Package, &c.ranges)) > 0 {
			out.Remove(n)
		}
	}
	return out
}

// in tells whether a version is among those that a requirement admits: in its range, or its default where it has no
// range.
func (v *version) in(r *Requirement, pre *Prereleases, rs *ranges) bool {
	switch {
	case r.Package == "" || r.Version == "" && r.Default == "":
		return v.sem.Prerelease() == "" || pre != nil && named(pre, v.sem.Prerelease())
	case r.Version == "":
		return v.is(r.Default)
	}
	sel, err := rs.selection(r.Version)
	return err == nil && sel.admits(v.sem, v.Digest, pre)
}

// is tells whether a version is the one that a number, with or without a leading v, or a digest names.
func (v *version) is(name string) bool {
	if d := api.DigestOf(name); d != "" {
		return v.Digest == d
	}
	return sameVersion(v.Version, name)
}
