// Package contents tells what the resources of a package bring to a cluster and
// ask of it: the APIs that it serves, its objects, and the APIs that those are of.
//
//	c := contents.Of(pkg)
//	c.Serves      // GVKs of its CustomResourceDefinitions
//	c.Uses()      // an object of each API that neither it nor Kubernetes serves
package contents

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// GVK names an API.
type GVK = v1alpha1.GroupVersionKind

// Contents is what a package's resources are to a cluster.
type Contents struct {
	// Serves are the APIs that it brings, in the order of its files, each once.
	Serves []GVK
	// Objects are what a deployer applies, and what a controller creates from that
	// by the package's manifest: not what serves the package alone.
	Objects []Object
}

// Object is one object in a cluster, and where it stands in the package.
type Object struct {
	krm.ID
	APIVersion string
	Path       string
	Line       int // 0 where unknown
	// Declared says that the manifest alone has it: a controller creates it.
	Declared bool
}

// GVK is the object's API.
func (o Object) GVK() GVK { return GVK{APIVersion: o.APIVersion, Kind: o.Kind} }

// Placed says whether it is known which object of a cluster it is: one that is
// namespaced and names no namespace is put where the deployer says.
func (o Object) Placed() bool {
	namespaced, known := krm.Scope(o.Group, o.Kind)
	return o.Declared || o.Namespace != "" || known && !namespaced || o.Group == crossplane
}

// Common says whether several packages may bring it: a Namespace. Definitions are
// for who knows the owners of APIs.
func (o Object) Common() bool {
	return o.Group == "" && o.Kind == "Namespace" || strings.HasSuffix(o.Kind, "ResourceDefinition")
}

// Place is its file, below a folder, and line.
func (o Object) Place(folder string) string {
	if o.Line == 0 {
		return path.Join(folder, o.Path)
	}
	return fmt.Sprintf("%s:%d", path.Join(folder, o.Path), o.Line)
}

// Of reads a package, as it is or as it was rendered.
func Of(p *krm.Package) *Contents {
	c := &Contents{}
	configs, resources := functionConfigs(p), p.Resources()
	c.Objects = slices.Grow(c.Objects, len(resources))
	for _, r := range resources {
		if r.Group() == v1alpha1.Group && r.Kind() == v1alpha1.KindPackageManifest {
			c.Objects = append(c.Objects, declared(r)...)
		}
		if Tooling(r) || configs[r.Path()] {
			continue
		}
		for _, g := range Served(r) {
			if !slices.Contains(c.Serves, g) {
				c.Serves = append(c.Serves, g)
			}
		}
		c.Objects = append(c.Objects, Object{ID: r.ID(), APIVersion: r.APIVersion(), Path: r.Path(), Line: r.Line()})
	}
	return c
}

// declared are the objects that a controller creates, by a package's manifest.
func declared(manifest *krm.Resource) (out []Object) {
	root := yamltree.Deref(manifest.Node().YNode())
	for _, n := range yamltree.Items(root, "spec", "provides") {
		if o := yamltree.Child(n, "object"); o != nil {
			id := krm.ID{Group: yamltree.Text(o, "group"), Kind: yamltree.Text(o, "kind"), Name: yamltree.Text(o, "name")}
			out = append(out, Object{ID: id, Path: manifest.Path(), Line: manifest.Line() + o.Line - root.Line, Declared: true})
		}
	}
	return out
}

// Uses is the first object of each API that is neither Kubernetes' own nor served by
// the package itself.
func (c *Contents) Uses() []Object {
	var out []Object
	for _, o := range c.Objects {
		if o.Declared || BuiltIn(o.Group) || slices.Contains(c.Serves, o.GVK()) {
			continue
		}
		if !slices.ContainsFunc(out, func(have Object) bool { return have.GVK() == o.GVK() }) {
			out = append(out, o)
		}
	}
	return out
}

const (
	crossplane  = "apiextensions.crossplane.io"
	localConfig = "config.kubernetes.io/local-config"
)

// Served are the APIs that a definition serves: those of a CustomResourceDefinition,
// or those that Crossplane makes of a CompositeResourceDefinition. None for any other
// resource.
func Served(r *krm.Resource) []GVK {
	names := []string{"names"}
	switch {
	case r.Kind() == "CustomResourceDefinition" && r.Group() == "apiextensions.k8s.io":
	case r.Kind() == "CompositeResourceDefinition" && r.Group() == crossplane:
		names = append(names, "claimNames")
	default:
		return nil
	}
	spec := yamltree.Child(r.Node().YNode(), "spec")
	var out []GVK
	for _, v := range yamltree.Items(spec, "versions") {
		for _, n := range names {
			g := GVK{APIVersion: yamltree.Text(spec, "group") + "/" + yamltree.Text(v, "name"), Kind: yamltree.Text(spec, n, "kind")}
			if yamltree.Text(v, "served") == "true" && g.Kind != "" && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}

// Defines says whether a file can hold a definition that [Served] knows, or a
// Composition, without parsing it.
func Defines(data []byte) bool {
	return bytes.Contains(data, []byte("ResourceDefinition")) || bytes.Contains(data, []byte("Composition"))
}

// kubernetes are the groups of Kubernetes' own kinds that have a dot.
var kubernetes = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
	"networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// BuiltIn says whether every cluster has a group: those of definitions have a dot.
func BuiltIn(group string) bool {
	return !strings.Contains(group, ".") || slices.Contains(kubernetes, group)
}

// tools are the groups of what programs read from files, and no cluster has.
var tools = []string{"kpt.dev", "fn.kpt.dev", "config.kubernetes.io", "kustomize.config.k8s.io", "meta.pkg.crossplane.io", "meta.dev.upbound.io", v1alpha1.Group}

// Tooling says whether a resource is for those who work on the package, not for a
// cluster.
func Tooling(r *krm.Resource) bool {
	local, _ := r.Annotation(localConfig)
	return local == "true" || slices.Contains(tools, r.Group())
}

// functionConfigs are the files that pipelines name.
func functionConfigs(p *krm.Package) map[string]bool {
	out := map[string]bool{}
	for _, dir := range append(p.Subpackages(), "") {
		k := p.Kptfile(dir)
		if k == nil {
			continue
		}
		for _, list := range []string{"mutators", "validators"} {
			for _, f := range yamltree.Items(k.Node().YNode(), "pipeline", list) {
				out[path.Join(dir, yamltree.Text(f, "configPath"))] = true
			}
		}
	}
	return out
}
