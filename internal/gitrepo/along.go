package gitrepo

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Along tells which trees stood where in a line of commits. It keeps what changed
// from one to the next, so that a line costs its changes and not its folders.
type Along struct {
	repo  *Repo
	first Hash              // the root tree of commit 0
	steps map[string][]step // by folder, by position
}

// step is a position from which on a folder's tree is another.
type step struct {
	at   int
	tree Hash
}

// maxNested bounds how deep folders may be nested in each other.
const maxNested = 256

// Along compares each commit of a line with the next one. There is at least one, and
// their folders are brought in one request.
func (r *Repo) Along(ctx context.Context, commits []*Commit) (*Along, error) {
	hashes := make([]Hash, len(commits))
	for i, c := range commits {
		hashes[i] = c.Hash
	}
	if err := r.FetchOutline(ctx, hashes...); err != nil {
		return nil, err
	}
	a := &Along{repo: r, first: commits[0].Tree, steps: map[string][]step{}}
	var last []treeEntry
	for i := 1; i < len(commits); i++ {
		x, y := commits[i-1].Tree, commits[i].Tree
		if x == y {
			continue
		}
		was := last
		var err error
		if was == nil {
			was, err = r.folders(x)
		}
		if err == nil {
			last, err = r.folders(y)
		}
		if err == nil {
			err = a.compare(i, was, last, "", 0)
		}
		if err != nil {
			return nil, fmt.Errorf("comparing commits %s and %s of %s: %w", commits[i-1].Hash, commits[i].Hash, r.URL(), err)
		}
	}
	return a, nil
}

// folders are those of a tree, none for the zero Hash.
func (r *Repo) folders(tree Hash) ([]treeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	entries, err := r.readTree(tree)
	return slices.DeleteFunc(entries, func(e treeEntry) bool { return e.mode != modeDir }), err
}

// compare notes the folders of x that are others in y, at a position.
func (a *Along) compare(at int, x, y []treeEntry, dir string, depth int) error {
	if depth > maxNested {
		return fmt.Errorf("folders are nested more than %d deep at %q", maxNested, dir)
	}
	for len(x) > 0 || len(y) > 0 {
		var was, is treeEntry
		switch {
		case len(y) == 0 || len(x) > 0 && entryOrder(x[0], y[0]) < 0:
			was, x = x[0], x[1:]
		case len(x) == 0 || entryOrder(x[0], y[0]) > 0:
			is, y = y[0], y[1:]
		default:
			was, is, x, y = x[0], y[0], x[1:], y[1:]
		}
		if was.hash == is.hash {
			continue
		}
		name := dir + was.name
		if was.name == "" {
			name = dir + is.name
		}
		name = strings.Clone(name) // else it keeps the names of the whole tree
		a.steps[name] = append(a.steps[name], step{at, is.hash})
		below, err := a.repo.folders(was.hash)
		if err != nil {
			return err
		}
		now, err := a.repo.folders(is.hash)
		if err != nil {
			return err
		}
		if err := a.compare(at, below, now, name+"/", depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Changes are the positions from which on a folder is another, in order.
func (a *Along) Changes(dir string) (at []int) {
	for _, s := range a.steps[strings.Trim(dir, "/")] {
		at = append(at, s.at)
	}
	return at
}

// Tree is the folder in the commit at a position, zero where it has none; "" is the
// root of none but the first.
func (a *Along) Tree(at int, dir string) (Hash, error) {
	dir = strings.Trim(dir, "/")
	steps := a.steps[dir]
	if n := sort.Search(len(steps), func(i int) bool { return steps[i].at > at }); n > 0 {
		return steps[n-1].tree, nil
	}
	tree, _, err := a.repo.subtree(a.first, dir)
	return tree, err
}
