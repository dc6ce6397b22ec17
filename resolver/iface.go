package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// reference finds the package that "name" or "name:version" names; without a version, its newest.
func (c *Catalog) reference(ref string) *version {
	if vs := c.versions(ref); len(vs) > 0 {
		return vs[0]
	}
	name, v, ok := CutReference(ref)
	if !ok {
		return nil
	}
	return c.find(name, v)
}

// CutReference splits "name:version" and "name@digest"; a colon before a slash is a registry's port, and beside a
// digest a tag means nothing. ok is false without either.
func CutReference(ref string) (name, version string, ok bool) {
	if before, digest, pinned := strings.Cut(ref, "@"); pinned && digest != "" {
		name, _, _ = CutReference(before)
		return name, digest, true
	}
	i := strings.LastIndex(ref, ":")
	if i < 0 || strings.Contains(ref[i:], "/") {
		return ref, "", false
	}
	return ref[:i], ref[i+1:], true
}

// contract is what an implementation of a requirement must have.
type contract struct {
	id, versionRange string
	doc              Document
	uses, reads      []string // outputs that the parent reads by name, and by the name that the interface gives them too
	of               *Requirement
}

// contract composes a requirement's interface: what its parent reads of it, and its reference or document.
func (c *Catalog) contract(p *Package, r *Requirement) contract {
	reads := usedOutputs(p, r)
	k := contract{uses: reads, reads: reads, of: r}
	i := r.Interface
	if i == nil {
		return k
	}
	k.id, k.versionRange = i.id(), i.Version
	k.doc = Document{slices.Clone(i.Parameters), slices.Clone(i.Credentials), slices.Clone(i.Outputs)}
	if d := i.Document; d != nil {
		k.doc.Parameters = append(k.doc.Parameters, d.Parameters...)
		k.doc.Credentials = append(k.doc.Credentials, d.Credentials...)
		k.doc.Outputs = append(k.doc.Outputs, d.Outputs...)
	}
	if v := c.reference(i.Reference); i.Reference != "" && v != nil {
		k.doc.Parameters = append(k.doc.Parameters, v.Parameters...)
		k.doc.Credentials = append(k.doc.Credentials, v.Credentials...)
		k.doc.Outputs = append(k.doc.Outputs, v.Outputs...)
	}
	// An output that the interface names under an identifier is read under that name.
	k.uses = slices.DeleteFunc(slices.Clone(reads), func(name string) bool { return k.named(name) != nil })
	return k
}

// match finds the field that stands for want: by identifier where want has one, else by name and type.
func match(want Field, have []Field) (Field, bool) {
	for _, h := range have {
		if want.ID != "" && h.ID == want.ID || want.ID == "" && h.Name == want.Name && (want.Type == "" || want.Type == h.Type) {
			return h, true
		}
	}
	return Field{}, false
}

// missing lists the outputs of a contract that are not among some outputs, as a person would name them.
func (k contract) missing(outputs []Field) []string {
	var out []string
	for _, u := range k.uses {
		if _, ok := match(Field{Name: u}, outputs); !ok {
			out = append(out, "output "+u)
		}
	}
	return append(out, lacking("output", k.doc.Outputs, outputs)...)
}

func lacking(what string, want, have []Field) []string {
	var out []string
	for _, w := range want {
		if _, ok := match(w, have); !ok {
			out = append(out, what+" "+w.describe())
		}
	}
	return out
}

func (f Field) describe() string {
	switch {
	case f.ID != "" && f.Name != "":
		return fmt.Sprintf("%s (id %s)", f.Name, f.ID)
	case f.ID != "":
		return "with id " + f.ID
	case f.Type != "":
		return fmt.Sprintf("%s of type %s", f.Name, f.Type)
	}
	return f.Name
}

// offered tells whether what is provided includes the contract's interface, in its range of versions.
func (k contract) offered(provides []Provide, rs *ranges) bool {
	if k.id == "" {
		return true
	}
	for _, p := range provides {
		if !sameInterface(p.Interface, k.id) {
			continue
		}
		if k.versionRange == "" {
			return true
		}
		c, err := rs.get(k.versionRange)
		v, verr := parseVersion(p.Version)
		if err == nil && verr == nil && c.Check(v) {
			return true
		}
	}
	return false
}

// sameInterface compares identifiers; a bare name stands for the last part of a dotted one.
func sameInterface(provided, wanted string) bool {
	return provided == wanted || provided != "" && !strings.ContainsAny(wanted, "./") && strings.HasSuffix(provided, "."+wanted)
}

// named returns the output of the interface that the parent reads under a name, nil for none.
func (k contract) named(output string) *Field {
	if n := slices.IndexFunc(k.doc.Outputs, func(f Field) bool { return f.Name == output }); n >= 0 {
		return &k.doc.Outputs[n]
	}
	return nil
}

// own is the contract of the version that the requirement names itself: what the parent reads, by the name that the
// output or the interface has. An interface is for what else may be chosen.
func (k contract) own(outputs []Field) contract {
	uses := slices.DeleteFunc(slices.Clone(k.reads), func(name string) bool {
		f := k.named(name)
		if f == nil {
			return false
		}
		_, ok := match(*f, outputs)
		return ok
	})
	return contract{uses: uses, of: &Requirement{Uses: k.of.Uses}}
}

// unmet lists why a version cannot stand in for a requirement; nil means that it can.
func (k contract) unmet(p *Package, rs *ranges) []string {
	if k.of.names(p) {
		k = k.own(p.Outputs)
	}
	var out []string
	if !k.offered(p.Provides, rs) {
		out = append(out, strings.TrimSpace("interface "+k.id+" "+k.versionRange))
	}
	out = append(out, k.missing(p.Outputs)...)
	out = append(out, lacking("parameter", k.doc.Parameters, p.Parameters)...)
	for _, u := range k.of.Uses.Parameters {
		if _, ok := match(Field{Name: u}, p.Parameters); !ok {
			out = append(out, "parameter "+u)
		}
	}
	return append(out, lacking("credential", k.doc.Credentials, p.Credentials)...)
}

// outputMap maps the interface's names of outputs to the names that they have in an implementation.
func (k contract) outputMap(outputs []Field) map[string]string {
	m := map[string]string{}
	for _, w := range k.doc.Outputs {
		if h, ok := match(w, outputs); ok && w.Name != "" {
			m[w.Name] = h.Name
		}
	}
	return m
}

// byInterface tells whether an installation of any package may meet the requirement.
func (k contract) byInterface() bool {
	return k.id != "" || len(k.doc.Outputs) > 0
}
