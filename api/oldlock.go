package api

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/yamltree"
)

// A PackageLock of an earlier release names dependencies by strings, and has only prose about who
// needs a package. Both are read into the fields of now, for one release.

// edgesOfNames returns the document of a lock whose dependencies are maps: a name becomes the
// name of one. It shares what is the same.
func edgesOfNames(root *yaml.Node) *yaml.Node {
	packages := yamltree.Child(yamltree.Child(root, "spec"), "packages")
	if packages == nil || packages.Kind != yaml.SequenceNode || !slices.ContainsFunc(packages.Content, hasNames) {
		return root
	}
	out := yamltree.Copy(root)
	for _, p := range yamltree.Child(yamltree.Child(out, "spec"), "packages").Content {
		if !hasNames(p) {
			continue
		}
		for n, d := range yamltree.Child(p, "dependencies").Content {
			if d.Kind == yaml.ScalarNode {
				name := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "name", Line: d.Line}
				yamltree.Child(p, "dependencies").Content[n] = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{name, d}, Line: d.Line}
			}
		}
	}
	return out
}

func hasNames(p *yaml.Node) bool {
	d := yamltree.Child(yamltree.Deref(p), "dependencies")
	return d != nil && d.Kind == yaml.SequenceNode && slices.ContainsFunc(d.Content, func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode })
}

// upgradeLock fills the edges of a lock of an earlier release. A name without a namespace means the
// package beside the one that needs it, or else the global one.
func upgradeLock(l *v1alpha1.PackageLockSpec, names bool) {
	there := map[string]*v1alpha1.LockedPackage{}
	for n := range l.Packages {
		p := &l.Packages[n]
		there[path.Join(p.Namespace, p.Name)] = p
		if p.Why != "" && !p.Requested && len(p.NeededBy) == 0 {
			requested, list, needed := strings.Cut(p.Why, "needed by ")
			p.Requested = requested != ""
			for _, who := range strings.Split(list, ", ") {
				if needed {
					ref, alias, _ := strings.Cut(who, " as ")
					p.NeededBy = append(p.NeededBy, edge(ref, alias))
				}
			}
		}
	}
	for n := range l.Packages {
		if p := &l.Packages[n]; names {
			p.Dependencies = upgradedEdges(p, there)
		}
	}
}

func upgradedEdges(p *v1alpha1.LockedPackage, there map[string]*v1alpha1.LockedPackage) (out []v1alpha1.LockedEdge) {
	for _, d := range p.Dependencies {
		to := edge(d.Name, d.Alias)
		if near := path.Join(p.Namespace, d.Name); d.Namespace == "" && there[near] != nil {
			to = edge(near, d.Alias)
		}
		aliases := []string{to.Alias}
		if of := there[to.Ref()]; of != nil {
			var found []string
			for _, by := range of.NeededBy {
				if by.Namespace == p.Namespace && by.Name == p.Name {
					found = append(found, by.Alias)
				}
			}
			if len(found) > 0 {
				aliases = found
			}
		}
		for _, alias := range aliases {
			to.Alias = alias
			out = append(out, to)
		}
	}
	slices.SortFunc(out, v1alpha1.LockedEdge.Compare)
	return out
}

// edge is the edge to a package, by its ref: "namespace/name" or "name".
func edge(ref, alias string) v1alpha1.LockedEdge {
	namespace, name := path.Split(ref)
	return v1alpha1.LockedEdge{Alias: alias, Namespace: strings.TrimSuffix(namespace, "/"), Name: name}
}
