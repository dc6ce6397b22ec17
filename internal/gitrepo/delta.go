package gitrepo

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// model is an object that is whole in a stage, and others may be deltas of.
type model struct {
	*newObject
	size int
}

// modelText is what a model holds.
type modelText struct {
	text  []byte
	lines map[string]int // where each begins; nil of a tree
}

// modelTexts has the models that were used last, of all stages of a Store: a fleet may
// have a thousand repositories.
type modelTexts struct {
	mu    sync.Mutex
	of    map[*model]*modelText
	bytes int
}

const (
	modelTextBytes = 4 << 20 // until all are let go
	modelLineBytes = 64      // about what a line takes in lines
)

// get is a model's text, nil where that cannot be read.
func (c *modelTexts) get(m *model, read func(*newObject) ([]byte, error)) *modelText {
	c.mu.Lock()
	t := c.of[m]
	c.mu.Unlock()
	if t != nil {
		return t
	}
	text, err := read(m.newObject)
	if err != nil {
		return nil
	}
	t = newModelText(m.typ, text)
	size := len(t.text) + modelLineBytes*len(t.lines)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || c.bytes+size > modelTextBytes {
		c.of, c.bytes = map[*model]*modelText{}, 0
	}
	if c.of[m] == nil {
		c.of[m] = t
		c.bytes += size
	}
	return t
}

func newModelText(typ plumbing.ObjectType, text []byte) *modelText {
	t := &modelText{text: text}
	if typ == plumbing.TreeObject {
		return t
	}
	t.lines = map[string]int{}
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		if _, there := t.lines[string(text[at:end])]; !there {
			t.lines[string(text[at:end])] = at
		}
		at = end
	}
	return t
}

// models are what is staged as a delta starts from: variants of one package differ in
// a few lines of a few files, and so do their folders and commits. A model is whole, so
// that a way to a whole object has one step. A lock of who has them guards put and near.
type models struct {
	of   map[modelKey][]*model // oldest first
	size int                   // of all, in bytes
}

// modelKey is where objects are that may be alike: a kind, and a path in a package.
type modelKey struct {
	typ  plumbing.ObjectType
	path string
}

const (
	modelsOfPath = 4        // packages that take turns in one repository
	modelBytes   = 64 << 10 // of one
	modelsBytes  = 4 << 20  // of all
)

// near lists the models that an object may be a delta of.
func (m *models) near(k modelKey) []*model { return slices.Clone(m.of[k]) }

// put makes an object of so many bytes that is staged whole a model, in place of the
// oldest one.
func (m *models) put(k modelKey, o *newObject, size int) {
	if size > modelBytes {
		return
	}
	if m.of == nil || m.size+size > modelsBytes {
		m.of, m.size = map[modelKey][]*model{}, 0
	}
	if list := m.of[k]; len(list) == modelsOfPath {
		m.size -= list[0].size
		m.of[k] = slices.Delete(list, 0, 1)
	}
	m.of[k] = append(m.of[k], &model{newObject: o, size: size})
	m.size += size
}

// differ makes an object a delta of a model where that is less than half of it: about
// what compressing leaves.
func (o *newObject) differ(near []*model, textOf func(*model) *modelText) {
	for _, m := range slices.Backward(near) {
		if m.hash == o.hash {
			continue // made twice at once
		}
		t := textOf(m)
		var d []byte
		switch {
		case t == nil:
			continue
		case t.lines == nil:
			d, _ = treeDelta(t.text, o.data)
		default:
			d = t.lineDelta(o.data)
		}
		if len(d)+len(m.hash) < len(o.data)/2 {
			o.base, o.delta = m.hash, d
			return
		}
	}
}

// leastCopy is the least that is looked for: to copy a part takes up to seven bytes.
const leastCopy = 8

// lineDelta is what makes text of the model's, in Git's delta form: lines of it, and
// where one stands in the place of another, how they begin and end.
func (m *modelText) lineDelta(now []byte) []byte {
	w := deltaWriter{out: deltaHead(len(m.text), len(now)), now: now}
	for at := 0; w.done < len(now); {
		line := now[w.done:lineEnd(now, w.done)]
		was := m.text[at:lineEnd(m.text, at)]
		off, there := 0, false
		if len(line) >= leastCopy {
			off, there = m.lines[string(line)]
		}
		switch {
		case bytes.Equal(was, line):
			w.copy(at, len(line))
			at += len(line)
		case there:
			w.copy(off, len(line))
			at = off + len(line)
		default:
			begin := commonPrefix(was, line)
			if begin < leastCopy {
				begin = 0
			}
			end := commonSuffix(was[begin:], line[begin:])
			if end < leastCopy {
				end = 0
			}
			w.copy(at, begin)
			w.insert(len(line) - begin - end)
			at += len(was)
			w.copy(at-end, end)
		}
	}
	w.flush()
	return w.out
}

// deltaWriter writes a delta's instructions, parts that follow each other as one.
type deltaWriter struct {
	out, now []byte
	from, to int // a part of the base that is to be copied
	inserted int // or now[inserted:done] to be inserted: one of them is empty
	done     int
}

// goesOn says that a copy from there is no new instruction.
func (w *deltaWriter) goesOn(off int) bool { return w.from < w.to && w.to == off }

func (w *deltaWriter) copy(off, n int) {
	if n == 0 {
		return
	}
	if !w.goesOn(off) {
		w.flush()
		w.from = off
	}
	w.to = off + n
	w.done += n
	w.inserted = w.done
}

func (w *deltaWriter) insert(n int) {
	if n > 0 && w.from < w.to {
		w.flush()
	}
	w.done += n
}

func (w *deltaWriter) flush() {
	w.out = appendInsert(appendCopy(w.out, w.from, w.to-w.from), w.now[w.inserted:w.done])
	w.from, w.inserted = w.to, w.done
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// lineEnd is where the line ends that begins at a byte, with its newline, or the part of
// it up to a comma: a commit has a task of one long line, which names its package twice.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexAny(text[at:], "\n,"); i >= 0 {
		return at + i + 1
	}
	return len(text)
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
