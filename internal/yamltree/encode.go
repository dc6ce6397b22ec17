package yamltree

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Encode returns the tree of a value, by its fields' json tags. Unlike the YAML library's,
// which writes the value as text and reads that, it takes every string.
func Encode(v any) (*yaml.Node, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	root, _ := JSON(text)
	block(root.Content[0])
	return root.Content[0], nil
}

// block gives nodes that were read from JSON the styles that the YAML library writes.
func block(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	switch {
	case len(n.Content) > 0:
		n.Style = 0
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n"):
		n.Style = yaml.LiteralStyle
	case n.Kind == yaml.ScalarNode && n.Value != "" && !Ambiguous(n.Value):
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c)
	}
}
