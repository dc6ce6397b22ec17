package contents

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Break is what a newer package does to a CustomResourceDefinition, or to a
// CompositeResourceDefinition of which Crossplane makes one, that an API server
// refuses, or that those lose by who have objects of it.
type Break struct{ What, Do string }

// Breaks compares the definitions of a package with those that it had. Which versions a
// cluster has stored its own status alone knows: that which was to be stored, at least.
func Breaks(old, now *krm.Package) (out []Break) {
	if !slices.ContainsFunc(old.Paths(), func(name string) bool { // most updates leave them as they are
		f, _ := old.Read(name)
		if !bytes.Contains(f.Data, []byte("ResourceDefinition")) {
			return false
		}
		n, _ := now.Read(name)
		return !bytes.Equal(f.Data, n.Data)
	}) {
		return nil
	}
	was, is := definitions(old), definitions(now)
	for _, d := range was {
		add := func(what, do string) { out = append(out, Break{plain(d.name + " " + what), do}) }
		at := slices.IndexFunc(is, func(o definition) bool { return o.by == d.by && o.name == d.name })
		if at < 0 {
			add("goes", "the cluster deletes every "+d.kind+" with it: have its objects moved or deleted before")
			continue
		}
		n := is[at]
		if n.kind != d.kind || n.scope != d.scope {
			add(fmt.Sprintf("becomes a %s %s instead of a %s %s", n.scope, n.kind, d.scope, d.kind),
				"an API server refuses that: give the new definition another name")
		}
		for _, l := range append(dropped(d, n), losses(d, n)...) {
			add(l.what, l.do)
		}
	}
	return out
}

// dropped are versions that are stored or served no more.
func dropped(was, is definition) (out []loss) {
	for _, v := range was.versions {
		switch {
		case v.stored && !slices.ContainsFunc(is.versions, func(o served) bool { return o.name == v.name }):
			out = append(out, loss{
				what: "has no " + v.name + " any more, which was stored",
				do:   "an API server refuses that while status.storedVersions names it: keep the version with served: false, migrate its objects, and drop it in a later version of the package",
			})
		case v.served && !slices.ContainsFunc(is.versions, func(o served) bool { return o.name == v.name && o.served }):
			out = append(out, loss{what: "does not serve " + v.name + " any more", do: "move what reads or writes objects as " + v.name + " to another version before"})
		}
	}
	return out
}

// plain makes a part of a trailer, on one line, of what may hold text of others.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, s)
}

// definition is what defines a kind, as far as an update may break it. Its group and
// plural are its name, by is its own kind.
type definition struct {
	by, name, kind, scope string
	versions              []served
}

type served struct {
	name           string
	served, stored bool
	schema         *yaml.Node
}

// used says whether there can be objects of a version.
func (v served) used() bool { return v.served || v.stored }

// most is how many losses of a definition are told each, and not in one number.
const most = 20

// losses are what schemas narrow, of several versions alike once.
func losses(was, is definition) (out []loss) {
	versions := map[loss][]string{}
	for _, v := range was.versions {
		at := slices.IndexFunc(is.versions, func(o served) bool { return o.name == v.name })
		if at < 0 || !v.used() || !is.versions[at].used() {
			continue
		}
		for _, l := range narrowed(v.schema, is.versions[at].schema) {
			if versions[l] == nil {
				out = append(out, l)
			}
			versions[l] = append(versions[l], v.name)
		}
	}
	for i, l := range out {
		out[i].what = strings.Join(versions[l], ", ") + ": " + strings.TrimPrefix(l.field+": ", ": ") + l.what
	}
	if n := len(out) - most; n > 0 {
		out = append(out[:most:most], loss{what: fmt.Sprintf("admits less in %d more places", n), do: "read the difference of its schemas"})
	}
	return out
}

// definitions are those of a package, in the order of its files.
func definitions(p *krm.Package) (out []definition) {
	for _, r := range p.Resources() {
		var stored string // the field of a version that says so
		switch {
		case r.Kind() == "CustomResourceDefinition" && r.Group() == "apiextensions.k8s.io":
			stored = "storage"
		case r.Kind() == "CompositeResourceDefinition" && r.Group() == crossplane:
			stored = "referenceable"
		}
		if stored == "" || Tooling(r) {
			continue
		}
		spec := yamltree.Child(r.Node().YNode(), "spec")
		d := definition{by: r.Kind(), name: r.Name(), kind: yamltree.Text(spec, "names", "kind"), scope: yamltree.Text(spec, "scope")}
		if claim := yamltree.Text(spec, "claimNames", "kind"); claim != "" {
			d.kind += " and " + claim
		}
		if d.scope == "" && r.Group() == crossplane { // its defaults
			d.scope = "Namespaced"
			if r.APIVersion() == crossplane+"/v1" {
				d.scope = "LegacyCluster"
			}
		}
		for _, v := range yamltree.Items(spec, "versions") {
			d.versions = append(d.versions, served{yamltree.Text(v, "name"), yamltree.Text(v, "served") == "true", yamltree.Text(v, stored) == "true", yamltree.Path(v, "schema", "openAPIV3Schema")})
		}
		out = append(out, d)
	}
	return out
}
