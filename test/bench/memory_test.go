package bench

import (
	"flag"
	"fmt"
	"testing"

	"github.com/variform/variform/test/gittest"
)

var (
	memoryVariants = flag.Int("memory.variants", 0, "how many variants TestMemory has: its bounds are for 10000, which takes minutes")
	memoryTargets  = flag.Int("memory.targets", 0, "how many targets TestMemoryOfDependencies has: its bounds are for 3000, which takes minutes")
)

// TestMemory lives through the life of a fleet with what a small machine has: each
// command, a process of its own, stays below 400 MB and spends less than a quarter of
// its processor time in collecting garbage.
func TestMemory(t *testing.T) {
	if *memoryVariants == 0 {
		t.Skip("-memory.variants says how many variants there are to be")
	}
	t.Setenv("GOMEMLIMIT", "400MiB")
	for _, s := range []scenario{{}, {http: true}, {render: true}} {
		s.variants = *memoryVariants
		w := newWorld(t, s)
		step := func(name string, most int64, command ...string) {
			t.Helper()
			c := runSelf(t, w.args(command...)...)
			t.Logf("%s, %s: %d MB, %.0f %% collecting, %.1f s", s, name, c.Peak/1e6, 100*c.GC, c.cpu.Seconds())
			if c.Peak > most {
				t.Errorf("%s, %s: %d MB resident, want at most %d", s, name, c.Peak/1e6, most/1e6)
			}
			if c.GC > 0.25 {
				t.Errorf("%s, %s: %.0f %% of the processor time went into collecting garbage", s, name, 100*c.GC)
			}
		}
		step("first apply", 400e6, "apply")
		step("nothing to do", 150e6, "apply")
		step("review", 400e6, "review")
		step("approve", 400e6, "approve", "--all")
		w.publish(t, s)
		step("update", 400e6, "apply")
		step("review of the update", 400e6, "review")
		step("approve of the update", 400e6, "approve", "--all")
	}
}

// TestMemoryOfDependencies takes a fleet to its first approval whose targets need nine
// packages each, in two levels, beside one package and a lock. The goal of its plan is 10 s
// of processor time.
func TestMemoryOfDependencies(t *testing.T) {
	if *memoryTargets == 0 {
		t.Skip("-memory.targets says how many targets there are to be")
	}
	w := newDependencyWorld(t, *memoryTargets)
	step := func(name string, most int64, command ...string) {
		t.Helper()
		c := runSelf(t, w.args(command...)...)
		t.Logf("%d targets, %s: %d MB, %.0f %% collecting, %.1f s", *memoryTargets, name, c.Peak/1e6, 100*c.GC, c.cpu.Seconds())
		if c.Peak > most {
			t.Errorf("%s: %d MB resident, want at most %d", name, c.Peak/1e6, most/1e6)
		}
	}
	step("plan", 400e6, "plan")
	step("first apply", 800e6, "apply")
	step("nothing to do, the first time", 600e6, "apply")
	step("nothing to do", 150e6, "apply")
	step("review", 500e6, "review")
	step("approve", 1000e6, "approve", "--all")
}

// TestMemoryOfOrigins asks a fleet that people wrote to where its values come from. A
// package, with the origins of its values, is let go once what was asked for is taken: the
// answer takes little more than a plan, though all packages are made, in each format.
func TestMemoryOfOrigins(t *testing.T) {
	t.Setenv("GOGC", "10") // the peak is about what is held
	s := scenario{variants: 400, edited: 0.1}
	w := newWorld(t, s)
	w.apply(t)
	w.editDrafts(t, s)
	w.run(t, "approve", "--all")
	hotfixes := gittest.Text{}
	for i := range s.variants {
		hotfixes[variantName(i)+"/fix.yaml"] = fmt.Sprintf(region, i)
	}
	w.fleet.Commit(t, "main", "hotfixes", hotfixes)
	most := runSelf(t, w.args("plan")...).Peak + 35e6
	for _, command := range [][]string{
		{"impact", "set.yaml"},
		{"impact", "set.yaml", "-o", "json"},
		{"blame", "--all", "--field", "ConfigMap:data.endpoint"},
		{"blame", "--all", "--field", "ConfigMap:data.endpoint", "-o", "yaml"},
	} {
		c := runSelf(t, w.args(command...)...)
		t.Logf("%v: %d MB, %.1f s", command, c.Peak/1e6, c.cpu.Seconds())
		if c.Peak > most {
			t.Errorf("%v: %d MB resident for %d variants, want at most %d", command, c.Peak/1e6, s.variants, most/1e6)
		}
	}
}
