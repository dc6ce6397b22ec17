package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/variform/variform/internal/gittest"
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
