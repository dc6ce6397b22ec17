package gitrepo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// TestClose: a closed Store has no file open and no connection.
func TestClose(t *testing.T) {
	s := gittest.NewServer(t)
	r := s.NewRepo(t, "one")
	commit := r.Commit(t, "main", "begin", gittest.Text{"web/Kptfile": "kind: Kptfile\n"})
	cache := t.TempDir()
	open := func() (files []string) {
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(links) == 0 {
			t.Skip("skipped: needs /proc, to see what is open")
		}
		for _, l := range links {
			if file, _ := os.Readlink(l); strings.HasPrefix(file, cache) {
				files = append(files, file)
			}
		}
		return files
	}
	store := NewStore(Options{CacheDir: cache})
	repo, err := store.Open(t.Context(), s.RepoURL("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.FilesAt(t.Context(), commit, "web"); err != nil {
		t.Fatal(err)
	}
	if len(open()) == 0 {
		t.Fatal("nothing was open: this test sees nothing")
	}
	store.Close()
	if files := open(); len(files) > 0 {
		t.Errorf("open: %v", files)
	}
	s.Wait() // for the end of all connections
}
