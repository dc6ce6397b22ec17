package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// The people of the story, at a time of their own: the demo gives the same
// commits each time.
var identity = []string{
	"GIT_AUTHOR_NAME=Robin Platform", "GIT_AUTHOR_EMAIL=robin@example.com",
	"GIT_COMMITTER_NAME=Robin Platform", "GIT_COMMITTER_EMAIL=robin@example.com",
	"GIT_AUTHOR_DATE=2026-01-05T09:00:00Z", "GIT_COMMITTER_DATE=2026-01-05T09:00:00Z",
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
}

func (d *demo) git(dir string, args ...string) error { return d.gitTo(d.Out, dir, args...) }

func (d *demo) gitTo(out io.Writer, dir string, args ...string) error {
	cmd := exec.CommandContext(d.ctx, "git", args...)
	cmd.Dir, cmd.Stdout = dir, out
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(withoutGit(os.Environ()), identity...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// withoutGit drops the variables by which a surrounding git would lead ours astray.
func withoutGit(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_") {
			out = append(out, kv)
		}
	}
	return out
}

func (d *demo) commit(name, message string) error {
	tree := d.tree(name)
	for _, args := range [][]string{
		{"add", "--all"}, {"commit", "--quiet", "--message", message}, {"push", "--quiet", "origin", "main"},
	} {
		if err := d.git(tree, args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) tag(name string, tags ...string) error {
	for _, t := range tags {
		if err := d.git(d.tree(name), "tag", t); err != nil {
			return err
		}
	}
	return d.git(d.tree(name), append([]string{"push", "--quiet", "origin"}, tags...)...)
}
