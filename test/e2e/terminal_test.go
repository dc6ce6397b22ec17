package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/variform/variform/internal/cli"
)

// terminal opens a pair of ends of a terminal: a person's and a program's.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// At a terminal a choice is asked for; elsewhere it is an error that lists the
// choices (TestResolveConflict).
func TestResolveAsksAtATerminal(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	for answer, want := range map[string]struct {
		status    int
		out, said string
	}{
		"2\n": {0, "issuer", "put {alias: certs, reference: issuer} into spec.dependencies.overrides"},
		"7\n": {2, "", `"7" is none of 1 to 2`},
	} {
		w := resolving(t)
		edited := filepath.Join(w.fleet(), "catalog.yaml")
		if r := runIn(w.dir, "catalog", "remove", "--file", edited, "--interface", certificates); r.status != 0 {
			t.Fatal(r.err)
		}
		person, program := terminal(t)
		var screen, out bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(&screen, person) // ends with an error when the other end is closed
		}()
		if _, err := person.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		status := cli.Main(context.Background(),
			[]string{"resolve", "-f", w.fleet(), "--target", "one", "--platform", "kubernetes=1.29.0", "--cache-dir", filepath.Join(w.dir, "cache")},
			cli.Streams{In: program, Out: &out, Err: program})
		_ = program.Close()
		<-done
		if status != want.status {
			t.Errorf("%q: status %d, want %d\n%s", answer, status, want.status, screen.String())
		}
		w.contains(screen.String(), "several packages provide", "1) cert-manager", "2) issuer", want.said)
		w.contains(out.String(), want.out)
	}
}

// waiter calls a function when a text has been written.
type waiter struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	seen func()
}

func (w *waiter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if w.seen != nil && strings.Contains(w.buf.String(), w.text) {
		w.seen()
		w.seen = nil
	}
	return len(p), nil
}

func (w *waiter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// A prompt ends when the run is stopped: nobody has to answer it first.
func TestPromptEndsWhenStopped(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	w := resolving(t)
	edited := filepath.Join(w.fleet(), "catalog.yaml")
	if r := runIn(w.dir, "catalog", "remove", "--file", edited, "--interface", certificates); r.status != 0 {
		t.Fatal(r.err)
	}
	person, program := terminal(t)
	ctx, stop := context.WithCancel(context.Background())
	screen := &waiter{text: "which one?", seen: stop}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(screen, person)
	}()
	var out bytes.Buffer
	status := cli.Main(ctx,
		[]string{"resolve", "-f", w.fleet(), "--target", "one", "--platform", "kubernetes=1.29.0", "--cache-dir", filepath.Join(w.dir, "cache")},
		cli.Streams{In: program, Out: &out, Err: program})
	_, _ = person.WriteString("1\n") // for the read that is left behind
	_ = program.Close()
	<-done
	if status != 2 {
		t.Errorf("status %d, want 2", status)
	}
	w.contains(screen.String(), "which one?", "interrupted")
	w.lacks(screen.String(), "to keep the choice")
}
