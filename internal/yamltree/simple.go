package yamltree

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Simple parses a document of the shapes that most manifests have: block mappings and
// sequences of words and of strings on one line, with comments behind and above them. It gives the
// very tree that the YAML library gives, comments and places included, in a fraction of
// its time, and false where anything else stands in the text: that is the library's.
// TestSimple and FuzzSimple hold both against each other.
func Simple(data []byte) (*yaml.Node, bool) { return new(simpleParser).parse(data) }

func (p *simpleParser) parse(data []byte) (*yaml.Node, bool) {
	if !p.lines(data) || len(p.rows) == 0 || p.rows[0].indent != 0 {
		return nil, false
	}
	doc := &yaml.Node{Kind: yaml.DocumentNode, Line: p.rows[0].line, Column: 1}
	if p.marked > 0 {
		doc.Line = p.marked
	}
	root := p.block(0)
	if p.failed || p.at < len(p.rows) {
		return nil, false
	}
	doc.Content = []*yaml.Node{root}
	return doc, true
}

// passing has parsers whose trees nobody has any more: most of what is written is read
// once to see that it says what it should.
var passing = sync.Pool{New: func() any { return &simpleParser{passing: true} }}

// Simply calls look with the tree of a simple text, which is nobody's after it, and reports
// false where the text is not simple.
func Simply(data []byte, look func(*yaml.Node)) bool {
	p := passing.Get().(*simpleParser)
	root, ok := p.parse(data)
	if ok {
		look(root)
	}
	if cap(p.rows) <= mostPassing && p.used <= mostPassing {
		p.forget()
		passing.Put(p)
	}
	return ok
}

// mostPassing is how many lines and slabs a parser has room for that is used again.
const mostPassing = 2000

// forget has the parser's nodes and rows used again.
func (p *simpleParser) forget() {
	for _, slab := range p.slabs[:p.used] {
		clear(slab)
	}
	clear(p.rows) // they hold on to texts
	*p = simpleParser{rows: p.rows[:0], passing: true, slabs: p.slabs}
}

// row is a line that holds something: text from its indent on, and the comment in the
// lines above it.
type row struct {
	text   []byte
	indent int
	line   int
	head   string
}

// simpleParser reads rows one after the other.
type simpleParser struct {
	rows   []row
	at     int
	marked int // the line of the separator before the rows, 0 without one
	depth  int
	failed bool
	slab   []yaml.Node // nodes to be given out

	passing bool          // nobody has the tree for long: its slabs are kept
	slabs   [][]yaml.Node // of which so many have nodes that were given out:
	used    int
}

// slabSize is how many nodes come at once.
const slabSize = 16

// The bounds of what is simple, and of what reading it costs.
const (
	simpleDepth = 50
	simpleKey   = 128
	// rowsAhead is for how many rows there is room at first: a text of breaks has none.
	rowsAhead = 4096
	// simpleRows is how far ahead entries are counted.
	simpleRows = 256
)

// lines cuts the text. It reports false where a line is none of a simple text's.
func (p *simpleParser) lines(data []byte) bool {
	p.rows = slices.Grow(p.rows, min(bytes.Count(data, []byte("\n"))+1, rowsAhead))
	var above []byte // the comment that waits for its row
	var aboveIndent int
	for line := 1; len(data) > 0; line++ {
		text, rest, ended := bytes.Cut(data, []byte("\n"))
		data = rest
		if !ended {
			return false // where a text ends without a break the library has rules of its own
		}
		if len(text) == 0 && len(above) == 0 {
			continue
		}
		if string(text) == "---" && len(p.rows) == 0 && p.marked == 0 {
			p.marked = line
			continue
		}
		indent := len(text) - len(bytes.TrimLeft(text, " "))
		if text = text[indent:]; len(text) == 0 || text[len(text)-1] == ' ' || !IsASCII(text) || len(above) > 0 && indent != aboveIndent {
			return false
		}
		if text[0] == '#' {
			if aboveIndent = indent; len(above) > 0 {
				above = append(above, '\n')
			}
			above = append(above, text...)
			continue
		}
		if indent == 0 && (bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("..."))) {
			return false
		}
		p.rows = append(p.rows, row{text, indent, line, string(above)})
		above = above[:0]
	}
	return len(above) == 0
}

func (p *simpleParser) fail() *yaml.Node {
	p.failed = true
	return nil
}

// node makes a node at a column of a row, counted from 0.
func (p *simpleParser) node(kind yaml.Kind, tag string, r row, column int) *yaml.Node {
	if len(p.slab) == 0 {
		p.slab = p.nextSlab()
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	n.Kind, n.Tag, n.Line, n.Column = kind, tag, r.line, column+1
	return n
}

func (p *simpleParser) nextSlab() []yaml.Node {
	if !p.passing {
		return make([]yaml.Node, slabSize)
	}
	if p.used == len(p.slabs) {
		p.slabs = append(p.slabs, make([]yaml.Node, slabSize))
	}
	p.used++
	return p.slabs[p.used-1]
}

// count is how many of the rows from the next one on are items of a sequence at an indent, or
// entries of a mapping, most often: it is what there is room for at first.
func (p *simpleParser) count(indent int, items bool) (n int) {
	for _, r := range p.rows[p.at:min(p.at+simpleRows, len(p.rows))] {
		at, item := r.indent == indent, dashed(r.text)
		switch {
		case r.indent < indent, at && items && !item: // an entry may follow at the indent of the items
			return n
		case at && item == items:
			n++
		}
	}
	return n
}

// next is the row that is read next; false where none is left.
func (p *simpleParser) next() (row, bool) {
	if p.failed || p.at >= len(p.rows) {
		return row{}, false
	}
	return p.rows[p.at], true
}

// block is the collection that starts with the next row, at that row's indent.
func (p *simpleParser) block(least int) *yaml.Node {
	r, ok := p.next()
	if p.depth++; !ok || r.indent < least || p.depth > simpleDepth {
		return p.fail()
	}
	defer func() { p.depth-- }()
	if dashed(r.text) {
		return p.sequence(r.indent)
	}
	return p.mapping(r.indent)
}

func dashed(text []byte) bool { return len(text) > 2 && text[0] == '-' && text[1] == ' ' }

// sequence reads the items of a block sequence at an indent.
func (p *simpleParser) sequence(indent int) *yaml.Node {
	r, _ := p.next()
	out := p.node(yaml.SequenceNode, yaml.NodeTagSeq, r, indent)
	out.Content = make([]*yaml.Node, 0, p.count(indent, true))
	for r, ok := p.next(); ok && r.indent == indent && dashed(r.text); r, ok = p.next() {
		body := r.text[2:]
		if body[0] == ' ' || body[0] == '#' || dashed(body) {
			return p.fail()
		}
		if _, _, isKey := cutKey(body); isKey { // a mapping that shares the dash's line
			p.rows[p.at] = row{text: body, indent: indent + 2, line: r.line}
			out.Content = append(out.Content, p.block(indent+2))
		} else {
			out.Content = append(out.Content, p.value(r, body, indent+2, indent))
		}
		if p.failed {
			return nil
		}
		out.Content[len(out.Content)-1].HeadComment = r.head
	}
	return p.ended(out, indent)
}

// mapping reads the entries of a block mapping at an indent.
func (p *simpleParser) mapping(indent int) *yaml.Node {
	r, _ := p.next()
	out := p.node(yaml.MappingNode, yaml.NodeTagMap, r, indent)
	out.Content = make([]*yaml.Node, 0, 2*p.count(indent, false))
	for r, ok := p.next(); ok && r.indent == indent; r, ok = p.next() {
		name, body, isKey := cutKey(r.text)
		if !isKey {
			break
		}
		key := p.scalar(r, name, indent)
		key.HeadComment = r.head
		if len(body) > 0 {
			out.Content = append(out.Content, key, p.value(r, body, indent+len(r.text)-len(body), indent))
			continue
		}
		p.at++
		below, ok := p.next()
		switch {
		case ok && below.indent == indent && dashed(below.text):
			out.Content = append(out.Content, key, p.block(indent))
		case ok && below.indent > indent:
			out.Content = append(out.Content, key, p.block(indent+1))
		default: // a null, whose place is the library's to say
			return p.fail()
		}
	}
	if len(out.Content) == 0 {
		return p.fail()
	}
	return p.ended(out, indent)
}

// ended is a collection, where what follows it belongs to one around it.
func (p *simpleParser) ended(n *yaml.Node, indent int) *yaml.Node {
	r, more := p.next()
	sibling := more && r.indent == indent && n.Kind == yaml.SequenceNode // of the mapping whose sequence has its indent
	if p.failed || more && r.indent >= indent && !sibling {
		return p.fail()
	}
	return n
}

// cutKey parts a row into a key that is a word and what follows its colon.
func cutKey(text []byte) (key, body []byte, ok bool) {
	i := bytes.IndexByte(text, ':')
	if i <= 0 || i > simpleKey || !IsWord(text[:i]) {
		return nil, nil, false
	}
	switch body = text[i+1:]; {
	case len(body) == 0:
		return text[:i], nil, true
	case body[0] != ' ' || len(body) < 2 || body[1] == ' ':
		return nil, nil, false
	}
	return text[:i], body[1:], true
}

// value is a value on its row, behind a key or a dash at an indent; its row is read.
func (p *simpleParser) value(r row, body []byte, column, indent int) *yaml.Node {
	p.at++
	if below, ok := p.next(); ok && below.indent > indent {
		return p.fail() // more of it
	}
	f := &simpleFlow{p: p, row: r, text: body, column: column}
	var n *yaml.Node
	switch body[0] {
	case '"', '\'', '{', '[':
		n = f.value(0)
	default:
		n = f.plain()
	}
	if p.failed {
		return nil
	}
	return f.comment(n)
}

// scalar is a plain one.
func (p *simpleParser) scalar(r row, text []byte, column int) *yaml.Node {
	n := p.node(yaml.ScalarNode, "", r, column)
	n.Value = string(text)
	n.Tag = plainTag(n)
	return n
}

// plainTag is the tag of a plain scalar, which the library takes longer to say, of words and
// of whole numbers too.
func plainTag(n *yaml.Node) string {
	v := n.Value
	first := v[0]
	switch letter := first|' ' >= 'a' && first|' ' <= 'z'; {
	case letter && (len(v) > len("false") || strings.IndexByte("yntfo", first|' ') < 0):
		return yaml.NodeTagString
	case first >= '1' && first <= '9' && len(v) < 19 && strings.Trim(v, "0123456789") == "":
		return yaml.NodeTagInt
	}
	return n.ShortTag()
}

// simpleFlow reads a value that stands on one row.
type simpleFlow struct {
	p      *simpleParser
	row    row
	text   []byte // from the value on
	pos    int
	column int // of text
}

// plain is a plain scalar of words in a block collection.
func (f *simpleFlow) plain() *yaml.Node {
	text := f.text
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text = text[:i]
	}
	f.pos = len(text)
	if !IsPlain(text) {
		return f.p.fail()
	}
	return f.p.scalar(f.row, text, f.column)
}

// value is a quoted scalar, or a collection in braces or brackets with words in it.
func (f *simpleFlow) value(depth int) *yaml.Node {
	rest := f.text[f.pos:]
	if len(rest) == 0 || depth > simpleDepth {
		return f.p.fail()
	}
	switch rest[0] {
	case '"', '\'':
		return f.quoted(rest)
	case '{':
		return f.list(yaml.MappingNode, yaml.NodeTagMap, '}', depth)
	case '[':
		return f.list(yaml.SequenceNode, yaml.NodeTagSeq, ']', depth)
	}
	return f.word(rest)
}

func (f *simpleFlow) quoted(rest []byte) *yaml.Node {
	end := bytes.IndexByte(rest[1:], rest[0]) + 1
	if end == 0 || bytes.IndexByte(rest[:end], '\\') >= 0 || end+1 < len(rest) && rest[end+1] == rest[0] {
		return f.p.fail()
	}
	n := f.p.node(yaml.ScalarNode, yaml.NodeTagString, f.row, f.column+f.pos)
	if n.Style = yaml.DoubleQuotedStyle; rest[0] == '\'' {
		n.Style = yaml.SingleQuotedStyle
	}
	n.Value = string(rest[1:end])
	f.pos += end + 1
	return n
}

// word is one in a flow collection, which ends it.
func (f *simpleFlow) word(rest []byte) *yaml.Node {
	end := bytes.IndexAny(rest, " ,]}")
	if end > 0 && rest[end] == ' ' && rest[end-1] == ':' {
		end--
	}
	if end <= 0 || !IsWord(rest[:end]) {
		return f.p.fail()
	}
	n := f.p.scalar(f.row, rest[:end], f.column+f.pos)
	f.pos += end
	return n
}

// list reads a flow collection up to its end.
func (f *simpleFlow) list(kind yaml.Kind, tag string, end byte, depth int) *yaml.Node {
	n := f.p.node(kind, tag, f.row, f.column+f.pos)
	n.Style = yaml.FlowStyle
	f.pos++
	for first := true; !f.p.failed; first = false {
		if f.pos < len(f.text) && f.text[f.pos] == end && (first || f.text[f.pos-1] != ' ') {
			f.pos++
			return n
		}
		if !first && !f.skip(", ") {
			break
		}
		if kind == yaml.MappingNode {
			key := f.word(f.text[f.pos:])
			if f.p.failed || !f.skip(": ") {
				break
			}
			n.Content = append(n.Content, key)
		}
		n.Content = append(n.Content, f.value(depth+1))
	}
	return f.p.fail()
}

func (f *simpleFlow) skip(text string) bool {
	ok := bytes.HasPrefix(f.text[f.pos:], []byte(text))
	f.pos += len(text)
	return ok && f.pos < len(f.text)
}

// comment ends the row: with nothing, or with a comment one space behind the value.
func (f *simpleFlow) comment(n *yaml.Node) *yaml.Node {
	rest := f.text[f.pos:]
	switch {
	case len(rest) == 0:
		return n
	case len(rest) < 2 || rest[0] != ' ' || rest[1] != '#':
		return f.p.fail()
	}
	n.LineComment = string(rest[1:])
	return n
}

// IsWord reports whether a text is one plain scalar wherever one may stand in a block
// collection, with whatever follows on its line: such a word is a number, a name, a
// path or an image.
func IsWord(text []byte) bool {
	for i, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '/', c == '_':
		case i == 0 || c != '-' && c != '@' && c != '+' && c != ':':
			return false
		}
	}
	return len(text) > 0 && text[len(text)-1] != ':'
}

// IsPlain reports whether printable ASCII without a comment is one plain scalar where it
// stands in a block collection, to the end of its line: words, with spaces between them.
func IsPlain(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	first, last := text[0], text[len(text)-1]
	begins := first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first >= '0' && first <= '9' || first == '/' || first == '.' || first == '_' ||
		first == '-' && len(text) > 1 && IsWord(text[1:2])
	return begins && last != ' ' && last != ':' && !bytes.Contains(text, []byte(": "))
}

// IsASCII reports whether a line has nothing but printable ASCII.
func IsASCII(line []byte) bool {
	for _, c := range line {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
