package ocirepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

const digestPrefix = "sha256:"

// digestOf is the digest of bytes, "sha256:…".
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// isDigest reports whether s is "sha256:" and 64 hexadecimal digits.
func isDigest(s string) bool {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return false
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// blobCache keeps manifests and layers as files named by their digest. Each is
// compared with its name when it is read: a damaged file is as good as none.
type blobCache struct {
	dir  string // "" keeps nothing
	most int64  // bytes; a run that finds more removes the oldest half
	trim sync.Once
}

const (
	maxCacheBytes = 2 << 30
	tempPrefix    = "incoming-"
)

func (c *blobCache) get(digest string, limit int64) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	file := c.file(digest)
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() || st.Size() > limit {
		return nil, false
	}
	data, err := os.ReadFile(file)
	if err != nil || digestOf(data) != digest {
		return nil, false
	}
	return data, true
}

// put is silent: what is not cached is fetched again.
func (c *blobCache) put(digest string, data []byte) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	c.trim.Do(c.clean)
	f, err := os.CreateTemp(c.dir, tempPrefix)
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), c.file(digest))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

func (c *blobCache) file(digest string) string {
	return filepath.Join(c.dir, strings.TrimPrefix(digest, digestPrefix))
}

// clean removes what processes that died left a day ago and, of a cache that has
// grown large, the oldest files.
func (c *blobCache) clean() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	var size int64
	for _, e := range entries {
		st, err := e.Info()
		switch {
		case err != nil || !st.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), tempPrefix):
			if time.Since(st.ModTime()) > 24*time.Hour {
				_ = os.Remove(filepath.Join(c.dir, e.Name()))
			}
		default:
			files = append(files, st)
			size += st.Size()
		}
	}
	if size <= c.most {
		return
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, st := range files {
		if size <= c.most/2 {
			return
		}
		if os.Remove(filepath.Join(c.dir, st.Name())) == nil {
			size -= st.Size()
		}
	}
}

// memo does each thing once: the first caller of a key works, others wait for
// it. Failures are not remembered.
type memo[T any] struct {
	mu    sync.Mutex
	cells map[string]*cell[T]
}

type cell[T any] struct {
	turn  chan struct{}
	done  bool
	value T
}

func (m *memo[T]) get(ctx context.Context, key string, work func() (T, error)) (T, error) {
	m.mu.Lock()
	c, ok := m.cells[key]
	if !ok {
		if m.cells == nil {
			m.cells = map[string]*cell[T]{}
		}
		c = &cell[T]{turn: make(chan struct{}, 1)}
		m.cells[key] = c
	}
	m.mu.Unlock()

	var none T
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if c.done {
		return c.value, nil
	}
	v, err := work()
	if err != nil {
		return none, err
	}
	c.value, c.done = v, true
	return v, nil
}

func (m *memo[T]) forget() {
	m.mu.Lock()
	m.cells = nil
	m.mu.Unlock()
}
