package krm

import (
	"encoding/json"
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The tags of scalars that matter here.
const (
	tagStr   = "!!str"
	tagNull  = "!!null"
	tagBool  = "!!bool"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagMerge = "!!merge"
)

// maxTree bounds the depth of trees that callers build; a deeper one is taken
// for a cycle.
const maxTree = 10_000

var errDeep = errors.New("the tree is nested too deeply, or contains itself")

// quoted is the set of styles that make any scalar a string.
const quoted = yaml.Style(1<<1 | 1<<2 | 1<<3 | 1<<4)

// body is the node below a document node; nil for an empty document.
func body(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	return n
}

// target follows an alias to what it stands for.
func target(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < maxTree; i++ {
		n = n.Alias
	}
	return n
}

// field returns the value of a mapping's key; nil where it is absent.
func field(n *yaml.Node, key string) *yaml.Node {
	n = target(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return target(n.Content[i+1])
		}
	}
	return nil
}

// text returns the value of a key that is a string, "" otherwise.
func text(n *yaml.Node, key string) string {
	v := field(n, key)
	if v == nil || v.Kind != yaml.ScalarNode || v.ShortTag() != tagStr {
		return ""
	}
	return v.Value
}

// copyTree copies a tree; aliases in the copy point into the copy. Nodes and
// child lists come from two slabs.
func copyTree(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	nodes, aliases := countTree(n)
	c := copier{nodes: make([]yaml.Node, 0, nodes), lists: make([]*yaml.Node, 0, nodes)}
	if aliases {
		c.seen = make(map[*yaml.Node]*yaml.Node)
	}
	root := c.copy(n)
	for _, a := range c.aliases {
		if to, ok := c.seen[a.Alias]; ok {
			a.Alias = to
		}
	}
	return root
}

type copier struct {
	nodes   []yaml.Node
	lists   []*yaml.Node
	seen    map[*yaml.Node]*yaml.Node
	aliases []*yaml.Node
}

func (c *copier) copy(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	c.nodes = append(c.nodes, *n)
	to := &c.nodes[len(c.nodes)-1]
	if c.seen != nil {
		c.seen[n] = to
		if n.Kind == yaml.AliasNode {
			c.aliases = append(c.aliases, to)
		}
	}
	if len(n.Content) == 0 {
		to.Content = nil
		return to
	}
	start := len(c.lists)
	end := start + len(n.Content)
	c.lists = c.lists[:end]
	// The capacity ends with the list: appending to it must not reach its neighbour.
	to.Content = c.lists[start:end:end]
	for i, child := range n.Content {
		to.Content[i] = c.copy(child)
	}
	return to
}

func countTree(n *yaml.Node) (nodes int, aliases bool) {
	if n == nil {
		return 1, false
	}
	nodes, aliases = 1, n.Kind == yaml.AliasNode
	for _, c := range n.Content {
		cn, ca := countTree(c)
		nodes += cn
		aliases = aliases || ca
	}
	return nodes, aliases
}

// Equal compares two trees by meaning: comments, styles, the order of keys and
// the way to write a value (null or ~, 0x10 or 16) do not count, types do: the
// number 1 is not the string "1". Aliases equal what they stand for.
func Equal(a, b *yaml.RNode) bool {
	return equalNodes(a.YNode(), b.YNode())
}

func equalNodes(a, b *yaml.Node) bool { return equalAt(a, b, 0) }

func equalAt(a, b *yaml.Node, depth int) bool {
	a, b = target(body(a)), target(body(b))
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if a == b {
		return true
	}
	if depth > maxTree || a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return equalScalars(a, b)
	case yaml.MappingNode:
		return customTag(a) == customTag(b) && equalMappings(a, b, depth+1)
	case yaml.SequenceNode:
		for i := range a.Content {
			if !equalAt(a.Content[i], b.Content[i], depth+1) {
				return false
			}
		}
		return customTag(a) == customTag(b)
	}
	return false
}

func equalScalars(a, b *yaml.Node) bool {
	ta, tb := a.ShortTag(), b.ShortTag()
	return ta == tb && (a.Value == b.Value || canonical(ta, a.Value) == canonical(tb, b.Value))
}

func equalMappings(a, b *yaml.Node, depth int) bool {
	if len(a.Content)%2 != 0 {
		return false
	}
	ordered := true // the common case needs no index
	for i := 0; i < len(a.Content) && ordered; i += 2 {
		ordered = equalAt(a.Content[i], b.Content[i], depth)
	}
	if ordered {
		for i := 1; i < len(a.Content); i += 2 {
			if !equalAt(a.Content[i], b.Content[i], depth) {
				return false
			}
		}
		return true
	}
	ka, oka := keysOf(a)
	kb, okb := keysOf(b)
	if !oka || !okb {
		return false
	}
	for k, i := range ka {
		j, ok := kb[k]
		if !ok || !equalAt(a.Content[i+1], b.Content[j+1], depth) {
			return false
		}
	}
	return true
}

// key identifies a mapping's key.
type key struct{ tag, value string }

// keysOf indexes a mapping; it fails for keys that are no scalars, or twice.
func keysOf(n *yaml.Node) (map[key]int, bool) {
	out := make(map[key]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, ok := keyOf(n.Content[i])
		if !ok {
			return nil, false
		}
		if _, twice := out[k]; twice {
			return nil, false
		}
		out[k] = i
	}
	return out, len(n.Content)%2 == 0
}

func keyOf(n *yaml.Node) (key, bool) {
	n = target(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return key{}, false
	}
	tag := n.ShortTag()
	return key{tag, canonical(tag, n.Value)}, true
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull
}

// customTag is the tag of a collection where it is not the usual one.
func customTag(n *yaml.Node) string {
	if n.Tag == "" {
		return ""
	}
	switch tag := n.ShortTag(); tag {
	case "!!map", "!!seq":
		return ""
	default:
		return tag
	}
}

// canonical is one way to write a scalar of a tag.
func canonical(tag, value string) string {
	switch tag {
	case tagNull:
		return "null"
	case tagBool:
		return strings.ToLower(value)
	case tagInt:
		if i, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 0, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
	case tagFloat:
		if f, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil && !math.IsInf(f, 0) {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return strings.TrimPrefix(strings.ToLower(value), "+")
	}
	return value
}

// Canonical encodes a tree by meaning for hashing: JSON with sorted keys,
// without comments, styles and spaces; numbers as they are written in decimal.
// Two trees that are Equal have one encoding. It fails for keys that are no
// scalars or occur twice.
func Canonical(n *yaml.RNode) ([]byte, error) {
	return appendCanonical(nil, n.YNode(), 0)
}

func appendCanonical(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	if depth > maxTree {
		return nil, errDeep
	}
	n = target(body(n))
	if isNull(n) {
		return append(b, "null"...), nil
	}
	tag := customTag(n)
	if n.Kind == yaml.ScalarNode {
		return appendScalar(b, n)
	}
	var err error
	if tag != "" { // an object that no JSON value of the untagged tree equals
		b = append(appendString(append(b, '<'), tag), ' ')
	}
	if n.Kind == yaml.SequenceNode {
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, c, depth+1); err != nil {
				return nil, err
			}
		}
		b = append(b, ']')
	} else if b, err = appendMapping(b, n, depth+1); err != nil {
		return nil, err
	}
	if tag != "" {
		b = append(b, '>')
	}
	return b, nil
}

func appendMapping(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	index, ok := keysOf(n)
	if !ok {
		return nil, errors.New("a mapping has a key twice, or one that is no scalar")
	}
	keys := make([]key, 0, len(index))
	for k := range index {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].value != keys[j].value {
			return keys[i].value < keys[j].value
		}
		return keys[i].tag < keys[j].tag
	})
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if k.tag != tagStr { // JSON has string keys only; a mark keeps 1 and "1" apart
			b = append(b, k.tag...)
		}
		b = append(appendString(b, k.value), ':')
		var err error
		if b, err = appendCanonical(b, n.Content[index[k]+1], depth); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendScalar(b []byte, n *yaml.Node) ([]byte, error) {
	tag := n.ShortTag()
	value := canonical(tag, n.Value)
	switch tag {
	case tagStr:
		return appendString(b, value), nil
	case tagBool, tagInt:
		return append(b, value...), nil
	case tagFloat:
		if !strings.ContainsAny(value, ".einf") { // 1.0 is not the integer 1
			value += ".0"
		}
		return append(b, value...), nil
	}
	return append(appendString(append(append(b, '<'), tag...), value), '>'), nil
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil { // cannot happen for a string
		return strconv.AppendQuote(b, s)
	}
	return append(b, q...)
}
