package resolver

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/variform/variform/test/oracletest"
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

// offering is a package that needs some APIs, each of which 40 packages of some versions provide.
func offering(apis, versions int) []Package {
	const providers = 40
	app := Package{Package: "app", Version: "1.0.0"}
	var ps []Package
	for a := range apis {
		g := gvk(fmt.Sprintf("K%d", a))
		app.Requires = append(app.Requires, Requirement{Alias: fmt.Sprintf("a%d", a), GVK: g})
		for p := range providers {
			for v := range versions {
				ps = append(ps, Package{Package: fmt.Sprintf("p%d-%d", a, p), Version: fmt.Sprintf("1.%d.0", v), Provides: []Provide{{GVK: g}}})
			}
		}
	}
	return append(ps, app)
}

// ofOffering asks for the package of offering; of more than one provider, an answer needs the choice of one.
func ofOffering(apis int, answer bool) []Request {
	w := Request{Package: "app"}
	for a := range apis {
		if answer {
			w.Overrides = append(w.Overrides, Override{Alias: fmt.Sprintf("a%d", a), Reference: fmt.Sprintf("p%d-0", a)})
		}
	}
	return []Request{w}
}

// TestProvidersCost counts: who provides an API is not looked for in every version of every package.
func TestProvidersCost(t *testing.T) {
	const apis = 10
	for _, answer := range []bool{true, false} {
		allocates := func(versions int) (n float64) {
			in := Input{Catalog: mustCatalog(t, offering(apis, versions)), Want: ofOffering(apis, answer)}
			return testing.AllocsPerRun(1, func() {
				if res, err := Resolve(t.Context(), in); (err == nil) != answer || answer && len(res.Instances) != apis+1 {
					t.Fatal(res, err)
				}
			})
		}
		few, many := allocates(5), allocates(50)
		t.Logf("answer %v: %.0f objects, %.0f", answer, few, many)
		if many > 2*few {
			t.Errorf("answer %v: with 5 versions of each it makes %.0f objects, with 50 %.0f", answer, few, many)
		}
	}
}

// BenchmarkProviders resolves a package that needs 100 APIs, each of which 40 packages of 50 versions provide. xindex is
// its processor time over that of indexing the catalogue, which reads each version once.
func BenchmarkProviders(b *testing.B) {
	const apis = 100
	ps := offering(apis, 50)
	for _, answer := range []bool{true, false} {
		b.Run(fmt.Sprintf("answer=%v", answer), func(b *testing.B) {
			var index, resolve oracletest.Cost
			for b.Loop() {
				var cat *Catalog
				index.Measure(func() { cat = mustCatalog(b, ps) })
				resolve.Measure(func() {
					res, err := Resolve(b.Context(), Input{Catalog: cat, Want: ofOffering(apis, answer)})
					if (err == nil) != answer || answer && len(res.Instances) != apis+1 {
						b.Fatal(res, err)
					}
				})
			}
			b.ReportMetric(0, "ns/op")
			index.Report(b, "index")
			resolve.Report(b, "ours")
			b.ReportMetric(float64(resolve.CPU)/float64(index.CPU), "xindex")
		})
	}
}

// BenchmarkHard resolves what has no answer, or none that could be waited for. xeasy is its processor time over that of an
// easy problem of 1,000 packages, which has one.
func BenchmarkHard(b *testing.B) {
	easy := mustCatalog(b, large(1000, 1))
	for name, ps := range map[string][]Package{
		"ring":  link(10, func(i, _ int) []int { return []int{(i + 1) % 10} }),
		"chain": link(100, func(i, v int) []int { return []int{min(i+1, 99), max(0, i-v)} }),
		"holes": holes(12),
	} {
		b.Run(name, func(b *testing.B) {
			cat := mustCatalog(b, append(ps, Package{Package: "r", Version: "1.0.0", Requires: []Requirement{{Alias: "p0", Package: "p0"}}}))
			var hard, floor oracletest.Cost
			for b.Loop() {
				hard.Measure(func() {
					if res, err := Resolve(b.Context(), Input{Catalog: cat, Want: wantR()}); err == nil {
						b.Fatal(res)
					}
				})
				floor.Measure(func() {
					if _, err := Resolve(b.Context(), Input{Catalog: easy, Want: wantR()}); err != nil {
						b.Fatal(err)
					}
				})
			}
			b.ReportMetric(0, "ns/op")
			hard.Report(b, "ours")
			b.ReportMetric(float64(hard.CPU)/float64(floor.CPU), "xeasy")
		})
	}
}
