package merge

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// doc is the merge of three versions of one document. Values are nodes, nil
// where a version has none.
type doc struct {
	path   []string // fields as "name", list items as "[name=app]"
	secret bool     // the values below data and stringData are not for showing
	guess  bool     // see Options.Guess
	keep   bool     // see Options.Keep
	stands bool     // see Options.Stands
	lost   []lost

	shape    bool          // mappings or lists are among the conflicts
	comments []lostComment // both sides changed these, see [merger.noteComments]

	elsewhere []string // fields that are owned elsewhere, see owned
}

// lost is a conflict within one document.
type lost struct {
	field   string
	line    int
	b, u, l string
	winner  Side
	fate    Fate // "" for what the winner says
}

// value merges one value. It returns l itself where nothing changes.
func (d *doc) value(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	switch {
	case yamltree.SameText(b, u):
		return l
	case yamltree.SameText(b, l) && (!d.guess || l == nil || yamltree.IsScalar(l) && yamltree.IsScalar(u) && !isNull(u)):
		return adopt(u)
	case u != nil && d.owned(l) && d.stands:
		return adopt(u)
	case u != nil && d.owned(l):
		return l
	case isNull(b) || isNull(u) || isNull(l):
		return d.null(f, b, u, l)
	case u == nil:
		return d.goneUpstream(f, b, l)
	case l == nil:
		return d.goneLocally(f, b, u)
	}
	return d.both(f, b, u, l)
}

// both merges a value that both sides have.
func (d *doc) both(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	alike := yamltree.CustomTag(u) == yamltree.CustomTag(l) // what a tag makes of its items is not known
	switch {
	case alike && yamltree.IsMap(u) && yamltree.IsMap(l) && plainKeys(u) && plainKeys(l):
		return d.comment(b, u, d.mapping(f.next, b, u, l))
	case alike && yamltree.IsSeq(u) && yamltree.IsSeq(l):
		return d.comment(b, u, d.list(f, b, u, l))
	case yamltree.IsScalar(u) && yamltree.IsScalar(l):
		return d.comment(b, u, d.scalar(b, u, l))
	case equal(b, u):
		return l
	case equal(b, l) && !d.guess, equal(u, l):
		return adopt(u)
	}
	return d.clash(b, u, l)
}

// clash notes that both sides changed a value, and gives the one that stands.
func (d *doc) clash(b, u, l *yaml.Node) *yaml.Node {
	d.shape = d.shape || slices.ContainsFunc([]*yaml.Node{b, u, l}, func(n *yaml.Node) bool { return n != nil && !yamltree.IsScalar(n) })
	if d.keeps() {
		d.conflict(b, u, l, Local)
		return l
	}
	d.conflict(b, u, l, Upstream)
	return adopt(u)
}

// lostComment is a comment that both sides changed.
type lostComment struct {
	lost
	won, gone string
}

// keeps says that local wins where both sides changed a value.
func (d *doc) keeps() bool { return d.guess || d.keep }

// owned says that a value is neither upstream's nor a person's: by a marker of
// image automation, or because the resource says so.
func (d *doc) owned(l *yaml.Node) bool {
	if l == nil {
		return false
	}
	if yamltree.IsScalar(l) && strings.Contains(l.LineComment, imageMarker) {
		return true
	}
	return len(d.elsewhere) > 0 && slices.Contains(d.elsewhere, fieldPath(d.path))
}

// imageMarker is in the comment by which image automation of Flux knows its fields.
const imageMarker = `{"$imagepolicy":`

// edited says whether local changed more of a value than is owned elsewhere.
func (d *doc) edited(f schemaField, b, l *yaml.Node) bool {
	switch {
	case equal(b, l), b != nil && d.owned(l):
		return false
	case b == nil || l == nil:
	case yamltree.IsMap(b) && yamltree.IsMap(l):
		eb, el := entries(b), entries(l)
		all := maps.Clone(eb)
		maps.Copy(all, el)
		for k := range all {
			d.path = append(d.path, k)
			changed := d.edited(f.next.field(k), eb[k].val, el[k].val)
			d.path = d.path[:len(d.path)-1]
			if changed {
				return true
			}
		}
		return false
	case yamltree.IsSeq(b) && yamltree.IsSeq(l) && len(b.Content) == len(l.Content):
		m := matcherFor(f, b, l)
		if m == nil {
			break
		}
		for i, j := range m.pair(b.Content, l.Content) {
			if j < 0 {
				return true
			}
			d.path = append(d.path, m.label(l.Content[j]))
			changed := d.edited(schemaField{next: f.next}, b.Content[i], l.Content[j])
			d.path = d.path[:len(d.path)-1]
			if changed {
				return true
			}
		}
		return false
	}
	return true
}

// null merges a value that is an explicit null on one side. Upstream's clears
// the field, as in kpt. Local's stays: kpt drops it with the field, so that the
// update after the next one brings upstream's value back.
func (d *doc) null(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	switch {
	case isNull(b):
		if isNull(u) || u == nil {
			return l
		}
		if isNull(l) {
			return adopt(u)
		}
		return d.value(f, nil, u, l)
	case equal(b, u), isNull(l) && isNull(u):
		return l
	case isNull(l):
		if u != nil {
			d.conflict(b, u, l, Local)
		}
		return l
	}
	if l != nil && (d.guess || !equal(b, l)) && d.clash(b, u, l) == l {
		return l
	}
	return nil
}

// goneUpstream merges a value that upstream deleted and local changed: what
// local added below it stays.
func (d *doc) goneUpstream(f schemaField, b, l *yaml.Node) *yaml.Node {
	if b == nil {
		return l
	}
	if !d.guess && !d.edited(f, b, l) {
		return nil
	}
	if d.guess || b.Kind != l.Kind || yamltree.IsScalar(l) || yamltree.IsMap(l) && !plainKeys(l) {
		return d.clash(b, nil, l)
	}
	empty := &yaml.Node{Kind: l.Kind, Tag: l.Tag}
	rest := d.both(f, b, empty, l)
	if rest != l && len(rest.Content) == 0 {
		return nil
	}
	return rest
}

// goneLocally merges a value that local deleted and upstream changed: new
// fields and items are kept; a changed one brings the whole value back.
func (d *doc) goneLocally(f schemaField, b, u *yaml.Node) *yaml.Node {
	if b == nil {
		return adopt(u)
	}
	if added, ok := d.additions(f, b, u); ok {
		return added
	}
	return d.clash(b, u, nil)
}

// additions returns what u adds to b, nil where that is nothing, and whether
// adding and deleting is all that u does.
func (d *doc) additions(f schemaField, b, u *yaml.Node) (*yaml.Node, bool) {
	switch {
	case equal(b, u):
		return nil, true
	case yamltree.IsMap(b) && yamltree.IsMap(u) && plainKeys(b) && plainKeys(u):
		return d.addedFields(f.next, b, u)
	case yamltree.IsSeq(b) && yamltree.IsSeq(u):
		return d.addedItems(f, b, u)
	}
	return nil, false
}

func (d *doc) addedFields(s *schema, b, u *yaml.Node) (*yaml.Node, bool) {
	eb := entries(b)
	var added []*yaml.Node
	for k, v := range yamltree.Fields(u) {
		old, ok := eb[name(k)]
		if !ok {
			added = append(added, adopt(k), adopt(v))
			continue
		}
		part, ok := d.additions(s.field(name(k)), old.val, v)
		if !ok {
			return nil, false
		}
		if part != nil {
			added = append(added, adopt(k), part)
		}
	}
	if added == nil {
		return nil, true
	}
	return with(adopt(u), added), true
}

// scalar merges a scalar that both sides have; local quoting stays.
func (d *doc) scalar(b, u, l *yaml.Node) *yaml.Node {
	if equal(u, l) || equal(b, u) {
		return l
	}
	if hasLines(b) && hasLines(u) && hasLines(l) && !equal(b, l) && !d.guess {
		return d.textLines(b, u, l)
	}
	if !equal(b, l) && d.clash(b, u, l) == l {
		return l
	}
	c := *l
	c.Value, c.Tag, c.Style = u.Value, u.Tag, u.Style
	if quoted(l) && yamltree.Tag(u) == yaml.NodeTagString && !strings.Contains(u.Value, "\n") && u.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		c.Style = l.Style
	}
	return &c
}

// hasLines reports whether a value is a string of several lines, such as a
// configuration file in a ConfigMap.
func hasLines(n *yaml.Node) bool {
	return yamltree.IsScalar(n) && n.ShortTag() == yaml.NodeTagString && strings.Contains(n.Value, "\n")
}

// textLines merges a string line by line. Lines that both sides changed are a
// conflict.
func (d *doc) textLines(b, u, l *yaml.Node) *yaml.Node {
	of := func(n *yaml.Node) []string { return slices.Collect(strings.Lines(n.Value)) }
	node := func(lines []string) *yaml.Node {
		if len(lines) == 0 {
			return nil
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: strings.Join(lines, ""), Line: l.Line}
	}
	out, _ := mergeLines(of(b), of(u), of(l), func(s stretch) []string {
		if d.keeps() {
			d.conflict(node(s.b), node(s.u), node(s.l), Local)
			return s.l
		}
		d.conflict(node(s.b), node(s.u), node(s.l), Upstream)
		return s.u
	})
	c := *l
	if c.Value = string(join(out)); l.Style == b.Style {
		c.Style = u.Style
	}
	return &c
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && n.ShortTag() == yaml.NodeTagString
}

// mapping merges field by field. Local order stays; upstream's new fields come
// behind the field that they follow there.
func (d *doc) mapping(s *schema, b, u, l *yaml.Node) *yaml.Node {
	eb, eu := entries(b), entries(u)
	el := entries(l)
	o := newOrder[entry](len(l.Content) / 2)
	changed := false
	for k, v := range yamltree.Fields(l) {
		if el[name(k)].key != k { // an earlier one of two fields of one name
			changed = true
			continue
		}
		nb, nu := eb[name(k)], eu[name(k)]
		nv := d.at(name(k), func() *yaml.Node { return d.value(s.field(name(k)), nb.val, nu.val, v) })
		if nv == nil {
			changed = true
			continue
		}
		nk := k
		d.at(name(k), func() *yaml.Node { nk = d.comment(nb.key, nu.key, k); return nil })
		changed = changed || nk != k || nv != v
		o.keep(name(k), entry{nk, nv}, nu.key != nil && (nb.key != nil || b == nil))
	}
	for k, v := range yamltree.Fields(u) {
		if eu[name(k)].key != k {
			continue
		}
		if _, ok := el[name(k)]; ok {
			o.pass(name(k))
			continue
		}
		nv := d.at(name(k), func() *yaml.Node { return d.value(s.field(name(k)), eb[name(k)].val, v, nil) })
		if nv == nil {
			continue
		}
		changed = true
		o.insert(entry{adopt(k), nv})
	}
	if !changed {
		return l
	}
	var content []*yaml.Node
	for _, e := range o.list() {
		content = append(content, e.key, e.val)
	}
	return with(l, content)
}

// at runs a merge one step further down the path.
func (d *doc) at(step string, merge func() *yaml.Node) *yaml.Node {
	d.path = append(d.path, step)
	n := merge()
	d.path = d.path[:len(d.path)-1]
	return n
}

// try runs a merge that may be dropped: its conflicts are returned, not noted.
func (d *doc) try(merge func() *yaml.Node) (*yaml.Node, []lost) {
	before, comments := d.lost, d.comments
	d.lost = nil
	n := merge()
	found := d.lost
	d.lost = before
	if len(found) > 0 || n == nil {
		d.comments = comments
	}
	return n, found
}

func (d *doc) conflict(b, u, l *yaml.Node, winner Side) {
	line := 0
	if l != nil {
		line = l.Line
	}
	d.lost = append(d.lost, lost{
		field: fieldPath(d.path), line: line, winner: winner,
		b: d.show(b), u: d.show(u), l: d.show(l),
	})
}

// fieldPath writes a path as a.b[name=c].d; a field with a dot is quoted.
func fieldPath(path []string) string {
	var b strings.Builder
	for _, p := range path {
		switch {
		case strings.HasPrefix(p, "["):
			b.WriteString(p)
			continue
		case strings.ContainsAny(p, ".[]\"\n") || p == "":
			b.WriteString("[" + strconv.Quote(p) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// comment merges the comments of a node that both sides have, as a value: what
// one side left alone follows the other side, and upstream wins unless local is
// to be kept.
func (d *doc) comment(b, u, l *yaml.Node) *yaml.Node {
	if u == nil || l == nil {
		return l
	}
	if b == nil {
		b = &yaml.Node{}
	}
	head := d.oneComment(b.HeadComment, u.HeadComment, l.HeadComment, l)
	line := d.oneComment(b.LineComment, u.LineComment, l.LineComment, l)
	foot := d.oneComment(b.FootComment, u.FootComment, l.FootComment, l)
	if head == l.HeadComment && line == l.LineComment && foot == l.FootComment {
		return l
	}
	c := *l
	c.HeadComment, c.LineComment, c.FootComment = head, line, foot
	return &c
}

func (d *doc) oneComment(b, u, l string, at *yaml.Node) string {
	switch {
	case b == l:
		return u
	case b == u, u == l:
		return l
	}
	c := lostComment{won: u, gone: l, lost: lost{
		field: fieldPath(d.path), line: at.Line, winner: Upstream,
		b: d.showComment(b), u: d.showComment(u), l: d.showComment(l),
	}}
	if d.keeps() {
		c.won, c.gone, c.winner = l, u, Local
	}
	d.comments = append(d.comments, c)
	return c.won
}
