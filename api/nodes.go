package api

import (
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Line is the line of a field path, or of the nearest parent that is there.
func Line(root *yaml.Node, path string) int {
	n := yamltree.Deref(root)
	if n == nil {
		return 0
	}
	line := n.Line
	for _, step := range steps(path) {
		key, next := child(n, step)
		if next == nil {
			return line
		}
		n = yamltree.Deref(next)
		if line = key.Line; n == nil {
			return line
		}
	}
	return line
}

// At is a finding about a field of a document, with its line.
func At(data []byte, file, field, message, hint string) Issue {
	i := Issue{File: file, Field: field, Message: message, Hint: hint}
	if root, err := yaml.Parse(string(data)); err == nil {
		i.Line = Line(root.YNode(), field)
	}
	return i
}

// child is one step into a node: the node whose line counts, and the value.
func child(n *yaml.Node, s step) (at, value *yaml.Node) {
	switch {
	case n.Kind == yaml.SequenceNode && s.index >= 0 && s.index < len(n.Content):
		return n.Content[s.index], n.Content[s.index]
	case n.Kind == yaml.MappingNode && s.index == 0 && yamltree.Child(n, "0") == nil:
		return n, n // a single map that stands for a list
	case n.Kind == yaml.MappingNode:
		if i := yamltree.Index(n, s.name); i >= 0 {
			return n.Content[i], n.Content[i+1]
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
