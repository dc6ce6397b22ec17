package solve

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
