//go:build !linux

package render

import "time"

// limitData does nothing where there is no such limit: a call is looked at every few
// milliseconds, and ended then.
func limitData(uint64) error { return nil }

var began = time.Now()

// processorTime is elapsed time where that of the process is not to be had.
func processorTime() time.Duration { return time.Since(began) }
