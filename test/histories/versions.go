package histories

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
)

// runNext runs the program of the next version.
func (w *world) runNext(ctx context.Context, args []string) (status int, out, errs bytes.Buffer) {
	c := exec.CommandContext(ctx, w.later, args...)
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), out, errs
	}
	if err != nil && ctx.Err() == nil {
		panic(err)
	}
	return 0, out, errs
}

// takeTurns says which of two programs, if there are two, does a step.
func (w *world) takeTurns(o operation) { w.byLater = w.later != "" && o.c%2 == 0 }

// afterNext notes what the next version made: this one lets it be, and where it is
// not known any more whose it is, it may have other bytes than this one's.
func (w *world) afterNext() {
	clear(w.newer)
	for _, t := range w.targets {
		if r := w.repos[t.name]; !w.broken[t.name] && r.recordRef() != "" {
			w.madeByNewer(r)
		}
	}
	for p := range w.newer {
		w.older[p] = true
	}
}
