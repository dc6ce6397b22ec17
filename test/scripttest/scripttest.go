// Package scripttest is what the scripts of test/e2e, test/fleet and test/oci
// share: programs that the test binary answers as, the person whose Git commits
// they make, and the commands that mean the same in all of them.
package scripttest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/fnmain"
	"github.com/variform/variform/internal/function"
)

// reviewer keeps git away from the machine's configuration, and gives the person
// who approves a name.
var reviewer = map[string]string{
	"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_TERMINAL_PROMPT": "0",
	"GIT_AUTHOR_NAME": "Rae Viewer", "GIT_AUTHOR_EMAIL": "rae@example.com",
	"GIT_COMMITTER_NAME": "Rae Viewer", "GIT_COMMITTER_EMAIL": "rae@example.com",
}

// when is the time of a script's commits.
const when = "2026-01-05T09:00:00Z"

// Main is TestMain: the test binary answers as variform and as each function
// too, so that scripts, and kpt, run the real main functions.
func Main(m *testing.M) {
	variform := func() {
		self, _ := os.Executable() // by the name of variform
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: self, State: cli.StateDir(), Name: os.Args[0]}))
	}
	commands := map[string]func(){"variform": variform, "kubectl-variform": variform}
	for name := range function.Builtin {
		commands[name] = func() { os.Exit(fnmain.Main(name, os.Args[1:], fnmain.Std())) }
	}
	if commands[filepath.Base(os.Args[0])] == nil { // the tests themselves
		cleanEnv()
	}
	testscript.Main(m, commands)
}

// cleanEnv keeps what the machine is set up for away from the tests.
func cleanEnv() {
	for k, v := range reviewer {
		_ = os.Setenv(k, v)
	}
	for _, k := range []string{"VARIFORM_FLEET", "VARIFORM_CACHE_DIR", "DEMO_DIR", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		_ = os.Unsetenv(k)
	}
}

// Setup gives a script a home of its own, and what more is given.
func Setup(e *testscript.Env, more map[string]string) {
	for _, env := range []map[string]string{reviewer, {
		"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "NO_COLOR": "1",
		"HOME": filepath.Join(e.WorkDir, "home"), "XDG_CACHE_HOME": filepath.Join(e.WorkDir, "cache"),
	}, more} {
		for k, v := range env {
			e.Setenv(k, v)
		}
	}
}

// Publish commits a folder's content, all of it, to main of a bare repository,
// and sets tags.
func Publish(ts *testscript.TestScript, repo, folder string, tags []string) {
	run := func(args ...string) {
		ts.Check(ts.Exec("git", append([]string{"--git-dir", repo, "--work-tree", ts.MkAbs(folder), "-c", "core.bare=false"}, args...)...))
	}
	run("add", "--all")
	run("commit", "--quiet", "--allow-empty", "--message", "publish "+folder)
	for _, tag := range tags {
		run("tag", "--force", tag)
	}
}

// Status runs variform and holds its exit code: status N ARG…
func Status(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status N ARG...")
	}
	have := "0"
	if err := ts.Exec("variform", args[1:]...); err != nil {
		have = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if have != args[0] {
		ts.Fatalf("variform %s ended with status %s, want %s", strings.Join(args[1:], " "), have, args[0])
	}
}

var classLine = regexp.MustCompile(`(?m)^class ([0-9a-f@]+)`)

// ApproveSeen approves the classes that review shows, as a person who saw them: approve-seen.
func ApproveSeen(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) > 0 {
		ts.Fatalf("usage: approve-seen")
	}
	ts.Check(ts.Exec("variform", "review"))
	ts.Check(ts.Exec("variform", Approval(ts.ReadFile("stdout"))...))
}

// Approval returns the arguments that approve all classes of a review.
func Approval(review string) []string {
	args := []string{"approve"}
	for _, m := range classLine.FindAllStringSubmatch(review, -1) {
		args = append(args, "--class", m[1])
	}
	return args
}

// unchanged is the line of a wide table for a variant that stays.
var unchanged = regexp.MustCompile(`(?m)^\S+ +none .*\n`)

// Wide runs variform as Status does, with a line for each variant that changes.
func Wide(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || !slices.Contains([]string{"plan", "apply", "status", "approve"}, args[1]) ||
		slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-o") || strings.HasPrefix(a, "--output") }) {
		Status(ts, neg, args)
		return
	}
	Status(ts, neg, append(slices.Clone(args), "-o", "wide"))
	out, errs := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	_, _ = io.WriteString(ts.Stdout(), unchanged.ReplaceAllStringFunc(out, func(line string) string {
		if strings.Contains(line, "by hand on main") { // which the screen tells
			return line
		}
		return ""
	}))
	_, _ = io.WriteString(ts.Stderr(), errs)
}
