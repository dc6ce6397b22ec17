package yamltree

import "sigs.k8s.io/kustomize/kyaml/yaml"

// SpellNulls writes out, in place, the nulls of flow collections for which nothing
// stands, as in {a, b: }: the YAML library would write empty strings. It returns n.
func SpellNulls(n *yaml.Node) *yaml.Node {
	spellNulls(n, false)
	return n
}

func spellNulls(n *yaml.Node, flow bool) {
	if n == nil {
		return
	}
	if flow && n.Kind == yaml.ScalarNode && n.Value == "" && n.ShortTag() == yaml.NodeTagNull {
		n.Value = "null"
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for _, c := range n.Content {
		spellNulls(c, flow)
	}
}
