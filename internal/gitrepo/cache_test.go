package gitrepo

import (
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/variform/variform/internal/krm"
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

// What was asked for once, or some times in a row, makes room first, however much there
// is of it.
func TestPackageCacheDrops(t *testing.T) {
	var c packageCache
	reads := map[int]int{}
	get := func(i int) {
		if _, err := c.get(t.Context(), Hash{byte(i), byte(i >> 8)}, func() (*krm.Package, int64, error) {
			reads[i]++
			p, err := krm.Parse(nil)
			return p, packageCacheBytes[false] / 8, err
		}); err != nil {
			t.Fatal(err)
		}
	}
	other := 1 << 15
	others := func(n int) {
		for range n {
			other++
			get(other)
		}
	}
	for i := range 1000 { // as variants' own
		get(100 + i)
		get(100 + i)
		if get(100 + i); reads[100+i] != 1 {
			t.Fatalf("%d was read %d times in a row", i, reads[100+i])
		}
	}
	if c.bytes[true] > 0 || len(c.items) < 4 || len(c.items) > 9 {
		t.Errorf("%d packages are kept, %d bytes as asked for later on", len(c.items), c.bytes[true])
	}

	for range readOften { // as upstreams that are far from each other
		for i := range 10 {
			get(i)
		}
		others(20)
	}
	others(1000)
	for i := range 10 {
		if get(i); reads[i] != readOften {
			t.Errorf("%d was read %d times", i, reads[i])
		}
	}

	get(50) // as one that is near
	for range askedLater + 1 {
		get(51)
	}
	get(50)
	others(1000)
	if get(50); reads[50] != 1 {
		t.Errorf("it was read %d times", reads[50])
	}
	if get(51); reads[51] != 2 {
		t.Errorf("what was asked for in a row was read %d times", reads[51])
	}

	for i := range 1000 {
		for range readOften {
			get(2000 + i)
			others(10)
		}
	}
	if most := packageCacheBytes[true]; c.bytes[true] > most || c.bytes[true] < most/4 {
		t.Errorf("%d of %d bytes are kept", c.bytes[true], most)
	}
	if get(0); reads[0] != readOften+1 {
		t.Errorf("what was asked for long ago is kept")
	}

	const limit = 256 << 20
	was := debug.SetMemoryLimit(limit)
	defer debug.SetMemoryLimit(was)
	for range readOften {
		get(4000)
		others(20)
	}
	if c.bytes[true] > limit/packageCachePart {
		t.Errorf("%d bytes are kept below a limit of %d", c.bytes[true], limit)
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
