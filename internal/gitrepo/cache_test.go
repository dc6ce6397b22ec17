package gitrepo

import (
	"reflect"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Files are kept as long as somebody asks for them, large ones never.
func TestBlobCache(t *testing.T) {
	var c blobCache
	hash := func(i int) (h Hash) { h[0], h[1], h[2] = byte(i), byte(i>>8), byte(i>>16); return h }
	asked, large := hash(1), hash(2)
	c.put(asked, []byte("asked"))
	c.put(large, make([]byte, blobCacheBytes/10+1))
	for i := range 3 * blobCacheBytes / 100_000 {
		c.put(hash(10+i), make([]byte, 100_000))
		if data, ok := c.get(asked); !ok || string(data) != "asked" {
			t.Fatalf("after %d: %q, %t", i, data, ok)
		}
	}
	if _, ok := c.get(large); ok {
		t.Error("a large file is kept")
	}
	if _, ok := c.get(hash(10)); ok {
		t.Error("what nobody asked for is kept")
	}
	held := 0
	for _, m := range []map[Hash][]byte{c.now, c.old} {
		for _, data := range m {
			held += len(data)
		}
	}
	if held > 2*blobCacheBytes+200_000 {
		t.Errorf("%d bytes are kept", held)
	}
}

// A commit that a batch made is read once, and not again when it has landed.
func TestMadeCommitsAreNotReadAgain(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	o := Options{CacheDir: t.TempDir()}
	r := openWith(t, repo.Dir, o)
	b := r.NewBatch()
	made := draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	if push(t, b); r.commits.get(made.Hash) != made {
		t.Error("it was read again")
	}
	if again := openWith(t, repo.Dir, o).commits.get(made.Hash); !reflect.DeepEqual(again, made) {
		t.Errorf("the next run has %+v, not %+v", again, made)
	}
}
