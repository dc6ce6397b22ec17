package krm

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Limits bound what a file may hold before it becomes a Problem
// (docs/design/trust.md). A zero field means the default.
type Limits struct {
	FileSize  int // bytes of one YAML file; default 16 MiB
	Documents int // documents in one file; default 10,000
	Values    int // values in one file, by Values; default 1,000,000
	Depth     int // nesting of one document, aliases followed; default 200
	Aliases   int // nodes that a document's aliases stand for; default 100,000
}

// The limits that hold where none are given.
const (
	DefaultFileSize  = 16 << 20
	DefaultDocuments = 10_000
	DefaultValues    = 1_000_000
	DefaultDepth     = 200
	DefaultAliases   = 100_000
)

// Option changes how Parse reads a package.
type Option func(*Package)

// WithLimits bounds the files of a package; Write and Clone keep the bounds.
func WithLimits(l Limits) Option {
	return func(p *Package) { p.limits = l.withDefaults() }
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.FileSize, DefaultFileSize},
		{&l.Documents, DefaultDocuments},
		{&l.Values, DefaultValues},
		{&l.Depth, DefaultDepth},
		{&l.Aliases, DefaultAliases},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Values is how many values a YAML text may hold at most, seen from its
// punctuation: a tree takes about 200 bytes for each, so that a text of a few
// megabytes can take gigabytes once it is parsed.
func Values(data []byte) int {
	n := 1
	for _, mark := range []string{":", "?"} { // a key and its value
		n += 2 * bytes.Count(data, []byte(mark))
	}
	for _, mark := range []string{",", "[", "{", "- ", "-\n", "-\t", "-\r"} {
		n += bytes.Count(data, []byte(mark))
	}
	return n
}

// extent is what a node stands for when its aliases are followed.
type extent struct {
	nodes, height int
	borrowed      int // nodes that come from aliases
}

// measurer bounds a tree in one walk. An alias counts what its anchor was
// measured to, so that nothing is expanded.
type measurer struct {
	limits  Limits
	anchors map[*yaml.Node]extent // finished anchors
}

// check reports where a document passes the limits, and the line of it.
func (l Limits) check(root *yaml.Node) (line int, err error) {
	m := measurer{limits: l}
	_, line, err = m.measure(root, 0)
	return line, err
}

func (m *measurer) measure(n *yaml.Node, depth int) (extent, int, error) {
	if depth > m.limits.Depth {
		return extent{}, n.Line, fmt.Errorf("it is nested deeper than %d levels", m.limits.Depth)
	}
	if n.Kind == yaml.AliasNode {
		return m.alias(n, depth)
	}
	e := extent{nodes: 1, height: 1}
	for _, c := range n.Content {
		ce, line, err := m.measure(c, depth+1)
		if err != nil {
			return e, line, err
		}
		e.nodes += ce.nodes
		e.borrowed += ce.borrowed
		e.height = max(e.height, ce.height+1)
		if e.borrowed > m.limits.Aliases {
			return e, c.Line, fmt.Errorf("its aliases stand for more than %d nodes", m.limits.Aliases)
		}
	}
	if n.Anchor != "" {
		if m.anchors == nil {
			m.anchors = map[*yaml.Node]extent{}
		}
		m.anchors[n] = e
	}
	return e, 0, nil
}

func (m *measurer) alias(n *yaml.Node, depth int) (extent, int, error) {
	e, ok := m.anchors[n.Alias]
	if !ok {
		return e, n.Line, fmt.Errorf("the alias *%s stands inside of its own anchor", n.Value)
	}
	if depth+e.height > m.limits.Depth {
		return e, n.Line, fmt.Errorf("with the alias *%s it is nested deeper than %d levels", n.Value, m.limits.Depth)
	}
	e.borrowed = e.nodes
	return e, 0, nil
}
