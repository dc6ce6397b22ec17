package solve

import (
	"context"
	"math"
)

// Work counts the steps of searches and ends them: at a limit, which no machine and no clock moves, or with a context.
// Searches that answer one question share one.
type Work struct {
	steps, limit int64
	look         int64 // the step at which the context is looked at next
	stopped      func() error
	err          error
}

// lookSteps are the steps between two looks at the context: less than a millisecond.
const lookSteps = 1 << 13

// NewWork returns a count that ends after so many steps, 0 for never, or when the context does.
func NewWork(ctx context.Context, limit int64) *Work {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &Work{limit: limit, stopped: func() error { return context.Cause(ctx) }}
}

// Steps is what was done so far.
func (w *Work) Steps() int64 { return w.steps }

// Err is the context's error, where that ended the work.
func (w *Work) Err() error { return w.err }

// Spend counts steps.
func (w *Work) Spend(n int) { w.steps += int64(n) }

// Over tells whether the work has to end.
func (w *Work) Over() bool {
	if w.steps >= w.look && w.err == nil {
		w.look, w.err = w.steps+lookSteps, w.stopped()
	}
	return w.steps >= w.limit || w.err != nil
}

// Within bounds what f does to so many steps more.
func (w *Work) Within(steps int64, f func()) {
	defer func(limit int64) { w.limit = limit }(w.limit)
	w.limit = min(w.limit, w.steps+steps)
	f()
}
