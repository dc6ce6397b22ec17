//go:build unix

package bench

import (
	"syscall"
	"time"
)

// ended is the user and system time of all programs that this process and its programs ran
// and that have ended.
func ended() (took time.Duration, counts bool) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err == nil
}
