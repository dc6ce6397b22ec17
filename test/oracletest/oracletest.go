// Package oracletest says how long the tests of the resolver look for a
// disagreement with their oracles, and what their benchmarks count as cost.
package oracletest

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// Universes is how many random problems a test solves: 1,000, or what RESOLVER_UNIVERSES says.
func Universes(t testing.TB) int {
	t.Helper()
	v := os.Getenv("RESOLVER_UNIVERSES")
	if v == "" {
		return 1000
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("RESOLVER_UNIVERSES: %v", err)
	}
	return n
}

// Cost is what one contestant needed in all rounds: processor time, and memory that it allocated.
type Cost struct {
	CPU   time.Duration
	Bytes uint64
}

// Measure adds what f needs to the cost. The garbage of the one before is collected first; what f itself makes the
// collector do counts as its own, unless BENCH_NOGC is set: then nothing is collected meanwhile.
func (c *Cost) Measure(f func()) {
	runtime.GC()
	if os.Getenv("BENCH_NOGC") != "" {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t := CPU()
	f()
	c.CPU += CPU() - t
	runtime.ReadMemStats(&after)
	c.Bytes += after.TotalAlloc - before.TotalAlloc
}

// Report is both, for each round, under the contestant's name.
func (c *Cost) Report(b *testing.B, name string) {
	b.ReportMetric(float64(c.CPU.Microseconds())/1000/float64(b.N), name+"-ms")
	b.ReportMetric(float64(c.Bytes)/(1<<20)/float64(b.N), name+"-MiB")
}
