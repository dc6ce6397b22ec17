package bench

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"
)

// comparison collects both sides of a benchmark, run in turn.
type comparison struct {
	scenario
	mine, gits []cost
	children   []childCost
}

// write applies a world and has git write the same.
func (c *comparison) write(b testing.TB, w *world, drafts int) {
	b.Helper()
	t := newTwin(b, w)
	start := time.Now()
	w.apply(b)
	c.mine = append(c.mine, cost{wall: time.Since(start)})
	if n := len(w.drafts(b)); n != drafts {
		b.Fatalf("%d Drafts, want %d", n, drafts)
	}
	c.gits = append(c.gits, t.floor(b, w))
}

// child applies a world in a process of its own, whose processor time and memory
// are known.
func (c *comparison) child(b testing.TB, w *world) {
	b.Helper()
	c.children = append(c.children, runChild(b, w))
}

// same fails unless nothing was written.
func (c *comparison) same(b testing.TB, before map[string]string, w *world) {
	b.Helper()
	if !maps.Equal(before, w.fleet.Refs(b)) {
		b.Fatal("a run with nothing to do wrote something")
	}
}

// report gives the medians as metrics.
func (c *comparison) report(b *testing.B, ratio string) {
	b.ReportMetric(0, "ns/op") // the loop holds both sides: its time says nothing
	var ratios, cpus, each, own, peaks []float64
	for i := range c.mine {
		ratios = append(ratios, float64(c.mine[i].wall)/float64(c.gits[i].wall))
		each = append(each, float64(c.mine[i].wall.Microseconds())/float64(c.variants))
	}
	for i, child := range c.children {
		peaks = append(peaks, float64(child.Peak)/(1<<20))
		own = append(own, float64(child.cpu.Microseconds())/float64(c.variants))
		if !c.http { // git's work on the server's side is its children's only for paths
			cpus = append(cpus, float64(child.cpu)/float64(c.gits[i].cpu))
		}
	}
	b.ReportMetric(median(ratios), ratio)
	b.ReportMetric(median(each), "µs/variant")
	b.ReportMetric(median(own), "cpu-µs/variant")
	if len(cpus) > 0 {
		b.ReportMetric(median(cpus), ratio+"-cpu")
	}
	if m := median(peaks); m > 0 {
		b.ReportMetric(m, "peak-MiB")
	}
}

func median[T cmp.Ordered](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
