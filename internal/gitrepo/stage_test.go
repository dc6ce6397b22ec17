package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// noisy is a package of two files that compress badly.
func noisy(n int) []krm.File {
	data := make([]byte, 100<<10)
	rand.New(rand.NewSource(int64(n))).Read(data)
	return []krm.File{{Path: "Kptfile", Data: []byte(kptfile("a"))}, {Path: "sub/data", Data: data}}
}

// What is staged is on the server after a push, whether it is in memory or in the
// file by then, and whoever staged it.
func TestStage(t *testing.T) {
	for name, dir := range map[string]func(t *testing.T) string{
		"a cache folder": func(t *testing.T) string { return t.TempDir() },
		"none":           func(*testing.T) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			cache := dir(t)
			srv := gittest.NewServer(t)
			git := srv.NewRepo(t, "c1")
			r, err := NewStore(Options{CacheDir: cache}).Open(t.Context(), srv.RepoURL("c1"))
			if err != nil {
				t.Fatal(err)
			}
			s := r.NewStage()
			const n = 40
			trees := make([]Hash, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Add(1)
				go func() {
					defer wg.Done()
					var err error
					if trees[i], err = s.PackageTree(noisy(i)); err != nil {
						t.Error(err)
					}
				}()
			}
			wg.Wait()
			if len(s.spilled) == 0 || len(s.tail) >= stageTail || s.written < (n-1)*100<<10-stageTail {
				t.Errorf("%d bytes in memory, %d in the file", len(s.tail), s.written)
			}
			size := s.written + int64(len(s.tail))
			if again, err := s.PackageTree(noisy(3)); err != nil || again != trees[3] || s.written+int64(len(s.tail)) != size {
				t.Errorf("staged twice: %s, %v, %d bytes more", again, err, s.written+int64(len(s.tail))-size)
			}
			if h, err := r.PackageTree(noisy(3)); err != nil || h != trees[3] {
				t.Errorf("unstaged it is %s, %v", h, err)
			}
			for part := range 2 { // two batches of one stage
				b := s.NewBatch()
				for i := part * n / 2; i < (part+1)*n/2; i++ {
					c, err := b.Commit(t.Context(), CommitSpec{Path: "p", PackageTree: trees[i], Author: machine, Message: "m\n"})
					if err == nil { // once more, on top of what is staged
						c, err = b.Commit(t.Context(), CommitSpec{Root: trees[i], Path: "in/it", PackageTree: trees[0], Parents: []Hash{c.Hash}, Author: machine, Message: "m\n"})
					}
					if err == nil {
						err = b.Create(fmt.Sprintf("refs/heads/b%d", i), c.Hash)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if _, err := b.Push(t.Context(), PushOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			git.Fsck(t)
			for _, i := range []int{0, n / 2, n - 1} {
				want := noisy(i)[1].Data
				for _, at := range []string{fmt.Sprintf("b%d:sub/data", i), fmt.Sprintf("b%d~:p/sub/data", i)} {
					if got := git.Git(t, "cat-file", "blob", at); !bytes.Equal([]byte(got), bytes.TrimSpace(want)) && len(got) < 100<<10-8 {
						t.Errorf("%s has %d bytes", at, len(got))
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if cache != "" {
				_ = filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
					if err == nil && strings.HasPrefix(d.Name(), incoming) {
						t.Errorf("left behind: %s", path)
					}
					return err
				})
			}
		})
	}
}

// A pack has some entries for each package: they are read from the stage, and given, in
// pieces and not one by one.
func TestPackIsReadInPieces(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	stage := open(t, s.urls["path"]).NewStage()
	defer func() { _ = stage.Close() }()
	b := stage.NewBatch()
	const n = 400
	var tips []Hash
	for i := range n {
		pkg := append(files(fmt.Sprintf("a%d", i), 2), krm.File{Path: "text", Data: []byte(strings.Repeat(fmt.Sprintf("%x", sha1.Sum([]byte{byte(i), byte(i >> 8)})), 50))})
		if i == n/2 { // larger than a piece, and what is before it is in the file
			pkg = noisy(i)
			if err := stage.spill(); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := b.PackageTree(pkg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Commit(t.Context(), CommitSpec{Path: "p", PackageTree: tree, Author: machine, Message: fmt.Sprintf("m%d\n", i)})
		if err != nil {
			t.Fatal(err)
		}
		tips = append(tips, c.Hash)
	}
	p, err := b.newPack(b.selectObjects(tips, nil, false), true)
	if err != nil {
		t.Fatal(err)
	}
	most := int(p.size()/pieceBytes) + 4 // and what ends at the file's end, and is larger
	r, pieces, off := p.reader().(*packReader), 0, int64(-1)
	for r.more() == nil {
		if len(r.piece) > 0 && r.off != off {
			pieces, off = pieces+1, r.off
		}
	}
	if len(p.entries) < 4*n || pieces > most {
		t.Errorf("%d entries of %d bytes were read from the stage in %d pieces, want %d at most", len(p.entries), p.size(), pieces, most)
	}
	given := 0
	for in, into := p.reader(), make([]byte, pieceBytes); ; given++ {
		if _, err := in.Read(into); err != nil {
			break
		}
	}
	if given > most {
		t.Errorf("%d bytes were given in %d pieces, want %d at most", p.size(), given, most)
	}
}

// A fleet over many repositories has a stage for each, and all of them have one file: what is
// in memory does not grow with them, nor does how many files are open.
func TestStagesShareAFile(t *testing.T) {
	srv := gittest.NewServer(t)
	store := NewStore(Options{CacheDir: t.TempDir()})
	const stages = 24
	var list []*Stage
	var repos []*gittest.Repo
	inMemory := func() (n int64) {
		for _, s := range list {
			n += int64(cap(s.tail))
		}
		return n
	}
	for i := range stages { // half a megabyte each, packages of one beside those of others
		name := fmt.Sprintf("c%d", i)
		repos = append(repos, srv.NewRepo(t, name))
		r, err := store.Open(t.Context(), srv.RepoURL(name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r.NewStage())
	}
	trees := map[int]Hash{}
	for n := range 5 {
		for i, s := range list {
			tree, err := s.PackageTree(noisy(n*stages + i))
			if err != nil {
				t.Fatal(err)
			}
			trees[n*stages+i] = tree
		}
	}
	if most := inMemory(); most > 2*stageTails {
		t.Errorf("%d bytes are in memory", most)
	}
	if n := store.spool.tails.Load(); n > stageTails+stages*worthWrite {
		t.Errorf("%d bytes are said to be in memory", n)
	}
	if store.spool.users < stages/4 || store.spool.file == nil {
		t.Fatalf("%d stages use the file", store.spool.users)
	}
	file := store.spool.file
	for i, s := range list {
		b := s.NewBatch()
		for n := range 5 {
			c, err := b.Commit(t.Context(), CommitSpec{Path: "p", PackageTree: trees[n*stages+i], Author: machine, Message: "m\n"})
			if err == nil {
				err = b.Create(fmt.Sprintf("refs/heads/b%d", n), c.Hash)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Push(t.Context(), PushOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Stat(); err != nil && slices.ContainsFunc(list[i:], func(s *Stage) bool { return len(s.spilled) > 0 }) {
			t.Fatalf("the file is closed with stages to come: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil { // twice is once
			t.Error(err)
		}
		repos[i].Fsck(t)
		for n := range 5 {
			want := noisy(n*stages + i)[1].Data
			if got := repos[i].Git(t, "rev-parse", fmt.Sprintf("b%d:p/sub/data", n)); got != hashObject(plumbing.BlobObject, want).String() {
				t.Errorf("repository %d has %s of package %d", i, got, n)
			}
		}
	}
	if _, err := file.Stat(); err == nil || store.spool.file != nil || store.spool.tails.Load() != 0 {
		t.Errorf("left: %v, %d bytes", store.spool.file, store.spool.tails.Load())
	}
	again := list[0].repo.NewStage() // a file of its own, then
	defer func() { _ = again.Close() }()
	if _, err := again.PackageTree(noisy(0)); err != nil {
		t.Fatal(err)
	}
	if err := again.spill(); err != nil || store.spool.end != again.written {
		t.Errorf("%v, the file has %d bytes, %d were written", err, store.spool.end, again.written)
	}
}

// Two stages that take turns in the file have each its own.
func TestStagesTakeTurns(t *testing.T) {
	srv := gittest.NewServer(t)
	store := NewStore(Options{CacheDir: t.TempDir()})
	var batches []*Batch
	for i := range 2 {
		name := fmt.Sprintf("c%d", i)
		srv.NewRepo(t, name)
		r, err := store.Open(t.Context(), srv.RepoURL(name))
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, r.NewBatch())
	}
	for n := range 30 {
		for i, b := range batches {
			c := draftCommit(t, b, "a", fmt.Sprintf("v%d", n), nil, files(fmt.Sprintf("a%d-%d", i, n), 3))
			if err := errors.Join(b.Create(fmt.Sprintf("refs/heads/b%d", n), c.Hash), b.stage.spill()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, b := range batches {
		push(t, b)
		srv.Repo(fmt.Sprintf("c%d", i)).Fsck(t)
	}
}

// What stages of a megabyte each leave behind in memory is bounded, too.
func TestStagesLeaveRoom(t *testing.T) {
	s := newSite(t)
	r := open(t, s.urls["http"])
	held, list := 0, []*Stage{}
	for i := range 40 {
		stage := r.NewStage()
		list = append(list, stage)
		for n := range 11 {
			if _, err := stage.PackageTree(noisy(11*i + n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, stage := range list {
		held += cap(stage.tail)
	}
	if held > stageTails+2*stageTail || int64(held) != r.store.spool.tails.Load() {
		t.Errorf("%d bytes are held, %d are said to be", held, r.store.spool.tails.Load())
	}
}

// A server may refuse a push before it has read it, and the connection go on to read it
// while the stage is closed, which ends that alone.
func TestStageClosedWhileSent(t *testing.T) {
	s := newSite(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			s.srv.ServeHTTP(w, r)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
		go func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
	}))
	defer front.Close()
	for range 20 {
		b := open(t, front.URL+"/fleet.git").NewBatch()
		for i := range 40 {
			noisyDraft(t, b, i)
		}
		if _, err := b.Push(t.Context(), PushOptions{}); !errors.Is(err, ErrRejected) {
			t.Error(err)
		}
		_ = b.Close()
	}
	for _, url := range s.urls {
		b := open(t, url).NewBatch()
		noisyDraft(t, b, 0)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := b.Push(t.Context(), PushOptions{}); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("of a closed stage: %v", err)
		}
		noisyDraft(t, b, 1) // is lost
		if n := b.repo.store.spool.tails.Load(); n != 0 {
			t.Errorf("%d bytes of a closed stage are held", n)
		}
	}
}

func noisyDraft(t *testing.T, b *Batch, i int) {
	t.Helper()
	if err := b.Create(fmt.Sprintf("refs/heads/l%d", i), draftCommit(t, b, "a", fmt.Sprintf("l%d", i), nil, noisy(i)).Hash); err != nil {
		t.Fatal(err)
	}
}

// A file that takes no more leaves what is to be pushed in memory, with what it has.
func TestStageOfAFullDisk(t *testing.T) {
	s := newSite(t)
	r := open(t, s.urls["http"])
	stage := r.NewStage()
	b := stage.NewBatch()
	for i := range 8 {
		if i == 3 {
			if err := stage.spill(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 5 {
			f := r.store.spool.file
			full, err := os.Open(f.Name())
			if err != nil { // as its name is gone
				if full, err = os.Open(os.DevNull); err != nil {
					t.Fatal(err)
				}
			}
			defer func() { _ = full.Close() }()
			r.store.spool.file = full
			err = stage.spill()
			r.store.spool.file = f
			if err == nil || r.store.spool.users != 1 {
				t.Fatalf("written to what cannot be written to, by %d", r.store.spool.users)
			}
		}
		tree, err := stage.PackageTree(noisy(i))
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Commit(t.Context(), CommitSpec{Path: "p", PackageTree: tree, Author: machine, Message: "m\n"})
		if err == nil {
			err = b.Create(fmt.Sprintf("refs/heads/b%d", i), c.Hash)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := stage.spill(); err == nil || stage.written > 3*101<<10 {
		t.Errorf("%v, %d bytes are in the file", err, stage.written)
	}
	if _, err := b.Push(t.Context(), PushOptions{}); err != nil {
		t.Fatal(err)
	}
	s.repo.Fsck(t)
	if err := stage.Close(); err != nil || r.store.spool.file != nil {
		t.Error(err)
	}
	next := r.NewStage() // there may be room by now
	if _, err := next.PackageTree(noisy(0)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(next.spill(), next.Close()); err != nil {
		t.Error(err)
	}
}

// Where no file can be made the stage stays in memory.
func TestStageInMemory(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	srv := gittest.NewServer(t)
	git := srv.NewRepo(t, "c1")
	r, err := NewStore(Options{}).Open(context.Background(), srv.RepoURL("c1"))
	if err != nil {
		t.Fatal(err)
	}
	s := r.NewStage()
	b := s.NewBatch()
	for i := range 20 {
		tree, err := s.PackageTree(noisy(i))
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Commit(t.Context(), CommitSpec{PackageTree: tree, Author: machine, Message: "m\n"})
		if err == nil {
			err = b.Create(fmt.Sprintf("refs/heads/b%d", i), c.Hash)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Push(t.Context(), PushOptions{}); err != nil || !s.memory {
		t.Fatal(err, s.memory)
	}
	git.Fsck(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A fleet over many repositories has a stage for each: what a little package takes
// there is not a compressor of its own.
func TestStageIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector pools forget at random")
	}
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	r := open(t, s.urls["http"])
	const stages = 50
	kept := make([]*Stage, 0, stages)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range stages {
		stage := r.NewStage()
		if _, err := stage.PackageTree(files("a", 5)); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, stage)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / stages; each > 200<<10 {
		t.Errorf("a stage takes %d KiB", each>>10)
	}
	runtime.KeepAlive(kept)
}

// What is put together makes a pack that git takes, of large and small objects of all kinds.
func TestPackOf(t *testing.T) {
	objects := map[Hash]rawObject{}
	put := func(typ plumbing.ObjectType, data []byte) Hash {
		h := hashObject(typ, data)
		objects[h] = rawObject{h, typ, data}
		return h
	}
	put(plumbing.BlobObject, nil)
	put(plumbing.BlobObject, bytes.Repeat([]byte("line\n"), 50_000))
	put(plumbing.BlobObject, noisy(1)[1].Data)
	tree := put(plumbing.TreeObject, treeEntryBytes(modeRegular, "a", put(plumbing.BlobObject, []byte("a"))))
	put(plumbing.CommitObject, encodeCommit(tree, nil, machine, machine, "m"))
	pack, err := io.ReadAll(packOf(objects))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := io.ReadAll(packOf(objects)); !bytes.Equal(again, pack) {
		t.Error("twice the same objects are two packs")
	}
	repo := gittest.NewRepo(t)
	file := filepath.Join(repo.Dir, "objects", "pack", "pack-of.pack")
	if err := os.WriteFile(file, pack, 0o600); err != nil {
		t.Fatal(err)
	}
	repo.Git(t, "index-pack", "--strict", file)
	for h, o := range objects {
		if got := repo.Git(t, "cat-file", "-s", h.String()); got != fmt.Sprint(len(o.data)) {
			t.Errorf("the %s %s has %s bytes, want %d", o.typ, h, got, len(o.data))
		}
	}
}
