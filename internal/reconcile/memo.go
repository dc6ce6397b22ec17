package reconcile

import (
	"bufio"
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

// OpenMemo reads a memo file; one that is missing or cannot be read is empty.
func OpenMemo(path string) (*FileMemo, error) {
	m := &FileMemo{path: path, keys: map[string]bool{}}
	f, err := os.Open(path)
	if err != nil {
		return m, nil // only a cache: what it knew is found out again
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m.keys[lines.Text()] = true
	}
	return m, nil // what cannot be read is found out again
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
