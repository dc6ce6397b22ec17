package fault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/variform/variform/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Main(m)) }

// amount reads how much a test is to do from the environment; usual where it
// says nothing, few with -short.
func amount(t testing.TB, variable string, usual, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	switch {
	case text == "" && testing.Short():
		return few
	case text == "":
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: give a number from 1", variable, text)
	}
	return n
}

// child is a variform in a process of its own.
type child struct {
	cmd      *exec.Cmd
	done     chan struct{}
	out, err bytes.Buffer // to be read when done
}

func start(t testing.TB, person string, args ...string) *child {
	t.Helper()
	bin := programs.Command(t)
	return startOf(t, bin, person, args...)
}

func startOf(t testing.TB, bin, person string, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(bin, args...), done: make(chan struct{})}
	c.cmd.Env = personEnv(person)
	if at := slices.Index(args, "--cache-dir"); at >= 0 { // one machine, with several caches
		c.cmd.Env = append(c.cmd.Env, "XDG_STATE_HOME="+filepath.Join(filepath.Dir(args[at+1]), "state"))
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		var exit *exec.ExitError
		if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			fmt.Fprintln(&c.err, err)
		}
	}()
	return c
}

// kill ends the process as kill -9 does; it is gone when this returns.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended by itself
	<-c.done
}

// status waits for the end; -1 where the process was killed.
func (c *child) status() int {
	<-c.done
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) String() string {
	text := c.err.String()
	if len(text) > 2000 {
		text = text[:2000] + "…"
	}
	return fmt.Sprintf("variform %s: %s\n%s", strings.Join(c.cmd.Args[1:], " "), c.cmd.ProcessState, text)
}

// personEnv is the environment of this process with a person's name, and
// without the machine's Git configuration and Variform's variables.
func personEnv(name string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "VARIFORM_") {
			env = append(env, kv)
		}
	}
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+name+"@example.com",
		"GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+name+"@example.com")
}

// runGit is a person's git.
func runGit(dir, person string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, personEnv(person)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, &errs)
	}
	return strings.TrimSpace(string(out)), nil
}
