package render

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxOutput bounds what a function may write, on each of its two streams.
	maxOutput = 64 << 20
	// maxMessages is how much of its standard error is kept.
	maxMessages = 1 << 20
)

// process is a function that runs as a program: a ResourceList on its standard
// input, a ResourceList on its standard output.
type process struct {
	version string
	builtin string // the name of a built-in function that a worker runs
	cache   *onceCache[processOutput]
	// start runs the program once. Its output may be set beside an error.
	start func(ctx context.Context, input []byte) (processOutput, error)
}

type processOutput struct {
	stdout []byte
	stderr string
	exit   int
}

func (o processOutput) bytes() int { return len(o.stdout) + len(o.stderr) }

func (p *process) Version() string { return p.version }

func (p *process) Input() string { return cmp.Or(p.builtin, p.version) }

func (p *process) Run(ctx context.Context, c *Call) (Output, error) {
	list := newResourceList(c)
	input, err := list.encode()
	if err != nil {
		return Output{}, err
	}
	var out processOutput
	key := partsDigest([]byte(p.version), input)
	out, _, err = p.cache.get(key, len(input), func() (processOutput, error) {
		var err error
		out, err = p.start(ctx, input)
		return out, err
	})
	o := Output{Stderr: out.stderr, ExitCode: out.exit}
	defer largeOutput.alone(len(out.stdout))()
	if err != nil {
		c.Results = append(c.Results, list.results(out.stdout)...)
		return o, err
	}
	return o, list.apply(out.stdout)
}

// largeOutput has one large output parsed at a time, whatever the number of calls: its
// tree takes many times its bytes.
var largeOutput = turnstile{least: 8 << 20}

// turnstile lets what is large pass one at a time.
type turnstile struct {
	mu    sync.Mutex
	least int  // bytes from which something is large
	after bool // something has passed
}

// alone returns when what has so many bytes may go on, with what passed before it
// collected; end is called when it is done. It does not heed the time that the call may
// take, for the function has ended: what passes does so in seconds.
func (t *turnstile) alone(size int) (end func()) {
	if size < t.least {
		return func() {}
	}
	t.mu.Lock()
	if t.after {
		runtime.GC()
	}
	t.after = true
	return t.mu.Unlock
}

// program is a command line of this machine.
type program struct {
	path string
	args []string
	dir  string
	env  []string
	// whole says that what the program starts ends with it.
	whole bool
}

// run feeds the program and waits for its end, which ctx may bring about.
func (p program) run(ctx context.Context, input []byte) (processOutput, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	full := func() { cancel(errTooMuch) }
	stdout, stderr := limited{full: full}, limited{full: full, keep: maxMessages}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	cmd.WaitDelay = 2 * time.Second
	if p.whole {
		defer endGroup(cmd)()
	}
	err := cmd.Run()
	out := processOutput{stdout: stdout.Bytes(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case stdout.tooMuch() || stderr.tooMuch():
		return out, errTooMuch
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return out, stopped(ctx)
	case errors.As(err, &exit):
		out.exit = exit.ExitCode()
		return out, exitError(out.exit)
	}
	return out, err
}

var errTooMuch = fmt.Errorf("wrote more than %d MiB", maxOutput>>20)

// exitError is a program's own failure.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("failed with exit code %d", int(e)) }

func stopped(ctx context.Context) error { return fmt.Errorf("was stopped: %w", context.Cause(ctx)) }

// limited keeps what is written to it. Beyond maxOutput it refuses, and forgets
// what it had: nobody reads half an output.
type limited struct {
	parts [][]byte
	size  int
	keep  int // keep no more than that; 0 is all
	// full, where set, is called once, when there is too much.
	full func()
}

func (l *limited) Write(b []byte) (int, error) {
	if l.size += len(b); l.size > maxOutput {
		if l.full != nil {
			l.full()
			l.full = nil
		}
		l.parts = nil
		return 0, errTooMuch
	}
	written := len(b)
	if l.keep > 0 {
		b = b[:max(0, min(len(b), l.keep-(l.size-len(b))))]
	}
	for len(b) > 0 {
		last := len(l.parts) - 1
		if last < 0 || len(l.parts[last]) == cap(l.parts[last]) {
			l.parts = append(l.parts, make([]byte, 0, min(max(l.size, 512), maxFrame)))
			last++
		}
		n := min(len(b), cap(l.parts[last])-len(l.parts[last]))
		l.parts[last] = append(l.parts[last], b[:n]...)
		b = b[n:]
	}
	return written, nil
}

func (l *limited) tooMuch() bool { return l.size > maxOutput }

func (l *limited) Bytes() []byte { return slices.Concat(l.parts...) }

func (l *limited) String() string {
	text := string(l.Bytes())
	if l.keep > 0 && l.size > l.keep && l.size <= maxOutput {
		text += fmt.Sprintf("\n(%d bytes more)", l.size-l.keep)
	}
	return text
}
