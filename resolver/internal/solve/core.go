package solve

import "slices"

// FactKind says what a fact is about.
type FactKind int8

const (
	// FactRoot is that the root is given.
	FactRoot FactKind = iota
	// FactLimit is a restriction of a slot.
	FactLimit
	// FactNeed is a need of some candidates of a slot.
	FactNeed
	// FactCheck is a clause that the source's Check returned.
	FactCheck
)

// Fact is one clause of the problem as the source gave it.
type Fact struct {
	Kind    FactKind
	Slot    int32
	Values  Set   // FactNeed: the candidates that have the need
	Index   int   // FactNeed: its index among the needs of the first of them; FactLimit: among the limits
	Need    Need  // FactNeed
	Allowed Set   // FactLimit
	Tag     int32 // FactCheck

	extra []Literal // FactCheck: the clause
}

// Core returns facts that together have no solution, in the order in which the search met them, after
// Solve said that there is none. It need not be smallest: see [Minimize].
func (s *Solver) Core() []Fact {
	seen := map[int32]bool{}
	stack := slices.Clone(s.final)
	var out []int32
	for len(stack) > 0 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[c] {
			continue
		}
		seen[c] = true
		from := s.clauses[c].from
		if from >= 0 {
			out = append(out, c)
			continue
		}
		l := s.lemmas[^from]
		stack = append(stack, s.ants[l.ants:l.ants+l.n]...)
	}
	slices.Sort(out)
	facts := make([]Fact, 0, len(out))
	for _, c := range out {
		facts = append(facts, s.fact(c))
	}
	return facts
}

// fact is what an original clause says.
func (s *Solver) fact(c int32) Fact {
	o := s.origin[s.clauses[c].from]
	f := Fact{Kind: o.kind, Slot: o.slot, Index: int(o.index)}
	switch o.kind {
	case FactNeed:
		if o.value >= 0 {
			f.Values = NewSet(int(s.slots[o.slot].size)+1, int(o.value))
		} else {
			f.Values = s.setOf(lit{o.slot, ^o.value}).Clone()
		}
		f.Need = s.needsOf(o.slot, int32(f.Values.Values()[0]))[o.index]
	case FactLimit:
		f.Allowed = s.src.Limits(o.slot)[o.index].Allowed
	case FactCheck:
		f.Index, f.Tag, f.extra = 0, o.index, s.literals(c)
	}
	return f
}

// literals copies the literals of a clause.
func (s *Solver) literals(c int32) []Literal {
	cl := s.clauses[c]
	var out []Literal
	for _, l := range s.lits[cl.start : cl.start+cl.n] {
		out = append(out, Literal{l.slot, s.setOf(l).Clone()})
	}
	return out
}
