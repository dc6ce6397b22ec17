package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
)

// WorkTree returns the commit that a folder of a work tree is checked out at, and
// reports whether files below the folder differ from it. The commit is "" where the
// folder is in no work tree, nothing is committed, or git is not installed. It writes
// nothing, and runs no program that the repository names to watch files.
func WorkTree(ctx context.Context, folder string) (commit string, modified bool) {
	cmd := exec.CommandContext(ctx, "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", folder,
		"status", "--porcelain=v2", "--branch", "--no-renames", "--untracked-files=normal", "--", ".")
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.WaitDelay = helperDelay
	out, err := cmd.Output()
	if err != nil {
		return "", false
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if oid, ok := strings.CutPrefix(line, "# branch.oid "); ok && oid != "(initial)" {
			commit = oid
		}
		modified = modified || line != "" && line[0] != '#'
	}
	return commit, modified && commit != ""
}
