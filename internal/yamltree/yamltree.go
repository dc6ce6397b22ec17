// Package yamltree is the one place that knows how to read, compare, copy and
// change trees of YAML nodes. What is edited changes as little as it can: a key
// is set where its neighbours expect it, a value is replaced only where it
// differs, comments stay where they are, so that a splice of the text touches
// only the lines that mean something new.
//
// "The same" has several meanings, and each has a name:
//
//   - Identical: alike in all that a node holds, places included.
//   - SameText: written alike; values, order, styles and comments count.
//   - SameValue: read alike; only what a YAML reader hands to a program counts.
//   - SameData: kept alike, by a program that writes the tree again.
//
// Each implies the next. Whoever decides whether a file has to change
// asks for SameValue: a difference below that is not written.
//
// All functions work on *yaml.Node (RNode.YNode()), follow aliases to what they
// stand for unless they say otherwise, and are pure. A nil node is a value that
// is not there. Aliases can make a small text a huge tree: what comes from
// outside has to pass Check, or the limits of krm, first.
package yamltree

import (
	"iter"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxDepth bounds the trees that callers build; a deeper one is taken for a
// cycle.
const maxDepth = 10_000

// Deref follows documents and aliases to the node that counts; nil where there
// is none: an empty document, an alias of nothing.
func Deref(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil; i++ {
		switch {
		case n.Kind != yaml.AliasNode && n.Kind != yaml.DocumentNode:
			return n
		case i > maxDepth:
			return nil
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case len(n.Content) == 0:
			return nil
		default:
			n = n.Content[0]
		}
	}
	return nil
}

// IsNull says whether a value is missing or an explicit null.
func IsNull(n *yaml.Node) bool { return isNull(Deref(n)) }

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull
}

// IsMap says whether a value is a mapping.
func IsMap(n *yaml.Node) bool { return isKind(n, yaml.MappingNode) }

// IsSeq says whether a value is a sequence.
func IsSeq(n *yaml.Node) bool { return isKind(n, yaml.SequenceNode) }

// IsScalar says whether a value is a single one, null included.
func IsScalar(n *yaml.Node) bool { return isKind(n, yaml.ScalarNode) }

func isKind(n *yaml.Node, kind yaml.Kind) bool {
	n = Deref(n)
	return n != nil && n.Kind == kind
}

// Index is the place of a key in the Content of a mapping; its value is in the
// next one. It is -1 where n is no mapping or lacks the key. Of a key that is
// there twice it is the first.
func Index(n *yaml.Node, key string) int {
	n = Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode {
			k = Deref(k)
		}
		if k != nil && k.Kind == yaml.ScalarNode && k.Value == key {
			return i
		}
	}
	return -1
}

// Fields are the keys and values of a mapping as they stand there, aliases as
// aliases; none of anything else. The mapping must not change meanwhile.
func Fields(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		n := Deref(n)
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// few is up to how many keys looking back is faster than a map.
const few = 16

// Repeated is the first key of a mapping that stood there before; nil where each
// is there once. Keys that are no scalars, and merge keys, do not count.
func Repeated(n *yaml.Node) *yaml.Node {
	n = Deref(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var seen map[string]bool
	if len(n.Content) > 2*few {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Value == "<<" {
			continue
		}
		if seen == nil && stood(n.Content[:i], k.Value) || seen[k.Value] {
			return k
		}
		if seen != nil {
			seen[k.Value] = true
		}
	}
	return nil
}

func stood(content []*yaml.Node, key string) bool {
	for i := 0; i < len(content); i += 2 {
		if content[i].Kind == yaml.ScalarNode && content[i].Value == key {
			return true
		}
	}
	return false
}

// Child returns the value of a key of a mapping, aliases followed; nil where n
// is no mapping or lacks the key.
func Child(n *yaml.Node, key string) *yaml.Node {
	n = Deref(n)
	if i := Index(n, key); i >= 0 {
		return Deref(n.Content[i+1])
	}
	return nil
}

// Path follows keys from n; nil where one is missing.
func Path(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n = Child(n, k); n == nil {
			return nil
		}
	}
	return Deref(n)
}

// Text is the scalar that keys lead to, as it is written; "" where it is
// missing, null or no scalar.
func Text(n *yaml.Node, keys ...string) string {
	c := Path(n, keys...)
	if c == nil || c.Kind != yaml.ScalarNode || c.ShortTag() == yaml.NodeTagNull {
		return ""
	}
	return c.Value
}

// Items are the elements of the sequence that keys lead to, aliases as aliases;
// none of anything else.
func Items(n *yaml.Node, keys ...string) []*yaml.Node {
	c := Path(n, keys...)
	if c == nil || c.Kind != yaml.SequenceNode {
		return nil
	}
	return c.Content
}
