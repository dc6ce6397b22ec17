package cli

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestPercentFor(t *testing.T) {
	for held, want := range map[uint64]int{
		0: gcPercent, 1 << 20: gcPercent, 18 << 20: gcPercent, 36 << 20: 200, 72 << 20: 100, 144 << 20: 50, 1 << 30: leastPercent, 8 << 30: leastPercent,
	} {
		if got := percentFor(held, math.MaxInt64); got != want {
			t.Errorf("%d MiB held: %d%%, want %d%%", held>>20, got, want)
		}
	}
	for limit, want := range map[uint64]int{1: leastPercent, 200 << 20: leastPercent, 400 << 20: 50, 576 << 20: 72, 8 << 30: 72} {
		if got := percentFor(100<<20, limit); got != want {
			t.Errorf("100 MiB held of %d: %d%%, want %d%%", limit>>20, got, want)
		}
	}
}

func TestStayWithin(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	for name, c := range map[string]struct {
		env       string
		container memlimit.Provider
		want      int64
	}{
		"a container":    {"", memlimit.Limit(1000 << 20), 900 << 20},
		"no container":   {"", func() (uint64, error) { return 0, memlimit.ErrNoCgroup }, was},
		"the user's own": {"100MiB", memlimit.Limit(1000 << 20), was},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(was)
			if c.env != "" {
				t.Setenv("GOMEMLIMIT", c.env)
			}
			stayWithin(c.container)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}
