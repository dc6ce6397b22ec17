//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
)

// At a terminal init asks for what no flag gives, again where an answer is wrong, and
// writes what flags with the same answers write.
func TestInitAsks(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	w := newWorld(t, "c1", "c2")
	t.Chdir(w.dir)
	flags := func(dir string, more ...string) []string {
		return append([]string{"init", dir, "--cache-dir", filepath.Join(w.dir, "cache")}, more...)
	}
	asked := func(dir string, answers []string, more ...string) (screen string, status int) {
		person, program := terminal(t)
		var shown, out bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(&shown, person) // ends with an error when the other end is closed
		}()
		if _, err := person.WriteString(strings.Join(answers, "\n") + "\n"); err != nil {
			t.Fatal(err)
		}
		status = cli.Main(context.Background(), flags(dir, more...), cli.Streams{In: program, Out: &out, Err: program})
		_ = program.Close()
		<-done
		return shown.String() + out.String(), status
	}
	screen, status := asked("asked", []string{"My Fleet", "", "nowhere", w.url("catalog"), "5", "2", w.url("c1") + ", " + w.url("c2"), "wep", "", "v9", ""})
	if status != 0 {
		t.Fatalf("status %d\n%s", status, screen)
	}
	w.contains(screen, "Name of this fleet (signs what it makes)            [platform]: ", `"My Fleet" is not a valid name`,
		"Where are your packages?", `"nowhere" is neither`, "found 1 package on main: web", "3  I have such folders already", `"5": choose one of`,
		"First package to roll out                           [web]: ", `did you mean "web"?`, "[v1, the newest]: ", `revision "v9"`,
		"checked: 2 variants can be built.", "next: variform plan -f asked")
	// A flag is not asked for.
	screen, status = asked("half", []string{"2", w.url("c1") + "," + w.url("c2")}, "--name", "platform", "--catalog", w.url("catalog"), "--package", "web", "--version", "v1")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, screen)
	}
	w.lacks(screen, "Name of this fleet", "First package", "the newest")
	if r := runIn(w.dir, flags("flags", "--name", "platform", "--catalog", w.url("catalog"), "--layout", "repositories", "--to", w.url("c1")+","+w.url("c2"), "--package", "web", "--version", "v1")...); r.status != 0 {
		t.Fatal(r.err)
	}
	for _, name := range []string{"Kptfile", "repositories.yaml", "web.yaml"} {
		want, err := os.ReadFile(filepath.Join(w.dir, "flags", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"asked", "half"} {
			got, err := os.ReadFile(filepath.Join(w.dir, dir, name))
			if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
				t.Errorf("%s/%s: %v (-flags +asked):\n%s", dir, name, err, diff)
			}
		}
	}
}

// A question ends when the run is stopped, and nothing is written.
func TestInitEndsWhenStopped(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	w := newWorld(t)
	person, program := terminal(t)
	ctx, stop := context.WithCancel(context.Background())
	screen := &waiter{text: "Where are your packages?", seen: stop}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(screen, person)
	}()
	dir := filepath.Join(w.dir, "new")
	status := cli.Main(ctx, []string{"init", dir, "--name", "n", "--cache-dir", filepath.Join(w.dir, "cache")}, cli.Streams{In: program, Out: io.Discard, Err: program})
	_, _ = person.WriteString("x\n") // for the read that is left behind
	_ = program.Close()
	<-done
	if _, err := os.Stat(dir); status != 2 || !os.IsNotExist(err) {
		t.Errorf("status %d, %v\n%s", status, err, screen)
	}
	w.contains(screen.String(), "interrupted")
}
