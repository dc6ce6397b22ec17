package gitrepo

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/klauspost/compress/zlib"
)

// objectSource reads Git objects. The bytes are shared: read only. An object
// that is not there is ErrMissingObject; one larger than limit (0: none) ErrLimit.
type objectSource interface {
	read(h Hash, limit int64) (plumbing.ObjectType, []byte, error)
	has(h Hash) bool
}

// objectDir reads a Git object directory: loose objects, packs and alternates.
// Safe for concurrent use. Packs that appear later are found.
type objectDir struct {
	path  string
	mu    sync.Mutex // one scan at a time
	state atomic.Pointer[objectDirState]
	bases *baseCache // of all repositories of a Store
	// renew fetches a cache's objects again after its packs were found damaged and
	// thrown away; nil for a repository of its own, whose owner mends it.
	renew func() error
	// loose is the object that was seen last in a file of its own: of an upstream's tree
	// each variant asks whether it is there.
	loose atomic.Pointer[Hash]
}

type objectDirState struct {
	packs      []*packFile
	alternates []*objectDir
}

func openObjectDir(path string, bases *baseCache) *objectDir {
	return &objectDir{path: path, bases: bases}
}

func (d *objectDir) load() *objectDirState {
	if st := d.state.Load(); st != nil {
		return st
	}
	d.rescan()
	return d.state.Load()
}

// rescan looks for new packs and says whether there are any.
func (d *objectDir) rescan() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.state.Load()
	known := map[string]*packFile{}
	st := &objectDirState{}
	if old != nil {
		st.alternates = old.alternates
		for _, p := range old.packs {
			known[p.path] = p
		}
	} else {
		st.alternates = d.readAlternates(0)
	}
	news := old == nil
	names, _ := filepath.Glob(filepath.Join(globEscape(d.path), "pack", "*.idx"))
	sort.Strings(names)
	for _, name := range names {
		path := strings.TrimSuffix(name, ".idx") + ".pack"
		p, ok := known[path]
		if !ok || p.open() != nil { // one that was damaged may be whole by now
			news = true
			p = &packFile{path: path, dir: d}
		}
		st.packs = append(st.packs, p)
	}
	d.state.Store(st)
	for _, a := range st.alternates {
		news = (old != nil && a.rescan()) || news
	}
	return news
}

// close closes what is open. Nothing is read after it.
func (d *objectDir) close() {
	st := d.state.Load()
	if st == nil {
		return
	}
	for _, p := range st.packs {
		p.close()
	}
	for _, a := range st.alternates {
		a.close()
	}
}

var globEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func globEscape(p string) string { return globEscapes.Replace(p) }

// readAlternates follows objects/info/alternates, five deep as git does.
func (d *objectDir) readAlternates(depth int) []*objectDir {
	data, err := os.ReadFile(filepath.Join(d.path, "info", "alternates"))
	if err != nil || depth > 5 {
		return nil
	}
	var out []*objectDir
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if unq, err := strconv.Unquote(line); line[0] == '"' && err == nil {
			line = unq
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(d.path, line)
		}
		a := openObjectDir(line, d.bases)
		a.state.Store(&objectDirState{})
		nested := a.readAlternates(depth + 1)
		a.rescan()
		out = append(append(out, a), nested...)
	}
	return out
}

func (d *objectDir) has(h Hash) bool {
	st := d.load()
	if p, _ := st.find(h); p != nil {
		return true
	}
	if d.renew == nil { // a cache has packs alone
		if last := d.loose.Load(); last != nil && *last == h {
			return true
		}
		if _, err := os.Stat(d.loosePath(h)); err == nil {
			seen := h // that what is not loose is not on the heap
			d.loose.Store(&seen)
			return true
		}
	}
	for _, a := range st.alternates {
		if a.has(h) {
			return true
		}
	}
	return false
}

func (d *objectDir) read(h Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	typ, data, err := d.readKnown(h, limit)
	if errors.Is(err, ErrMissingObject) && d.rescan() {
		typ, data, err = d.readKnown(h, limit)
	}
	if err == nil {
		if got := hashObject(typ, data); got != h {
			err = fmt.Errorf("the Git object %s in %q is damaged: its content is that of %s; run git fsck there", h, d.path, got)
		}
	}
	if err == nil || errors.Is(err, ErrMissingObject) || d.renew == nil || !d.dropDamaged() {
		return typ, data, err
	}
	if rerr := d.renew(); rerr != nil {
		return 0, nil, errKind(ErrMissingObject, "the Git object %s was damaged in the cache %q, and could not be fetched again: %v", h, d.path, rerr)
	}
	if typ, data, err = d.readKnown(h, limit); err == nil && hashObject(typ, data) != h {
		err = fmt.Errorf("the Git object %s in %q is damaged again", h, d.path)
	}
	return typ, data, err
}

// dropDamaged throws a cache's packs away if the content of any is not that of its
// checksum, and says whether it did.
func (d *objectDir) dropDamaged() bool {
	names, _ := filepath.Glob(filepath.Join(globEscape(d.path), "pack", "*.pack"))
	if !slices.ContainsFunc(names, damagedPack) {
		return false
	}
	for _, n := range names {
		_ = os.Remove(strings.TrimSuffix(n, ".pack") + ".idx")
		_ = os.Remove(n)
	}
	d.rescan()
	return true
}

func damagedPack(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false // another run has thrown it away
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() < sha1.Size {
		return true
	}
	h := sha1.New()
	var want [sha1.Size]byte
	if _, err := io.CopyN(h, f, st.Size()-sha1.Size); err != nil {
		return true
	}
	_, err = io.ReadFull(f, want[:])
	return err != nil || !bytes.Equal(h.Sum(nil), want[:])
}

func (d *objectDir) readKnown(h Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	st := d.load()
	if p, off := st.find(h); p != nil {
		typ, data, err := p.read(off, limit)
		if !errors.Is(err, os.ErrNotExist) {
			return typ, data, err
		}
	}
	typ, data, err := d.readLoose(h, limit)
	if !errors.Is(err, ErrMissingObject) {
		return typ, data, err
	}
	for _, a := range st.alternates {
		if typ, data, aerr := a.readKnown(h, limit); !errors.Is(aerr, ErrMissingObject) {
			return typ, data, aerr
		}
	}
	return 0, nil, err
}

func (s *objectDirState) find(h Hash) (*packFile, int64) {
	for _, p := range s.packs {
		if off, ok := p.find(h); ok {
			return p, off
		}
	}
	return nil, 0
}

func (d *objectDir) loosePath(h Hash) string {
	s := h.String()
	return filepath.Join(d.path, s[:2], s[2:])
}

func (d *objectDir) readLoose(h Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	f, err := os.Open(d.loosePath(h))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil, errKind(ErrMissingObject, "the Git object %s is not in %q", h, d.path)
	}
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	in := inflaters.Get().(*inflater)
	defer inflaters.Put(in)
	if err := in.reset(f); err != nil {
		return 0, nil, fmt.Errorf("the Git object %s in %q is damaged: %w", h, d.path, err)
	}
	typ, size, err := looseHeader(in.z)
	if err != nil {
		return 0, nil, fmt.Errorf("the Git object %s in %q is damaged: %w", h, d.path, err)
	}
	if limit > 0 && size > limit {
		return typ, nil, errKind(ErrLimit, "the Git object %s has %d bytes, more than %d", h, size, limit)
	}
	data, err := readSized(in.z, size)
	if err != nil {
		return 0, nil, fmt.Errorf("the Git object %s in %q is damaged: %w", h, d.path, err)
	}
	return typ, data, nil
}

func looseHeader(r io.Reader) (plumbing.ObjectType, int64, error) {
	var buf [32]byte
	n := 0
	for {
		if n == len(buf) {
			return 0, 0, errors.New("bad header")
		}
		if _, err := io.ReadFull(r, buf[n:n+1]); err != nil {
			return 0, 0, err
		}
		if buf[n] == 0 {
			break
		}
		n++
	}
	name, digits, _ := strings.Cut(string(buf[:n]), " ")
	typ, err := plumbing.ParseObjectType(name)
	if err != nil {
		return 0, 0, err
	}
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return 0, 0, fmt.Errorf("bad size %q", digits)
	}
	return typ, size, nil
}

// readSized reads exactly size bytes and the end, growing as data arrives so
// that a lying header costs nothing.
func readSized(r io.Reader, size int64) ([]byte, error) {
	const trusted = 1 << 20
	if size > trusted {
		var buf bytes.Buffer
		n, err := io.Copy(&buf, io.LimitReader(r, size+1))
		if err == nil && n != size {
			err = fmt.Errorf("has %d bytes, its header says %d", n, size)
		}
		return buf.Bytes(), err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	var one [1]byte
	if n, err := r.Read(one[:]); n != 0 || err != nil && err != io.EOF {
		return nil, fmt.Errorf("is longer than its header says: %w", errors.Join(err))
	}
	return data, nil
}

// inflater is a reusable zlib reader.
type inflater struct {
	br *bufio.Reader
	z  io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return &inflater{br: bufio.NewReaderSize(nil, 4096)} }}

func (in *inflater) reset(r io.Reader) error {
	in.br.Reset(r)
	if in.z == nil {
		z, err := zlib.NewReader(in.br)
		in.z = z
		if err != nil {
			in.z = nil
		}
		return err
	}
	return in.z.(zlib.Resetter).Reset(in.br, nil)
}

// hashObject is the name of an object whose bytes are these parts, one after the other.
func hashObject(typ plumbing.ObjectType, parts ...[]byte) (out Hash) {
	size := 0
	for _, data := range parts {
		size += len(data)
	}
	h := hashes.Get().(hash.Hash)
	defer hashes.Put(h)
	begin(h, typ, size)
	for _, data := range parts {
		h.Write(data)
	}
	h.Sum(out[:0])
	return out
}

// hashes have named objects, and may name others: each file of each package is hashed.
var hashes = sync.Pool{New: func() any { return sha1.New() }}

// begin has a hash name an object of so many bytes, which are to come.
func begin(h hash.Hash, typ plumbing.ObjectType, size int) {
	h.Reset()
	var head [32]byte
	b := append(head[:0], typ.Bytes()...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	h.Write(append(b, 0))
}

// packFile is a pack and its index, opened at first use.
type packFile struct {
	path string
	dir  *objectDir

	once  sync.Once
	err   error
	file  *os.File
	index packIndex
}

func (p *packFile) open() error {
	p.once.Do(func() {
		data, err := os.ReadFile(strings.TrimSuffix(p.path, ".pack") + ".idx")
		if err == nil {
			err = checkIndex(data)
		}
		if err == nil {
			p.index, err = parsePackIndex(data)
		}
		if err == nil {
			p.file, err = os.Open(p.path)
		}
		if err == nil {
			err = p.checkPair(data)
		}
		p.err = err
	})
	return p.err
}

func (p *packFile) close() {
	p.once.Do(func() { p.err = os.ErrClosed }) // never opened
	if p.file != nil {
		_ = p.file.Close()
	}
}

// maxCheckedIndex bounds which indexes are compared with their checksum: those
// of a cache are small, a large repository's own would take a while.
const maxCheckedIndex = 8 << 20

func checkIndex(data []byte) error {
	end := len(data) - sha1.Size
	if end < 0 {
		return errors.New("the pack index is damaged")
	}
	if end > maxCheckedIndex {
		return nil
	}
	if sum := sha1.Sum(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return errors.New("the pack index is damaged: its content is not that of its checksum")
	}
	return nil
}

// checkPair compares the pack's checksum with that in its index. Both stand at
// the files' ends: what a dying machine cut, or left empty, is found out.
func (p *packFile) checkPair(index []byte) error {
	var sum [20]byte
	st, err := p.file.Stat()
	if err == nil {
		_, err = p.file.ReadAt(sum[:], st.Size()-int64(len(sum)))
	}
	if end := len(index) - 2*len(sum); err == nil && !bytes.Equal(sum[:], index[end:end+len(sum)]) {
		err = errors.New("it does not fit its index")
	}
	if err != nil {
		_ = p.file.Close()
		return fmt.Errorf("the pack %q is damaged: %w", p.path, err)
	}
	return nil
}

func (p *packFile) find(h Hash) (int64, bool) {
	if p.open() != nil {
		return 0, false
	}
	return p.index.find(h)
}

// packIndex is an index file of version 1 or 2.
type packIndex struct {
	fanout, names, offsets, large []byte
	stride, count                 int
}

func parsePackIndex(data []byte) (packIndex, error) {
	var x packIndex
	bad := errors.New("the pack index is damaged")
	v2 := bytes.HasPrefix(data, []byte("\xfftOc\x00\x00\x00\x02"))
	if v2 {
		data = data[8:]
	}
	if len(data) < 1024 {
		return x, bad
	}
	x.fanout = data[:1024]
	last := uint32(0)
	for i := range 256 {
		n := binary.BigEndian.Uint32(x.fanout[4*i:])
		if n < last {
			return x, bad
		}
		last = n
	}
	x.count = int(last)
	data = data[1024:]
	if !v2 {
		if len(data) < 24*x.count {
			return x, bad
		}
		x.stride, x.names, x.offsets = 24, data[:24*x.count], data
		return x, nil
	}
	if len(data) < 28*x.count {
		return x, bad
	}
	x.stride, x.names = 20, data[:20*x.count]
	x.offsets = data[24*x.count : 28*x.count]
	x.large = data[28*x.count:]
	return x, nil
}

func (x *packIndex) find(h Hash) (int64, bool) {
	lo, hi := 0, int(binary.BigEndian.Uint32(x.fanout[4*int(h[0]):]))
	if h[0] > 0 {
		lo = int(binary.BigEndian.Uint32(x.fanout[4*(int(h[0])-1):]))
	}
	skip := x.stride - 20 // version 1 has the offset before the name
	i := lo + sort.Search(hi-lo, func(i int) bool {
		at := (lo+i)*x.stride + skip
		return bytes.Compare(x.names[at:at+20], h[:]) >= 0
	})
	if i >= hi || !bytes.Equal(x.names[i*x.stride+skip:i*x.stride+skip+20], h[:]) {
		return 0, false
	}
	if skip > 0 {
		return int64(binary.BigEndian.Uint32(x.offsets[i*x.stride:])), true
	}
	off := binary.BigEndian.Uint32(x.offsets[4*i:])
	if off&(1<<31) == 0 {
		return int64(off), true
	}
	at := 8 * int(off&^(1<<31))
	if at+8 > len(x.large) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(x.large[at:])), true
}

type packEntry struct {
	typ     plumbing.ObjectType
	size    int64
	data    int64 // where the compressed bytes begin
	baseOff int64
	base    Hash
}

func (p *packFile) entry(off int64) (packEntry, error) {
	var buf [64]byte
	n, err := p.file.ReadAt(buf[:], off)
	if n == 0 {
		return packEntry{}, fmt.Errorf("reading %q at %d: %w", p.path, off, err)
	}
	b := buf[:n]
	bad := func() error { return fmt.Errorf("the pack %q is damaged at %d", p.path, off) }
	e := packEntry{typ: plumbing.ObjectType(b[0] >> 4 & 7), size: int64(b[0] & 15)}
	i := 1
	for shift := 4; b[i-1]&0x80 != 0; shift += 7 {
		if i >= len(b) || shift > 56 {
			return e, bad()
		}
		e.size |= int64(b[i]&0x7f) << shift
		i++
	}
	switch e.typ {
	case plumbing.OFSDeltaObject:
		rel := int64(-1)
		for more := true; more; i++ {
			if i >= len(b) || rel > 1<<52 {
				return e, bad()
			}
			rel = (rel+1)<<7 | int64(b[i]&0x7f)
			more = b[i]&0x80 != 0
		}
		if e.baseOff = off - rel; rel <= 0 || e.baseOff < 12 {
			return e, bad()
		}
	case plumbing.REFDeltaObject:
		if i+20 > len(b) {
			return e, bad()
		}
		copy(e.base[:], b[i:])
		i += 20
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	default:
		return e, bad()
	}
	e.data = off + int64(i)
	return e, nil
}

func (p *packFile) inflate(e packEntry, limit int64) ([]byte, error) {
	if limit > 0 && e.size > limit {
		return nil, errKind(ErrLimit, "a Git object in %q has %d bytes, more than %d", p.path, e.size, limit)
	}
	in := inflaters.Get().(*inflater)
	defer inflaters.Put(in)
	if err := in.reset(io.NewSectionReader(p.file, e.data, 1<<62)); err != nil {
		return nil, fmt.Errorf("the pack %q is damaged at %d: %w", p.path, e.data, err)
	}
	data, err := readSized(in.z, e.size)
	if err != nil {
		return nil, fmt.Errorf("the pack %q is damaged at %d: %w", p.path, e.data, err)
	}
	return data, nil
}

// maxDeltaDepth is far above what git writes (50; 4,095 at most).
const maxDeltaDepth = 10000

// read resolves the object at off: down the chain of deltas, then up again.
func (p *packFile) read(off, limit int64) (plumbing.ObjectType, []byte, error) {
	if err := p.open(); err != nil {
		return 0, nil, err
	}
	type link struct {
		e   packEntry
		off int64
	}
	var chain []link
	var typ plumbing.ObjectType
	var data []byte
	for at := off; data == nil; {
		if len(chain) > maxDeltaDepth {
			return 0, nil, fmt.Errorf("the pack %q is damaged: deltas more than %d deep", p.path, maxDeltaDepth)
		}
		if t, d, ok := p.dir.bases.get(p, at); ok {
			typ, data = t, d
			break
		}
		e, err := p.entry(at)
		if err != nil {
			return 0, nil, err
		}
		switch e.typ {
		case plumbing.OFSDeltaObject:
			chain = append(chain, link{e, at})
			at = e.baseOff
		case plumbing.REFDeltaObject:
			chain = append(chain, link{e, at})
			baseOff, ok := p.find(e.base)
			if ok {
				at = baseOff
				continue
			}
			if typ, data, err = p.dir.read(e.base, 0); isMissing(err) { // of a name, that is, which may be damaged
				err = fmt.Errorf("the pack %q is damaged at %d: it has what differs from %s, which is not there", p.path, at, e.base)
			}
			if err != nil {
				return 0, nil, err
			}
		default:
			if data, err = p.inflate(e, limit); err != nil {
				return 0, nil, err
			}
			typ = e.typ
			if len(chain) > 0 {
				p.dir.bases.put(p, at, typ, data)
			}
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		delta, err := p.inflate(chain[i].e, 0)
		if err != nil {
			return 0, nil, err
		}
		if data, err = applyDelta(data, delta, limit); err != nil {
			return 0, nil, fmt.Errorf("the pack %q at %d: %w", p.path, chain[i].off, err)
		}
		if i > 0 {
			p.dir.bases.put(p, chain[i].off, typ, data)
		}
	}
	return typ, data, nil
}

func deltaSize(d []byte) (int64, []byte, error) {
	n := int64(0)
	for i, shift := 0, 0; i < len(d) && shift < 63; i, shift = i+1, shift+7 {
		n |= int64(d[i]&0x7f) << shift
		if d[i]&0x80 == 0 {
			return n, d[i+1:], nil
		}
	}
	return 0, nil, errBadDelta
}

var errBadDelta = errors.New("a delta is damaged")

// applyDelta makes the object that a delta describes.
func applyDelta(base, delta []byte, limit int64) ([]byte, error) {
	from, delta, err := deltaSize(delta)
	if err != nil || from != int64(len(base)) {
		return nil, errBadDelta
	}
	to, delta, err := deltaSize(delta)
	if err != nil || to < 0 {
		return nil, errBadDelta
	}
	if limit > 0 && to > limit {
		return nil, errKind(ErrLimit, "a Git object has %d bytes, more than %d", to, limit)
	}
	out := make([]byte, 0, min(to, 1<<24))
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			n := int(op)
			if n == 0 || n > len(delta) || int64(len(out)+n) > to {
				return nil, errBadDelta
			}
			out = append(out, delta[:n]...)
			delta = delta[n:]
			continue
		}
		var args [7]byte
		for i := range args {
			if op&(1<<i) != 0 {
				if len(delta) == 0 {
					return nil, errBadDelta
				}
				args[i], delta = delta[0], delta[1:]
			}
		}
		off := int64(binary.LittleEndian.Uint32(args[:4]))
		n := int64(args[4]) | int64(args[5])<<8 | int64(args[6])<<16
		if n == 0 {
			n = 0x10000
		}
		if off+n > int64(len(base)) || int64(len(out))+n > to {
			return nil, errBadDelta
		}
		out = append(out, base[off:off+n]...)
	}
	if int64(len(out)) != to {
		return nil, errBadDelta
	}
	return out, nil
}

// baseCache keeps what deltas stand on, within a bound: what was asked for last, whatever
// the repository.
type baseCache struct {
	mu    sync.Mutex
	items map[baseKey]baseItem
	bytes int
	older map[baseKey]baseItem // that were not asked for since items were begun
}

type baseKey struct {
	pack *packFile
	off  int64
}

type baseItem struct {
	typ  plumbing.ObjectType
	data []byte
}

// baseCacheBytes bounds each of the two parts.
const baseCacheBytes = 16 << 20

func (c *baseCache) get(p *packFile, off int64) (plumbing.ObjectType, []byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := baseKey{p, off}
	it, ok := c.items[key]
	if !ok {
		if it, ok = c.older[key]; ok {
			c.keep(key, it)
		}
	}
	return it.typ, it.data, ok
}

// drop forgets what a folder's packs have.
func (c *baseCache) drop(d *objectDir) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, it := range c.items {
		if key.pack.dir == d {
			delete(c.items, key)
			c.bytes -= len(it.data)
		}
	}
	maps.DeleteFunc(c.older, func(key baseKey, _ baseItem) bool { return key.pack.dir == d })
}

func (c *baseCache) put(p *packFile, off int64, typ plumbing.ObjectType, data []byte) {
	if len(data) > baseCacheBytes/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(baseKey{p, off}, baseItem{typ, data})
}

// keep is put with the lock held.
func (c *baseCache) keep(key baseKey, it baseItem) {
	if c.items == nil || c.bytes+len(it.data) > baseCacheBytes {
		c.older, c.items, c.bytes = c.items, map[baseKey]baseItem{}, 0
	}
	if _, ok := c.items[key]; ok {
		return
	}
	delete(c.older, key)
	c.items[key] = it
	c.bytes += len(it.data)
}
