package solve

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/crillab/gophersat/solver"
)

// shape is how hard a large problem is.
type shape int

const (
	loose   shape = iota // the newest of everything fits
	planted              // one solution is planted among narrow ranges: it has to be searched for
	tight                // narrow ranges, no solution
)

func (s shape) String() string { return [...]string{"loose", "planted", "tight"}[s] }

// width is how many of the 20 versions a narrow range admits.
func (s shape) width(rng *rand.Rand) int {
	if s == tight {
		return 1 + rng.IntN(5)
	}
	return 11 + rng.IntN(5)
}

// large is a problem of n packages of 20 versions with 5 dependencies each, value 1 the newest.
func large(n int, sh shape, seed uint64) *Static {
	const versions, deps = 20, 5
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	p := NewStatic(n + 1)
	plant := make([]int, n+1)
	for s := 1; s <= n; s++ {
		p.Candidates(int32(s), versions)
		plant[s] = 1 + rng.IntN(versions)
	}
	interval := func(on int, must bool) Set {
		lo := 1
		var hi int
		switch sh {
		case loose:
			hi = versions/2 + rng.IntN(versions/2)
		default:
			width := sh.width(rng)
			lo = 1 + rng.IntN(versions-width+1)
			hi = lo + width - 1
			if must && plant[on] < lo {
				lo = plant[on]
			}
			if must && plant[on] > hi {
				hi = plant[on]
			}
		}
		set := NewSet(versions + 1)
		for v := lo; v <= hi; v++ {
			set.Add(v)
		}
		return set
	}
	for range min(10, n) {
		on := 1 + rng.IntN(n)
		p.Need(0, 1, int32(on), interval(on, sh == planted))
	}
	for s := 1; s <= n; s++ {
		for v := 1; v <= versions; v++ {
			for range deps {
				on := 1 + rng.IntN(n)
				if on == s {
					continue
				}
				p.Need(int32(s), int32(v), int32(on), interval(on, sh == planted && v == plant[s]))
			}
		}
	}
	return p
}

// cnf is a static problem for a SAT solver: a variable for each candidate.
func cnf(p *Static) *solver.Problem {
	base := make([]int, len(p.sizes)+1)
	for s, n := range p.sizes {
		base[s+1] = base[s] + n
	}
	at := func(s, v int) int { return base[s] + v }
	clauses := [][]int{{at(0, 1)}}
	for s, n := range p.sizes {
		for a := 1; a <= n; a++ {
			for b := a + 1; b <= n; b++ {
				clauses = append(clauses, []int{-at(s, a), -at(s, b)})
			}
			for _, l := range p.limits[int32(s)] {
				if !l.Allowed.Has(a) {
					clauses = append(clauses, []int{-at(s, a)})
				}
			}
			for _, need := range p.needs[s][a] {
				clauses = append(clauses, needClauses(p, at, s, a, need)...)
			}
		}
	}
	return solver.ParseSlice(clauses)
}

func needClauses(p *Static, at func(s, v int) int, s, v int, n Need) [][]int {
	if n.Slot == Impossible {
		return [][]int{{-at(s, v)}}
	}
	if !n.Allowed.Has(0) {
		c := []int{-at(s, v)}
		for _, o := range n.Allowed.Values() {
			c = append(c, at(int(n.Slot), o))
		}
		return [][]int{c}
	}
	var out [][]int
	for o := 1; o <= p.sizes[n.Slot]; o++ {
		if !n.Allowed.Has(o) {
			out = append(out, []int{-at(s, v), -at(int(n.Slot), o)})
		}
	}
	return out
}

// TestAgainstSAT compares solvability with a SAT solver on problems of middling size.
func TestAgainstSAT(t *testing.T) {
	solvable, n := 0, universes(t)/10
	for i := range n {
		p := large(6+i%30, shape(i%3), uint64(i))
		res, ok := New(p).Solve()
		want := solver.New(cnf(p)).Solve() == solver.Sat
		if ok != want {
			t.Fatalf("universe %d: solved %v, the SAT solver says %v", i, ok, want)
		}
		if ok {
			solvable++
			if err := valid(p, res.Values); err != nil {
				t.Fatalf("universe %d: %v", i, err)
			}
		}
	}
	if solvable == 0 || solvable == n {
		t.Errorf("%d of %d can be solved: the test shows nothing", solvable, n)
	}
}

// cpu is the processor time that the process has used: the machine may be shared, ratios of it are not.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSolve reports processor time per problem, ours with and without the search for the preferred
// solution, and of a SAT solver that only decides (its encoding is not counted).
func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		for _, sh := range []shape{loose, planted, tight} {
			p := large(n, sh, 1)
			run := func(name string, f func(b *testing.B) (bool, time.Duration)) {
				b.Run(fmt.Sprintf("%d/%v/%s", n, sh, name), func(b *testing.B) {
					b.ReportAllocs()
					var total time.Duration
					for b.Loop() {
						ok, d := f(b)
						if total += d; ok == (sh == tight) {
							b.Fatalf("solved: %v", ok)
						}
					}
					b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
			ours := func(budget int) func(b *testing.B) (bool, time.Duration) {
				return func(b *testing.B) (bool, time.Duration) {
					t := cpu()
					s := New(p)
					_, ok := s.Solve(WithBudget(budget))
					b.ReportMetric(float64(s.Stats().Conflicts), "conflicts")
					b.ReportMetric(float64(s.Stats().Searches), "searches")
					return ok, cpu() - t
				}
			}
			run("ours", ours(10000))
			run("first", ours(-1))
			run("gophersat", func(*testing.B) (bool, time.Duration) {
				problem := cnf(p)
				t := cpu()
				ok := solver.New(problem).Solve() == solver.Sat
				return ok, cpu() - t
			})
		}
	}
}
