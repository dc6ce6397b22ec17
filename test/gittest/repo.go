package gittest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// Modes of a File, as Git writes them.
const (
	Regular    = "100644"
	Executable = "100755"
	Symlink    = "120000" // Data is the target
	Submodule  = "160000" // Data is a commit hash
	Deleted    = "0"      // takes the file away
)

// File is one file of a commit; an empty Mode is Regular.
type File struct {
	Path string
	Mode string
	Data []byte
}

// Tree is what a commit holds.
type Tree interface{ files() []File }

// Text is a tree of regular files, path to content.
type Text map[string]string

// Files is a tree of files with modes.
type Files []File

func (t Text) files() []File {
	out := make([]File, 0, len(t))
	for p, s := range t {
		out = append(out, File{Path: p, Mode: Regular, Data: []byte(s)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func (f Files) files() []File { return f }

// Repo is a bare repository on disk.
type Repo struct {
	Dir string

	commits int
}

// epoch dates commits, one second apart, so that hashes are the same every run.
const epoch = 1700000000

// NewRepo makes an empty bare repository whose HEAD is main.
func NewRepo(t testing.TB, args ...string) *Repo {
	t.Helper()
	return newRepoAt(t, filepath.Join(t.TempDir(), "repo.git"), args...)
}

func newRepoAt(t testing.TB, dir string, args ...string) *Repo {
	t.Helper()
	RequireGit(t)
	r := &Repo{Dir: dir}
	Run(t, "", nil, append(append([]string{"init", "-q", "--bare", "-b", "main"}, args...), dir)...)
	r.Git(t, "config", "gc.auto", "0")
	return r
}

// RequireGit skips the test where there is no git program.
func RequireGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: needs the git program on the PATH")
	}
}

// Env is an environment for git that reads no configuration of the machine.
func Env() []string {
	return append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann Tester", "GIT_AUTHOR_EMAIL=ann@example.com", fmt.Sprintf("GIT_AUTHOR_DATE=%d +0000", epoch),
		"GIT_COMMITTER_NAME=Ann Tester", "GIT_COMMITTER_EMAIL=ann@example.com", fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", epoch))
}

// Run runs git in dir with stdin and returns its output without the final newline.
func Run(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = Env()
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s in %q: %v\n%s", strings.Join(args, " "), dir, err, errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Git runs git in the repository.
func (r *Repo) Git(t testing.TB, args ...string) string {
	t.Helper()
	return Run(t, r.Dir, nil, args...)
}

// URL is the file:// address.
func (r *Repo) URL() string { return "file://" + filepath.ToSlash(r.Dir) }

// Commit adds a commit on a branch (its short name) that changes the tree's
// files and keeps the others; the branch is made where missing. It returns the
// commit's hash.
func (r *Repo) Commit(t testing.TB, branch, message string, tree Tree) string {
	t.Helper()
	return r.commit(t, branch, "", message, tree)
}

// CommitFrom is Commit on a branch that starts at another commit-ish.
func (r *Repo) CommitFrom(t testing.TB, branch, from, message string, tree Tree) string {
	t.Helper()
	return r.commit(t, branch, from, message, tree)
}

func (r *Repo) commit(t testing.TB, branch, from, message string, tree Tree) string {
	t.Helper()
	ref := "refs/heads/" + branch
	if from == "" && r.exists(ref) {
		from = ref
	}
	var in bytes.Buffer
	r.commits++
	when := epoch + r.commits
	fmt.Fprintf(&in, "commit %s\nmark :1\nauthor Ann Tester <ann@example.com> %d +0000\ncommitter Ann Tester <ann@example.com> %d +0000\n", ref, when, when)
	fmt.Fprintf(&in, "data %d\n%s\n", len(message), message)
	if from != "" {
		fmt.Fprintf(&in, "from %s^0\n", from)
	}
	for _, f := range tree.files() {
		writeFile(&in, f)
	}
	in.WriteString("\nget-mark :1\ndone\n")
	return Run(t, r.Dir, in.Bytes(), "fast-import", "--quiet", "--done", "--force")
}

func writeFile(in *bytes.Buffer, f File) {
	mode := f.Mode
	if mode == "" {
		mode = Regular
	}
	if mode == Deleted {
		fmt.Fprintf(in, "D %s\n", quote(f.Path))
		return
	}
	if mode == Submodule {
		fmt.Fprintf(in, "M %s %s %s\n", mode, f.Data, quote(f.Path))
		return
	}
	fmt.Fprintf(in, "M %s inline %s\ndata %d\n", mode, quote(f.Path), len(f.Data))
	in.Write(f.Data)
	in.WriteByte('\n')
}

func quote(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}

// exists looks into the files: cheaper than a process, and tests commit often.
func (r *Repo) exists(ref string) bool {
	if _, err := os.Stat(filepath.Join(r.Dir, filepath.FromSlash(ref))); err == nil {
		return true
	}
	packed, err := os.ReadFile(filepath.Join(r.Dir, "packed-refs"))
	return err == nil && strings.Contains(string(packed), " "+ref+"\n")
}

// Tag makes or moves a lightweight tag.
func (r *Repo) Tag(t testing.TB, name, commit string) {
	t.Helper()
	r.Git(t, "update-ref", "refs/tags/"+name, commit)
}

// AnnotatedTag makes an annotated tag and returns the tag object's hash.
func (r *Repo) AnnotatedTag(t testing.TB, name, commit string) string {
	t.Helper()
	r.Git(t, "tag", "-f", "-a", "-m", "tag "+name, name, commit)
	return r.Git(t, "rev-parse", "refs/tags/"+name)
}

// Branch makes or moves a branch.
func (r *Repo) Branch(t testing.TB, name, commit string) {
	t.Helper()
	r.Git(t, "update-ref", "refs/heads/"+name, commit)
}

// Refs lists all refs but records (docs/design/record.md), full name to hash.
func (r *Repo) Refs(t testing.TB) map[string]string {
	t.Helper()
	refs := r.AllRefs(t)
	maps.DeleteFunc(refs, func(name, _ string) bool { return strings.HasPrefix(name, "refs/variform/") })
	return refs
}

// AllRefs lists all refs, full name to hash.
func (r *Repo) AllRefs(t testing.TB) map[string]string {
	t.Helper()
	refs := map[string]string{}
	for _, line := range strings.Split(r.Git(t, "for-each-ref", "--format=%(refname) %(objectname)"), "\n") {
		if name, hash, ok := strings.Cut(line, " "); ok {
			refs[name] = hash
		}
	}
	return refs
}

// Hook installs a shell script as a server-side hook.
func (r *Repo) Hook(t testing.TB, name, script string) {
	t.Helper()
	dir := filepath.Join(r.Dir, "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Fsck fails the test unless git finds the repository sound.
func (r *Repo) Fsck(t testing.TB) {
	t.Helper()
	r.Git(t, "fsck", "--strict", "--no-dangling")
}

// Show is the content of a file at a commit-ish.
func (r *Repo) Show(t testing.TB, commit, path string) string {
	t.Helper()
	cmd := exec.Command("git", "show", commit+":"+path)
	cmd.Dir = r.Dir
	cmd.Env = Env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git show %s:%s: %v", commit, path, err)
	}
	return string(out)
}
