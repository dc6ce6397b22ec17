package solve

import "slices"

// Facts is a problem that is made of nothing but facts: the slots of another source with only the needs,
// limits and checked clauses that the facts name.
type Facts struct {
	src    Source
	facts  []Fact
	needs  map[[2]int32][]Need
	owners map[[2]int32][]int // like needs: which fact each is from
	limits map[int32][]Limit
	limit  map[int32][]int
	checks []int
	work   *Work
}

// NewFacts returns the problem that consists of facts about src's slots, and counts what it checks.
func NewFacts(src Source, facts []Fact, w *Work) *Facts {
	w.Spend(len(facts))
	f := &Facts{
		src: src, facts: facts, work: w,
		needs: map[[2]int32][]Need{}, owners: map[[2]int32][]int{},
		limits: map[int32][]Limit{}, limit: map[int32][]int{},
	}
	for i, fact := range facts {
		switch fact.Kind {
		case FactNeed:
			for _, v := range fact.Values.Values() {
				key := [2]int32{fact.Slot, int32(v)}
				f.needs[key] = append(f.needs[key], fact.Need)
				f.owners[key] = append(f.owners[key], i)
			}
		case FactLimit:
			f.limits[fact.Slot] = append(f.limits[fact.Slot], Limit{fact.Allowed})
			f.limit[fact.Slot] = append(f.limit[fact.Slot], i)
		case FactCheck:
			f.checks = append(f.checks, i)
		}
	}
	return f
}

// Size implements [Source].
func (f *Facts) Size(slot int32) int { return f.src.Size(slot) }

// Limits implements [Source].
func (f *Facts) Limits(slot int32) []Limit { return f.limits[slot] }

// Needs implements [Source].
func (f *Facts) Needs(slot, value int32) []Need { return f.needs[[2]int32{slot, value}] }

// Check implements [Source]: it returns the checked clauses among the facts that the assignment breaks.
func (f *Facts) Check(a Assignment) []Clause {
	var out []Clause
	for _, i := range f.checks {
		broken := true
		for _, l := range f.facts[i].extra {
			if l.Set.Has(int(a.Value(l.Slot))) {
				broken = false
			}
		}
		f.work.Spend(len(f.facts[i].extra))
		if broken {
			out = append(out, Clause{f.facts[i].extra, int32(i)})
		}
	}
	return out
}

// used marks the facts that a core of this problem names.
func (f *Facts) used(core []Fact) []bool {
	used := make([]bool, len(f.facts))
	for _, c := range core {
		switch c.Kind {
		case FactCheck:
			used[c.Tag] = true
		case FactLimit:
			used[f.limit[c.Slot][c.Index]] = true
		case FactNeed:
			for _, v := range c.Values.Values() {
				key := [2]int32{c.Slot, int32(v)}
				for i, n := range f.needs[key] {
					if n.Slot == c.Need.Slot && n.Allowed.Equal(c.Need.Allowed) {
						used[f.owners[key][i]] = true
					}
				}
			}
		}
	}
	return used
}

// Solvable tells whether the facts about src's slots have a solution, and which of them show that they have none: nil
// where the work had to end before that was known.
func Solvable(src Source, facts []Fact, w *Work) (bool, []Fact) {
	f := NewFacts(src, facts, w)
	s := New(f)
	defer s.Release()
	if res, ok := s.Solve(WithAny(), WithWork(w)); ok || res.GaveUp {
		return ok, nil
	}
	used := f.used(s.Core())
	out := make([]Fact, 0, len(facts))
	for i, fact := range facts {
		if used[i] {
			out = append(out, fact)
		}
	}
	return false, out
}

// Minimize drops facts from an unsolvable set until none can go without a solution appearing. Facts later
// in the list go first. Where the work has to end before, more are left than are needed, unsolvable all the same.
func Minimize(src Source, facts []Fact, w *Work) []Fact {
	out := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return f.Kind == FactRoot })
	for i := len(out) - 1; i >= 0 && !w.Over(); i-- {
		rest := slices.Delete(slices.Clone(out), i, i+1)
		// No trial takes it all: what is hard to tell about one fact may be easy about the next.
		w.Within((w.limit-w.steps)/16, func() {
			if _, core := Solvable(src, rest, w); core != nil {
				out = core
				i = min(i, len(out))
			}
		})
	}
	return out
}
