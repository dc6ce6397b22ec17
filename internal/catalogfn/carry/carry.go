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
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Differs says whether a program changed a tree: a value, its type, or a
// comment that it wrote. The order of keys and comments that it lost are no
// changes: programs sort keys and drop comments without meaning to.
func Differs(old, now *yaml.Node) bool {
	return !yamltree.SameData(old, now) || commented(old, now)
}

// commented says whether a program wrote a comment into a tree of the same data.
func commented(old, now *yaml.Node) bool {
	old, now = yamltree.Deref(old), yamltree.Deref(now)
	if old == nil || now == nil {
		return false
	}
	if commentChanged(old, now) {
		return true
	}
	if now.Kind == yaml.SequenceNode {
		for i := range now.Content {
			if commented(old.Content[i], now.Content[i]) {
				return true
			}
		}
	}
	for k, v := range yamltree.Fields(now) {
		i := yamltree.Index(old, k.Value)
		if i < 0 { // a merge key brings it in
			if commented(yamltree.Merged(old)[k.Value], v) {
				return true
			}
			continue
		}
		if commentChanged(old.Content[i], k) || commented(old.Content[i+1], v) {
			return true
		}
	}
	return false
}

func merged(m *yaml.Node) bool { return yamltree.Index(m, yamltree.MergeKey) >= 0 }

func commentChanged(old, now *yaml.Node) bool {
	return now.HeadComment != "" && now.HeadComment != old.HeadComment ||
		now.LineComment != "" && now.LineComment != old.LineComment ||
		now.FootComment != "" && now.FootComment != old.FootComment
}

// Over makes dst equal to src where they differ and leaves the rest of
// dst, its comments and its order, as it is.
func Over(dst, src *yaml.Node) {
	src = yamltree.Deref(src)
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
	if yamltree.SameData(dst, src) {
		return
	}
	if dst.ShortTag() != src.ShortTag() || src.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || yamltree.AsWritten(src) {
		dst.Style = src.Style
	}
	dst.Value, dst.Tag = src.Value, src.Tag
	if yamltree.AsWritten(dst) { // the function quoted it
		dst.Style = src.Style
	}
}

func carryMap(dst, src *yaml.Node) {
	if merged(dst) && !merged(src) {
		dst.Content = copyNode(src).Content // some merged entry changed: written out
		return
	}
	kept := dst.Content[:0]
	for key, value := range yamltree.Fields(dst) {
		if yamltree.Index(src, key.Value) >= 0 {
			kept = append(kept, key, value)
		}
	}
	dst.Content = kept
	for key, value := range yamltree.Fields(src) {
		at := yamltree.Index(dst, key.Value)
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
	n = yamltree.Deref(n)
	for _, key := range []string{"name", "key", "mountPath", "containerPort", "port", "ip"} {
		if v := yamltree.Child(n, key); v != nil && v.Kind == yaml.ScalarNode {
			return key + "=" + v.Value
		}
	}
	return ""
}

func copyNode(n *yaml.Node) *yaml.Node { return yaml.CopyYNode(n) }
