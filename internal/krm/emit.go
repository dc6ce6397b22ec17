package krm

import (
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// layoutStyle is how a text indents; what is added to it follows.
type layoutStyle struct {
	indent int // of a mapping in a mapping
	dash   int // of a sequence in a mapping
	nl     string
}

// styleOf reads the style of a document from its tree, by majority.
func styleOf(root *yaml.Node, nl string) layoutStyle {
	maps, dashes := map[int]int{}, map[int]int{}
	countStyles(root, maps, dashes)
	st := layoutStyle{indent: most(maps, 2), nl: nl}
	st.dash = most(dashes, 0)
	return st
}

func countStyles(n *yaml.Node, maps, dashes map[int]int) {
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 {
		for k, v := range yamltree.Fields(n) {
			if len(v.Content) == 0 || v.Style&yaml.FlowStyle != 0 || v.Anchor != "" || v.Line <= k.Line {
				continue
			}
			if v.Kind == yaml.MappingNode {
				maps[v.Content[0].Column-k.Column]++
			} else if v.Kind == yaml.SequenceNode {
				dashes[v.Column-k.Column]++
			}
		}
	}
	for _, c := range n.Content {
		countStyles(c, maps, dashes)
	}
}

// most is the key counted most often, the smaller of equals.
func most(counts map[int]int, otherwise int) int {
	best, n := otherwise, 0
	for k, c := range counts {
		if k >= 0 && k < 10 && (c > n || c == n && k < best) {
			best, n = k, c
		}
	}
	return best
}

// emitter writes new nodes as text. Continuation lines are indented in full,
// the first line is not, and no line break ends the text.
type emitter struct {
	layoutStyle
	json  bool // flow text with all strings in double quotes
	depth int
	err   error
}

func (e *emitter) line(b *strings.Builder, indent int) {
	b.WriteString(e.nl)
	for range indent {
		b.WriteByte(' ')
	}
}

// deeper guards against trees that contain themselves.
func (e *emitter) deeper(n *yaml.Node) bool {
	e.depth++
	if e.depth > maxTree/10 {
		e.err = errDeep
	}
	if n != nil && n.Kind == yaml.MappingNode && len(n.Content)%2 != 0 {
		e.err = errLayout
	}
	return e.err == nil
}

// comments writes the lines of a comment above what follows at indent.
func (e *emitter) above(b *strings.Builder, comment string, indent int) {
	for _, l := range commentLines(comment) {
		b.WriteString(l)
		e.line(b, indent)
	}
}

func (e *emitter) below(b *strings.Builder, comment string, indent int) {
	for _, l := range commentLines(comment) {
		e.line(b, indent)
		b.WriteString(l)
	}
}

func commentLines(comment string) []string {
	if comment == "" {
		return nil
	}
	var out []string
	for l := range strings.SplitSeq(comment, "\n") {
		l = strings.TrimRight(strings.TrimLeft(l, " \t"), " \t\r")
		if l != "" && l[0] != '#' {
			l = "# " + l
		}
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

// behind writes a line comment.
func (e *emitter) behind(b *strings.Builder, comment string) {
	if l := commentLines(comment); len(l) > 0 {
		b.WriteString(" " + strings.Join(l, " "))
	}
}

// block reports whether a node is written over several lines.
func block(n *yaml.Node) bool {
	return (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0
}

// entries writes a mapping's entries, the first where the text stands.
func (e *emitter) entries(b *strings.Builder, n *yaml.Node, indent int) {
	defer func() { e.depth-- }()
	if !e.deeper(n) {
		return
	}
	first := true
	for k, v := range yamltree.Fields(n) {
		if !first {
			e.line(b, indent)
		}
		first = false
		e.entry(b, k, v, indent)
	}
}

func (e *emitter) entry(b *strings.Builder, k, v *yaml.Node, indent int) {
	if k.Kind != yaml.ScalarNode && k.Kind != yaml.AliasNode {
		e.err = errLayout
		return
	}
	e.above(b, k.HeadComment, indent)
	b.WriteString(e.key(k) + ":")
	e.value(b, v, indent, k.LineComment)
	e.below(b, k.FootComment, indent)
}

func (e *emitter) key(k *yaml.Node) string {
	if k.Kind == yaml.AliasNode {
		return "*" + k.Value + " "
	}
	if k.Value == "<<" && k.Style&quoted == 0 && k.ShortTag() == yaml.MergeTag {
		return "<<"
	}
	return anchorOf(k) + e.scalar(k, k.Style, e.json)
}

func anchorOf(n *yaml.Node) string {
	if n.Anchor == "" {
		return ""
	}
	return "&" + n.Anchor + " "
}

func (e *emitter) scalar(n *yaml.Node, want yaml.Style, flow bool) string {
	switch b, isBool := yamltree.Bool(n); {
	case e.json && isBool:
		return strconv.FormatBool(b)
	case e.json:
		want = yaml.DoubleQuotedStyle
	case yamltree.AsWritten(n) && plainSyntax(n.Value, flow):
		return n.Value
	}
	return inlineScalar(n, want, flow)
}

// value writes what follows "key:" or "-", a space first where something
// follows on the line. comment is that of the key's line.
func (e *emitter) value(b *strings.Builder, v *yaml.Node, indent int, comment string) {
	if v == nil || v.Kind == 0 {
		b.WriteString(" null")
		return
	}
	if !block(v) {
		inline, lines := e.inline(v, v.Style, indent+e.step())
		b.WriteString(" " + inline)
		if comment == "" {
			comment = v.LineComment
		}
		e.behind(b, comment)
		b.WriteString(lines)
		return
	}
	if props := anchorOf(v) + tagOf(v); props != "" {
		b.WriteString(" " + strings.TrimRight(props, " "))
	}
	if comment == "" {
		comment = v.LineComment
	}
	e.behind(b, comment)
	e.children(b, v, indent)
}

func (e *emitter) step() int { return max(e.indent, 1) }

// children writes a block collection on the lines below its key.
func (e *emitter) children(b *strings.Builder, v *yaml.Node, indent int) {
	at := indent + e.step()
	if v.Kind == yaml.SequenceNode {
		at = indent + e.dash
	}
	e.line(b, at)
	e.above(b, v.HeadComment, at)
	e.collection(b, v, at)
	e.below(b, v.FootComment, at)
}

// collection writes a block collection whose entries stand at indent.
func (e *emitter) collection(b *strings.Builder, v *yaml.Node, indent int) {
	if v.Kind == yaml.MappingNode {
		e.entries(b, v, indent)
		return
	}
	defer func() { e.depth-- }()
	if !e.deeper(v) {
		return
	}
	for i, item := range v.Content {
		if i > 0 {
			e.line(b, indent)
		}
		e.item(b, item, indent)
	}
}

// item writes an item of a block sequence with its dash at indent.
func (e *emitter) item(b *strings.Builder, v *yaml.Node, indent int) {
	if v == nil || v.Kind == 0 {
		b.WriteString("- null")
		return
	}
	e.above(b, v.HeadComment, indent)
	b.WriteString("-")
	e.itemBody(b, v, indent, indent+2)
	e.below(b, v.FootComment, indent)
}

// itemBody writes what follows a dash at indent; at is the column of content.
func (e *emitter) itemBody(b *strings.Builder, v *yaml.Node, indent, at int) {
	if !block(v) {
		e.value(b, v, indent, "")
		return
	}
	if props := anchorOf(v) + tagOf(v); props != "" {
		b.WriteString(" " + strings.TrimRight(props, " "))
		e.behind(b, v.LineComment)
		e.line(b, at)
	} else if head := v.Content[0].HeadComment; head != "" || v.LineComment != "" {
		e.behind(b, v.LineComment)
		e.line(b, at)
	} else {
		b.WriteString(strings.Repeat(" ", max(at-indent-1, 1)))
	}
	e.collection(b, v, at)
}

// inline splits a node that is no block collection into what stands on the
// line of its key and the lines of a literal block at indent.
func (e *emitter) inline(n *yaml.Node, want yaml.Style, indent int) (first, lines string) {
	if n.Kind == yaml.AliasNode {
		return "*" + n.Value, ""
	}
	if n.Kind != yaml.ScalarNode {
		return e.flow(n), ""
	}
	long := strings.Contains(n.Value, "\n") || want&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if n.ShortTag() != yaml.NodeTagString || !long || yamltree.AsWritten(n) || want&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 || e.json || !yamltree.CanLiteral(n.Value) {
		if want&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			want = 0
		}
		return anchorOf(n) + e.scalar(n, want, e.json), ""
	}
	header, text := literal(n.Value)
	var b strings.Builder
	for _, l := range text {
		if l == "" {
			b.WriteString(e.nl)
			continue
		}
		e.line(&b, indent)
		b.WriteString(l)
	}
	return anchorOf(n) + tagOf(n) + header, b.String()
}

// flow writes a node on one line.
func (e *emitter) flow(n *yaml.Node) string {
	defer func() { e.depth-- }()
	if !e.deeper(n) {
		return ""
	}
	switch {
	case n == nil || n.Kind == 0:
		return "null"
	case n.Kind == yaml.AliasNode:
		return "*" + n.Value + " "
	case n.Kind == yaml.ScalarNode:
		return anchorOf(n) + e.scalar(n, n.Style, true)
	}
	parts := make([]string, 0, len(n.Content))
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			parts = append(parts, e.flow(c))
		}
		return anchorOf(n) + tagOf(n) + "[" + strings.Join(parts, ", ") + "]"
	}
	for k, v := range yamltree.Fields(n) {
		parts = append(parts, e.flowEntry(k, v))
	}
	return anchorOf(n) + tagOf(n) + "{" + strings.Join(parts, ", ") + "}"
}

func (e *emitter) flowEntry(k, v *yaml.Node) string { return e.flow(k) + ": " + e.flow(v) }
