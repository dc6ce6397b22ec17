package pkgdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

func TestReadWrite(t *testing.T) {
	dir := t.TempDir()
	write := func(p, s string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte(s), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", "a", 0o644)
	write("sub/run.sh", "#!/bin/sh\n", 0o755)
	write("gone.yaml", "x", 0o644)
	write(".git/config", "no", 0o644)
	if err := os.Symlink("sub/run.sh", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	before, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []krm.File{
		{Path: "a.yaml", Data: []byte("a")},
		{Path: "gone.yaml", Data: []byte("x")},
		{Path: "link", Mode: krm.Symlink, Data: []byte("sub/run.sh")},
		{Path: "sub/run.sh", Mode: krm.Executable, Data: []byte("#!/bin/sh\n")},
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Fatalf("Read (-want +got):\n%s", diff)
	}
	after := []krm.File{{Path: "a.yaml", Data: []byte("b")}, before[2], before[3], {Path: "new/dir/n.yaml", Data: []byte("n")}}
	changed, err := Write(dir, before, after)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.yaml", "new/dir/n.yaml", "gone.yaml"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	got, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]krm.File{after[0], after[1], after[3], after[2]}, got); diff != "" {
		t.Errorf("after Write (-want +got):\n%s", diff)
	}
}

func TestWriteStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"../x.yaml", "out/x.yaml", "/x.yaml"} {
		if _, err := Write(dir, nil, []krm.File{{Path: p, Data: []byte("x")}}); err == nil {
			t.Errorf("writing %s left the folder", p)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%d files were written outside", len(entries))
	}
}

// A folder keeps to the rules of packages from elsewhere.
func TestFoldersAreBounded(t *testing.T) {
	for title, test := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"link out": {func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "l")) }, "l is a symbolic link that leads out of the package"},
		"pipe":     {func(dir string) error { return exec.Command("mkfifo", filepath.Join(dir, "p")).Run() }, "p is a device, a pipe"},
		"controls": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a\x1bb"), nil, 0o600) }, "control character"},
		"large":    {func(dir string) error { return os.WriteFile(filepath.Join(dir, "f"), make([]byte, 16<<20+1), 0o600) }, "f has 16777217 bytes, more than 16777216"},
	} {
		dir := t.TempDir()
		if err := test.make(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", title, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := Read(dir, nil); err != nil || len(files) > 0 {
		t.Errorf("a linked work tree: %v, %v", files, err)
	}
}

func TestSkipsModules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".gitmodules", "sub/.gitmodules", "a.yaml"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("a: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notes := 0
	files, err := Read(dir, func(string, ...any) { notes++ })
	if err != nil || len(files) != 1 || files[0].Path != "a.yaml" || notes != 2 {
		t.Errorf("%v, %d notes, %v", files, notes, err)
	}
}
