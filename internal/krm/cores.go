package krm

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// bytesPerCore is how much text is worth another core.
const bytesPerCore = 64 << 10

// onCores calls f for each of n, in no order, on as many cores as size bytes of text
// are worth.
func onCores(n, size int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), size/bytesPerCore, n)
	if workers < 2 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	done.Wait()
}
