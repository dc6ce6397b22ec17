package solve

import "math/bits"

// The open list holds the slots that may be waiting for a decision, so that picking one looks at those
// alone. Slots that are decided, or not needed any more, leave it when they are looked at.

func (s *Solver) open(slot int32) {
	if st := &s.slots[slot]; st.open < 0 {
		st.open = int32(len(s.opened))
		s.opened = append(s.opened, slot)
	}
}

func (s *Solver) close(i int) {
	last := len(s.opened) - 1
	s.slots[s.opened[i]].open = -1
	if i != last {
		s.opened[i] = s.opened[last]
		s.slots[s.opened[i]].open = int32(i)
	}
	s.opened = s.opened[:last]
}

// mostConstrained is the open slot with the most conflicts, lately, for the candidates that it has left;
// the older one on a tie. It is -1 when nothing waits.
func (s *Solver) mostConstrained() int32 {
	best, score := int32(-1), 0.0
	for i := 0; i < len(s.opened); {
		slot := s.opened[i]
		left := s.left(slot)
		if left == 0 {
			s.close(i)
			continue
		}
		i++
		sc := (s.activity[slot] + s.inc*1e-3) / float64(left)
		if sc > score || sc == score && slot < best {
			best, score = slot, sc
		}
	}
	return best
}

// left is the number of candidates that a needed slot has to choose from, 0 when there is no choice.
func (s *Solver) left(slot int32) int {
	st := &s.slots[slot]
	n := 0
	for w := range st.nw {
		n += bits.OnesCount64(s.dom[st.off+w])
	}
	if n == 1 || s.dom[st.off]&1 != 0 {
		return 0
	}
	return n
}
