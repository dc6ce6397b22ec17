//go:build !unix

package oracletest

import "time"

var began = time.Now()

// CPU is the time since the process began: nothing better is at hand here.
func CPU() time.Duration { return time.Since(began) }
