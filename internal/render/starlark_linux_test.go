package render

import (
	"syscall"
	"testing"
)

// peakOfChildren is the resident memory of the largest process that ended.
func peakOfChildren(t *testing.T) int {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use); err != nil {
		t.Fatal(err)
	}
	return int(use.Maxrss) << 10
}
