package api

import (
	"reflect"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// ValidatePackageManifest checks what a package says of itself (design section
// 3). Whether its templates read what exists is for the resolver, which knows
// the packages that they read.
func ValidatePackageManifest(m *v1alpha1.PackageManifest) Issues {
	var i Issues
	i.metadata(&m.ObjectMeta)
	s := &m.Spec
	i.shape("spec", reflect.ValueOf(s), rules{})
	i.inputs("spec.parameters", s.Parameters)
	i.inputs("spec.credentials", s.Credentials)
	for n := range s.Credentials {
		if s.Credentials[n].Default != nil {
			at := index("spec.credentials", n) + ".default"
			i.add(at, at+" would be a secret in clear", "credentials are given as references to secrets; remove the default")
		}
	}
	var names []string
	for n := range s.Outputs {
		names = append(names, s.Outputs[n].Name)
		if s.Outputs[n].Name == "" {
			i.required(index("spec.outputs", n)+".name", "")
		}
	}
	i.unique("spec.outputs", "name", names)
	for n := range s.Provides {
		p := &s.Provides[n]
		i.exactlyOne(index("spec.provides", n), map[string]bool{"gvk": p.GVK != nil, "interface": p.Interface != nil})
	}
	i.requirements("spec.requires", s.Requires)
	return i
}

func (i *Issues) inputs(path string, inputs []v1alpha1.ManifestInput) {
	var names []string
	for n := range inputs {
		in := &inputs[n]
		names = append(names, in.Name)
		if in.Name == "" {
			i.required(index(path, n)+".name", "")
		}
		if t := in.To; t != nil {
			i.exactlyOne(index(path, n)+".to", map[string]bool{"contextKey": t.ContextKey != "", "setter": t.Setter != "", "fieldPath": t.FieldPath != ""})
		}
	}
	i.unique(path, "name", names)
}

func (i *Issues) requirements(path string, reqs []v1alpha1.Requirement) {
	var aliases []string
	for n := range reqs {
		r, at := &reqs[n], index(path, n)
		aliases = append(aliases, r.Alias)
		i.exactlyOne(at, map[string]bool{
			"package or interface": r.Package != "" || r.Interface != nil,
			"gvk":                  r.GVK != nil,
			"platform":             r.Platform != nil,
			"anyOf":                len(r.AnyOf) > 0,
		})
		if f := r.Interface; f != nil {
			switch {
			case f.Reference != "" && f.Document != nil:
				i.add(at+".interface", at+".interface has reference and document, which exclude each other", "leave one of them")
			case f.Reference == "" && f.Document == nil && f.ID == "":
				i.add(at+".interface", at+".interface says nothing", "name an id, a reference or a document")
			}
			if d := f.Document; d != nil {
				i.documented(at+".interface.document.parameters", d.Parameters)
				i.documented(at+".interface.document.credentials", d.Credentials)
				i.documented(at+".interface.document.outputs", d.Outputs)
			}
		}
		if r.Package == "" && (r.Version != "" || r.Default != "") {
			i.add(at+".version", at+".version and default are of a package, and none is named", "versions of an interface or a platform stand in it")
		}
		i.labels(at+".labels", templatesLeftOut(r.Labels))
		i.requirements(at+".anyOf", r.AnyOf)
	}
	i.unique(path, "alias", aliases)
}

func (i *Issues) documented(path string, fields []v1alpha1.ManifestField) {
	for n := range fields {
		if fields[n].Name == "" && fields[n].ID == "" {
			i.required(index(path, n)+".name", "or an id, or both")
		}
	}
}
