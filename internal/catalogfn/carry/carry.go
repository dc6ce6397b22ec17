// Package carry brings a tree that went through a program back onto the tree
// that it came from, changing only what the program changed: comments, the order
// of keys, quotes and the spelling of numbers survive where the program lost
// them without meaning to.
//
//	if carry.Differs(old, now) {
//		carry.Over(resource.Edit().YNode(), now)
//	}
package carry

import (
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Differs says whether a program changed a tree: a value, its type, or a
// comment that it wrote. The order of keys and comments that it lost are no
// changes: programs sort keys and drop comments without meaning to.
func Differs(old, now *yaml.Node) bool {
	old, now = deref(old), deref(now)
	if commentChanged(old, now) {
		return true
	}
	if old.Kind != now.Kind {
		return true
	}
	switch old.Kind {
	case yaml.MappingNode:
		return mapsDiffer(old, now)
	case yaml.SequenceNode:
		if len(old.Content) != len(now.Content) {
			return true
		}
		for i := range old.Content {
			if Differs(old.Content[i], now.Content[i]) {
				return true
			}
		}
		return false
	default:
		return !sameScalar(old, now)
	}
}

func mapsDiffer(old, now *yaml.Node) bool {
	if merged(old) != merged(now) {
		return mergedDiffer(old, now)
	}
	if len(old.Content) != len(now.Content) {
		return true
	}
	for i := 0; i+1 < len(now.Content); i += 2 {
		key := now.Content[i]
		at := keyIndex(old, key.Value)
		if at < 0 || commentChanged(old.Content[at], key) || Differs(old.Content[at+1], now.Content[i+1]) {
			return true
		}
	}
	return false
}

// mergeKey takes the entries of other mappings into one.
const mergeKey = "<<"

func merged(m *yaml.Node) bool { return keyIndex(m, mergeKey) >= 0 }

// mergedDiffer compares a mapping with merge keys with one where a program has
// written them out.
func mergedDiffer(old, now *yaml.Node) bool {
	a, b := Entries(old), Entries(now)
	if len(a) != len(b) {
		return true
	}
	for k, v := range b {
		if w, ok := a[k]; !ok || Differs(w, v) {
			return true
		}
	}
	return false
}

// Entries are the values of a mapping by key, merge keys followed: the
// mapping's own entries win, then earlier merges.
func Entries(m *yaml.Node) map[string]*yaml.Node {
	m = deref(m)
	out := make(map[string]*yaml.Node, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != mergeKey {
			out[m.Content[i].Value] = m.Content[i+1]
		}
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != mergeKey {
			continue
		}
		sources := []*yaml.Node{m.Content[i+1]}
		if v := deref(m.Content[i+1]); v.Kind == yaml.SequenceNode {
			sources = v.Content
		}
		for _, source := range sources {
			if deref(source).Kind != yaml.MappingNode {
				continue
			}
			for k, v := range Entries(source) {
				if _, ok := out[k]; !ok {
					out[k] = v
				}
			}
		}
	}
	return out
}

func commentChanged(old, now *yaml.Node) bool {
	return now.HeadComment != "" && now.HeadComment != old.HeadComment ||
		now.LineComment != "" && now.LineComment != old.LineComment ||
		now.FootComment != "" && now.FootComment != old.FootComment
}

// sameScalar compares values and their types; numbers by what they are, nulls
// and booleans whatever their spelling, and timestamps as text.
func sameScalar(a, b *yaml.Node) bool {
	ta, tb := kindOf(a), kindOf(b)
	switch {
	case ta != tb:
		return false
	case a.Value == b.Value || ta == yaml.NodeTagNull:
		return true
	case ta == yaml.NodeTagBool:
		return strings.EqualFold(a.Value, b.Value)
	case ta == yaml.NodeTagFloat:
		return sameNumber(a, b)
	}
	return false
}

// kindOf is a scalar's type, with one for all numbers and one for all text.
func kindOf(n *yaml.Node) string {
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

// Over makes dst equal to src where they differ and leaves the rest of
// dst, its comments and its order, as it is.
func Over(dst, src *yaml.Node) {
	src = deref(src)
	if dst.Kind == yaml.AliasNode {
		if !Differs(dst, src) {
			return
		}
		*dst = *copyNode(src)
		return
	}
	takeComments(dst, src)
	if dst.Kind != src.Kind {
		head, line, foot := dst.HeadComment, dst.LineComment, dst.FootComment
		*dst = *copyNode(src)
		dst.HeadComment, dst.LineComment, dst.FootComment = head, line, foot
		return
	}
	switch src.Kind {
	case yaml.MappingNode:
		carryMap(dst, src)
	case yaml.SequenceNode:
		carryList(dst, src)
	default:
		carryScalar(dst, src)
	}
}

func takeComments(dst, src *yaml.Node) {
	if src.HeadComment != "" {
		dst.HeadComment = src.HeadComment
	}
	if src.LineComment != "" {
		dst.LineComment = src.LineComment
	}
	if src.FootComment != "" {
		dst.FootComment = src.FootComment
	}
}

func carryScalar(dst, src *yaml.Node) {
	if sameScalar(dst, src) {
		return
	}
	if dst.ShortTag() != src.ShortTag() || src.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		dst.Style = src.Style
	}
	dst.Value, dst.Tag = src.Value, src.Tag
}

func carryMap(dst, src *yaml.Node) {
	if merged(dst) && !merged(src) {
		dst.Content = copyNode(src).Content // some merged entry changed: written out
		return
	}
	kept := dst.Content[:0]
	for i := 0; i+1 < len(dst.Content); i += 2 {
		if keyIndex(src, dst.Content[i].Value) >= 0 {
			kept = append(kept, dst.Content[i], dst.Content[i+1])
		}
	}
	dst.Content = kept
	for i := 0; i+1 < len(src.Content); i += 2 {
		key, value := src.Content[i], src.Content[i+1]
		at := keyIndex(dst, key.Value)
		if at < 0 {
			dst.Content = append(dst.Content, copyNode(key), copyNode(value))
			continue
		}
		takeComments(dst.Content[at], key)
		if Differs(dst.Content[at+1], value) {
			Over(dst.Content[at+1], value)
		}
	}
	if len(dst.Content) > 0 && dst.Style&yaml.FlowStyle != 0 && src.Style&yaml.FlowStyle == 0 && len(kept) == 0 {
		dst.Style = src.Style // `{}` that got its first entries
	}
}

// carryList pairs elements by their name or key where each has one, else by
// equality from both ends, else by place.
func carryList(dst, src *yaml.Node) {
	if len(dst.Content) == len(src.Content) && !renamed(dst, src) {
		for i := range src.Content {
			if Differs(dst.Content[i], src.Content[i]) {
				Over(dst.Content[i], src.Content[i])
			}
		}
		return
	}
	pairs := pairElements(dst.Content, src.Content)
	out := make([]*yaml.Node, len(src.Content))
	for i, e := range src.Content {
		if j := pairs[i]; j >= 0 {
			out[i] = dst.Content[j]
			if Differs(out[i], e) {
				Over(out[i], e)
			}
			continue
		}
		out[i] = copyNode(e)
	}
	if len(dst.Content) == 0 {
		dst.Style = src.Style
	}
	dst.Content = out
}

// renamed says whether elements of lists of equal length changed their names
// or places.
func renamed(a, b *yaml.Node) bool {
	for i := range a.Content {
		if elementName(a.Content[i]) != elementName(b.Content[i]) {
			return true
		}
	}
	return false
}

func pairElements(old, now []*yaml.Node) []int {
	pairs := make([]int, len(now))
	used := make([]bool, len(old))
	byName := map[string]int{}
	for j, e := range old {
		if name := elementName(e); name != "" {
			if _, twice := byName[name]; twice {
				name = ""
			}
			byName[name] = j
		}
	}
	for i, e := range now {
		pairs[i] = -1
		if name := elementName(e); name != "" {
			if j, ok := byName[name]; ok && !used[j] {
				pairs[i], used[j] = j, true
			}
		}
	}
	pairEqual(old, now, pairs, used)
	return pairs
}

// pairEqual pairs what is still alone with equal elements, in order.
func pairEqual(old, now []*yaml.Node, pairs []int, used []bool) {
	from := 0
	for i, e := range now {
		if pairs[i] >= 0 {
			continue
		}
		for j := from; j < len(old); j++ {
			if !used[j] && !Differs(old[j], e) {
				pairs[i], used[j] = j, true
				from = j + 1
				break
			}
		}
	}
}

func elementName(n *yaml.Node) string {
	n = deref(n)
	for _, key := range []string{"name", "key", "mountPath", "containerPort", "port", "ip"} {
		if v := mapValue(n, key); v != nil && v.Kind == yaml.ScalarNode {
			return key + "=" + v.Value
		}
	}
	return ""
}

func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return deref(n.Content[0])
	}
	return n
}

func copyNode(n *yaml.Node) *yaml.Node { return yaml.CopyYNode(n) }

func keyIndex(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// mapValue is the value of key; nil where n is no mapping or has none.
func mapValue(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	if i := keyIndex(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}
