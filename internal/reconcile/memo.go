package reconcile

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
)

// FileMemo is a Memo in a file of one line for each key: its code under the machine's key, for
// others may write the cache. Safe for concurrent use; two processes may share the file.
type FileMemo struct {
	mu      sync.Mutex
	path    string
	machine []byte
	codes   map[string]bool
}

// OpenMemo reads the memo file of a program; one that is missing or cannot be read
// is empty. What changes nothing for one program may change something for another,
// so that each has a file of its own beside path.
func OpenMemo(path, program string, machine []byte) *FileMemo {
	sum := sha256.Sum256([]byte(program))
	path += "-" + hex.EncodeToString(sum[:6])
	m := &FileMemo{path: path, machine: machine, codes: map[string]bool{}}
	f, err := os.Open(path)
	if err != nil {
		return m // what it knew is found out again
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m.codes[lines.Text()] = true
	}
	return m // what cannot be read is found out again
}

func (m *FileMemo) code(key string) string {
	mac := hmac.New(sha256.New, m.machine)
	mac.Write([]byte(key))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Has reports whether a key was put.
func (m *FileMemo) Has(key string) bool {
	code := m.code(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.codes[code]
}

// Put adds a key. A file that cannot be written costs time, nothing else.
func (m *FileMemo) Put(key string) {
	code := m.code(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.codes[code] {
		return
	}
	m.codes[code] = true
	if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
		return
	}
	f, err := os.OpenFile(m.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(code + "\n")
	_ = f.Close()
}
