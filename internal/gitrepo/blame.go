package gitrepo

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// How much history Since looks at: at first, and at most.
const (
	blameFirst = 256
	blameMost  = 1 << 14
)

// Since finds the commits that lines of a file came with: now is its text, which is that
// of a branch, a tag or a commit, or what became of it in a work tree; no name is the
// branch that HEAD names. Lines begin with 1; a nil Commit is of a line that is not
// committed. It goes along first parents, so that what a pull request brought is its
// merge's. Lines older than the last 16,384 of these are left out. Commits come in
// one request, their folders in one, and the file's versions in one.
func (r *Repo) Since(ctx context.Context, name, file string, now []byte, lines []int) (map[int]*Commit, error) {
	tip, err := Named(r, name)
	if err != nil {
		return nil, err
	}
	for n := blameFirst; ; n *= 8 {
		commits, err := r.FirstParents(ctx, tip, n)
		if err != nil {
			return nil, err
		}
		versions, err := r.versions(ctx, commits, strings.Trim(path.Clean("/"+file), "/"))
		if err != nil {
			return nil, fmt.Errorf("reading who wrote %s of %s: %w", file, r.URL(), err)
		}
		found, older := since(string(now), versions, lines)
		if older == 0 || n >= blameMost {
			return found, nil
		}
	}
}

// version is a text that a file had, "" where it was not there.
type version struct {
	text string
	by   *Commit // the oldest one that has it
}

// versions are those of a file along some commits, the newest first. What was before
// them, if anything was, is none.
func (r *Repo) versions(ctx context.Context, commits []*Commit, file string) (out []version, err error) {
	dir, base := path.Split(file)
	along, err := r.Along(ctx, commits)
	if err != nil {
		return nil, err
	}
	var blobs, have []Hash
	for i, c := range commits {
		tree := c.Tree
		if dir != "" {
			if tree, err = along.Tree(i, dir); err != nil {
				return nil, err
			}
		}
		var blob Hash
		if !tree.IsZero() {
			entries, err := r.Entries(tree)
			if err != nil {
				return nil, err
			}
			if at := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == base && !e.Dir }); at >= 0 {
				blob = entries[at].Hash
			}
		}
		if n := len(blobs); n > 0 && blobs[n-1] == blob {
			out[n-1].by = c
			continue
		}
		blobs, have, out = append(blobs, blob), append(have, c.Hash), append(out, version{by: c})
	}
	if err := r.Fetch(ctx, have...); err != nil {
		return nil, err
	}
	for i, blob := range blobs {
		if blob.IsZero() {
			continue
		}
		data, err := r.ReadBlob(blob)
		if err != nil {
			return nil, err
		}
		out[i].text = string(data)
	}
	if last := commits[len(commits)-1]; len(last.Parents) == 0 {
		out = append(out, version{})
	}
	return out, nil
}

// since goes back from version to version; older are the lines that the last one has, too.
func since(now string, versions []version, lines []int) (found map[int]*Commit, older int) {
	found = map[int]*Commit{}
	at := map[int]int{} // where the lines are in the version that is looked at
	for _, line := range lines {
		at[line] = line
	}
	var by *Commit
	for _, v := range versions {
		before := unchanged(v.text, now)
		for line, here := range at {
			if there := before[here]; there > 0 {
				at[line] = there
				continue
			}
			found[line] = by
			delete(at, line)
		}
		now, by = v.text, v.by
	}
	return found, len(at)
}

// unchanged says which line of a text a line of the other one is; those that are in
// neither are left out.
func unchanged(was, now string) map[int]int {
	out := map[int]int{}
	x, y := 1, 1
	for _, d := range diff.Do(was, now) {
		n := strings.Count(d.Text, "\n")
		if !strings.HasSuffix(d.Text, "\n") && d.Text != "" {
			n++ // the last line may end without
		}
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			x += n
		case diffmatchpatch.DiffInsert:
			y += n
		case diffmatchpatch.DiffEqual:
			for i := range n {
				out[y+i] = x + i
			}
			x, y = x+n, y+n
		}
	}
	return out
}
