package krm

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

func (r *Resource) setMeta(kind, key, value string) error {
	if v := yamltree.Path(r.tree(), "metadata", kind, key); v != nil && v.Kind == yaml.ScalarNode && v.ShortTag() == yaml.NodeTagString && v.Value == value {
		return nil
	}
	if err := r.checkMeta(kind); err != nil {
		return err
	}
	m, err := child(r.Edit().YNode(), "metadata", kind)
	if err != nil {
		return r.wrap(err)
	}
	if i := yamltree.Index(m, key); i >= 0 {
		v := m.Content[i+1]
		n := yamltree.String(value)
		n.HeadComment, n.LineComment, n.FootComment = v.HeadComment, v.LineComment, v.FootComment
		if v.Kind == yaml.ScalarNode && v.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			n.Style = v.Style &^ yaml.TaggedStyle
		}
		m.Content[i+1] = n
		return nil
	}
	m.Content = append(m.Content, yamltree.String(key), yamltree.String(value))
	return nil
}

// checkMeta says why a key cannot be set below metadata.
func (r *Resource) checkMeta(kind string) error {
	md := yamltree.Child(r.tree(), "metadata")
	if !yamltree.IsNull(md) && md.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %s: metadata is no mapping", r.path, r.ID())
	}
	if m := yamltree.Child(md, kind); !yamltree.IsNull(m) && m.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %s: metadata.%s is no mapping", r.path, r.ID(), kind)
	}
	return nil
}

func (r *Resource) removeMeta(kind, key string) {
	if yamltree.Path(r.tree(), "metadata", kind, key) == nil {
		return
	}
	m, err := child(r.Edit().YNode(), "metadata", kind)
	if err != nil {
		return // no document within the limits of Parse is so large
	}
	if yamltree.Remove(m, key); len(m.Content) == 0 {
		yamltree.Remove(yamltree.Child(r.Edit().YNode(), "metadata"), kind)
	}
}

// child returns the mapping that keys lead to for changing, made where it is
// missing or null. Unlike yamltree.Ensure it leaves {} in flow style.
func child(n *yaml.Node, keys ...string) (*yaml.Node, error) {
	for _, key := range keys {
		i := yamltree.Index(n, key)
		if i < 0 {
			n.Content = append(n.Content, yamltree.String(key), yamltree.Map())
			i = len(n.Content) - 2
		} else if yamltree.IsNull(n.Content[i+1]) {
			n.Content[i+1] = yamltree.Map()
		}
		own, err := yamltree.Own(n, i+1)
		if err != nil {
			return nil, err
		}
		n = own
	}
	return n, nil
}
