package gitrepo

import (
	"sync"
	"weak"

	"github.com/go-git/go-git/v5/plumbing"
)

// blobNames remembers the names of files that stand in memory once, and in many packages: most
// of a variant's are its upstream's, and to name them anew is to read them all. A file's bytes
// are never changed. What is remembered keeps none of them in memory.
type blobNames struct {
	mu sync.RWMutex
	of map[blobBytes]Hash
}

// blobBytes are bytes in memory, however many others are like them.
type blobBytes struct {
	at  weak.Pointer[byte]
	len int
}

// mostNames bounds what is remembered, of files that have gone, too.
const mostNames = 8 << 10

func bytesOf(data []byte) blobBytes { return blobBytes{weak.Make(&data[0]), len(data)} }

// name is the name of a file's bytes, and whether it was known.
func (n *blobNames) name(data []byte) (h Hash, known bool) {
	if len(data) > 0 {
		at := bytesOf(data)
		n.mu.RLock()
		h, known = n.of[at]
		n.mu.RUnlock()
	}
	if !known {
		h = hashObject(plumbing.BlobObject, data)
	}
	return h, known
}

// keep remembers a name.
func (n *blobNames) keep(data []byte, h Hash) {
	if len(data) == 0 {
		return
	}
	at := bytesOf(data)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || len(n.of) >= mostNames {
		n.of = map[blobBytes]Hash{}
	}
	n.of[at] = h
}
