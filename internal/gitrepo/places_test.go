package gitrepo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Places are written some at once, and are all there after a flush, which a push ends
// with.
func TestPlacesAreWrittenTogether(t *testing.T) {
	const n = 1000
	file := filepath.Join(t.TempDir(), "git", "places")
	c := &placeCache{path: file, key: []byte("a key")}
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
		again := &placeCache{path: file, key: []byte("a key")}
		for _, dir := range []string{"0", "999", last} {
			if _, known := again.get(Hash{1}, dir); !known {
				t.Errorf("the place %s is not in the file", dir)
			}
		}
		again.close()
	}
}

// A file that has grown large keeps its newer half, and one that is damaged nothing.
func TestPlacesAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "places")
	c := &placeCache{path: file, key: []byte("a key")}
	const n = maxPlaceRecords + 2
	for i := range n {
		c.put(Hash{1}, strconv.Itoa(i), Hash{2})
	}
	c.close()
	left := func() (at []int) {
		again := &placeCache{path: file, key: []byte("a key")}
		defer again.close()
		for _, i := range []int{0, n/2 - 1, n/2 + 1, n - 1} {
			if _, known := again.get(Hash{1}, strconv.Itoa(i)); known {
				at = append(at, i)
			}
		}
		if len(at) > 0 && len(again.at) != maxPlaceRecords/2 {
			t.Errorf("%d places are known, want %d", len(again.at), maxPlaceRecords/2)
		}
		return at
	}
	for range 2 {
		if got, want := left(), []int{n/2 + 1, n - 1}; !slices.Equal(got, want) {
			t.Errorf("%v are known, want %v", got, want)
		}
		if st, err := os.Stat(file); err != nil || st.Size() != maxPlaceRecords/2*placeRecord {
			t.Errorf("%v, %v: want a file of %d records", st, err, maxPlaceRecords/2)
		}
	}
	data, err := os.ReadFile(file)
	if err == nil {
		data[len(data)/2] ^= 1
		err = os.WriteFile(file, data, 0o600)
	}
	if got := left(); err != nil || len(got) != 0 {
		t.Errorf("%v are known of a damaged file: %v", got, err)
	}
}

func TestPlacesOfAPushAreKept(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	o := Options{CacheDir: t.TempDir(), Key: []byte("a key")}
	known := func(at *Commit, path string) bool {
		_, known := openWith(t, repo.Dir, o).KnownTreeAt(at.Hash, path)
		return known
	}
	r := openWith(t, repo.Dir, o)
	base := head(t, r, "main")
	_, _, err := r.TreeAt(t.Context(), base.Hash, "a")
	if r.store.Close(); err != nil || !known(base, "a") {
		t.Errorf("what was read is not kept, %v", err)
	}
	r = openWith(t, repo.Dir, o)
	b := r.NewBatch()
	at := draft(t, b, "app", "w", base, files("app", 2))
	if push(t, b); !known(at, "app") {
		t.Error("what was pushed is not kept")
	}
	if o.Key = []byte("another"); known(at, "app") {
		t.Error("what another machine wrote is believed")
	}
}

// The commits of a large push are kept as those of a small one, which are read meanwhile.
func TestCommitsOfAPushAreKept(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"README.md": "x"})
	o := Options{CacheDir: t.TempDir()}
	r := openWith(t, repo.Dir, o)
	b := r.NewBatch()
	made := make([]*Commit, commitsAtOnce+2)
	for i := range made {
		made[i] = draft(t, b, fmt.Sprintf("app-%d", i), "w", head(t, r, "main"), files("app", 2))
	}
	push(t, b)
	later := openWith(t, repo.Dir, o)
	for i, c := range made {
		if got := later.commits.get(c.Hash); got == nil || got.Tree != c.Tree {
			t.Fatalf("commit %d of %d is not kept", i, len(made))
		}
	}
}
