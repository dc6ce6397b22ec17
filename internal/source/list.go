package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

const (
	kptfileName = "Kptfile"
	ignoreName  = ".krmignore"

	// maxFolderDepth bounds nesting; no file system goes that deep by accident.
	maxFolderDepth = 256
)

// ErrLimit reports a management directory that is larger than the Limits.
var ErrLimit = errors.New("the management directory is too large")

// lister walks a tree and keeps what design section 3 says to read.
type lister struct {
	c        *collector
	tree     tree
	patterns []gitignore.Pattern
	files    []string
}

// list names the YAML files to read, sorted by path. A folder that cannot be
// listed is a Problem, but the root is an error.
func (c *collector) list(ctx context.Context, t tree) ([]string, error) {
	l := &lister{c: c, tree: t}
	if err := l.walk(ctx, ".", 0); err != nil {
		return nil, err
	}
	return l.files, nil
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
		l.c.problem(Origin{File: dir}, "the folder cannot be read: "+plain(err), "make it readable, or name it in "+ignoreName)
		return nil
	}
	if dir != "." && isPackage(entries) {
		return nil // a package of its own, rendered and read as one
	}
	defer l.ignore(dir, entries)()
	for _, e := range entries {
		name := path.Join(dir, e.name)
		if l.ignored(name, e.dir) {
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
	if !strings.HasSuffix(e.name, ".yaml") && !strings.HasSuffix(e.name, ".yml") {
		return nil
	}
	if len(l.files) >= l.c.limits.Files {
		return fmt.Errorf("%w: it holds more than %d YAML files: name a smaller folder, or leave parts out with %s", ErrLimit, l.c.limits.Files, ignoreName)
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
	before := l.patterns
	restore = func() { l.patterns = before }
	found := false
	for _, e := range entries {
		found = found || e.name == ignoreName && !e.dir
	}
	if !found {
		return restore
	}
	name := path.Join(dir, ignoreName)
	data, err := l.tree.read(name, l.c.limits.FileBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.c.problem(Origin{File: name}, "the file cannot be read: "+plain(err), "make it readable")
		return restore
	}
	l.patterns = slices.Concat(before, parseIgnore(string(data), segments(dir)))
	return restore
}

// parseIgnore reads gitignore's syntax; domain is the file's own folder.
func parseIgnore(text string, domain []string) []gitignore.Pattern {
	var out []gitignore.Pattern
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		// gitignore escapes a first # or ! that is meant as itself.
		if strings.HasPrefix(line, `\#`) {
			line = line[1:]
		}
		out = append(out, gitignore.ParsePattern(line, domain))
	}
	return out
}

func (l *lister) ignored(name string, dir bool) bool {
	return len(l.patterns) > 0 && gitignore.NewMatcher(l.patterns).Match(segments(name), dir)
}

func segments(name string) []string {
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
