package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// BenchmarkApply writes the first Drafts of a fleet with an empty cache, and then
// the same objects with git fast-import and one git push.
//
//	×git          time of the whole command over that of git
//	×git-cpu      user and system time of its process over that of git's (paths only)
//	µs/variant    time of the whole command for each variant
//	cpu-µs/variant  the same in user and system time, git's programs that it runs included
//	peak-MiB      the largest resident memory of its process
func BenchmarkApply(b *testing.B) {
	for _, s := range []scenario{
		{variants: 500},
		{variants: 2000},
		{variants: 500, http: true},
		{variants: 2000, http: true},
		{variants: 500, render: true},
	} {
		b.Run(s.String(), func(b *testing.B) {
			c := &comparison{scenario: s}
			for b.Loop() {
				b.StopTimer()
				w := newWorld(b, s)
				c.write(b, w, s.variants)
				c.child(b, newWorld(b, s))
				b.StartTimer()
			}
			c.report(b, "×git")
		})
	}
}

// BenchmarkUpdate moves a fleet to a revision of the package that changes eight
// of its files; metrics as for BenchmarkApply.
func BenchmarkUpdate(b *testing.B) {
	for _, s := range []scenario{{variants: 500}, {variants: 500, http: true}, {variants: 500, render: true}} {
		b.Run(s.String(), func(b *testing.B) {
			c := &comparison{scenario: s}
			for b.Loop() {
				b.StopTimer()
				w, child := newWorld(b, s), newWorld(b, s)
				for _, w := range []*world{w, child} {
					w.apply(b)
					w.publish(b, s)
				}
				c.write(b, w, s.variants)
				c.child(b, child)
				b.StartTimer()
			}
			c.report(b, "×git")
		})
	}
}

// BenchmarkApprove publishes all Drafts of a fleet, and then the same with one git
// push of what that moved, whose objects are there; metrics as for BenchmarkApply.
func BenchmarkApprove(b *testing.B) {
	for _, n := range []int{500, 2000, 10000} {
		for _, s := range []scenario{{variants: n}, {variants: n, http: true}} {
			b.Run(s.String(), func(b *testing.B) {
				c := &comparison{scenario: s}
				for b.Loop() {
					b.StopTimer()
					w := newWorld(b, s)
					w.apply(b)
					t := newTwin(b, w)
					start := time.Now()
					child := runSelf(b, w.args("approve", "--all")...)
					c.mine, c.children = append(c.mine, cost{wall: time.Since(start)}), append(c.children, child)
					c.gits = append(c.gits, t.mirror(b, w))
					if tags := gittest.Run(b, w.fleet.Dir, nil, "tag"); strings.Count(tags, "\n") < n-1 {
						b.Fatal("not all were Published: the comparison is void")
					}
					b.StartTimer()
				}
				c.report(b, "×push")
			})
		}
	}
}

// BenchmarkNothingToDo applies a fleet that is up to date, with the cache folder of
// the run before and all else new, against git ls-remote of the fleet's
// repository. Metrics as for BenchmarkApply, and
//
//	cold×git  elapsed time with an empty cache folder over that of git ls-remote and
//	          reading the commits at its heads: by git fetch of commits without
//	          trees from a server, by git cat-file from a path
func BenchmarkNothingToDo(b *testing.B) {
	for _, n := range []int{500, 2000, 10000} {
		for _, s := range []scenario{{variants: n}, {variants: n, http: true}} {
			b.Run(s.String(), func(b *testing.B) {
				w := newWorld(b, s)
				w.apply(b)
				w.apply(b)
				c := &comparison{scenario: s}
				before := w.fleet.Refs(b)
				var cold []float64
				for b.Loop() {
					b.StopTimer()
					start := time.Now()
					w.apply(b)
					c.mine = append(c.mine, cost{wall: time.Since(start)})
					c.gits = append(c.gits, git(b, "", nil, "ls-remote", w.fleetURL))
					c.child(b, w)
					warm := w.cache
					w.cache, start = b.TempDir(), time.Now()
					w.apply(b)
					cold = append(cold, float64(time.Since(start))/float64(readHeads(b, w).wall))
					w.cache = warm
					b.StartTimer()
				}
				c.same(b, before, w)
				c.report(b, "×git")
				b.ReportMetric(median(cold), "cold×git")
			})
		}
	}
}
