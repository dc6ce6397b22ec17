package merge

import (
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// maxTable bounds the table of the exact comparison of two lists; longer lists
// are compared by the items that are unique in both.
const maxTable = 1 << 20

// sequence merges lists whose items have no identity, by their places:
// additions, removals and changes at different places are all kept. Where both
// sides changed one place differently, upstream wins there.
func (d *doc) sequence(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	if b == nil {
		if equal(u, l) || len(u.Content) == 0 {
			return l
		}
		if len(l.Content) > 0 && d.clash(nil, u, l) == l {
			return l
		}
		return with(l, adopt(u).Content)
	}
	switch {
	case len(u.Content) == 0: // upstream gave the list up
		if len(l.Content) > 0 && d.clash(b, u, l) == l {
			return l
		}
		return changed(l, nil)
	case applied(b.Content, u.Content, l.Content):
		return l
	}
	s := &seqMerge{forced: map[*yaml.Node]bool{}, d: d, next: f.next, b: b.Content, u: u.Content, l: l.Content}
	hb, hu, hl := digests(b), digests(u), digests(l)
	upstream := hunks(hb, hu)
	s.bu = unchangedItems(upstream, len(hb))
	s.run(hunks(hb, hl), upstream)
	out := s.out
	if scalars(b) && scalars(u) && scalars(l) && distinct(hb) && distinct(hu) && distinct(hl) {
		out = withoutGone(out, s.forced, hb, hu, hl)
	}
	return changed(l, out)
}

func digests(n *yaml.Node) []uint64 {
	out := make([]uint64, len(n.Content))
	for i, c := range n.Content {
		out[i] = yamltree.Hash(c)
	}
	return out
}

func distinct(hashes []uint64) bool {
	return len(toSet(hashes)) == len(hashes)
}

func toSet(hashes []uint64) map[uint64]bool {
	m := make(map[uint64]bool, len(hashes))
	for _, h := range hashes {
		m[h] = true
	}
	return m
}

// withoutGone drops from a list of distinct scalars what one side moved and
// the other deleted, and what both brought. Items that won a conflict stay.
func withoutGone(out []*yaml.Node, forced map[*yaml.Node]bool, hb, hu, hl []uint64) []*yaml.Node {
	inB, inU, inL := toSet(hb), toSet(hu), toSet(hl)
	seen := make(map[uint64]bool, len(out))
	var kept []*yaml.Node
	for _, n := range out {
		h := yamltree.Hash(n)
		if seen[h] || inB[h] && !(inU[h] && inL[h]) && !forced[n] {
			continue
		}
		seen[h] = true
		kept = append(kept, n)
	}
	return kept
}

// hunk is one change of a side: base items [b0,b1) became its items [x0,x1).
type hunk struct{ b0, b1, x0, x1 int }

func (h hunk) insertion() bool { return h.b0 == h.b1 }
func (h hunk) deletion() bool  { return h.x0 == h.x1 }

// hunks returns the changes between two lists, in order.
func hunks(base, side []uint64) []hunk {
	var out []hunk
	b, x := 0, 0
	for _, m := range append(common(base, side), [2]int{len(base), len(side)}) {
		if m[0] > b || m[1] > x {
			out = append(out, hunk{b, m[0], x, m[1]})
		}
		b, x = m[0]+1, m[1]+1
	}
	return out
}

// common returns the pairs of a longest common subsequence.
func common(a, b []uint64) [][2]int {
	var out [][2]int
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		out = append(out, [2]int{lo, lo})
		lo++
	}
	ha, hb := len(a), len(b)
	for ha > lo && hb > lo && a[ha-1] == b[hb-1] {
		ha--
		hb--
	}
	for _, p := range middle(a[lo:ha], b[lo:hb]) {
		out = append(out, [2]int{p[0] + lo, p[1] + lo})
	}
	for i := 0; ha+i < len(a); i++ {
		out = append(out, [2]int{ha + i, hb + i})
	}
	return out
}

func middle(a, b []uint64) [][2]int {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	if len(a)*len(b) > maxTable {
		return unique(a, b)
	}
	w := len(b) + 1
	t := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				t[i*w+j] = t[(i+1)*w+j+1] + 1
			} else {
				t[i*w+j] = max(t[(i+1)*w+j], t[i*w+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i++
			j++
		case t[(i+1)*w+j] >= t[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// unique pairs the items that are unique in both lists and in the same order.
func unique(a, b []uint64) [][2]int {
	count := map[uint64]int{}
	at := map[uint64]int{}
	for _, h := range a {
		count[h]++
	}
	inB := map[uint64]int{}
	for j, h := range b {
		inB[h]++
		at[h] = j
	}
	var out [][2]int
	last := -1
	for i, h := range a {
		if count[h] == 1 && inB[h] == 1 && at[h] > last {
			out = append(out, [2]int{i, at[h]})
			last = at[h]
		}
	}
	return out
}

// seqMerge walks the changes of both sides along the base list.
type seqMerge struct {
	d       *doc
	next    *schema
	b, u, l []*yaml.Node
	out     []*yaml.Node
	forced  map[*yaml.Node]bool // items of out that won a conflict
	bu      []int               // where upstream has the items that it did not change, -1 elsewhere
	at      int                 // base items before this are done
	atL     int                 // local items before this are done
}

func (s *seqMerge) run(hl, hu []hunk) {
	for len(hl) > 0 || len(hu) > 0 {
		rl, ru := region(&hl, &hu, touches)
		s.copyUnchanged(first(rl, ru))
		s.merge(rl, ru)
	}
	s.copyUnchanged(len(s.b))
}

func first(rl, ru []hunk) int {
	switch {
	case len(rl) == 0:
		return ru[0].b0
	case len(ru) == 0:
		return rl[0].b0
	}
	return min(rl[0].b0, ru[0].b0)
}

// region takes the next changes that belong together off both lists: one of
// one side, or several of both that are together, such as those that overlap.
func region(hl, hu *[]hunk, together func([]hunk, hunk) bool) (rl, ru []hunk) {
	if len(*hu) == 0 || len(*hl) > 0 && before((*hl)[0], (*hu)[0]) {
		rl, *hl = (*hl)[:1], (*hl)[1:]
	} else {
		ru, *hu = (*hu)[:1], (*hu)[1:]
	}
	for {
		switch {
		case len(*hl) > 0 && together(ru, (*hl)[0]):
			rl, *hl = append(rl, (*hl)[0]), (*hl)[1:]
		case len(*hu) > 0 && together(rl, (*hu)[0]):
			ru, *hu = append(ru, (*hu)[0]), (*hu)[1:]
		default:
			return rl, ru
		}
	}
}

// before orders two changes of different sides; of two insertions at one
// place, and of an insertion ahead of a change, the insertion is first.
func before(l, u hunk) bool {
	if l.b0 != u.b0 {
		return l.b0 < u.b0
	}
	return l.insertion() || !u.insertion()
}

func touches(r []hunk, h hunk) bool {
	for _, o := range r {
		if o.insertion() && h.insertion() {
			if o.b0 == h.b0 {
				return true
			}
			continue
		}
		if o.b0 < h.b1 && h.b0 < o.b1 {
			return true
		}
	}
	return false
}

// copyUnchanged copies local items up to a place in base that no side changed.
func (s *seqMerge) copyUnchanged(to int) {
	for ; s.at < to; s.at++ {
		n := s.l[s.atL]
		if i := s.bu[s.at]; i >= 0 {
			n = s.d.value(schemaField{next: s.next}, s.b[s.at], s.u[i], n) // its comments may differ
		}
		s.out = append(s.out, n)
		s.atL++
	}
}

// unchangedItems returns where the other side of changes has each item of base,
// -1 for one that they change.
func unchangedItems(changes []hunk, n int) []int {
	out := make([]int, n)
	at, by := 0, 0
	for _, h := range append(slices.Clone(changes), hunk{b0: n, b1: n}) {
		for ; at < h.b0; at++ {
			out[at] = at + by
		}
		for ; at < h.b1; at++ {
			out[at] = -1
		}
		by = h.x1 - h.b1
	}
	return out
}

// merge writes one region.
func (s *seqMerge) merge(rl, ru []hunk) {
	switch {
	case len(ru) == 0:
		h := rl[0]
		s.out = append(s.out, s.l[h.x0:h.x1]...)
		s.at, s.atL = h.b1, h.x1
	case len(rl) == 0:
		h := ru[0]
		for _, n := range s.u[h.x0:h.x1] {
			s.out = append(s.out, adopt(n))
		}
		s.atL += h.b1 - h.b0
		s.at = h.b1
	default:
		s.mergeBoth(rl, ru)
	}
}

func (s *seqMerge) mergeBoth(rl, ru []hunk) {
	b0 := min(rl[0].b0, ru[0].b0)
	b1 := max(rl[len(rl)-1].b1, ru[len(ru)-1].b1)
	l0 := s.atL
	l1 := rl[len(rl)-1].x1 + b1 - rl[len(rl)-1].b1
	u0 := ru[0].x0 - (ru[0].b0 - b0)
	u1 := ru[len(ru)-1].x1 + b1 - ru[len(ru)-1].b1
	s.at, s.atL = b1, l1
	bs, us, ls := s.b[b0:b1], s.u[u0:u1], s.l[l0:l1]
	switch {
	case alike(us, ls), b0 < b1 && len(missing(us, bs)) > 0 && applied(bs, us, ls):
		s.out = append(s.out, ls...)
	case b0 == b1:
		s.out = append(append(s.out, ls...), missing(us, ls)...)
	case deletions(rl) && deletions(ru):
		s.out = append(s.out, inBoth(us, ls)...)
	case s.pairwise(bs, us, ls, l0):
	default:
		won := s.d.at("["+strconv.Itoa(l0)+"]", func() *yaml.Node {
			return s.d.clash(listOf(bs), listOf(us), listOf(ls))
		})
		for _, n := range yamltree.Items(won) {
			s.forced[n] = true
			s.out = append(s.out, n)
		}
	}
}

func listOf(items []*yaml.Node) *yaml.Node {
	if len(items) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: items, Line: items[0].Line}
	return n
}

func alike(a, b []*yaml.Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// missing returns copies of the items of us that are not in ls.
func missing(us, ls []*yaml.Node) []*yaml.Node {
	have := map[uint64]int{}
	for _, n := range ls {
		have[yamltree.Hash(n)]++
	}
	var out []*yaml.Node
	for _, n := range us {
		h := yamltree.Hash(n)
		if have[h] > 0 {
			have[h]--
			continue
		}
		out = append(out, adopt(n))
	}
	return out
}

// applied says whether local has upstream's change already, as after a merge:
// what upstream deleted is gone, what it added is there, in order.
func applied(bs, us, ls []*yaml.Node) bool {
	left := map[uint64]int{} // of base, what upstream deleted
	for _, n := range bs {
		left[yamltree.Hash(n)]++
	}
	var added []uint64
	for _, n := range us {
		h := yamltree.Hash(n)
		if left[h] > 0 {
			left[h]--
			continue
		}
		added = append(added, h)
	}
	for _, n := range ls {
		h := yamltree.Hash(n)
		if len(added) > 0 && added[0] == h {
			added = added[1:]
			continue
		}
		if left[h] > 0 {
			return false
		}
	}
	return len(added) == 0
}

func deletions(r []hunk) bool {
	for _, h := range r {
		if !h.deletion() {
			return false
		}
	}
	return true
}

// inBoth returns the local items that neither side deleted.
func inBoth(us, ls []*yaml.Node) []*yaml.Node {
	inU := map[uint64]int{}
	for _, n := range us {
		inU[yamltree.Hash(n)]++
	}
	var out []*yaml.Node
	for _, n := range ls {
		if h := yamltree.Hash(n); inU[h] > 0 {
			inU[h]--
			out = append(out, n)
		}
	}
	return out
}

// pairwise merges as many maps of all three versions one by one, if that goes
// without a conflict.
func (s *seqMerge) pairwise(bs, us, ls []*yaml.Node, at int) bool {
	if len(bs) != len(us) || len(bs) != len(ls) {
		return false
	}
	var out []*yaml.Node
	for i := range bs {
		if !yamltree.IsMap(bs[i]) || !yamltree.IsMap(us[i]) || !yamltree.IsMap(ls[i]) {
			return false
		}
		n, lost := s.d.try(func() *yaml.Node {
			return s.d.at("["+strconv.Itoa(at+i)+"]", func() *yaml.Node {
				return s.d.value(schemaField{next: s.next}, bs[i], us[i], ls[i])
			})
		})
		if len(lost) > 0 || n == nil {
			return false
		}
		out = append(out, n)
	}
	s.out = append(s.out, out...)
	return true
}
