package peers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"deps.dev/util/resolve"
	"deps.dev/util/resolve/dep"
	"deps.dev/util/resolve/pypi"
	"github.com/crillab/gophersat/solver"
	"github.com/go-air/gini"
	"github.com/go-air/gini/z"

	"github.com/variform/variform/resolver/internal/solve"
)

// cnf is a static problem for gophersat.
func cnf(p *solve.Static) *solver.Problem { return solver.ParseSlice(clauses(p)) }

// forGini is a static problem for gini.
func forGini(p *solve.Static) *gini.Gini {
	g := gini.New()
	for _, c := range clauses(p) {
		for _, l := range c {
			g.Add(z.Dimacs2Lit(l))
		}
		g.Add(z.LitNull)
	}
	return g
}

// clauses are a static problem for a SAT solver: a variable for each candidate.
func clauses(p *solve.Static) [][]int {
	base := make([]int, p.Slots()+1)
	for s := range p.Slots() {
		n := p.Size(int32(s))
		base[s+1] = base[s] + n
	}
	at := func(s, v int) int { return base[s] + v }
	out := [][]int{{at(0, 1)}}
	for s := range p.Slots() {
		n := p.Size(int32(s))
		for a := 1; a <= n; a++ {
			for b := a + 1; b <= n; b++ {
				out = append(out, []int{-at(s, a), -at(s, b)})
			}
			for _, l := range p.Limits(int32(s)) {
				if !l.Allowed.Has(a) {
					out = append(out, []int{-at(s, a)})
				}
			}
			for _, need := range p.Needs(int32(s), int32(a)) {
				out = append(out, needClauses(p, at, s, a, need)...)
			}
		}
	}
	return out
}

func needClauses(p *solve.Static, at func(s, v int) int, s, v int, n solve.Need) [][]int {
	if n.Slot == solve.Impossible {
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
	for o := 1; o <= p.Size(n.Slot); o++ {
		if !n.Allowed.Has(o) {
			out = append(out, []int{-at(s, v), -at(int(n.Slot), o)})
		}
	}
	return out
}

// greedy takes the best candidate that the first need of a slot allows, and never goes back. It is false when a
// later need does not accept what was taken.
func greedy(p *solve.Static) bool {
	chosen := make(solve.Assignment, p.Slots())
	chosen[solve.Root] = 1
	for queue := []int32{solve.Root}; len(queue) > 0; queue = queue[1:] {
		for _, n := range p.Needs(queue[0], chosen[queue[0]]) {
			if n.Slot == solve.Impossible {
				return false
			}
			if chosen[n.Slot] == 0 && !n.Allowed.Has(0) {
				for v := 1; v <= p.Size(n.Slot) && chosen[n.Slot] == 0; v++ {
					if n.Allowed.Has(v) {
						chosen[n.Slot] = int32(v)
						queue = append(queue, n.Slot)
					}
				}
			}
			if !n.Allowed.Has(int(chosen[n.Slot])) {
				return false
			}
		}
	}
	return true
}

// pipPatience is how long pip's resolver may take for one problem.
const pipPatience = 20 * time.Second

func pipKey(slot int32, kind resolve.VersionType, version string) resolve.VersionKey {
	name := fmt.Sprintf("p%d", slot)
	return resolve.VersionKey{PackageKey: resolve.PackageKey{System: resolve.PyPI, Name: name}, VersionType: kind, Version: version}
}

// pipCatalog is a static problem as packages of Python: value v of a slot of n is version 1.(n-v). Needs must be
// for consecutive values.
func pipCatalog(p *solve.Static) *resolve.LocalClient {
	c := resolve.NewLocalClient()
	for s := range p.Slots() {
		n := p.Size(int32(s))
		for v := 1; v <= n; v++ {
			var requires []resolve.RequirementVersion
			for _, need := range p.Needs(int32(s), int32(v)) {
				size, values := p.Size(need.Slot), need.Allowed.Values()
				bounds := fmt.Sprintf(">=1.%d,<=1.%d", size-values[len(values)-1], size-values[0])
				requires = append(requires, resolve.RequirementVersion{VersionKey: pipKey(need.Slot, resolve.Requirement, bounds), Type: dep.Type{}})
			}
			c.AddVersion(resolve.Version{VersionKey: pipKey(int32(s), resolve.Concrete, fmt.Sprintf("1.%d", n-v))}, requires)
		}
	}
	return c
}

// pipSolves tells whether pip's resolver finds an answer. The error is that it did not end in time.
func pipSolves(c *resolve.LocalClient) (bool, error) {
	ctx, stop := context.WithTimeout(context.Background(), pipPatience)
	defer stop()
	g, err := pypi.NewResolver(c).Resolve(ctx, pipKey(solve.Root, resolve.Concrete, "1.0"))
	if err != nil {
		return false, err
	}
	return g.Error == "", nil
}

// TestPeers holds that the peers of the benchmarks are asked the right questions.
func TestPeers(t *testing.T) {
	// The root needs the first two candidates of slot 1 and the last two of slot 2;
	// the needs of those two of slot 1 differ.
	with := func(first, second []int) *solve.Static {
		p := solve.NewStatic(3)
		p.Candidates(1, 3)
		p.Candidates(2, 3)
		p.Need(0, 1, 1, solve.NewSet(4, 1, 2))
		for value, allowed := range [][]int{first, second} {
			if allowed != nil {
				p.Need(1, int32(value+1), 2, solve.NewSet(4, allowed...))
			}
		}
		p.Need(0, 1, 2, solve.NewSet(4, 2, 3))
		return p
	}
	tests := map[string]struct {
		problem          *solve.Static
		solvable, greedy bool
	}{
		"has to go back": {problem: with([]int{3}, nil), solvable: true},
		"no answer":      {problem: with([]int{1}, []int{1})},
		"newest fits":    {problem: with(nil, []int{2}), solvable: true, greedy: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, ok := solve.New(tt.problem).Solve(); ok != tt.solvable {
				t.Errorf("ours: %v", ok)
			}
			if ok := solver.New(cnf(tt.problem)).Solve() == solver.Sat; ok != tt.solvable {
				t.Errorf("gophersat: %v", ok)
			}
			if ok := forGini(tt.problem).Solve() == 1; ok != tt.solvable {
				t.Errorf("gini: %v", ok)
			}
			if ok, err := pipSolves(pipCatalog(tt.problem)); err != nil || ok != tt.solvable {
				t.Errorf("pip: %v, %v", ok, err)
			}
			if ok := greedy(tt.problem); ok != tt.greedy {
				t.Errorf("greedy: %v", ok)
			}
		})
	}
}

// TestPreferenceOfPlanted counts: the proof that an answer is the preferred one, of which only the later layers find
// whole ones, takes at most eight times the steps to the first answer, in the mean of four seeds.
func TestPreferenceOfPlanted(t *testing.T) {
	var first, best int64
	for seed := range uint64(4) {
		p := large(1000, planted, 1+seed)
		steps := func(opts ...solve.Option) int64 {
			w := solve.NewWork(t.Context(), 0)
			if _, ok := solve.New(p).Solve(append(opts, solve.WithWork(w))...); !ok {
				t.Fatal("no answer")
			}
			return w.Steps()
		}
		first += steps(solve.WithAny())
		best += steps()
	}
	if best > 8*first {
		t.Errorf("the first answers take %d steps, the preferred ones %d", first, best)
	}
}
