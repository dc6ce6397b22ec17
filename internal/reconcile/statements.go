package reconcile

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/variform/variform/internal/build"
)

// FileStatements implements build.Statements in this machine's state folder. It stores a code
// of each statement under a key that exists only in this folder. If the folder is lost,
// Variform builds packages again. Processes may share it.
type FileStatements struct {
	read func() statements

	mu sync.Mutex
}

type statements struct {
	key   []byte
	codes map[statement]struct{}
	path  string // "" where nothing can be written
}

// statement is the code of one.
type statement [16]byte

var _ build.Statements = (*FileStatements)(nil)

// maxStatements bounds the number of statements; the newest stay.
const maxStatements = 1 << 19

// OpenStatements reads a folder when it is first asked.
func OpenStatements(dir string) *FileStatements {
	return &FileStatements{read: sync.OnceValue(func() statements { return readStatements(dir) })}
}

// Has reports whether a statement was put.
func (s *FileStatements) Has(words ...string) bool {
	known := s.read()
	code := known.code(words)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := known.codes[code]
	return ok
}

// Put adds a statement. A file that cannot be written costs time, nothing else.
func (s *FileStatements) Put(words ...string) {
	known := s.read()
	code := known.code(words)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := known.codes[code]; ok {
		return
	}
	known.codes[code] = struct{}{}
	if known.path == "" {
		return
	}
	// Opened each time: a run has no end at which every caller would close the file.
	if f, err := os.OpenFile(known.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.Write(code[:])
		_ = f.Close()
	}
}

func (k statements) code(words []string) (code statement) {
	mac := hmac.New(sha256.New, k.key)
	for _, w := range words {
		_, _ = mac.Write(append([]byte(w), 0)) // no word has that
	}
	copy(code[:], mac.Sum(nil))
	return code
}

func readStatements(dir string) statements {
	k := statements{codes: map[statement]struct{}{}}
	if k.key = MachineKey(dir); k.key == nil { // for this run alone
		k.key = make([]byte, sha256.Size)
		_, _ = rand.Read(k.key)
		return k
	}
	path := filepath.Join(dir, "built")
	data, _ := os.ReadFile(path) // what cannot be read is found out again
	const size = len(statement{})
	data = data[:len(data)-len(data)%size]
	if len(data) > maxStatements*size {
		data = data[len(data)-maxStatements/2*size:]
		_ = os.WriteFile(path, data, 0o600)
	}
	k.codes = make(map[statement]struct{}, len(data)/size)
	for code := range slices.Chunk(data, size) {
		k.codes[statement(code)] = struct{}{}
	}
	k.path = path
	return k
}

// MachineKey reads the key in a machine's state folder, or makes it; nil where neither can be,
// as for "".
func MachineKey(dir string) []byte {
	path := filepath.Join(dir, "key")
	if key, err := os.ReadFile(path); err == nil && dir != "" {
		return whole(key)
	}
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "key-*")
	if err != nil {
		return nil
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key)
	_, err = f.Write(key)
	if cerr := f.Close(); err == nil && cerr == nil {
		_ = os.Link(f.Name(), path) // all of it or none: another process may have been first
	}
	_ = os.Remove(f.Name())
	if key, err = os.ReadFile(path); err != nil {
		return nil
	}
	return whole(key)
}

func whole(key []byte) []byte {
	if len(key) != sha256.Size {
		return nil
	}
	return key
}
