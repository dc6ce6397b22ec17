package solve

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"
)

// lit is a literal in the solver's own store: a slot and the offset of its set in Solver.sets.
type lit struct{ slot, set int32 }

// clause is a disjunction of literals, lits[start:start+n]. The first two are watched.
type clause struct {
	start, n int32
	from     int32 // index into Solver.origin for an original clause, ^index into Solver.lemmas for a learned one
}

// lemma is what is known of a learned clause.
type lemma struct {
	ants, n int32 // the clauses that it follows from, Solver.ants[ants:ants+n]
	lbd     int32 // how many decision levels it spanned
	deleted bool
}

// value is what the solver keeps about every value of a slot. There are many, of which an easy search takes up
// few: what it then keeps stands apart.
type value struct {
	head int32 // 1 + the first watch in the value's list, 0 for none
	used int32 // 1 + index into Solver.used, 0 until the value is taken up
}

// use is what the solver keeps about a value that it took up. Offsets are into Solver.sets, and -1 until used.
type use struct {
	one, not int32 // the set that holds the value alone, and the one that holds all others
	needs    int32 // index into Solver.needs, -1 until the source is asked
	adds, n  int32 // the slots that it makes part of a solution, Solver.adds[adds:adds+n]
	expanded bool  // its needs are clauses
}

// watch is one watched literal of a clause; clause c has the watches 2c and 2c+1. A watch stands in the
// list of one value that makes its literal possible, and is looked at only when that value goes.
type watch struct {
	next      int32 // the next watch in the list, -1 for none
	slot, set int32
}

// entry is one narrowing of a slot's domain on the trail.
type entry struct {
	slot   int32
	prev   int32 // the slot's previous entry, -1 for none
	reason int32 // the clause that narrowed, -1 for a decision
	level  int32
	old    int32 // offset of the domain before, in Solver.olds, and of what went, in Solver.gone
}

// state is what the solver keeps about one slot.
type state struct {
	off      int32 // offset of the domain in Solver.dom
	nw       int32 // its words, 0 while the slot is not known
	base     int32 // offset of its values in Solver.values
	last     int32 // last trail entry, -1 for none
	size     int32 // candidates
	phase    int32 // the value that it last had
	open     int32 // position in the list of open slots, -1 when outside
	reached  int32 // position in the queue of reached slots, -1 when outside
	conflict int32 // how many learned clauses it took part in
	left     int32 // candidates that it has to choose from, see Solver.choices
	sat      int32 // the trail entry that made its literal in the clause in the making false
	activity float64
	in       bool // the clause in the making has a literal of it
	all      bool // the needs of all its candidates are clauses
}

// origin says where an original clause comes from.
type origin struct {
	kind  FactKind
	slot  int32
	index int32 // FactNeed and FactLimit: which of its first candidate's needs, or of its slot's limits; FactCheck: the tag
	value int32 // FactNeed: the candidate, or, of several, ^offset of their set in Solver.sets
}

// late is a narrowing by a learned clause that stands at a higher level than the one from which it follows.
type late struct {
	lit    lit
	clause int32
	level  int32 // from which it follows
	at     int32 // its place on the trail
}

// level is what is to be restored when a decision level is left.
type level struct {
	trail, olds, queue, head int32
}

// Stats counts the work of a search.
type Stats struct {
	Slots, Decisions, Conflicts, Restarts, Propagations, Clauses, Searches int
}

// Solver is one search over one source. It is not safe for concurrent use.
type Solver struct {
	src Source

	slots  []state
	dom    []uint64
	limits map[int32][]int32 // by slot, the clauses of its limits

	known  int // slots
	values []value
	used   []use
	needs  [][]Need // as the source gave them
	adds   []int32

	clauses []clause
	lemmas  []lemma
	watches []watch
	lits    []lit
	sets    []uint64
	ants    []int32
	origin  []origin
	learned []int32

	trail  []entry
	olds   []uint64
	gone   []uint64
	levels []level
	late   []late // by their place on the trail
	qhead  int
	expand []int32

	queue   []int32 // reached slots, breadth first
	qpos    int32
	depth   int32 // how many of the queue a search that goes breadth first decides, 0 for all
	opened  []int32
	inc     float64 // the activity of one conflict, which grows so that older ones count for less
	opening float64 // the activity of a new slot

	assumed []lit
	scratch analysis
	breadth int  // conflicts after which a search decides by activity
	focused bool // decide by activity, not breadth first
	unsat   bool
	final   []int32 // antecedents of the empty clause
	stats   Stats
	work    *Work
	any     bool // the first solution will do
}

// New returns a solver for a source.
func New(src Source) *Solver {
	s := solvers.Get().(*Solver)
	s.src, s.work, s.inc, s.opening, s.breadth = src, NewWork(context.Background(), 0), 1, opening, breadthConflicts
	s.ensure(Root)
	one := s.put(NewSet(int(s.slots[Root].size)+1, 1))
	c := s.attach(origin{kind: FactRoot, slot: Root}, lit{Root, one})
	s.unit(c)
	s.reach(Root)
	return s
}

// solvers are those that were released: what one has room for, the next one need not allocate.
var solvers = sync.Pool{New: func() any { return &Solver{} }}

// Release gives the solver's memory back for the next one. Only what it answered may be used after it.
func (s *Solver) Release() {
	clear(s.needs)
	a := s.scratch
	*s = Solver{
		slots: s.slots[:0], dom: s.dom[:0], values: s.values[:0], used: s.used[:0], needs: s.needs[:0], adds: s.adds[:0],
		clauses: s.clauses[:0], lemmas: s.lemmas[:0], watches: s.watches[:0], lits: s.lits[:0], sets: s.sets[:0],
		ants: s.ants[:0], origin: s.origin[:0], learned: s.learned[:0], trail: s.trail[:0], olds: s.olds[:0],
		gone: s.gone[:0], levels: s.levels[:0], late: s.late[:0], expand: s.expand[:0], queue: s.queue[:0],
		opened: s.opened[:0], assumed: s.assumed[:0],
		scratch: analysis{words: a.words[:0], slots: a.slots[:0], ants: a.ants[:0], pending: a.pending[:0]},
	}
	solvers.Put(s)
}

// Stats tells how much work the solver has done so far.
func (s *Solver) Stats() Stats {
	st := s.stats
	st.Slots, st.Clauses = s.known, len(s.clauses)
	return st
}

// Hardest are the slots that took part in conflicts, those with the most first.
func (s *Solver) Hardest() []int32 {
	var out []int32
	for slot := range s.slots {
		if s.slots[slot].conflict > 0 {
			out = append(out, int32(slot))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(s.slots[b].conflict, s.slots[a].conflict) })
	return out
}

// room returns a slice with room for n more: what grows to many elements doubles, so that little is copied.
func room[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	return slices.Grow(s, len(s)+n)
}

// ensure makes the solver know a slot: what it keeps is set up when the slot is first named.
func (s *Solver) ensure(slot int32) {
	if n := int(slot) + 1 - len(s.slots); n > 0 {
		s.slots = append(room(s.slots, n), make([]state, n)...)
	}
	if s.slots[slot].nw > 0 {
		return
	}
	size := s.src.Size(slot)
	nw := words(size + 1)
	s.slots[slot] = state{
		off: int32(len(s.dom)), nw: int32(nw), base: int32(len(s.values)),
		last: -1, size: int32(size), open: -1, reached: -1, activity: s.opening,
	}
	s.known++
	s.dom, s.scratch.words = room(s.dom, nw), room(s.scratch.words, nw)
	for w := range nw {
		s.dom, s.scratch.words = append(s.dom, full(size+1, w)), append(s.scratch.words, 0)
	}
	s.values = append(room(s.values, size+1), make([]value, size+1)...)
	if ls := s.src.Limits(slot); len(ls) > 0 {
		s.limit(slot, ls)
	}
	s.slots[slot].left = s.choices(&s.slots[slot])
}

// use is what is kept about a value that is taken up. The next call may move it.
func (s *Solver) use(slot, v int32) *use {
	at := &s.values[s.slots[slot].base+v].used
	if *at == 0 {
		s.used = append(room(s.used, 1), use{one: -1, not: -1, needs: -1})
		*at = int32(len(s.used))
	}
	return &s.used[*at-1]
}

// limit narrows a new slot by the source's restrictions. They hold from the start: no level undoes them.
func (s *Solver) limit(slot int32, limits []Limit) {
	if s.limits == nil {
		s.limits = map[int32][]int32{}
	}
	st := s.slots[slot]
	for i, l := range limits {
		off := s.putFor(slot, l.Allowed)
		s.sets[off] |= 1
		c := s.attach(origin{kind: FactLimit, slot: slot, index: int32(i)}, lit{slot, off})
		s.limits[slot] = append(s.limits[slot], c)
		for w := range st.nw {
			s.dom[st.off+w] &= s.sets[off+w]
		}
	}
}

// unit narrows by a clause of one literal. Above level 0 the narrowing would be lost on the way back, so
// the clause is also watched: it is looked at again whenever its slot changes.
func (s *Solver) unit(c int32) {
	l := s.lits[s.clauses[c].start]
	if !s.narrow(l, c) {
		s.pending(c)
	}
}

// pending keeps a conflict found outside of propagation.
func (s *Solver) pending(c int32) { s.scratch.pending = append(s.scratch.pending, c) }

// full is word w of the set of all n values.
func full(n, w int) uint64 {
	if rest := n - 64*w; rest < 64 {
		return 1<<rest - 1
	}
	return ^uint64(0)
}

// put stores a set and returns its offset.
func (s *Solver) put(set Set) int32 {
	off := int32(len(s.sets))
	s.sets = append(room(s.sets, len(set)), set...)
	return off
}

// putFor stores a set with exactly the words of its slot.
func (s *Solver) putFor(slot int32, set Set) int32 {
	off := int32(len(s.sets))
	s.sets = room(s.sets, int(s.slots[slot].nw))
	for w := range int(s.slots[slot].nw) {
		if w < len(set) {
			s.sets = append(s.sets, set[w])
		} else {
			s.sets = append(s.sets, 0)
		}
	}
	return off
}

// disjoint tells whether the literal is false: no value of its set is left in the domain.
func (s *Solver) disjoint(slot, set int32) bool {
	st := &s.slots[slot]
	if st.nw == 1 {
		return s.dom[st.off]&s.sets[set] == 0
	}
	for w := range st.nw {
		if s.dom[st.off+w]&s.sets[set+w] != 0 {
			return false
		}
	}
	return true
}

// within tells whether the literal is true: the domain lies within its set.
func (s *Solver) within(slot, set int32) bool {
	st := &s.slots[slot]
	for w := range st.nw {
		if s.dom[st.off+w]&^s.sets[set+w] != 0 {
			return false
		}
	}
	return true
}

// has tells whether a value is still in a slot's domain.
func (s *Solver) has(slot, value int32) bool {
	return s.dom[s.slots[slot].off+value>>6]&(1<<(value&63)) != 0
}

// single is the one value left in a slot's domain, or -1.
func (s *Solver) single(slot int32) int32 {
	st := &s.slots[slot]
	found := int32(-1)
	for w := range st.nw {
		d := s.dom[st.off+w]
		if d == 0 {
			continue
		}
		if found >= 0 || d&(d-1) != 0 {
			return -1
		}
		found = w<<6 + int32(bits.TrailingZeros64(d))
	}
	return found
}

// first is the best candidate left in a slot's domain, or 0.
func (s *Solver) first(slot int32) int32 {
	st := &s.slots[slot]
	for w := range st.nw {
		d := s.dom[st.off+w]
		if w == 0 {
			d &^= 1
		}
		if d != 0 {
			return w<<6 + int32(bits.TrailingZeros64(d))
		}
	}
	return 0
}

// narrow cuts a slot's domain down to the literal's set and puts that on the trail. It is false when
// nothing would be left; the domain then stays as it is.
func (s *Solver) narrow(l lit, reason int32) bool {
	st := &s.slots[l.slot]
	var any, change uint64
	for w := range st.nw {
		d, m := s.dom[st.off+w], s.sets[l.set+w]
		any |= d & m
		change |= d &^ m
	}
	if any == 0 {
		return false
	}
	if change == 0 {
		return true
	}
	s.trail = append(room(s.trail, 1), entry{l.slot, st.last, reason, int32(len(s.levels)), int32(len(s.olds))})
	st.last = int32(len(s.trail) - 1)
	for w := range st.nw {
		d, m := s.dom[st.off+w], s.sets[l.set+w]
		s.olds, s.gone = append(s.olds, d), append(s.gone, d&^m)
		s.dom[st.off+w] = d & m
	}
	st.left = s.choices(st)
	s.stats.Propagations++
	s.work.steps++
	s.narrowed(l.slot)
	return true
}

// narrowed notes what a narrower domain asks for: a single candidate is expanded, a needed slot decided.
func (s *Solver) narrowed(slot int32) {
	if s.has(slot, 0) {
		return
	}
	v := s.single(slot)
	if v < 0 {
		s.open(slot)
		return
	}
	s.close(slot)
	if !s.use(slot, v).expanded {
		s.expand = append(s.expand, slot)
	}
}

// attach stores an original clause and watches it.
func (s *Solver) attach(o origin, ls ...lit) int32 {
	c := s.store(ls)
	s.clauses[c].from = int32(len(s.origin))
	s.origin = append(room(s.origin, 1), o)
	return c
}

// store puts a clause into the database and watches its first two literals.
func (s *Solver) store(ls []lit) int32 {
	s.work.Spend(len(ls))
	c := int32(len(s.clauses))
	s.clauses = append(room(s.clauses, 1), clause{start: int32(len(s.lits)), n: int32(len(ls))})
	s.lits = append(room(s.lits, len(ls)), ls...)
	s.watches = room(s.watches, 2)
	for i := range int32(2) {
		s.watches = append(s.watches, watch{})
		if int(i) < len(ls) {
			s.watch(2*c+i, ls[i])
		}
	}
	return c
}

// watch makes a watch of a literal and puts it into the list of a value that makes the literal possible:
// the slot's last one if that does, so that the watch stays where it is when the search comes by again.
func (s *Solver) watch(w int32, l lit) {
	node := &s.watches[w]
	node.slot, node.set = l.slot, l.set
	st := &s.slots[l.slot]
	v := s.witness(st, l.set)
	head := &s.values[st.base+v].head
	node.next, *head = *head-1, w+1
}

// witness is a value of a literal's set that is in its slot's domain, or that was, where none is left.
func (s *Solver) witness(st *state, set int32) int32 {
	if p := st.phase; p > 0 && s.dom[st.off+p>>6]&s.sets[set+p>>6]&(1<<(p&63)) != 0 {
		return p
	}
	for w := range st.nw {
		d := s.dom[st.off+w] & s.sets[set+w]
		if w == 0 && d&^1 != 0 {
			d &^= 1
		}
		if d != 0 {
			return w<<6 + int32(bits.TrailingZeros64(d))
		}
	}
	return s.lastGone(st, set)
}

// lastGone is the value of a false literal's set that left its slot's domain last: when the search goes
// back far enough for the literal to be possible, that value is the first to be there again.
func (s *Solver) lastGone(st *state, set int32) int32 {
	for at := st.last; at >= 0; at = s.trail[at].prev {
		off := s.trail[at].old
		for w := range st.nw {
			if d := s.gone[off+w] & s.sets[set+w]; d != 0 {
				return w<<6 + int32(bits.TrailingZeros64(d))
			}
		}
	}
	return 0
}
