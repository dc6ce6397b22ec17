package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/observe"
)

// mayLose reports whether the item's revision may lose edits by hand.
func (i *Item) mayLose(p *decide.Package) bool {
	if _, goes := i.decision.(decide.Discard); goes {
		return false
	}
	open := p.At(i.Ref)
	return slices.ContainsFunc(i.Conflicts, merge.Conflict.LosesEdit) || open != nil && open.Phase.Open() && open.NeedsReview()
}

// sayLost finds the edits that the item's revision loses.
func (r *run) sayLost(ctx context.Context, i *Item) (err error) {
	s := r.subjects[i.want]
	if !i.mayLose(s.pkg) {
		return nil
	}
	var next *decide.Update
	if len(i.Conflicts) > 0 {
		next = &decide.Update{Conflicts: i.Conflicts}
	}
	head := s.pkg.At(i.Ref)
	updates := r.updates
	if r.building { // the newest update alone is at hand
		updates = r.newest
	}
	i.Lost, err = r.lostEdits(ctx, s.repo, s.pkg, head, next, updates)
	return err
}

// readLost finds the edits that publishing the candidates loses.
func (e *Engine) readLost(ctx context.Context, chosen []*decide.Candidate) {
	_, _ = observe.Parallel(ctx, e.limit(), chosen, func(ctx context.Context, c *decide.Candidate) struct{} {
		if c.Err == nil && c.From.Open() {
			c.Lost, c.Err = e.lostEdits(ctx, e.read.Repo(c.Namespace, c.Repository), c.Package, c.Head, nil, e.updates)
		}
		return struct{}{}
	})
}

// updatesOf reads the updates of an open revision, the newest first.
type updatesOf func(context.Context, *observe.Repo, *decide.Package, *decide.Revision) ([]decide.Update, error)

// lostEdits reads the edits by hand that an open revision loses, by its updates, and by
// next, which is not committed yet; head and next may be nil.
func (e *Engine) lostEdits(ctx context.Context, repo *observe.Repo, p *decide.Package, head *decide.Revision, next *decide.Update, of updatesOf) ([]decide.LostEdit, error) {
	var updates []decide.Update
	if next != nil {
		updates = append(updates, *next)
	}
	if head != nil && head.NeedsReview() {
		committed, err := of(ctx, repo, p, head)
		if err != nil {
			return nil, fmt.Errorf("reading the edits that updates of %s lost: %w", head.Ref.Name, err)
		}
		updates = append(updates, committed...)
	}
	if !slices.ContainsFunc(updates, func(u decide.Update) bool { return slices.ContainsFunc(u.Conflicts, merge.Conflict.LosesEdit) }) {
		return nil, nil
	}
	if p.Latest != nil {
		if err := e.read.ReadBranch(ctx, repo, p); err != nil {
			return nil, err
		}
	}
	a := authors{engine: e, repo: repo, pkg: p}
	var branch *krm.Package
	if p.Latest != nil && len(updates) > 1 {
		if there, err := repo.TreeAt(ctx, repo.Head, p.Path); err != nil {
			return nil, err
		} else if !there.IsZero() {
			if _, branch, err = repo.ReadPackage(ctx, repo.Head, p.Path); err != nil {
				return nil, err
			}
		}
	}
	lost := decide.LostEdits(updates, branch, func(c merge.Conflict) (string, bool) { return a.of(ctx, c) })
	return lost, a.err
}

// updates reads the machine's commits of an open revision since what was published
// last.
func (e *Engine) updates(ctx context.Context, repo *observe.Repo, p *decide.Package, head *decide.Revision) ([]decide.Update, error) {
	var until gitrepo.Hash
	if p.Latest != nil {
		until = gitrepo.Hash(p.Latest.Ref.Commit)
	}
	seen := map[gitrepo.Hash]bool{}
	var list [][]merge.Conflict
	err := eachUpdate(ctx, repo, p.Path, []gitrepo.Hash{gitrepo.Hash(head.Ref.Commit)}, until, func(c *gitrepo.Commit) {
		if !seen[c.Hash] {
			list = append(list, build.Conflicts(c.Message))
		}
		seen[c.Hash] = true
	})
	if err != nil {
		return nil, err
	}
	return e.held(ctx, repo, p, head, list)
}

// newest reads the machine's last commit of an open revision.
func (e *Engine) newest(ctx context.Context, repo *observe.Repo, p *decide.Package, head *decide.Revision) ([]decide.Update, error) {
	if head.Machine == nil || head.Machine.Commit.IsZero() {
		return nil, nil
	}
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(head.Machine.Commit))
	if err != nil {
		return nil, err
	}
	return e.held(ctx, repo, p, head, [][]merge.Conflict{build.Conflicts(commits[0].Message)})
}

// held are updates with what the revision holds, where one of them lost an edit.
func (e *Engine) held(ctx context.Context, repo *observe.Repo, p *decide.Package, head *decide.Revision, list [][]merge.Conflict) (out []decide.Update, err error) {
	loses := func(conflicts []merge.Conflict) bool {
		return slices.ContainsFunc(conflicts, merge.Conflict.LosesEdit)
	}
	if !slices.ContainsFunc(list, loses) {
		return nil, nil
	}
	_, now, err := repo.ReadPackage(ctx, head.Ref.Commit, p.Path)
	for _, conflicts := range list {
		out = append(out, decide.Update{Conflicts: conflicts, Package: now})
	}
	return out, err
}

// maxBranch is how far the registered branch is searched for the commit of an edit.
const maxBranch = 1000

// authors finds out who made edits, for the commits that do not name them.
type authors struct {
	engine *Engine
	repo   *observe.Repo
	pkg    *decide.Package
	moved  *Edited
	read   bool
	err    error
}

// of returns who made a conflict's edit, and reports whether that was on the registered
// branch.
func (a *authors) of(ctx context.Context, c merge.Conflict) (by string, onBranch bool) {
	if !a.read {
		if a.read = true; a.err == nil {
			a.moved, a.err = a.engine.moved(ctx, a.repo, a.pkg)
		}
	}
	if a.moved != nil {
		for _, e := range a.moved.Edits {
			if c.Path == e.File && c.Resource == e.ID && c.PlainField() == e.Field {
				return cmp.Or(c.By, e.By), true
			}
		}
	}
	if c.By == "" || a.repo.Head.IsZero() || a.err != nil {
		return c.By, false
	}
	_, commit, _ := strings.Cut(strings.TrimSuffix(c.By, ")"), " (")
	found, err := a.repo.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(a.repo.Head)}, maxBranch, func(_ int, b *gitrepo.Commit) bool {
		return strings.HasPrefix(b.Hash.String(), commit)
	})
	a.err = err
	return c.By, err == nil && found[0] != nil
}
