package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A list of refs is read in large pieces, not two for each ref: each piece has a clock.
func TestAllocationsOfRefs(t *testing.T) {
	const refs, most = 2000, 7
	srv := gittest.NewServer(t)
	repo := srv.NewRepo(t, "fleet")
	commit := repo.Commit(t, "main", "base", gittest.Text{"README.md": "# fleet\n"})
	packed := bytes.NewBufferString("# pack-refs with: peeled fully-peeled sorted\n")
	for i := range refs {
		fmt.Fprintf(packed, "%s refs/heads/drafts/clusters/cluster-%05d/app/packagevariant-1\n", commit, i)
	}
	if err := os.WriteFile(filepath.Join(repo.Dir, "packed-refs"), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, srv.RepoURL("fleet"))
	allocs := testing.AllocsPerRun(5, func() {
		if err := r.Refresh(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if n := r.Refs().Len(); n != refs+1 {
		t.Fatalf("%d refs, want %d", n, refs+1)
	}
	if each := allocs / refs; each > most {
		t.Errorf("%.1f objects allocated for each ref, want %d at most", each, most)
	}
}

// Refs that are files are read whatever stands in them and beside them, and cost few
// objects each.
func TestLooseRefs(t *testing.T) {
	const refs, most = 500, 20
	repo := gittest.NewRepo(t)
	commit := repo.Commit(t, "main", "base", gittest.Text{"README.md": "# fleet\n"})
	long := "refs/heads/" + strings.Repeat("long/", 40) + "name"
	want := map[string]bool{"refs/heads/main": true, "refs/heads/symbolic": true, "refs/heads/bare": true, long: true}
	text := map[string]string{
		"refs/heads/symbolic":    "ref: " + long + "\n",
		"refs/heads/bare":        commit, // no line's end
		"refs/heads/empty":       "",
		"refs/heads/garbage":     "garbage\n",
		"refs/heads/nowhere":     "ref: refs/heads/none\n",
		"refs/heads/bare.lock":   commit + "\n",
		"refs/elsewhere/ignored": commit + "\n",
		long:                     commit + "\n",
	}
	for i := range refs {
		name := fmt.Sprintf("refs/heads/drafts/cluster-%05d-app/packagevariant-1", i)
		want[name], text[name] = true, commit+"\n"
	}
	for name, text := range text {
		file := filepath.Join(repo.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("mkfifo", filepath.Join(repo.Dir, "refs/heads/pipe")).Run(); err != nil {
		t.Log("without a pipe:", err)
	}
	r := open(t, repo.Dir)
	for _, ref := range r.Refs().All() {
		if !want[ref.Name] || ref.Hash.String() != commit {
			t.Errorf("%s is at %s", ref.Name, ref.Hash)
		}
		delete(want, ref.Name)
	}
	for name := range want {
		t.Errorf("%s was not read", name)
	}
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := r.local.readLoose("refs/heads"); err != nil {
			t.Error(err)
		}
	})
	if each := allocs / refs; each > most {
		t.Errorf("%.1f objects allocated for each ref, want %d at most", each, most)
	}
}
