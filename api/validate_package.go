package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// ValidatePackageManifest checks what a package says of itself
// (docs/design/kinds.md). Whether its templates read what exists is for the
// resolver, which knows the packages that they read.
func ValidatePackageManifest(m *v1alpha1.PackageManifest) Issues {
	var i Issues
	named := m.ObjectMeta
	if base, ok := packageName(m.Name); ok {
		named.Name = base
	}
	i.metadata(&named)
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
		if from := s.Outputs[n].ValueFrom; IsResourceField(from) {
			i.resourceField(index("spec.outputs", n)+".valueFrom", from, (*ResourceField).CheckReadable)
		}
	}
	i.unique("spec.outputs", "name", names)
	validateProvides(&i, "spec.provides", s.Provides)
	for n := range s.Parameters {
		if d := s.Parameters[n].Default; d != nil {
			i.defaultTemplate(index("spec.parameters", n)+".default", *d, s.Requires)
		}
	}
	i.requirements("spec.requires", s.Requires, s.Credentials)
	return i
}

// validateProvides checks that each entry has one of what a package can provide.
func validateProvides(i *Issues, field string, list []v1alpha1.Provide) {
	for n := range list {
		p := &list[n]
		i.exactlyOne(index(field, n), map[string]bool{"gvk": p.GVK != nil, "interface": p.Interface != nil, "object": p.Object != nil})
	}
}

// packageName is the last part of a package's name that is a path, or a reference
// such as registry.example.com:5000/org/name, as others need it by: no cluster ever
// has a manifest. False where another part is none of those.
func packageName(name string) (base string, ok bool) {
	parts := strings.Split(name, "/")
	for n, p := range parts[:len(parts)-1] {
		if host, port, has := strings.Cut(p, ":"); has && n == 0 {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return "", false
			}
			p = host
		}
		if CheckName(p) != nil {
			return "", false
		}
	}
	return parts[len(parts)-1], true
}

// resourceField checks a field path, and what may be done with its field.
func (i *Issues) resourceField(at, text string, allowed func(*ResourceField) error) {
	f, err := ParseResourceField(text)
	if err == nil {
		err = allowed(f)
	}
	if err != nil {
		i.add(at, at+": "+err.Error(), "a field path is Kind/name:path, such as Service/db:spec.ports[name=sql].port")
	}
}

// defaultTemplate checks a default, which may read outputs of the package's own
// dependencies.
func (i *Issues) defaultTemplate(at, text string, requires []v1alpha1.Requirement) {
	paths, err := TemplatePaths(text)
	if err != nil {
		i.add(at, at+": "+err.Error(), templateHint)
		return
	}
	for _, path := range paths {
		rest, ok := strings.CutPrefix(path, "bundle.dependencies.")
		if !ok {
			continue
		}
		alias, output, ok := strings.Cut(rest, ".outputs.")
		switch {
		case !ok || alias == "" || output == "":
			i.add(at, at+": ${"+path+"} names no output of a dependency", templateHint)
		case !hasAlias(requires, alias):
			i.add(at, at+": ${"+path+"} reads a dependency "+strconv.Quote(alias)+" that spec.requires does not have", "give one that alias or correct the template")
		}
	}
}

const templateHint = "write ${bundle.dependencies.<alias>.outputs.<name>}"

func hasAlias(requires []v1alpha1.Requirement, alias string) bool {
	return slices.ContainsFunc(requires, func(r v1alpha1.Requirement) bool { return r.Alias == alias || hasAlias(r.AnyOf, alias) })
}

// templates checks that the templates of a map end and name something.
func (i *Issues) templates(at string, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if _, err := TemplatePaths(m[key]); err != nil {
			where := at + "[" + key + "]"
			i.add(where, where+": "+err.Error(), templateHint)
		}
	}
}

// TemplatePaths lists what the expressions of a template (Porter PEP003) read,
// in order: "bundle.parameters.host" of "${bundle.parameters.host}:80". It
// fails for an expression that does not end or that names nothing.
func TemplatePaths(text string) ([]string, error) {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "${")
		if !ok {
			return out, nil
		}
		path, after, ok := strings.Cut(rest, "}")
		if !ok {
			return out, fmt.Errorf("the template %q has no closing brace", shorten("${"+rest))
		}
		path = strings.TrimSpace(path)
		if path == "" || strings.ContainsAny(path, " \t\n${") || slices.Contains(strings.Split(path, "."), "") {
			return out, fmt.Errorf("the template ${%s} names nothing that could be read", shorten(path))
		}
		out, text = append(out, path), after
	}
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
			if t.FieldPath != "" && t.ContextKey == "" && t.Setter == "" {
				i.resourceField(index(path, n)+".to.fieldPath", t.FieldPath, (*ResourceField).CheckSettable)
			}
			if t.ContextKey != "" {
				if err := CheckContextKey(t.ContextKey); err != nil {
					at := index(path, n) + ".to.contextKey"
					i.add(at, at+": "+err.Error(), "choose another key")
				}
			}
			i.exactlyOne(index(path, n)+".to", map[string]bool{"contextKey": t.ContextKey != "", "setter": t.Setter != "", "fieldPath": t.FieldPath != ""})
		}
	}
	i.unique(path, "name", names)
}

// references checks that each value is a credential of the package's own, so
// that what travels is the name of a Secret. Nothing of a value is in an issue:
// it may be a password.
func (i *Issues) references(at string, values map[string]string, own []v1alpha1.ManifestInput) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		where := keyed(at, key)
		path, begins := strings.CutPrefix(strings.TrimSpace(values[key]), "${")
		path, ends := strings.CutSuffix(path, "}")
		name, is := strings.CutPrefix(strings.TrimSpace(path), "bundle.credentials.")
		switch {
		case !begins || !ends || !is || strings.ContainsAny(name, "${} \t\n"):
			i.add(where, where+" must be a reference to a credential of this package: a literal or an output would stand in Git", referenceHint)
		case !slices.ContainsFunc(own, func(c v1alpha1.ManifestInput) bool { return c.Name == name }):
			i.add(where, fmt.Sprintf("%s reads a credential %q that spec.credentials does not have", where, shorten(name)), referenceHint)
		}
	}
}

const referenceHint = "write ${bundle.credentials.<name>} with that name in spec.credentials; its Installation says credentials: {<name>: {name: <a Secret>, key: <its key>}}"

func (i *Issues) requirements(path string, reqs []v1alpha1.Requirement, credentials []v1alpha1.ManifestInput) {
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
		i.templates(at+".parameters", r.Parameters)
		i.references(at+".credentials", r.Credentials, credentials)
		i.templates(at+".outputs", r.Outputs)
		i.requirements(at+".anyOf", r.AnyOf, credentials)
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
