package peers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/crillab/gophersat/solver"

	"github.com/variform/variform/resolver/internal/solve"
	"github.com/variform/variform/test/oracletest"
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
func large(n int, sh shape, seed uint64) *solve.Static {
	const versions, deps = 20, 5
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	p := solve.NewStatic(n + 1)
	plant := make([]int, n+1)
	for s := 1; s <= n; s++ {
		p.Candidates(int32(s), versions)
		plant[s] = 1 + rng.IntN(versions)
	}
	interval := func(on int, must bool) solve.Set {
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
		set := solve.NewSet(versions + 1)
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

// TestAgainstSAT compares solvability with a SAT solver on problems of middling size.
func TestAgainstSAT(t *testing.T) {
	solvable, n := 0, oracletest.Universes(t)
	for i := range n {
		p := large(6+i%30, shape(i%3), uint64(i))
		res, ok := solve.New(p).Solve()
		want := solver.New(cnf(p)).Solve() == solver.Sat
		if ok != want {
			t.Fatalf("universe %d: solved %v, the SAT solver says %v", i, ok, want)
		}
		if ok {
			solvable++
			if err := p.Valid(res.Values); err != nil {
				t.Fatalf("universe %d: %v", i, err)
			}
		}
	}
	if solvable == 0 || solvable == n {
		t.Errorf("%d of %d can be solved: the test shows nothing", solvable, n)
	}
}

// BenchmarkSolve compares processor times on one problem, in turn: ours with and without the search for the
// preferred answer, gophersat and gini deciding (the encoding is given apart), and the greedy way of taking one
// package after the other. xours and xfirst are the ratios of ours to gophersat deciding, xgini that of ours to gini.
func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		for _, sh := range []shape{loose, planted, tight} {
			b.Run(fmt.Sprintf("%d/%v", n, sh), func(b *testing.B) {
				p := large(n, sh, 1)
				var ours, first, sat, fast, encode, greedily oracletest.Cost
				var res solve.Result
				answered := 0
				for b.Loop() {
					ours.Measure(func() { res = decides(b, p, sh) })
					first.Measure(func() { decides(b, p, sh, solve.WithAny()) })
					var problem *solver.Problem
					encode.Measure(func() { problem = cnf(p) })
					sat.Measure(func() {
						if ok := solver.New(problem).Solve() == solver.Sat; ok == (sh == tight) {
							b.Fatalf("gophersat: solved: %v", ok)
						}
					})
					g := forGini(p)
					fast.Measure(func() {
						if ok := g.Solve() == 1; ok == (sh == tight) {
							b.Fatalf("gini: solved: %v", ok)
						}
					})
					greedily.Measure(func() {
						if greedy(p) {
							answered++
						}
					})
				}
				if err := p.Valid(res.Values); sh != tight && err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(0, "ns/op") // of all of them together: it says nothing
				ours.Report(b, "ours")
				first.Report(b, "first")
				sat.Report(b, "gophersat")
				fast.Report(b, "gini")
				encode.Report(b, "encode")
				greedily.Report(b, "greedy")
				b.ReportMetric(float64(answered)/float64(b.N), "greedy-answers")
				b.ReportMetric(float64(ours.CPU)/float64(sat.CPU), "xours")
				b.ReportMetric(float64(first.CPU)/float64(sat.CPU), "xfirst")
				b.ReportMetric(float64(ours.CPU)/float64(fast.CPU), "xgini")
				b.ReportMetric(float64(res.Stats.Conflicts), "conflicts")
				b.ReportMetric(float64(res.Stats.Searches), "searches")
			})
		}
	}
}

// decides solves a problem and holds that it can be solved unless it is a tight one.
func decides(b *testing.B, p *solve.Static, sh shape, opts ...solve.Option) solve.Result {
	s := solve.New(p)
	defer s.Release()
	res, ok := s.Solve(opts...)
	if ok == (sh == tight) {
		b.Fatalf("solved: %v", ok)
	}
	return res
}

// BenchmarkPip compares with deps.dev's port of pip's resolver, which backtracks without learning. It gets at
// most pipPatience a problem: pip-ended tells in which part of the rounds it came to an end, pip-right in which
// its answer was the right one.
func BenchmarkPip(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, sh := range []shape{loose, planted, tight} {
			b.Run(fmt.Sprintf("%d/%v", n, sh), func(b *testing.B) {
				p := large(n, sh, 1)
				c := pipCatalog(p)
				var ours, pip oracletest.Cost
				ended, right := 0, 0
				for b.Loop() {
					ours.Measure(func() { decides(b, p, sh) })
					pip.Measure(func() {
						ok, err := pipSolves(c)
						if err == nil {
							ended++
							if ok == (sh != tight) {
								right++
							}
						}
					})
				}
				b.ReportMetric(0, "ns/op")
				ours.Report(b, "ours")
				pip.Report(b, "pip")
				b.ReportMetric(float64(ours.CPU)/float64(pip.CPU), "xpip")
				b.ReportMetric(float64(ended)/float64(b.N), "pip-ended")
				b.ReportMetric(float64(right)/float64(b.N), "pip-right")
			})
		}
	}
}
