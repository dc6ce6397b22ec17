// Package oracletest says how long the tests of the resolver look for a
// disagreement with their oracles.
package oracletest

import (
	"os"
	"strconv"
	"testing"
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
