package solve

import "math/bits"

// The open list holds the slots that may be waiting for a decision. While the search goes breadth first nobody
// reads it, and it may also hold slots that are decided or not needed any more. While the search is focused it is
// a heap of just those that wait: the one with the most conflicts, lately, for the candidates that it has left is
// at the top.

// opening is a new slot's activity, in parts of that of a conflict: before any conflict, the number of candidates
// that are left decides alone.
const opening = 1e-3

// open puts a slot into the list, or at its place there after its domain became narrower.
func (s *Solver) open(slot int32) {
	st := &s.slots[slot]
	if st.open < 0 {
		st.open = int32(len(s.opened))
		s.opened = append(s.opened, slot)
	}
	if s.focused {
		s.up(st.open)
	}
}

// close takes a slot out of the heap.
func (s *Solver) close(slot int32) {
	at := s.slots[slot].open
	if at < 0 || !s.focused {
		return
	}
	last := int32(len(s.opened) - 1)
	moved := s.opened[last]
	s.opened = s.opened[:last]
	s.slots[slot].open = -1
	if at != last {
		s.settle(at, moved)
		s.up(at)
		s.down(s.slots[moved].open)
	}
}

// reopen puts a slot at its place after its domain became wider.
func (s *Solver) reopen(slot int32) {
	s.open(slot)
	if s.focused {
		s.down(s.slots[slot].open)
	}
}

// focus makes the list a heap.
func (s *Solver) focus() {
	s.focused = true
	kept := s.opened[:0]
	for _, slot := range s.opened {
		s.slots[slot].open = -1
		if s.slots[slot].left > 0 {
			s.slots[slot].open = int32(len(kept))
			kept = append(kept, slot)
		}
	}
	s.opened = kept
	for i := int32(len(kept))/2 - 1; i >= 0; i-- {
		s.down(i)
	}
}

// mostConstrained is the slot at the top of the heap, or -1 when nothing waits.
func (s *Solver) mostConstrained() int32 {
	if len(s.opened) == 0 {
		return -1
	}
	return s.opened[0]
}

// before orders the heap; of equals the older slot comes first.
func (s *Solver) before(a, b int32) bool {
	p, q := &s.slots[a], &s.slots[b]
	x, y := p.activity*float64(q.left), q.activity*float64(p.left)
	return x > y || x == y && a < b
}

// settle puts a slot at a place in the heap.
func (s *Solver) settle(at, slot int32) {
	s.opened[at] = slot
	s.slots[slot].open = at
}

// up moves the slot at a place towards the top, as far as the order wants it.
func (s *Solver) up(at int32) {
	slot := s.opened[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !s.before(slot, s.opened[parent]) {
			break
		}
		s.settle(at, s.opened[parent])
		at = parent
	}
	s.settle(at, slot)
}

// down moves it away from the top.
func (s *Solver) down(at int32) {
	slot, n := s.opened[at], int32(len(s.opened))
	for {
		child := 2*at + 1
		if child >= n {
			break
		}
		if child+1 < n && s.before(s.opened[child+1], s.opened[child]) {
			child++
		}
		if !s.before(s.opened[child], slot) {
			break
		}
		s.settle(at, s.opened[child])
		at = child
	}
	s.settle(at, slot)
}

// choices is the number of candidates that a needed slot has to choose from, 0 when there is no choice.
func (s *Solver) choices(st *state) int32 {
	n := 0
	for w := range st.nw {
		n += bits.OnesCount64(s.dom[st.off+w])
	}
	if n == 1 || s.dom[st.off]&1 != 0 {
		return 0
	}
	return int32(n)
}
