package porter

import (
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// bundle reads bundle.json. The extension stands under custom, or, in an excerpt, by itself.
func bundle(root dialect.Node) resolver.Package {
	f := root.Some("name", "version", "parameters", "credentials", "outputs", "definitions")
	definitions := f["definitions"]
	p := resolver.Package{
		Package: f["name"].Text(), Version: f["version"].Text(),
		Parameters: named(f["parameters"], definitions), Credentials: named(f["credentials"], definitions), Outputs: named(f["outputs"], definitions),
	}
	// A credential of a bundle is optional unless it says otherwise, and so is a parameter (CNAB, section 101).
	for _, list := range [][]resolver.Field{p.Parameters, p.Credentials} {
		for i := range list {
			if list[i].Required == nil {
				list[i].Required = new(bool)
			}
		}
	}
	ext := root.Get("custom", Extension)
	if !ext.Is() {
		ext = root.Get(Extension)
	}
	in := ext.Fields("requires", "provides")
	p.Provides = provides(in["provides"])
	in["requires"].Keyed(func(alias string, n dialect.Node) {
		f := n.Fields("bundle", "version", "interface", "credentials", "parameters", "outputs", "sharing")
		r := requirement(f)
		r.Alias, r.Namespace = alias, nil
		p.Requires = append(p.Requires, r)
	})
	return p
}

// named reads a map of parameters, credentials or outputs by name, whose types stand in definitions.
func named(m, definitions dialect.Node) []resolver.Field {
	var out []resolver.Field
	m.Keyed(func(name string, n dialect.Node) {
		f := n.Some("type", "$id", "default", "required", "definition")
		if d := f["definition"]; d.Is() {
			for k, v := range definitions.Get(d.Text()).Some("type", "$id", "default") {
				f[k] = v
			}
		}
		d := field(f)
		d.Name = name
		out = append(out, d)
	})
	return out
}

// installation reads an Installation resource. What its status says is a cache, which is not looked at.
func installation(root dialect.Node) resolver.Installation {
	f := root.Some("name", "namespace", "labels", "bundle", "sharing")
	b := f["bundle"].Some("repository", "version", "tag")
	i := resolver.Installation{
		Name: f["name"].Text(), Namespace: f["namespace"].Text(), Labels: f["labels"].TextMap(),
		Package: b["repository"].Text(), Version: b["version"].Text(),
	}
	if i.Version == "" {
		i.Version = b["tag"].Text()
	}
	s := share(f["sharing"])
	i.Mode, i.Group = s.Mode, s.Group
	if !f["name"].Is() {
		root.Error("the installation has no name", "")
	}
	return i
}
