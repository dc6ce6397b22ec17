package crossplane

import (
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// installed reads a Package of the design, or an installed Configuration, Provider or Function: what is asked
// for, and, with a current revision, that it is there.
func (f *file) installed(root dialect.Node, kind string) {
	n := root.Get("spec")
	var spec map[string]dialect.Node
	if kind == "Package" {
		spec = n.Fields("package", "revisionActivationPolicy", "revisionHistoryLimit", "imagePullSecrets", "imagePullPolicy", "serviceAccount")
	} else {
		spec = n.Some("package", "skipDependencyResolution")
	}
	name := root.Get("metadata", "name").Text()
	if name == "" || !spec["package"].Is() {
		root.Error("a "+kind+" needs metadata.name and spec.package", "")
		return
	}
	q := resolver.Request{Name: name, Allow: resolver.Changes{Upgrade: true}}
	q.Package, q.Version = dialect.Version(spec["package"])
	if skip := spec["skipDependencyResolution"].Bool(); skip != nil {
		q.SkipDependencies = *skip
	}
	f.r.Requests = append(f.r.Requests, q)

	f.current(root.Get("status", "currentRevision"), &q)
}

// current reads the name of the active revision: a digest, or a full image name, as the design has it in
// different places.
func (f *file) current(n dialect.Node, q *resolver.Request) {
	if !n.Is() {
		return
	}
	i := resolver.Installation{Name: q.Name, Package: q.Package, Version: q.Version, Digest: api.DigestOf(n.Text())}
	if i.Version == "" {
		i.Version = i.Digest
	}
	if name, tag, _ := dialect.Reference(n.Text()); strings.Contains(name, "/") || resolver.IsVersion(tag) {
		n.Warn(n.Path()+" is a full image name", "it is the name of a revision, which is a digest")
		if resolver.IsVersion(tag) {
			i.Version = tag
		}
	}
	if i.Version != "" {
		f.r.Installations = append(f.r.Installations, i)
	}
}

// designedRevision reads a PackageRevision: a version with what it brings and needs.
func (f *file) designedRevision(root dialect.Node) {
	spec := root.Get("spec").Fields("customResourceDefinitions", "infrastructureDefinitions", "infrastructurePublications", "compositions",
		"controller", "installJobRef", "permissions", "dependsOn", "desiredState", "revision")
	p := resolver.Package{Scope: resolver.ScopeCluster, Digest: root.Get("metadata", "name").Text(), Requires: dependencies(spec["dependsOn"])}
	for _, list := range []string{"customResourceDefinitions", "infrastructureDefinitions", "infrastructurePublications"} {
		for _, n := range spec[list].Items() {
			p.Provides = append(p.Provides, resolver.Provide{GVK: gvk(n)})
		}
	}
	for _, n := range spec["compositions"].Items() {
		p.Compositions = append(p.Compositions, gvk(n).GroupKind())
	}
	for _, o := range root.Get("metadata", "ownerReferences").Items() {
		if c := o.Get("controller").Bool(); c != nil && *c {
			f.owners[len(f.r.Packages)] = owner{o.Get("name").Text(), spec["desiredState"].Text() == "Active"}
		}
	}
	f.r.Packages, f.meta = append(f.r.Packages, p), false
}

// designedLock reads a PackageLock, whose packages are named with their images.
func designedLock(root dialect.Node) *resolver.Lock {
	spec := root.Get("spec").Fields("packages", "compositions", "customResourceDefinitions")
	l := &resolver.Lock{Compositions: spec["compositions"].TextMap(), CustomResourceDefinitions: spec["customResourceDefinitions"].TextMap()}
	for _, n := range spec["packages"].Items() {
		in := n.Fields("name", "image", "dependencies")
		name, tag, digest := dialect.Reference(in["image"].Text())
		l.Packages = append(l.Packages, locked(n, resolver.LockedPackage{
			Name: in["name"].Text(), Package: name, Version: tag, Digest: digest, Dependencies: edges(in["dependencies"].Texts()...),
		}))
	}
	return l
}

// lock reads today's Lock, whose dependencies are named by their repositories.
func lock(root dialect.Node) *resolver.Lock {
	l := &resolver.Lock{}
	for _, n := range root.Get("packages").Items() {
		in := n.Some("name", "source", "version", "dependencies")
		p := resolver.LockedPackage{Name: in["name"].Text(), Package: in["source"].Text(), Version: in["version"].Text()}
		if d := api.DigestOf(p.Version); d != "" {
			p.Version, p.Digest = "", d
		}
		for _, d := range in["dependencies"].Items() {
			p.Dependencies = append(p.Dependencies, edges(d.Get("package").Text())...)
		}
		l.Packages = append(l.Packages, locked(n, p))
	}
	return l
}

// edges are dependencies by the names that Crossplane has for them.
func edges(names ...string) (out []v1alpha1.LockedEdge) {
	for _, name := range names {
		out = append(out, v1alpha1.LockedEdge{Name: name})
	}
	return out
}

// locked warns of an entry that locks neither a version nor a digest.
func locked(n dialect.Node, p resolver.LockedPackage) resolver.LockedPackage {
	if !resolver.IsVersion(p.Version) {
		p.Version = ""
	}
	if p.Version == "" && p.Digest == "" {
		n.Warn(n.Path()+" names no version, and locks none", "name the image with a tag such as v1.2.3")
	}
	return p
}
