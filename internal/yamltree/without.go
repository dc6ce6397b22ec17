package yamltree

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Without returns a tree without the fields and list items that drop names by their
// path, as JoinField and ListKey make it, and without the mappings and lists that had
// nothing else. It returns n itself where there are none; n is not changed.
func Without(n *yaml.Node, drop func(field string) bool) *yaml.Node {
	out, _ := without("", n, drop, 0)
	return out
}

// without is Without for what stands at a path; all says that nothing is left.
func without(field string, n *yaml.Node, drop func(string) bool, depth int) (out *yaml.Node, all bool) {
	if n == nil || depth > maxDepth || len(n.Content) == 0 {
		return n, false
	}
	var content []*yaml.Node
	changed := false
	keep := func(at string, v *yaml.Node, before ...*yaml.Node) {
		if drop(at) {
			changed = true
			return
		}
		kept, gone := without(at, v, drop, depth+1)
		if changed = changed || kept != v; !gone {
			content = append(append(content, before...), kept)
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		for k, v := range Fields(n) {
			keep(JoinField(field, k.Value), v, k)
		}
	case yaml.SequenceNode:
		key := ListKey(n)
		for i, v := range n.Content {
			at := strconv.Itoa(i)
			if key != "" {
				at = key + "=" + ItemID(v, key)
			}
			keep(field+"["+at+"]", v)
		}
	default:
		for _, v := range n.Content {
			keep(field, v)
		}
	}
	if !changed {
		return n, false
	}
	c := *n
	c.Content = content
	return &c, len(content) == 0
}

// Comments lists a tree's comments, sorted, whatever the layout: each line of those
// that stand alone, and those that follow a value with its path.
func Comments(n *yaml.Node) (out []string) {
	comments("", n, &out, 0)
	slices.Sort(out)
	return out
}

func comments(field string, n *yaml.Node, out *[]string, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	for _, text := range []string{n.HeadComment, n.FootComment} {
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				*out = append(*out, line)
			}
		}
	}
	if line := strings.TrimSpace(n.LineComment); line != "" {
		*out = append(*out, field+" "+line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for k, v := range Fields(n) {
			at := JoinField(field, k.Value)
			comments(at, k, out, depth+1)
			comments(at, v, out, depth+1)
		}
	case yaml.SequenceNode:
		for i, v := range n.Content {
			comments(field+"["+strconv.Itoa(i)+"]", v, out, depth+1)
		}
	default:
		for _, v := range n.Content {
			comments(field, v, out, depth+1)
		}
	}
}
