package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

func TestScripts(t *testing.T) {
	gittest.RequireGit(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			scripttest.Setup(e, map[string]string{"REPOS": filepath.Join(e.WorkDir, "git")})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bare": scriptBare, "publish": scriptPublish, "refs": scriptRefs, "expand": scriptExpand, "status": scripttest.Status,
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
	scripttest.Publish(ts, repoDir(ts, args[0]), args[1], args[2:])
}

// scriptRefs prints all refs of a repository: refs NAME FILE
func scriptRefs(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: refs REPO FILE")
	}
	ts.Check(ts.Exec("git", "--git-dir", repoDir(ts, args[0]), "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(ts.ReadFile("stdout")), 0o644))
}

// scriptExpand puts the place of the repositories into files: expand FILE…
func scriptExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "${REPOS}", ts.Getenv("REPOS"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}
