package krm

import (
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// replace puts the value n where o stands.
func (s *splicer) replace(o, n *yaml.Node, at slot) {
	if at.root || s.source.err != nil {
		s.fail()
		return
	}
	if n == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}
	}
	if at.flow {
		s.replaceFlow(o, n, at)
		return
	}
	after := at.dash + 1
	if at.key != nil {
		after = s.colon(at.key)
	}
	inline, lines := s.render(o, n, at, after)
	if s.source.err != nil {
		return
	}
	if omitted(o) {
		if inline != "" {
			s.edit(after, after, " "+inline)
		}
		s.addLines(after, lines, o)
		return
	}
	start, end := s.offset(o), s.end(o, at.indent)
	if s.source.err != nil {
		return
	}
	if block(o) { // the last entry's line comment goes with it
		end = s.eol(end)
	}
	switch eol := s.eol(after); {
	case start > eol && !block(o) && lines == "":
		s.edit(start, end, inline)
	case start > eol:
		s.replaceBelow(after, eol, s.eol(end), inline, lines)
	case end <= eol:
		if o.Kind == yaml.ScalarNode && o.Style == 0 && lines == "" && yamltree.IsWord(s.data[start:end]) && yamltree.IsWord([]byte(inline)) &&
			yamltree.SameValue(&yaml.Node{Kind: yaml.ScalarNode, Value: inline}, n) {
			s.words++
		}
		s.replaceInline(after, start, end, inline)
		s.addLines(end, lines, o)
		if lines == "" && n.Kind == yaml.ScalarNode && s.recomment(o.LineComment, n.LineComment) {
			s.comment(end, n.LineComment)
		}
	case o.Kind == yaml.ScalarNode && o.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		_, pos := s.props(start)
		s.replaceInline(after, start, headerEnd(s.data, pos), inline)
		s.edit(eol, end, lines)
	default:
		s.replaceInline(after, start, end, inline)
		s.addLines(end, lines, o)
	}
}

// replaceInline changes the part of a value that stands on its key's line.
func (s *splicer) replaceInline(after, start, end int, text string) {
	if text == "" {
		start = after
	}
	s.edit(start, end, text)
}

// replaceBelow replaces a value that starts on a line below its key.
func (s *splicer) replaceBelow(after, eol, end int, inline, lines string) {
	if inline != "" {
		s.edit(after, after, " "+inline)
	}
	s.edit(eol, end, lines)
}

func (s *splicer) replaceFlow(o, n *yaml.Node, at slot) {
	text := strings.TrimRight(s.flowValue(o, n), " ")
	if !omitted(o) {
		s.edit(s.offset(o), s.end(o, 0), text)
		return
	}
	if at.key == nil {
		s.fail()
		return
	}
	after := s.colon(at.key)
	s.edit(after, after, " "+text)
}

func (s *splicer) flowValue(o, n *yaml.Node) string {
	if o.Kind == yaml.ScalarNode && n.Kind == yaml.ScalarNode {
		return anchorOf(n) + s.scalar(n, wanted(o, n), true)
	}
	return s.flow(n)
}

// wanted is the style for a new scalar: its own quotes, else those of the old.
func wanted(o, n *yaml.Node) yaml.Style {
	if n.Style&quoted != 0 || o.Kind != yaml.ScalarNode {
		return n.Style
	}
	return o.Style
}

// render writes a value for its place: what follows the key on its line, and
// the lines below, each with its line break before it.
func (s *splicer) render(o, n *yaml.Node, at slot, after int) (inline, lines string) {
	if !block(n) {
		indent := at.indent + s.step()
		if o.Kind == yaml.ScalarNode && o.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			if _, pos := s.props(s.offset(o)); s.source.err == nil {
				if in := s.blockIndent(pos, at.indent); in > at.indent {
					indent = in
				}
			}
		}
		return s.inline(n, wanted(o, n), indent)
	}
	var b strings.Builder
	if at.key == nil {
		s.itemBody(&b, n, at.indent, s.contentColumn(o, at, after))
		return strings.TrimLeft(b.String(), " "), ""
	}
	inline = strings.TrimRight(anchorOf(n)+tagOf(n), " ")
	if block(o) && o.Kind == n.Kind && o.Anchor == "" && o.Line > at.key.Line {
		column := s.column(s.pos(o, 0))
		s.line(&b, column)
		s.collection(&b, n, column)
		return inline, b.String()
	}
	s.children(&b, n, at.indent)
	return inline, b.String()
}

// contentColumn is where the content of an item stands.
func (s *splicer) contentColumn(o *yaml.Node, at slot, after int) int {
	if !omitted(o) {
		if start := s.offset(o); s.source.err == nil && s.lineOf(start) == s.lineOf(after) {
			return s.column(start)
		}
	}
	return at.indent + 2
}

// comment puts a line comment behind the value that ends at end, in place of the
// one there; "" removes it.
func (s *splicer) comment(end int, comment string) {
	if s.source.err != nil || strings.Contains(comment, "\n") {
		return
	}
	text := strings.Join(commentLines(comment), " ")
	eol := s.eol(end)
	switch rest := bytes.TrimLeft(s.data[end:eol], " \t"); {
	case comment == "" && len(rest) > 0 && rest[0] == '#':
		s.edit(end, eol, "")
	case comment == "":
	case len(rest) == 0:
		s.edit(end, eol, " "+text)
	case rest[0] == '#':
		s.edit(eol-len(rest), eol, text)
	}
}
