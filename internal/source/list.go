package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/krmignore"
)

const (
	kptfileName = "Kptfile"

	// maxFolderDepth bounds nesting; no file system goes that deep by accident.
	maxFolderDepth = 256
)

// ErrLimit reports a management directory that is larger than the Limits.
var ErrLimit = errors.New("the management directory is too large")

// lister walks a tree and keeps what is to be read of it
// (docs/design/kinds.md#the-management-directory).
type lister struct {
	d       *Directory
	tree    tree
	ignored krmignore.Matcher
	files   []string
}

// read lists the YAML files, sorted by path, and reads them side by side. A folder
// that cannot be listed is a Problem, but the root is an error.
func (d *Directory) read(ctx context.Context, t tree) error {
	l := &lister{d: d, tree: t}
	if err := l.walk(ctx, ".", 0); err != nil {
		return err
	}
	limits := d.opts.Limits
	d.files = make([]file, len(l.files))
	var total atomic.Int64
	d.kptfile.name = kptfileName
	d.kptfile.data, d.kptfile.err = t.read(kptfileName, limits.FileBytes)
	return cores.Each(ctx, 0, len(l.files), func(i int) error {
		f := file{name: l.files[i]}
		f.data, f.err = t.read(f.name, limits.FileBytes)
		if d.files[i] = f; total.Add(int64(len(f.data))) > limits.TotalBytes {
			return fmt.Errorf("%w: its YAML files hold more than %d bytes: name a smaller folder, or leave parts out with %s", ErrLimit, limits.TotalBytes, krmignore.Name)
		}
		return nil
	})
}

func (l *lister) problem(at Origin, message, hint string) {
	l.d.problems = append(l.d.problems, issue(at, "", message, hint))
}

func (l *lister) walk(ctx context.Context, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxFolderDepth {
		return fmt.Errorf("%w: folders are nested more than %d deep at %q", ErrLimit, maxFolderDepth, dir)
	}
	entries, err := l.tree.list(dir)
	switch {
	case err != nil && dir == ".":
		return err
	case err != nil:
		l.problem(Origin{File: dir}, "the folder cannot be read: "+plain(err), "make it readable, or name it in "+krmignore.Name)
		return nil
	}
	if dir != "." && isPackage(entries) {
		l.d.packages = append(l.d.packages, dir)
		return nil // a package of its own, rendered and read as one
	}
	defer l.ignore(dir, entries)()
	for _, e := range entries {
		name := path.Join(dir, e.name)
		if l.ignored.Ignores(name, e.dir) {
			continue
		}
		if err := l.entry(ctx, name, e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) entry(ctx context.Context, name string, e entry, depth int) error {
	if e.dir {
		if strings.HasPrefix(e.name, ".") {
			return nil
		}
		return l.walk(ctx, name, depth+1)
	}
	if !strings.HasSuffix(e.name, ".yaml") && !strings.HasSuffix(e.name, ".yml") && !slices.Contains(foreign.Files, e.name) {
		return nil
	}
	if len(l.files) >= l.d.opts.Limits.Files {
		return fmt.Errorf("%w: it holds more than %d YAML files: name a smaller folder, or leave parts out with %s", ErrLimit, l.d.opts.Limits.Files, krmignore.Name)
	}
	l.files = append(l.files, name)
	return nil
}

func isPackage(entries []entry) bool {
	for _, e := range entries {
		if e.name == kptfileName && !e.dir {
			return true
		}
	}
	return false
}

// ignore adds the patterns of a folder's .krmignore; the result removes them.
func (l *lister) ignore(dir string, entries []entry) (restore func()) {
	before := l.ignored
	restore = func() { l.ignored = before }
	found := false
	for _, e := range entries {
		found = found || e.name == krmignore.Name && !e.dir
	}
	if !found {
		return restore
	}
	name := path.Join(dir, krmignore.Name)
	data, err := l.tree.read(name, l.d.opts.Limits.FileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.problem(Origin{File: name}, "the file cannot be read: "+plain(err), "make it readable")
		return restore
	}
	l.ignored = before.With(dir, data)
	return restore
}
