package solve

import "math/bits"

// propagate narrows domains until nothing follows any more. It returns a clause that became false, or -1.
func (s *Solver) propagate() int32 {
	for {
		if n := len(s.scratch.pending); n > 0 {
			c := s.scratch.pending[n-1]
			s.scratch.pending = s.scratch.pending[:n-1]
			if s.isFalse(c) {
				return c
			}
			continue
		}
		if s.qhead < len(s.trail) {
			e := s.trail[s.qhead]
			s.qhead++
			if c := s.visit(e); c >= 0 {
				return c
			}
			continue
		}
		if n := len(s.expand); n > 0 {
			slot := s.expand[n-1]
			s.expand = s.expand[:n-1]
			if v := s.single(slot); v > 0 {
				s.expandValue(slot, v)
			}
			continue
		}
		return -1
	}
}

// isFalse tells whether all literals of a clause are false.
func (s *Solver) isFalse(c int32) bool {
	cl := &s.clauses[c]
	for _, l := range s.lits[cl.start : cl.start+cl.n] {
		if !s.disjoint(l.slot, l.set) {
			return false
		}
	}
	return true
}

// visit looks at the clauses whose watches stand at the values that one narrowing took away.
func (s *Solver) visit(e entry) int32 {
	st := &s.slots[e.slot]
	for w := range st.nw {
		for gone := s.gone[e.old+w]; gone != 0; gone &= gone - 1 {
			v := w<<6 + int32(bits.TrailingZeros64(gone))
			if c := s.visitValue(st.base + v); c >= 0 {
				return c
			}
		}
	}
	return -1
}

// visitValue goes through the watches at one value: those whose literal is still possible move to
// another value, a false literal is replaced by another of its clause, or its clause narrows.
func (s *Solver) visitValue(at int32) int32 {
	w := s.values[at].head - 1
	s.values[at].head = 0
	kept := int32(-1)
	bad := int32(-1)
	for w >= 0 {
		s.work.steps++
		node := &s.watches[w]
		next := node.next
		switch {
		case bad >= 0:
			node.next, kept = kept, w
		case !s.disjoint(node.slot, node.set):
			s.watch(w, lit{node.slot, node.set})
		default:
			moved, ok := s.falsified(w)
			if !moved {
				node.next, kept = kept, w
			}
			if !ok {
				bad = w / 2
			}
		}
		w = next
	}
	s.keep(at, kept)
	return bad
}

// keep puts a list of watches back at a value.
func (s *Solver) keep(at, list int32) {
	for list >= 0 {
		next := s.watches[list].next
		s.watches[list].next, s.values[at].head = s.values[at].head-1, list+1
		list = next
	}
}

// falsified handles the clause of a watch whose literal is false: it moves the watch, narrows by the last
// literal that can still be true, or finds that there is none (ok is false).
func (s *Solver) falsified(w int32) (moved, ok bool) {
	c := w / 2
	cl := &s.clauses[c]
	if cl.from < 0 && s.lemmas[^cl.from].deleted {
		return true, true
	}
	ls := s.lits[cl.start : cl.start+cl.n]
	if len(ls) == 1 {
		return false, false
	}
	if ls[0].slot == s.watches[w].slot {
		ls[0], ls[1] = ls[1], ls[0]
	}
	if len(ls) > 2 {
		if s.within(ls[0].slot, ls[0].set) {
			return false, true
		}
		for k := 2; k < len(ls); k++ {
			s.work.steps++
			if !s.disjoint(ls[k].slot, ls[k].set) {
				ls[1], ls[k] = ls[k], ls[1]
				s.watch(w, ls[1])
				return true, true
			}
		}
	}
	return false, s.narrow(ls[0], c)
}

// expandValue makes clauses of the needs of one candidate.
func (s *Solver) expandValue(slot, value int32) {
	u := s.use(slot, value)
	if u.expanded {
		return
	}
	u.expanded = true
	for i, n := range s.needsOf(slot, value) {
		s.addNeed(origin{kind: FactNeed, slot: slot, value: value, index: int32(i)}, n)
	}
}

// expandAll makes clauses of the needs of all candidates of a slot, one for all candidates that need the
// same: what is learned from it then holds for all of them. Needs that nothing can meet stay apart: they are
// alike here, but each has its own reason, which the source tells by its index.
func (s *Solver) expandAll(slot int32) {
	s.slots[slot].all = true
	size := s.slots[slot].size
	type group struct {
		origin origin
		need   Need
		only   bool // of one candidate whose needs are clauses already
	}
	var groups []group
	next := []int{}           // the group before with a need on the same slot, -1 for none
	bySlot := map[int32]int{} // the last group with a need on a slot
	for v := int32(1); v <= size; v++ {
		for i, n := range s.needsOf(slot, v) {
			at := -1
			last, ok := bySlot[n.Slot]
			if !ok {
				last = -1
			}
			for g := last; g >= 0 && at < 0 && n.Slot != Impossible; g = next[g] {
				if groups[g].need.Allowed.Equal(n.Allowed) {
					at = g
				}
			}
			if at < 0 {
				bySlot[n.Slot] = len(groups)
				next = append(next, last)
				o := origin{kind: FactNeed, slot: slot, value: v, index: int32(i)}
				groups = append(groups, group{o, n, s.use(slot, v).expanded})
				continue
			}
			g := &groups[at]
			if g.origin.value >= 0 {
				g.origin.value = ^s.put(NewSet(int(size)+1, int(g.origin.value)))
			}
			s.setOf(lit{slot, ^g.origin.value}).Add(int(v))
			g.only = false
		}
	}
	for _, g := range groups {
		if !g.only {
			s.addNeed(g.origin, g.need)
		}
	}
	for v := int32(1); v <= size; v++ {
		s.use(slot, v).expanded = true
	}
}

// needsOf asks the source for the needs of a candidate, once.
func (s *Solver) needsOf(slot, value int32) []Need {
	u := s.use(slot, value)
	if u.needs < 0 {
		needs := s.src.Needs(slot, value)
		u.needs, u.adds = int32(len(s.needs)), int32(len(s.adds))
		s.needs = append(room(s.needs, 1), needs)
		for _, n := range needs {
			if n.Slot != Impossible && !n.Allowed.Has(0) {
				s.adds = append(room(s.adds, 1), n.Slot)
			}
		}
		u.n = int32(len(s.adds)) - u.adds
		s.work.Spend(len(needs))
	}
	return s.needs[u.needs]
}

// addNeed adds the clause "the slot has none of the candidates, or n holds" and draws its consequences.
func (s *Solver) addNeed(o origin, n Need) {
	slot := o.slot
	not := lit{slot, s.putNot(slot, o)}
	if n.Slot == Impossible {
		s.unit(s.attach(o, not))
		return
	}
	s.ensure(n.Slot)
	if n.Slot == slot {
		s.unit(s.attach(o, s.selfNeed(slot, not, n)))
		return
	}
	then := lit{n.Slot, s.putFor(n.Slot, n.Allowed)}
	c := s.attach(o, not, then)
	switch {
	case s.disjoint(not.slot, not.set):
		if !s.narrow(then, c) {
			s.pending(c)
		}
	case s.disjoint(then.slot, then.set):
		if !s.narrow(not, c) {
			s.pending(c)
		}
	}
}

// putNot stores the set of all values but the candidates that have a need.
func (s *Solver) putNot(slot int32, o origin) int32 {
	if o.value >= 0 {
		if u := s.use(slot, o.value); u.not >= 0 {
			return u.not
		}
	}
	st := s.slots[slot]
	off := int32(len(s.sets))
	s.sets = room(s.sets, int(st.nw))
	for w := range st.nw {
		s.sets = append(s.sets, full(int(st.size)+1, int(w)))
		if o.value < 0 {
			s.sets[off+w] &^= s.sets[^o.value+w]
		}
	}
	if o.value >= 0 {
		s.sets[off+o.value>>6] &^= 1 << (o.value & 63)
		s.use(slot, o.value).not = off
	}
	return off
}

// selfNeed merges both sides of a need of a slot on itself.
func (s *Solver) selfNeed(slot int32, not lit, n Need) lit {
	off := s.putFor(slot, n.Allowed)
	for w := range s.slots[slot].nw {
		s.sets[off+w] |= s.sets[not.set+w]
	}
	return lit{slot, off}
}
