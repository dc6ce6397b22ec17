package gitrepo

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/variform/variform/internal/gittest"
)

// Places are written some at once, and are all there after a flush, which a push ends
// with.
func TestPlacesAreWrittenTogether(t *testing.T) {
	const n = 1000
	file := filepath.Join(t.TempDir(), "git", "places")
	c := &placeCache{path: file}
	size := func() int64 {
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	writes, last := 0, int64(0)
	for i := range n {
		c.put(Hash{1}, strconv.Itoa(i), Hash{2, byte(i)})
		if now := size(); now != last {
			writes, last = writes+1, now
		}
	}
	if writes == 0 || writes > n/50 {
		t.Errorf("%d writes of %d places", writes, n)
	}
	for _, write := range []func(){c.flush, c.close} {
		last := strconv.FormatInt(size(), 10)
		c.put(Hash{1}, last, Hash{3})
		write()
		again := &placeCache{path: file}
		for _, dir := range []string{"0", "999", last} {
			if _, known := again.get(Hash{1}, dir); !known {
				t.Errorf("the place %s is not in the file", dir)
			}
		}
		again.close()
	}
}

func TestPlacesOfAPushAreKept(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	o := Options{CacheDir: t.TempDir()}
	known := func(at *Commit, path string) bool {
		_, known := openWith(t, repo.Dir, o).KnownTreeAt(at.Hash, path)
		return known
	}
	r := openWith(t, repo.Dir, o)
	base := head(t, r, "main")
	if _, _, err := r.TreeAt(t.Context(), base.Hash, "a"); err != nil || !known(base, "a") {
		t.Errorf("what was read is not kept, %v", err)
	}
	b := r.NewBatch()
	at := draft(t, b, "app", "w", base, files("app", 2))
	if push(t, b); !known(at, "app") {
		t.Error("what was pushed is not kept")
	}
}
