package gitrepo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
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

// parseCommit reads a commit object.
func parseCommit(h Hash, raw []byte) (*Commit, error) {
	c := &Commit{Hash: h}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		head = bytes.TrimSuffix(raw, []byte("\n"))
	}
	for _, line := range bytes.Split(head, []byte("\n")) {
		key, value, _ := strings.Cut(string(line), " ")
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
		c.Annotations[i].Task = nil
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
// of length-prefixed commit objects. Each is checked against its name when read,
// so a torn or damaged file costs a fetch and never an error.
type commitCache struct {
	path string
	load sync.Once // the file is read when the first commit is asked for
	mu   sync.RWMutex
	byID map[Hash]*Commit
}

const (
	commitRecordHead = 24 // length, name
	maxCommitBytes   = 1 << 20
	maxCacheBytes    = 256 << 20
)

// commitRecord is one record of the file, which ends there.
type commitRecord struct {
	hash   Hash
	raw    []byte
	end    int
	sound  bool
	commit *Commit // nil where it does not read as one
}

func openCommitCache(path string) *commitCache {
	return &commitCache{byID: map[Hash]*Commit{}, path: path}
}

// read takes the file in.
func (c *commitCache) read() {
	if c.path == "" {
		return
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	var records []commitRecord
	for at := 0; len(data)-at >= commitRecordHead; {
		n := int(binary.BigEndian.Uint32(data[at:]))
		if n > maxCommitBytes || at+commitRecordHead+n > len(data) {
			break
		}
		r := commitRecord{end: at + commitRecordHead + n}
		copy(r.hash[:], data[at+4:])
		r.raw = data[at+commitRecordHead : r.end]
		records = append(records, r)
		at = r.end
	}
	_ = cores.Each(context.Background(), 0, len(records), func(i int) error { // what is damaged stays nil
		r := &records[i]
		if r.sound = hashObject(plumbing.CommitObject, r.raw) == r.hash; r.sound {
			r.commit, _ = parseCommit(r.hash, r.raw)
		}
		return nil
	})
	good := 0
	for _, r := range records {
		if !r.sound {
			break
		}
		if r.commit != nil {
			c.byID[r.hash] = r.commit
		}
		good = r.end
	}
	if good < len(data) || good > maxCacheBytes {
		c.shorten(good)
	}
}

// shorten drops a damaged end, or all of a file that has grown too large.
func (c *commitCache) shorten(good int) {
	if good > maxCacheBytes {
		good = 0
	}
	_ = os.Truncate(c.path, int64(good)) // only a cache: the next run tries again
}

func (c *commitCache) len() int {
	c.load.Do(c.read)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.byID)
}

func (c *commitCache) get(h Hash) *Commit {
	c.load.Do(c.read)
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byID[h]
}

// matching lists the known commits whose names begin with a hex prefix.
func (c *commitCache) matching(prefix string) []Hash {
	c.load.Do(c.read)
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []Hash
	for h := range c.byID {
		if strings.HasPrefix(h.String(), prefix) {
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
	c.load.Do(c.read)
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []byte
	for i, h := range hashes {
		if c.byID[h] != nil {
			continue
		}
		c.byID[h] = parsed[i]
		if len(raws[h]) <= maxCommitBytes {
			out = binary.BigEndian.AppendUint32(out, uint32(len(raws[h])))
			out = append(append(out, h[:]...), raws[h]...)
		}
	}
	if c.path == "" || len(out) == 0 {
		return nil
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("writing the commit cache: %w", err)
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
