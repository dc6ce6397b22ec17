package gitrepo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/cores"
)

// Hash is a Git object name (SHA-1). The zero Hash means that there is none.
type Hash = plumbing.Hash

// Signature is who made a commit, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// Commit is a commit without its files. Shared: read only.
type Commit struct {
	Hash              Hash
	Tree              Hash
	Parents           []Hash
	Author, Committer Signature
	// Message is empty where Trailers name a variant and ask for no review: all that is
	// asked of such a commit is in the fields below, and the texts would be most of what
	// a run remembers. Of one to review it lists the edits that were lost.
	Message     string
	Annotations []Annotation // Porch's, in order, without their tasks
	Trailers    Trailers
}

// TrailersOf are the trailers about one revision of a package, which of says of
// annotations, the surest first: where several messages are one, as after a squash, those of
// the last that is about it and has any. Where there is none, those at the end stand for all.
func (c *Commit) TrailersOf(of ...func(Annotation) bool) Trailers {
	for _, of := range of {
		for _, a := range slices.Backward(c.Annotations) {
			if a.Trailers != nil && of(a) {
				return *a.Trailers
			}
		}
	}
	return c.Trailers
}

// parseCommit reads a commit object.
func parseCommit(h Hash, raw []byte) (*Commit, error) {
	c := &Commit{Hash: h}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		head = bytes.TrimSuffix(raw, []byte("\n"))
	}
	for line := range strings.SplitSeq(string(head), "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.Tree = plumbing.NewHash(value)
		case "parent":
			c.Parents = append(c.Parents, plumbing.NewHash(value))
		case "author":
			c.Author = parseSignature(value)
		case "committer":
			c.Committer = parseSignature(value)
		}
	}
	if c.Tree.IsZero() {
		return nil, fmt.Errorf("the Git object %s is not a commit", h)
	}
	text := string(message)
	c.Annotations, c.Trailers = ParseMessage(text)
	for i := range c.Annotations {
		c.Annotations[i].Source = c.Annotations[i].Task.source()
		c.Annotations[i].Task = nil
		if own := c.Annotations[i].Trailers; own != nil {
			*own = own.clone()
		}
	}
	if c.Trailers.Variant == "" || c.Trailers.Review != "" {
		c.Message = text
	} else {
		c.Trailers = c.Trailers.clone()
	}
	return c, nil
}

// parseSignature reads "Name <email> seconds +zone" as leniently as git does.
func parseSignature(s string) Signature {
	open, end := strings.IndexByte(s, '<'), strings.LastIndexByte(s, '>')
	if open < 0 || end < open {
		return Signature{Name: strings.TrimSpace(s)}
	}
	// Few people write all the commits of a fleet.
	sig := Signature{Name: unique.Make(strings.TrimSpace(s[:open])).Value(), Email: unique.Make(s[open+1 : end]).Value()}
	fields := strings.Fields(s[end+1:])
	if len(fields) == 0 {
		return sig
	}
	secs, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return sig
	}
	zone := time.UTC
	if len(fields) > 1 {
		zone = parseZone(fields[1])
	}
	sig.When = time.Unix(secs, 0).In(zone)
	return sig
}

func parseZone(s string) *time.Location {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) != 5 || n == 0 {
		return time.UTC
	}
	return time.FixedZone("", (n/100*60+n%100)*60)
}

func (s Signature) encode(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s <%s> %d %s", cleanIdent(s.Name), cleanIdent(s.Email), s.When.Unix(), s.When.Format("-0700"))
}

// cleanIdent drops what git does not allow in names.
func cleanIdent(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '<' || r == '>' || r < ' ' {
			return -1
		}
		return r
	}, s), " .,:;\"'")
}

// encodeCommit writes a commit object.
func encodeCommit(tree Hash, parents []Hash, author, committer Signature, message string) []byte {
	var b bytes.Buffer
	b.Grow(256 + len(message))
	b.WriteString("tree " + tree.String() + "\n")
	for _, p := range parents {
		b.WriteString("parent " + p.String() + "\n")
	}
	b.WriteString("author ")
	author.encode(&b)
	b.WriteString("\ncommitter ")
	committer.encode(&b)
	b.WriteString("\n\n")
	b.WriteString(strings.ReplaceAll(message, "\x00", ""))
	if !strings.HasSuffix(message, "\n") {
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// commitCache keeps commits by hash, in memory and, where path is set, in a file
// of length-prefixed commit objects. Of the file those are read that somebody asks for: it
// has all that were ever seen. Each is checked against its name then,
// so a torn or damaged file costs a fetch and never an error.
type commitCache struct {
	path string
	most int64     // bytes of the file
	load sync.Once // the file is looked through when the first commit is asked for
	mu   sync.RWMutex
	came map[Hash]*Commit      // fetched or made in this run
	read map[Hash]*Commit      // read from the file
	at   map[Hash]commitRecord // those that the file had
	file *os.File              // nil without one
	// A damaged end is cut where something is added, if the file is as it was then: it may be
	// what another run was about to write.
	size, end int64
}

const (
	commitRecordHead = 24 // length, name
	maxCommitBytes   = 1 << 20
	maxCacheBytes    = 128 << 20
)

// commitRecord is where a commit stands in the file.
type commitRecord struct{ at, size uint32 }

func openCommitCache(path string) *commitCache {
	return &commitCache{came: map[Hash]*Commit{}, read: map[Hash]*Commit{}, at: map[Hash]commitRecord{}, path: path, most: maxCacheBytes}
}

// held is a commit in memory, or nil. c.mu is held.
func (c *commitCache) held(h Hash) *Commit { return cmp.Or(c.came[h], c.read[h]) }

// scan notes what the file has. It drops the older half of what has grown too large.
func (c *commitCache) scan() {
	if c.path == "" {
		return
	}
	f, err := os.Open(c.path)
	if err != nil {
		return // none yet
	}
	info, err := f.Stat()
	if err == nil && info.Size() > c.most {
		_ = c.halve(f, info.Size()) // only a cache: the next run tries again
		_ = f.Close()
		if f, err = os.Open(c.path); err == nil {
			info, err = f.Stat()
		}
	}
	if err != nil || info.Size() > math.MaxUint32 {
		_ = f.Close()
		return
	}
	end := commitRecords(f, info.Size(), func(h Hash, at int64, size int) bool {
		c.at[h] = commitRecord{uint32(at), uint32(size)} // the last one: one before it was damaged
		return true
	})
	c.file, c.size, c.end = f, info.Size(), end
}

// commitRecords calls each with the records of a file, until it has seen enough, and says
// where the last whole one ends.
func commitRecords(f io.ReaderAt, size int64, each func(h Hash, at int64, size int) bool) (end int64) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), int(min(size, 64<<10)))
	for size-end >= commitRecordHead {
		head, err := in.Peek(commitRecordHead)
		n := 0
		if err == nil {
			n = int(binary.BigEndian.Uint32(head))
		}
		if err != nil || n > maxCommitBytes || end+commitRecordHead+int64(n) > size || !each(Hash(head[4:]), end+commitRecordHead, n) {
			break
		}
		if _, err := in.Discard(commitRecordHead + n); err != nil {
			break
		}
		end += commitRecordHead + int64(n)
	}
	return end
}

// halve keeps the newer half of what a file may have.
func (c *commitCache) halve(f *os.File, size int64) error {
	from := commitRecords(f, size, func(_ Hash, at int64, _ int) bool { return at-commitRecordHead < size-c.most/2 })
	return replaceFile(c.path, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, from, size-from))
		return err
	})
}

// close closes the file; what was read stays known.
func (c *commitCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// take returns commits, nil for one that is not known: those that the file alone has are
// read on all cores.
func (c *commitCache) take(hashes ...Hash) []*Commit {
	c.load.Do(c.scan)
	out := make([]*Commit, len(hashes))
	var want []int
	var records []commitRecord
	c.mu.RLock()
	file := c.file
	for i, h := range hashes {
		if out[i] = c.held(h); out[i] != nil {
			continue
		}
		if r, ok := c.at[h]; ok {
			want, records = append(want, i), append(records, r)
		}
	}
	c.mu.RUnlock()
	if file == nil || len(want) == 0 {
		return out
	}
	texts := sync.Pool{New: func() any { return new([]byte) }}
	_ = cores.Each(context.Background(), 0, len(want), func(n int) error { // what is damaged stays nil
		text := texts.Get().(*[]byte)
		defer texts.Put(text)
		raw := slices.Grow((*text)[:0], int(records[n].size))[:records[n].size]
		*text = raw
		h := hashes[want[n]]
		if _, err := file.ReadAt(raw, int64(records[n].at)); err == nil && hashObject(plumbing.CommitObject, raw) == h {
			out[want[n]], _ = parseCommit(h, raw)
		}
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range want {
		h := hashes[i]
		if others := c.held(h); others != nil { // read it meanwhile
			out[i] = others
		} else if out[i] == nil {
			delete(c.at, h)
		} else {
			c.read[h] = out[i]
		}
	}
	return out
}

// unseen are those of some commits that neither memory nor the file has. What of the file
// is damaged is found out by who takes it.
func (c *commitCache) unseen(hashes []Hash) (out []Hash) {
	c.load.Do(c.scan)
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, h := range hashes {
		if _, ok := c.at[h]; !ok && c.held(h) == nil {
			out = append(out, h)
		}
	}
	return out
}

// letGo drops the commits that were read from the file: they are read again when they are
// asked for.
func (c *commitCache) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.read) > 0 && c.file != nil {
		c.read = map[Hash]*Commit{} // a map that is cleared keeps its room
	}
}

// len is how many commits are at hand, if the file is sound.
func (c *commitCache) len() int {
	c.load.Do(c.scan)
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := len(c.at)
	for h := range c.came {
		if _, ok := c.at[h]; !ok {
			n++
		}
	}
	return n
}

// get is a commit, nil for one that is not known. What another lets go meanwhile is
// returned all the same.
func (c *commitCache) get(h Hash) *Commit {
	c.mu.RLock()
	found := c.held(h)
	c.mu.RUnlock()
	if found == nil {
		found = c.take(h)[0]
	}
	return found
}

// matching lists the known commits whose names begin with a hex prefix.
func (c *commitCache) matching(prefix string) []Hash {
	c.load.Do(c.scan)
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Hash
	for h := range c.came {
		if strings.HasPrefix(h.String(), prefix) {
			out = append(out, h)
		}
	}
	for h := range c.at {
		if c.came[h] == nil && strings.HasPrefix(h.String(), prefix) {
			out = append(out, h)
		}
	}
	return out
}

// unmade is for commits that come as they are stored.
func unmade(Hash) *Commit { return nil }

// add parses and keeps raw commits, but those that are made already, and appends the
// new ones to the file in one write, so that runs side by side do not tear each other's
// records.
func (c *commitCache) add(raws map[Hash][]byte, made func(Hash) *Commit) error {
	hashes := make([]Hash, 0, len(raws))
	for h := range raws {
		if c.get(h) == nil {
			hashes = append(hashes, h)
		}
	}
	plumbing.HashesSort(hashes)
	parsed := make([]*Commit, len(hashes))
	err := cores.Each(context.Background(), 0, len(hashes), func(i int) (err error) {
		if parsed[i] = made(hashes[i]); parsed[i] == nil {
			parsed[i], err = parseCommit(hashes[i], raws[hashes[i]])
		}
		return err
	})
	if err != nil {
		return err
	}
	c.load.Do(c.scan)
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, h := range hashes {
		size += commitRecordHead + len(raws[h])
	}
	var out []byte
	for i, h := range hashes {
		if c.held(h) != nil {
			continue
		}
		c.came[h] = parsed[i]
		if c.path != "" && len(raws[h]) <= maxCommitBytes {
			if out == nil {
				out = make([]byte, 0, size)
			}
			out = binary.BigEndian.AppendUint32(out, uint32(len(raws[h])))
			out = append(append(out, h[:]...), raws[h]...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("writing the commit cache: %w", err)
	}
	if c.end < c.size {
		if info, serr := f.Stat(); serr == nil && info.Size() == c.size {
			_ = os.Truncate(c.path, c.end) // only a cache
		}
		c.size = c.end
	}
	_, err = f.Write(out)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing the commit cache %q: %w", c.path, err)
	}
	return nil
}
