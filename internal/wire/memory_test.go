package wire

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestPercentFor(t *testing.T) {
	for held, want := range map[uint64]int{
		0: 400, 1 << 20: 400, 18 << 20: 400, 36 << 20: 200, 72 << 20: 100, 144 << 20: 50, 1 << 30: leastPercent, 8 << 30: leastPercent,
	} {
		if got := percentFor(held, 0, math.MaxInt64, 400); got != want {
			t.Errorf("%d MiB held: %d%%, want %d%%", held>>20, got, want)
		}
	}
	for held, want := range map[uint64]int{0: 50, 1 << 20: 50, 144 << 20: 50, 200 << 20: 36, 1 << 30: leastPercent} {
		if got := percentFor(held, 0, math.MaxInt64, 50); got != want {
			t.Errorf("%d MiB held, at most 50%%: %d%%, want %d%%", held>>20, got, want)
		}
	}
	for limit, want := range map[uint64]int{1: leastPercent, 100 << 20: leastPercent, 300 << 20: 50, 420 << 20: 70, 504 << 20: 72, 8 << 30: 72} {
		if got := percentFor(100<<20, 0, limit, 400); got != want {
			t.Errorf("100 MiB held of %d: %d%%, want %d%%", limit>>20, got, want)
		}
	}
	for held, want := range map[uint64][2]int{ // at first, and at work
		1 << 20: {400, 400}, 20 << 20: {260, 333}, 40 << 20: {80, 166}, 50 << 20: {44, 133}, 60 << 20: {20, 111},
		70 << 20: {leastAtFirst, 95}, 72 << 20: {92, 92}, 150 << 20: {44, 44}, 300 << 20: {leastPercent, leastPercent},
	} {
		for i, allocated := range []uint64{0, muchWork} {
			if got := percentFor(held, allocated, 400<<20, 400); got != want[i] {
				t.Errorf("%d MiB held of 400, %d MiB allocated: %d%%, want %d%%", held>>20, allocated>>20, got, want[i])
			}
		}
	}
	for held := uint64(1 << 20); held < 500<<20; held += 1 << 20 {
		for _, allocated := range []uint64{0, muchWork} {
			was := 0
			for limit := uint64(1 << 20); limit < 4<<30; limit += 1 << 20 {
				now := percentFor(held, allocated, limit, 400)
				if now < was {
					t.Fatalf("%d MiB held: %d%% where %d MiB may be taken, %d%% where it is less", held>>20, now, limit>>20, was)
				}
				was = now
			}
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
			BoundMemory(c.container)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

// TestShare: what a process and its workers take at most is the memory of their container.
func TestShare(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	const each, most = 400 << 20, 8
	for name, c := range map[string]struct {
		container memlimit.Provider
		workers   int
		own       int64
	}{
		"no container":  {func() (uint64, error) { return 0, memlimit.ErrNoCgroup }, most, math.MaxInt64},
		"room for one":  {memlimit.Limit(1000 << 20), 1, 500 << 20},
		"room for two":  {memlimit.Limit(2000 << 20), 2, 1000 << 20},
		"room for none": {memlimit.Limit(400 << 20), 1, 90 << 20},
		"room for more": {memlimit.Limit(100000 << 20), most, (90000 - most*400) << 20},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			workers := ShareMemory(c.container, each, most)
			if own := debug.SetMemoryLimit(-1); workers != c.workers || own != c.own {
				t.Errorf("%d workers beside %d bytes, want %d beside %d", workers, own, c.workers, c.own)
			}
		})
	}
}

// TestPace holds that a process which comes to hold much collects more often.
func TestPace(t *testing.T) {
	was := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(was) })
	t.Setenv("GOGC", "100")
	PaceMemory(400)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC is set, and yet it is %d%%", got)
	}
	t.Setenv("GOGC", "")
	held := make([]byte, 144<<20)
	PaceMemory(400)
	percent := func() int {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return int(now[0].Value.Uint64())
	}
	for end := time.Now().Add(10 * time.Second); percent() > 50; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d MiB held: %d%%", len(held)>>20, percent())
		}
		runtime.GC()
	}
	runtime.KeepAlive(held)
}
