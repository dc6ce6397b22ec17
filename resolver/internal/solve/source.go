package solve

// Root is the slot that every problem starts from; its one candidate, value 1, is given.
const Root int32 = 0

// Impossible as the slot of a [Need] says that nothing can meet it.
const Impossible int32 = -1

// Source is a problem, read piece by piece while the search goes on. Slots are numbered from 0 without
// gaps; a source may create a slot when a need first names it. The answers must not change between calls.
type Source interface {
	// Size is the number of candidates of a slot, at least one. They are numbered from 1, best first.
	Size(slot int32) int
	// Limits are restrictions that hold for a slot whoever needs it.
	Limits(slot int32) []Limit
	// Needs are the needs of one candidate, in the order in which they are to be looked at.
	Needs(slot, value int32) []Need
	// Check looks at a finished assignment for what needs alone cannot say (cycles, unfounded
	// choices) and returns clauses that it breaks, or nil. Each must be false under the assignment.
	Check(a Assignment) []Clause
}

// Need says: if a slot has this candidate, then Slot has a value in Allowed. A need whose Allowed holds
// absence (bit 0) only forbids; any other need makes Slot a part of the solution.
type Need struct {
	Slot    int32
	Allowed Set
}

// Limit restricts a slot to Allowed; absence must be in it.
type Limit struct {
	Allowed Set
}

// Literal is true when Slot has a value in Set.
type Literal struct {
	Slot int32
	Set  Set
}

// Clause is true when one of its literals is. Tag is handed back in the facts of a conflict.
type Clause struct {
	Literals []Literal
	Tag      int32
}

// Assignment is what a search found: the value of each slot, 0 where nothing is there.
type Assignment []int32

// Value is the value of a slot, 0 for one that the search never met or that is no slot.
func (a Assignment) Value(slot int32) int32 {
	if slot >= 0 && int(slot) < len(a) {
		return a[slot]
	}
	return 0
}
