package render

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// processCacheBytes bounds the inputs and outputs of programs that are kept: results
// beyond are computed again.
const processCacheBytes = 64 << 20

type digest [sha256.Size]byte

// onceCache computes each key once, also when many ask at the same time, and
// forgets the oldest keys beyond limit bytes. Failures are not kept.
type onceCache[V any] struct {
	mu      sync.Mutex
	limit   int
	weigh   func(V) int // the bytes of a value, beside those of its input; nil for none
	size    int
	order   []digest
	entries map[digest]*onceEntry[V]
}

type onceEntry[V any] struct {
	done chan struct{}
	size int
	val  V
	err  error
}

// get returns the value of key and whether it was there before.
func (c *onceCache[V]) get(key digest, size int, compute func() (V, error)) (V, bool, error) {
	c.mu.Lock()
	if e, ok := c.entries[key]; ok {
		c.mu.Unlock()
		<-e.done
		if e.err == nil {
			return e.val, true, nil
		}
		v, err := compute() // the other caller's failure may be its own: a deadline
		return v, false, err
	}
	e := &onceEntry[V]{done: make(chan struct{}), size: size}
	if c.entries == nil {
		c.entries = map[digest]*onceEntry[V]{}
	}
	c.entries[key] = e
	c.order = append(c.order, key)
	c.size += size
	c.evict()
	c.mu.Unlock()

	e.val, e.err = compute()
	close(e.done)
	if e.err != nil {
		c.forget(key, e)
	} else if c.weigh != nil {
		c.grow(key, e, c.weigh(e.val))
	}
	return e.val, false, e.err
}

// grow counts what a value turned out to take. One that would take the place of many is
// not kept.
func (c *onceCache[V]) grow(key digest, e *onceEntry[V], n int) {
	if n > c.limit/8 {
		c.forget(key, e)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] == e {
		e.size += n
		c.size += n
		c.evict()
	}
}

func (c *onceCache[V]) evict() {
	for c.size > c.limit && len(c.order) > 1 {
		if e := c.entries[c.order[0]]; e != nil {
			c.size -= e.size
			delete(c.entries, c.order[0])
		}
		c.order = c.order[1:]
	}
}

func (c *onceCache[V]) forget(key digest, e *onceEntry[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != e {
		return
	}
	delete(c.entries, key)
	c.size -= e.size
	for i, k := range c.order {
		if k == key {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
}

// newProcessCache keeps what programs answered by what they were asked.
func newProcessCache() *onceCache[processOutput] {
	return &onceCache[processOutput]{limit: processCacheBytes, weigh: processOutput.bytes}
}

// partsDigest is of parts, and differs from that of the same bytes cut elsewhere.
func partsDigest(parts ...[]byte) (d digest) {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		_, _ = h.Write(n[:]) // hashes do not fail
		_, _ = h.Write(p)
	}
	copy(d[:], h.Sum(nil))
	return d
}
