package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/yamltree"
)

// WorkerCommand is the argument that makes a program a worker:
// `PROGRAM <WorkerCommand> FUNCTION@VERSION` calls Work.
const WorkerCommand = "function-worker"

// The bounds of one call of a built-in function that runs what a package says.
const (
	// workMemory bounds what a call keeps, input and output included.
	workMemory = 256 << 20
	// workData is what the operating system gives a worker for data at most: room
	// for the runtime, and for what the collector has not come to.
	workData = 400 << 20
	// workStack bounds a call's stack, which is copied to one of twice its size: past it
	// the Go runtime ends the process before it asks for more than workData.
	workStack = workMemory / 2
	// watchEvery is how often a call is looked at.
	watchEvery = 5 * time.Millisecond
	// graceTime is what a script gets to end by itself, which names the line.
	graceTime = 250 * time.Millisecond
)

// workTime bounds the processor time of a call.
var workTime = 5 * time.Second

// Work runs one release of a built-in function (name@version) again and again, in a
// process that is for nothing else: once for each call that it reads from in, with the answer as
// frames on out. A call that passes a bound ends with an error that names the
// bound, and the process with it where it has to be. When in ends, Work does,
// a call under way or not.
func Work(name string, in io.Reader, out io.Writer) error {
	name, version, _ := strings.Cut(name, "@")
	f, _ := catalogfn.Lookup(name)
	release, ok := f.At(version)
	if !ok || release.List == nil {
		return fmt.Errorf("%q is no function that needs a worker", name)
	}
	if err := limitData(workData); err != nil {
		return fmt.Errorf("bounding the worker's memory: %w", err)
	}
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(workMemory)
	debug.SetMaxStack(workStack)
	w := &worker{run: release.List, out: &frames{w: out}}
	w.name.Store(new(string))
	if err := w.out.send(frameReady, nil); err != nil {
		return err
	}
	calls, ended := make(chan *bytes.Buffer), make(chan error, 2)
	go func() {
		for {
			input, err := readCall(in)
			if err != nil {
				ended <- err
				return
			}
			calls <- input
		}
	}()
	go func() {
		for input := range calls {
			if err := w.call(input.Bytes()); err != nil {
				ended <- err
				return
			}
		}
	}()
	if err := <-ended; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ended says which script a bound ended.
func ended(name string, bound error) error {
	return fmt.Errorf("the script %q was ended: %w", name, bound)
}

// worker is the process in which a function runs.
type worker struct {
	run  func(context.Context, *yaml.Node) (fn.Results, error)
	out  *frames
	name atomic.Pointer[string] // of the functionConfig of the call under way
}

// answer is what a call came to.
type answer struct {
	list    *yaml.RNode
	results fn.Results
	err     error
	last    bool // no call follows
}

func (w *worker) call(input []byte) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan answer, 1)
	go func() { done <- w.compute(ctx, input) }()
	watch := time.NewTicker(watchEvery)
	start := processorTime()
	for {
		select {
		case a := <-done:
			watch.Stop()
			cancel(nil)
			return w.send(a)
		case <-watch.C:
		}
		err := passed(start)
		if err == nil {
			continue
		}
		watch.Stop()
		cancel(err)
		select {
		case a := <-done:
			return w.send(a)
		case <-time.After(graceTime):
			_ = w.send(answer{err: err, last: true})
			os.Exit(1) // nothing else ends a step that is under way
		}
	}
}

func (w *worker) compute(ctx context.Context, input []byte) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a = answer{err: fmt.Errorf("the function broke: %v", v)}
		}
	}()
	list, err := yaml.Parse(string(input))
	if err != nil {
		return answer{err: fmt.Errorf("reading the ResourceList: %w", err)}
	}
	name := yaml.NewRNode(yamltree.Child(list.YNode(), "functionConfig")).GetName()
	w.name.Store(&name)
	results, err := w.run(ctx, list.YNode())
	return answer{list: list, results: results, err: err}
}

// send writes the answer: a ResourceList, or its results alone with exit code 1.
func (w *worker) send(a answer) error {
	code := 0
	if a.err != nil {
		a.results.Errorf("%v", ended(*w.name.Load(), a.err))
	}
	if a.err != nil || reported(a.results) != nil {
		code, a.list = 1, yaml.NewRNode(emptyList())
	}
	if len(a.results) > 0 {
		results, err := yamltree.Encode(a.results)
		if err != nil {
			return err
		}
		yamltree.Set(a.list.YNode(), nil, "results", results)
	}
	yamltree.Portable(a.list.YNode())
	text, err := a.list.String()
	if err != nil {
		return err
	}
	if _, err := (frameWriter{w.out, frameStdout}).Write([]byte(text)); err != nil {
		return err
	}
	return w.out.send(frameExit, exitFrame(code, !a.last))
}

// passed is the bound that a call has passed which began when the process had
// used start.
func passed(start time.Duration) error {
	if processorTime()-start > workTime {
		return fmt.Errorf("it needs more than %v of processor time", workTime)
	}
	if heldMemory() > workMemory {
		runtime.GC() // what nobody holds does not count
		if heldMemory() > workMemory {
			return errWorkMemory
		}
	}
	return nil
}

var errWorkMemory = fmt.Errorf("it needs more than %d MiB of memory", workMemory>>20)

// heldMemory is what objects take on the heap.
func heldMemory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
