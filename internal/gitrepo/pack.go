package gitrepo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"strings"

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

// pack is a pack as it is sent: what the stage has of each object, one after the
// other. It can be read again, as a redirect or a login asks for.
type pack struct {
	stage   *Stage
	entries []staged
}

// newPack makes a pack of objects. With thin, trees are deltas of others whether
// those are in it or not; without, only of those that are.
func (b *Batch) newPack(objects []*newObject, thin bool) (*pack, error) {
	in := make(map[Hash]bool, len(objects))
	for _, o := range objects {
		in[o.hash] = true
	}
	p := &pack{stage: b.stage, entries: make([]staged, len(objects))}
	for i, o := range objects {
		p.entries[i] = o.staged
		if o.base.IsZero() || thin || in[o.base] {
			continue
		}
		raw, err := b.tree(o.hash)
		if err != nil {
			return nil, fmt.Errorf("writing tree %s: %w", o.hash, err)
		}
		whole := &newObject{typ: o.typ, data: raw}
		b.stage.write(whole)
		p.entries[i] = whole.staged
	}
	return p, nil
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

func (p *pack) reader() io.Reader {
	head := binary.BigEndian.AppendUint32([]byte(packHead), uint32(len(p.entries)))
	r := &packReader{pack: p, buf: head, sum: sha1.New()}
	r.sum.Write(head)
	return r
}

// packReader reads a pack from its stage.
type packReader struct {
	*pack
	next int // entry
	done bool
	buf  []byte // what is not read yet
	read []byte // that buf is of
	sum  hash.Hash
}

// Read implements io.Reader.
func (r *packReader) Read(out []byte) (int, error) {
	for len(r.buf) == 0 {
		switch {
		case r.next < len(r.entries):
			var err error
			if r.read, err = r.stage.entry(r.entries[r.next], r.read); err != nil {
				return 0, fmt.Errorf("reading what is to be pushed: %w", err)
			}
			r.sum.Write(r.read)
			r.buf = r.read
			r.next++
		case !r.done:
			r.done = true
			r.buf = r.sum.Sum(nil)
		default:
			return 0, io.EOF
		}
	}
	n := copy(out, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

type packEncoder struct {
	out *bytes.Buffer
	z   *zlib.Writer
}

// entry writes an object as a pack has it.
func (e *packEncoder) entry(o *newObject) {
	if o.base.IsZero() {
		e.header(o.typ, len(o.data))
		e.compress(o.data)
		return
	}
	e.header(plumbing.REFDeltaObject, len(o.delta))
	e.out.Write(o.base[:])
	e.compress(o.delta)
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

func (e *packEncoder) compress(data []byte) {
	if len(data) <= stored {
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

// delta is the graft in Git's delta form, of a base of so many bytes.
func (g *graft) delta(base int) []byte {
	d := deltaHead(base, base-g.drop+len(g.insert))
	d = appendCopy(d, 0, g.off)
	d = appendInsert(d, g.insert)
	return appendCopy(d, g.off+g.drop, base-g.off-g.drop)
}

// treeDelta is what makes one tree of another, in Git's delta form, and what the
// entries lead to that it brings.
func treeDelta(was, now []byte) (delta []byte, brings []Hash) {
	d := deltaHead(len(was), len(now))
	from, i := 0, 0 // was[from:i] is as it was
	for j := 0; j < len(now); {
		end := entryEnd(now, j)
		if end < 0 {
			end = len(now)
		}
		entry := now[j:end]
		if bytes.HasPrefix(was[i:], entry) {
			i, j = i+len(entry), end
			continue
		}
		d = appendCopy(d, from, i-from)
		for i < len(was) { // what goes, or is replaced
			gone := entryEnd(was, i)
			if gone < 0 || entryKey(was[i:gone]) > entryKey(entry) {
				break
			}
			i = gone
			if bytes.HasPrefix(was[i:], entry) {
				break
			}
		}
		if from = i; bytes.HasPrefix(was[i:], entry) {
			continue
		}
		d = appendInsert(d, entry)
		if len(entry) > sha1.Size {
			brings = append(brings, Hash(entry[len(entry)-sha1.Size:]))
		}
		j = end
	}
	return appendCopy(d, from, i-from), brings
}

// entryKey is what Git orders an entry's bytes by.
func entryKey(entry []byte) string {
	mode, name, _ := strings.Cut(string(entry[:len(entry)-min(len(entry), sha1.Size+1)]), " ")
	return sortKey(mode, name)
}

func deltaHead(was, now int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(was)), uint64(now))
}

func appendInsert(d, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), 127)
		d = append(append(d, byte(n)), data[:n]...)
		data = data[n:]
	}
	return d
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
