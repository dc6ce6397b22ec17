package bench

import "testing"

// BenchmarkOrigins makes all packages of a fleet with the origins of their values, in
// a process of its own, against a plan, which makes the same packages without.
//
//	ms              elapsed time, the process's start included
//	×plan           elapsed time over that of the plan
//	×plan-cpu       user and system time over that of the plan
//	cpu-µs/variant  user and system time for each variant
//	peak-MiB        the largest resident memory of the process
func BenchmarkOrigins(b *testing.B) {
	for _, s := range []scenario{{variants: 500}, {variants: 500, render: true}} {
		b.Run(s.String(), func(b *testing.B) {
			againstPlan(b, newWorld(b, s), s.variants, "blame", "--all", "--field", "ConfigMap/region:data.endpoint", "-o", "name")
		})
	}
}

// BenchmarkReview reads all open Drafts of a fleet as classes, with an empty cache
// folder, against the plan that these Drafts come of; metrics as for BenchmarkOrigins.
func BenchmarkReview(b *testing.B) {
	for _, n := range []int{300, 500, 2000, 10000} {
		for _, http := range []bool{false, true} {
			s := scenario{variants: n, http: http}
			b.Run(s.String(), func(b *testing.B) {
				w := newWorld(b, s)
				planned := *w
				plan := runSelf(b, planned.args("plan")...)
				w.apply(b)
				var mine []childCost
				for b.Loop() {
					w.cache = b.TempDir()
					mine = append(mine, runSelf(b, w.args("review")...))
				}
				overPlan(b, s.variants, mine, []childCost{plan})
			})
		}
	}
}

func againstPlan(b *testing.B, w *world, variants int, command ...string) {
	b.Helper()
	var mine, plans []childCost
	for b.Loop() {
		plans = append(plans, runSelf(b, w.args("plan")...))
		mine = append(mine, runSelf(b, w.args(command...)...))
	}
	overPlan(b, variants, mine, plans)
}

func overPlan(b *testing.B, variants int, mine, plans []childCost) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // the loop holds both sides: its time says nothing
	var cpu, wall, peaks []float64
	for _, c := range mine {
		cpu, wall, peaks = append(cpu, c.cpu.Seconds()), append(wall, c.wall.Seconds()), append(peaks, float64(c.Peak)/(1<<20))
	}
	var planCPU, planWall []float64
	for _, c := range plans {
		planCPU, planWall = append(planCPU, c.cpu.Seconds()), append(planWall, c.wall.Seconds())
	}
	b.ReportMetric(median(wall)*1e3, "ms")
	b.ReportMetric(median(wall)/median(planWall), "×plan")
	b.ReportMetric(median(cpu)/median(planCPU), "×plan-cpu")
	b.ReportMetric(median(cpu)*1e6/float64(variants), "cpu-µs/variant")
	b.ReportMetric(median(peaks), "peak-MiB")
}
