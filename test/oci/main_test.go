package oci

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/test/gittest"
	"github.com/variform/variform/test/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

// lab is what one script works with.
type lab struct {
	t        *testing.T
	git      *gittest.Server
	repos    map[string]*gittest.Repo
	registry *front
	path     string // of the script's own part of the registry
}

// TestScripts runs every script with each registry.
func TestScripts(t *testing.T) {
	gittest.RequireGit(t)
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for kind, start := range registries {
		t.Run(kind, func(t *testing.T) {
			inner := start(t)
			for _, script := range scripts {
				newLab(t, inner, script).run(script)
			}
		})
	}
}

func newLab(t *testing.T, inner http.Handler, script string) *lab {
	return &lab{
		t: t, git: gittest.NewServer(t), repos: map[string]*gittest.Repo{}, registry: newFront(t, inner),
		path: strings.TrimSuffix(filepath.Base(script), ".txtar"),
	}
}

func (l *lab) run(script string) {
	testscript.Run(l.t, testscript.Params{
		Files: []string{script},
		Setup: func(e *testscript.Env) error {
			scripttest.Setup(e, map[string]string{
				"VARIFORM_FLEET": filepath.Join(e.WorkDir, "fleet"),
				"REGISTRY":       l.registry.addr + "/" + l.path, "HOST": l.registry.addr, "GIT": l.git.URL,
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gitrepo": l.gitRepo, "publish": l.publish, "edit": l.edit, "show": l.show, "tree": l.tree,
			"expand": expand, "status": scripttest.Wide, "remember": remember, "pull": pull, "image": image,
			"registry": l.registryCommand, "pushes": l.pushes,
		},
	})
}

// gitRepo makes repositories with a first commit: gitrepo NAME…
func (l *lab) gitRepo(_ *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		l.repos[name] = l.git.NewRepo(l.t, name)
		l.repos[name].Commit(l.t, "main", "start", gittest.Text{"README.md": "# " + name + "\n"})
	}
}

// publish commits a folder to a place in a repository and tags it:
// publish REPO DIR PATH TAG…
func (l *lab) publish(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: publish REPO DIR PATH TAG...")
	}
	files, err := pkgdir.Read(ts.MkAbs(args[1]), nil)
	ts.Check(err)
	tree := make(gittest.Files, len(files))
	for i, f := range files {
		tree[i] = gittest.File{Path: path.Join(args[2], f.Path), Data: f.Data}
		if f.Mode == krm.Executable {
			tree[i].Mode = gittest.Executable
		}
	}
	repo := l.repos[args[0]]
	commit := repo.Commit(l.t, "main", "publish "+args[2], tree)
	for _, tag := range args[3:] {
		repo.Tag(l.t, tag, commit)
	}
}

// edit replaces text in a file of a branch, as a person would with a commit:
// edit REPO BRANCH FILE FROM TO
func (l *lab) edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: edit REPO BRANCH FILE FROM TO")
	}
	repo := l.repos[args[0]]
	old := repo.Show(l.t, args[1], args[2])
	if !strings.Contains(old, args[3]) {
		ts.Fatalf("%s has no %q:\n%s", args[2], args[3], old)
	}
	repo.Commit(l.t, args[1], "by hand", gittest.Text{args[2]: strings.Replace(old, args[3], args[4], 1)})
}

// show prints a file of a branch or tag, or without a file the message of its
// commit: show REPO REF [FILE]
func (l *lab) show(ts *testscript.TestScript, neg bool, args []string) {
	what := []string{"log", "-1", "--format=%B", args[1]}
	if len(args) == 3 {
		what = []string{"show", args[1] + ":" + args[2]}
	}
	err := ts.Exec("git", append([]string{"--git-dir", l.repos[args[0]].Dir}, what...)...)
	if (err != nil) != neg {
		ts.Fatalf("showing %v: %v", args, err)
	}
}

// tree writes the files of a branch or tag to a folder: tree REPO REF DIR
func (l *lab) tree(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("git", "clone", "--quiet", "--branch", args[1], l.repos[args[0]].Dir, ts.MkAbs(args[2])))
}

// pushes compares how many pushes the Git server saw, and counts from 0 again:
// pushes N
func (l *lab) pushes(ts *testscript.TestScript, _ bool, args []string) {
	if have := strconv.Itoa(l.git.Count(gittest.Push)); have != args[0] {
		ts.Fatalf("%s pushes to Git, want %s", have, args[0])
	}
	l.git.ResetCounts()
}

// registryCommand changes and asks the registry:
//
//	registry heal                      end all faults, and count from 0
//	registry count METHOD KIND N       compare the number of requests
//	registry fail METHOD KIND N STATUS
//	registry damage METHOD KIND        change what it answers
//	registry login USER PASSWORD       refuse everybody else
func (l *lab) registryCommand(ts *testscript.TestScript, _ bool, args []string) {
	f := l.registry
	if args[0] == "heal" {
		f.heal()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch kind := strings.Join(args[1:3], " "); args[0] {
	case "count":
		if have := strconv.Itoa(f.seen[kind]); have != args[3] {
			ts.Fatalf("%s times %s, want %s: %v", have, kind, args[3], f.seen)
		}
	case "fail":
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		code, err := strconv.Atoi(args[4])
		ts.Check(err)
		f.fail[kind] = fault{n, code}
	case "damage":
		f.damage = kind
	case "login":
		f.user, f.password = args[1], args[2]
	default:
		ts.Fatalf("registry %s?", args[0])
	}
}

// expand replaces $NAME of the environment in files: expand FILE…
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// remember keeps the digest that push printed: remember NAME
func remember(ts *testscript.TestScript, _ bool, args []string) {
	_, digest, ok := strings.Cut(strings.TrimSpace(ts.ReadFile("stdout")), "@")
	if !ok || strings.ContainsAny(digest, " \n") {
		ts.Fatalf("stdout is not one image@digest:\n%s", ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], digest)
}

// image pushes an image that holds one file: image IMAGE FILE
func image(ts *testscript.TestScript, _ bool, args []string) {
	ref, err := name.ParseReference(args[0])
	ts.Check(err)
	img, err := crane.Image(map[string][]byte{args[1]: []byte(ts.ReadFile(args[1]))})
	ts.Check(err)
	ts.Check(remote.Write(ref, img))
}

// pull unpacks an image as any tool does that knows nothing of packages:
// pull IMAGE DIR
func pull(ts *testscript.TestScript, _ bool, args []string) {
	ref, err := name.ParseReference(args[0])
	ts.Check(err)
	img, err := remote.Image(ref)
	ts.Check(err)
	flat := mutate.Extract(img)
	defer func() { _ = flat.Close() }()
	files := tar.NewReader(flat)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
		to := filepath.Join(ts.MkAbs(args[1]), filepath.FromSlash(path.Clean("/"+h.Name)))
		ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
		data, err := io.ReadAll(files)
		ts.Check(err)
		ts.Check(os.WriteFile(to, data, h.FileInfo().Mode().Perm()))
	}
}
