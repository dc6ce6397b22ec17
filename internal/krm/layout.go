package krm

import (
	"bytes"
	"errors"
	"sort"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// errLayout says that a text could not be matched with its tree; the document
// is encoded anew then.
var errLayout = errors.New("text and tree do not match")

// source is the text of one document and finds the nodes of its tree in it.
// The first mismatch sticks in err.
type source struct {
	data  []byte
	lines []int // where each line starts
	ascii bool  // columns are bytes
	nl    string
	err   error
}

func newSource(data []byte, nl string) *source {
	s := &source{data: data, nl: nl, ascii: true, lines: make([]int, 0, bytes.Count(data, []byte{'\n'})+1)}
	for _, c := range data {
		if c >= utf8.RuneSelf {
			s.ascii = false
			break
		}
	}
	pos := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		pos = len(bom)
	}
	for {
		s.lines = append(s.lines, pos)
		end, next := lineEnd(data, pos)
		if end == next {
			return s
		}
		pos = next
	}
}

func (s *source) fail() int {
	if s.err == nil {
		s.err = errLayout
	}
	return len(s.data)
}

// at is the byte at i, 0 beyond the end.
func (s *source) at(i int) byte {
	if i < 0 || i >= len(s.data) {
		return 0
	}
	return s.data[i]
}

// offset is the byte position of a node.
func (s *source) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(s.lines) || n.Column < 1 {
		return s.fail()
	}
	pos := s.lines[n.Line-1]
	if s.ascii {
		pos += n.Column - 1
	} else {
		for i := 1; i < n.Column && pos < len(s.data); i++ {
			_, size := utf8.DecodeRune(s.data[pos:])
			pos += size
		}
	}
	if pos > len(s.data) {
		return s.fail()
	}
	return pos
}

// lineOf is the index of the line that holds pos.
func (s *source) lineOf(pos int) int {
	return max(sort.SearchInts(s.lines, pos+1)-1, 0)
}

// eol is where the text of pos's line ends, before its break.
func (s *source) eol(pos int) int {
	end, _ := lineEnd(s.data, pos)
	return end
}

// bol is where pos's line starts.
func (s *source) bol(pos int) int { return s.lines[s.lineOf(pos)] }

// column is the count of characters before pos in its line.
func (s *source) column(pos int) int {
	start := s.bol(pos)
	if s.ascii {
		return pos - start
	}
	return utf8.RuneCount(s.data[start:pos])
}

// leads reports whether nothing but spaces stands before pos in its line.
func (s *source) leads(pos int) bool {
	return len(bytes.Trim(s.data[s.bol(pos):pos], " ")) == 0
}

// blanks skips spaces and tabs.
func (s *source) blanks(pos int) int {
	for pos < len(s.data) && (s.data[pos] == ' ' || s.data[pos] == '\t') {
		pos++
	}
	return pos
}

// trivia skips blanks, line breaks and comments.
func (s *source) trivia(pos int) int {
	for pos < len(s.data) {
		c := s.data[pos]
		switch {
		case c == ' ' || c == '\t':
			pos++
		case c == '#' && (pos == 0 || s.data[pos-1] <= ' ' || breakAt(s.data, pos-1) > 0):
			pos = s.eol(pos)
		default:
			n := breakAt(s.data, pos)
			if n == 0 {
				return pos
			}
			pos += n
		}
	}
	return pos
}

// props skips the anchor and the tag before a value. end is behind the last
// of them, next where the value starts.
func (s *source) props(pos int) (end, next int) {
	end, next = pos, pos
	for c := s.at(next); c == '&' || c == '!'; c = s.at(next) {
		for end = next; end < len(s.data) && s.data[end] > ' ' && bytes.IndexByte([]byte(",[]{}"), s.data[end]) < 0; {
			end++
		}
		next = s.trivia(end)
	}
	return end, next
}

// omitted reports whether a value is a null that has no text at all.
func omitted(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Anchor == ""
}

// end is where the text of a node ends. indent is the column of the block
// collection around it.
func (s *source) end(n *yaml.Node, indent int) int {
	switch {
	case s.err != nil:
		return len(s.data)
	case n.Kind == yaml.ScalarNode:
		return s.scalarEnd(n, indent)
	case n.Kind == yaml.AliasNode:
		return s.offset(n) + 1 + len(n.Value)
	case n.Style&yaml.FlowStyle != 0:
		return s.flowEnd(n)
	case len(n.Content) == 0:
		return s.fail() // a block collection has an entry
	case n.Kind == yaml.MappingNode:
		k, v := n.Content[len(n.Content)-2], n.Content[len(n.Content)-1]
		return s.pairEnd(k, v, k.Column-1)
	}
	dashes := s.dashes(n)
	last := n.Content[len(n.Content)-1]
	if s.err != nil {
		return len(s.data)
	}
	return s.itemEnd(dashes[len(dashes)-1], last)
}

// pairEnd is where an entry of a mapping ends.
func (s *source) pairEnd(k, v *yaml.Node, indent int) int {
	if !omitted(v) {
		return s.end(v, indent)
	}
	end := s.end(k, indent)
	if colon := s.blanks(end); s.at(colon) == ':' {
		return colon + 1
	}
	return end
}

// itemEnd is where the item of a block sequence ends.
func (s *source) itemEnd(dash int, v *yaml.Node) int {
	if omitted(v) {
		return dash + 1
	}
	return s.end(v, s.column(dash))
}

// colon is where the value of a simple key may start: behind the colon.
func (s *source) colon(k *yaml.Node) int {
	pos := s.blanks(s.end(k, k.Column-1))
	if s.at(pos) != ':' {
		return s.fail()
	}
	return pos + 1
}

// dashes finds the dashes of a block sequence.
func (s *source) dashes(n *yaml.Node) []int {
	_, pos := s.props(s.offset(n))
	out := make([]int, 0, len(n.Content))
	for _, item := range n.Content {
		pos = s.trivia(pos)
		if s.err != nil || s.at(pos) != '-' {
			s.fail()
			return nil
		}
		out = append(out, pos)
		pos = s.itemEnd(pos, item)
	}
	return out
}

// flowEnd is behind the closing bracket of a flow collection.
func (s *source) flowEnd(n *yaml.Node) int {
	_, pos := s.props(s.offset(n))
	open := s.at(pos)
	if open != '{' && open != '[' {
		return s.fail() // the single pair of [a: b]
	}
	pos++
	if i := len(n.Content); i > 0 {
		last := n.Content[i-1]
		if n.Kind == yaml.MappingNode {
			pos = s.pairEnd(n.Content[i-2], last, 0)
		} else if !omitted(last) {
			pos = s.end(last, 0)
		}
	}
	pos = s.trivia(pos)
	if s.at(pos) == ',' {
		pos = s.trivia(pos + 1)
	}
	if c := s.at(pos); s.err != nil || c != '}' && c != ']' {
		return s.fail()
	}
	return pos + 1
}

func (s *source) scalarEnd(n *yaml.Node, indent int) int {
	propsEnd, pos := s.props(s.offset(n))
	switch c := s.at(pos); {
	case n.Style&yaml.DoubleQuotedStyle != 0 && c == '"':
		return s.quotedEnd(pos, '\\')
	case n.Style&yaml.SingleQuotedStyle != 0 && c == '\'':
		return s.quotedEnd(pos, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && (c == '|' || c == '>'):
		return s.blockEnd(pos, indent)
	case n.Style&quoted != 0:
		return s.fail()
	case n.Value == "":
		return propsEnd
	}
	return s.plainEnd(pos, n.Value)
}

// quotedEnd is behind the closing quote; escape makes the next byte literal.
// In single quotes the quote escapes itself.
func (s *source) quotedEnd(pos int, escape byte) int {
	quote := s.data[pos]
	for pos++; pos < len(s.data); pos++ {
		switch c := s.data[pos]; {
		case c == escape && (escape == '\\' || s.at(pos+1) == quote):
			pos++
		case c == quote:
			return pos + 1
		}
	}
	return s.fail()
}

// plainEnd matches a plain scalar with its value: all but white space is the
// same in both.
func (s *source) plainEnd(pos int, value string) int {
	for i := 0; i < len(value); i++ {
		if c := value[i]; c == ' ' || c == '\t' || c == '\n' {
			continue
		}
		for pos < len(s.data) && s.data[pos] != value[i] {
			n := breakAt(s.data, pos)
			if c := s.data[pos]; n == 0 && (c == ' ' || c == '\t') {
				n = 1
			}
			if n == 0 {
				return s.fail()
			}
			pos += n
		}
		pos++
	}
	if pos > len(s.data) {
		return s.fail()
	}
	return pos
}

// blockIndent is the indentation of a block scalar's lines, -1 where it has
// no lines; parent is the column of the collection around it.
func (s *source) blockIndent(pos, parent int) int {
	end := s.eol(pos)
	for _, c := range s.data[pos+1 : min(pos+3, end)] {
		if c >= '1' && c <= '9' {
			return parent + int(c-'0')
		}
	}
	for i := s.lineOf(pos) + 1; i < len(s.lines); i++ {
		start := s.lines[i]
		text := s.data[start:s.eol(start)]
		if n := spaces(text); n < len(text) {
			if n <= parent {
				return -1
			}
			return n
		}
	}
	return -1
}

// blockEnd is where the last line of a block scalar ends. Blank lines behind
// it belong to it only where the header says to keep them.
func (s *source) blockEnd(pos, parent int) int {
	end := s.eol(pos)
	keep := bytes.IndexByte(s.data[pos:min(pos+3, end)], '+') > 0
	indent := s.blockIndent(pos, parent)
	if indent < 0 && !keep {
		return end
	}
	for i := s.lineOf(pos) + 1; i < len(s.lines); i++ {
		start := s.lines[i]
		eol := s.eol(start)
		text := s.data[start:eol]
		n := spaces(text)
		if n == len(text) && (indent < 0 || n <= indent) { // blank
			if keep && eol < len(s.data) {
				end = eol
			}
			continue
		}
		if indent < 0 || n < indent {
			break
		}
		end = eol
	}
	return end
}

func spaces(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " ")) }

// lead is where the entry at pos starts in the lines: at the first of the
// comments that stand directly above it at its column, or at its own line.
// Lines up to the one of after belong to another entry. pos leads its line.
func (s *source) lead(pos, after int) int {
	col, line := s.column(pos), s.lineOf(pos)
	stop := -1
	if after >= 0 {
		stop = s.lineOf(after)
	}
	for line-1 > stop {
		start := s.lines[line-1]
		text := s.data[start:s.eol(start)]
		if n := spaces(text); n != col || n >= len(text) || text[n] != '#' {
			break
		}
		line--
	}
	return s.lines[line]
}
