// Package krmignore reads .krmignore files: what a management directory, a
// package's rendering and an image leave out. The syntax and the rules are those
// of .gitignore, in all three places:
//
//   - a file speaks for its own folder and what is below it, a deeper file before
//     a higher one, a later line before an earlier one;
//   - a pattern with a slash at its head or inside is anchored at the file's
//     folder, any other holds for names at all depths; a slash at the end means
//     folders only;
//   - *, ? and [a-z] stay within a name, **/ stands for any folders, none
//     included, and /** for all that is in a folder;
//   - ! takes a path back in, but nothing below a folder that is left out.
//
// A Matcher is a value: a walk adds a folder's file on its way down and has the
// former Matcher again on its way back.
package krmignore

import (
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// Name is the file's name in each folder.
const Name = ".krmignore"

// Matcher holds the patterns of a tree's files. The zero Matcher ignores
// nothing. It may be used by many goroutines.
type Matcher struct {
	lists []list // outer folders before inner ones
}

// list is one file's patterns.
type list struct {
	dir      string // "" for the root, or with a slash at its end
	patterns []pattern
}

// With is m and the file of a folder, whose path is relative to the tree's root
// ("" or "." for the root itself). Folders are added outside in.
func (m Matcher) With(dir string, data []byte) Matcher {
	l := list{patterns: parse(string(data))}
	if dir != "" && dir != "." {
		l.dir = dir + "/"
	}
	return Matcher{lists: append(slices.Clip(m.lists), l)}
}

// Ignores says whether a path, relative to the tree's root and with slashes, is
// left out: by itself or with a folder that it is in.
func (m Matcher) Ignores(name string, isDir bool) bool {
	if len(m.lists) == 0 {
		return false
	}
	for i := range name {
		if name[i] == '/' && m.excludes(name[:i], true) {
			return true
		}
	}
	return m.excludes(name, isDir)
}

// excludes judges one path without the folders that it is in: the last pattern
// that matches decides.
func (m Matcher) excludes(name string, isDir bool) bool {
	for _, l := range slices.Backward(m.lists) {
		rel, below := strings.CutPrefix(name, l.dir)
		if !below || rel == "" {
			continue
		}
		for _, p := range slices.Backward(l.patterns) {
			if p.match(rel, isDir) {
				return !p.keep
			}
		}
	}
	return false
}

// Kept are the files of a tree that none of its .krmignore files leaves out, in
// the order given.
func Kept(files []krm.File) []krm.File {
	m := ofTree(files)
	var kept []krm.File
	for _, f := range files {
		if !m.Ignores(f.Path, false) {
			kept = append(kept, f)
		}
	}
	return kept
}

// ofTree reads the .krmignore files among files, but those that are left out
// themselves with their folder, and links, which Git does not follow either.
func ofTree(files []krm.File) Matcher {
	var own []krm.File
	for _, f := range files {
		if path.Base(f.Path) == Name && f.Mode != krm.Symlink {
			own = append(own, f)
		}
	}
	folder := func(f krm.File) string { return strings.TrimSuffix(f.Path, Name) }
	slices.SortFunc(own, func(a, b krm.File) int { return strings.Compare(folder(a), folder(b)) })
	var m Matcher
	for _, f := range own {
		if dir := path.Dir(f.Path); !m.Ignores(dir, true) {
			m = m.With(dir, f.Data)
		}
	}
	return m
}
