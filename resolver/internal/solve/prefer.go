package solve

import "math/bits"

// Result is a solution.
type Result struct {
	Values Assignment
	// Order are the slots of the solution, breadth first from the root, needs in their source's order.
	Order []int32
	// Preferred tells that the solution is proven to be the best by the documented order. It is false only
	// where the work had to end before, or any solution was asked for.
	Preferred bool
	// GaveUp tells, where there is no solution, that the work had to end before it was known that there is none.
	GaveUp bool
	Stats  Stats
}

// Option sets how a solver works.
type Option func(*Solver)

// WithWork counts what the solver does, and ends it with the work: the search for a solution, and then the proof that
// none is better.
func WithWork(w *Work) Option { return func(s *Solver) { s.work = w } }

// WithAny takes the first solution, preferred or not.
func WithAny() Option { return func(s *Solver) { s.any = true } }

// Solve returns the preferred solution, or false when there is none (see [Solver.Core]).
//
// Preference goes layer by layer: the root is the first layer, and a slot is in the layer after the one
// that needs it first. In each layer, given all layers before, (1) the slots together step back as little
// as possible: the largest rank that any of them takes is as small as a solution allows, where the
// rank of a value counts the better candidates that its needs from the layers before allow; then (2) the
// slots in order, one after the other, take their best value that a solution allows. So a slot never goes
// to a far older candidate in order to spare another one a single step.
func (s *Solver) Solve(opts ...Option) (Result, bool) {
	for _, o := range opts {
		o(s)
	}
	s.focused = false
	first, v := s.search(nil, 0)
	if v != sat {
		return Result{GaveUp: v == unknown, Stats: s.Stats()}, false
	}
	p := s.prefer(first, !s.any)
	if !p.walk() {
		p = s.prefer(first, false)
		p.walk()
	}
	return Result{Values: p.best, Order: p.order, Preferred: p.exact, Stats: s.Stats()}, true
}

// prefer is what is to improve a solution.
func (s *Solver) prefer(first Assignment, ahead bool) *preference {
	p := &preference{s: s, best: first, exact: !s.any, ahead: ahead}
	p.meet(Root).placed = true
	return p
}

// preference improves a solution layer by layer. Most of what a better first layer costs is to find a whole
// answer to it, of which the next layer leaves little. So the first layers go ahead: what betters them is only decided
// down to the layer itself, until a search has to find a whole answer for other reasons. That answer proves all that
// was taken before; where there is none, the walk is wrong, and is to be gone again with whole answers.
type preference struct {
	s      *Solver
	best   Assignment
	prefix []lit
	same   int   // how many of prefix the last search assumed
	met    []met // by slot
	words  []uint64
	order  []int32
	exact  bool // no better solution was missed
	ahead  bool // searches end with the layer
	part   bool // best says nothing of the layers after
	depth  int  // the slots up to the end of the layer
}

// met is what the walk knows of a slot: where in preference.words, from 1, the values stand that the layers before
// allow it, 0 where none of them says anything; and whether a layer has it.
type met struct {
	allowed int32
	placed  bool
}

// place is one slot of a layer and the values that the layers before allow it.
type place struct {
	slot    int32
	allowed Set
}

// walk goes through the layers. It is false where what was taken ahead turns out to have no answer.
func (p *preference) walk() bool {
	layer := []place{{Root, NewSet(2, 1)}}
	for len(layer) > 0 {
		p.depth = len(p.order) + len(layer)
		if p.part && !p.try() {
			return false
		}
		if p.exact && len(p.order) > 0 {
			p.closest(layer)
			p.each(layer)
		}
		for _, pl := range layer {
			p.order = append(p.order, pl.slot)
		}
		layer = p.next(layer)
	}
	p.ahead = false
	if p.part && !p.try() {
		return false
	}
	p.clean()
	return true
}

// next is the layer after one: the slots that it needs and that no layer before it has.
func (p *preference) next(layer []place) []place {
	var out []place
	for _, pl := range layer {
		for _, n := range p.s.needsOf(pl.slot, p.best[pl.slot]) {
			if n.Slot == Impossible {
				continue
			}
			m := p.meet(n.Slot)
			if m.allowed > 0 {
				p.allowed(n.Slot).keep(n.Allowed)
			}
			if !m.placed && !n.Allowed.Has(0) {
				m.placed = true
				out = append(out, place{slot: n.Slot})
			}
		}
	}
	for i := range out {
		out[i].allowed = p.allowed(out[i].slot)
		p.met[out[i].slot].allowed = 0 // what this layer needs of itself or of those before does not count
	}
	return out
}

// meet is what is known of a slot. One that is new is allowed all its candidates within its limits.
func (p *preference) meet(slot int32) *met {
	if n := max(int(slot)+1, len(p.s.slots)) - len(p.met); int(slot) >= len(p.met) {
		p.met = append(room(p.met, n), make([]met, n)...)
	}
	m := &p.met[slot]
	if m.allowed > 0 || m.placed {
		return m
	}
	p.s.ensure(slot)
	n := int(p.s.slots[slot].size) + 1
	m.allowed = int32(len(p.words)) + 1
	p.words = room(p.words, words(n))
	for w := range words(n) {
		p.words = append(p.words, full(n, w))
	}
	set := p.allowed(slot)
	set.Remove(0)
	for _, c := range p.s.limits[slot] {
		set.keep(p.s.setOf(p.s.lits[p.s.clauses[c].start]))
	}
	return m
}

// allowed are the values that the layers before allow a slot which none of them has.
func (p *preference) allowed(slot int32) Set {
	off := int(p.met[slot].allowed) - 1
	return Set(p.words[off : off+int(p.s.slots[slot].nw)])
}

// rank counts the better values that are allowed.
func (pl place) rank(v int32) int {
	n := 0
	for w, m := range pl.allowed {
		switch at := int(v) - 64*w; {
		case at >= 64:
			n += bits.OnesCount64(m)
		case at > 0:
			n += bits.OnesCount64(m & (1<<at - 1))
		}
	}
	return n
}

// firstN is the assumption that a slot has one of its best n allowed values.
func (p *preference) firstN(pl place, n int) lit {
	off := int32(len(p.s.sets))
	p.s.sets = room(p.s.sets, len(pl.allowed))
	for _, m := range pl.allowed {
		for n < bits.OnesCount64(m) {
			m &^= 1 << (63 - bits.LeadingZeros64(m))
		}
		n -= bits.OnesCount64(m)
		p.s.sets = append(p.s.sets, m)
	}
	return lit{pl.slot, off}
}

// worst is the largest rank in a layer.
func (p *preference) worst(layer []place) int {
	k := 0
	for _, pl := range layer {
		k = max(k, pl.rank(p.best[pl.slot]))
	}
	return k
}

// closest finds the smallest largest rank of a layer and fixes it.
func (p *preference) closest(layer []place) {
	lo, hi := 0, p.worst(layer)
	for lo < hi && p.exact {
		mid := (lo + hi) / 2
		if p.try(p.bounded(layer, mid)...) {
			hi = p.worst(layer)
		} else {
			lo = mid + 1
		}
	}
	if hi > 0 { // else each fixes the same, and more shortly
		p.prefix = append(p.prefix, p.bounded(layer, hi)...)
	}
}

// bounded are the assumptions that no slot of a layer steps back further than rank k.
func (p *preference) bounded(layer []place, k int) []lit {
	out := make([]lit, 0, len(layer))
	for _, pl := range layer {
		out = append(out, p.firstN(pl, k+1))
	}
	return out
}

// each gives every slot of a layer, in order, its best possible value and fixes that.
func (p *preference) each(layer []place) {
	for _, pl := range layer {
		for p.exact {
			k := pl.rank(p.best[pl.slot])
			if k == 0 || !p.try(p.firstN(pl, k)) {
				break
			}
		}
		p.prefix = append(p.prefix, lit{pl.slot, p.s.one(pl.slot, p.best[pl.slot])})
	}
}

// try searches under what is fixed and more, and keeps what it finds. Once that is a whole answer, nothing is ahead
// of it any more.
func (p *preference) try(more ...lit) bool {
	n := len(p.prefix)
	assume := append(p.prefix, more...)
	p.s.depth = 0
	if p.ahead {
		p.s.depth = int32(p.depth)
	}
	m, v := p.s.search(assume, p.same)
	p.prefix, p.same = assume[:n], n
	switch v {
	case sat, plausible:
		p.best, p.part, p.ahead = m, v == plausible, v == plausible
		return true
	case unknown:
		p.exact = false
	}
	return false
}

// clean leaves only the slots of the solution in the assignment.
func (p *preference) clean() {
	out := make(Assignment, len(p.best))
	for _, slot := range p.order {
		out[slot] = p.best[slot]
	}
	p.best = out
}
