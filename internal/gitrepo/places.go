package gitrepo

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// placeCache remembers which tree stands at a path of a commit. Neither ever
// changes, and to find it out takes the commit's root tree, as long as its
// repository has packages: over all packages that would grow with the square of
// their number. Records of fixed size are kept in a file where path is set; each has a
// code under key, for others may write the cache, and what is lost is found out again.
type placeCache struct {
	path string
	key  []byte
	load sync.Once
	mu   sync.RWMutex
	at   map[placeKey]Hash
	tail []byte // what is not in the file yet
	file *os.File
}

// placeKey is a commit and the start of a path's digest.
type placeKey [28]byte

const (
	placeCode       = 8
	placeRecord     = 28 + 20 + placeCode // key, tree, code
	maxPlaceRecords = 1 << 18             // of the file; 25 MB of memory
	placesAtOnce    = 100 * placeRecord   // in bytes, of a write
)

func placeOf(commit Hash, dir string) (k placeKey) {
	copy(k[:], commit[:])
	sum := sha256.Sum256([]byte(dir))
	copy(k[20:], sum[:])
	return k
}

// get is the tree at a path; the zero Hash says that there is none.
func (c *placeCache) get(commit Hash, dir string) (tree Hash, known bool) {
	c.load.Do(c.read)
	c.mu.RLock()
	defer c.mu.RUnlock()
	tree, known = c.at[placeOf(commit, dir)]
	return tree, known
}

// put remembers a place. It is in the file after a flush, or when there are many.
func (c *placeCache) put(commit Hash, dir string, tree Hash) {
	c.load.Do(c.read)
	k := placeOf(commit, dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.at[k]; known {
		return
	}
	c.at[k] = tree
	if c.file == nil {
		return
	}
	from := len(c.tail)
	c.tail = append(append(c.tail, k[:]...), tree[:]...)
	c.tail = append(c.tail, c.code(hmac.New(sha256.New, c.key), c.tail[from:])...)
	if len(c.tail) >= placesAtOnce {
		c.write()
	}
}

// code returns the code of a record. It resets mac.
func (c *placeCache) code(mac hash.Hash, body []byte) []byte {
	mac.Reset()
	mac.Write(body)
	return mac.Sum(nil)[:placeCode]
}

// flush writes what was put to the file.
func (c *placeCache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write()
}

// write is flush with the lock held.
func (c *placeCache) write() {
	if c.file == nil || len(c.tail) == 0 {
		return
	}
	if _, err := c.file.Write(c.tail); err != nil { // only a cache
		_ = c.file.Close()
		c.file = nil
	}
	c.tail = c.tail[:0]
}

// close closes the file; what is known stays known.
func (c *placeCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.write(); c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// read takes the file in, of one that has grown large the newer half, and begins it anew
// where it is damaged.
func (c *placeCache) read() {
	c.at = map[placeKey]Hash{}
	if c.path == "" {
		return
	}
	data, _ := os.ReadFile(c.path) // none yet, or it is made again
	whole, large := len(data)%placeRecord == 0, len(data) > maxPlaceRecords*placeRecord
	if large {
		data = data[len(data)-maxPlaceRecords/2*placeRecord:]
	}
	mac := hmac.New(sha256.New, c.key)
	for rest := data; whole && len(rest) > 0; rest = rest[placeRecord:] {
		body := rest[:placeRecord-placeCode]
		if !hmac.Equal(c.code(mac, body), rest[len(body):placeRecord]) {
			whole = false
			break
		}
		c.at[placeKey(body[:28])] = Hash(body[28:])
	}
	switch {
	case !whole:
		c.at = map[placeKey]Hash{}
		_ = os.Remove(c.path)
	case large:
		_ = replaceFile(c.path, func(w io.Writer) error { // only a cache: the next run tries again
			_, err := w.Write(data)
			return err
		})
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return
	}
	// Whole records in each write, at the end: runs side by side do not tear each
	// other's.
	c.file, _ = os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}
