//go:build linux

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
func terminal(t testing.TB) (person, program *os.File) {
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

// At a terminal a choice is asked for, once for all targets; elsewhere it is an error that lists the
// choices (TestResolveConflict).
func TestResolveAsksAtATerminal(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	for answer, want := range map[string]struct {
		status    int
		out, said string
	}{
		"2\n": {0, "issuer", "to keep the choice, write {alias: certs, reference: issuer} in spec.dependencies.overrides of the Installation of prod/shop (shop.yaml:4)"},
		"7\n": {2, "", `"7" is none of 1 to 2`},
	} {
		w := resolving(t)
		edited := filepath.Join(w.fleet(), "catalog.yaml")
		if r := runIn(w.dir, "catalog", "remove", "--file", edited, "--interface", certificates); r.status != 0 {
			t.Fatal(r.err)
		}
		w.write("three.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: three}\nspec: {target: three/prod, package: shop}\n")
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
			[]string{"resolve", "-f", w.fleet(), "--target", "one", "--target", "three", "--platform", "kubernetes=1.29.0", "--cache-dir", filepath.Join(w.dir, "cache")},
			cli.Streams{In: program, Out: &out, Err: program})
		_ = program.Close()
		<-done
		if status != want.status {
			t.Errorf("%q: status %d, want %d\n%s", answer, status, want.status, screen.String())
		}
		w.contains(screen.String(), "several packages provide", "1) cert-manager", "2) issuer", want.said)
		w.contains(out.String(), want.out)
		if asked := strings.Count(screen.String(), "which one?"); asked != 1 {
			t.Errorf("%q: asked %d times for two targets", answer, asked)
		}
		if want.out != "" && strings.Count(out.String(), want.out+"     0.3.0") != 2 {
			t.Errorf("the choice is for both targets:\n%s", out.String())
		}
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

// shown runs a command whose output and messages a terminal shows.
func (w *world) shown(args ...string) (screen string, status int) {
	w.t.Helper()
	person, program := terminal(w.t)
	var buf bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&buf, person) // ends with an error when the other end is closed
	}()
	status = cli.Main(context.Background(), append(args, "-f", w.fleet(), "--cache-dir", filepath.Join(w.dir, "cache")),
		cli.Streams{In: strings.NewReader(""), Out: program, Err: program})
	_ = program.Close()
	<-done
	return strings.ReplaceAll(buf.String(), "\r\n", "\n"), status
}

// Colour is for a person at a terminal who wants it, or for who asks for it.
func TestColour(t *testing.T) {
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.write("web.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	const headline, added = "\x1b[1mclass ", "\x1b[32m    +"
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want bool
	}{
		"a terminal": {nil, []string{"review"}, true},
		"NO_COLOR":   {map[string]string{"NO_COLOR": "1"}, []string{"review"}, false},
		"CI":         {map[string]string{"CI": "true"}, []string{"review"}, false},
		"TERM=dumb":  {map[string]string{"TERM": "dumb"}, []string{"review"}, false},
		"never":      {nil, []string{"review", "--color", "never"}, false},
		"always":     {map[string]string{"NO_COLOR": "1"}, []string{"review", "--color=always"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range map[string]string{"CI": "", "TERM": "xterm", "NO_COLOR": "", "PAGER": "cat"} {
				t.Setenv(k, v)
			}
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			screen, status := w.shown(c.args...)
			for _, part := range []string{headline, added} {
				if strings.Contains(screen, part) != c.want || status != 0 {
					t.Errorf("status %d: %q is shown, want %t\n%s", status, part, !c.want, screen)
				}
			}
		})
	}
	if r := w.mustRun(0, "review"); strings.Contains(r.out, "\x1b") {
		t.Errorf("a pipe has colours:\n%s", r.out)
	}
	for _, args := range [][]string{{"review"}, {"diff"}, {"status"}, {"plan", "-o", "wide"}} {
		plain, painted := w.mustRun(0, args...), w.mustRun(0, append(args, "--color=always")...)
		for _, how := range []string{"\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"} {
			painted.out = strings.ReplaceAll(painted.out, how, "")
		}
		if painted.out != plain.out {
			t.Errorf("%s: colour changes the text:\n%s\nand not\n%s", args, painted.out, plain.out)
		}
	}
	w.contains(w.mustRun(2, "status", "--color", "sometimes").err, "choose one of auto, always, never")
}

// A pager shows what is long to a person, and nothing to anybody else.
func TestPager(t *testing.T) {
	for k, v := range map[string]string{"CI": "", "TERM": "xterm", "NO_COLOR": "1", "PAGER": "sed 's/^/paged: /'; echo left"} {
		t.Setenv(k, v)
	}
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.write("other.yaml", repository("other", "/no/such/place", true, ""))
	screen, status := w.shown("review")
	if said := strings.Index(screen, "the report is not complete"); status != 1 || !strings.Contains(screen, "paged: class ") || said < strings.Index(screen, "left\n") {
		t.Errorf("status %d: what is said comes after the pager:\n%s", status, screen)
	}
	for _, args := range [][]string{{"review", "--no-pager"}, {"status"}} {
		if screen, _ := w.shown(args...); strings.Contains(screen, "paged: ") {
			t.Errorf("%s is paged:\n%s", args, screen)
		}
	}
	w.lacks(w.mustRun(1, "review").out, "paged: ")
	for name, program := range map[string]string{"none": "", "cat": "cat", "one that is left at once": "true", "no such program": "no-such-pager"} {
		t.Setenv("PAGER", program)
		screen, status := w.shown("review")
		if shows := strings.Contains(screen, "class "); status != 1 || shows != (name == "none" || name == "cat") {
			t.Errorf("%s: status %d\n%s", name, status, screen)
		}
	}
}

// An error is told once, and whole, at a terminal and in a pipe.
func TestErrorIsToldOnce(t *testing.T) {
	for k, v := range map[string]string{"CI": "", "TERM": "xterm", "NO_COLOR": "1"} {
		t.Setenv(k, v)
	}
	long := strings.Repeat("long-", 40) + "end"
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("web.yaml", variantOf("web", long, "c1", "web", ""))
	for _, args := range [][]string{{"plan"}, {"status"}} {
		if screen, _ := w.shown(args...); strings.Count(screen, long) != 1 {
			t.Errorf("%s at a terminal: %s", args, screen)
		}
		if r := w.run(args...); strings.Count(r.out+r.err, long) != 1 {
			t.Errorf("%s in a pipe: %s%s", args, r.out, r.err)
		}
	}
}
