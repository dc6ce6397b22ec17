package yamltree

import (
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// MergeKey takes the fields of other mappings into one.
const MergeKey = "<<"

// SameData says whether two trees are alike for a program that keeps them in
// types of its own, as starlark and most functions do, and writes them again: on
// top of SameValue, numbers are compared whatever their type (1 and 1.0), dates
// and keys as text, and what a merge key brings in stands among the fields. Tags
// of collections do not count.
func SameData(a, b *yaml.Node) bool { return sameData(a, b, 0) }

func sameData(a, b *yaml.Node, depth int) bool {
	a, b = Deref(a), Deref(b)
	if a == b {
		return true
	}
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if depth > maxDepth || a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return sameScalar(a, b) || sameDatum(a, b)
	case yaml.MappingNode:
		return sameFields(a, b, depth+1)
	}
	if len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameData(a.Content[i], b.Content[i], depth+1) {
			return false
		}
	}
	return true
}

// sameFields compares mappings by key; those with a key twice, or one that is
// no scalar, as SameValue does.
func sameFields(a, b *yaml.Node, depth int) bool {
	x, y := map[string]*yaml.Node{}, map[string]*yaml.Node{}
	if !gather(x, a, Canonical, depth) || !gather(y, b, Canonical, depth) {
		return sameMapping(a, b, depth)
	}
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		w, ok := y[k]
		if !ok || !sameData(v, w, depth) {
			return false
		}
	}
	return true
}

// Merged are the values of a mapping by the text of their keys, merge keys
// followed: the mapping's own fields win, then earlier merges.
func Merged(n *yaml.Node) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	gather(out, n, func(k *yaml.Node) string { return k.Value }, 0)
	return out
}

// gather adds the fields of n that are not in out yet, and says whether each
// key is a scalar and there once.
func gather(out map[string]*yaml.Node, n *yaml.Node, name func(*yaml.Node) string, depth int) bool {
	plain := depth <= maxDepth
	own := map[string]bool{}
	var sources []*yaml.Node
	for k, v := range Fields(n) {
		if k.Value == MergeKey {
			sources = append(sources, mergeSources(v)...)
			continue
		}
		key := ""
		if k = Deref(k); k != nil && k.Kind == yaml.ScalarNode {
			key = name(k)
		} else {
			plain = false
		}
		plain = plain && !own[key]
		if own[key] = true; out[key] == nil {
			out[key] = v
		}
	}
	for _, s := range sources {
		plain = depth <= maxDepth && gather(out, s, name, depth+1) && plain
	}
	return plain
}

// sameDatum compares scalars of types that a program makes one of.
func sameDatum(a, b *yaml.Node) bool {
	ta, tb := datumType(a), datumType(b)
	return ta == tb && (a.Value == b.Value || ta == yaml.NodeTagFloat && sameNumber(a, b))
}

// datumType is a scalar's type, with one for all numbers and one for all text.
func datumType(n *yaml.Node) string {
	switch t := n.ShortTag(); t {
	case yaml.NodeTagInt:
		return yaml.NodeTagFloat
	case "!!timestamp":
		return yaml.NodeTagString
	default:
		return t
	}
}

func sameNumber(a, b *yaml.Node) bool {
	var x, y int64
	if a.Decode(&x) == nil && b.Decode(&y) == nil {
		return x == y
	}
	var f, g float64
	return a.Decode(&f) == nil && b.Decode(&g) == nil && f == g && strconv.FormatFloat(f, 'g', -1, 64) == strconv.FormatFloat(g, 'g', -1, 64)
}
