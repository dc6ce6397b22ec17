package solve

import "testing"

// pigeons is a problem that has no solution, and no short proof of that: one slot more than there are values, and
// each slot forbids the others its own.
func pigeons(holes int) *Static {
	p := NewStatic(holes + 2)
	for a := 1; a <= holes+1; a++ {
		p.Candidates(int32(a), holes)
		p.Need(Root, 1, int32(a), fullSet(holes))
	}
	for a := 1; a <= holes+1; a++ {
		for v := 1; v <= holes; v++ {
			for b := 1; b <= holes+1; b++ {
				if a != b {
					others := fullSet(holes)
					others.Remove(v)
					p.Need(int32(a), int32(v), int32(b), others)
				}
			}
		}
	}
	return p
}

func TestLimit(t *testing.T) {
	if res, ok := New(pigeons(4)).Solve(WithLimit(100_000)); ok || res.GaveUp {
		t.Errorf("4 holes: solved %v, gave up %v; it can be proven in a moment", ok, res.GaveUp)
	}
	const limit = 500
	res, ok := New(pigeons(11)).Solve(WithLimit(limit))
	if ok || !res.GaveUp || res.Stats.Conflicts > limit {
		t.Errorf("11 holes: solved %v, gave up %v after %d conflicts, want to give up at %d", ok, res.GaveUp, res.Stats.Conflicts, limit)
	}
}
