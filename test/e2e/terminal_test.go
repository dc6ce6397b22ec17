package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
