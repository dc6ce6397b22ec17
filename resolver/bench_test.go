package resolver

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// large is a catalogue of n packages, one instance each, of 20 versions with 5 dependencies.
func large(n int, seed uint64) []Package {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	out := []Package{{Package: "r", Version: "1.0.0"}}
	for i := range 10 {
		out[0].Requires = append(out[0].Requires, Requirement{Alias: fmt.Sprint(i), Package: fmt.Sprintf("p%d", rng.IntN(n)), Version: ">=1.0.0"})
	}
	for p := range n {
		for v := range 20 {
			k := Package{Package: fmt.Sprintf("p%d", p), Version: fmt.Sprintf("1.%d.0", v), Scope: ScopeCluster}
			for i := range 5 {
				if on := rng.IntN(n); on > p { // no cycles
					k.Requires = append(k.Requires, Requirement{Alias: fmt.Sprint(i), Package: fmt.Sprintf("p%d", on), Version: fmt.Sprintf(">=1.%d.0", rng.IntN(10))})
				}
			}
			out = append(out, k)
		}
	}
	return out
}

// greedy takes the newest version that the first requirement on a package admits, one package after the other,
// and never goes back, as the systems whose models we unite do. It is false when that fails.
func greedy(c *Catalog) bool {
	chosen := map[string]*version{"r": c.find("r", "1.0.0")}
	queue := []*version{chosen["r"]}
	rs := &ranges{}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, r := range v.Requires {
			rc, err := rs.get(r.Version)
			if err != nil {
				return false
			}
			if have := chosen[r.Package]; have != nil {
				if !rc.Check(have.sem) {
					return false
				}
				continue
			}
			for _, o := range c.versions(r.Package) {
				if rc.Check(o.sem) {
					chosen[r.Package] = o
					queue = append(queue, o)
					break
				}
			}
		}
	}
	return true
}

func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		ps := large(n, 1)
		c := mustCatalog(b, ps)
		b.Run(fmt.Sprintf("%d/index", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustCatalog(b, ps)
			}
		})
		b.Run(fmt.Sprintf("%d/loose", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := Resolve(b.Context(), Input{Catalog: c, Want: wantR()})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(res.Instances)), "instances")
			}
		})
		b.Run(fmt.Sprintf("%d/greedy", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !greedy(c) {
					b.Fatal("greedy failed")
				}
			}
		})
	}
}
