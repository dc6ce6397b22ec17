package gitrepo

import (
	"testing"

	"github.com/variform/variform/internal/krm"
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

// What was asked for once makes room first, however much there is of it.
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
	for i := range 20 {
		get(i % 10)
		get(i % 10)
	}
	for i := range 1000 {
		get(100 + i)
	}
	for i := range 10 {
		if get(i); reads[i] != 1 {
			t.Errorf("%d was read %d times", i, reads[i])
		}
	}
	if once := len(c.items) - 10; once < 4 || once > 9 {
		t.Errorf("%d that were asked for once are kept", once)
	}
	for i := range 1000 {
		get(2000 + i)
		get(2000 + i)
	}
	if most := packageCacheBytes[true]; c.bytes[true] > most || c.bytes[true] < most/4 {
		t.Errorf("%d of %d bytes are kept", c.bytes[true], most)
	}
	if get(0); reads[0] != 2 {
		t.Errorf("what was asked for long ago is kept")
	}
}
