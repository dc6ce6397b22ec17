package krm

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// splicer turns the differences of two trees into edits of the text of the
// first one.
type splicer struct {
	*source
	emitter
	edits   []edit
	words   int // edits that put one plain word for another
	dashed  map[*yaml.Node][]int
	anchors map[string]bool // in the new tree
	open    bool            // the last line, that has no break, is removed
	exact   bool            // line comments are to be those of the new tree
}

// slot is where a value stands in its collection.
type slot struct {
	root   bool
	flow   bool
	indent int        // column of the key or the dash
	key    *yaml.Node // of a mapping
	dash   int        // position in a block sequence, where key is nil
}

// splice returns the text of one document with only those entries changed in
// which the trees differ. It reports false where text and tree do not match or
// an edit has no place in the text. Where only plain words were put for others the
// text is proved to mean the tree; else the caller checks that.
func splice(data []byte, nl string, before, after *yaml.Node, exact bool) (out []byte, proved, ok bool) {
	o, n := yamltree.Deref(before), yamltree.Deref(after)
	if o == nil || n == nil {
		return nil, false, false
	}
	s := &splicer{source: newSource(data, nl), dashed: map[*yaml.Node][]int{}, anchors: map[string]bool{}, exact: exact}
	anchorsOf(n, s.anchors)
	s.layoutStyle = styleOf(o, nl)
	s.json = o.Style&yaml.FlowStyle != 0 && len(o.Content) > 0 && o.Content[0].Style&yaml.DoubleQuotedStyle != 0
	s.node(o, n, slot{root: true})
	if s.source.err != nil || s.emitter.err != nil {
		return nil, false, false
	}
	out, ok = s.apply()
	return out, len(s.edits) == s.words, ok
}

// apply makes the edits. Insertions at a place stand in the order in which they
// were made and before what replaces the text there.
func (s *splicer) apply() ([]byte, bool) {
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return min(a.end-a.start, 1) - min(b.end-b.start, 1)
	})
	size := len(s.data)
	for _, e := range s.edits {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	pos, deleted := 0, false
	for _, e := range s.edits {
		if e.start < pos && e.text == "" && deleted { // deletions may overlap
			pos = max(pos, e.end)
			continue
		}
		if e.start < pos || e.end < e.start || e.end > len(s.data) {
			return nil, false
		}
		out = append(append(out, s.data[pos:e.start]...), e.text...)
		pos, deleted = e.end, e.text == "" && e.end > e.start
	}
	out = append(out, s.data[pos:]...)
	if s.open {
		out = bytes.TrimSuffix(out, []byte(s.nl))
	}
	return out, true
}

func (s *splicer) edit(start, end int, text string) {
	s.edits = append(s.edits, edit{start, end, text})
}

// node compares two values.
func (s *splicer) node(o, n *yaml.Node, at slot) {
	switch {
	case s.source.err != nil || s.emitter.err != nil:
	case o.Kind == yaml.AliasNode || n == nil || n.Kind == yaml.AliasNode:
		s.alias(o, n, at)
	case o.Kind == yaml.ScalarNode && n.Kind == yaml.ScalarNode && yamltree.SameValue(o, n):
		if s.recomment(o.LineComment, n.LineComment) && !at.flow && !omitted(o) {
			s.comment(s.end(o, at.indent), n.LineComment)
		}
	case o.Kind == yaml.MappingNode && n.Kind == yaml.MappingNode && yamltree.CustomTag(o) == yamltree.CustomTag(n):
		s.flowComment(o, n, at)
		s.mapping(o, n, at)
	case o.Kind == yaml.SequenceNode && n.Kind == yaml.SequenceNode && yamltree.CustomTag(o) == yamltree.CustomTag(n):
		s.flowComment(o, n, at)
		s.sequence(o, n, at)
	case yamltree.IsNull(o) && yamltree.IsNull(n):
	default:
		s.replace(o, n, at)
	}
}

// recomment reports whether a line comment is to be written in place of another. Many functions make nodes without the comment of those that they replace,
// so that one which is missing stays, unless comments are exact.
func (s *splicer) recomment(was, is string) bool {
	return is != was && (is != "" || s.exact && !strings.Contains(was, "\n"))
}

// flowComment writes a new comment behind a flow collection that goes on
// meaning the same.
func (s *splicer) flowComment(o, n *yaml.Node, at slot) {
	if s.recomment(o.LineComment, n.LineComment) && !at.flow && o.Style&yaml.FlowStyle != 0 && yamltree.SameValue(o, n) {
		s.comment(s.end(o, at.indent), n.LineComment)
	}
}

// alias keeps an alias that still stands for the same.
func (s *splicer) alias(o, n *yaml.Node, at slot) {
	if n != nil && n.Kind == yaml.AliasNode && o.Kind == yaml.AliasNode && n.Value == o.Value {
		return
	}
	if yamltree.SameValue(o, n) && (o.Kind != yaml.AliasNode || s.anchors[o.Value]) {
		return
	}
	s.replace(o, n, at)
}

// anchorsOf collects the names of a tree's anchors.
func anchorsOf(n *yaml.Node, names map[string]bool) {
	if n == nil {
		return
	}
	if n.Anchor != "" {
		names[n.Anchor] = true
	}
	for _, c := range n.Content {
		anchorsOf(c, names)
	}
}

// mapping compares two mappings by their keys.
func (s *splicer) mapping(o, n *yaml.Node, at slot) {
	if len(o.Content) == 0 || len(n.Content) == 0 || len(n.Content)%2 != 0 {
		if len(o.Content)+len(n.Content) > 0 {
			s.replace(o, n, at)
		}
		return
	}
	if s.sameKeys(o, n) {
		for i := 0; i < len(o.Content); i += 2 {
			s.value(o, i, n, i, at)
		}
		return
	}
	was, fine1 := yamltree.Keys(o)
	is, fine2 := yamltree.Keys(n)
	if !fine1 || !fine2 {
		s.fail()
		return
	}
	l := listing{count: len(o.Content) / 2, live: make([]bool, len(o.Content)/2), added: map[int][]*yaml.Node{}}
	for i := 0; i < len(o.Content); i += 2 {
		k, _ := yamltree.KeyOf(o.Content[i])
		_, l.live[i/2] = is(k)
	}
	if !slices.Contains(l.live, true) {
		s.replace(o, n, at)
		return
	}
	anchor := -1
	for j := 0; j < len(n.Content); j += 2 {
		k, _ := yamltree.KeyOf(n.Content[j])
		i, ok := was(k)
		if !ok {
			l.added[anchor] = append(l.added[anchor], n.Content[j], n.Content[j+1])
			continue
		}
		anchor = i / 2
		s.value(o, i, n, j, at)
	}
	s.list(o, l, at)
}

// value compares the values of one key, and writes a new comment that stands
// beside the key because its value starts on the next line.
func (s *splicer) value(o *yaml.Node, i int, n *yaml.Node, j int, at slot) {
	k, v := o.Content[i], o.Content[i+1]
	slot := s.entrySlot(o, i, at)
	if s.recomment(k.LineComment, n.Content[j].LineComment) && !slot.flow && v.Style&yaml.FlowStyle == 0 &&
		(v.Kind == yaml.MappingNode || v.Kind == yaml.SequenceNode) && len(v.Content) > 0 {
		s.comment(s.colon(k), n.Content[j].LineComment)
	}
	s.node(v, n.Content[j+1], slot)
}

func (s *splicer) sameKeys(o, n *yaml.Node) bool {
	if len(o.Content) != len(n.Content) {
		return false
	}
	for i := 0; i < len(o.Content); i += 2 {
		a, ok := yamltree.KeyOf(o.Content[i])
		b, fine := yamltree.KeyOf(n.Content[i])
		if a != b || ok != fine || !ok && !yamltree.SameValue(o.Content[i], n.Content[i]) {
			return false
		}
	}
	return true
}

func (s *splicer) entrySlot(o *yaml.Node, i int, at slot) slot {
	k := o.Content[i]
	return slot{flow: at.flow || o.Style&yaml.FlowStyle != 0, indent: o.Content[0].Column - 1, key: k}
}

// sequence compares two sequences; align says which items belong together.
func (s *splicer) sequence(o, n *yaml.Node, at slot) {
	if len(o.Content) == 0 || len(n.Content) == 0 {
		if len(o.Content)+len(n.Content) > 0 {
			s.replace(o, n, at)
		}
		return
	}
	pairs := align(o.Content, n.Content)
	l := listing{count: len(o.Content), live: make([]bool, len(o.Content)), added: map[int][]*yaml.Node{}}
	kept, anchor := 0, -1
	for j, i := range pairs {
		if i < 0 {
			l.added[anchor] = append(l.added[anchor], n.Content[j])
			continue
		}
		anchor = i
		l.live[i] = true
		kept++
	}
	if kept == 0 {
		s.replace(o, n, at)
		return
	}
	for j, i := range pairs {
		if i >= 0 {
			s.node(o.Content[i], n.Content[j], s.itemSlot(o, i, at))
		}
	}
	s.list(o, l, at)
}

func (s *splicer) itemSlot(o *yaml.Node, i int, at slot) slot {
	if at.flow || o.Style&yaml.FlowStyle != 0 {
		return slot{flow: true}
	}
	d := s.dashesOf(o)
	if d == nil {
		return slot{}
	}
	return slot{indent: s.column(d[i]), dash: d[i]}
}

func (s *splicer) dashesOf(n *yaml.Node) []int {
	d, ok := s.dashed[n]
	if !ok {
		d = s.dashes(n)
		s.dashed[n] = d
	}
	return d
}

// listing is what becomes of a collection's entries.
type listing struct {
	count int
	live  []bool
	added map[int][]*yaml.Node // by the live entry before them, -1 for none
}

func (l listing) changed() bool { return len(l.added) > 0 || slices.Contains(l.live, false) }

// pos is where entry i of a collection starts.
func (s *splicer) pos(o *yaml.Node, i int) int {
	if s.source.err != nil {
		return len(s.data)
	}
	if o.Kind == yaml.MappingNode {
		return s.offset(o.Content[2*i])
	}
	if o.Style&yaml.FlowStyle == 0 {
		if d := s.dashesOf(o); d != nil {
			return d[i]
		}
		return s.fail()
	}
	return s.offset(o.Content[i])
}

// stop is where entry i of a collection ends.
func (s *splicer) stop(o *yaml.Node, i int) int {
	switch {
	case o.Kind == yaml.MappingNode:
		k := o.Content[2*i]
		return s.pairEnd(k, o.Content[2*i+1], k.Column-1)
	case o.Style&yaml.FlowStyle != 0:
		return s.end(o.Content[i], 0)
	}
	d := s.dashesOf(o)
	if d == nil {
		return s.fail()
	}
	return s.itemEnd(d[i], o.Content[i])
}

func (s *splicer) list(o *yaml.Node, l listing, at slot) {
	switch {
	case s.source.err != nil || !l.changed():
	case at.flow || o.Style&yaml.FlowStyle != 0:
		s.flowList(o, l)
	default:
		s.blockList(o, l, at)
	}
}

// blockList removes and adds the entries of a block collection, whole lines
// each. Only the first entry can share its line, with the dash before it.
func (s *splicer) blockList(o *yaml.Node, l listing, at slot) {
	first := s.pos(o, 0)
	indent := s.column(first)
	if s.source.err != nil {
		return
	}
	from := 0
	if !s.leads(first) {
		if !s.afterDash(first) {
			s.fail()
			return
		}
		from = s.sharedLine(o, l, first, indent)
	} else if head := l.added[-1]; len(head) > 0 {
		i := slices.Index(l.live, true)
		s.edit(s.leadOf(o, i, at), s.leadOf(o, i, at), strings.Repeat(" ", indent)+s.texts(o, head, indent)+s.nl)
	}
	for i := from; i < l.count; i++ {
		if !l.live[i] {
			s.removeLines(s.leadOf(o, i, at), s.stop(o, i))
		} else if added := l.added[i]; len(added) > 0 {
			s.addLines(s.stop(o, i), s.nl+strings.Repeat(" ", indent)+s.texts(o, added, indent), o)
		}
	}
}

// afterDash reports whether only a dash and spaces are before pos.
func (s *splicer) afterDash(pos int) bool {
	before := bytes.TrimRight(s.data[s.bol(pos):pos], " ")
	return len(before) > 0 && before[len(before)-1] == '-'
}

// sharedLine edits the start of a collection whose first entry follows a dash.
// It returns the first entry that is still to be looked at.
func (s *splicer) sharedLine(o *yaml.Node, l listing, first, indent int) int {
	i := slices.Index(l.live, true)
	text := ""
	if head := l.added[-1]; len(head) > 0 {
		text = s.texts(o, head, indent) + s.nl + strings.Repeat(" ", indent)
	}
	end := first
	if i > 0 {
		end = s.leadOf(o, i, slot{})
		end += spaces(s.data[end:])
	}
	if end > first || text != "" {
		s.edit(first, end, text)
	}
	return i
}

// leadOf is the line at which entry i starts, comments above it included;
// those above a document's first entry belong to the document.
func (s *splicer) leadOf(o *yaml.Node, i int, at slot) int {
	pos := s.pos(o, i)
	if s.source.err != nil || !s.leads(pos) {
		return s.fail()
	}
	if i == 0 {
		if at.root {
			return s.bol(pos)
		}
		return s.lead(pos, -1)
	}
	return s.lead(pos, s.stop(o, i-1))
}

// removeLines deletes from a line's start to the end of end's line. A text
// without a last line break stays so.
func (s *splicer) removeLines(start, end int) {
	if s.source.err != nil {
		return
	}
	eol, next := lineEnd(s.data, end)
	s.open = s.open || eol == next
	s.edit(start, next, "")
}

// addLines puts lines, each with its line break before it, below pos's line.
func (s *splicer) addLines(pos int, lines string, o *yaml.Node) {
	if s.source.err != nil || lines == "" {
		return
	}
	eol, next := lineEnd(s.data, pos)
	if eol == next {
		s.closeBlock(o, pos)
		s.edit(eol, eol, lines)
		return
	}
	s.edit(next, next, strings.TrimPrefix(lines, s.nl)+s.nl)
}

// closeBlock keeps the value of a literal that ended with the text and not
// with a line break, now that a line break follows: its header says so.
func (s *splicer) closeBlock(o *yaml.Node, end int) {
	indent := 0
	for o != nil && len(o.Content) > 0 {
		indent = o.Content[0].Column - 1
		o = o.Content[len(o.Content)-1]
	}
	if o == nil || o.Kind != yaml.ScalarNode || o.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || strings.HasSuffix(o.Value, "\n") {
		return
	}
	if s.end(o, indent) != end {
		return
	}
	_, pos := s.props(s.offset(o))
	stop := headerEnd(s.data, pos)
	if header := string(s.data[pos:stop]); !strings.Contains(header, "-") {
		s.edit(pos, stop, strings.TrimSuffix(header, "+")+"-")
	}
}

// headerEnd is behind the indicators of a block scalar.
func headerEnd(data []byte, pos int) int {
	pos++
	for pos < len(data) && strings.IndexByte("+-0123456789", data[pos]) >= 0 {
		pos++
	}
	return pos
}

// textRoom is about what an entry takes that a machine writes, in bytes.
const textRoom = 128

// texts writes new entries of the collection o at indent.
func (s *splicer) texts(o *yaml.Node, added []*yaml.Node, indent int) string {
	var b strings.Builder
	b.Grow(textRoom * len(added))
	step := 1
	if o.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i < len(added); i += step {
		if i > 0 {
			s.line(&b, indent)
		}
		if step == 2 {
			s.entry(&b, added[i], added[i+1], indent)
			continue
		}
		s.newItem(&b, o, added[i], indent)
	}
	return b.String()
}

// newItem writes an item with the distance from dash to content that the
// first item has.
func (s *splicer) newItem(b *strings.Builder, o, v *yaml.Node, indent int) {
	if v == nil || !block(v) {
		s.item(b, v, indent)
		return
	}
	at := indent + 2
	if first := o.Content[0]; block(first) && first.Anchor == "" && first.Line == s.lineOf(s.pos(o, 0))+1 {
		at = first.Column - 1
	}
	s.above(b, v.HeadComment, indent)
	b.WriteString("-")
	s.itemBody(b, v, indent, at)
	s.below(b, v.FootComment, indent)
}

// flowList removes and adds the entries of a flow collection.
func (s *splicer) flowList(o *yaml.Node, l listing) {
	last := l.count - 1
	for last >= 0 && !l.live[last] {
		last--
	}
	for i := range last {
		if !l.live[i] {
			s.edit(s.pos(o, i), s.pos(o, i+1), "")
		}
	}
	if last < l.count-1 {
		s.edit(s.stop(o, last), s.stop(o, l.count-1), "")
	}
	sep := "," + s.flowSpace(o)
	if head := s.flowTexts(o, l.added[-1]); len(head) > 0 {
		first := s.pos(o, slices.Index(l.live, true))
		s.edit(first, first, strings.Join(head, sep)+sep)
	}
	for i, live := range l.live {
		if added := s.flowTexts(o, l.added[i]); live && len(added) > 0 {
			s.edit(s.stop(o, i), s.stop(o, i), sep+strings.Join(added, sep))
		}
	}
}

// flowSpace is the white space between the entries of a flow collection.
func (s *splicer) flowSpace(o *yaml.Node) string {
	pos := s.pos(o, 0)
	start := pos
	for start > 0 && strings.IndexByte(" \t\r\n", s.data[start-1]) >= 0 {
		start--
	}
	if space := string(s.data[start:pos]); strings.Contains(space, "\n") {
		return space
	}
	if len(o.Content) > 2 && s.source.err == nil {
		n := 1
		if between := s.data[s.stop(o, 0):s.pos(o, n)]; string(between) == "," {
			return ""
		}
	}
	return " "
}

func (s *splicer) flowTexts(o *yaml.Node, added []*yaml.Node) []string {
	var out []string
	if o.Kind == yaml.SequenceNode {
		for _, v := range added {
			out = append(out, s.flow(v))
		}
		return out
	}
	for i := 0; i+1 < len(added); i += 2 {
		out = append(out, s.flowEntry(added[i], added[i+1]))
	}
	return out
}
