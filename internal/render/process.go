package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// maxOutput bounds what a function may write.
const maxOutput = 256 << 20

// process is a function that runs as a program: a ResourceList on its standard
// input, a ResourceList on its standard output.
type process struct {
	version string
	cache   *onceCache[processOutput]
	// start runs the program once. Its output may be set beside an error.
	start func(ctx context.Context, input []byte) (processOutput, error)
}

type processOutput struct {
	stdout []byte
	stderr string
	exit   int
}

func (p *process) Version() string { return p.version }

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
	if err != nil {
		c.Results = append(c.Results, list.results(out.stdout)...)
		return o, err
	}
	return o, list.apply(out.stdout)
}

// program is a command line of this machine.
type program struct {
	path string
	args []string
	dir  string
	env  []string
}

// run feeds the program and waits for its end, which ctx may bring about.
func (p program) run(ctx context.Context, input []byte) (processOutput, error) {
	var stdout, stderr limited
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	out := processOutput{stdout: stdout.Bytes(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case stdout.full || stderr.full:
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

// limited keeps at most maxOutput bytes and drops the rest.
type limited struct {
	bytes.Buffer
	full bool
}

func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > maxOutput {
		l.full = true
		return len(b), nil
	}
	return l.Buffer.Write(b)
}
