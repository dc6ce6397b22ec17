package merge

import (
	"errors"
	"hash/maphash"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Trees are read-only here: merging returns either a node that it was given,
// which means "unchanged", or a new one.

// maxExpanded bounds the nodes of a document after its aliases are expanded.
const maxExpanded = 1_000_000

var errExpanded = errors.New("its aliases expand to more than " + strconv.Itoa(maxExpanded) + " nodes: write the values out")

// entry is one field of a mapping.
type entry struct{ key, val *yaml.Node }

// entries indexes the fields of a mapping by name; of a field that is there
// twice, the last counts, as in kpt. A nil node has none.
func entries(n *yaml.Node) map[string]entry {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	m := make(map[string]entry, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		m[n.Content[i].Value] = entry{n.Content[i], n.Content[i+1]}
	}
	return m
}

// child returns the value of one field; nil where there is none.
func child(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// text returns the value of a scalar field; "" where it is none.
func text(n *yaml.Node, name string) string {
	if c := child(n, name); c != nil && c.Kind == yaml.ScalarNode && !isNull(c) {
		return c.Value
	}
	return ""
}

func isNull(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

func isMap(n *yaml.Node) bool { return n != nil && n.Kind == yaml.MappingNode }

func isList(n *yaml.Node) bool { return n != nil && n.Kind == yaml.SequenceNode }

func isScalar(n *yaml.Node) bool { return n != nil && n.Kind == yaml.ScalarNode }

// plainKeys says whether all keys of a mapping are scalars, as everywhere in
// KRM; others are merged as a whole.
func plainKeys(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// equal says whether two values mean the same; comments, styles and the order
// of fields do not count. Two absent values are equal.
func equal(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a == b {
		return true
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return a.Value == b.Value && a.ShortTag() == b.ShortTag()
	case yaml.MappingNode:
		return equalMaps(a, b)
	}
	for i := range a.Content {
		if !equal(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

func equalMaps(a, b *yaml.Node) bool {
	if !plainKeys(a) || !plainKeys(b) {
		return same(a, b)
	}
	sameOrder := true
	for i := 0; sameOrder && i < len(a.Content); i += 2 {
		sameOrder = a.Content[i].Value == b.Content[i].Value
	}
	if sameOrder {
		for i := 1; i < len(a.Content); i += 2 {
			if !equal(a.Content[i], b.Content[i]) {
				return false
			}
		}
		return true
	}
	eb := entries(b)
	for k, e := range entries(a) {
		o, ok := eb[k]
		if !ok || !equal(e.val, o.val) {
			return false
		}
	}
	return true
}

// same says whether two trees are alike in all that an author wrote: values,
// order, styles and comments.
func same(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Value != b.Value || a.Style != b.Style || a.ShortTag() != b.ShortTag() ||
		a.HeadComment != b.HeadComment || a.LineComment != b.LineComment || a.FootComment != b.FootComment ||
		len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

var seed = maphash.MakeSeed()

// digest is a hash of what equal compares.
func digest(n *yaml.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	if n == nil {
		return 0
	}
	h.WriteByte(byte(n.Kind))
	if n.Kind == yaml.ScalarNode {
		h.WriteString(n.ShortTag())
		h.WriteByte(0)
		h.WriteString(n.Value)
		return h.Sum64()
	}
	var fields uint64
	for i := 0; i < len(n.Content); i++ {
		c := digest(n.Content[i])
		if n.Kind == yaml.MappingNode && i+1 < len(n.Content) {
			i++
			fields += c*31 ^ digest(n.Content[i])
			continue
		}
		writeUint(&h, c)
	}
	writeUint(&h, fields)
	return h.Sum64()
}

func writeUint(h *maphash.Hash, v uint64) {
	for s := 0; s < 64; s += 8 {
		h.WriteByte(byte(v >> s))
	}
}

// adopt copies a tree of upstream into the local document. Positions and names
// of anchors are upstream's and mean nothing there.
func adopt(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Line, c.Column, c.Anchor = 0, 0, ""
	if n.Content != nil {
		c.Content = make([]*yaml.Node, len(n.Content))
		for i := range n.Content {
			c.Content[i] = adopt(n.Content[i])
		}
	}
	return &c
}

// with returns a copy of a node with other content; keys and values keep their
// identity.
func with(n *yaml.Node, content []*yaml.Node) *yaml.Node {
	c := *n
	c.Content = content
	if len(content) == 0 {
		c.Style = yaml.FlowStyle // {} and [] have no block form
	} else if len(n.Content) == 0 {
		c.Style = 0
	}
	return &c
}

// expand writes the aliases of a tree out. A tree without aliases is returned
// as it is. Anchors keep their names, so that the writer can keep an alias
// whose value did not change.
func expand(n *yaml.Node) (*yaml.Node, error) {
	if !hasAlias(n) {
		return n, nil
	}
	left := maxExpanded
	c := expandNode(n, &left)
	if left <= 0 {
		return nil, errExpanded
	}
	return c, nil
}

func hasAlias(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if hasAlias(c) {
			return true
		}
	}
	return false
}

func expandNode(n *yaml.Node, left *int) *yaml.Node {
	if *left--; *left <= 0 || n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}
	}
	c := *n
	if n.Kind == yaml.AliasNode {
		c = *expandNode(n.Alias, left)
		c.Anchor = ""
		c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		return &c
	}
	c.Content = make([]*yaml.Node, len(n.Content))
	for i := range n.Content {
		c.Content[i] = expandNode(n.Content[i], left)
	}
	return &c
}
