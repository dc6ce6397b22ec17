package resolver

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/oracletest"
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

// BenchmarkFleet compares processor times: of 200 targets against one catalogue, and of one target, both with the
// indexing of the catalogue. xone is their ratio, xwarm that of a target among many to one alone, neither with it.
func BenchmarkFleet(b *testing.B) {
	const targets = 200
	ps := fleetCatalog()
	run := func(targets int) (index, resolve time.Duration) {
		runtime.GC()
		at := oracletest.CPU()
		cat := mustCatalog(b, ps)
		index = oracletest.CPU() - at
		for n := range targets {
			if _, err := Resolve(b.Context(), fleetInput(cat, n)); err != nil {
				b.Fatal(err)
			}
		}
		return index, oracletest.CPU() - at - index
	}
	var index, one, indexes, many time.Duration
	for b.Loop() {
		i, r := run(1)
		index, one = index+i, one+r
		i, r = run(targets)
		indexes, many = indexes+i, many+r
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.N) }
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
	b.ReportMetric(per(index), "index-ms")
	b.ReportMetric(per(one), "one-ms")
	b.ReportMetric(per(many)/targets, "target-ms")
	b.ReportMetric(float64(indexes+many)/float64(index+one), "xone")
	b.ReportMetric(float64(many)/targets/float64(one), "xwarm")
}

// TestFleetCosts counts what is allocated, which no load of the machine moves: with the indexing of their catalogue 200
// different targets make at most forty times what one makes. Each after the first is like the next.
func TestFleetCosts(t *testing.T) {
	const targets = 20
	ps := fleetCatalog()
	var m runtime.MemStats
	allocated := func() float64 {
		runtime.ReadMemStats(&m)
		return float64(m.Mallocs)
	}
	begin, one := allocated(), 0.0
	cat := mustCatalog(t, ps)
	for n := range targets {
		if _, err := Resolve(t.Context(), fleetInput(cat, n)); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			one = allocated() - begin
		}
	}
	if many := one + (allocated()-begin-one)*199/(targets-1); many > 40*one {
		t.Errorf("one target makes %.0f objects, 200 make %.1f times as many", one, many/one)
	}
}

// TestFleetAtOnce resolves many targets at the same time against one catalogue: each gets what it gets alone.
func TestFleetAtOnce(t *testing.T) {
	const targets = 24
	ps := fleetCatalog()
	shared := mustCatalog(t, ps)
	got := make([]string, targets)
	var wait sync.WaitGroup
	for n := range targets {
		wait.Go(func() {
			res, err := Resolve(t.Context(), fleetInput(shared, n))
			got[n] = bytesOf(t, res, err)
		})
	}
	wait.Wait()
	different := map[string]bool{}
	for n := range targets {
		different[got[n]] = true
		if n%6 > 0 { // a catalogue of its own for each takes long
			continue
		}
		res, err := Resolve(t.Context(), fleetInput(mustCatalog(t, ps), n))
		if diff := cmp.Diff(bytesOf(t, res, err), got[n]); diff != "" || err != nil {
			t.Errorf("target %d: %v\n%s", n, err, diff)
		}
	}
	if len(different) < targets/2 {
		t.Errorf("there are only %d answers for %d targets: the test shows little", len(different), targets)
	}
}
