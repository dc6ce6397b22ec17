package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
)

// WorkerMemory is what one worker process may take.
const WorkerMemory = workData

// WorkerPool bounds the worker processes of all Renderers that share it, those that wait
// for another call included. Renderers take turns: one with many calls delays another's by
// one call at most. Safe for concurrent use.
type WorkerPool struct {
	most int
	busy *semaphore.Weighted // first come, first served

	mu        sync.Mutex
	processes int
	idle      []idleWorker // the longest idle first
}

type idleWorker struct {
	*workerProcess
	of       *workers
	function string
}

// NewWorkerPool returns a pool of at most so many processes.
func NewWorkerPool(most int) *WorkerPool {
	return &WorkerPool{most: most, busy: semaphore.NewWeighted(int64(most))}
}

// workers run built-in functions of the sort that runs what a package says, for one
// Renderer: its processes serve no other.
type workers struct {
	program string
	cache   *onceCache[processOutput]
	pool    *WorkerPool
	turn    chan struct{} // one call of a Renderer waits for the pool at a time
	closed  bool          // under the pool's lock
}

func newWorkers(program string, pool *WorkerPool) *workers {
	if pool == nil {
		pool = NewWorkerPool(runtime.GOMAXPROCS(0))
	}
	return &workers{program: program, cache: newProcessCache(), pool: pool, turn: make(chan struct{}, 1)}
}

// of starts calls of one function.
func (w *workers) of(function string) func(context.Context, []byte) (processOutput, error) {
	return func(ctx context.Context, input []byte) (processOutput, error) {
		select {
		case w.turn <- struct{}{}:
		case <-ctx.Done():
			return processOutput{}, stopped(ctx)
		}
		err := w.pool.busy.Acquire(ctx, 1)
		<-w.turn
		if err != nil {
			return processOutput{}, stopped(ctx)
		}
		defer w.pool.busy.Release(1)
		p, err := w.take(function)
		if err != nil {
			return processOutput{}, err
		}
		out, clean, err := p.call(ctx, input)
		if !clean || !w.put(function, p) {
			p.kill()
			w.pool.ended()
		}
		return out, err
	}
}

// take returns a process for one call. As no more calls are under way than processes may
// be, a full pool has an idle one, which ends.
func (w *workers) take(function string) (*workerProcess, error) {
	w.pool.mu.Lock()
	at := slices.IndexFunc(w.pool.idle, func(i idleWorker) bool { return i.of == w && i.function == function })
	found := at >= 0
	if !found && w.pool.processes >= w.pool.most {
		at = 0
	}
	var p *workerProcess
	if at >= 0 {
		p = w.pool.idle[at].workerProcess
		w.pool.idle = slices.Delete(w.pool.idle, at, at+1)
	} else {
		w.pool.processes++
	}
	w.pool.mu.Unlock()
	if found {
		return p, nil
	}
	if p != nil {
		p.kill()
	}
	p, err := startWorker(w.program, function)
	if err != nil {
		w.pool.ended()
	}
	return p, err
}

func (p *WorkerPool) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.processes--
}

// put reports whether the worker waits for another call.
func (w *workers) put(function string, p *workerProcess) bool {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	if !w.closed {
		w.pool.idle = append(w.pool.idle, idleWorker{p, w, function})
	}
	return !w.closed
}

func (w *workers) close() {
	if w == nil {
		return
	}
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.closed = true
	w.pool.idle = slices.DeleteFunc(w.pool.idle, func(i idleWorker) bool {
		if i.of == w {
			i.kill()
			w.pool.processes--
		}
		return i.of == w
	})
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
