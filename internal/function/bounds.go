package function

import (
	"context"
	"errors"
	"fmt"
)

// The bounds of one call of a function in this process, where nothing but the
// function itself can end it.
const (
	// maxWritten is how many bytes a call may add, its results included: a short
	// value in many fields makes much of little.
	maxWritten = 64 << 20
	// maxWork is how many steps a call may take, of those that Work counts.
	maxWork = 1 << 33
)

// What a call ends with that passes a bound.
var (
	ErrWritten = fmt.Errorf("it writes more than %d MiB: shorten its values, or mark fewer fields", maxWritten>>20)
	ErrWork    = errors.New("it takes too long: make its regular expressions, or the values that they are to match, shorter, or name fewer targets")
)

// bounds are what a call may still do.
type bounds struct {
	bytes, steps int
	stopped      func() error // of the call's context
}

// overrun ends a call from wherever it is.
type overrun struct{ err error }

// Run calls a function within bounds of time, bytes and steps; they hold as far
// as it counts what it does (Spend, Work).
func Run(ctx context.Context, p Processor, c *Call) (err error) {
	c.bounds = &bounds{bytes: maxWritten, steps: maxWork, stopped: func() error { return context.Cause(ctx) }}
	defer func() {
		c.bounds = nil
		switch v := recover().(type) {
		case nil:
		case overrun:
			err = v.err
		default:
			panic(v)
		}
	}()
	return p(ctx, c)
}

// Spend counts bytes that the function is about to write, none to ask only
// whether it may go on. Past the bound, or when the time is over, it does not
// return: Run ends the call.
func (c *Call) Spend(bytes int) {
	b := c.bounds
	if b == nil {
		return
	}
	if b.bytes -= bytes; b.bytes < 0 || bytes < 0 {
		panic(overrun{ErrWritten})
	}
	b.check()
}

// Work counts steps that the function is about to take, where there may be many
// for one value. It ends the call as Spend does.
func (c *Call) Work(steps int) {
	b := c.bounds
	if b == nil {
		return
	}
	if b.steps -= steps; b.steps < 0 || steps < 0 {
		panic(overrun{ErrWork})
	}
	b.check()
}

func (b *bounds) check() {
	if err := b.stopped(); err != nil {
		panic(overrun{fmt.Errorf("was stopped: %w", err)})
	}
}
