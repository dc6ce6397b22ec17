package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent lets a run collect seldom while it holds little: most of what it
	// makes lives for one package.
	gcPercent = 400
	// spare is how much garbage may wait, however much is held: at most an eighth of
	// the limit, where there is one, for what is held at a peak is not known before.
	spare = 72 << 20
	// leastPercent bounds what collecting costs where much is held.
	leastPercent = 25
)

// pace sets how seldom memory is collected, after each collection by what was
// still held then: four times a little is little, four times what a large package
// takes is more than a machine has.
func pace() {
	debug.SetGCPercent(gcPercent)
	follow(gcPercent)
}

// stayWithin has the collector work harder before the memory that its container may
// take is full: nine tenths of it are the limit, unless GOMEMLIMIT says another.
func stayWithin(container memlimit.Provider) {
	// Outside of a container there is no limit to read.
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(container))
}

// follow is called by every collection that finds nobody holding its mark.
func follow(percent int) {
	type mark struct{ _ [16]byte }
	runtime.AddCleanup(&mark{}, func(was int) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		now := percentFor(sample[0].Value.Uint64(), uint64(debug.SetMemoryLimit(-1)))
		if now != was {
			debug.SetGCPercent(now)
		}
		follow(now)
	}, percent)
}

// percentFor is how much garbage may wait beside what is held, in percent of it.
func percentFor(held, limit uint64) int {
	if held == 0 {
		return gcPercent
	}
	return int(min(gcPercent, max(leastPercent, min(spare, limit/8)*100/held)))
}
