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
	path    string
	args    []string
	dir     string
	env     []string
	cache   *onceCache[processOutput]
	// explain adds a hint to the failure to start, or of the engine itself.
	explain func(exitCode int, err error) error
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

func (p *process) start(ctx context.Context, input []byte) (processOutput, error) {
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
		return out, fmt.Errorf("wrote more than %d MiB", maxOutput>>20)
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return out, fmt.Errorf("was stopped: %w", ctx.Err())
	case errors.As(err, &exit):
		out.exit = exit.ExitCode()
		err = fmt.Errorf("failed with exit code %d", out.exit)
	}
	if p.explain != nil {
		err = p.explain(out.exit, err)
	}
	return out, err
}

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
