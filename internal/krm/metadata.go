package krm

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func (r *Resource) setMeta(kind, key, value string) error {
	if v := field(field(field(r.tree(), "metadata"), kind), key); v != nil && v.Kind == yaml.ScalarNode && v.ShortTag() == tagStr && v.Value == value {
		return nil
	}
	if err := r.checkMeta(kind); err != nil {
		return err
	}
	m := child(child(r.Edit().YNode(), "metadata"), kind)
	if i := keyIndex(m, key); i >= 0 {
		v := m.Content[i+1]
		n := stringNode(value)
		n.HeadComment, n.LineComment, n.FootComment = v.HeadComment, v.LineComment, v.FootComment
		if v.Kind == yaml.ScalarNode && v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			n.Style = v.Style &^ yaml.TaggedStyle
		}
		m.Content[i+1] = n
		return nil
	}
	m.Content = append(m.Content, stringNode(key), stringNode(value))
	return nil
}

// checkMeta says why a key cannot be set below metadata.
func (r *Resource) checkMeta(kind string) error {
	md := field(r.tree(), "metadata")
	if !isNull(md) && md.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %s: metadata is no mapping", r.path, r.ID())
	}
	if m := field(md, kind); !isNull(m) && m.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %s: metadata.%s is no mapping", r.path, r.ID(), kind)
	}
	return nil
}

func (r *Resource) removeMeta(kind, key string) {
	if field(field(field(r.tree(), "metadata"), kind), key) == nil {
		return
	}
	md := field(r.Edit().YNode(), "metadata")
	m := field(md, kind)
	i := keyIndex(m, key)
	if i < 0 {
		return
	}
	if len(m.Content) > 2 {
		m.Content = slices.Delete(m.Content, i, i+2)
		return
	}
	if j := keyIndex(md, kind); j >= 0 {
		md.Content = slices.Delete(md.Content, j, j+2)
	}
}

// child returns the mapping below a key, made where it is missing or null.
func child(n *yaml.Node, key string) *yaml.Node {
	if i := keyIndex(n, key); i >= 0 {
		if v := target(n.Content[i+1]); !isNull(v) {
			return v
		}
		n.Content[i+1] = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		return n.Content[i+1]
	}
	v := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	n.Content = append(n.Content, stringNode(key), v)
	return v
}

func keyIndex(n *yaml.Node, key string) int {
	if n == nil {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// stringNode is a string; it has quotes where it needs them to be one for
// every reader.
func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tagStr, Value: s}
	if Ambiguous(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
