package solve

// verdict is the outcome of one search.
type verdict int

const (
	unknown verdict = iota // the work had to end
	sat
	plausible    // as much as was asked for is decided, and nothing speaks against it yet
	unsatAssumed // no solution under the assumptions
	unsatisfiable
)

const (
	breadthConflicts = 8   // conflicts after which a search decides by activity
	restartUnit      = 100 // conflicts of the shortest run between restarts
	keepLearned      = 4000
)

// search looks for a solution under assumptions, the first of which are known to be those of the search before, and
// gives up where the work has to end.
func (s *Solver) search(assume []lit, same int) (Assignment, verdict) {
	if s.unsat {
		return nil, unsatisfiable
	}
	s.stats.Searches++
	s.work.Spend(len(assume) - same)
	s.rewind(assume, same)
	start, run, turn := s.stats.Conflicts, 0, 1
	s.focused = false
	for !s.work.Over() {
		if c := s.propagate(); c >= 0 {
			if !s.learn(c) {
				return nil, unsatisfiable
			}
			spent := s.stats.Conflicts - start
			if run++; spent >= s.breadth && (!s.focused || run >= restartUnit*luby(turn)) {
				run = 0
				if s.focused {
					turn++
				}
				if s.focused || len(assume) == 0 { // else most of what is decided may stay
					s.restart(len(assume))
				}
				if !s.focused {
					s.focus()
				}
			}
			continue
		}
		if n := len(s.levels); n < len(assume) {
			if l := assume[n]; !s.decide(l) {
				return nil, unsatAssumed
			}
			continue
		}
		slot := s.pick()
		if s.depth > 0 && s.qpos >= s.depth && !s.focused {
			return s.model(), plausible
		}
		if slot >= 0 {
			s.choose(slot)
			continue
		}
		model := s.model()
		if !s.refuted(model) {
			return model, sat
		}
	}
	return nil, unknown
}

// rewind goes back to where the assumptions begin to differ from those of the search before.
func (s *Solver) rewind(assume []lit, n int) {
	for n < len(assume) && n < len(s.assumed) && s.sameLit(assume[n], s.assumed[n]) {
		n++
	}
	s.cancel(int32(n))
	s.assumed = append(s.assumed[:n], assume[n:]...)
}

func (s *Solver) sameLit(a, b lit) bool {
	return a.slot == b.slot && (a.set == b.set || s.setOf(a).Equal(s.setOf(b)))
}

// restart goes back to the assumptions and forgets clauses that were of little use.
func (s *Solver) restart(assumptions int) {
	s.stats.Restarts++
	s.cancel(int32(assumptions))
	s.reduce()
}

// decide opens a level and narrows by a literal; it is false, and the level closed, when nothing is left.
func (s *Solver) decide(l lit) bool {
	s.levels = append(s.levels, level{int32(len(s.trail)), int32(len(s.olds)), int32(len(s.queue)), s.qpos})
	if s.narrow(l, -1) {
		return true
	}
	s.cancel(int32(len(s.levels) - 1))
	return false
}

// choose decides a slot: the best candidate that is left, or, once the search restarts, the one that it
// had last. A slot that caused conflicts first has the needs of all its candidates made clauses: that narrows
// more. Once there was any conflict, a candidate with a need that cannot be met falls away at once, without one.
// An easy problem pays for neither.
func (s *Solver) choose(slot int32) {
	st := &s.slots[slot]
	if st.conflict > 0 && !st.all {
		s.expandAll(slot)
		return
	}
	v := s.first(slot)
	if s.focused && st.phase > 0 && s.has(slot, st.phase) {
		v = st.phase
	}
	if s.stats.Conflicts > 0 && !s.use(slot, v).expanded && s.doomed(slot, v) {
		s.expandValue(slot, v)
		return
	}
	s.stats.Decisions++
	s.decide(lit{slot, s.one(slot, v)})
}

// doomed tells whether a candidate has a need that nothing left can meet.
func (s *Solver) doomed(slot, v int32) bool {
	for _, n := range s.needsOf(slot, v) {
		if n.Slot == Impossible {
			return true
		}
		s.ensure(n.Slot)
		any := uint64(0)
		st := &s.slots[n.Slot]
		for w := range min(int(st.nw), len(n.Allowed)) {
			any |= s.dom[int(st.off)+w] & n.Allowed[w]
		}
		if any == 0 {
			return true
		}
	}
	return false
}

// one is the offset of the set that holds one value.
func (s *Solver) one(slot, v int32) int32 {
	st := &s.slots[slot]
	u := s.use(slot, v)
	if u.one < 0 {
		u.one = int32(len(s.sets))
		for w := range st.nw {
			s.sets = append(s.sets, 0)
			if w == v>>6 {
				s.sets[u.one+w] = 1 << (v & 63)
			}
		}
	}
	return u.one
}

// pick is the slot to decide next, or -1 when all that is needed is decided.
func (s *Solver) pick() int32 {
	if !s.focused {
		return s.nextReached()
	}
	if slot := s.mostConstrained(); slot >= 0 {
		return slot
	}
	// All that waits is decided: walking what is reached only completes the queue.
	return s.nextReached()
}

// nextReached walks the reached slots breadth first, and returns the first that is not decided.
func (s *Solver) nextReached() int32 {
	for int(s.qpos) < len(s.queue) {
		slot := s.queue[s.qpos]
		v := s.single(slot)
		if v < 0 {
			return slot
		}
		s.qpos++
		for _, to := range s.addsOf(slot, v) {
			s.reach(to)
		}
	}
	return -1
}

// addsOf are the slots that a candidate makes part of a solution, in the order of its needs.
func (s *Solver) addsOf(slot, v int32) []int32 {
	s.needsOf(slot, v)
	u := s.use(slot, v)
	return s.adds[u.adds : u.adds+u.n]
}

// reach puts a slot at the end of the queue, once.
func (s *Solver) reach(slot int32) {
	s.ensure(slot)
	if s.slots[slot].reached < 0 {
		s.slots[slot].reached = int32(len(s.queue))
		s.queue = append(s.queue, slot)
	}
}

// model reads the assignment of the reached slots.
func (s *Solver) model() Assignment {
	s.work.Spend(len(s.queue))
	m := make(Assignment, len(s.slots))
	for _, slot := range s.queue {
		m[slot] = s.single(slot)
	}
	return m
}

// refuted asks the source to check a finished assignment and adds the clauses that it breaks.
func (s *Solver) refuted(m Assignment) bool {
	clauses := s.src.Check(m)
	for _, c := range clauses {
		ls := make([]lit, 0, len(c.Literals))
		for _, l := range c.Literals {
			s.ensure(l.Slot)
			ls = append(ls, lit{l.Slot, s.putFor(l.Slot, l.Set)})
		}
		s.pending(s.attach(origin{kind: FactCheck, slot: ls[0].slot, index: c.Tag}, ls...))
	}
	return len(clauses) > 0
}

// luby is the i-th number of the sequence 1 1 2 1 1 2 4 1 1 2 …, the lengths of runs between restarts.
func luby(i int) int {
	for k := 1; ; k++ {
		if i == 1<<k-1 {
			return 1 << (k - 1)
		}
		if i < 1<<k-1 {
			return luby(i - (1<<(k-1) - 1))
		}
	}
}
