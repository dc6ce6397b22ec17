package foreign

import (
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// Manifest is a package as a manifest of ours; of what it does not say is told what
// is lost.
func Manifest(p *resolver.Package) (m *v1alpha1.PackageManifest, lost []string) {
	m = &v1alpha1.PackageManifest{}
	m.APIVersion, m.Kind = v1alpha1.APIVersion, v1alpha1.KindPackageManifest
	m.Name, m.Annotations = p.Package, map[string]string{"config.kubernetes.io/local-config": "true"}
	s := &m.Spec
	s.Version = strings.TrimPrefix(p.Version, "v")
	switch p.Scope {
	case resolver.ScopeCluster:
		s.Scope = "Cluster"
	case resolver.ScopeNamespace:
		s.Scope = "Namespace"
	}
	s.Parameters, s.Credentials = inputs(p.Parameters), inputs(p.Credentials)
	for _, f := range p.Outputs {
		s.Outputs = append(s.Outputs, v1alpha1.ManifestOutput{ManifestField: field(f)})
	}
	for _, o := range p.Provides {
		switch {
		case o.GVK != nil:
			s.Provides = append(s.Provides, v1alpha1.Provide{GVK: o.GVK})
		case o.Object == nil:
			s.Provides = append(s.Provides, v1alpha1.Provide{Interface: &v1alpha1.ProvidedInterface{ID: o.Interface, Version: o.Version}})
		}
	}
	for _, o := range p.Brought() {
		s.Provides = append(s.Provides, v1alpha1.Provide{Object: &o})
	}
	s.Requires, lost = requirements(p.Requires)
	return m, lost
}

func field(f resolver.Field) v1alpha1.ManifestField {
	return v1alpha1.ManifestField{Name: f.Name, Type: f.Type, ID: f.ID}
}

func fields(list []resolver.Field) (out []v1alpha1.ManifestField) {
	for _, f := range list {
		out = append(out, field(f))
	}
	return out
}

func inputs(list []resolver.Field) (out []v1alpha1.ManifestInput) {
	for _, f := range list {
		out = append(out, v1alpha1.ManifestInput{ManifestField: field(f), Required: f.Required, Default: f.Default})
	}
	return out
}

func requirements(list []resolver.Requirement) (out []v1alpha1.Requirement, lost []string) {
	for n := range list {
		r := &list[n]
		o := v1alpha1.Requirement{
			Alias: r.Alias, Optional: r.Optional, Package: r.Package, Version: r.Version, Default: r.Default, GVK: r.GVK,
			Labels: r.Labels, Namespace: r.Namespace, Parameters: r.Parameters, Credentials: r.Credentials, Outputs: r.Outputs,
		}
		if r.Platform != "" {
			o.Platform, o.Version = &v1alpha1.Platform{Name: r.Platform, Version: r.Version}, ""
		}
		if i := r.Interface; i != nil {
			o.Interface = requiredInterface(i)
		}
		if r.Share != (resolver.Share{}) {
			o.Share = &r.Share
		}
		if r.Lifecycle != (resolver.Lifecycle{}) {
			o.Lifecycle = &r.Lifecycle
		}
		var more []string
		o.AnyOf, more = requirements(r.AnyOf)
		lost = append(lost, more...)
		for what, is := range map[string]bool{
			"that it admits prereleases": r.Prereleases != nil, "its place in the sequence": len(r.After) > 0, "which of its outputs are read": len(r.Uses.Outputs) > 0,
		} {
			if is {
				lost = append(lost, "of "+r.Alias+": "+what)
			}
		}
		out = append(out, o)
	}
	slices.Sort(lost)
	return out, lost
}

func requiredInterface(i *resolver.Interface) *v1alpha1.RequiredInterface {
	out := &v1alpha1.RequiredInterface{ID: i.ID, Version: i.Version, Reference: i.Reference}
	if out.ID == "" {
		out.ID = i.Name
	}
	d := i.Document
	if d == nil && len(i.Parameters)+len(i.Credentials)+len(i.Outputs) > 0 {
		d = &resolver.Document{Parameters: i.Parameters, Credentials: i.Credentials, Outputs: i.Outputs}
	}
	if d != nil {
		out.Document = &v1alpha1.InterfaceDocument{Parameters: fields(d.Parameters), Credentials: fields(d.Credentials), Outputs: fields(d.Outputs)}
	}
	return out
}
