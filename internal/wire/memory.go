package wire

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// spare is how much garbage may wait, however much is held: at most a sixth of
	// the limit, where there is one, for what is held at a peak is not known before.
	spare = 72 << 20
	// little is what is held with its garbage where less than it is held and a sixth of the
	// limit is not more: who only looks whether there is anything to do takes little of a
	// small container. Who has allocated many times as much is at work, and is to get on.
	little   = 72 << 20
	muchWork = 5 * little
	// leastPercent bounds what collecting costs where much is held, and with little work.
	leastPercent, leastAtFirst = 25, 12
)

// PaceMemory sets how seldom memory is collected, after each collection by what was
// still held then: four times a little is little, four times what a large package
// takes is more than a machine has. Garbage of at most so many percent of what is
// held waits. It does nothing where the environment sets GOGC.
func PaceMemory(most int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(most)
	follow(most, most)
}

// BoundMemory has the collector work harder before the memory that its container may
// take is full: nine tenths of it are the limit, unless GOMEMLIMIT says another.
func BoundMemory(container memlimit.Provider) {
	// Outside of a container there is no limit to read.
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(container))
}

// ShareMemory is BoundMemory for a process that has others do part of its work, each with so many
// bytes. It returns how many of them there may be at once: up to half of the memory is
// theirs, one always runs, and most where nothing limits the memory.
func ShareMemory(container memlimit.Provider, each uint64, most int) int {
	BoundMemory(container)
	total := debug.SetMemoryLimit(-1)
	if total == math.MaxInt64 {
		return most
	}
	n := min(max(int(uint64(total)/2/each), 1), most)
	debug.SetMemoryLimit(max(total-int64(n)*int64(each), total/4))
	return n
}

// follow is called by every collection that finds nobody holding its mark.
func follow(percent, most int) {
	type mark struct{ _ [16]byte }
	runtime.AddCleanup(&mark{}, func(was int) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(sample)
		now := percentFor(sample[0].Value.Uint64(), sample[1].Value.Uint64(), uint64(debug.SetMemoryLimit(-1)), most)
		if now != was {
			debug.SetGCPercent(now)
		}
		follow(now, most)
	}, percent)
}

// percentFor is how much garbage may wait beside what is held, in percent of it, after so
// much was allocated.
func percentFor(held, allocated, limit uint64, most int) int {
	if held == 0 {
		return most
	}
	garbage, least := min(spare, limit/6), uint64(leastPercent)
	if held < little && allocated < muchWork {
		garbage, least = min(garbage, max(little, limit/6)-held), leastAtFirst
	}
	return min(most, int(max(least, garbage*100/held)))
}
