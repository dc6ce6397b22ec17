// Package tree makes small, careful changes to YAML trees: a key set where its
// neighbours expect it, a value replaced only where it differs, comments left
// where they are. internal/mutate and injector edit Kptfiles and resources
// through it, so that a splice touches only the lines that mean something new.
//
//	tree.Set(root, kptfileOrder, "info", tree.Map())
//	tree.SetString(tree.Child(root, "info"), "description", "ours", nil)
//
// All functions work on *yaml.Node (RNode.YNode()). They are pure.
package tree

import (
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// Map returns a new, empty block mapping.
func Map() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap} }

// Seq returns a new block sequence.
func Seq(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: items}
}

// String returns a string scalar, quoted where YAML 1.1 or 1.2 would read the
// bare text as something else ("yes", "1.0").
func String(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	case krm.Ambiguous(s) || strings.TrimSpace(s) != s:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// StringMap returns a mapping of strings with sorted keys.
func StringMap(m map[string]string) *yaml.Node {
	out := Map()
	for _, k := range Keys(m) {
		out.Content = append(out.Content, String(k), String(m[k]))
	}
	return out
}

// Keys lists a map's keys, sorted.
func Keys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Child returns the value of a key of a mapping, aliases followed; nil where n
// is no mapping or lacks the key.
func Child(n *yaml.Node, key string) *yaml.Node {
	i := index(n, key)
	if i < 0 {
		return nil
	}
	return Deref(Deref(n).Content[i+1])
}

// Path follows keys from n; nil where one is missing.
func Path(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n = Child(n, k); n == nil {
			return nil
		}
	}
	return n
}

// Text is the value of a scalar child, "" where it is missing, null or no scalar.
func Text(n *yaml.Node, keys ...string) string {
	c := Path(n, keys...)
	if c == nil || c.Kind != yaml.ScalarNode || c.ShortTag() == yaml.NodeTagNull {
		return ""
	}
	return c.Value
}

// Deref follows an alias to what it stands for.
func Deref(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsNull says whether a value is missing or an explicit null.
func IsNull(n *yaml.Node) bool {
	n = Deref(n)
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

func index(n *yaml.Node, key string) int {
	n = Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// Set gives a key of a mapping a value. An existing key keeps its place and its
// comments; a new one goes where order puts it among its neighbours, at the end
// where order does not name it.
func Set(m *yaml.Node, order []string, key string, value *yaml.Node) {
	if i := index(m, key); i >= 0 {
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
	if i := index(m, key); m.Content[i+1].Kind == yaml.AliasNode {
		// What an alias stands for is shared; here it becomes the map's own.
		own, err := Plain(c)
		if err != nil {
			return nil
		}
		c, m.Content[i+1] = own, own
	}
	if len(c.Content) == 0 {
		c.Style &^= yaml.FlowStyle
	}
	return c
}

// Remove drops a key and says whether it was there.
func Remove(m *yaml.Node, key string) bool {
	i := index(m, key)
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

// Assign makes have mean what want means and changes as little as it can:
// equal parts keep their nodes, and with them comments and quoting, and so do
// items of lists, wherever they move. Both are mappings; keys that want lacks
// go, new ones are placed by order, and below, unless order is nil, by want's.
func Assign(have, want *yaml.Node, order []string) {
	for i := 0; i+1 < len(have.Content); {
		if index(want, have.Content[i].Value) < 0 {
			have.Content = slices.Delete(have.Content, i, i+2)
			continue
		}
		i += 2
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i].Value, want.Content[i+1]
		if at := index(have, key); at < 0 || !assign(have.Content[at+1], value, order != nil) {
			Set(have, order, key, value)
		}
	}
}

// assign makes a value mean what another means, in place; false where that cannot be.
func assign(have, want *yaml.Node, ordered bool) bool {
	switch {
	case Equal(have, want):
	case have.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode:
		var order []string
		for i := 0; ordered && i+1 < len(want.Content); i += 2 {
			order = append(order, want.Content[i].Value)
		}
		Assign(have, want, order)
	case have.Kind == yaml.SequenceNode && want.Kind == yaml.SequenceNode && len(have.Content) > 0 && len(want.Content) > 0:
		assignItems(have, want, ordered)
	default:
		return false
	}
	return true
}

// assignItems is assign for lists. An item keeps the node of one that is equal, else of one with the same identity,
// else, in a list of lists, of the one in its place.
func assignItems(have, want *yaml.Node, ordered bool) {
	items := make([]*yaml.Node, len(want.Content))
	used := make([]bool, len(have.Content))
	pair := func(same func(h, w *yaml.Node) bool) {
		next := 0 // most items stand in the order that they had
		for j, w := range want.Content {
			for n := 0; n < len(used) && items[j] == nil; n++ {
				i := (next + n) % len(used)
				if h := have.Content[i]; !used[i] && same(h, w) {
					assign(h, w, ordered)
					items[j], used[i], next = h, true, i+1
				}
			}
		}
	}
	pair(Equal)
	pair(func(h, w *yaml.Node) bool {
		id := identity(w)
		return id != "" && h.Kind == yaml.MappingNode && identity(h) == id
	})
	for j, w := range want.Content {
		switch {
		case items[j] != nil:
		case j < len(used) && !used[j] && w.Kind == yaml.SequenceNode && assign(have.Content[j], w, ordered):
			items[j], used[j] = have.Content[j], true
		default:
			items[j] = w
		}
	}
	have.Content = items
}

// identifying are the fields by which people tell items of a list apart.
var identifying = []string{"namespace", "name", "alias", "field", "parent", "type", "image"}

// identity is what a mapping's identifying fields say, "" where it has none.
func identity(n *yaml.Node) string {
	if Deref(n).Kind != yaml.MappingNode {
		return ""
	}
	out := ""
	for _, key := range identifying {
		if text := Text(n, key); text != "" {
			out += key + "\x00" + text + "\x00"
		}
	}
	return out
}
