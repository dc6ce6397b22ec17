package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"syscall"

	"github.com/variform/variform/internal/krm"
)

// tree is a folder to read, on disk or from Git. Paths are slash-separated,
// "." is the root. read is safe for concurrent use.
type tree interface {
	// list names what is in a folder, sorted by name.
	list(dir string) ([]entry, error)
	// read returns a file of at most limit bytes.
	read(name string, limit int64) ([]byte, error)
	close()
}

// entry is one name in a folder; what is neither folder nor file (a symlink,
// a socket, a submodule) is not listed.
type entry struct {
	name string
	dir  bool
}

// errTooLarge reports a file above its limit.
var errTooLarge = errors.New("the file is too large")

// ErrNoGit reports a location in Git where the caller gave no TreeReader.
var ErrNoGit = errors.New("reading a management directory from Git is not possible here: clone it and name the folder")

func open(ctx context.Context, loc Location, git TreeReader) (tree, error) {
	if !loc.Git() {
		root, err := os.OpenRoot(loc.Folder)
		if err != nil {
			return nil, fmt.Errorf("opening the management directory: %w", err)
		}
		return &folder{root: root}, nil
	}
	if git == nil {
		return nil, fmt.Errorf("%s: %w", loc, ErrNoGit)
	}
	files, err := git.ReadTree(ctx, loc.URL, loc.Ref, loc.Dir)
	if err != nil {
		return nil, fmt.Errorf("reading the management directory %s: %w", loc, err)
	}
	return newMemory(files), nil
}

// folder is a tree on disk. Nothing outside the root can be reached, not even
// by a link that appears between listing and reading.
type folder struct{ root *os.Root }

func (f *folder) list(dir string) ([]entry, error) {
	found, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(found))
	for _, e := range found {
		if e.IsDir() || e.Type().IsRegular() {
			out = append(out, entry{name: e.Name(), dir: e.IsDir()})
		}
	}
	return out, nil
}

func (f *folder) read(name string, limit int64) ([]byte, error) {
	// So it is not offered to the runtime's poller, which is half of the system calls,
	// and a pipe that took a file's place does not keep us waiting.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return bytes.Clone(data), nil // many small files stay: not with room to grow
}

func (f *folder) close() { _ = f.root.Close() }

// memory is a tree from Git.
type memory struct {
	files   map[string][]byte
	folders map[string][]entry
}

func newMemory(files []krm.File) *memory {
	m := &memory{files: make(map[string][]byte, len(files)), folders: map[string][]entry{".": nil}}
	for _, f := range files {
		if f.Mode == krm.Symlink {
			continue
		}
		m.files[f.Path] = f.Data
		m.enter(f.Path, false)
	}
	for _, entries := range m.folders {
		sort.Slice(entries, func(i, j int) bool { return entries[i].name < entries[j].name })
	}
	return m
}

// enter lists a file in its folder, and that in its own.
func (m *memory) enter(name string, dir bool) {
	parent := path.Dir(name)
	_, known := m.folders[parent]
	m.folders[parent] = append(m.folders[parent], entry{name: path.Base(name), dir: dir})
	if !known {
		m.enter(parent, true)
	}
}

func (m *memory) list(dir string) ([]entry, error) { return m.folders[dir], nil }

func (m *memory) read(name string, limit int64) ([]byte, error) {
	data, ok := m.files[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(data)) > limit:
		return nil, errTooLarge
	}
	return data, nil
}

func (m *memory) close() {}

// plain drops the path from a file system's error: messages name the file.
func plain(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return strings.TrimSpace(err.Error())
}
