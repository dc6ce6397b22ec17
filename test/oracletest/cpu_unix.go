//go:build unix

package oracletest

import (
	"syscall"
	"time"
)

// CPU is the processor time that the process has used: the machine may be shared, ratios of it are not.
func CPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
