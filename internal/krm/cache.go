package krm

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// Cache lets packages share what equal files hold: the second one of the same
// bytes is not parsed, and an edit that was written for the first is not
// written again for the second; of a file that differs only a little from the one
// that was read last under its path, the rest is not. Variants of one upstream are
// mostly that. It keeps nothing alive that no package uses. The zero value is ready; it is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	files map[cacheKey]weak.Pointer[content]
	last  map[string]weak.Pointer[content] // by path
}

type cacheKey struct {
	sum    [sha256.Size]byte
	limits Limits
	json   bool // read as JSON where it is that
}

// content is what the bytes of a YAML or JSON file hold, whatever the rest of its path. It is never
// changed.
type content struct {
	data    []byte
	limits  Limits
	docs    []document
	problem *Problem // without a path
}

// WithCache has a package share what its files hold with others of the cache.
func WithCache(c *Cache) Option {
	return func(p *Package) { p.cache = c }
}

// parse returns what the data of a path holds, parsed now or before. Two that ask
// for the same at once may both parse it; the first is kept.
func (c *Cache) parse(path string, data []byte, l Limits, like []known) *content {
	if c == nil {
		return newContent(path, data, l, like)
	}
	last := c.latest(path)
	if last != nil && last.limits == l && bytes.Equal(last.data, data) { // quicker than a sum
		return last
	}
	key := cacheKey{sha256.Sum256(data), l, isJSON(path)}
	if found := c.find(key); found != nil {
		return found
	}
	made := newContent(path, data, l, append(like[:len(like):len(like)], last.known))
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.files[key].Value(); found != nil {
		return found
	}
	if c.files == nil {
		c.files, c.last = map[cacheKey]weak.Pointer[content]{}, map[string]weak.Pointer[content]{}
	}
	c.files[key], c.last[path] = weak.Make(made), weak.Make(made)
	runtime.AddCleanup(made, c.drop, dropped{key, path})
	return made
}

func newContent(path string, data []byte, l Limits, like []known) *content {
	docs, problem := parseDocs(path, data, l, like...)
	return &content{data: data, limits: l, docs: docs, problem: problem}
}

// find returns what the bytes hold, nil where nothing is known of them.
func (c *Cache) find(key cacheKey) *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[key].Value()
}

// latest returns what was read last under a path, nil where nothing was.
func (c *Cache) latest(path string) *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[path].Value()
}

type dropped struct {
	key  cacheKey
	path string
}

// drop forgets an entry whose content is gone; one made since stays.
func (c *Cache) drop(d dropped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[d.key].Value() == nil {
		delete(c.files, d.key)
	}
	if c.last[d.path].Value() == nil {
		delete(c.last, d.path)
	}
}
