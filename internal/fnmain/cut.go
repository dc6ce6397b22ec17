package fnmain

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// span is a part of the text of a list.
type span struct{ start, end int }

// cuts is the text of a list in block style, cut at its items' dashes.
type cuts struct {
	items  []span // whole lines, from the comments directly above an item's dash on
	dashes []int  // where an item's first line starts, behind those comments
	dash   int    // the column of the dashes
	block  span   // all items
	config span   // the functionConfig with its key; empty where it has none
}

// cut finds the items of a list by indentation; false where they cannot be
// found so. It stops past MaxItems. Whether the cuts are where YAML has them is
// for parse to say.
func cut(in []byte) (cuts, bool) {
	c := cutter{cuts: cuts{dash: -1}, in: in}
	for c.pos < len(in) && len(c.items) <= MaxItems {
		end := len(in)
		if i := bytes.IndexByte(in[c.pos:], '\n'); i >= 0 {
			end = c.pos + i + 1
		}
		if !c.line(in[c.pos:end]) {
			return c.cuts, false
		}
		c.pos = end
	}
	c.close()
	return c.cuts, len(c.items) > 0
}

type cutter struct {
	cuts
	in       []byte
	pos      int    // of the present line
	section  string // the top-level key that it is below
	comments int    // where a run of comment lines at the dashes' column starts; 0 for none
}

func (c *cutter) line(text []byte) bool {
	body := bytes.TrimLeft(text, " ")
	indent := len(text) - len(body)
	body = bytes.TrimRight(body, " \r\n")
	switch {
	case len(body) == 0:
		c.comments = 0
		return true
	case body[0] == '#':
		if c.comments == 0 && indent == c.dash {
			c.comments = c.pos
		}
		return true
	case body[0] == '\t' || indent == 0 && (body[0] == '%' || marker(body)):
		return c.section == "" && string(body) == "---"
	}
	defer func() { c.comments = 0 }()
	dash := body[0] == '-' && (len(body) == 1 || body[1] == ' ')
	switch {
	case dash && c.section == itemsKey && (indent == c.dash || c.dash < 0):
		c.item(indent)
		return true
	case dash && c.section != itemsKey && c.section != "":
		return true
	case indent == 0:
		return c.key(body)
	}
	return c.section != "" && (c.section != itemsKey || c.dash >= 0 && indent > c.dash)
}

func marker(text []byte) bool {
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("..."))
}

const (
	itemsKey  = "items"
	configKey = "functionConfig"
)

// key begins a section; false for what is no plain key, or stands twice.
func (c *cutter) key(body []byte) bool {
	name, value, ok := bytes.Cut(body, []byte(":"))
	if !ok || bytes.IndexFunc(name, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }) >= 0 {
		return false
	}
	c.close()
	c.section = string(name)
	switch c.section {
	case itemsKey:
		value = bytes.TrimLeft(value, " ")
		if c.block.start > 0 || len(value) > 0 && value[0] != '#' {
			return false
		}
		c.block.start = c.pos + bytes.IndexByte(c.in[c.pos:], '\n') + 1
		return c.block.start > c.pos
	case configKey:
		if c.config.end > 0 {
			return false
		}
		c.config.start = c.pos
	}
	return true
}

func (c *cutter) item(indent int) {
	start := c.pos
	if c.comments > 0 {
		start = c.comments
	}
	if n := len(c.items); n > 0 {
		c.items[n-1].end = start
	} else {
		start = c.block.start
	}
	c.dash = indent
	c.items = append(c.items, span{start: start})
	c.dashes = append(c.dashes, c.pos)
}

// close ends the present section.
func (c *cutter) close() {
	switch c.section {
	case itemsKey:
		c.block.end = c.pos
		if n := len(c.items); n > 0 {
			c.items[n-1].end = c.pos
		}
	case configKey:
		c.config.end = c.pos
	}
}

// sizes bounds each item.
func (c *cuts) sizes(in []byte) error {
	for i, s := range c.items {
		if n := s.end - s.start; n > MaxItemBytes {
			return fmt.Errorf("items[%d], line %d: it has %d bytes, more than %d (MaxItemBytes); keep large data outside of the package", i, lineOf(in, s.start), n, MaxItemBytes)
		}
	}
	if n := c.config.end - c.config.start; n > MaxItemBytes {
		return fmt.Errorf("functionConfig: it has %d bytes, more than %d (MaxItemBytes)", n, MaxItemBytes)
	}
	return nil
}

// parse reads the items one by one; nil where the cuts are not what YAML says.
// They are right where each piece by itself is a list of one entry and the rest
// without the items is a list: a string or a flow collection that goes on
// behind a cut is not closed before it, and an alias has no anchor there.
func (c *cuts) parse(in []byte) *list {
	rest := append(append(bytes.Clone(in[:c.block.start]), in[c.block.end:]...), '\n')
	root, err := decode(rest)
	if err != nil || root == nil || root.Kind != yaml.MappingNode || !yamltree.IsNull(yamltree.Child(root, itemsKey)) {
		return nil
	}
	yamltree.Set(root, nil, itemsKey, yamltree.Seq())
	l := &list{items: make([]item, len(c.items)), dash: c.dash}
	if _, err := l.head(root); err != nil {
		return nil
	}
	for i, s := range c.items {
		node, err := decode(in[c.dashes[i]:s.end])
		if err != nil || node == nil || node.Kind != yaml.SequenceNode || len(node.Content) != 1 {
			return nil
		}
		l.items[i] = item{node: yaml.NewRNode(node.Content[0]), text: in[s.start:s.end], lead: c.dashes[i] - s.start}
	}
	if c.config.end > 0 {
		l.configText = in[c.config.start:c.config.end]
	}
	return l
}
