package solve

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/oracletest"
)

// random is a small problem: everything in it, forbidding needs, limits and impossible ones included. Some are
// narrow, so that most have no solution, some wide, so that there are many to prefer one of.
func random(rng *rand.Rand) *Static {
	slots := 2 + rng.IntN(6)
	needs, wide := 2+rng.IntN(3), 2+rng.IntN(3)
	p := NewStatic(slots)
	for s := 1; s < slots; s++ {
		p.Candidates(int32(s), 1+rng.IntN(4))
	}
	for s := range slots {
		for v := 1; v <= p.sizes[s]; v++ {
			for range rng.IntN(needs) {
				on := 1 + rng.IntN(slots-1)
				set := NewSet(p.sizes[on] + 1)
				for c := 1; c <= p.sizes[on]; c++ {
					if rng.IntN(wide) > 0 {
						set.Add(c)
					}
				}
				if rng.IntN(6) == 0 {
					set.Add(0)
				}
				if rng.IntN(60) == 0 {
					on = int(Impossible)
				}
				p.Need(int32(s), int32(v), int32(on), set)
			}
		}
		if s > 0 && rng.IntN(8) == 0 {
			set := NewSet(p.sizes[s]+1, 0, 1+rng.IntN(p.sizes[s]))
			p.Limit(int32(s), set)
		}
	}
	return p
}

// choosy is a small problem with many solutions: the root needs several slots in any version, and each of their
// candidates may restrict one other slot.
func choosy(rng *rand.Rand) *Static {
	slots := 4 + rng.IntN(3)
	p := NewStatic(slots)
	for s := 1; s < slots; s++ {
		p.Candidates(int32(s), 3+rng.IntN(2))
	}
	for s := 1; s < slots; s++ {
		if s < 4 {
			p.Need(Root, 1, int32(s), fullSet(p.sizes[s]))
		}
		for v := 1; v <= p.sizes[s]; v++ {
			on := 1 + rng.IntN(slots-1)
			if on == s || rng.IntN(3) == 0 {
				continue
			}
			set := NewSet(p.sizes[on]+1, 1+rng.IntN(p.sizes[on]))
			for c := 1; c <= p.sizes[on]; c++ {
				if rng.IntN(3) == 0 {
					set.Add(c)
				}
			}
			if rng.IntN(4) == 0 {
				set.Add(0)
			}
			p.Need(int32(s), int32(v), int32(on), set)
		}
	}
	return p
}

// layered is a small problem of two layers with many solutions: what the root needs needs the rest, and the root and the
// first layer also forbid some of the second layer's best values, which is what its steps back are counted from.
func layered(rng *rand.Rand) *Static {
	const slots, second = 6, 3
	p := NewStatic(slots)
	some := func(on, in int) Set {
		set := NewSet(p.sizes[on] + 1)
		for c := 1; c <= p.sizes[on]; c++ {
			if rng.IntN(in) > 0 {
				set.Add(c)
			}
		}
		return set
	}
	for s := 1; s < slots; s++ {
		p.Candidates(int32(s), 4)
	}
	for s := range second {
		for v := 1; v <= p.sizes[s]; v++ {
			for on := 1; on < slots; on++ {
				switch {
				case s == 0 && on < second || s > 0 && on >= second && on%2 == s%2:
					p.Need(int32(s), int32(v), int32(on), fullSet(p.sizes[on]))
				case on >= second && rng.IntN(2) == 0:
					set := some(on, 2)
					set.Add(0)
					p.Need(int32(s), int32(v), int32(on), set)
				}
			}
		}
	}
	for s := second; s < slots; s++ {
		if rng.IntN(3) == 0 {
			set := some(s, 3)
			set.Add(0)
			p.Limit(int32(s), set)
		}
		for v := 1; v <= p.sizes[s]; v++ {
			if on := second + rng.IntN(slots-second); on != s {
				p.Need(int32(s), int32(v), int32(on), some(on, 3))
			}
		}
	}
	return p
}

// all lists every solution: every choice of candidates for what is reached, breadth first.
func all(p *Static) []Assignment {
	var out []Assignment
	var rec func(a Assignment, queue []int32, at int)
	rec = func(a Assignment, queue []int32, at int) {
		if at == len(queue) {
			if p.Valid(a) == nil {
				out = append(out, append(Assignment(nil), a...))
			}
			return
		}
		slot := queue[at]
		for v := 1; v <= p.sizes[slot]; v++ {
			a[slot] = int32(v)
			rec(a, reach(p, queue, slot, int32(v)), at+1)
		}
		a[slot] = 0
	}
	a := make(Assignment, len(p.sizes))
	a[Root] = 1
	rec(a, reach(p, []int32{Root}, Root, 1), 1)
	return out
}

func reach(p *Static, queue []int32, slot, v int32) []int32 {
	queue = queue[:len(queue):len(queue)]
	for _, n := range p.needs[slot][v] {
		if n.Slot == Impossible || n.Allowed.Has(0) {
			continue
		}
		known := false
		for _, q := range queue {
			known = known || q == n.Slot
		}
		if !known {
			queue = append(queue, n.Slot)
		}
	}
	return queue
}

// layers splits a solution into its layers, with the values that the layers before allow each slot.
func layers(p *Static, a Assignment) [][]place {
	seen := map[int32]bool{Root: true}
	var done []int32
	layer := []int32{Root}
	var out [][]place
	for len(layer) > 0 {
		done = append(done, layer...)
		var next []int32
		for _, s := range layer {
			for _, n := range p.needs[s][a[s]] {
				if n.Slot != Impossible && !n.Allowed.Has(0) && !seen[n.Slot] {
					seen[n.Slot] = true
					next = append(next, n.Slot)
				}
			}
		}
		var places []place
		for _, s := range next {
			allowed := NewSet(p.sizes[s] + 1)
			for v := 1; v <= p.sizes[s]; v++ {
				ok := true
				for _, l := range p.limits[s] {
					ok = ok && l.Allowed.Has(v)
				}
				for _, d := range done {
					for _, n := range p.needs[d][a[d]] {
						ok = ok && (n.Slot != s || n.Allowed.Has(v))
					}
				}
				if ok {
					allowed.Add(v)
				}
			}
			places = append(places, place{s, allowed})
		}
		if len(places) > 0 {
			out = append(out, places)
		}
		layer = next
	}
	return out
}

// better compares two solutions by the order that Solve documents.
func better(p *Static, a, b Assignment) bool {
	la, lb := layers(p, a), layers(p, b)
	for i := range min(len(la), len(lb)) {
		ka, kb := 0, 0
		for j := range la[i] {
			ka = max(ka, la[i][j].rank(a[la[i][j].slot]))
			kb = max(kb, lb[i][j].rank(b[lb[i][j].slot]))
		}
		if ka != kb {
			return ka < kb
		}
		for j := range la[i] {
			if x, y := a[la[i][j].slot], b[lb[i][j].slot]; x != y {
				return x < y
			}
		}
	}
	return false
}

func TestAgainstBruteForce(t *testing.T) {
	solvable, several, traded := 0, 0, 0
	for i := range oracletest.Universes(t) {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		p := []func(*rand.Rand) *Static{random, choosy, layered}[i%3](rng)
		s := New(p)
		if i%2 == 1 {
			s.breadth = 1 // small problems have too few conflicts for the search to turn to activity by itself
		}
		res, ok := s.Solve()
		every := all(p)
		if ok != (len(every) > 0) {
			t.Fatalf("universe %d: solved %v, but there are %d solutions", i, ok, len(every))
		}
		if !ok {
			checkCore(t, i, p, s)
			s.Release()
			continue
		}
		s.Release()
		solvable++
		if len(every) > 1 {
			several++
		}
		if trades(p, every) {
			traded++
		}
		if err := p.Valid(res.Values); err != nil {
			t.Fatalf("universe %d: %v", i, err)
		}
		if !res.Preferred {
			t.Fatalf("universe %d: not proven best", i)
		}
		for _, o := range every {
			if better(p, o, res.Values) {
				t.Fatalf("universe %d: %v is better than %v", i, o, res.Values)
			}
		}
	}
	if n := oracletest.Universes(t); several < n/10 || traded < n/100 {
		t.Errorf("%d of %d universes have several solutions, in %d the slots in order are not the answer: the test shows little", several, n, traded)
	}
	if solvable == 0 || solvable == oracletest.Universes(t) {
		t.Errorf("%d of %d universes can be solved: the test shows nothing", solvable, oracletest.Universes(t))
	}
}

// trades tells whether to step back as little as possible together gives another answer than the slots in order,
// each with its best value.
func trades(p *Static, every []Assignment) bool {
	for _, o := range every {
		if inOrder(p, o, every) {
			for _, other := range every {
				if better(p, other, o) {
					return true
				}
			}
		}
	}
	return false
}

// inOrder tells whether no other solution has a better value in the first slot that differs.
func inOrder(p *Static, a Assignment, every []Assignment) bool {
	la := layers(p, a)
	for _, o := range every {
	differ:
		for _, layer := range la {
			for _, pl := range layer {
				if d := o.Value(pl.slot) - a.Value(pl.slot); d < 0 {
					return false
				} else if d > 0 {
					break differ
				}
			}
		}
	}
	return true
}

// checkCore tells whether a core is unsolvable, stays so when minimized, and is then minimal.
func checkCore(t *testing.T, i int, p *Static, s *Solver) {
	t.Helper()
	core, w := s.Core(), NewWork(t.Context(), 0)
	if ok, _ := Solvable(p, core, w); ok {
		t.Fatalf("universe %d: its core can be solved: %v", i, core)
	}
	small := Minimize(p, core, w)
	if ok, _ := Solvable(p, small, w); ok {
		t.Fatalf("universe %d: its minimized core can be solved: %v", i, small)
	}
	for k := range small {
		rest := append(append([]Fact(nil), small[:k]...), small[k+1:]...)
		if ok, _ := Solvable(p, rest, w); !ok {
			t.Fatalf("universe %d: fact %d of the minimized core is not needed", i, k)
		}
	}
}

func TestSet(t *testing.T) {
	s := NewSet(130, 0, 5, 64, 129)
	if diff := cmp.Diff([]int{0, 5, 64, 129}, s.Values()); diff != "" {
		t.Error(diff)
	}
	s.Remove(64)
	if s.Has(64) || !s.Has(129) || s.Has(1000) || s.Count() != 3 {
		t.Errorf("wrong members: %v", s.Values())
	}
	if !s.Equal(append(s.Clone(), 0)) || s.Equal(NewSet(130, 0, 5)) {
		t.Error("Equal is wrong")
	}
	s.keep(NewSet(64, 5, 6))
	if diff := cmp.Diff([]int{5}, s.Values()); diff != "" {
		t.Error(diff)
	}
}

func TestManyCandidates(t *testing.T) {
	p := NewStatic(3)
	p.Candidates(1, 300)
	p.Candidates(2, 300)
	only := NewSet(301, 297)
	p.Need(0, 1, 1, fullSet(300))
	for v := int32(1); v <= 300; v++ {
		if v < 250 {
			p.Need(1, v, 2, NewSet(301))
		} else {
			p.Need(1, v, 2, only)
		}
	}
	res, ok := New(p).Solve()
	if !ok || res.Values[1] != 250 || res.Values[2] != 297 {
		t.Errorf("got %v, %v", res.Values, ok)
	}
}

// TestAheadOfAnAnswer holds that a better first layer, against which nothing speaks until the next one is looked at, is
// not taken where there is no answer to it.
func TestAheadOfAnAnswer(t *testing.T) {
	const odd, x, y, w, z, a, last = 1, 2, 3, 4, 5, 6, 8
	p := NewStatic(last + 1)
	for _, s := range []int32{odd, w, z} {
		p.Candidates(s, 2)
	}
	p.Candidates(x, 10)
	for s := int32(a); s <= last; s++ {
		p.Candidates(s, 3)
		p.Need(y, 1, s, fullSet(3))
		p.Need(x, 1, s, NewSet(4, 1, 2)) // three slots that differ, and two values
		for v := 1; v <= 3; v++ {
			for o := int32(a); o <= last; o++ {
				if o != s {
					differ := fullSet(3)
					differ.Remove(v)
					p.Need(s, int32(v), o, differ)
				}
			}
		}
	}
	for s := int32(odd); s <= y; s++ {
		p.Need(Root, 1, s, fullSet(p.Size(s)))
	}
	p.Need(odd, 1, w, NewSet(3, 1)) // a conflict that has nothing to do with x, after which x is decided last
	p.Need(odd, 1, z, NewSet(3, 1))
	p.Need(w, 1, z, NewSet(3, 2))

	s := New(p)
	s.breadth = 1
	res, ok := s.Solve()
	if !ok || !res.Preferred || p.Valid(res.Values) != nil || res.Values[x] != 2 {
		t.Errorf("got %+v, %v, valid: %v", res, ok, p.Valid(res.Values))
	}
}

func fullSet(n int) Set {
	s := NewSet(n + 1)
	for v := 1; v <= n; v++ {
		s.Add(v)
	}
	return s
}

// TestOpenHeap holds that the slot to decide next is the one that a look at all of them finds.
func TestOpenHeap(t *testing.T) {
	const slots, size = 40, 8
	p := NewStatic(slots)
	for i := int32(1); i < slots; i++ {
		p.Candidates(i, size)
	}
	s := New(p)
	for i := range int32(slots) {
		s.ensure(i)
	}
	s.focus()
	rng := rand.New(rand.NewPCG(1, 2))
	most := 0
	for step := range 20000 {
		slot := int32(1 + rng.IntN(slots-1))
		st := &s.slots[slot]
		if rng.IntN(4) == 0 {
			st.activity += float64(rng.IntN(3))
			if st.open >= 0 {
				s.up(st.open)
			}
		} else {
			s.dom[st.off] = 1 + rng.Uint64N(1<<(size+1)-1) // some domain, with or without absence
			st.left = s.choices(st)
			if st.left == 0 {
				s.close(slot)
			} else {
				s.reopen(slot)
			}
		}
		best, n := int32(-1), 0
		for i := range int32(slots) {
			if s.slots[i].left > 0 {
				n++
				if best < 0 || s.before(i, best) {
					best = i
				}
			}
		}
		if got := s.mostConstrained(); got != best || n != len(s.opened) {
			t.Fatalf("step %d: got %d of %d open slots, want %d of %d", step, got, len(s.opened), best, n)
		}
		most = max(most, n)
	}
	if most < slots/2 {
		t.Errorf("at most %d slots were open: the test shows little", most)
	}
}
