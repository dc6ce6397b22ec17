// Package crossplane reads Crossplane's packages: Package, PackageRevision and
// PackageLock as Crossplane's packages v2 designed them, and what Crossplane
// has today: the metadata of a Configuration, Provider or Function
// (meta.pkg.crossplane.io, with the definitions that follow it in a package's
// stream), installed ones and the Lock (pkg.crossplane.io).
//
//	docs, err := crossplane.Read(data) // docs.Packages[0].Requires is spec.dependsOn
//
// Everything is scoped to the cluster. A package's own repository and version
// are those of its image, which its metadata does not name.
package crossplane

import (
	"strings"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// Platform is the name under which the version of Crossplane itself is known.
const Platform = "crossplane"

// Read reads the documents of one file; other kinds between them are passed over.
func Read(data []byte) (*dialect.Documents, error) {
	f := &file{owners: map[int]owner{}}
	docs, err := dialect.Read(data, func(r *dialect.Reader, root dialect.Node) bool {
		f.r = r
		return f.document(root)
	})
	if err != nil {
		return nil, err
	}
	f.identify(docs)
	return docs, nil
}

// file is the state of reading one file.
type file struct {
	r      *dialect.Reader
	meta   bool          // the last of Packages takes the definitions that follow
	owners map[int]owner // by the index of a package that was read of a revision: what controls that
}

// owner is the package that controls a revision, and whether that is the active one.
type owner struct {
	name   string
	active bool
}

// identify tells which package a revision is of, where the file has that too, and the version of the active one.
func (f *file) identify(docs *dialect.Documents) {
	for n, owner := range f.owners {
		p := &docs.Packages[n]
		for _, q := range docs.Requests {
			if q.Name != owner.name {
				continue
			}
			p.Package = q.Package
			if owner.active && resolver.IsVersion(q.Version) {
				p.Version = q.Version
			}
		}
	}
}

func (f *file) document(root dialect.Node) bool {
	group, _, _ := strings.Cut(root.Get("apiVersion").Text(), "/")
	kind := root.Get("kind").Text()
	if group == "apiextensions.k8s.io" || group == "apiextensions.crossplane.io" {
		f.definition(group, kind, root)
		return false
	}
	if group == "meta.dev.upbound.io" && kind == "Project" { // what a Configuration is built from
		f.metadata(root)
		return true
	}
	if group != "crossplane.io" && !strings.HasSuffix(group, ".crossplane.io") {
		return false
	}
	isPackage := kind == "Configuration" || kind == "Provider" || kind == "Function"
	switch {
	case group == "meta.pkg.crossplane.io" && isPackage:
		f.metadata(root)
	case kind == "Package", isPackage:
		f.installed(root, kind)
	case kind == "PackageRevision":
		f.designedRevision(root)
	case kind == "PackageLock":
		f.r.Lock = designedLock(root)
	case kind == "Lock":
		f.r.Lock = lock(root)
	default:
		return false
	}
	return true
}

// metadata reads what is today's crossplane.yaml, or an upbound.yaml, which has the same fields and more.
func (f *file) metadata(root dialect.Node) {
	spec := root.Get("spec").Some("crossplane", "dependsOn")
	p := resolver.Package{Scope: resolver.ScopeCluster, Requires: dependencies(spec["dependsOn"])}
	if v := spec["crossplane"].Get("version"); v.Is() {
		p.Requires = append(p.Requires, resolver.Requirement{Alias: Platform, Platform: Platform, Version: v.Text()})
	}
	p.Requires = dialect.UniqueAliases(p.Requires)
	f.r.Packages, f.meta = append(f.r.Packages, p), true
}

// definition adds what a package brings to the one whose metadata came before. Webhook configurations are not among it:
// Crossplane calls them like the package that it installs.
func (f *file) definition(group, kind string, root dialect.Node) {
	if !f.meta {
		return
	}
	p := &f.r.Packages[len(f.r.Packages)-1]
	spec := root.Get("spec").Some("group", "names", "claimNames", "versions")
	switch kind {
	case "CustomResourceDefinition", "CompositeResourceDefinition":
		for _, names := range []string{"names", "claimNames"} {
			for _, v := range spec["versions"].Items() {
				if served := v.Get("served").Bool(); !spec[names].Is() || served != nil && !*served {
					continue
				}
				p.Provides = append(p.Provides, resolver.Provide{GVK: &resolver.GVK{
					APIVersion: spec["group"].Text() + "/" + v.Get("name").Text(), Kind: spec[names].Get("kind").Text(),
				}})
			}
		}
	}
	name := root.Get("metadata", "name").Text()
	if kind != "CustomResourceDefinition" { // its API says the same
		p.Bring(resolver.Object{Group: group, Kind: kind, Name: name})
	}
}

// dependencies reads the entries of dependsOn, the design's and today's: exactly one of an API, a range of
// Crossplane's versions, and a package by whatever kind.
func dependencies(list dialect.Node) []resolver.Requirement {
	var out []resolver.Requirement
	for _, n := range list.Items() {
		f := n.Fields("package", "crd", "crossplane", "version", "provider", "configuration", "function", "apiVersion", "kind")
		r := resolver.Requirement{Version: f["version"].Text()}
		kinds := 0
		for _, name := range []string{"package", "provider", "configuration", "function"} {
			if p := f[name]; p.Is() {
				kinds++
				r.Package, r.Version = packageRange(p, r.Version)
				r.Alias = base(r.Package)
			}
		}
		if c := f["crd"]; c.Is() {
			kinds++
			r.GVK = gvk(c)
			r.Alias = r.GVK.Kind
		}
		if c := f["crossplane"]; c.Is() {
			kinds++
			r.Alias, r.Platform, r.Version = Platform, Platform, c.Text()
		}
		if kinds != 1 {
			n.Error(n.Path()+" must have exactly one of package, crd and crossplane", "or of provider, configuration and function")
		}
		out = append(out, r)
	}
	return dialect.UniqueAliases(out)
}

// packageRange reads an image with a range of versions or a digest: "image:range", "image range", "image@digest", or
// the range beside it.
func packageRange(n dialect.Node, beside string) (name, versions string) {
	text := strings.TrimSpace(n.Text())
	name, versions, _ = strings.Cut(text, " ")
	if strings.Contains(name, "@") {
		name, versions = dialect.Version(n)
	} else if i := strings.LastIndex(text, ":"); i >= 0 && !strings.Contains(text[i:], "/") {
		name, versions = text[:i], text[i+1:]
	}
	versions = strings.TrimSpace(versions)
	if versions != "" && beside != "" && versions != beside {
		n.Warn(n.Path()+" has a range or a digest, and version another: version is taken", "leave one of them")
	}
	if beside != "" {
		return name, beside
	}
	return name, versions
}

func base(image string) string { return image[strings.LastIndex(image, "/")+1:] }

// gvk reads an API as a map, or as "group/version/Kind".
func gvk(n dialect.Node) *resolver.GVK {
	g := &resolver.GVK{}
	if n.IsMap() {
		f := n.Fields("apiVersion", "kind")
		g.APIVersion, g.Kind = f["apiVersion"].Text(), f["kind"].Text()
	} else if i := strings.LastIndexAny(n.Text(), "/"); i > 0 {
		g.APIVersion, g.Kind = n.Text()[:i], n.Text()[i+1:]
	}
	if g.APIVersion == "" || g.Kind == "" {
		n.Error(n.Path()+` is no API`, "write group/version/Kind, or a map of apiVersion and kind")
	}
	return g
}
