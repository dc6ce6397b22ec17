package source

import (
	"os"
	"path/filepath"
	"slices"
)

// InGit is where the directory's files are in Git: where they were read, or for a folder
// the repository that it is in the work tree of; false where there is none.
func (d *Directory) InGit() (Location, bool) {
	if d.loc.Git() {
		return d.loc, true
	}
	at, err := filepath.Abs(d.loc.Folder)
	if err != nil {
		return Location{}, false
	}
	for root := at; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			dir, err := filepath.Rel(root, at)
			return Location{URL: root, Dir: filepath.ToSlash(dir)}, err == nil
		}
		if root == filepath.Dir(root) {
			return Location{}, false
		}
	}
}

// Location is where the files were read.
func (d *Directory) Location() Location { return d.loc }

// Folder is the folder that the files are in; "" where they were read from Git.
func (d *Directory) Folder() string { return d.loc.Folder }

// Text is a file's as it was read; false where there is none of that name.
func (d *Directory) Text(name string) ([]byte, bool) {
	i := slices.IndexFunc(d.files, func(f file) bool { return f.name == name })
	if i < 0 || d.files[i].err != nil {
		return nil, false
	}
	return d.files[i].data, true
}
