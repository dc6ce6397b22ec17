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
	wanted, kept := keysOf(want), have.Content[:0]
	for i := 0; i+1 < len(have.Content); i += 2 {
		if _, ok := wanted[have.Content[i].Value]; ok {
			kept = append(kept, have.Content[i], have.Content[i+1])
		}
	}
	clear(have.Content[len(kept):])
	have.Content = kept
	there, rank := keysOf(have), rankIn(order)
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i].Value, want.Content[i+1]
		at, ok := there[key]
		switch {
		case !ok:
			at = place(have, rank, key)
			insert(have, at, key, value)
			if there[key] = at; at+2 < len(have.Content) { // others have moved
				there = keysOf(have)
			}
		case !assign(have.Content[at+1], value, order != nil):
			replace(have, at, value)
		}
	}
}

// assignInOrder is Assign by the order of want: what is new comes behind the last of those
// before it in want.
func assignInOrder(have, want *yaml.Node) {
	wanted, there := keysOf(want), keysOf(have)
	if !plainly(want, wanted) || !plainly(have, there) {
		var order []string
		for i := 0; i+1 < len(want.Content); i += 2 {
			order = append(order, want.Content[i].Value)
		}
		Assign(have, want, order)
		return
	}
	last, behind := -2, map[int][]*yaml.Node{} // what is new, by the place in have of what it follows
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i].Value, want.Content[i+1]
		at, ok := there[key]
		if !ok {
			behind[last] = append(behind[last], String(key), value)
			continue
		}
		if !assign(have.Content[at+1], value, true) {
			replace(have, at, value)
		}
		last = max(last, at)
	}
	content := behind[-2]
	for i := 0; i+1 < len(have.Content); i += 2 {
		if _, ok := wanted[have.Content[i].Value]; ok {
			content = append(content, have.Content[i], have.Content[i+1])
		}
		content = append(content, behind[i]...)
	}
	if len(content) > 0 && len(content) == len(behind[-2]) { // nothing of have is left
		have.Style &^= yaml.FlowStyle
	}
	have.Content = content
}

// plainly says that a mapping has each of its keys once, as scalars.
func plainly(m *yaml.Node, keys map[string]int) bool {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Kind != yaml.ScalarNode {
			return false
		}
	}
	return 2*len(keys) == len(m.Content)
}

// keysOf is Index for all keys of a mapping: one object may have tens of thousands.
func keysOf(n *yaml.Node) map[string]int {
	at := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := Deref(n.Content[i]); k != nil && k.Kind == yaml.ScalarNode {
			if _, twice := at[k.Value]; !twice {
				at[k.Value] = i
			}
		}
	}
	return at
}

// assign makes a value mean what another means, in place; false where that cannot be. A
// wanted alias is what it stands for; one that is there is left, for others have it, too.
func assign(have, want *yaml.Node, ordered bool) bool {
	switch want = Deref(want); {
	case SameValue(have, want):
	case have.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode && ordered:
		assignInOrder(have, want)
	case have.Kind == yaml.MappingNode && want.Kind == yaml.MappingNode:
		Assign(have, want, nil)
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
	take := func(j, i int) {
		assign(have.Content[i], want.Content[j], ordered)
		items[j], used[i] = have.Content[i], true
	}
	pair(have, want, used, items, take, func(n *yaml.Node) (uint64, bool) { return Hash(n), true }, SameValue)
	pair(have, want, used, items, take, func(n *yaml.Node) (string, bool) {
		id := identity(n)
		return id, id != ""
	}, func(h, _ *yaml.Node) bool { return h.Kind == yaml.MappingNode })
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

// pair takes for each item of want that has none yet one of have with the same key that is
// not used, where both are the same: the next one, for most stand in the order that they had.
func pair[K comparable](have, want *yaml.Node, used []bool, items []*yaml.Node, take func(j, i int), key func(*yaml.Node) (K, bool), same func(h, w *yaml.Node) bool) {
	of := map[K][]int{}
	for i, h := range have.Content {
		if k, ok := key(h); ok && !used[i] {
			of[k] = append(of[k], i)
		}
	}
	next := 0
	for j, w := range want.Content {
		if items[j] != nil {
			continue
		}
		k, ok := key(w)
		if !ok {
			continue
		}
		list := of[k]
		from, _ := slices.BinarySearch(list, next)
		for n := range list {
			at := (from + n) % len(list)
			if i := list[at]; same(have.Content[i], w) {
				if of[k] = list[1:]; at > 0 { // mostly the first that is left
					of[k] = slices.Delete(list, at, at+1)
				}
				take(j, i)
				next = i + 1
				break
			}
		}
	}
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
