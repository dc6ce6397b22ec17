package source

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/wire"
)

// Location is a parsed management location. Exactly one of Folder, URL and Objects is
// set.
type Location struct {
	Folder string // a local folder, read from disk

	Objects string // what objects of an API server were read by, in words

	URL string // a Git repository; may hold credentials, see String
	Dir string // folder in the repository, clean, "" for its root
	Ref string // branch, tag or commit, "" for the default branch
}

// Git says whether the location is in a Git repository.
func (l Location) Git() bool { return l.URL != "" }

// String is the location as a user writes it, without credentials.
func (l Location) String() string {
	if !l.Git() {
		return cmp.Or(l.Folder, l.Objects)
	}
	s := wire.Redact(l.URL)
	if l.Dir != "" {
		s += "//" + l.Dir
	}
	if l.Ref != "" {
		s += "@" + l.Ref
	}
	return s
}

// ErrLocation reports a location that is neither a folder nor Git.
var ErrLocation = errors.New("not a management location")

// scpForm is Git's short form of ssh, user@host:path.
var scpForm = lazyregexp.New(`^([^@/:\s]+@)?(\[[0-9a-fA-F:]+\]|[^/:\s]{2,}):[^:/].*$`)

// ParseLocation reads a location: an existing folder that is no bare
// repository is a folder; everything else is Git as URL[//dir][@ref], where
// URL may be a local path, a URL with a scheme, or user@host:path.
func ParseLocation(s string) (Location, error) {
	switch {
	case s == "":
		return Location{}, fmt.Errorf("%w: it is empty: give a folder or URL[//dir][@ref]", ErrLocation)
	case strings.ContainsAny(s, "\x00\n\r"):
		return Location{}, fmt.Errorf("%w: it holds control characters", ErrLocation)
	}
	if authority, rest, ok := cutAuthority(s); ok {
		return splitGit(authority, rest)
	}
	if isFolder(s) && !isBare(s) {
		return Location{Folder: filepath.Clean(s)}, nil
	}
	loc, err := splitGit("", s)
	if err != nil {
		return Location{}, err
	}
	if !isFolder(loc.URL) {
		return Location{}, fmt.Errorf("%w: there is no folder %q: give an existing folder, or Git as URL[//dir][@ref]", ErrLocation, s)
	}
	return loc, nil
}

// cutAuthority parts a remote address before its path, where "//" and "@"
// mean something else.
func cutAuthority(s string) (authority, rest string, ok bool) {
	if scheme, after, found := strings.Cut(s, "://"); found && !strings.ContainsAny(scheme, "/@") {
		if i := strings.IndexByte(after, '/'); i >= 0 {
			return scheme + "://" + after[:i], after[i:], true
		}
		return s, "", true
	}
	if m := scpForm.Regexp().FindStringSubmatchIndex(s); m != nil && !isFolder(s) {
		end := m[5] + 1 // after the host and its colon
		return s[:end], s[end:], true
	}
	return "", s, false
}

// splitGit takes the ref and the folder off a repository's path. An "@" that
// stands before ".git" belongs to the path.
func splitGit(authority, rest string) (Location, error) {
	var loc Location
	head := 0
	if i := strings.Index(rest, ".git"); i >= 0 {
		head = i
	}
	if i := strings.LastIndexByte(rest[head:], '@'); i >= 0 {
		loc.Ref = rest[head+i+1:]
		rest = rest[:head+i]
		if loc.Ref == "" {
			return Location{}, fmt.Errorf("%w: %s: no ref follows the @: name a branch, tag or commit, or leave the @ out", ErrLocation, wire.Redact(authority+rest))
		}
	}
	// A path that starts with two slashes has no folder part there.
	lead := len(rest) - len(strings.TrimLeft(rest, "/"))
	if i := strings.Index(rest[lead:], "//"); i >= 0 {
		loc.Dir = rest[lead+i+2:]
		rest = rest[:lead+i]
	}
	loc.URL = authority + rest
	dir, err := cleanDir(loc.Dir)
	if err != nil {
		return Location{}, fmt.Errorf("%w: %s: %w", ErrLocation, wire.Redact(loc.URL), err)
	}
	loc.Dir = dir
	if loc.URL == "" {
		return Location{}, fmt.Errorf("%w: %q names no repository: give URL[//dir][@ref]", ErrLocation, loc.String())
	}
	return loc, nil
}

func cleanDir(dir string) (string, error) {
	for seg := range strings.SplitSeq(dir, "/") {
		if seg == ".." {
			return "", fmt.Errorf("the folder %q leaves the repository: name one inside it", dir)
		}
	}
	dir = strings.Trim(path.Clean("/"+dir), "/")
	return dir, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isBare says whether a folder is a Git repository without a work tree.
func isBare(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	return isFolder(filepath.Join(dir, "objects")) && isFolder(filepath.Join(dir, "refs"))
}
