package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Helper is the first process of a container that serves many calls: it runs
// the function once for each call that it reads from in, and writes frames to
// out. A call is a process of its own; with its end everything that it started
// is killed. When in ends, the container does, under way or not.
//
// It returns an error where it cannot do that: outside of a container, or where
// it could not keep functions from its own memory.
func Helper(command []string, in io.Reader, out io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("the container helper is the first process of a container: variform starts it there")
	}
	if len(command) == 0 {
		return errors.New("the container helper needs the function's command")
	}
	// Functions run as the same user; without this they could trace the helper.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the helper's memory: %w", err)
	}
	h := &helper{command: command, out: &frames{w: out}, fresh: containerState()}
	if err := h.out.send(frameReady, nil); err != nil {
		return err
	}
	return h.serve(in)
}

type helper struct {
	command []string
	out     *frames
	fresh   []byte // the container's state before the first call
}

// serve reads ahead, so that the end of in is seen during a call too: the
// caller is gone then, and returning ends all processes of the container.
func (h *helper) serve(in io.Reader) error {
	calls, failed := make(chan *bytes.Buffer), make(chan error, 2)
	go func() {
		for {
			input, err := readCall(in)
			if err != nil {
				failed <- err
				return
			}
			calls <- input
		}
	}()
	go func() {
		for input := range calls {
			if err := h.call(input); err != nil {
				failed <- err
				return
			}
		}
	}()
	if err := <-failed; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (h *helper) call(input io.Reader) error {
	code, err := h.run(input)
	if err != nil {
		_ = h.out.send(frameStderr, []byte(err.Error()+"\n"))
	}
	killAll()
	return h.out.send(frameExit, exitFrame(code, bytes.Equal(h.fresh, containerState())))
}

func (h *helper) run(input io.Reader) (int, error) {
	path, err := exec.LookPath(h.command[0])
	if err != nil {
		return notStarted, err
	}
	var ours, theirs [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			return notStarted, err
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	process, err := os.StartProcess(path, h.command, &os.ProcAttr{Files: theirs[:]})
	for _, f := range theirs {
		_ = f.Close()
	}
	var pipes sync.WaitGroup
	if err == nil {
		pipes.Go(func() { _, _ = io.Copy(ours[0], input); _ = ours[0].Close() }) // a function may leave input unread
		pipes.Go(func() { _, _ = io.Copy(frameWriter{h.out, frameStdout}, ours[1]) })
		pipes.Go(func() { _, _ = io.Copy(frameWriter{h.out, frameStderr}, ours[2]) })
	}
	code := notStarted
	if err == nil {
		code, err = wait(process)
	}
	killAll() // or a process that it left behind keeps the pipes open
	pipes.Wait()
	for _, f := range ours {
		_ = f.Close()
	}
	return code, err
}

func wait(p *os.Process) (int, error) {
	state, err := p.Wait()
	if err != nil {
		return notStarted, err
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}

// killAll ends every other process of the container.
func killAll() {
	for unix.Kill(-1, unix.SIGKILL) == nil {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// containerState is what could outlive a process: shared memory, semaphores and
// queues, and the limits and the scheduling that the helper hands on. The
// container's file system is read-only.
func containerState() []byte {
	var b bytes.Buffer
	for _, file := range []string{"/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg", "/proc/self/limits"} {
		data, err := os.ReadFile(file)
		fmt.Fprintln(&b, file, err != nil, string(data))
	}
	for _, dir := range []string{"/dev/shm", "/dev/mqueue"} {
		entries, _ := os.ReadDir(dir) // absent is as good as empty
		fmt.Fprintln(&b, dir, entries)
	}
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	fmt.Fprintln(&b, nice, err)
	var cpus unix.CPUSet
	err = unix.SchedGetaffinity(0, &cpus)
	fmt.Fprintln(&b, cpus, err)
	return b.Bytes()
}
