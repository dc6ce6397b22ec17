package solve

import (
	"fmt"
	"runtime"
	"testing"
)

func TestZZ(t *testing.T) {
	for _, n := range []int{100, 1000, 5000} {
		for seed := range uint64(6) {
			p := large(n, planted, seed+1)
			runtime.GC()
			c := cpu()
			s := New(p)
			_, ok := s.Solve(WithBudget(-1))
			st := s.Stats()
			fmt.Println(n, seed+1, ok, "ms", (cpu() - c).Milliseconds(), "conf", st.Conflicts, "dec", st.Decisions, "prop", st.Propagations, "clauses", st.Clauses)
		}
	}
}
