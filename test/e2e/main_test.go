package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/fnmain"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/gittest"
)

// gitEnv keeps git away from the machine's configuration, and gives the person
// who approves a name.
var gitEnv = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=Rae Viewer", "GIT_AUTHOR_EMAIL=rae@example.com",
	"GIT_COMMITTER_NAME=Rae Viewer", "GIT_COMMITTER_EMAIL=rae@example.com",
}

// TestMain makes the test binary answer as variform and as each function too:
// scripts, and kpt, run the real main functions.
func TestMain(m *testing.M) {
	commands := map[string]func(){"variform": func() {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}}
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
	for _, kv := range gitEnv {
		k, v, _ := strings.Cut(kv, "=")
		_ = os.Setenv(k, v)
	}
	for _, k := range []string{"VARIFORM_FLEET", "VARIFORM_CACHE_DIR", "DEMO_DIR", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
		_ = os.Unsetenv(k)
	}
}

func TestScripts(t *testing.T) {
	gittest.RequireGit(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			for _, kv := range gitEnv {
				k, v, _ := strings.Cut(kv, "=")
				e.Setenv(k, v)
			}
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("REPOS", filepath.Join(e.WorkDir, "git"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("GIT_AUTHOR_DATE", "2026-01-05T09:00:00Z")
			e.Setenv("GIT_COMMITTER_DATE", "2026-01-05T09:00:00Z")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bare": scriptBare, "publish": scriptPublish, "refs": scriptRefs, "expand": scriptExpand, "status": scriptStatus,
		},
	})
}

// scriptBare makes bare repositories: bare NAME…
func scriptBare(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		ts.Check(ts.Exec("git", "init", "--quiet", "--bare", "--initial-branch=main", repoDir(ts, name)))
	}
}

func repoDir(ts *testscript.TestScript, name string) string {
	return filepath.Join(ts.Getenv("REPOS"), name+".git")
}

// scriptPublish commits a folder's content, all of it, to main, and sets tags:
// publish REPO DIR [TAG…]
func scriptPublish(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: publish REPO DIR [TAG...]")
	}
	repo, dir := repoDir(ts, args[0]), ts.MkAbs(args[1])
	run := func(args ...string) {
		ts.Check(ts.Exec("git", append([]string{"--git-dir", repo, "--work-tree", dir, "-c", "core.bare=false"}, args...)...))
	}
	run("add", "--all")
	run("commit", "--quiet", "--allow-empty", "--message", "publish "+args[1])
	for _, tag := range args[2:] {
		run("tag", "--force", tag)
	}
}

// scriptRefs prints all refs of a repository: refs NAME FILE
func scriptRefs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: refs REPO FILE")
	}
	ts.Check(ts.Exec("git", "--git-dir", repoDir(ts, args[0]), "for-each-ref", "--format=%(refname) %(objectname)"))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(ts.ReadFile("stdout")), 0o644))
}

// scriptExpand puts the place of the repositories into files: expand FILE…
func scriptExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "${REPOS}", ts.Getenv("REPOS"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

// scriptStatus runs variform and checks its exit status: status N ARG…
func scriptStatus(ts *testscript.TestScript, _ bool, args []string) {
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
