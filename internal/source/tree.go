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
	"sync"
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
// by a link that appears between listing and reading; a folder that is moved away or
// replaced while the tree is read is read as it was.
type folder struct {
	root *os.Root

	mu sync.Mutex
	// below are folders in it that files were read from, nil for one that cannot be opened so:
	// to go there for each file of a fleet is a third of what reading them takes.
	below map[string]*os.Root
}

// mostBelow bounds how many folders are open at once.
const mostBelow = 64

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
	file, err := f.open(name, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Reset(); buf.Cap() <= mostBuffer {
			buffers.Put(buf)
		}
	}()
	if _, err := buf.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, errTooLarge
	}
	return bytes.Clone(buf.Bytes()), nil // many small files stay: not with room to grow
}

// mostBuffer is of a buffer that is kept for the next file.
const mostBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// open opens a file by its folder. Where that fails it is opened by all of its path, which
// says why: a folder may have been replaced meanwhile.
func (f *folder) open(name string, flag int) (*os.File, error) {
	dir, base := path.Split(name)
	if at := f.at(path.Clean(dir)); at != nil {
		if file, err := at.OpenFile(base, flag, 0); err == nil {
			return file, nil
		}
	}
	return f.root.OpenFile(name, flag, 0)
}

// at is a folder below the root, nil for the root itself and where it is not kept.
func (f *folder) at(dir string) *os.Root {
	if dir == "." {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at, known := f.below[dir]
	if !known && len(f.below) < mostBelow {
		if f.below == nil {
			f.below = map[string]*os.Root{}
		}
		at, _ = f.root.OpenRoot(dir)
		f.below[dir] = at
	}
	return at
}

func (f *folder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range f.below {
		if at != nil {
			_ = at.Close()
		}
	}
	_ = f.root.Close()
}

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
