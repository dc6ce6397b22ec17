package api

import (
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func document(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		return n.Content[0]
	}
	return n
}

// resolve follows aliases; nil for an alias that leads back to itself.
func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode; i++ {
		if i > maxDepth {
			return nil
		}
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func valueOf(m *yaml.Node, key string) *yaml.Node {
	m = resolve(m)
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return resolve(m.Content[i+1])
		}
	}
	return nil
}

func scalarOf(m *yaml.Node, key string) string {
	if v := valueOf(m, key); v != nil && v.Kind == yaml.ScalarNode && !isNull(v) {
		return v.Value
	}
	return ""
}

// lineOf is the line of a field path, or of the nearest parent that is there.
func lineOf(root *yaml.Node, path string) int {
	n := document(root)
	if n == nil {
		return 0
	}
	line := n.Line
	for _, step := range steps(path) {
		key, next := child(n, step)
		if next == nil {
			return line
		}
		n = resolve(next)
		if line = key.Line; n == nil {
			return line
		}
	}
	return line
}

// child is one step into a node: the node whose line counts, and the value.
func child(n *yaml.Node, s step) (at, value *yaml.Node) {
	switch {
	case n.Kind == yaml.SequenceNode && s.index >= 0 && s.index < len(n.Content):
		return n.Content[s.index], n.Content[s.index]
	case n.Kind == yaml.MappingNode && s.index == 0 && valueOf(n, "0") == nil:
		return n, n // a single map that stands for a list
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == s.name {
				return n.Content[i], n.Content[i+1]
			}
		}
		if s.name == "injectors" {
			return child(n, step{name: "injectorExprs", index: -1})
		}
	}
	return nil, nil
}

type step struct {
	name  string
	index int // -1 for a name
}

// steps splits spec.targets[0].labels[foo.org/id] into its parts.
func steps(path string) []step {
	var out []step
	for path != "" {
		if rest, ok := strings.CutPrefix(path, "["); ok {
			inside, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(inside)
			if err != nil {
				i = -1
			}
			out = append(out, step{inside, i})
			path = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		out = append(out, step{path[:end], -1})
		path = strings.TrimPrefix(path[end:], ".")
	}
	return out
}
