// Package boundary has the rules for files that come from others or go to them:
// from Git, registries and folders, out of functions, and into Drafts. All of
// these keep to the same ones (docs/trust.md): names that mean the same on every
// system, links that stay in the package, sizes and counts. What passes a bound
// is an *Error that names the file and the bound.
//
//	t := boundary.NewTally(boundary.Limits{})
//	err := t.Add("a/b.yaml", size) // before the file is read
//	err = boundary.Files(files)    // of all, their links included
//
// What one YAML file may hold is bounded where it is parsed (krm.Limits).
package boundary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
)

// What an Error is; test with errors.Is.
var (
	// ErrLimit: something is larger, deeper or more than is read.
	ErrLimit = errors.New("limit exceeded")
	// ErrUnsafe: something no package may hold.
	ErrUnsafe = errors.New("not safe in a package")
)

// Error is a file, or a package as a whole, that passes a bound.
type Error struct {
	Path string // "" for the package
	Why  string // "has 20 bytes, more than 10"
	kind error
}

// Error names the file and the bound.
func (e *Error) Error() string {
	if e.Path == "" {
		return "the package " + e.Why
	}
	return fmt.Sprintf("%s %s", shown(e.Path), e.Why)
}

// Unwrap is ErrLimit or ErrUnsafe.
func (e *Error) Unwrap() error { return e.kind }

// shown quotes what is not plain, and cuts what is long.
func shown(p string) string {
	const most = 200
	if len(p) > most {
		p = strings.ToValidUTF8(p[:most], "") + "…"
	}
	if plain(p) {
		return p
	}
	return fmt.Sprintf("%q", p)
}

func unsafe(p, format string, args ...any) error {
	return &Error{Path: p, Why: fmt.Sprintf(format, args...), kind: ErrUnsafe}
}

func limit(p, format string, args ...any) error {
	return &Error{Path: p, Why: fmt.Sprintf(format, args...), kind: ErrLimit}
}

// Limits bound a package; zero fields take the defaults.
type Limits struct {
	FileBytes    int64 // one file: 16 MiB
	PackageBytes int64 // all files: 256 MiB
	Files        int   // 20,000
	Apart        bool  // the files are of many packages: MaxValues bounds each
}

// WithDefaults fills what is zero.
func (l Limits) WithDefaults() Limits {
	for _, f := range []struct {
		field *int64
		value int64
	}{{&l.FileBytes, 16 << 20}, {&l.PackageBytes, 256 << 20}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if l.Files <= 0 {
		l.Files = 20_000
	}
	return l
}

// Bounds of one name, and of what a package holds in all.
const (
	MaxDepth = 100  // folders in one another
	MaxPath  = 4096 // bytes of a path or of a link's target
	MaxName  = 255  // bytes of one part of a path, as file systems have it

	// MaxValues bounds what the package's YAML takes once it is parsed, by
	// krm.Values: a tree of a few megabytes can take gigabytes.
	MaxValues = 1_000_000
	// maxAttribute is what Git takes of a line of .gitattributes. Servers that
	// check what they get refuse a longer one, and the whole push with it.
	maxAttribute = 2048
)

// Path refuses a slash-separated path that is not relative, clean and a name of
// the same file on every system.
func Path(p string) error {
	switch {
	case len(p) > MaxPath:
		return limit(p, "has a path of %d bytes, more than %d", len(p), MaxPath)
	case strings.Count(p, "/") > MaxDepth:
		return limit(p, "is deeper than %d folders", MaxDepth)
	case path.IsAbs(p):
		return unsafe(p, "is an absolute path")
	case p == ".." || strings.HasPrefix(path.Clean(p), "../"):
		return unsafe(p, "leads out of the package")
	case p == "" || path.Clean(p) != p:
		return unsafe(p, "is not a clean relative path")
	}
	for part := range strings.SplitSeq(p, "/") {
		if why, kind := badName(part); why != "" {
			return &Error{Path: p, Why: why, kind: kind}
		}
	}
	return nil
}

// Name is Path for one part of a path.
func Name(name string) error {
	if why, kind := badName(name); why != "" {
		return &Error{Path: name, Why: why, kind: kind}
	}
	return nil
}

func badName(name string) (why string, kind error) {
	switch {
	case usual(name) && len(name) <= MaxName:
		return "", nil
	case name == "" || name == "." || name == "..":
		return "is no name of a file", ErrUnsafe
	case !plain(name) || strings.ContainsAny(name, `/\`):
		return "has a slash or backslash, a control character or bytes that are not UTF-8 in a name", ErrUnsafe
	case isGit(name):
		return "has a name that is reserved for Git", ErrUnsafe
	case len(name) > MaxName:
		return fmt.Sprintf("has a name of %d bytes, more than %d", len(name), MaxName), ErrLimit
	}
	return "", nil
}

// usual says that a name is of the letters, digits and signs of nearly all, and does not
// begin with a dot: no system takes it for another.
func usual(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
		default:
			return false
		}
	}
	return name != ""
}

// plain text is UTF-8 without controls and without what changes the direction or
// the order of the text around it.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// Modules is the file in which Git lists a repository's submodules. It is no part of a
// package: readers skip it, and no package may hold it.
const Modules = ".gitmodules"

// isGit recognises .git and .gitmodules, which is for the root of a repository
// with submodules, as the file systems of other systems do: their case, characters
// that they pass over, their short names, what they cut off. Servers that check
// what they get refuse the same ones.
func isGit(name string) bool {
	seen := strings.Map(func(r rune) rune {
		if strings.ContainsRune(unseen, r) {
			return -1
		}
		return fold(r)
	}, name)
	seen, _, _ = strings.Cut(seen, ":") // a stream of the file
	switch seen = strings.TrimRight(seen, " ."); {
	case seen == ".git", seen == "git~1", seen == Modules:
		return true
	}
	return shortModules.MatchString(seen)
}

// shortModules are the short names that .gitmodules may have.
var shortModules = lazyregexp.New(`^(gitmod~[1-4]|gi7eb[a-z0-9]?~[1-9])$`)

// unseen are the characters that some file systems pass over in names.
const unseen = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// Folded is what file systems that tell neither cases nor Unicode forms apart take a path for.
func Folded(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(path) // as fold has it
	}
	return strings.Map(fold, norm.NFC.String(path))
}

// fold gives all cases of a letter one.
func fold(r rune) rune {
	least := unicode.ToLower(r)
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		least = min(least, unicode.ToLower(o))
	}
	return least
}

// names finds files and folders that are one on some systems: by case, by
// Unicode form, or by both being there.
type names map[string]struct {
	path   string
	folder bool
}

func (n names) add(p string) error {
	for at := p; at != "."; at = path.Dir(at) {
		key, folder := Folded(at), at != p
		other, there := n[key]
		switch {
		case !there:
			n[key] = struct {
				path   string
				folder bool
			}{at, folder}
		case other.path != at:
			return unsafe(at, "and %s differ only in case or Unicode form: they are one on some systems", shown(other.path))
		case !folder || !other.folder:
			return unsafe(at, "is there twice, or as a file and as a folder")
		default:
			return nil // and so are those above
		}
	}
	return nil
}

// Link refuses a symbolic link's target that leads out of the package or is not
// written plainly. With nothing below a link (Files), a target that goes up at its
// beginning only, and not past the root, stays inside whatever links it passes.
func Link(p, target string) error {
	to := path.Join(path.Dir(p), target)
	switch target = strings.TrimSuffix(target, "/"); {
	case len(target) > MaxPath:
		return limit(p, "is a symbolic link to a path of %d bytes, more than %d", len(target), MaxPath)
	case target == "" || path.IsAbs(target) || to == ".." || strings.HasPrefix(to, "../"):
		return unsafe(p, "is a symbolic link that leads out of the package: %q", target)
	case path.Clean(target) != target || !plain(target) || strings.Contains(target, `\`):
		return unsafe(p, "is a symbolic link that is not written plainly: %q", target)
	case slices.ContainsFunc(strings.Split(target, "/"), isGit):
		return unsafe(p, "is a symbolic link to what is reserved for Git: %q", target)
	}
	return nil
}

// Tally counts a package while it is read.
type Tally struct {
	limits Limits
	files  int
	bytes  int64
}

// NewTally starts a count.
func NewTally(l Limits) *Tally { return &Tally{limits: l.WithDefaults()} }

// Add counts a file of some size, and refuses one that is too much.
func (t *Tally) Add(p string, size int64) error {
	t.files++
	t.bytes += size
	switch {
	case size > t.limits.FileBytes:
		return limit(p, "has %d bytes, more than %d", size, t.limits.FileBytes)
	case t.files > t.limits.Files:
		return limit("", "has more than %d files", t.limits.Files)
	case t.bytes > t.limits.PackageBytes:
		return limit("", "has more than %d bytes", t.limits.PackageBytes)
	}
	return nil
}

// Files refuses a package by any of these rules: the first error by path.
func Files(files []krm.File, l Limits) error {
	byPath := func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) }
	sorted := files
	if !slices.IsSortedFunc(files, byPath) { // most come so
		sorted = slices.SortedFunc(slices.Values(files), byPath)
	}
	t, values := NewTally(l), 0
	links := map[string]bool{}
	size := int64(0)
	for _, f := range sorted {
		size += int64(len(f.Data))
	}
	counted := krm.ValuesAtMost(len(sorted), size) > MaxValues // of most it goes without
	paths := pathsOf(sorted)
	known := sound.has(paths)
	for _, f := range sorted {
		if !known {
			if err := Path(f.Path); err != nil {
				return err
			}
		}
		if err := t.Add(f.Path, int64(len(f.Data))); err != nil {
			return err
		}
		if counted && krm.IsYAML(f) {
			if values += krm.Values(f.Data); values > MaxValues {
				return limit("", "has up to %d values in its YAML files as far as %s, more than %d", values, shown(f.Path), MaxValues)
			}
			if l.Apart {
				values = 0
			}
		}
		if err := attributes(f); err != nil {
			return err
		}
		if f.Mode == krm.Symlink {
			links[f.Path] = true
			if err := Link(f.Path, string(f.Data)); err != nil {
				return err
			}
		}
	}
	if known { // with links as without: what is below one is below a file
		return nil
	}
	if err := together(sorted, links); err != nil {
		return err
	}
	sound.add(paths)
	return nil
}

// sound are lists of paths that stood the test: the packages of a fleet have the same
// ones over and over.
var sound soundPaths

type soundPaths struct {
	mu    sync.RWMutex
	lists map[string]struct{}
}

const (
	soundLists = 256     // until all are forgotten
	soundBytes = 8 << 10 // of one that is kept
)

// pathsOf is a list of paths as one name, "" where it is long.
func pathsOf(files []krm.File) string {
	n := 0
	for _, f := range files {
		n += len(f.Path) + 2
	}
	b := make([]byte, 0, min(n, soundBytes))
	for _, f := range files {
		if len(b)+len(f.Path) >= soundBytes {
			return ""
		}
		b = append(binary.AppendUvarint(b, uint64(len(f.Path))), f.Path...)
	}
	return string(b)
}

func (s *soundPaths) has(list string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.lists[list]
	return ok
}

func (s *soundPaths) add(list string) {
	if list == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil || len(s.lists) >= soundLists {
		s.lists = map[string]struct{}{}
	}
	s.lists[list] = struct{}{}
}

// together refuses paths that cannot stand beside each other.
func together(files []krm.File, links map[string]bool) error {
	all := names{}
	for _, f := range files {
		for dir := path.Dir(f.Path); len(links) > 0 && dir != "."; dir = path.Dir(dir) {
			if links[dir] {
				return unsafe(f.Path, "is below the symbolic link %s", shown(dir))
			}
		}
		if err := all.add(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// attributes bounds the lines of .gitattributes.
func attributes(f krm.File) error {
	if path.Base(f.Path) != ".gitattributes" {
		return nil
	}
	for line := range bytes.Lines(f.Data) {
		if len(line) > maxAttribute {
			return limit(f.Path, "has a line of %d bytes, more than the %d that Git takes", len(line), maxAttribute)
		}
	}
	return nil
}
