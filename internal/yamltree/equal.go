package yamltree

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Identical says whether two trees agree in all that a text is made from:
// values, tags, styles, anchors, comments and the places where they stood. A
// tree with an alias is identical to none.
func Identical(a, b *yaml.Node) bool {
	if a == nil || b == nil || len(a.Content) != len(b.Content) || a.Value != b.Value || !identicalNodes(a, b) {
		return false
	}
	for i := range a.Content {
		if !Identical(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// identicalNodes is Identical for two nodes alone, without their values and content.
func identicalNodes(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Style == b.Style && a.Line == b.Line && a.Column == b.Column &&
		a.Tag == b.Tag && a.Anchor == b.Anchor && a.Alias == nil && b.Alias == nil && sameComments(a, b)
}

func sameComments(a, b *yaml.Node) bool {
	return a.HeadComment == b.HeadComment && a.LineComment == b.LineComment && a.FootComment == b.FootComment
}

// SameText says whether two trees are alike in all that an author wrote: values
// and the way to write them, order, styles and comments. Places and the names of
// anchors do not count. An alias is the same as an alias of the same, and never
// as a value that is written out. Two missing values are the same.
func SameText(a, b *yaml.Node) bool { return sameText(a, b, 0) }

func sameText(a, b *yaml.Node, depth int) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	if depth > maxDepth || a.Kind != b.Kind || a.Style != b.Style || len(a.Content) != len(b.Content) || !sameComments(a, b) {
		return false
	}
	if a.Kind == yaml.AliasNode {
		return sameText(a.Alias, b.Alias, depth+1)
	}
	if a.Value != b.Value || a.ShortTag() != b.ShortTag() {
		return false
	}
	for i := range a.Content {
		if !sameText(a.Content[i], b.Content[i], depth+1) {
			return false
		}
	}
	return true
}

// SameValue says whether a YAML reader gets the same from two trees: comments,
// styles, the order of keys and the way to write a value (null or ~, 0x10 or
// 16, an alias or what it stands for) do not count. Types do: the integer 1 is
// neither the string "1" nor the float 1.0, a date is no string. A merge key
// ("<<") is a key like others. A missing value reads as null.
//
// Scalars are read as the API server reads them ([Tag]): by the rules of YAML 1.1 (010
// is 8, 1_000 is 1000, yes is true); keys by those of the YAML library (yes is a string).
func SameValue(a, b *yaml.Node) bool { return sameValue(a, b, 0) }

func sameValue(a, b *yaml.Node, depth int) bool {
	a, b = Deref(a), Deref(b)
	if a == b {
		return true
	}
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if depth > maxDepth || a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return sameScalar(a, b)
	case yaml.MappingNode:
		return CustomTag(a) == CustomTag(b) && sameMapping(a, b, depth+1)
	}
	for i := range a.Content {
		if !sameValue(a.Content[i], b.Content[i], depth+1) {
			return false
		}
	}
	return CustomTag(a) == CustomTag(b)
}

func sameScalar(a, b *yaml.Node) bool {
	ta, tb := Tag(a), Tag(b)
	return ta == tb && (a.Value == b.Value || canonical(ta, a.Value) == canonical(tb, b.Value))
}

func sameMapping(a, b *yaml.Node, depth int) bool {
	if len(a.Content)%2 != 0 || len(a.Content) != len(b.Content) {
		return false
	}
	ordered := true // the common case needs no index
	for i := 0; i < len(a.Content) && ordered; i += 2 {
		ordered = sameValue(a.Content[i], b.Content[i], depth)
	}
	if ordered {
		for i := 1; i < len(a.Content); i += 2 {
			if !sameValue(a.Content[i], b.Content[i], depth) {
				return false
			}
		}
		return true
	}
	_, oka := Keys(a)
	find, okb := Keys(b)
	if !oka || !okb {
		return false
	}
	for i := 0; i < len(a.Content); i += 2 {
		k, _ := KeyOf(a.Content[i])
		j, ok := find(k)
		if !ok || !sameValue(a.Content[i+1], b.Content[j+1], depth) {
			return false
		}
	}
	return true
}

// Key identifies a key of a mapping: two keys of the SameValue have one Key.
type Key struct{ Tag, Value string }

// KeyOf is the Key of a scalar; it fails for anything else.
func KeyOf(n *yaml.Node) (Key, bool) {
	n = Deref(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return Key{}, false
	}
	tag := n.ShortTag()
	return Key{tag, canonical(tag, n.Value)}, true
}

// Keys returns a function that finds a key of a mapping: where it stands in the mapping's
// Content. Keys fails where a key is no scalar, or is there twice.
func Keys(n *yaml.Node) (find func(Key) (int, bool), ok bool) {
	keys, at := make([]Key, 0, len(n.Content)/2), map[Key]int(nil)
	if cap(keys) > few {
		at = make(map[Key]int, cap(keys))
	}
	find = func(k Key) (int, bool) {
		if i, ok := at[k]; at != nil {
			return i, ok
		}
		i := slices.Index(keys, k)
		return 2 * i, i >= 0
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, ok := KeyOf(n.Content[i])
		if _, twice := find(k); twice || !ok {
			return nil, false
		}
		if keys = append(keys, k); at != nil {
			at[k] = i
		}
	}
	return find, len(n.Content)%2 == 0
}

// CustomTag is the tag of a collection where it is not the usual one.
func CustomTag(n *yaml.Node) string {
	if n.Tag == "" {
		return ""
	}
	switch tag := n.ShortTag(); tag {
	case yaml.NodeTagMap, yaml.NodeTagSeq:
		return ""
	default:
		return tag
	}
}

// Canonical is one way to write a scalar, or a key: those that the YAML library reads
// alike have one tag and one canonical text.
func Canonical(n *yaml.Node) string { return canonical(n.ShortTag(), n.Value) }

// Bool returns the value of a boolean as the API server reads it; ok is false for
// anything else.
func Bool(n *yaml.Node) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || Tag(n) != yaml.NodeTagBool {
		return false, false
	}
	return canonical(yaml.NodeTagBool, n.Value) == "true", true
}

func canonical(tag, value string) string {
	switch tag {
	case yaml.NodeTagNull:
		return "null"
	case yaml.NodeTagBool:
		switch value = strings.ToLower(value); value {
		case "yes", "on", "y":
			return "true"
		case "no", "off", "n":
			return "false"
		}
		return value
	case yaml.NodeTagInt:
		if i, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 0, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
	case yaml.NodeTagFloat:
		if f, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil && !math.IsInf(f, 0) {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return strings.TrimPrefix(strings.ToLower(value), "+")
	}
	return value
}

var seed = maphash.MakeSeed()

// Hash is a number that trees of the SameValue share. Others do not, but for
// chance, and for mappings that have keys twice, or keys that are no scalars, in
// another order. It holds for one run of the program.
func Hash(n *yaml.Node) uint64 { return hash(n, 0) }

func hash(n *yaml.Node, depth int) uint64 {
	if n = Deref(n); isNull(n) || depth > maxDepth {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteByte(byte(n.Kind))
	if n.Kind == yaml.ScalarNode {
		tag := Tag(n)
		h.WriteString(tag)
		h.WriteByte(0)
		h.WriteString(canonical(tag, n.Value))
		return h.Sum64()
	}
	h.WriteString(CustomTag(n))
	if n.Kind == yaml.MappingNode {
		var fields uint64 // a sum: their order does not count
		for k, v := range Fields(n) {
			fields += hash(k, depth+1)*31 ^ hash(v, depth+1)
		}
		writeUint(&h, fields)
		return h.Sum64()
	}
	for _, c := range n.Content {
		writeUint(&h, hash(c, depth+1))
	}
	return h.Sum64()
}

func writeUint(h *maphash.Hash, v uint64) {
	for s := 0; s < 64; s += 8 {
		h.WriteByte(byte(v >> s))
	}
}
