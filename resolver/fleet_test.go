package resolver

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// fleetCatalog has 200 packages of 20 versions in levels: an application needs three packages of the first level, each
// of which needs some of the second, and those some of the third, with ranges, wiring and APIs as real ones have.
func fleetCatalog() []Package {
	const apps, versions = 10, 20
	levels := []int{50, 60, 80}
	rng := rand.New(rand.NewPCG(1, 2))
	name := func(level, n int) string {
		if level < 0 {
			return fmt.Sprintf("org/app-%d", n)
		}
		return fmt.Sprintf("org/l%d-%d", level, n)
	}
	var out []Package
	add := func(level, n, needs int) {
		for v := range versions {
			p := Package{
				Package: name(level, n), Version: fmt.Sprintf("1.%d.0", v), Digest: fmt.Sprintf("sha256:%d-%d-%d", level, n, v),
				Source: "oci://" + name(level, n), Parameters: []Field{{Name: "size", Type: "string"}, {Name: "url", Type: "string"}},
				Outputs: []Field{{Name: "url", Type: "string"}, {Name: "secret", Type: "string"}},
			}
			if level >= 0 && n%5 == 0 {
				p.Scope = ScopeCluster
				p.Provides = []Provide{{GVK: &GVK{APIVersion: "example.org/v1", Kind: fmt.Sprintf("L%dN%d", level, n)}}}
			}
			if level == 0 {
				p.Requires = append(p.Requires, Requirement{Alias: "platform", Platform: "kubernetes", Version: fmt.Sprintf(">=1.%d", 20+v/4)})
			}
			for k := range needs {
				on := (n*7 + k*11 + rng.IntN(2)) % levels[level+1]
				r := Requirement{
					Alias: fmt.Sprintf("d%d", k), Package: name(level+1, on), Version: fmt.Sprintf(">=1.%d.0 <1.%d.0", rng.IntN(v+1), 10+v),
					Parameters: map[string]string{"size": "${bundle.parameters.size}"},
				}
				if k > 0 {
					r.Parameters["url"] = "${bundle.dependencies.d0.outputs.url}"
				}
				p.Requires = append(p.Requires, r)
			}
			out = append(out, p)
		}
	}
	for n := range apps {
		add(-1, n, 3)
	}
	for level, count := range levels {
		for n := range count {
			add(level, n, []int{2, 2, 0}[level])
		}
	}
	return out
}

// fleetInput is what a target asks for: applications, in an environment of its own.
func fleetInput(cat *Catalog, target int) Input {
	in := Input{Catalog: cat, Platform: map[string]string{"kubernetes": fmt.Sprintf("1.%d.0", 21+target%5)}}
	for k := range 2 {
		in.Want = append(in.Want, Request{
			Name: fmt.Sprintf("app-%d", k), Namespace: fmt.Sprintf("team-%d", k), Package: fmt.Sprintf("org/app-%d", (target+k*3)%10),
			Parameters: map[string]string{"size": fmt.Sprint(target), "url": "https://example.org"}, Allow: Changes{Upgrade: true},
		})
	}
	if target%3 == 0 {
		in.APIs = []GVK{{APIVersion: "example.org/v1", Kind: "Served"}}
		in.Installations = []Installation{{Name: "shared", Package: fmt.Sprintf("org/l1-%d", 5*(target%12)), Version: fmt.Sprintf("1.%d.0", target%20)}}
	}
	return in
}

func BenchmarkFleet(b *testing.B) {
	ps := fleetCatalog()
	b.Run("catalogue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustCatalog(b, ps)
		}
	})
	for _, targets := range []int{1, 200} {
		b.Run(fmt.Sprint(targets), func(b *testing.B) {
			b.ReportAllocs()
			instances := 0
			for b.Loop() {
				b.StopTimer()
				cat := mustCatalog(b, ps)
				b.StartTimer()
				for n := range targets {
					res, err := Resolve(fleetInput(cat, n))
					if err != nil {
						b.Fatal(err)
					}
					instances = len(res.Instances)
				}
			}
			b.ReportMetric(float64(instances), "instances")
		})
	}
}
