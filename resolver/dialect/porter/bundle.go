package porter

import (
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// extension is a custom extension of a bundle. It stands under custom, or, in an excerpt, by itself.
func extension(root dialect.Node, name string) dialect.Node {
	if ext := root.Get("custom", name); ext.Is() {
		return ext
	}
	return root.Get(name)
}

// cnab reads the dependencies of CNAB's own extension: bundles by alias, any of whose ranges will do, and the sequence
// in which they are to run.
func cnab(ext dialect.Node) []resolver.Requirement {
	var out []resolver.Requirement
	in := ext.Fields("sequence", "requires")
	in["requires"].Keyed(func(alias string, n dialect.Node) {
		f := n.Fields("bundle", "version")
		r := resolver.Requirement{Alias: alias}
		if r.Package, r.Default = dialect.Version(f["bundle"]); r.Package == "" {
			n.Error(n.Path()+" names no bundle", "write bundle: registry/name")
		}
		v := f["version"].Fields("ranges", "prereleases")
		if r.Version = strings.Join(v["ranges"].Texts(), " || "); r.Version == "" && api.DigestOf(r.Default) != "" {
			r.Version, r.Default = r.Default, ""
		}
		if any := v["prereleases"].Bool(); any != nil && *any {
			r.Prereleases = &resolver.Prereleases{}
		}
		out = append(out, r)
	})
	var before []string
	for _, n := range in["sequence"].Items() {
		at := slices.IndexFunc(out, func(r resolver.Requirement) bool { return r.Alias == n.Text() })
		if at < 0 {
			n.Warn(n.Path()+": no dependency is called "+n.Text(), "")
			continue
		}
		out[at].After = slices.Clone(before)
		before = append(before, n.Text())
	}
	return out
}

// bundle reads bundle.json.
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
	ext := extension(root, Extension)
	if !ext.Is() {
		p.Requires = cnab(extension(root, ExtensionV1))
		return p
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
	b := f["bundle"].Some("repository", "version", "tag", "digest")
	i := resolver.Installation{
		Name: f["name"].Text(), Namespace: f["namespace"].Text(), Labels: f["labels"].TextMap(),
		Package: b["repository"].Text(), Version: b["version"].Text(), Digest: b["digest"].Text(),
	}
	if i.Version == "" {
		i.Version = b["tag"].Text()
	}
	if i.Version == "" {
		i.Version = i.Digest
	}
	s := share(f["sharing"])
	i.Mode, i.Group = s.Mode, s.Group
	if !f["name"].Is() {
		root.Error("the installation has no name", "")
	}
	return i
}
