package yamltree

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The bounds of Plain, so that aliases cannot make a small text a huge tree.
const (
	MaxNodes = 1 << 18
	MaxDepth = 200
)

// ErrTooLarge is what Plain returns past MaxNodes or MaxDepth.
var ErrTooLarge = errors.New("value is too large or too deeply nested once its YAML aliases are followed")

// Plain copies a value so that it can stand anywhere: aliases and merge keys
// are resolved, anchors and comments dropped, flow style opened (an empty
// collection excepted). It returns ErrTooLarge past its bounds.
func Plain(n *yaml.Node) (*yaml.Node, error) {
	budget := MaxNodes
	return plain(n, &budget, 0)
}

func plain(n *yaml.Node, budget *int, depth int) (*yaml.Node, error) {
	n = Deref(n)
	if *budget--; *budget < 0 || depth > MaxDepth {
		return nil, ErrTooLarge
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value, Style: n.Style &^ (yaml.FlowStyle | yaml.TaggedStyle)}
	if n.Kind == yaml.ScalarNode {
		switch {
		case AsWritten(n):
			out.Line = n.Line // keeps it so
		case out.Tag == yaml.NodeTagString && out.Style == 0:
			out.Style = String(n.Value).Style
		}
		return out, nil
	}
	if len(n.Content) == 0 {
		out.Style = yaml.FlowStyle
		return out, nil
	}
	if n.Kind == yaml.MappingNode {
		return out, plainMap(out, n, budget, depth)
	}
	for _, c := range n.Content {
		p, err := plain(c, budget, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, p)
	}
	return out, nil
}

// plainMap fills out with the entries of n; those of a merge key come last
// and only where n has no such key.
func plainMap(out, n *yaml.Node, budget *int, depth int) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == yaml.MergeTag {
			merged = append(merged, mergeSources(value)...)
			continue
		}
		k, err := plain(key, budget, depth+1)
		if err != nil {
			return err
		}
		v, err := plain(value, budget, depth+1)
		if err != nil {
			return err
		}
		out.Content = append(out.Content, k, v)
	}
	for _, m := range merged {
		p, err := plain(m, budget, depth+1)
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(p.Content); i += 2 {
			if Index(out, p.Content[i].Value) < 0 {
				out.Content = append(out.Content, p.Content[i], p.Content[i+1])
			}
		}
	}
	return nil
}

func mergeSources(n *yaml.Node) []*yaml.Node {
	n = Deref(n)
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

// WriteCanonical writes a value in one form for digests that are kept: keys
// sorted, scalars as tag and quoted text. Values that write the same bytes have
// the SameValue; 16 and 0x10 write different ones. The value must be Plain.
// Errors are the writer's.
func WriteCanonical(w io.Writer, n *yaml.Node) error {
	n = Deref(n)
	switch n.Kind {
	case yaml.ScalarNode:
		value := n.Value
		if n.ShortTag() == yaml.NodeTagNull {
			value = ""
		}
		_, err := fmt.Fprintf(w, "%s %s\n", Tag(n), strconv.Quote(value))
		return err
	case yaml.MappingNode:
		return writeMap(w, n)
	}
	if _, err := fmt.Fprintf(w, "[%d\n", len(n.Content)); err != nil {
		return err
	}
	for _, c := range n.Content {
		if err := WriteCanonical(w, c); err != nil {
			return err
		}
	}
	return nil
}

func writeMap(w io.Writer, n *yaml.Node) error {
	order := make([]int, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		order = append(order, i)
	}
	sort.SliceStable(order, func(i, j int) bool { return n.Content[order[i]].Value < n.Content[order[j]].Value })
	if _, err := fmt.Fprintf(w, "{%d\n", len(order)); err != nil {
		return err
	}
	for _, i := range order {
		if err := WriteCanonical(w, n.Content[i]); err != nil {
			return err
		}
		if err := WriteCanonical(w, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Check returns ErrTooLarge for a tree that passes the bounds of Plain once its
// aliases are followed, one that holds itself among them. The functions of this
// package follow aliases and need trees that pass.
func Check(n *yaml.Node) error {
	budget := MaxNodes
	return check(n, &budget, 0, false)
}

func check(n *yaml.Node, budget *int, depth int, aliased bool) error {
	if n.Kind == yaml.AliasNode {
		n, aliased = Deref(n), true
	}
	if aliased {
		*budget--
	}
	if *budget < 0 || depth > MaxDepth {
		return ErrTooLarge
	}
	for _, c := range n.Content {
		if err := check(c, budget, depth+1, aliased); err != nil {
			return err
		}
	}
	return nil
}
