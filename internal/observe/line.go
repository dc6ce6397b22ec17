package observe

import (
	"context"
	"sync"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
)

// lineLimit bounds how much of the registered branch's history is looked at, and
// firstLine how much is read at first: one request for commits and one for what they
// hold, for all packages.
const (
	firstLine = 256
	lineLimit = 16 * 1024
)

// line is the registered branch's history by first parents, the newest first.
// Read only.
type line struct {
	commits []*gitrepo.Commit
	at      map[gitrepo.Hash]int
	along   *gitrepo.Along
	whole   bool // to its beginning
}

// lines has the line that was read last; packages share it.
type lines struct {
	mu   sync.Mutex
	head gitrepo.Hash
	*line
}

// lineTo reads the history since a commit: as far as that, as the package goes back, or
// as is looked.
func (r *Repo) lineTo(ctx context.Context, stop gitrepo.Hash, path string) (*history, error) {
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	for n := firstLine; ; n *= 8 {
		l, err := r.atLeast(ctx, n)
		if err != nil {
			return nil, err
		}
		if i, found := l.at[stop]; found {
			return &history{line: l, path: path, since: l.commits[:i]}, nil
		}
		h := &history{line: l, path: path, since: l.commits, apart: true, short: !l.whole}
		if l.whole || n >= lineLimit {
			return h, nil
		}
		if oldest, err := h.tree(len(l.commits) - 1); err != nil || oldest.IsZero() {
			return h, err
		}
	}
}

// fetchLine brings the folders of the newest commits of the registered branch.
func (r *Repo) fetchLine(ctx context.Context) {
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	_, _ = r.atLeast(ctx, firstLine) // who needs it asks again
}

// atLeast is the line of n commits or more, or to its beginning.
func (r *Repo) atLeast(ctx context.Context, n int) (*line, error) {
	head := gitrepo.Hash(r.Head)
	if head.IsZero() { // the first approval creates the branch
		return &line{whole: true}, nil
	}
	if l := r.lines.line; l != nil && r.lines.head == head && (len(l.commits) >= n || l.whole) {
		return l, nil
	}
	l, err := r.readLine(ctx, head, n)
	if err != nil {
		return nil, err
	}
	r.lines.head, r.lines.line = head, l
	return l, nil
}

// readLine reads n commits.
func (r *Repo) readLine(ctx context.Context, head gitrepo.Hash, n int) (*line, error) {
	commits, err := r.Git.FirstParents(ctx, head, n)
	if err != nil {
		return nil, err
	}
	l := &line{commits: commits, at: make(map[gitrepo.Hash]int, len(commits))}
	for i, c := range commits {
		l.at[c.Hash], l.whole = i, len(c.Parents) == 0
	}
	l.along, err = r.Git.Along(ctx, l.commits)
	return l, err
}

// wrote are the commits, on both sides of each change, by which others changed a
// package on the branch since its latest revision: who looks for an edit's writer reads
// them. There are none where the history was not read.
func (r *Repo) wrote(p *decide.Package) (out []decide.Hash) {
	r.lines.mu.Lock()
	defer r.lines.mu.Unlock()
	l := r.lines.line
	if l == nil || p == nil || p.Branch == nil || p.Latest == nil {
		return nil
	}
	since, found := l.at[gitrepo.Hash(latestCommit(p))]
	if !found {
		since = len(l.commits)
	}
	for _, i := range l.along.Changes(p.Path) {
		if len(out) == 2*maxWriters || i > since {
			break
		}
		out = append(out, decide.Hash(l.commits[i-1].Hash), decide.Hash(l.commits[i].Hash))
	}
	return out
}
