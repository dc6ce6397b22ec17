// Package porter reads Porter's bundles: porter.yaml with dependencies as
// Porter PEP003 has them in its implementable form (bundle, sharing) and in its
// provisional one (reference, labels, namespace, lifecycle), bundle.json with
// the custom extension org.getporter.dependencies@v2 or io.cnab.dependencies,
// and Installation resources.
//
//	docs, err := porter.Read([]byte("name: app\nversion: 1.0.0\ndependencies: {requires: [{name: olm}]}"))
package porter

import (
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// Extension is the key of dependencies in a bundle.json, and ExtensionV1 that of the form before, which CNAB itself
// describes (section 500). Where a bundle has both, the newer one counts.
const (
	Extension   = "org.getporter.dependencies@v2"
	ExtensionV1 = "io.cnab.dependencies"
)

// Read reads one file of Porter's. A bundle's package is its repository
// ("registry/name"), as dependencies refer to it.
func Read(data []byte) (*dialect.Documents, error) {
	return dialect.Read(data, func(r *dialect.Reader, root dialect.Node) bool {
		switch {
		case extension(root, Extension).Is() || extension(root, ExtensionV1).Is() || root.Get("invocationImages").Is():
			r.Packages = append(r.Packages, bundle(root))
		case root.Get("schemaType").Text() == "Installation":
			r.Installations = append(r.Installations, installation(root))
		case root.Get("dependencies").Is() || root.Get("name").Is() || root.Get("parameters").Is() || root.Get("credentials").Is() || root.Get("outputs").Is():
			r.Packages = append(r.Packages, manifest(root))
		default:
			return false
		}
		return true
	})
}

// manifest reads porter.yaml. What other systems read of it (mixins, actions) is only searched for outputs of
// dependencies.
func manifest(root dialect.Node) resolver.Package {
	f := root.Some("name", "version", "registry", "reference", "parameters", "credentials", "outputs", "dependencies")
	p := resolver.Package{
		Package: repository(f["reference"].Text(), f["registry"].Text(), f["name"].Text()), Version: wholeVersion(f["version"]),
		Parameters: fields(f["parameters"]), Credentials: fields(f["credentials"]), Outputs: fields(f["outputs"]),
	}
	for _, n := range f["credentials"].Items() {
		for _, v := range n.Some("default", "value") {
			v.Error(v.Path()+" would be a secret in clear", "leave it out: credentials are given where the bundle is installed")
		}
	}
	d := f["dependencies"]
	if d.IsList() {
		d.Warn("dependencies is a list of bundles, as before PEP 003", "put the list under dependencies.requires")
		p.Requires = requirements(d)
	} else {
		parts := d.Fields("requires", "provides")
		p.Requires, p.Provides = requirements(parts["requires"]), provides(parts["provides"])
	}
	root.Keyed(func(key string, value dialect.Node) {
		if key != "dependencies" {
			value.Walk(func(v dialect.Node) {
				for _, read := range resolver.OutputReads(v.Text()) {
					use(&p, v, read[0], read[1])
				}
			})
		}
	})
	for _, list := range []dialect.Node{f["parameters"], f["credentials"]} {
		if !list.IsList() {
			continue
		}
		for _, n := range list.Items() {
			if s := n.Get("source").Some("dependency", "output"); s["dependency"].Is() && s["output"].Is() {
				use(&p, s["output"], s["dependency"].Text(), s["output"].Text())
			}
		}
	}
	return p
}

func repository(reference, registry, name string) string {
	switch {
	case reference != "":
		name, _, _ = dialect.Reference(reference)
	case registry != "" && name != "":
		return registry + "/" + name
	}
	return name
}

// use records an output of a dependency that is read.
func use(p *resolver.Package, v dialect.Node, alias, output string) {
	for i := range p.Requires {
		if r := &p.Requires[i]; r.Alias == alias {
			r.Uses.Outputs = append(r.Uses.Outputs, output)
			return
		}
	}
	v.Warn("it reads the output "+output+" of "+alias+", but no dependency is called so", aliasHint(p))
}

func aliasHint(p *resolver.Package) string {
	var names []string
	for i := range p.Requires {
		names = append(names, p.Requires[i].Alias)
	}
	if names == nil {
		return "there are no dependencies"
	}
	return "the dependencies are " + strings.Join(names, ", ")
}

func requirements(list dialect.Node) []resolver.Requirement {
	var out []resolver.Requirement
	for _, n := range list.Items() {
		f := n.Fields("name", "bundle", "reference", "version", "interface", "namespace", "labels", "credentials", "parameters", "outputs", "sharing", "lifecycle")
		if !f["name"].Is() {
			n.Error(n.Path()+" has no name", "templates and overrides need one")
		}
		r := requirement(f)
		r.Alias = f["name"].Text()
		if r.Package == "" && r.Interface == nil {
			r.Package = r.Alias // provisional form: the name is the bundle's where nothing else is said
		}
		out = append(out, r)
	}
	return out
}

// requirement reads the criteria of a dependency, under bundle (PEP003's implementable form) or beside it (its
// provisional one, and the extension of bundle.json).
func requirement(f map[string]dialect.Node) resolver.Requirement {
	r := resolver.Requirement{
		Labels: f["labels"].TextMap(), Parameters: f["parameters"].TextMap(), Credentials: references(f["credentials"]),
		Outputs: f["outputs"].TextMap(), Share: share(f["sharing"]), Lifecycle: lifecycle(f["lifecycle"]),
	}
	switch b := f["bundle"]; {
	case b.IsMap():
		in := b.Fields("reference", "version", "interface", "credentials", "parameters", "outputs", "sharing")
		criteria(&r, in)
		r.Parameters, r.Outputs = both(r.Parameters, in["parameters"].TextMap()), both(r.Outputs, in["outputs"].TextMap())
		r.Credentials = both(r.Credentials, references(in["credentials"]))
		if in["sharing"].Is() {
			r.Share = share(in["sharing"])
		}
	case b.Is():
		f["reference"] = b
		criteria(&r, f)
	default:
		criteria(&r, f)
		ns := f["namespace"].Text() // provisional form: without one, a new installation is global
		r.Namespace = &ns
	}
	return r
}

// both are the entries of two maps; those of the first count.
func both(m, more map[string]string) map[string]string {
	if len(m) == 0 {
		return more
	}
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, m)
	return out
}

// references are the credentials that a dependency gets: templates, never values. Nothing of a value is told.
func references(n dialect.Node) map[string]string {
	out := n.TextMap()
	n.Keyed(func(_ string, value dialect.Node) {
		if text := strings.TrimSpace(value.Text()); !strings.HasPrefix(text, "${") || !strings.HasSuffix(text, "}") {
			value.Error(value.Path()+" must be a reference: a literal would be a secret in clear", "write ${bundle.credentials.<name>}")
		}
	})
	return out
}

func criteria(r *resolver.Requirement, f map[string]dialect.Node) {
	r.Version = f["version"].Text()
	if ref := f["reference"]; ref.Is() {
		r.Package, r.Default = dialect.Version(ref)
		switch pinned := api.DigestOf(r.Default) != ""; {
		case pinned && r.Version == "":
			r.Version, r.Default = r.Default, "" // nothing else will do, what is there included
		case pinned:
			ref.Warn(ref.Path()+" pins a digest beside a range of versions: the digest counts only where no version is in the range", "leave the range out")
		}
	}
	if i := f["interface"]; i.Is() {
		r.Interface = requiredInterface(i)
	}
}

func requiredInterface(n dialect.Node) *resolver.Interface {
	f := n.Fields("id", "name", "version", "reference", "document", "parameters", "credentials", "outputs")
	i := &resolver.Interface{
		ID: f["id"].Text(), Name: f["name"].Text(), Version: f["version"].Text(), Reference: f["reference"].Text(),
		Parameters: fields(f["parameters"]), Credentials: fields(f["credentials"]), Outputs: fields(f["outputs"]),
	}
	if d := f["document"]; d.Is() {
		in := d.Fields("parameters", "credentials", "outputs")
		i.Document = &resolver.Document{Parameters: fields(in["parameters"]), Credentials: fields(in["credentials"]), Outputs: fields(in["outputs"])}
	}
	return i
}

// share reads the sharing criteria; Porter itself writes the mode as true and false.
func share(n dialect.Node) resolver.Share {
	f := n.Fields("mode", "group")
	s := resolver.Share{Mode: f["mode"].Text()}
	switch s.Mode {
	case "true":
		s.Mode = resolver.ModeGroup
	case "false":
		s.Mode = resolver.ModeNone
	}
	if g := f["group"]; g.IsMap() {
		s.Group = g.Fields("name")["name"].Text()
	} else {
		s.Group = g.Text()
	}
	return s
}

func lifecycle(n dialect.Node) resolver.Lifecycle {
	f := n.Fields("managed", "upgrade", "invoke", "uninstall")
	managed := f["managed"].Bool()
	return resolver.Lifecycle{
		Managed: managed != nil && *managed, Upgrade: f["upgrade"].Bool(), Invoke: f["invoke"].Bool(), Uninstall: f["uninstall"].Bool(),
	}
}

// provides reads one interface under its name (PEP003's implementable form) or a list of them with versions (its
// provisional one).
func provides(n dialect.Node) []resolver.Provide {
	if !n.Is() {
		return nil
	}
	items := []dialect.Node{n}
	if n.IsList() {
		items = n.Items()
	}
	var out []resolver.Provide
	for _, item := range items {
		f := item.Fields("interface", "version")
		p := resolver.Provide{Version: f["version"].Text()}
		if i := f["interface"]; i.IsMap() {
			in := i.Fields("id", "version")
			p.Interface = in["id"].Text()
			if in["version"].Is() {
				p.Version = in["version"].Text()
			}
		} else {
			p.Interface = i.Text()
		}
		out = append(out, p)
	}
	return out
}

// fields reads parameters, credentials or outputs: a list with names.
func fields(list dialect.Node) []resolver.Field {
	var out []resolver.Field
	if list.IsMap() && !list.Get("name").IsScalar() && !list.Get("$id").IsScalar() {
		return named(list, dialect.Node{})
	}
	for _, n := range list.Items() {
		d := field(n.Some("name", "type", "$id", "default", "required"))
		if at := slices.IndexFunc(out, func(o resolver.Field) bool { return o.Name == d.Name }); at >= 0 && d.Name != "" {
			n.Warn(n.Path()+" has the name "+d.Name+" once more: as in Porter, the last one counts", "remove the others")
			out[at] = d
			continue
		}
		out = append(out, d)
	}
	return out
}

// wholeVersion is a version as Porter reads it: 1.19 is 1.19.0.
func wholeVersion(n dialect.Node) string {
	text := n.Text()
	if v, err := semver.NewVersion(text); err == nil && strings.TrimPrefix(text, "v") != v.String() {
		n.Warn(n.Path()+" is no full semantic version: "+text+" is read as "+v.String(), "write three numbers")
		return v.String()
	}
	return text
}

func field(f map[string]dialect.Node) resolver.Field {
	d := resolver.Field{Name: f["name"].Text(), ID: f["$id"].Text(), Required: f["required"].Bool()}
	if t := f["type"]; t.IsScalar() { // a list of types is none that could be compared
		d.Type = t.Text()
	}
	if v := f["default"]; v.Is() {
		text := ""
		if v.IsScalar() {
			text = v.Text()
		}
		d.Default = &text
	}
	return d
}
