// Package oracletest says how long the tests of the resolver look for a
// disagreement with their oracles, and what their benchmarks count as cost.
package oracletest

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// CPU is the processor time that the process has used: the machine may be shared, ratios of it are not.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
