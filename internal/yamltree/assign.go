package yamltree

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Assign makes have mean what want means and changes as little as it can:
// equal parts keep their nodes, and with them comments and quoting, and so do
// items of lists, wherever they move. Both are mappings; keys that want lacks
// go, new ones are placed by order, and below, unless order is nil, by want's.
func Assign(have, want *yaml.Node, order []string) {
	for i := 0; i+1 < len(have.Content); {
		if Index(want, have.Content[i].Value) < 0 {
			have.Content = slices.Delete(have.Content, i, i+2)
			continue
		}
		i += 2
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i].Value, want.Content[i+1]
		if at := Index(have, key); at < 0 || !assign(have.Content[at+1], value, order != nil) {
			Set(have, order, key, value)
		}
	}
}

// assign makes a value mean what another means, in place; false where that cannot be.
func assign(have, want *yaml.Node, ordered bool) bool {
	switch {
	case SameValue(have, want):
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
	pair(SameValue)
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
