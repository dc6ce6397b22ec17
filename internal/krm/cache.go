package krm

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"
)

// Cache lets packages share what equal files hold: the second one of the same
// bytes is not parsed, and an edit that was written for the first is not
// written again for the second. Variants of one upstream are mostly that. It
// keeps nothing alive that no package uses. The zero value is ready; it is safe
// for concurrent use.
type Cache struct {
	mu    sync.Mutex
	files map[cacheKey]weak.Pointer[content]
}

type cacheKey struct {
	sum    [sha256.Size]byte
	limits Limits
}

// content is what the bytes of a YAML file hold, whatever its path. It is never
// changed.
type content struct {
	data    []byte
	docs    []document
	problem *Problem // without a path
}

// WithCache has a package share what its files hold with others of the cache.
func WithCache(c *Cache) Option {
	return func(p *Package) { p.cache = c }
}

// parse returns what data holds, parsed now or before. Two that ask for the
// same at once may both parse it; the first is kept.
func (c *Cache) parse(data []byte, l Limits) *content {
	if c == nil {
		return newContent(data, l)
	}
	key := cacheKey{sha256.Sum256(data), l}
	if found := c.find(key); found != nil {
		return found
	}
	made := newContent(data, l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.files[key].Value(); found != nil {
		return found
	}
	if c.files == nil {
		c.files = map[cacheKey]weak.Pointer[content]{}
	}
	c.files[key] = weak.Make(made)
	runtime.AddCleanup(made, c.drop, key)
	return made
}

func newContent(data []byte, l Limits) *content {
	docs, problem := parseDocs(data, l)
	return &content{data: data, docs: docs, problem: problem}
}

func (c *Cache) find(key cacheKey) *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[key].Value()
}

// drop forgets an entry whose content is gone; one made since stays.
func (c *Cache) drop(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[key].Value() == nil {
		delete(c.files, key)
	}
}
