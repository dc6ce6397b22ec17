package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// document is one YAML document of a file.
type document struct {
	root *yaml.Node // a mapping, sequence or scalar
	line int        // lines of the file before the text that root's lines count in
	text chunk      // of which it is all, empty where it is a part
}

// syntaxError is YAML that does not parse; line is in the file, 0 if unknown.
type syntaxError struct {
	line int
	text string
}

func (e *syntaxError) Error() string { return e.text }

var bom = []byte("\xef\xbb\xbf")

// chunk is the text from one separator to the next.
type chunk struct {
	data []byte
	line int // lines before it
}

// split cuts a file before each "---" that stands in the first column. YAML
// has none there inside a document, not even in a block scalar, so that a
// document that does not parse leaves the others readable.
func split(data []byte) []chunk {
	data = bytes.TrimPrefix(data, bom)
	var out []chunk
	start, startLine, line := 0, 0, 0
	for pos := 0; pos < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		if pos > start && isSeparator(data[pos:end]) {
			out = append(out, chunk{data: data[start:pos], line: startLine})
			start, startLine = pos, line
		}
		pos = end
	}
	return append(out, chunk{data: data[start:], line: startLine})
}

func isSeparator(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0)
}

// parse reads the documents of a chunk, empty ones left out. On a syntax error
// those before it are still returned.
func (c chunk) parse() ([]document, error) {
	if len(bytes.TrimSpace(c.data)) == 0 {
		return nil, nil
	}
	if doc, ok := yamltree.Simple(c.data); ok {
		return []document{{root: doc.Content[0], line: c.line, text: c}}, nil
	}
	var out []document
	for dec := yaml.NewDecoder(bytes.NewReader(c.data)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		switch {
		case errors.Is(err, io.EOF):
			if len(out) == 1 {
				out[0].text = c
			}
			return out, nil
		case err != nil:
			return out, c.syntaxError(err)
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			out = append(out, document{root: n.Content[0], line: c.line})
		}
	}
}

var yamlError = lazyregexp.New(`^yaml: (?:line (\d+): )?(.*)$`)

func (c chunk) syntaxError(err error) error {
	out := &syntaxError{line: c.line + 1, text: err.Error()}
	if m := yamlError.FindStringSubmatch(out.text); m != nil {
		out.text = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			out.line = c.line + n
		}
	}
	return out
}

// flat copies a tree with its aliases written out, and refuses what is too
// deep, too large, refers to itself or names a key twice. A tree without
// aliases is returned as it is.
func flat(root *yaml.Node, limits Limits) (*yaml.Node, error) {
	f := &flattener{nodes: limits.Nodes, depth: limits.Depth, limits: limits}
	return f.node(root, 0)
}

type flattener struct {
	nodes, depth int
	limits       Limits
	inAlias      map[*yaml.Node]bool
}

func (f *flattener) node(n *yaml.Node, depth int) (*yaml.Node, error) {
	if f.nodes--; f.nodes < 0 {
		return nil, &syntaxError{n.Line, fmt.Sprintf("the document has more than %d nodes, its aliases written out", f.limits.Nodes)}
	}
	if depth > f.depth {
		return nil, &syntaxError{n.Line, fmt.Sprintf("the document is nested more than %d levels deep", f.limits.Depth)}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return f.alias(n, depth)
	case yaml.MappingNode:
		if key := yamltree.Repeated(n); key != nil {
			return nil, &syntaxError{key.Line, fmt.Sprintf("the key %q stands twice in one mapping", key.Value)}
		}
	}
	var content []*yaml.Node // a copy, once a child differs
	for i, child := range n.Content {
		c, err := f.node(child, depth+1)
		if err != nil {
			return nil, err
		}
		if c != child && content == nil {
			content = append(make([]*yaml.Node, 0, len(n.Content)), n.Content[:i]...)
		}
		if content != nil {
			content = append(content, c)
		}
	}
	if content == nil && n.Anchor == "" {
		return n, nil
	}
	out := *n
	out.Anchor = ""
	if content != nil {
		out.Content = content
	}
	return &out, nil
}

func (f *flattener) alias(n *yaml.Node, depth int) (*yaml.Node, error) {
	if n.Alias == nil || f.inAlias[n.Alias] {
		return nil, &syntaxError{n.Line, fmt.Sprintf("the alias *%s refers to itself", n.Value)}
	}
	if f.inAlias == nil {
		f.inAlias = map[*yaml.Node]bool{}
	}
	f.inAlias[n.Alias] = true
	defer delete(f.inAlias, n.Alias)
	return f.node(n.Alias, depth+1)
}
