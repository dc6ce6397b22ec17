package krm

import (
	"bytes"
	"errors"
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

// text refuses what is no text, or too long a one, without parsing it.
func (l Limits) text(data []byte) (line int, err error) {
	if len(data) > l.FileSize {
		return 0, fmt.Errorf("it has %d bytes, more than %d", len(data), l.FileSize)
	}
	if n := Values(data); n > l.Values {
		return 0, fmt.Errorf("it has up to %d values, more than %d", n, l.Values)
	}
	if at, why := validText(data); why != "" {
		return 1 + bytes.Count(data[:at], []byte{'\n'}), errors.New(why)
	}
	return 0, nil
}

func (l Limits) documents(n int) error {
	if n > l.Documents {
		return fmt.Errorf("it has more than %d documents", l.Documents)
	}
	return nil
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

// ValuesAtMost is how many Values there are at most in so many texts of so many bytes.
func ValuesAtMost(texts int, bytes int64) int64 { return int64(texts) + 2*bytes }

// extent is what a node stands for when its aliases are followed.
type extent struct {
	nodes, height int
	borrowed      int // nodes that come from aliases
	tree          int // the tree that the node is in
}

// Measure holds the trees of one text to bounds of depth and aliases, in one walk
// of each: an alias counts what its anchor was measured to, so that nothing is
// expanded.
type Measure struct {
	limits  Limits
	anchors map[*yaml.Node]extent // zero while the anchor's own node is measured
	trees   int
	lent    int // nodes that aliases to other trees stand for
}

// NewMeasure begins with a text's first tree.
func NewMeasure(l Limits) *Measure {
	return &Measure{limits: l.withDefaults(), anchors: map[*yaml.Node]extent{}}
}

// Tree reports where the next tree passes the bounds, and the line of it. What
// stands before it in the text was measured.
func (m *Measure) Tree(root *yaml.Node) (line int, err error) {
	m.trees++
	_, line, err = m.measure(root, 0)
	return line, err
}

// check is Tree for a text of one.
func (l Limits) check(root *yaml.Node) (line int, err error) {
	m := Measure{limits: l}
	return m.Tree(root)
}

func (m *Measure) measure(n *yaml.Node, depth int) (extent, int, error) {
	if depth > m.limits.Depth {
		return extent{}, n.Line, fmt.Errorf("it is nested deeper than %d levels", m.limits.Depth)
	}
	if n.Kind == yaml.AliasNode {
		return m.alias(n, depth)
	}
	if n.Anchor != "" {
		m.anchor(n, extent{})
	}
	e := extent{nodes: 1, height: 1, tree: m.trees}
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
		m.anchor(n, e)
	}
	return e, 0, nil
}

func (m *Measure) anchor(n *yaml.Node, e extent) {
	if m.anchors == nil {
		m.anchors = map[*yaml.Node]extent{}
	}
	m.anchors[n] = e
}

func (m *Measure) alias(n *yaml.Node, depth int) (extent, int, error) {
	e, ok := m.anchors[n.Alias]
	if !ok && n.Alias != nil { // a tree that was taken out of its text
		var line int
		var err error
		if e, line, err = m.measure(n.Alias, depth); err != nil {
			return e, line, err
		}
		e.tree = 0
		m.anchor(n.Alias, e)
	}
	if e.nodes == 0 {
		return e, n.Line, fmt.Errorf("the alias *%s stands inside of its own anchor", n.Value)
	}
	if depth+e.height > m.limits.Depth {
		return e, n.Line, fmt.Errorf("with the alias *%s it is nested deeper than %d levels", n.Value, m.limits.Depth)
	}
	if e.tree != m.trees {
		// Where the tree stands alone, it has what it borrows as its own.
		if m.lent += e.nodes; m.lent > m.limits.Aliases {
			return e, n.Line, fmt.Errorf("aliases to other parts of the text stand for more than %d nodes", m.limits.Aliases)
		}
	}
	e.borrowed = e.nodes
	return e, 0, nil
}
