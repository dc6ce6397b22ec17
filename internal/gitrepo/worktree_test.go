package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A folder of a work tree is at its commit; what changes beside the folder is no change
// of it, and a program that the repository names is not run.
func TestWorkTree(t *testing.T) {
	gittest.RequireGit(t)
	root, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type at struct {
		commit   string
		modified bool
	}
	check := func(reason string, want at) {
		t.Helper()
		commit, modified := WorkTree(t.Context(), filepath.Join(root, "fleet"))
		if got := (at{commit, modified}); got != want {
			t.Errorf("%s: got %v, want %v", reason, got, want)
		}
	}
	write("fleet/set.yaml", "a: 1\n")
	check("no repository", at{})
	git("init", "-q")
	check("nothing is committed", at{})
	git("add", ".")
	git("commit", "-qm", "one")
	commit := git("rev-parse", "HEAD")
	check("as committed", at{commit, false})
	write("beside.yaml", "a: 1\n")
	check("a file beside the folder", at{commit, false})
	write("fleet/new.yaml", "a: 1\n")
	check("a new file", at{commit, true})
	git("clean", "-qf", "fleet")
	write("fleet/set.yaml", "a: 2\n")
	check("a changed file", at{commit, true})
	git("commit", "-qam", "two")
	commit = git("rev-parse", "HEAD")
	git("config", "core.fsmonitor", "touch "+ran)
	check("committed", at{commit, false})
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program of core.fsmonitor ran")
	}
}
