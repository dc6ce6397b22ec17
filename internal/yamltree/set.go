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
		replace(m, i, value)
		return
	}
	insert(m, place(m, rankIn(order), key), key, value)
}

// replace gives the key at a place of a mapping another value.
func replace(m *yaml.Node, i int, value *yaml.Node) {
	if old := m.Content[i+1]; old != value {
		if value.Kind == yaml.ScalarNode && old.Kind == yaml.ScalarNode {
			value.LineComment, value.FootComment = old.LineComment, old.FootComment
		}
		m.Content[i+1] = value
	}
}

func insert(m *yaml.Node, i int, key string, value *yaml.Node) {
	if len(m.Content) == 0 {
		m.Style &^= yaml.FlowStyle
	}
	m.Content = slices.Insert(m.Content, i, String(key), value)
}

// rankIn gives the places of keys in an order, -1 for others.
func rankIn(order []string) func(key string) int {
	if len(order) < 16 {
		return func(key string) int { return slices.Index(order, key) }
	}
	ranks := make(map[string]int, len(order))
	for i, key := range order {
		if _, twice := ranks[key]; !twice {
			ranks[key] = i
		}
	}
	return func(key string) int {
		if i, ok := ranks[key]; ok {
			return i
		}
		return -1
	}
}

// place finds the offset in m.Content for a new key: behind the last that comes before
// it, else before the first that comes behind it.
func place(m *yaml.Node, rank func(string) int, key string) int {
	of := rank(key)
	if of < 0 {
		return len(m.Content)
	}
	before := len(m.Content)
	for i := len(m.Content) - 2; i >= 0; i -= 2 {
		switch r := rank(m.Content[i].Value); {
		case r > of:
			before = i
		case r >= 0 && r < of:
			return i + 2
		}
	}
	return before
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
