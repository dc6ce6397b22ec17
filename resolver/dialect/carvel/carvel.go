// Package carvel reads the documents of Carvel's packaging API with the fields
// of Carvel's dependencies proposal: Package, InternalPackage and
// PackageInstall.
//
//	docs, err := carvel.Read(data) // docs.Packages, docs.Requests, docs.Installations
//
// Dependencies have no names there. Their alias is the one that they give, or
// else the package's refName, the API's kind, or "or".
package carvel

import (
	"strings"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
)

// OwnerAnnotation stands on a PackageInstall that was made for another one: "PackageInstall/<name>".
const OwnerAnnotation = "kapp-controller.carvel.dev/owner"

// Read reads the documents of one file; other kinds between them are passed over.
func Read(data []byte) (*dialect.Documents, error) {
	return dialect.Read(data, func(r *dialect.Reader, root dialect.Node) bool {
		group, _, _ := strings.Cut(root.Get("apiVersion").Text(), "/")
		kind := root.Get("kind").Text()
		switch {
		case group == "data.packaging.carvel.dev" && kind == "Package", group == "internal.packaging.carvel.dev" && kind == "InternalPackage":
			r.Packages = append(r.Packages, pkg(root))
		case group == "packaging.carvel.dev" && kind == "PackageInstall":
			install(r, root)
		default:
			return false
		}
		return true
	})
}

func pkg(root dialect.Node) resolver.Package {
	f := root.Get("spec").Some("refName", "version", "installationType", "dependencies", "provides", "template", "kubernetesVersionSelection", "kappControllerVersionSelection")
	p := resolver.Package{Package: f["refName"].Text(), Version: f["version"].Text()}
	if p.Package == "" || p.Version == "" {
		root.Error("a Package needs spec.refName and spec.version", "")
	}
	p.Source, p.Digest = content(f["template"].Get("spec", "fetch"))
	switch t := f["installationType"]; t.Text() {
	case "", "noRestrictions":
	case "onePerCluster":
		p.Scope = resolver.ScopeCluster
	case "onePerNamespace":
		p.Scope = resolver.ScopeNamespace
	default:
		t.Error(t.Path()+" must be onePerCluster, onePerNamespace or noRestrictions", "")
	}
	list := f["dependencies"]
	if list.IsMap() { // the proposal's own example; its schema has the list itself
		list = list.Fields("packages")["packages"]
	}
	p.Requires = dependencies(list)
	if k := f["kubernetesVersionSelection"].Get("constraints"); k.Is() {
		p.Requires = dialect.UniqueAliases(append(p.Requires, resolver.Requirement{Alias: "kubernetes", Platform: "kubernetes", Version: k.Text()}))
	}
	if k := f["kappControllerVersionSelection"]; k.Is() {
		k.Warn(k.Path()+" is not compared: what is resolved here runs without kapp-controller", "")
	}
	for _, n := range f["provides"].Items() {
		api := n
		if inner := n.Get("gvk"); inner.Is() {
			api = inner
		}
		p.Provides = append(p.Provides, resolver.Provide{GVK: gvk(api)})
	}
	return p
}

// content is the image that a package's content is fetched from, with its digest. Content from elsewhere has none.
func content(fetch dialect.Node) (image, digest string) {
	for _, n := range fetch.Items() {
		ref := n.Get("imgpkgBundle", "image")
		if !ref.Is() {
			ref = n.Get("image", "url")
		}
		if name, tag, d := dialect.Reference(ref.Text()); name != "" {
			if d == "" && tag != "" {
				name += ":" + tag
			}
			return name, d
		}
	}
	return "", ""
}

func dependencies(list dialect.Node) []resolver.Requirement {
	var out []resolver.Requirement
	for _, n := range list.Items() {
		f := n.Fields("alias", "gvk", "package", "or", "optional")
		r := resolver.Requirement{Alias: f["alias"].Text(), Optional: isTrue(f["optional"])}
		kinds := 0
		if g := f["gvk"]; g.Is() {
			kinds++
			r.GVK = gvk(g)
			r.Alias = either(r.Alias, r.GVK.Kind)
		}
		if p := f["package"]; p.Is() {
			kinds++
			in := p.Fields("refName", "version", "optional")
			r.Package, r.Version = in["refName"].Text(), in["version"].Text()
			r.Optional = r.Optional || isTrue(in["optional"])
			r.Alias = either(r.Alias, r.Package)
		}
		if o := f["or"]; o.Is() {
			kinds++
			r.AnyOf = dependencies(o)
			r.Alias = either(r.Alias, "or")
		}
		if kinds != 1 {
			n.Error(n.Path()+" must have exactly one of gvk, package and or", "")
		}
		out = append(out, r)
	}
	return dialect.UniqueAliases(out)
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func isTrue(n dialect.Node) bool {
	b := n.Bool()
	return b != nil && *b
}

// gvk reads an API in the schema's form, or with group and version apart.
func gvk(n dialect.Node) *resolver.GVK {
	f := n.Fields("apiVersion", "kind", "group", "version")
	g := &resolver.GVK{APIVersion: f["apiVersion"].Text(), Kind: f["kind"].Text()}
	if f["group"].Is() || f["version"].Is() {
		n.Warn(n.Path()+" has group and version apart", "write apiVersion: group/version")
		if g.APIVersion == "" {
			g.APIVersion = strings.TrimPrefix(f["group"].Text()+"/"+f["version"].Text(), "/")
		}
	}
	if g.APIVersion == "" || g.Kind == "" {
		n.Error(n.Path()+" needs apiVersion and kind", "")
	}
	return g
}

// install reads a PackageInstall: what it asks for, and, once its status has a version, that it is there.
// Only the direct dependencies are created for it, as the proposal resolves.
func install(r *dialect.Reader, root dialect.Node) {
	meta := root.Get("metadata")
	f := root.Get("spec").Some("packageRef", "dependencies", "values")
	ref := f["packageRef"].Fields("refName", "versionSelection")
	q := resolver.Request{
		Name: meta.Get("name").Text(), Namespace: meta.Get("namespace").Text(), Package: ref["refName"].Text(),
		Materialise: "direct", Allow: resolver.Changes{Upgrade: true},
	}
	if q.Name == "" || q.Package == "" {
		root.Error("a PackageInstall needs metadata.name and spec.packageRef.refName", "")
	}
	q.Version, q.Prereleases = selection(ref["versionSelection"])
	unread(f["values"])
	decisions(&q, f["dependencies"])
	r.Requests = append(r.Requests, q)

	status := root.Get("status")
	version := status.Get("version").Text()
	if version == "" {
		return
	}
	i := resolver.Installation{Name: q.Name, Namespace: q.Namespace, Package: q.Package, Version: version, Bindings: bindings(status.Get("dependencies"))}
	i.Owner = strings.TrimPrefix(meta.Get("annotations", OwnerAnnotation).Text(), "PackageInstall/")
	r.Installations = append(r.Installations, i)
}

func decisions(q *resolver.Request, n dialect.Node) {
	f := n.Fields("install", "override", "values")
	if b := f["install"].Bool(); b != nil {
		q.ValidateOnly = !*b
	}
	for _, o := range f["override"].Items() {
		in := o.Fields("refName", "alias", "versionSelection", "install")
		v := resolver.Override{Package: in["refName"].Text(), Alias: in["alias"].Text(), Install: in["install"].Bool()}
		v.Constraints, v.Prereleases = selection(in["versionSelection"])
		q.Overrides = append(q.Overrides, v)
	}
	unread(f["values"])
}

// unread warns of Secrets with values, which are nothing to resolve.
func unread(values dialect.Node) {
	if len(values.Items()) > 0 {
		values.Warn(values.Path()+" has no part in what is resolved, and is left out", "")
	}
}

func selection(n dialect.Node) (constraints string, pre *resolver.Prereleases) {
	f := n.Fields("constraints", "prereleases")
	if p := f["prereleases"]; p.Is() {
		pre = &resolver.Prereleases{Identifiers: p.Fields("identifiers")["identifiers"].Texts()}
	}
	return f["constraints"].Text(), pre
}

// bindings are the PackageInstalls that meet the dependencies, by alias. The proposal's example names them beside
// package, its schema in it.
func bindings(list dialect.Node) map[string]string {
	out := map[string]string{}
	for _, n := range list.Items() {
		f := n.Some("package", "packageInstallRef", "alias", "refName")
		if in := f["package"]; in.Is() {
			for k, v := range in.Some("packageInstallRef", "refName") {
				f[k] = v
			}
		}
		if alias, ref := either(f["alias"].Text(), f["refName"].Text()), f["packageInstallRef"].Text(); alias != "" && ref != "" {
			out[alias] = ref
		}
	}
	return out
}
