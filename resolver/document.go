package resolver

// This file is the one place where the kinds of package v1alpha1 become the
// engine's input; their lock comes back as [Resolution.Document].

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
)

// Defaults are the default implementations by interface of all catalogues. Two that disagree are an error.
func Defaults(catalogs []*v1alpha1.Catalog) (map[string]string, error) {
	out, from := map[string]string{}, map[string]string{}
	var errs []error
	for _, c := range catalogs {
		for _, iface := range sortedKeys(c.Spec.Defaults) {
			pkg := c.Spec.Defaults[iface]
			if had, ok := out[iface]; ok && had != pkg {
				errs = append(errs, fmt.Errorf("the default implementation of %s is %s in Catalog %s and %s in Catalog %s; keep one",
					iface, had, from[iface], pkg, c.Name))
				continue
			}
			out[iface], from[iface] = pkg, c.Name
		}
	}
	return out, errors.Join(errs...)
}

// FromManifest reads a package version from its manifest. The manifest's name is the package's. Tag, source
// and digest are for those who fetched it to add.
func FromManifest(m *v1alpha1.PackageManifest) Package {
	s := m.Spec
	p := Package{
		Package: m.Name, Version: s.Version, Scope: Scope(strings.ToLower(s.Scope)),
		Parameters: inputs(s.Parameters), Credentials: inputs(s.Credentials),
	}
	for _, o := range s.Outputs {
		p.Outputs = append(p.Outputs, field(o.ManifestField))
	}
	p.offer(s.Provides)
	for _, r := range s.Requires {
		p.Requires = append(p.Requires, requirement(r))
	}
	for _, i := range s.Parameters {
		if i.To != nil && i.To.ContextKey != "" {
			if p.ContextKeys == nil {
				p.ContextKeys = map[string]string{}
			}
			p.ContextKeys[i.Name] = i.To.ContextKey
		}
	}
	p.useDefaults()
	return p
}

// offer adds what a document has the package provide.
func (p *Package) offer(list []v1alpha1.Provide) {
	for _, o := range list {
		if o.GVK != nil {
			p.Provides = append(p.Provides, Provide{GVK: o.GVK})
		}
		if o.Interface != nil {
			p.Provides = append(p.Provides, Provide{Interface: o.Interface.ID, Version: o.Interface.Version})
		}
		if o.Object != nil {
			p.Bring(*o.Object)
		}
	}
}

// useDefaults counts the outputs that defaults of parameters read among those that are used.
func (p *Package) useDefaults() {
	for _, f := range slices.Concat(p.Parameters, p.Credentials) {
		if f.Default == nil {
			continue
		}
		for _, read := range OutputReads(*f.Default) {
			for i := range p.Requires {
				if p.Requires[i].Alias == read[0] {
					p.Requires[i].Uses.Outputs = append(p.Requires[i].Uses.Outputs, read[1])
				}
			}
		}
	}
}

func field(f v1alpha1.ManifestField) Field { return Field{Name: f.Name, Type: f.Type, ID: f.ID} }

func inputs(in []v1alpha1.ManifestInput) []Field {
	var out []Field
	for _, i := range in {
		f := field(i.ManifestField)
		f.Required, f.Default = i.Required, i.Default
		out = append(out, f)
	}
	return out
}

func fields(in []v1alpha1.ManifestField) []Field {
	var out []Field
	for _, f := range in {
		out = append(out, field(f))
	}
	return out
}

func requirement(r v1alpha1.Requirement) Requirement {
	out := Requirement{
		Alias: r.Alias, Optional: r.Optional, Package: r.Package, Version: r.Version, Default: r.Default, GVK: r.GVK,
		Labels: r.Labels, Namespace: r.Namespace, Parameters: r.Parameters, Credentials: r.Credentials, Outputs: r.Outputs,
	}
	if r.Interface != nil {
		out.Interface = &Interface{ID: r.Interface.ID, Version: r.Interface.Version, Reference: r.Interface.Reference}
		if d := r.Interface.Document; d != nil {
			out.Interface.Document = &Document{fields(d.Parameters), fields(d.Credentials), fields(d.Outputs)}
		}
	}
	if r.Platform != nil {
		out.Platform, out.Version = r.Platform.Name, r.Platform.Version
	}
	if r.Share != nil {
		out.Share = *r.Share
	}
	if r.Lifecycle != nil {
		out.Lifecycle = *r.Lifecycle
	}
	for _, a := range r.AnyOf {
		out.AnyOf = append(out.AnyOf, requirement(a))
	}
	return out
}

// FromInstallation is what an Installation asks for. Credentials keep the names of their secrets only.
func FromInstallation(i *v1alpha1.Installation) Request {
	s := &i.Spec
	r := Request{
		Name: i.Name, Namespace: i.Namespace, Package: s.Package, Version: s.Constraints, Prereleases: s.Prereleases,
		Labels: s.Labels, Parameters: s.Parameters, Allow: Changes{Upgrade: true},
	}
	if s.Share != nil {
		r.Mode, r.Group = s.Share.Mode, s.Share.Group
	}
	for name, c := range s.Credentials {
		if r.Credentials == nil {
			r.Credentials = map[string]string{}
		}
		r.Credentials[name] = strings.TrimSuffix(c.Name+"/"+c.Key, "/")
	}
	if s.Dependencies != nil {
		r.decide(s.Dependencies)
	}
	return r
}

// decide takes over what a user decided about dependencies.
func (r *Request) decide(d *v1alpha1.InstallationDependencies) {
	r.SkipDependencies = d.Enabled != nil && !*d.Enabled
	r.ValidateOnly = d.Install != nil && !*d.Install
	r.SearchProviders = d.SearchProviders
	r.Materialise = strings.ToLower(d.Materialise)
	r.Overrides = d.Overrides
	if d.AllowChanges != nil {
		r.Allow = Changes{}
		for _, c := range d.AllowChanges {
			r.Allow.Upgrade = r.Allow.Upgrade || c == "Upgrade"
			r.Allow.Downgrade = r.Allow.Downgrade || c == "Downgrade"
		}
	}
}

// Existing is the installation that exists by a document's status, false without a current revision. Its
// version is the catalogue's with that digest, or the revision itself where that is a version, or else the
// locked one. If none is known, the installation is Unversioned.
func Existing(i *v1alpha1.Installation, cat *Catalog, lock *Lock) (Installation, bool) {
	s := &i.Status
	if s.CurrentRevision == "" {
		return Installation{}, false
	}
	out := Installation{Name: i.Name, Namespace: i.Namespace, Package: i.Spec.Package, Labels: i.Spec.Labels, Unmanaged: true}
	out.Digest = api.DigestOf(s.CurrentRevision)
	if v := cat.withDigest(out.Package, s.CurrentRevision); v != nil {
		out.Version = v.Version
	}
	if _, err := parseVersion(s.CurrentRevision); out.Version == "" && err == nil {
		out.Version = s.CurrentRevision
	}
	if ps := lockedIn(lock, out.Package, out.Namespace); out.Version == "" && len(ps) > 0 {
		out.Version = strings.TrimPrefix(ps[0].Version, "v")
	}
	if out.Version == "" {
		out.Version, out.Unversioned = unknownVersion, true
	}
	out.describe(i, cat)
	if i.Spec.Share != nil {
		out.Mode, out.Group = i.Spec.Share.Mode, i.Spec.Share.Group
	}
	for _, d := range s.Dependencies {
		if d.Installation == "" || d.Alias == "" {
			continue
		}
		if out.Bindings == nil {
			out.Bindings = map[string]string{}
		}
		out.Bindings[d.Alias] = d.Installation
	}
	return out, true
}

// unknownVersion is the version of an installation if nothing states one.
const unknownVersion = "0.0.0-unknown"

// describe adds the outputs of an installation of a version that no catalogue has, and what it provides: those of its
// document, with parameters that stand for outputs. What the document leaves out is as in the newest version that the
// catalogue has of the package.
func (o *Installation) describe(i *v1alpha1.Installation, cat *Catalog) {
	if cat.find(o.Package, o.Version) != nil {
		return
	}
	m := &Package{Package: o.Package, Version: o.Version, Scope: cat.lax(o.Package)}
	for _, f := range i.Status.Outputs {
		m.Outputs = append(m.Outputs, field(f))
	}
	m.offer(i.Status.Provides)
	newest := &Package{}
	if vs := cat.versions(o.Package); len(vs) > 0 {
		newest = vs[0].Package
	}
	for _, name := range sortedKeys(i.Spec.Parameters) {
		called := func(f Field) bool { return f.Name == name }
		if slices.ContainsFunc(m.Outputs, called) {
			continue
		}
		f := Field{Name: name}
		if at := slices.IndexFunc(newest.Outputs, called); at >= 0 {
			f = newest.Outputs[at]
		}
		m.Outputs = append(m.Outputs, f)
	}
	if len(i.Status.Provides) == 0 {
		for _, p := range newest.Provides {
			if p.Interface != "" {
				m.Provides = append(m.Provides, p)
			}
		}
	}
	o.Manifest = m
}
