package gitrepo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"runtime"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// select lists the objects that the tips lead to and the server lacks, commits
// first, each once. With full, everything of the batch is sent, whatever the
// server is thought to have.
func (b *Batch) selectObjects(tips []Hash, sent map[Hash]bool, full bool) []*newObject {
	b.mu.Lock()
	defer b.mu.Unlock()
	var commits, trees, blobs []*newObject
	seen := map[Hash]bool{}
	stack := append([]Hash(nil), tips...)
	for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
		stack[i], stack[j] = stack[j], stack[i]
	}
	for len(stack) > 0 {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		o := b.find(h)
		if o == nil || seen[h] || sent[h] {
			continue
		}
		seen[h] = true
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

// encodePack makes a pack of objects, in parts. With thin, grafted trees are
// deltas against their bases; without, only against bases in the same pack.
func (b *Batch) encodePack(objects []*newObject, thin bool) ([][]byte, error) {
	inPack := make(map[Hash]bool, len(objects))
	for _, o := range objects {
		inPack[o.hash] = true
	}
	parts, err := b.encodeAll(objects, func(o *newObject) bool {
		return o.graft != nil && (thin || inPack[o.graft.base])
	})
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	out, sum := [][]byte{head}, sha1.New()
	for _, p := range parts {
		out = append(out, p.Bytes())
	}
	for _, p := range out {
		sum.Write(p)
	}
	return append(out, sum.Sum(nil)), nil
}

// encodeAll compresses side by side, in pieces whose order stays.
func (b *Batch) encodeAll(objects []*newObject, asDelta func(*newObject) bool) ([]*bytes.Buffer, error) {
	const piece = 256
	n := (len(objects) + piece - 1) / piece
	parts := make([]*bytes.Buffer, n)
	errs := make([]error, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is valid
			for i := range next {
				parts[i] = &bytes.Buffer{}
				e := &packEncoder{batch: b, out: parts[i], z: z}
				for _, o := range objects[i*piece : min(len(objects), (i+1)*piece)] {
					if errs[i] = e.object(o, asDelta(o)); errs[i] != nil {
						break
					}
				}
			}
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

type packEncoder struct {
	batch *Batch
	out   *bytes.Buffer
	z     *zlib.Writer
	delta []byte
}

func (e *packEncoder) object(o *newObject, delta bool) error {
	if delta {
		e.delta = o.graft.delta(e.delta[:0])
		e.header(plumbing.REFDeltaObject, len(e.delta))
		e.out.Write(o.graft.base[:])
		return e.compress(e.delta)
	}
	if o.staged.len > 0 {
		entry, err := e.batch.stage.entry(o.staged)
		e.out.Write(entry)
		return err
	}
	data := o.data
	if o.graft != nil {
		e.batch.treeMu.Lock()
		raw, err := e.batch.rawTree(o.hash)
		e.batch.treeMu.Unlock()
		if err != nil {
			return fmt.Errorf("writing tree %s: %w", o.hash, err)
		}
		data = raw
	}
	e.header(o.typ, len(data))
	return e.compress(data)
}

func (e *packEncoder) header(typ plumbing.ObjectType, size int) {
	c := byte(typ)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		e.out.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	e.out.WriteByte(c)
}

// stored is the size up to which data is not worth compressing: object names do
// not compress, and a deflater costs more to reset than it saves.
const stored = 96

func (e *packEncoder) compress(data []byte) error {
	if len(data) <= stored {
		e.store(data)
		return nil
	}
	e.z.Reset(e.out)
	if _, err := e.z.Write(data); err != nil {
		return err
	}
	return e.z.Close()
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

// delta writes the graft in Git's delta form.
func (g *graft) delta(d []byte) []byte {
	d = binary.AppendUvarint(d, uint64(g.baseLen))
	d = binary.AppendUvarint(d, uint64(g.baseLen-g.drop+len(g.insert)))
	d = appendCopy(d, 0, g.off)
	for rest := g.insert; len(rest) > 0; {
		n := min(len(rest), 127)
		d = append(append(d, byte(n)), rest[:n]...)
		rest = rest[n:]
	}
	return appendCopy(d, g.off+g.drop, g.baseLen-g.off-g.drop)
}

func appendCopy(d []byte, off, n int) []byte {
	for n > 0 {
		part := min(n, 0xffff)
		at := len(d)
		d = append(d, 0x80)
		for i := range 4 {
			if c := byte(off >> (8 * i)); c != 0 {
				d[at] |= 1 << i
				d = append(d, c)
			}
		}
		for i := range 2 {
			if c := byte(part >> (8 * i)); c != 0 {
				d[at] |= 0x10 << i
				d = append(d, c)
			}
		}
		off, n = off+part, n-part
	}
	return d
}
