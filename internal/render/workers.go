package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// workers are the processes that run built-in functions of the sort that runs
// what a package says. One that has served a call waits for the next.
type workers struct {
	program string
	cache   *onceCache[processOutput]
	slots   chan struct{} // bounds how many work at once

	mu     sync.Mutex
	idle   map[string][]*workerProcess // by function
	closed bool
}

func newWorkers(program string) *workers {
	return &workers{
		program: program, cache: newProcessCache(),
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)), idle: map[string][]*workerProcess{},
	}
}

// of starts calls of one function.
func (w *workers) of(function string) func(context.Context, []byte) (processOutput, error) {
	return func(ctx context.Context, input []byte) (processOutput, error) {
		select {
		case w.slots <- struct{}{}:
			defer func() { <-w.slots }()
		case <-ctx.Done():
			return processOutput{}, stopped(ctx)
		}
		p, err := w.take(function)
		if err != nil {
			return processOutput{}, err
		}
		out, clean, err := p.call(ctx, input)
		if !clean || !w.put(function, p) {
			p.kill()
		}
		return out, err
	}
}

func (w *workers) take(function string) (*workerProcess, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting := w.idle[function]; len(waiting) > 0 {
		w.idle[function] = waiting[:len(waiting)-1]
		return waiting[len(waiting)-1], nil
	}
	return startWorker(w.program, function)
}

// put says whether the worker waits for another call.
func (w *workers) put(function string, p *workerProcess) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.idle[function] = append(w.idle[function], p)
	return true
}

func (w *workers) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, waiting := range w.idle {
		for _, p := range waiting {
			p.kill()
		}
	}
	w.idle = nil
}

// workerProcess is one worker.
type workerProcess struct{ *serving }

func startWorker(program, function string) (*workerProcess, error) {
	cmd := exec.Command(program, WorkerCommand, function)
	cmd.Env = []string{"GOTRACEBACK=none"}
	s, err := startServing(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting a process for %s: %w", function, err)
	}
	p := &workerProcess{s}
	if err := p.ready(); err != nil {
		p.kill()
		return nil, fmt.Errorf("the process for %s did not start: %s", function, said(p.stderr.String(), err))
	}
	return p, nil
}

// call runs the function once more. clean says that another call may follow.
func (p *workerProcess) call(ctx context.Context, input []byte) (out processOutput, clean bool, err error) {
	out, clean, broken, err := p.serving.call(ctx, input, p.stop)
	if broken != nil {
		p.kill()
		return out, false, p.gone(broken)
	}
	return out, clean, err
}

func (p *workerProcess) stop() { _ = p.cmd.Process.Kill() }

// gone is why a worker ended in a call that nobody ended: the Go runtime gives
// up where it gets no more memory, and on little else.
func (p *workerProcess) gone(err error) error {
	first, _, _ := strings.Cut(strings.TrimSpace(p.stderr.String()), "\n")
	return fmt.Errorf("%w (%s)", errWorkMemory, cmp.Or(first, err.Error()))
}

func (p *workerProcess) kill() {
	p.stop()
	p.wait()
}

// worked is a built-in function that a worker runs.
type worked struct {
	process
}

func (w *worked) Run(ctx context.Context, c *Call) (Output, error) {
	out, err := w.process.Run(ctx, c)
	if errors.As(err, new(exitError)) {
		if found := reported(c.Results); found != nil {
			return out, found
		}
	}
	if errors.Is(err, errWorkMemory) && c.Config != nil {
		err = ended(c.Config.GetName(), err)
	}
	return out, err
}
