package gitrepo

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A line of commits costs its folders, where the server can leave files out, in no
// more requests than with them, and nothing on the second run. What came without its
// files is not taken for whole.
func TestOutline(t *testing.T) {
	cost := map[bool]int64{}
	for _, filter := range []bool{true, false} {
		t.Run(fmt.Sprint("filter=", filter), func(t *testing.T) {
			s := newSite(t)
			s.repo.Git(t, "config", "uploadpack.allowFilter", fmt.Sprint(filter))
			rng := rand.New(rand.NewPCG(1, 2))
			noise := func() string { // that no server can make smaller
				b := make([]byte, 8<<10)
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				return "a: " + hex.EncodeToString(b) + "\n"
			}
			for n := range 30 {
				text := gittest.Text{}
				for i := range 60 {
					if pkg := fmt.Sprintf("app-%02d", i); n == 0 || n == i {
						text[pkg+"/Kptfile"], text[pkg+"/cm.yaml"] = kptfile(pkg), noise()
					}
				}
				s.repo.Commit(t, "main", "step", text)
			}
			cache := t.TempDir()
			for run := range 3 {
				if run == 2 {
					packs, _ := filepath.Glob(filepath.Join(cache, "git", "*", "outline", packFolder, "*"))
					if (len(packs) > 0) != filter {
						t.Fatalf("packs of folders: %v", packs)
					}
					for _, p := range packs {
						if err := os.Truncate(p, 40); err != nil {
							t.Fatal(err)
						}
					}
				}
				r := openWith(t, s.urls["http"], Options{CacheDir: cache})
				tip := head(t, r, "main")
				s.srv.ResetCounts()
				line, err := r.FirstParents(t.Context(), tip.Hash, 100)
				if err != nil || len(line) != 30 {
					t.Fatal(len(line), err)
				}
				fetches := s.srv.Count(gittest.Fetch)
				along, err := r.Along(t.Context(), line)
				if err != nil {
					t.Fatal(err)
				}
				want := 1
				if run == 1 || run == 2 && !filter {
					want = 0
				}
				if got := s.srv.Count(gittest.Fetch) - fetches; got > want || run == 0 && filter && got != 1 {
					t.Errorf("run %d: %d fetches, want %d", run, got, want)
				}
				if run == 0 {
					for stream, n := range s.srv.Passed() {
						if stream.Answer {
							cost[filter] += n
						}
					}
				}
				at := len(line) - 2 // the first step after the beginning
				if got := along.Changes("app-01"); len(got) != 1 || got[0] != at+1 {
					t.Errorf("app-01 changed at %v, want %d", got, at+1)
				}
				tree, err := along.Tree(at, "app-01")
				if err != nil || tree.IsZero() {
					t.Fatal(tree, err)
				}
				if run == 0 && r.Outlined(line[at].Hash) != filter {
					t.Errorf("outlined: %v", !filter)
				}
				if err := r.Fetch(t.Context(), line[at].Hash); err != nil {
					t.Fatal(err)
				}
				if p, err := r.ReadPackage(t.Context(), tree); err != nil || p.Kptfile("") == nil {
					t.Errorf("the package there: %v", err)
				}
			}
		})
	}
	t.Logf("%d bytes without files, %d with them", cost[true], cost[false])
	if cost[true]*10 > cost[false] {
		t.Errorf("%d bytes without files, %d with them", cost[true], cost[false])
	}
}
