package merge

import (
	"errors"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Trees are read-only here: merging returns either a node that it was given,
// which means "unchanged", or a new one.

// maxExpanded bounds the nodes of a document after its aliases are expanded.
const maxExpanded = 1_000_000

var errExpanded = errors.New("its aliases expand to more than " + strconv.Itoa(maxExpanded) + " nodes: write the values out")

// entry is one field of a mapping.
type entry struct{ key, val *yaml.Node }

// name is what a field is found by: its key's text, whatever its type, as in
// kpt, and for a number or a boolean one text for all that are the same.
func name(key *yaml.Node) string { return yamltree.Canonical(key) }

// entries indexes the fields of a mapping by name; of a field that is there
// twice, the last counts, as in kpt. A nil node has none.
func entries(n *yaml.Node) map[string]entry {
	if n == nil {
		return nil
	}
	m := make(map[string]entry, len(n.Content)/2)
	for k, v := range yamltree.Fields(n) {
		m[name(k)] = entry{k, v}
	}
	return m
}

// plainKeys says whether all keys of a mapping are scalars, as everywhere in
// KRM; others are merged as a whole.
func plainKeys(n *yaml.Node) bool {
	for k := range yamltree.Fields(n) {
		if k.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// isNull says whether a version has a value and it is null; one that is not
// there is something else in a merge.
func isNull(n *yaml.Node) bool { return n != nil && yamltree.IsNull(n) }

// equal says whether two versions of a value mean the same: what is written
// another way is no change, for it would not be written. Two absent values are
// equal, and none to a null.
func equal(a, b *yaml.Node) bool {
	return (a == nil) == (b == nil) && yamltree.SameValue(a, b)
}

// adopt copies a tree of upstream into the local document. Positions and names
// of anchors are upstream's and mean nothing there.
func adopt(n *yaml.Node) *yaml.Node {
	c := yamltree.Copy(n)
	unplace(c)
	return c
}

func unplace(n *yaml.Node) {
	if n == nil {
		return
	}
	n.Anchor = ""
	if !yamltree.AsWritten(n) {
		n.Line, n.Column = 0, 0
	}
	for _, c := range n.Content {
		unplace(c)
	}
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
	if !yamltree.HasAlias(n) {
		return n, nil
	}
	left := maxExpanded
	c := expandNode(n, &left)
	if left <= 0 {
		return nil, errExpanded
	}
	return c, nil
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
