package resolver

import "slices"

// MetBy tells whether a package, at the version that it has, meets a requirement by its range, interface or API. What a
// platform gives, and parameters and outputs, are not looked at.
func (r *Requirement) MetBy(p *Package) bool {
	switch {
	case len(r.AnyOf) > 0:
		return slices.ContainsFunc(r.AnyOf, func(o Requirement) bool { return o.MetBy(p) })
	case r.GVK != nil:
		return (&version{Package: p}).provides(*r.GVK)
	case r.Platform != "" || r.Package != p.Package && r.Interface.id() == "":
		return false
	}
	var rs ranges
	if r.names(p) {
		return true
	}
	if r.Package == p.Package && r.Version != "" {
		sel, err := rs.selection(r.Version)
		sem, _ := parseVersion(p.Version)
		if err != nil || !sel.admits(sem, p.Digest, r.Prereleases) {
			return false
		}
	}
	k := contract{id: r.Interface.id()}
	if r.Interface != nil {
		k.versionRange = r.Interface.Version
	}
	return k.offered(p.Provides, &rs)
}

// names reports whether a package is the very version that a requirement names.
func (r *Requirement) names(p *Package) bool {
	return r.Default != "" && p.Package == r.Package && (&version{Package: p}).is(r.Default)
}

// Asks is what a requirement asks for, as a person would say it.
func (r *Requirement) Asks() string { return r.what() }
