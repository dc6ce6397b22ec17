package render

import (
	"syscall"
	"time"
)

// limitData bounds the memory that this process gets for data; past it the Go
// runtime ends the process.
func limitData(bytes uint64) error {
	const rlimitData = 2 // RLIMIT_DATA, which package syscall does not name on all architectures
	return syscall.Setrlimit(rlimitData, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
