package solve

// analysis is the working store of conflict analysis. What it keeps by slot is in the slots' states.
type analysis struct {
	words   []uint64 // the sets of the clause in the making, each where its slot's domain is in Solver.dom
	slots   []int32
	ants    []int32
	pending []int32
	marks   []int32 // by level, for counting levels
	stamp   int32
}

// made is the set of a slot's literal in the clause in the making.
func (s *Solver) made(slot int32) Set {
	st := &s.slots[slot]
	return Set(s.scratch.words[st.off : st.off+st.nw])
}

// satisfier is the first trail entry of slot, at or before from, after which no value of set was left in
// its domain; -1 when there never was one. The literal must be false at from.
func (s *Solver) satisfier(slot int32, set Set, from int32) int32 {
	at := from
	for at >= 0 {
		s.work.steps++
		old := s.olds[s.trail[at].old:]
		for w, m := range set {
			if old[w]&m != 0 {
				return at
			}
		}
		at = s.trail[at].prev
	}
	return -1
}

// take adds a literal of a clause to the clause in the making. before is the last entry of its slot that
// may be looked at.
func (s *Solver) take(slot int32, set Set, before int32) {
	a := &s.scratch
	if empty(set) {
		return
	}
	at := s.satisfier(slot, set, before)
	if at < 0 { // false from the start, by the slot's limits
		a.ants = append(a.ants, s.limits[slot]...)
		return
	}
	st := &s.slots[slot]
	if !st.in {
		st.in = true
		copy(s.made(slot), set)
		st.sat = at
		a.slots = append(a.slots, slot)
		return
	}
	made := s.made(slot)
	for w := range set {
		made[w] |= set[w]
	}
	st.sat = max(st.sat, at)
}

func empty(s Set) bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// begin puts a false clause into the store and returns the level at which it became false.
func (s *Solver) begin(c int32) int32 {
	a := &s.scratch
	a.slots, a.ants = a.slots[:0], append(a.ants[:0], c)
	cl := s.clauses[c]
	top := int32(0)
	for _, l := range s.lits[cl.start : cl.start+cl.n] {
		s.take(l.slot, s.setOf(l), s.slots[l.slot].last)
	}
	for _, slot := range a.slots {
		top = max(top, s.trail[s.slots[slot].sat].level)
	}
	return top
}

// setOf is the set of a stored literal.
func (s *Solver) setOf(l lit) Set { return Set(s.sets[l.set : l.set+s.slots[l.slot].nw]) }

// resolve replaces the literal of slot by the rest of the clause that made it false.
func (s *Solver) resolve(slot int32) {
	a := &s.scratch
	at := s.slots[slot].sat
	e := s.trail[at]
	set := s.made(slot)
	s.slots[slot].in = false
	for i, o := range a.slots {
		s.work.steps++
		if o == slot {
			a.slots = append(a.slots[:i], a.slots[i+1:]...)
			break
		}
	}
	a.ants = append(a.ants, e.reason)
	cl := s.clauses[e.reason]
	var rest Set
	for _, l := range s.lits[cl.start : cl.start+cl.n] {
		if l.slot != slot {
			s.take(l.slot, s.setOf(l), s.lastBefore(l.slot, at))
			continue
		}
		rest = set
		for w, m := range s.setOf(l) {
			rest[w] &= m
		}
	}
	if rest != nil && !empty(rest) {
		// rest shares its memory with the literal in the making; take copies it onto itself.
		s.take(slot, rest, e.prev)
	}
}

// lastBefore is the last trail entry of slot before entry at.
func (s *Solver) lastBefore(slot, at int32) int32 {
	i := s.slots[slot].last
	for i >= at {
		s.work.steps++
		i = s.trail[i].prev
	}
	return i
}

// learn analyses a false clause, adds what is learned, goes back to where that narrows, and narrows. It
// is false when the problem has no solution.
func (s *Solver) learn(c int32) bool {
	a := &s.scratch
	s.stats.Conflicts++
	top := s.begin(c)
	if top == 0 {
		s.finish()
		return false
	}
	s.cancel(top)
	uip := s.walk(top)
	back := int32(0)
	ls := make([]lit, 0, len(a.slots))
	ls = append(ls, lit{uip, s.put(s.made(uip))})
	for _, slot := range a.slots {
		if slot == uip {
			continue
		}
		lv := s.trail[s.slots[slot].sat].level
		if lv > back {
			back = lv
		}
		ls = append(ls, lit{slot, s.put(s.made(slot))})
		if lv == back {
			ls[1], ls[len(ls)-1] = ls[len(ls)-1], ls[1]
		}
	}
	s.bump()
	lbd := s.countLevels()
	for _, slot := range a.slots {
		s.slots[slot].in = false
	}
	s.cancel(s.backTo(back, top))
	n := s.store(ls)
	s.clauses[n].from = ^int32(len(s.lemmas))
	s.lemmas = append(s.lemmas, lemma{ants: int32(len(s.ants)), n: int32(len(a.ants)), lbd: lbd})
	s.ants = append(s.ants, a.ants...)
	s.learned = append(s.learned, n)
	s.narrow(ls[0], n)
	if back < int32(len(s.levels)) {
		s.late = append(s.late, late{ls[0], n, back, int32(len(s.trail) - 1)})
	}
	return true
}

// renew narrows again by the learned clauses whose narrowing was undone though it follows at a level that is left.
func (s *Solver) renew(to int32) {
	n := len(s.late)
	for n > 0 && int(s.late[n-1].at) >= len(s.trail) {
		n--
	}
	undone := s.late[n:]
	s.late = s.late[:n]
	for _, l := range undone {
		if l.level > to {
			continue
		}
		at := int32(len(s.trail))
		if !s.narrow(l.lit, l.clause) {
			s.pending(l.clause)
		} else if int(at) < len(s.trail) && l.level < to {
			s.late = append(s.late, late{l.lit, l.clause, l.level, at})
		}
	}
}

// farBack are the levels that a search which betters an answer does not go back over at once: what was decided on them
// would be found again one by one, which costs more than what it learned saves.
const farBack = 100

// backTo is the level from which what was learned at a level narrows: as far back as it can. A search that betters an
// answer goes back one level alone while it goes breadth first, and where it is far: little of what it then has is to
// be found again.
func (s *Solver) backTo(back, top int32) int32 {
	if n := int32(len(s.assumed)); n > 0 && top > n && (!s.focused || top-back > farBack) {
		return top - 1
	}
	return back
}

// walk resolves back along the trail of one level until a single literal of that level is left, and
// returns its slot. Literals that are false at level 0 are resolved away altogether.
func (s *Solver) walk(top int32) int32 {
	for i := int32(len(s.trail)) - 1; i >= 0; i-- {
		s.work.steps++
		slot := s.trail[i].slot
		if st := &s.slots[slot]; !st.in || st.sat != i {
			continue
		}
		if s.trail[i].level == top && s.onlyOne(slot, top) {
			s.dropRoot()
			return slot
		}
		s.resolve(slot)
	}
	return Root
}

// onlyOne tells whether slot's literal is the only one that became false at level top.
func (s *Solver) onlyOne(slot, top int32) bool {
	for _, o := range s.scratch.slots {
		s.work.steps++
		if o != slot && s.trail[s.slots[o].sat].level == top {
			return false
		}
	}
	return true
}

// dropRoot resolves away the literals that are false at level 0, so that learned clauses stay short.
func (s *Solver) dropRoot() {
	a := &s.scratch
	for {
		s.work.Spend(len(a.slots))
		at, slot := int32(-1), int32(-1)
		for _, o := range a.slots {
			if sat := s.slots[o].sat; s.trail[sat].level == 0 && sat > at {
				at, slot = sat, o
			}
		}
		if at < 0 {
			return
		}
		s.resolve(slot)
	}
}

// finish resolves a clause that is false at level 0 down to the empty clause and keeps its antecedents.
func (s *Solver) finish() {
	s.dropRoot()
	for _, slot := range s.scratch.slots {
		s.slots[slot].in = false
	}
	s.unsat = true
	s.final = append([]int32(nil), s.scratch.ants...)
}

// bump raises the activity of the slots of the clause in the making.
func (s *Solver) bump() {
	for _, slot := range s.scratch.slots {
		st := &s.slots[slot]
		st.conflict++
		st.activity += s.inc
		if st.activity > 1e100 {
			for i := range s.slots {
				s.slots[i].activity *= 1e-100
			}
			s.inc *= 1e-100
			s.opening *= 1e-100
		}
		if s.focused && st.open >= 0 {
			s.up(st.open)
		}
	}
	s.inc /= 0.95
}

// countLevels is the number of decision levels that the clause in the making spans.
func (s *Solver) countLevels() int32 {
	a := &s.scratch
	a.stamp++
	n := int32(0)
	for _, slot := range a.slots {
		lv := s.trail[s.slots[slot].sat].level
		for int(lv) >= len(a.marks) {
			a.marks = append(a.marks, 0)
		}
		if a.marks[lv] != a.stamp {
			a.marks[lv] = a.stamp
			n++
		}
	}
	return n
}

// cancel goes back to a decision level and undoes everything after it.
func (s *Solver) cancel(to int32) {
	if int32(len(s.levels)) <= to {
		return
	}
	l := s.levels[to]
	for i := int32(len(s.trail)) - 1; i >= l.trail; i-- {
		s.undo(s.trail[i])
	}
	s.trail, s.olds, s.gone = s.trail[:l.trail], s.olds[:l.olds], s.gone[:l.olds]
	for _, slot := range s.queue[l.queue:] {
		s.slots[slot].reached = -1
	}
	s.queue, s.qpos = s.queue[:l.queue], l.head
	s.levels = s.levels[:to]
	s.qhead = len(s.trail)
	s.expand = s.expand[:0]
	s.scratch.pending = s.scratch.pending[:0]
	s.renew(to)
}

// undo restores the domain of one trail entry.
func (s *Solver) undo(e entry) {
	st := &s.slots[e.slot]
	if v := s.single(e.slot); v > 0 {
		st.phase = v
	}
	copy(s.dom[st.off:st.off+st.nw], s.olds[e.old:])
	st.last, st.left = e.prev, s.choices(st)
	if s.has(e.slot, 0) {
		s.close(e.slot)
	} else {
		s.reopen(e.slot)
	}
}
