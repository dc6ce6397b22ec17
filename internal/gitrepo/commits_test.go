package gitrepo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/test/gittest"
)

// commitTexts are raw commits by name, in order.
func commitTexts(n, size int) (names []Hash, raws map[Hash][]byte) {
	raws = map[Hash][]byte{}
	by := Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1700000000, 0).UTC()}
	for i := range n {
		raw := encodeCommit(Hash{1}, []Hash{{2}}, by, by, fmt.Sprintf("commit %d\n\n%s\n", i, strings.Repeat("x", size)))
		h := hashObject(plumbing.CommitObject, raw)
		names, raws[h] = append(names, h), raw
	}
	return names, raws
}

// commitFile is a cache's file that has so many commits, and where each is in it.
func commitFile(t *testing.T, n, size int) (path string, names []Hash, raws map[Hash][]byte, at map[Hash]commitRecord) {
	t.Helper()
	names, raws = commitTexts(n, size)
	path = filepath.Join(t.TempDir(), "commits")
	if err := openCommitCache(path).add(raws, unmade); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at = map[Hash]commitRecord{}
	end := commitRecords(bytes.NewReader(data), int64(len(data)), func(h Hash, start int64, size int) bool {
		at[h] = commitRecord{uint32(start), uint32(size)}
		return true
	})
	if len(at) != n || end != int64(len(data)) {
		t.Fatalf("the file has %d commits in %d of %d bytes, want %d", len(at), end, len(data), n)
	}
	return path, names, raws, at
}

// TestCommitCacheReadsWhatIsAskedFor holds that a file which has many commits costs what is
// asked of it.
func TestCommitCacheReadsWhatIsAskedFor(t *testing.T) {
	path, names, raws, _ := commitFile(t, 2000, 4000)
	c := openCommitCache(path)
	defer c.close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	one := c.get(names[7])
	runtime.ReadMemStats(&after)
	if one == nil || !strings.HasPrefix(one.Message, "commit 7\n") {
		t.Fatalf("got %+v", one)
	}
	if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > 1000 { // of 8 MB
		t.Errorf("%d KiB were allocated for one commit", kib)
	}
	if len(c.read) != 1 || c.len() != len(names) || c.get(names[7]) != one {
		t.Errorf("%d commits were read of %d", len(c.read), c.len())
	}
	c.take(names[7], names[8], Hash{9}, names[8])
	if len(c.read) != 2 || c.len() != len(names) || c.get(names[7]) != one || c.get(Hash{9}) != nil {
		t.Errorf("%d commits were read of %d", len(c.read), c.len())
	}
	for _, h := range []Hash{names[7], names[9]} { // read, and not
		if m := c.matching(h.String()[:20]); len(m) != 1 || m[0] != h {
			t.Errorf("%v have that prefix, want %s", m, h)
		}
	}
	size := fileSize(t, path)
	if err := c.add(map[Hash][]byte{names[9]: raws[names[9]]}, unmade); err != nil {
		t.Fatal(err)
	}
	again := openCommitCache(path)
	defer again.close()
	if now := fileSize(t, path); again.len() != len(names) || now != size {
		t.Errorf("what the file has was added to it: %d commits in %d bytes, %d before", again.len(), now, size)
	}
}

// A local repository has all that its commits hold: who only needs them there has none read.
func TestLocalPlacesReadNoCommits(t *testing.T) {
	origin := gittest.NewRepo(t)
	var places []Place
	for i := range 3 {
		commit := origin.Commit(t, "main", fmt.Sprint(i), gittest.Text{"app/Kptfile": fmt.Sprint(i)})
		places = append(places, Place{Commit: plumbing.NewHash(commit), Path: "app"})
	}
	o := Options{CacheDir: t.TempDir()}
	r := openWith(t, origin.Dir, o)
	if _, err := r.Commits(t.Context(), places[0].Commit, places[1].Commit); err != nil {
		t.Fatal(err)
	}
	r.LetGo()
	r = openWith(t, origin.Dir, o) // whose file has two
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	if len(r.commits.read) != 0 || len(r.commits.came) != 1 || len(r.commits.at) != 2 {
		t.Errorf("%d commits of the file were read, %d came, of %d", len(r.commits.read), len(r.commits.came), len(r.commits.at))
	}
	for _, missing := range []Hash{{9}, {}} {
		if err := r.FetchPlaces(t.Context(), places[0], Place{Commit: missing}); !errors.Is(err, ErrMissingObject) {
			t.Errorf("%s: got %v, want %v", missing, err, ErrMissingObject)
		}
	}
}

// Commits that the file has are let go, and read again; one that was made here stays.
func TestCommitsAreLetGo(t *testing.T) {
	path, names, _, _ := commitFile(t, 20, 10)
	c := openCommitCache(path)
	one := c.get(names[7])
	c.take(names...)
	mades, made := commitTexts(21, 10)
	if err := c.add(map[Hash][]byte{mades[20]: made[mades[20]]}, unmade); err != nil {
		t.Fatal(err)
	}
	mine := c.get(mades[20])
	c.letGo()
	if len(c.read) != 0 || c.get(mades[20]) != mine || c.len() != 21 {
		t.Errorf("%d commits are kept of %d", len(c.read), c.len())
	}
	if m := c.matching(""); len(m) != 21 {
		t.Errorf("%d commits are known", len(m))
	}
	if n := testing.AllocsPerRun(1, c.letGo); n > 0 {
		t.Errorf("%.0f allocations, with nothing to let go", n)
	}
	again := c.get(names[7])
	if again == one || !reflect.DeepEqual(again, one) {
		t.Errorf("read again: %+v, want %+v", again, one)
	}
	if m := c.matching(names[7].String()); len(m) != 1 {
		t.Errorf("one that was read again is %d", len(m))
	}
	c.take(names...)
	c.close()
	c.letGo() // of what nobody could read again
	for _, h := range append(names, mades[20]) {
		if c.get(h) == nil {
			t.Errorf("%s is lost", h)
		}
	}
}

// Who asks for commits gets them while others let them go, as Repositories of one repository
// do that are read side by side; the race detector watches.
func TestCommitsAreLetGoMeanwhile(t *testing.T) {
	path, names, _, _ := commitFile(t, 50, 10)
	c := openCommitCache(path)
	defer c.close()
	var asking, letting sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		letting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					c.letGo()
				}
			}
		})
	}
	for i := range 4 {
		asking.Go(func() {
			for n := range 2000 {
				h, other := names[(i*31+n)%len(names)], names[(i*7+n)%len(names)]
				if one := c.get(h); one == nil || one.Hash != h {
					t.Errorf("%s gave %v", h, one)
					return
				}
				if two := c.take(h, other, Hash{9}); two[0] == nil || two[0].Hash != h || two[1] == nil || two[1].Hash != other || two[2] != nil {
					t.Errorf("%s and %s gave %v", h, other, two)
					return
				}
			}
		})
	}
	asking.Wait()
	close(done)
	letting.Wait()
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestCommitCacheDamaged holds that what is damaged is not there, and comes again once it
// was added, and that the rest stays.
func TestCommitCacheDamaged(t *testing.T) {
	const n = 20
	for name, c := range map[string]struct {
		damage func(data []byte, at int) []byte // at is the record of the tenth
		lost   int                              // commits from the tenth on
	}{
		"a text":        {func(data []byte, at int) []byte { data[at+60] ^= 1; return data }, 1},
		"a name":        {func(data []byte, at int) []byte { data[at-1] ^= 1; return data }, 1},
		"a long length": {func(data []byte, at int) []byte { data[at-commitRecordHead] = 0x7f; return data }, n - 10},
		"past the end": {func(data []byte, at int) []byte {
			binary.BigEndian.PutUint32(data[at-commitRecordHead:], uint32(len(data)))
			return data
		}, n - 10},
		"torn in a text":   {func(data []byte, at int) []byte { return data[:at+60] }, n - 10},
		"torn in a length": {func(data []byte, at int) []byte { return data[:at-commitRecordHead+2] }, n - 10},
		"empty":            {func([]byte, int) []byte { return nil }, n},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, raws, at := commitFile(t, n, 100)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ordered := make([]Hash, 0, n)
			_ = commitRecords(strings.NewReader(string(data)), int64(len(data)), func(h Hash, _ int64, _ int) bool {
				ordered = append(ordered, h)
				return true
			})
			if err := os.WriteFile(path, c.damage(data, int(at[ordered[10]].at)), 0o600); err != nil {
				t.Fatal(err)
			}
			cache := openCommitCache(path)
			defer cache.close()
			cache.take(ordered...)
			lost := map[Hash][]byte{}
			for i, h := range ordered {
				if got := cache.get(h); (got == nil) != (i >= 10 && i < 10+c.lost || c.lost == n) || got != nil && got.Hash != h {
					t.Errorf("commit %d: %+v", i, got)
				}
				if cache.get(h) == nil {
					lost[h] = raws[h]
				}
			}
			if err := cache.add(lost, unmade); err != nil {
				t.Fatal(err)
			}
			again := openCommitCache(path)
			defer again.close()
			for i, h := range ordered {
				if cache.get(h) == nil || again.get(h) == nil {
					t.Errorf("commit %d is not there after it was added", i)
				}
			}
		})
	}
}

// TestCommitCacheHalves holds that a file which has grown too large loses its older half,
// whole records of it, and no more than that.
func TestCommitCacheHalves(t *testing.T) {
	const most = 100_000
	path, _, raws, at := commitFile(t, 300, 200)
	size := fileSize(t, path)
	c := openCommitCache(path)
	defer c.close()
	c.most = most
	have, now := c.len(), fileSize(t, path)
	if size <= most || now > most/2 || now < most/2-1000 || have == 0 || have >= 300 {
		t.Errorf("%d commits in %d bytes are left of 300 in %d", have, now, size)
	}
	var lost Hash
	for h, r := range at {
		if got := c.get(h); (got != nil) != (int64(r.at)-commitRecordHead >= size-now) {
			t.Errorf("the one at %d of %d: %t", r.at, size, got != nil)
		} else if got == nil {
			lost = h
		}
	}
	if c.len() != have {
		t.Errorf("%d of %d commits could be read", c.len(), have)
	}
	again := openCommitCache(path)
	defer again.close()
	if err := c.add(map[Hash][]byte{lost: raws[lost]}, unmade); err != nil || again.get(lost) == nil || again.len() != have+1 {
		t.Errorf("of %d commits and one that was added %d are there: %v", have, again.len(), err)
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(names) != 1 {
		t.Errorf("files are left: %v", names)
	}
}

// TestCommitCacheAtOnce reads the same commits side by side, while some are added; the race
// detector watches.
func TestCommitCacheAtOnce(t *testing.T) {
	path, names, _, _ := commitFile(t, 200, 10)
	more, raws := commitTexts(230, 10)
	c := openCommitCache(path)
	defer c.close()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i == 0 {
				if err := c.add(raws, unmade); err != nil {
					t.Error(err)
				}
			}
			c.take(names[i*10:]...)
			for j := range names {
				h := names[(i*31+j)%len(names)]
				if one, same := c.get(h), c.get(h); one == nil || one != same {
					t.Errorf("%s is not there, or twice", h)
				}
			}
		})
	}
	wg.Wait()
	unread := 0
	for h := range c.at {
		if c.held(h) == nil {
			unread++
		}
	}
	if c.len() != len(more) || unread != 0 {
		t.Errorf("%d commits, and %d unread; want %d", c.len(), unread, len(more))
	}
}
