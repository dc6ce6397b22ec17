package merge

import (
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// list merges two lists by the nature of their items.
func (d *doc) list(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	if !yamltree.IsSeq(b) {
		b = nil
	}
	if d.guess && matcherFor(f, b, u, l) == nil {
		return d.grown(b, u, l)
	}
	if f.set && scalars(u) && scalars(l) {
		return d.set(b, u, l)
	}
	if m := matcherFor(f, b, u, l); m != nil {
		return d.keyed(m, f.next, b, u, l)
	}
	return d.sequence(f, b, u, l)
}

// grown is local's list with what upstream adds to it, where that is all that
// upstream does.
func (d *doc) grown(b, u, l *yaml.Node) *yaml.Node {
	if b == nil {
		b = &yaml.Node{Kind: yaml.SequenceNode}
	}
	if len(missing(b.Content, u.Content)) > 0 {
		return d.clash(b, u, l)
	}
	return changed(l, append(slices.Clone(l.Content), missing(missing(u.Content, b.Content), l.Content)...))
}

func scalars(n *yaml.Node) bool {
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return false
		}
	}
	return true
}

// set merges lists whose order does not count: local order, then what is new
// in upstream.
func (d *doc) set(b, u, l *yaml.Node) *yaml.Node {
	inB, inU := members(b), members(u)
	have := map[string]bool{}
	var out []*yaml.Node
	for _, n := range l.Content {
		have[n.Value] = true
		if inB[n.Value] == nil || inU[n.Value] != nil {
			out = append(out, d.comment(inB[n.Value], inU[n.Value], n))
		}
	}
	for _, n := range u.Content {
		if !have[n.Value] && inB[n.Value] == nil {
			have[n.Value] = true
			out = append(out, adopt(n))
		}
	}
	return changed(l, out)
}

func members(n *yaml.Node) map[string]*yaml.Node {
	m := map[string]*yaml.Node{}
	for _, c := range yamltree.Items(n) {
		m[c.Value] = c
	}
	return m
}

// changed returns l where content is its own, else a copy with that content.
func changed(l *yaml.Node, content []*yaml.Node) *yaml.Node {
	if len(content) == len(l.Content) {
		alike := true
		for i := range content {
			alike = alike && content[i] == l.Content[i]
		}
		if alike {
			return l
		}
	}
	return with(l, content)
}

// threeway is the items of three versions of a list, matched. Indices are -1
// where a version has no such item.
type threeway struct {
	m       *matcher
	b, u, l []*yaml.Node
	bu, bl  []int // base item -> upstream, local
	ub, lb  []int // and back
	ul, lu  []int // new items of one side that the other added too
}

func match(m *matcher, b, u, l []*yaml.Node) *threeway {
	t := &threeway{m: m, b: b, u: u, l: l, bu: m.pair(b, u), bl: m.pair(b, l)}
	t.splitIdentities()
	t.ub, t.lb = inverse(t.bu, len(u)), inverse(t.bl, len(l))
	t.pairNew()
	return t
}

func inverse(ab []int, n int) []int {
	ba := make([]int, n)
	for i := range ba {
		ba[i] = -1
	}
	for i, j := range ab {
		if j >= 0 {
			ba[j] = i
		}
	}
	return ba
}

// splitIdentities parts an item to which one side gave another identity, where
// the other side deleted it, gave it a third identity, or gave that identity
// to a new item: the two are different things then.
func (t *threeway) splitIdentities() {
	newU, newL := t.ids(t.u, t.bu), t.ids(t.l, t.bl)
	for i, n := range t.b {
		j, k := t.bu[i], t.bl[i]
		id := t.m.id(n)
		uid, lid := id, id
		if j >= 0 {
			uid = t.m.id(t.u[j])
		}
		if k >= 0 {
			lid = t.m.id(t.l[k])
		}
		if uid != id && lid != id && uid != lid {
			t.bu[i], t.bl[i] = -1, -1
			continue
		}
		if uid != id && (k < 0 || newL[uid]) {
			t.bu[i] = -1
		}
		if lid != id && (j < 0 || newU[lid]) {
			t.bl[i] = -1
		}
	}
}

// ids returns the identities of the items that are not in base.
func (t *threeway) ids(items []*yaml.Node, matched []int) map[string]bool {
	old := map[int]bool{}
	for _, j := range matched {
		old[j] = true
	}
	ids := map[string]bool{}
	for j, n := range items {
		if !old[j] {
			ids[t.m.id(n)] = true
		}
	}
	return ids
}

// pairNew matches what both sides added.
func (t *threeway) pairNew() {
	newU, atU := fresh(t.u, t.ub)
	newL, atL := fresh(t.l, t.lb)
	t.ul, t.lu = inverse(nil, len(t.u)), inverse(nil, len(t.l))
	strict := matcher{tiers: t.m.tiers[:t.m.added]}
	for i, j := range strict.pair(newU, newL) {
		if j >= 0 {
			t.ul[atU[i]], t.lu[atL[j]] = atL[j], atU[i]
		}
	}
}

func fresh(items []*yaml.Node, base []int) (nodes []*yaml.Node, at []int) {
	for i, n := range items {
		if base[i] < 0 {
			nodes, at = append(nodes, n), append(at, i)
		}
	}
	return nodes, at
}

// keyed merges lists of maps item by item.
func (d *doc) keyed(m *matcher, s *schema, b, u, l *yaml.Node) *yaml.Node {
	t := match(m, yamltree.Items(b), yamltree.Items(u), yamltree.Items(l))
	merged := make([]*yaml.Node, len(t.l)) // by local item; nil is deleted
	for k, n := range t.l {
		merged[k] = d.keyedItem(t, s, k, n)
	}
	for i, n := range t.b { // deleted locally, changed upstream
		if j := t.bu[i]; t.bl[i] < 0 && j >= 0 && !equal(n, t.u[j]) {
			d.at(m.label(n), func() *yaml.Node { d.conflict(n, t.u[j], nil, Local); return nil })
		}
	}
	if t.reorderedUpstream() {
		return changed(l, t.upstreamOrder(merged))
	}
	return changed(l, t.localOrder(merged))
}

func (d *doc) keyedItem(t *threeway, s *schema, k int, n *yaml.Node) *yaml.Node {
	return d.at(t.m.label(n), func() *yaml.Node {
		f := schemaField{next: s}
		if i := t.lb[k]; i >= 0 {
			if j := t.bu[i]; j >= 0 {
				return d.value(f, t.b[i], t.u[j], n)
			}
			if d.guess || d.edited(f, t.b[i], n) {
				return d.clash(t.b[i], nil, n)
			}
			return nil
		}
		if j := t.lu[k]; j >= 0 {
			return d.value(f, nil, t.u[j], n)
		}
		return n
	})
}

// reorderedUpstream says whether upstream changed the order of the items that
// all have, and local did not.
func (t *threeway) reorderedUpstream() bool {
	u, l := -1, -1
	moved := false
	for i := range t.b {
		if t.bu[i] < 0 || t.bl[i] < 0 {
			continue
		}
		if t.bl[i] < l {
			return false
		}
		moved = moved || t.bu[i] < u
		u, l = t.bu[i], t.bl[i]
	}
	return moved
}

func (t *threeway) localOrder(merged []*yaml.Node) []*yaml.Node {
	o := newOrder[*yaml.Node](len(t.l))
	for k, n := range merged {
		if n != nil {
			i := t.lb[k]
			o.keep(anchorKey(i), n, i >= 0 && t.bu[i] >= 0)
		}
	}
	for j, n := range t.u {
		switch i := t.ub[j]; {
		case i >= 0:
			o.pass(anchorKey(i))
		case t.ul[j] < 0:
			o.insert(adopt(n))
		}
	}
	return o.list()
}

func (t *threeway) upstreamOrder(merged []*yaml.Node) []*yaml.Node {
	o := newOrder[*yaml.Node](len(t.u))
	for j, n := range t.u {
		i := t.ub[j]
		switch {
		case i >= 0 && t.bl[i] >= 0:
			if m := merged[t.bl[i]]; m != nil {
				o.keep(anchorKey(i), m, true)
			}
		case i < 0 && t.ul[j] >= 0:
			o.keep("", merged[t.ul[j]], false)
		case i < 0:
			o.keep("", adopt(n), false)
		}
	}
	for k, n := range merged {
		switch i := t.lb[k]; {
		case i >= 0 && t.bu[i] >= 0:
			o.pass(anchorKey(i))
		case n != nil && t.lu[k] < 0:
			o.insert(n)
		}
	}
	return o.list()
}

func anchorKey(base int) string { return strconv.Itoa(base) }

// addedItems is additions for lists whose items have an identity.
func (d *doc) addedItems(f schemaField, b, u *yaml.Node) (*yaml.Node, bool) {
	if f.set && scalars(b) && scalars(u) {
		return newItems(d.set(b, u, &yaml.Node{Kind: yaml.SequenceNode}), u)
	}
	m := matcherFor(f, b, u)
	if m == nil {
		return nil, false
	}
	bu := m.pair(b.Content, u.Content)
	for i, j := range bu {
		if j >= 0 && !equal(b.Content[i], u.Content[j]) {
			return nil, false
		}
	}
	added, _ := fresh(u.Content, inverse(bu, len(u.Content)))
	return newItems(&yaml.Node{Content: added}, u)
}

func newItems(added, like *yaml.Node) (*yaml.Node, bool) {
	if len(added.Content) == 0 {
		return nil, true
	}
	return with(adopt(like), adopt(added).Content), true
}
