package reconcile

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
)

// FileMemo is a Memo in a file of one key a line. Safe for concurrent use; two
// processes may share the file.
type FileMemo struct {
	mu   sync.Mutex
	path string
	keys map[string]bool
}

// OpenMemo reads the memo file of a program; one that is missing or cannot be read
// is empty. What changes nothing for one program may change something for another,
// so that each has a file of its own beside path.
func OpenMemo(path, program string) *FileMemo {
	sum := sha256.Sum256([]byte(program))
	path += "-" + hex.EncodeToString(sum[:6])
	m := &FileMemo{path: path, keys: map[string]bool{}}
	f, err := os.Open(path)
	if err != nil {
		return m // what it knew is found out again
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m.keys[lines.Text()] = true
	}
	return m // what cannot be read is found out again
}

// Has reports whether a key was put.
func (m *FileMemo) Has(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[key]
}

// Put adds a key. A file that cannot be written costs time, nothing else.
func (m *FileMemo) Put(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[key] {
		return
	}
	m.keys[key] = true
	if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
		return
	}
	f, err := os.OpenFile(m.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(key + "\n")
	_ = f.Close()
}
