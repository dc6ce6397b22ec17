// Package pkgdir reads a kpt package from a folder and writes it back, so that
// a command can work on files as others do on Git trees. What did not change is
// not written: its bytes, mode and times stay.
package pkgdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
)

// Read lists the files below dir. What is called .git is left out, symbolic links
// are kept as links and not followed. A .gitmodules is skipped: note, where it is not nil,
// is called with a text about that. A folder keeps to the rules of packages from
// elsewhere (internal/boundary).
func Read(dir string, note func(format string, args ...any)) ([]krm.File, error) {
	return read(dir, note, func(string) bool { return true })
}

// ReadYAML is Read of the files alone that are YAML or JSON by their names, and of .krmignore
// files: the others of a repository may be of any size.
func ReadYAML(dir string, note func(format string, args ...any)) ([]krm.File, error) {
	return read(dir, note, func(file string) bool {
		return path.Base(file) == krmignore.Name || krm.IsYAML(krm.File{Path: file, Data: []byte("apiVersion")})
	})
}

// Kept returns the files that no .krmignore among them leaves out, and notes the number of
// the others.
func Kept(files []krm.File, note func(format string, args ...any)) []krm.File {
	kept := krmignore.Kept(files)
	if n := len(files) - len(kept); n > 0 {
		note("left out by "+krmignore.Name+": %s", count.Of(n, "file"))
	}
	return kept
}

func read(dir string, note func(format string, args ...any), wanted func(name string) bool) ([]krm.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []krm.File
	tally := boundary.NewTally(boundary.Limits{})
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git" || !wanted(p): // of a linked work tree .git is a file
			return nil
		case d.Name() == boundary.Modules:
			if note != nil {
				note("%s: skipped %s: Git submodules are not read", dir, p)
			}
			return nil
		}
		f, err := readFile(root, p, d, tally)
		if err == nil {
			out = append(out, f)
		}
		return err
	})
	if err == nil {
		err = boundary.Files(out, boundary.Limits{})
	}
	if err != nil {
		return nil, fmt.Errorf("reading the package in %s: %w", dir, err)
	}
	return out, nil
}

func readFile(root *os.Root, p string, d fs.DirEntry, tally *boundary.Tally) (krm.File, error) {
	f := krm.File{Path: p}
	info, err := d.Info()
	if err != nil {
		return f, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(p)
		f.Mode, f.Data = krm.Symlink, []byte(filepath.ToSlash(target))
		return f, errors.Join(err, tally.Add(p, int64(len(target))))
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("%s is a device, a pipe or a socket: a package has files, folders and symbolic links", p)
	case info.Mode()&0o111 != 0:
		f.Mode = krm.Executable
	}
	if err := tally.Add(p, info.Size()); err != nil {
		return f, err
	}
	f.Data, err = root.ReadFile(p)
	return f, err
}

// Write brings the folder from before to after and returns the paths that
// changed: those written in order, then those removed. Paths do not leave the folder, through links either.
func Write(dir string, before, after []krm.File) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	changed, err := Changed(dir, before, after) // and refuse what no package may hold
	if err != nil {
		return nil, err
	}
	wanted := map[string]krm.File{}
	for _, f := range after {
		wanted[f.Path] = f
	}
	var errs []error
	for _, p := range changed {
		if f, ok := wanted[p]; ok {
			errs = append(errs, writeFile(root, f))
		} else {
			errs = append(errs, root.Remove(p))
		}
	}
	return changed, errors.Join(errs...)
}

// Changed lists what Write would change, and changes nothing.
func Changed(dir string, before, after []krm.File) ([]string, error) {
	if err := boundary.Files(after, boundary.Limits{}); err != nil {
		return nil, fmt.Errorf("writing the package in %s: %w", dir, err)
	}
	old := map[string]krm.File{}
	for _, f := range before {
		old[f.Path] = f
	}
	var changed []string
	for _, f := range after {
		o, ok := old[f.Path]
		delete(old, f.Path)
		if !ok || o.Mode != f.Mode || !bytes.Equal(o.Data, f.Data) {
			changed = append(changed, f.Path)
		}
	}
	for _, f := range before {
		if _, gone := old[f.Path]; gone {
			changed = append(changed, f.Path)
		}
	}
	return changed, nil
}

// writeFile replaces a file as a whole: it is written beside and renamed.
func writeFile(root *os.Root, f krm.File) error {
	if f.Mode == krm.Symlink {
		return fmt.Errorf("%s: links are not written", f.Path)
	}
	if i := strings.LastIndex(f.Path, "/"); i >= 0 {
		if err := root.MkdirAll(f.Path[:i], 0o755); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if f.Mode == krm.Executable {
		mode = 0o755
	}
	temp := f.Path + ".variform-tmp"
	if err := root.WriteFile(temp, f.Data, mode); err != nil {
		return err
	}
	if err := root.Rename(temp, f.Path); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
