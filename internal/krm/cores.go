package krm

import (
	"context"
	"runtime"

	"github.com/variform/variform/internal/cores"
)

// bytesPerCore is how much text is worth another core.
const bytesPerCore = 64 << 10

// onCores calls f for each of n, in no order, on as many cores as size bytes of text
// are worth.
func onCores(n, size int, f func(i int)) {
	workers := max(1, min(runtime.GOMAXPROCS(0), size/bytesPerCore))
	_ = cores.Each(context.Background(), workers, n, func(i int) error { // f does not fail
		f(i)
		return nil
	})
}
