package fnmain

import (
	"os"
	"syscall"
)

// peakOf is the most memory that an ended process had.
func peakOf(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10 // kB
	}
	return 0
}
