package depend

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/resolver"
)

// APIs are those that a package's CustomResourceDefinitions serve, a version
// each, in the order of its files.
func APIs(p *krm.Package) []resolver.GVK {
	var out []resolver.GVK
	for _, r := range p.Resources() {
		out = append(out, Served(r)...)
	}
	return out
}

// Served are the APIs of one CustomResourceDefinition, none of anything else.
func Served(crd *krm.Resource) []resolver.GVK {
	if crd.Kind() != "CustomResourceDefinition" || crd.Group() != "apiextensions.k8s.io" {
		return nil
	}
	root := crd.Node().YNode()
	versions := yamltree.Path(root, "spec", "versions")
	if versions == nil || versions.Kind != yaml.SequenceNode {
		return nil
	}
	var out []resolver.GVK
	for _, v := range versions.Content {
		if yamltree.Text(v, "served") == "true" {
			out = append(out, resolver.GVK{
				APIVersion: yamltree.Text(root, "spec", "group") + "/" + yamltree.Text(v, "name"),
				Kind:       yamltree.Text(root, "spec", "names", "kind"),
			})
		}
	}
	return out
}
