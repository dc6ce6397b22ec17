package render

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
)

// serving is a process that serves calls of a function, one at a time, as frames
// on its standard input and output. The end of its input ends it, so that none
// outlives this process.
type serving struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *limited
}

// startServing starts a program that is to serve; what it says of itself is in stderr.
func startServing(cmd *exec.Cmd) (*serving, error) {
	s := &serving{cmd: cmd, stderr: &limited{keep: maxMessages}}
	cmd.Stderr = s.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.stdout = stdin, bufio.NewReader(stdout)
	return s, cmd.Start()
}

// ready waits until it serves. An error is why it does not, as far as is known.
func (s *serving) ready() error {
	kind, _, err := readFrame(s.stdout, maxFrame)
	if err == nil && kind != frameReady {
		err = errNotReady
	}
	return err
}

var errNotReady = errors.New("it does not say that it is ready")

// call runs the function once more; stop ends a process that is waited for. clean
// says that another call may follow. broken is why there was no answer, where
// nobody ended it.
func (s *serving) call(ctx context.Context, input []byte, stop func()) (out processOutput, clean bool, broken, err error) {
	halt := context.AfterFunc(ctx, stop)
	sent := make(chan error, 1)
	go func() { sent <- sendCall(s.stdin, input) }()
	out, clean, err = readAnswer(s.stdout)
	switch {
	case !halt() || ctx.Err() != nil:
		return out, false, nil, stopped(ctx)
	case errors.Is(err, errTooMuch):
		return out, false, nil, err
	case err != nil:
		return out, false, err, nil
	}
	if err := <-sent; err != nil {
		clean = false // what it did without all of the input counts
	}
	if out.exit != 0 {
		err = exitError(out.exit)
	}
	return out, clean, nil, err
}

// wait ends its input, and waits until it is gone.
func (s *serving) wait() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}
