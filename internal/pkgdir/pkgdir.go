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
	"path/filepath"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// MaxFileBytes bounds one file.
const MaxFileBytes = 64 << 20

// Read lists the files below dir. The .git folder is left out, symbolic links
// are kept as links and not followed.
func Read(dir string) ([]krm.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []krm.File
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		f, err := readFile(root, p, d)
		if err == nil && f != nil {
			out = append(out, *f)
		}
		return err
	})
	return out, err
}

func readFile(root *os.Root, p string, d fs.DirEntry) (*krm.File, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	f := &krm.File{Path: p}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(p)
		f.Mode, f.Data = krm.Symlink, []byte(filepath.ToSlash(target))
		return f, err
	case !info.Mode().IsRegular():
		return nil, nil
	case info.Size() > MaxFileBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are read", p, info.Size(), MaxFileBytes)
	case info.Mode()&0o111 != 0:
		f.Mode = krm.Executable
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
	changed, err := Changed(dir, before, after)
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
func Changed(_ string, before, after []krm.File) ([]string, error) {
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
