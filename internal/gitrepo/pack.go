package gitrepo

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/klauspost/compress/zlib"
)

// select lists the objects that the tips lead to and the server lacks, commits
// first, each once. With full, everything of the batch is sent, whatever the
// server is thought to have.
func (b *Batch) selectObjects(tips []Hash, sent map[Hash]bool, full bool) []*newObject {
	b.mu.Lock()
	defer b.mu.Unlock()
	var commits, trees, blobs []*newObject
	seen := make(map[Hash]bool, len(b.objects))
	stack := append([]Hash(nil), tips...)
	for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
		stack[i], stack[j] = stack[j], stack[i]
	}
	for len(stack) > 0 {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[h] { // as most files of a variant are
			continue
		}
		seen[h] = true
		o := b.find(h)
		if o == nil || sent[h] {
			continue
		}
		if _, known := b.known[h]; (known || b.repo.knows(h)) && !full && o.typ != plumbing.CommitObject {
			continue
		}
		switch o.typ {
		case plumbing.CommitObject:
			commits = append(commits, o)
		case plumbing.TreeObject:
			trees = append(trees, o)
		default:
			blobs = append(blobs, o)
		}
		stack = append(stack, o.needs...)
	}
	return append(append(commits, trees...), blobs...)
}

// pack is a pack as it is sent: what the stage has of each object, one after the
// other. It can be read again, as a redirect or a login asks for.
type pack struct {
	stage   *Stage
	entries []staged // in the stage's order
}

// newPack makes a pack of objects. Deltas are of objects that are in it or, with
// thin, of those that the server has.
func (b *Batch) newPack(objects []*newObject, thin bool) (*pack, error) {
	in := make(map[Hash]bool, len(objects))
	for _, o := range objects {
		in[o.hash] = true
	}
	memo := &sync.Map{}
	p := &pack{stage: b.stage, entries: make([]staged, len(objects))}
	for i, o := range objects {
		p.entries[i] = o.staged
		if o.base.IsZero() || in[o.base] || thin && b.remote(o.base) {
			continue
		}
		raw, err := b.whole(o, memo)
		if err != nil {
			return nil, fmt.Errorf("writing the %s %s: %w", o.typ, o.hash, err)
		}
		whole := &newObject{typ: o.typ, data: raw}
		b.stage.write(whole)
		p.entries[i] = whole.staged
	}
	slices.SortFunc(p.entries, func(a, b staged) int { return cmp.Compare(a.off, b.off) })
	return p, nil
}

// remote says that the server has an object: one that no batch made, or that is known
// to be there.
func (b *Batch) remote(h Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.known[h]
	return known || b.find(h) == nil || b.repo.knows(h)
}

const (
	packHead = "PACK\x00\x00\x00\x02"
	packEnds = len(packHead) + 4 + sha1.Size // what is not entries, in bytes
)

// size is that of the whole, in bytes.
func (p *pack) size() int64 {
	n := int64(packEnds)
	for _, at := range p.entries {
		n += int64(at.len)
	}
	return n
}

// pieceBytes is how much is read of a stage at once.
const pieceBytes = 32 << 10

func (p *pack) reader() io.Reader {
	head := binary.BigEndian.AppendUint32([]byte(packHead), uint32(len(p.entries)))
	r := &packReader{pack: p, buf: head, piece: make([]byte, 0, min(p.size(), pieceBytes)), sum: sha1.New()}
	r.sum.Write(head)
	return r
}

// packReader reads a pack from its stage in large pieces, and fills what it is read
// into: a pack has some six entries for a package, and each piece wakes who takes it.
type packReader struct {
	*pack
	next  int // entry
	done  bool
	buf   []byte // what is not read yet
	piece []byte // of the stage, from off on
	off   int64
	sum   hash.Hash
}

// Read implements io.Reader.
func (r *packReader) Read(out []byte) (n int, err error) {
	for n < len(out) {
		if len(r.buf) == 0 {
			if err := r.more(); err != nil {
				return n, err
			}
		}
		took := copy(out[n:], r.buf)
		r.buf, n = r.buf[took:], n+took
	}
	return n, nil
}

func (r *packReader) more() (err error) {
	switch {
	case r.next < len(r.entries):
		if r.buf, err = r.entry(r.entries[r.next]); err != nil {
			return fmt.Errorf("reading what is to be pushed: %w", err)
		}
		r.sum.Write(r.buf)
		r.next++
	case !r.done:
		r.done = true
		r.buf = r.sum.Sum(nil)
	default:
		return io.EOF
	}
	return nil
}

// entry is the next one's bytes; they lie one after the other in the stage.
func (r *packReader) entry(at staged) ([]byte, error) {
	if at.off+int64(at.len) > r.off+int64(len(r.piece)) {
		size := max(at.len, min(cap(r.piece), pieceBytes))
		r.piece = slices.Grow(r.piece[:0], size)[:size]
		n, err := r.stage.read(at.off, r.piece)
		if r.off, r.piece = at.off, r.piece[:n]; err != nil {
			return nil, err
		}
	}
	return r.piece[at.off-r.off:][:at.len], nil
}

type packEncoder struct {
	out *bytes.Buffer
	z   *zlib.Writer
}

// entry writes an object as a pack has it.
func (e *packEncoder) entry(o *newObject) {
	if o.base.IsZero() {
		e.header(o.typ, len(o.data))
		e.compress(o.data, stored)
		return
	}
	e.header(plumbing.REFDeltaObject, len(o.delta))
	e.out.Write(o.base[:])
	e.compress(o.delta, storedDelta)
}

func (e *packEncoder) header(typ plumbing.ObjectType, size int) {
	c := byte(typ)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		e.out.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	e.out.WriteByte(c)
}

// Sizes up to which data is not worth compressing: names of objects do not compress,
// nor does what is left of lines that are like others, and a deflater costs more to
// reset than it saves.
const (
	stored      = 96
	storedDelta = 384
)

func (e *packEncoder) compress(data []byte, least int) {
	if len(data) <= least {
		e.store(data)
		return
	}
	e.z.Reset(e.out) // memory takes everything
	_, _ = e.z.Write(data)
	_ = e.z.Close()
}

// store writes a zlib stream of one stored block.
func (e *packEncoder) store(data []byte) {
	n := uint16(len(data))
	e.out.Write([]byte{0x78, 0x01, 0x01, byte(n), byte(n >> 8), byte(^n), byte(^n >> 8)})
	e.out.Write(data)
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], adler32.Checksum(data))
	e.out.Write(sum[:])
}

// storeObjects puts objects into a part of the cache, in a pack of their own.
func (r *Repo) storeObjects(to objectSource, objects map[Hash]rawObject) error {
	if len(objects) == 0 {
		return nil
	}
	keep, finish := r.packSink(to)
	if err := keep(packOf(objects)); err != nil {
		return err
	}
	return finish()
}

// packOf is a pack of whole objects.
func packOf(objects map[Hash]rawObject) io.Reader {
	e := encoders.Get().(*packEncoder) // a library's has a compressor of its own each time
	defer encoders.Put(e)
	pack := binary.BigEndian.AppendUint32([]byte(packHead), uint32(len(objects)))
	for _, h := range sorted(slices.Collect(maps.Keys(objects))) {
		e.out.Reset()
		e.entry(&newObject{typ: objects[h].typ, data: objects[h].data})
		pack = append(pack, e.out.Bytes()...)
	}
	sum := sha1.Sum(pack)
	return bytes.NewReader(append(pack, sum[:]...))
}
