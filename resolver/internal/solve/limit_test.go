package solve

import (
	"context"
	"errors"
	"testing"
)

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
	if res, ok := New(pigeons(4)).Solve(WithWork(NewWork(t.Context(), 1_000_000))); ok || res.GaveUp {
		t.Errorf("4 holes: solved %v, gave up %v; it can be proven in a moment", ok, res.GaveUp)
	}
	const limit = 100_000
	w := NewWork(t.Context(), limit)
	if res, ok := New(pigeons(11)).Solve(WithWork(w)); ok || !res.GaveUp || w.Steps() > limit+limit/10 {
		t.Errorf("11 holes: solved %v, gave up %v after %d steps, want to give up at %d", ok, res.GaveUp, w.Steps(), limit)
	}
}

// TestCancel holds that a context which ends in the middle ends a search, and what explains it.
func TestCancel(t *testing.T) {
	w := NewWork(&ending{t.Context(), 3}, 0)
	if res, ok := New(pigeons(11)).Solve(WithWork(w)); ok || !res.GaveUp || !errors.Is(w.Err(), context.Canceled) || w.Steps() > 4*lookSteps {
		t.Errorf("solved %v, gave up %v after %d steps with %v", ok, res.GaveUp, w.Steps(), w.Err())
	}
	s := New(pigeons(4))
	s.Solve()
	if got := Minimize(pigeons(4), s.Core(), w); len(got) == 0 {
		t.Error("what is not minimised is left out")
	}
}

// ending is a context that ends when it is asked so many times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestRelease counts what a solver allocates that has the memory of one before it.
func TestRelease(t *testing.T) {
	p := pigeons(4)
	fresh := testing.AllocsPerRun(50, func() { New(p).Solve() })
	again := testing.AllocsPerRun(50, func() {
		s := New(p)
		s.Solve()
		s.Release()
	})
	if again > fresh*2/3 {
		t.Errorf("%v objects, %v without the memory of one before", again, fresh)
	}
}

// What betters an answer costs what it looks at, not all that was fixed before: twice the slots, each with a better
// candidate that cannot be, are twice the work.
func TestPreferenceCosts(t *testing.T) {
	steps := func(n int) int64 {
		p := NewStatic(n + 1)
		for s := int32(1); s <= int32(n); s++ {
			p.Candidates(s, 3)
			p.Need(Root, 1, s, NewSet(4, 1, 2, 3))
			p.Need(s, 1, Impossible, nil)
			p.Need(s, 2, s%int32(n)+1, NewSet(4, 1)) // no other candidate is so bad
		}
		w := NewWork(context.Background(), 0)
		res, ok := New(p).Solve(WithWork(w))
		if !ok || !res.Preferred || res.Stats.Searches < n {
			t.Fatalf("%v %+v", ok, res)
		}
		return w.Steps()
	}
	if one, two := steps(200), steps(400); two > 5*one/2 {
		t.Errorf("200 slots take %d steps, 400 take %d", one, two)
	}
}
