package resolver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/variform/variform/resolver/internal/solve"
)

// link is a catalogue of so many packages of five versions each, of which version v of package i needs those that on
// names.
func link(packages int, on func(i, v int) []int) []Package {
	var out []Package
	for i := range packages {
		for v := 1; v <= 5; v++ {
			p := Package{Package: fmt.Sprintf("p%d", i), Version: fmt.Sprintf("%d.0.0", v), Scope: ScopeCluster}
			for _, k := range on(i, v) {
				p.Requires = append(p.Requires, Requirement{Alias: fmt.Sprintf("d%d", k), Package: fmt.Sprintf("p%d", k)})
			}
			out = append(out, p)
		}
	}
	return out
}

// holes are packages of as many versions as there are, less one, each of which excludes its own number of all others:
// there is no solution, and no short proof of that.
func holes(n int) []Package {
	root := Package{Package: "r", Version: "1.0.0"}
	var out []Package
	for i := range n + 1 {
		name := fmt.Sprintf("p%d", i)
		root.Requires = append(root.Requires, Requirement{Alias: name, Package: name})
		for v := 1; v <= n; v++ {
			p := Package{Package: name, Version: fmt.Sprintf("%d.0.0", v), Scope: ScopeCluster}
			for k := range n + 1 {
				if k != i {
					p.Requires = append(p.Requires, Requirement{Alias: fmt.Sprintf("d%d", k), Package: fmt.Sprintf("p%d", k), Version: fmt.Sprintf("!=%d.0.0", v)})
				}
			}
			out = append(out, p)
		}
	}
	return append(out, root)
}

// TestHard holds that hard questions end: within a budget tenfold what they take, as counted, where they have an end,
// and at it where they have none that could be waited for.
func TestHard(t *testing.T) {
	chain := func(back func(i, v int) int) []Package { // each needs the next, and one before it
		return link(100, func(i, v int) (out []int) {
			if i < 99 {
				out = append(out, i+1)
			}
			if b := back(i, v); b >= 0 {
				out = append(out, b)
			}
			return out
		})
	}
	only := func(when bool, i int) int {
		if when {
			return i
		}
		return -1
	}
	type test struct {
		catalog []Package
		budget  int
		kind    Kind // of the refusal, "" for an answer
		reason  string
	}
	tests := map[string]test{
		"chain of a ring":              {chain(func(i, _ int) int { return only(i == 99, 0) }), 1_000_000, Cycle, "each of 100 must be there before the other: p0 needs p1 needs p2"},
		"chain of tens":                {chain(func(i, _ int) int { return only(i%10 == 9, i-9) }), 100_000, Cycle, "p8 needs p9 needs p0"},
		"chain of pairs":               {chain(func(i, _ int) int { return i - 1 }), 100_000, Cycle, "p0 needs p1 needs p0"},
		"chain of other lengths":       {chain(func(i, v int) int { return i - v }), 200_000, Cycle, "p4 needs p5 needs p0"},
		"chain where the oldest end":   {chain(func(i, v int) int { return only(v > 1, i-1) }), 5_000_000, "", ""},
		"chain where old ones end":     {chain(func(i, v int) int { return only(v > 1, i-10) }), 5_000_000, "", ""},
		"chain where many can be left": {chain(func(i, v int) int { return only(v > 1, i-v*v) }), 15_000_000, "", ""},
		"holes that can be counted":    {holes(5), 20_000_000, NoSolution, "p2 3.0.0 needs p0 !=3.0.0"},
	}
	for n := 3; n <= 10; n++ {
		tests[fmt.Sprintf("ring of %d", n)] = test{link(n, func(i, _ int) []int { return []int{(i + 1) % n} }), 50_000, Cycle, fmt.Sprintf("needs p%d needs p0", n-1)}
	}
	for n := 8; n <= 12; n++ {
		tests[fmt.Sprintf("holes of %d", n)] = test{holes(n), 1_000_000, SearchLimit, "no answer was found in 100"}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := "p0"
			if tt.catalog[len(tt.catalog)-1].Package == "r" {
				root = "r"
			}
			res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, tt.catalog), Want: []Request{{Package: root}}, Budget: tt.budget})
			if tt.kind == "" {
				if err != nil || !res.Preferred {
					t.Fatalf("%+v, %v", res, err)
				}
				return
			}
			var c *ConflictError
			if !errors.As(err, &c) || c.Kind != tt.kind || !strings.Contains(err.Error(), tt.reason) || len(err.Error()) > 3000 {
				t.Errorf("%d bytes: %v", len(err.Error()), err)
			}
		})
	}
}

// TestRangesAreCounted holds that finding the versions of ranges, which no two requirements have in common, is work that
// a budget bounds, and the same work for the next target of a catalogue.
func TestRangesAreCounted(t *testing.T) {
	const packages, versions, budget = 400, 50, 1_000_000
	random := rand.New(rand.NewPCG(1, 1))
	var ps []Package
	for p := range packages {
		for v := range versions {
			it := Package{Package: fmt.Sprintf("p%d", p), Version: fmt.Sprintf("1.%d.0", v), Scope: ScopeCluster}
			for k := range 4 {
				from := random.IntN(versions)
				it.Requires = append(it.Requires, Requirement{
					Alias: fmt.Sprintf("d%d", k), Package: fmt.Sprintf("p%d", random.IntN(packages)),
					Version: fmt.Sprintf(">=1.%d <1.%d", from, from+1+random.IntN(20)),
				})
			}
			ps = append(ps, it)
		}
	}
	cat := mustCatalog(t, ps)
	var said []string
	for range 2 {
		_, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "p0"}}, Budget: budget})
		var c *ConflictError
		if !errors.As(err, &c) || c.Kind != SearchLimit {
			t.Fatalf("%v", err)
		}
		said = append(said, err.Error())
	}
	if said[0] != said[1] {
		t.Errorf("the second target has another answer:\n%s\n%s", said[0], said[1])
	}
	found := 0
	for _, e := range cat.packages {
		e.admitted.Range(func(any, any) bool { found++; return true })
	}
	if most := budget/(fitSteps*versions) + 4*versions; found == 0 || found > most {
		t.Errorf("the versions of %d ranges were found, at most %d are paid for", found, most)
	}
}

// A ring is one line, and the ranges in it, which could be narrower.
func TestRingReads(t *testing.T) {
	var ps []Package
	for i := range 10 {
		need := Requirement{Alias: "next", Package: fmt.Sprintf("p%d", (i+1)%10)}
		if i == 4 {
			need.Version = ">=2"
		}
		for v := 1; v <= 5; v++ {
			ps = append(ps, Package{Package: fmt.Sprintf("p%d", i), Version: fmt.Sprintf("%d.0.0", v), Scope: ScopeCluster, Requires: []Requirement{need}})
		}
	}
	_, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: []Request{{Package: "p0"}}})
	want := "cannot resolve p0:\n" +
		"  each must be there before the other: p0 needs p1 needs p2 needs p3 needs p4 needs p5 needs p6 needs p7 needs p8 needs p9 needs p0\n" +
		"  every version of p4 needs p5 >=2 (5.0.0, 4.0.0, 3.0.0, 2.0.0)"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestHardIsCancelled holds that a context which ends while it is searched, proven or explained ends a resolution with
// its error, and never with another answer.
func TestHardIsCancelled(t *testing.T) {
	for name, in := range map[string]Input{
		"search":      {Catalog: mustCatalog(t, holes(9)), Budget: 2_000_000, Want: wantR()},
		"explanation": {Catalog: mustCatalog(t, holes(6)), Want: wantR()},
		"preference":  {Catalog: mustCatalog(t, large(1000, 1)), Want: wantR()},
	} {
		t.Run(name, func(t *testing.T) {
			whole := &looks{Context: t.Context(), left: math.MaxInt}
			res, err := Resolve(whole, in)
			want := outcomeOf(t, res, err)
			asked := math.MaxInt - whole.left
			for _, n := range []int{0, 1, asked / 2, asked - 1} {
				if res, err := Resolve(&looks{t.Context(), n}, in); res != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled at look %d of %d: %v, %v", n, asked, res, err)
				}
			}
			if res, err := Resolve(&looks{t.Context(), asked}, in); outcomeOf(t, res, err) != want {
				t.Errorf("not cancelled, but another answer: %v", err)
			}
		})
	}
}

func outcomeOf(t *testing.T, res *Resolution, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	return bytesOf(t, res, err)
}

// looks is a context that ends when it was asked so many times whether it has.
type looks struct {
	context.Context
	left int
}

func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestExplanationCosts holds that an explanation takes no more steps than its search, and is given less minimal where
// that does not suffice.
func TestExplanationCosts(t *testing.T) {
	u := newUniverse(Input{Catalog: mustCatalog(t, holes(7)), Want: wantR()})
	s := solve.New(u)
	res, ok := s.Solve(solve.WithWork(u.work))
	search := u.work.Steps()
	err := u.refuse(s, res)
	var c *ConflictError
	if ok || search < explainSteps || !errors.As(err, &c) || c.Kind != NoSolution || len(c.Reasons) < 8 {
		t.Fatalf("%d steps, %v", search, err)
	}
	if explained := u.work.Steps() - search; explained > search+search/10 {
		t.Errorf("searched in %d steps and explained in %d", search, explained)
	}
}
