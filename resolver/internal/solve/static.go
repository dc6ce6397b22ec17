package solve

import "fmt"

// Static is a problem held in memory, for tests, benchmarks and small uses.
type Static struct {
	sizes  []int
	needs  [][][]Need
	limits map[int32][]Limit
}

// NewStatic returns a problem with so many slots, each with one candidate.
func NewStatic(slots int) *Static {
	s := &Static{sizes: make([]int, slots), needs: make([][][]Need, slots), limits: map[int32][]Limit{}}
	for i := range slots {
		s.Candidates(int32(i), 1)
	}
	return s
}

// Candidates sets how many candidates a slot has.
func (s *Static) Candidates(slot int32, n int) {
	s.sizes[slot] = n
	s.needs[slot] = make([][]Need, n+1)
}

// Need adds a need to a candidate.
func (s *Static) Need(slot, value, on int32, allowed Set) {
	s.needs[slot][value] = append(s.needs[slot][value], Need{on, allowed})
}

// Limit restricts a slot.
func (s *Static) Limit(slot int32, allowed Set) {
	s.limits[slot] = append(s.limits[slot], Limit{allowed})
}

// Slots is the number of slots.
func (s *Static) Slots() int { return len(s.sizes) }

// Size implements [Source].
func (s *Static) Size(slot int32) int { return s.sizes[slot] }

// Limits implements [Source].
func (s *Static) Limits(slot int32) []Limit { return s.limits[slot] }

// Needs implements [Source].
func (s *Static) Needs(slot, value int32) []Need { return s.needs[slot][value] }

// Check implements [Source]; a static problem has nothing to check.
func (s *Static) Check(Assignment) []Clause { return nil }

// Valid says what of the problem an assignment breaks, nil for a solution.
func (s *Static) Valid(a Assignment) error {
	if a.Value(Root) != 1 {
		return fmt.Errorf("root is not there")
	}
	needed := map[int32]bool{Root: true}
	for at := range s.sizes {
		v := a.Value(int32(at))
		if v == 0 {
			continue
		}
		for _, l := range s.limits[int32(at)] {
			if !l.Allowed.Has(int(v)) {
				return fmt.Errorf("slot %d has %d against its limit", at, v)
			}
		}
		for _, n := range s.needs[at][v] {
			if n.Slot == Impossible || !n.Allowed.Has(int(a.Value(n.Slot))) {
				return fmt.Errorf("slot %d = %d needs %v, has %d", at, v, n, a.Value(n.Slot))
			}
			if !n.Allowed.Has(0) {
				needed[n.Slot] = true
			}
		}
	}
	for at := range s.sizes {
		if a.Value(int32(at)) != 0 && !needed[int32(at)] {
			return fmt.Errorf("slot %d = %d is needed by nobody", at, a.Value(int32(at)))
		}
	}
	return nil
}
