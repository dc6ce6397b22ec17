package yamltree

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Set gives a key of a mapping a value. An existing key keeps its place and its
// comments; a new one goes where order puts it among its neighbours, at the end
// where order does not name it.
func Set(m *yaml.Node, order []string, key string, value *yaml.Node) {
	m = Deref(m)
	if i := Index(m, key); i >= 0 {
		if old := m.Content[i+1]; old != value {
			if value.Kind == yaml.ScalarNode && old.Kind == yaml.ScalarNode {
				value.LineComment, value.FootComment = old.LineComment, old.FootComment
			}
			m.Content[i+1] = value
		}
		return
	}
	if len(m.Content) == 0 {
		m.Style &^= yaml.FlowStyle
	}
	m.Content = slices.Insert(m.Content, place(m, order, key), String(key), value)
}

// place finds the offset in m.Content for a new key.
func place(m *yaml.Node, order []string, key string) int {
	rank := slices.Index(order, key)
	if rank < 0 {
		return len(m.Content)
	}
	after, before := -1, -1
	for i := 0; i+1 < len(m.Content); i += 2 {
		r := slices.Index(order, m.Content[i].Value)
		if r >= 0 && r < rank {
			after = i + 2
		}
		if r > rank && before < 0 {
			before = i
		}
	}
	switch {
	case after >= 0:
		return after
	case before >= 0:
		return before
	}
	return len(m.Content)
}

// SetString sets a string value; nothing happens where it is there already.
func SetString(m *yaml.Node, order []string, key, value string) {
	if c := Child(m, key); c != nil && c.Kind == yaml.ScalarNode && c.ShortTag() == yaml.NodeTagString && c.Value == value {
		return
	}
	Set(m, order, key, String(value))
}

// Ensure returns the mapping under key, made where it is missing or null, and
// the mapping's own where an alias stood. It returns nil where something else
// is there.
func Ensure(m *yaml.Node, order []string, key string) *yaml.Node {
	return ensure(m, order, key, yaml.MappingNode, Map)
}

// EnsureSeq is Ensure for a sequence.
func EnsureSeq(m *yaml.Node, order []string, key string) *yaml.Node {
	return ensure(m, order, key, yaml.SequenceNode, func() *yaml.Node { return Seq() })
}

func ensure(m *yaml.Node, order []string, key string, kind yaml.Kind, make func() *yaml.Node) *yaml.Node {
	c := Child(m, key)
	if IsNull(c) {
		c = make()
		Set(m, order, key, c)
	}
	if c.Kind != kind {
		return nil
	}
	c, err := Own(Deref(m), Index(m, key)+1)
	if err != nil {
		return nil
	}
	if len(c.Content) == 0 {
		c.Style &^= yaml.FlowStyle
	}
	return c
}

// Own returns the value at a place in the Content of a collection for changing.
// What an alias stands for is shared: it is copied (Plain), and the copy stands
// in the alias's place.
func Own(n *yaml.Node, i int) (*yaml.Node, error) {
	if n.Content[i].Kind == yaml.AliasNode {
		own, err := Plain(n.Content[i])
		if err != nil {
			return nil, err
		}
		n.Content[i] = own
	}
	return n.Content[i], nil
}

// Remove drops a key and says whether it was there.
func Remove(m *yaml.Node, key string) bool {
	m = Deref(m)
	i := Index(m, key)
	if i < 0 {
		return false
	}
	m.Content = slices.Delete(m.Content, i, i+2)
	return true
}

// RemoveEmpty drops a key whose value is null or has no content.
func RemoveEmpty(m *yaml.Node, key string) {
	c := Child(m, key)
	if c != nil && (IsNull(c) || c.Kind != yaml.ScalarNode && len(c.Content) == 0) {
		Remove(m, key)
	}
}

// SortBy orders a sequence's items by a text of theirs, those with equal
// texts as they were; items already in order are left alone.
func SortBy(seq *yaml.Node, text func(*yaml.Node) string) {
	slices.SortStableFunc(seq.Content, func(a, b *yaml.Node) int { return strings.Compare(text(a), text(b)) })
}

// DeleteFunc drops the items of a sequence that drop says to, and reports how many.
func DeleteFunc(seq *yaml.Node, drop func(*yaml.Node) bool) int {
	before := len(seq.Content)
	seq.Content = slices.DeleteFunc(seq.Content, drop)
	return before - len(seq.Content)
}
