package function

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	broken := errors.New("no such field")
	stopped, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("time is over"))
	for name, c := range map[string]struct {
		ctx  context.Context
		f    func(c *Call) error
		want error
		says string
	}{
		"done":                {context.Background(), func(c *Call) error { c.Spend(maxWritten); c.Work(maxWork); return nil }, nil, ""},
		"its own error":       {context.Background(), func(*Call) error { return broken }, broken, ""},
		"a byte too much":     {context.Background(), func(c *Call) error { c.Spend(maxWritten); c.Spend(1); return nil }, ErrWritten, ""},
		"more than a number":  {context.Background(), func(c *Call) error { c.Spend(-1); return nil }, ErrWritten, ""},
		"a step too much":     {context.Background(), func(c *Call) error { c.Work(maxWork); c.Work(1); return nil }, ErrWork, ""},
		"the time is over":    {stopped, func(c *Call) error { c.Spend(0); return nil }, nil, "was stopped: time is over"},
		"the time, at a step": {stopped, func(c *Call) error { c.Work(0); return nil }, nil, "was stopped: time is over"},
		"nothing to stop":     {stopped, func(*Call) error { return nil }, nil, ""},
	} {
		call := &Call{}
		err := Run(c.ctx, func(_ context.Context, c2 *Call) error { return c.f(c2) }, call)
		if c.says == "" && !errors.Is(err, c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v", name, err)
		}
		call.Spend(maxWritten + 1) // a call by itself has no bounds
	}
}

// What breaks a function is not taken for a bound.
func TestRunPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic is gone")
		}
	}()
	_ = Run(context.Background(), func(context.Context, *Call) error { panic("broken") }, &Call{})
}
