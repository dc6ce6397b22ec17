package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// ValidateInstallation checks what is wanted of a target
// (docs/design/kinds.md).
func ValidateInstallation(in *v1alpha1.Installation) Issues {
	var i Issues
	i.metadata(&in.ObjectMeta)
	i.shape("spec", reflect.ValueOf(&in.Spec), rules{})
	i.labels("spec.labels", in.Spec.Labels)
	for _, name := range slices.Sorted(maps.Keys(in.Spec.Credentials)) {
		i.secret(keyed("spec.credentials", name), in.Spec.Credentials[name])
	}
	for n := range in.Status.Outputs {
		if in.Status.Outputs[n].Name == "" {
			i.required(index("status.outputs", n)+".name", "")
		}
	}
	validateProvides(&i, "status.provides", in.Status.Provides)
	d := in.Spec.Dependencies
	if d == nil {
		return i
	}
	var aliases, packages []string
	for n := range d.Overrides {
		o, at := &d.Overrides[n], index("spec.dependencies.overrides", n)
		aliases = append(aliases, o.Alias)
		packages = append(packages, onlyWithout(o.Alias, o.Package))
		i.named(at, o.Alias, o.Package)
		if o.Installation != "" && (o.Reference != "" || o.Constraints != "") {
			i.add(at, at+" has an installation and a reference or constraints, which exclude each other", "leave one of them")
		}
		if *o == (v1alpha1.DependencyOverride{Alias: o.Alias, Package: onlyWithout(o.Alias, o.Package)}) {
			i.add(at, at+" overrides nothing", "name an installation, a reference, constraints, prereleases or install")
		}
	}
	i.unique("spec.dependencies.overrides", "alias", aliases)
	i.unique("spec.dependencies.overrides", "package", packages)
	return i
}

// secret checks that a reference can be one, without its text: a password may stand there by mistake.
func (i *Issues) secret(at string, ref v1alpha1.SecretReference) {
	if ref.Name != "" && CheckName(ref.Name) != nil {
		i.add(at+".name", at+".name cannot be the name of a Secret", "write the Secret's name, not what it holds")
	}
	if ref.Key != "" && len(validation.IsConfigMapKey(ref.Key)) > 0 {
		i.add(at+".key", at+".key cannot be a key of a Secret", "write the key's name, not what it holds")
	}
}

// onlyWithout is the package of an entry that is not by alias.
func onlyWithout(alias, pkg string) string {
	if alias != "" {
		return ""
	}
	return pkg
}

// named reports an entry for no dependency.
func (i *Issues) named(at, alias, pkg string) {
	if alias == "" && pkg == "" {
		i.add(at, at+" is for no dependency", "name its alias or its package")
	}
}

// templatesLeftOut are the labels that are known before anything is rendered.
func templatesLeftOut(labels map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		if !strings.Contains(v, "${") {
			out[k] = v
		}
	}
	return out
}

// ValidateCatalog checks sources and default implementations. Addresses are never part of a message.
func ValidateCatalog(c *v1alpha1.Catalog) Issues {
	var i Issues
	i.metadata(&c.ObjectMeta)
	i.shape("spec", reflect.ValueOf(&c.Spec), rules{})
	for n := range c.Spec.Sources {
		s, at := &c.Spec.Sources[n], index("spec.sources", n)
		i.exactlyOne(at, map[string]bool{"git": s.Git != nil, "oci": s.OCI != nil})
		if s.Git != nil {
			i.packagePath(at+".git.directory", cleanDirectory(s.Git.Directory))
		}
	}
	for _, iface := range slices.Sorted(maps.Keys(c.Spec.Defaults)) {
		if at := keyed("spec.defaults", iface); c.Spec.Defaults[iface] == "" {
			i.add(at, at+" names no package", "")
		}
	}
	return i
}

// ValidatePackageLock checks that a lock holds together, which one that was
// edited by hand may not: nothing twice, no dependency, owner or wave that
// names an instance which is not there.
func ValidatePackageLock(l *v1alpha1.PackageLock) Issues {
	var i Issues
	i.metadata(&l.ObjectMeta)
	s := &l.Spec
	i.shape("spec", reflect.ValueOf(s), rules{})
	var refs, names []string
	for n := range s.Packages {
		names = append(names, s.Packages[n].Name)
		refs = append(refs, strings.TrimPrefix(s.Packages[n].Namespace+"/"+s.Packages[n].Name, "/"))
	}
	i.unique("spec.packages", "name", refs)
	missing := func(at, name string) {
		i.add(at, fmt.Sprintf("%s: %q is not among spec.packages", at, shorten(name)), "resolve again to repair the lock")
	}
	for n := range s.Packages {
		p := &s.Packages[n]
		for m, d := range p.Dependencies {
			if !slices.Contains(refs, d.Ref()) {
				missing(index(index("spec.packages", n)+".dependencies", m), d.Ref())
			}
		}
	}
	owned := func(field string, owners map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(owners)) {
			if !slices.Contains(refs, owners[k]) && !slices.Contains(names, owners[k]) {
				missing(keyed(field, k), owners[k])
			}
		}
	}
	owned("spec.customResourceDefinitions", s.CustomResourceDefinitions)
	owned("spec.compositions", s.Compositions)
	for n, wave := range s.Plan {
		for m, ref := range wave {
			if !slices.Contains(refs, ref) {
				missing(index(index("spec.plan", n), m), ref)
			}
		}
	}
	return i
}
