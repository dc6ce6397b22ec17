package resolver

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// FromManifest reads a package version from its manifest. The manifest's name is the package's.
func FromManifest(m *v1alpha1.PackageManifest) Package {
	s := m.Spec
	p := Package{
		Package: m.Name, Version: s.Version, Scope: Scope(strings.ToLower(s.Scope)),
		Parameters: inputs(s.Parameters), Credentials: inputs(s.Credentials),
	}
	for _, o := range s.Outputs {
		p.Outputs = append(p.Outputs, field(o.ManifestField))
	}
	for _, o := range s.Provides {
		if o.GVK != nil {
			p.Provides = append(p.Provides, Provide{GVK: &GVK{o.GVK.APIVersion, o.GVK.Kind}})
		}
		if o.Interface != nil {
			p.Provides = append(p.Provides, Provide{Interface: o.Interface.ID, Version: o.Interface.Version})
		}
	}
	for _, r := range s.Requires {
		p.Requires = append(p.Requires, requirement(r))
	}
	return p
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
		Alias: r.Alias, Optional: r.Optional, Package: r.Package, Version: r.Version, Default: r.Default,
		Labels: r.Labels, Namespace: r.Namespace, Parameters: r.Parameters, Credentials: r.Credentials, Outputs: r.Outputs,
	}
	if r.Interface != nil {
		out.Interface = &Interface{ID: r.Interface.ID, Version: r.Interface.Version, Reference: r.Interface.Reference}
		if d := r.Interface.Document; d != nil {
			out.Interface.Document = &Document{fields(d.Parameters), fields(d.Credentials), fields(d.Outputs)}
		}
	}
	if r.GVK != nil {
		out.GVK = &GVK{r.GVK.APIVersion, r.GVK.Kind}
	}
	if r.Platform != nil {
		out.Platform, out.Version = r.Platform.Name, r.Platform.Version
	}
	if r.Share != nil {
		out.Share = Share{r.Share.Mode, r.Share.Group}
	}
	if r.Lifecycle != nil {
		out.Lifecycle = Lifecycle{r.Lifecycle.Managed, r.Lifecycle.Upgrade, r.Lifecycle.Invoke, r.Lifecycle.Uninstall}
	}
	for _, a := range r.AnyOf {
		out.AnyOf = append(out.AnyOf, requirement(a))
	}
	return out
}

// Document is the lock as a PackageLock of a target.
func (r *Resolution) Document(target string) *v1alpha1.PackageLock {
	out := &v1alpha1.PackageLock{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: "PackageLock"},
		ObjectMeta: metav1.ObjectMeta{Name: target},
	}
	out.Spec.Target = target
	out.Spec.CustomResourceDefinitions, out.Spec.Compositions = r.Lock.CustomResourceDefinitions, r.Lock.Compositions
	for _, p := range r.Lock.Packages {
		d := v1alpha1.LockedPackage{
			Name: p.Name, Namespace: p.Namespace, Package: p.Package, Version: p.Version,
			Source: p.Source, Digest: p.Digest, Dependencies: p.Dependencies,
		}
		ref := Installation{Name: p.Name, Namespace: p.Namespace}.Ref()
		for _, w := range r.Wiring {
			if w.To == ref {
				d.Wiring = append(d.Wiring, v1alpha1.LockedWiring{Field: w.Field, Template: w.Template, Parent: w.Parent})
			}
		}
		out.Spec.Packages = append(out.Spec.Packages, d)
	}
	return out
}

// ParseLock reads a PackageLock document. A lock that was damaged by hand is an error that names the field.
func ParseLock(data []byte) (*Lock, error) {
	var d v1alpha1.PackageLock
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return nil, fmt.Errorf("reading PackageLock: %w", err)
	}
	if d.Kind != "PackageLock" || d.APIVersion != v1alpha1.APIVersion {
		return nil, fmt.Errorf("reading PackageLock: it is a %s %s, not a %s PackageLock", d.APIVersion, d.Kind, v1alpha1.APIVersion)
	}
	l := &Lock{CustomResourceDefinitions: d.Spec.CustomResourceDefinitions, Compositions: d.Spec.Compositions}
	seen := map[string]bool{}
	for i, p := range d.Spec.Packages {
		at := fmt.Sprintf("reading PackageLock %q: spec.packages[%d]", d.Name, i)
		ref := Installation{Name: p.Name, Namespace: p.Namespace}.Ref()
		if p.Name == "" || seen[ref] {
			return nil, fmt.Errorf("%s.name: %q is empty or there twice; resolve again to repair the lock", at, p.Name)
		}
		if _, err := parseVersion(p.Version); err != nil {
			return nil, fmt.Errorf("%s.version: %q is no version: %w; resolve again to repair the lock", at, p.Version, err)
		}
		seen[ref] = true
		l.Packages = append(l.Packages, LockedPackage{
			Name: p.Name, Namespace: p.Namespace, Package: p.Package, Version: p.Version,
			Source: p.Source, Digest: p.Digest, Dependencies: p.Dependencies,
		})
	}
	return l, nil
}
