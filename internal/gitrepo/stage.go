package gitrepo

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
)

// Stage keeps packages that are to be pushed to one Repo, so that whoever made
// them can let them go: each file and folder once, compressed as a pack has it,
// in a temporary file where they are many. The batches made from it share them.
// Safe for concurrent use.
type Stage struct {
	repo *Repo

	mu      sync.Mutex
	objects map[Hash]*newObject
	models  models
	tail    []byte // what is not in the file yet
	written int64
	// spilled is where in the Store's file what was written is, in order; none until there is much.
	spilled []extent
	memory  bool // there can be no file
	closed  bool
}

// staged is where an object's entry of a pack is in its stage.
type staged struct {
	off int64
	len int
}

// How many bytes of one stage, and of all of a Store, are in memory; where these are too many,
// each puts down what is worth a write.
const (
	stageTail  = 1 << 20
	stageTails = 8 << 20
	worthWrite = 4 << 10
)

// NewStage starts an empty Stage.
func (r *Repo) NewStage() *Stage { return &Stage{repo: r, objects: map[Hash]*newObject{}} }

// encoders are of all stages: each has a compressor of most of a megabyte, and a fleet
// over many repositories has a stage for each.
var encoders = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is valid
	return &packEncoder{out: &bytes.Buffer{}, z: z}
}}

// Close gives up what is in memory and in the temporary file. Batches of the stage are of no
// use then.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	spool := &s.repo.store.spool
	spool.tails.Add(-int64(cap(s.tail)))
	s.tail, s.closed = nil, true
	if len(s.spilled) == 0 {
		return nil
	}
	s.spilled = nil
	return spool.leave()
}

// PackageTree adds files as a tree and returns its hash. They keep to the
// boundary's rules, whatever made them; a path that is both file and folder is an
// error.
func (s *Stage) PackageTree(files []krm.File) (Hash, error) {
	return s.repo.packageTree(files, s.add)
}

// PackageTree is the hash that files have as a tree, with the errors of
// Stage.PackageTree.
func (r *Repo) PackageTree(files []krm.File) (Hash, error) {
	return r.packageTree(files, func(newObject, string) bool { return false })
}

// add keeps an object that has a path in its package, compressed, and says whether it was there
// already. Its data is the caller's again.
func (s *Stage) add(made newObject, path string) (there bool) {
	s.mu.Lock()
	if s.objects[made.hash] != nil { // as most files of a variant are
		s.mu.Unlock()
		return true
	}
	key, size := modelKey{made.typ, path}, len(made.data)
	near := s.models.near(key)
	s.mu.Unlock()
	o := new(newObject)
	*o = made
	o.differ(near, s.textOf)
	s.write(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[o.hash] != nil {
		return true
	}
	s.objects[o.hash] = o
	if o.base.IsZero() {
		s.models.put(key, o, size)
	}
	return false
}

// textOf is what a model of the stage, or of a batch of it, holds.
func (s *Stage) textOf(m *model) *modelText { return s.repo.store.models.get(m, s.data) }

// write puts an object's entry of a pack down.
func (s *Stage) write(o *newObject) {
	e := encoders.Get().(*packEncoder)
	defer encoders.Put(e)
	e.out.Reset()
	e.entry(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	o.data, o.delta, o.staged = nil, nil, staged{s.written + int64(len(s.tail)), e.out.Len()}
	if s.closed {
		return // who reads it is told
	}
	spool, had := &s.repo.store.spool, cap(s.tail)
	s.tail = append(s.tail, e.out.Bytes()...)
	crowded := spool.tails.Add(int64(cap(s.tail)-had)) > stageTails
	if s.memory || len(s.tail) < stageTail && (!crowded || len(s.tail) < worthWrite) {
		return
	}
	if err := s.spill(); err != nil {
		s.repo.store.opts.Log("packages that are to be pushed stay in memory: %v", err)
		s.memory = true
	}
}

// spill writes the tail to the Store's file.
func (s *Stage) spill() error {
	spool, folder := &s.repo.store.spool, ""
	if s.repo.cacheDir != "" {
		folder = filepath.Dir(s.repo.cacheDir)
	}
	at, err := spool.put(s.tail, len(s.spilled) == 0, folder)
	if err != nil {
		return err
	}
	s.spilled = append(s.spilled, extent{s.written, at})
	s.written += int64(len(s.tail))
	if s.tail = s.tail[:0]; spool.tails.Load() > stageTails/2 { // others need the room
		spool.tails.Add(-int64(cap(s.tail)))
		s.tail = nil
	}
	return nil
}

// read fills into with what is staged from an offset on, and with less where an extent
// or the stage ends. A connection may still read a pack that its server refused when the
// stage is closed.
func (s *Stage) read(off int64, into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	if off >= s.written {
		return copy(into, s.tail[off-s.written:]), nil
	}
	i, found := slices.BinarySearchFunc(s.spilled, off, func(e extent, off int64) int { return cmp.Compare(e.off, off) })
	if !found {
		i--
	}
	end := s.written
	if i+1 < len(s.spilled) {
		end = s.spilled[i+1].off
	}
	e := s.spilled[i]
	return s.repo.store.spool.read(into[:min(int64(len(into)), end-off)], e.at+off-e.off)
}

// data is an object's data, or of one that has a base what differs from that.
func (s *Stage) data(o *newObject) ([]byte, error) {
	entry := make([]byte, o.staged.len)
	if _, err := s.read(o.staged.off, entry); err != nil {
		return nil, err
	}
	i := 0
	for entry[i]&0x80 != 0 { // the header's bytes but the last
		i++
	}
	if i++; !o.base.IsZero() {
		i += len(o.base)
	}
	in := inflaters.Get().(*inflater)
	defer inflaters.Put(in)
	if err := in.reset(bytes.NewReader(entry[i:])); err != nil {
		return nil, err
	}
	return io.ReadAll(in.z)
}

func (s *Stage) object(h Hash) *newObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[h]
}

// packageTree hands the objects of a tree to add, with their paths, folders after
// what is in them. add says whether it had one already.
func (r *Repo) packageTree(files []krm.File, add func(newObject, string) bool) (Hash, error) {
	byPath := func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) }
	sorted := files
	if !slices.IsSortedFunc(files, byPath) { // as a package gives them
		sorted = slices.SortedFunc(slices.Values(files), byPath)
	}
	root := &dirNode{entries: make([]treeEntry, 0, len(files))}
	err := boundary.Files(sorted, r.store.opts.Limits.files())
	for _, f := range sorted {
		if err == nil {
			err = root.add(f, add)
		}
	}
	if err != nil {
		return Hash{}, fmt.Errorf("writing a package: %w", err)
	}
	return root.tree("", add), nil
}
