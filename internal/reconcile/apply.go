package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
)

// attempts bounds how often a repository is planned again after a lost race.
const attempts = 5

// Apply writes what a plan of this Engine holds: for each repository one pack
// and one atomic push, conditional on the refs that were read when planning. A
// lost race is read and planned again, never forced. The plan's items are
// brought up to what was done.
func (e *Engine) Apply(ctx context.Context, plan *Plan) error {
	byRepo := map[*gitrepo.Repo][]*Item{}
	var rest []*Item
	total := 0
	for _, i := range plan.Items {
		if r := i.repo(); r != nil {
			byRepo[r.git] = append(byRepo[r.git], i)
			total++
		} else {
			rest = append(rest, i)
		}
	}
	var mu sync.Mutex
	done := 0
	plan.Items = rest
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.ioLimit())
	for git, items := range byRepo {
		g.Go(func() error {
			out := e.applyRepo(gctx, git, items)
			mu.Lock()
			defer mu.Unlock()
			plan.Items = append(plan.Items, out...)
			done += len(items)
			e.progress(Progress{Stage: "push", Done: done, Total: total, Item: git.URL()})
			return nil
		})
	}
	_ = g.Wait()
	plan.sort() // so that publications on one branch follow in order
	e.publishActivated(ctx, plan.Items)
	return ctx.Err()
}

// repo is the repository that an item writes to, nil where it writes nothing.
func (i *Item) repo() *repository {
	switch {
	case i.write == nil || i.Action == Fail:
		return nil
	case i.write.removal != nil:
		return i.write.removal.repo
	default:
		return i.write.work.repo
	}
}

// applyRepo pushes one repository's items and plans again what a race undid.
func (e *Engine) applyRepo(ctx context.Context, git *gitrepo.Repo, items []*Item) []*Item {
	var finished []*Item
	for attempt := 1; ; attempt++ {
		left, err := e.pushItems(ctx, git, items)
		if err == nil {
			return append(finished, items...)
		}
		finished = append(finished, without(items, left)...)
		items = left
		retry := errors.Is(err, gitrepo.ErrStale) || errors.Is(err, gitrepo.ErrUnknownOutcome)
		if !retry || attempt == attempts || ctx.Err() != nil {
			return append(finished, e.pushApart(ctx, git, items, err)...)
		}
		again, rest, rerr := e.again(ctx, git, items)
		if rerr != nil {
			return append(finished, failAll(items, errors.Join(err, rerr))...)
		}
		finished = append(finished, rest...)
		items = again
		if len(items) == 0 {
			return finished
		}
	}
}

func failAll(items []*Item, err error) []*Item {
	for _, i := range items {
		i.fail(err)
	}
	return items
}

// pushApart isolates the items that a server refuses: an atomic push fails as
// one, and one bad variant must not stop the others.
func (e *Engine) pushApart(ctx context.Context, git *gitrepo.Repo, items []*Item, err error) []*Item {
	if len(items) <= 1 || !errors.Is(err, gitrepo.ErrRejected) && !errors.Is(err, gitrepo.ErrStale) {
		return failAll(items, err)
	}
	half := len(items) / 2
	var out []*Item
	for _, part := range [][]*Item{items[:half], items[half:]} {
		if left, err := e.pushItems(ctx, git, part); err != nil {
			out = append(out, without(part, left)...)
			part = e.pushApart(ctx, git, left, err)
		}
		out = append(out, part...)
	}
	return out
}

// without is items less those that are left, in order.
func without(items, left []*Item) []*Item {
	var out []*Item
	for _, i := range items {
		if !slices.Contains(left, i) {
			out = append(out, i)
		}
	}
	return out
}

// pushItems commits and pushes items in one batch. With an error it returns
// those that did not land, or were taken back.
func (e *Engine) pushItems(ctx context.Context, git *gitrepo.Repo, items []*Item) ([]*Item, error) {
	b := git.NewBatch()
	for _, i := range items {
		if err := e.commit(ctx, b, i); err != nil {
			// Only this item: what it added to the batch is not referred to.
			i.fail(fmt.Errorf("committing: %w", err))
		}
	}
	if b.Empty() {
		return nil, nil
	}
	report, err := b.Push(ctx, gitrepo.PushOptions{MaxRefsPerPush: e.cfg.MaxRefsPerPush})
	var left []*Item
	for _, i := range items {
		if err != nil && !i.landed(report) {
			left = append(left, i)
		}
	}
	back, overtaken := e.overtaken(ctx, git, without(items, left))
	return append(left, back...), errors.Join(err, overtaken)
}

// commit adds an item's objects and ref updates to a batch.
func (e *Engine) commit(ctx context.Context, b *gitrepo.Batch, i *Item) error {
	switch {
	case i.Action == Fail:
		return nil
	case i.write.removal != nil:
		return e.commitRemoval(ctx, b, i)
	case i.Action == Tag:
		return i.together(b, i.write.work.tagUpdates()...)
	case i.Action == Discard:
		from := i.write.work.from.Ref
		return i.together(b, gitrepo.RefUpdate{Name: from.Name, Old: from.Hash})
	}
	w := i.write.work
	tree, err := b.PackageTree(i.write.files)
	if err != nil {
		return err
	}
	root, err := rootTree(ctx, w.repo, i.write.root)
	if err != nil {
		return err
	}
	sig := author
	sig.When = i.write.when
	c, err := b.Commit(ctx, gitrepo.CommitSpec{
		Root: root, Path: w.state.path, PackageTree: tree, Parents: i.write.parents, Author: sig, Message: i.write.message,
	})
	if err != nil {
		return err
	}
	i.Commit = c.Hash.String()
	i.targets = []target{{i.Workspace, lifecycle.Draft}}
	if i.makesDraft() {
		// Another run may have made this Draft, and someone proposed or
		// published it, since the refs were read.
		b.ExpectAbsent(gitrepo.ProposedRef(w.state.path, i.Workspace), gitrepo.PublishedRef(w.state.path, w.state.refs.NextNumber()))
	}
	return i.together(b, w.draftUpdates(i.Ref, c.Hash)...)
}

func rootTree(ctx context.Context, r *repository, commit gitrepo.Hash) (gitrepo.Hash, error) {
	if commit.IsZero() {
		return gitrepo.Hash{}, nil
	}
	commits, err := r.git.Commits(ctx, commit)
	if err != nil {
		return gitrepo.Hash{}, err
	}
	return commits[0].Tree, nil
}

// draftUpdates put a commit on the Draft branch: a new one, the one that is
// there, or one that was Proposed and comes back.
func (w *work) draftUpdates(ref string, commit gitrepo.Hash) []gitrepo.RefUpdate {
	if w.from == nil || w.from.Number > 0 {
		return []gitrepo.RefUpdate{{Name: ref, New: commit}}
	}
	if w.from.Ref.Name == ref {
		return []gitrepo.RefUpdate{{Name: ref, Old: w.from.Ref.Hash, New: commit}}
	}
	return []gitrepo.RefUpdate{{Name: ref, New: commit}, {Name: w.from.Ref.Name, Old: w.from.Ref.Hash}}
}

// tagUpdates publish a Draft that was merged into the registered branch by
// other means.
func (w *work) tagUpdates() []gitrepo.RefUpdate {
	return []gitrepo.RefUpdate{
		{Name: gitrepo.PublishedRef(w.state.path, w.state.refs.NextNumber()), New: w.from.Ref.Commit},
		{Name: w.from.Ref.Name, Old: w.from.Ref.Hash},
	}
}

func (e *Engine) commitRemoval(ctx context.Context, b *gitrepo.Batch, i *Item) error {
	r := i.write.removal
	if r.release == nil {
		return i.together(b, r.refs...)
	}
	files, err := r.release.Files()
	if err != nil {
		return err
	}
	tree, err := b.PackageTree(files)
	if err != nil {
		return err
	}
	h := r.state.heads[i.Ref]
	commits, err := r.repo.git.Commits(ctx, h.Ref.Commit)
	if err != nil {
		return err
	}
	message, err := gitrepo.FormatMessage("Release "+r.state.path+"\n\nIts variant has gone; deletionPolicy orphan leaves the package.",
		&gitrepo.Annotation{Package: r.state.path, WorkspaceName: h.workspace, Task: &gitrepo.Task{Type: "edit", Edit: &gitrepo.EditTask{}}},
		gitrepo.Trailers{Variant: released})
	if err != nil {
		return err
	}
	sig := author
	sig.When = commits[0].Committer.When
	c, err := b.Commit(ctx, gitrepo.CommitSpec{
		Root: commits[0].Tree, Path: r.state.path, PackageTree: tree, Parents: []gitrepo.Hash{h.Ref.Commit}, Author: sig, Message: message,
	})
	if err != nil {
		return err
	}
	i.Commit = c.Hash.String()
	return i.together(b, gitrepo.RefUpdate{Name: h.Ref.Name, Old: h.Ref.Hash, New: c.Hash})
}

// together adds the item's ref updates to a batch and remembers them.
func (i *Item) together(b *gitrepo.Batch, updates ...gitrepo.RefUpdate) error {
	i.write.refs = updates
	return b.Together(updates...)
}

// landed says whether a push that failed in part moved all of the item's refs.
func (i *Item) landed(report *gitrepo.PushReport) bool {
	if i.write == nil || i.Action == Fail || len(i.write.refs) == 0 {
		return false
	}
	moved := map[string]bool{}
	for _, r := range report.Refs {
		moved[r.Name] = r.Outcome == gitrepo.Moved
	}
	for _, u := range i.write.refs {
		if !moved[u.Name] && u.Old != u.New {
			return false
		}
	}
	return true
}

// rereadRepo reads a repository's refs and heads anew.
func (e *Engine) rereadRepo(ctx context.Context, git *gitrepo.Repo) error {
	if err := git.Refresh(ctx); err != nil {
		return err
	}
	for _, r := range e.sortedRepos() {
		if r.git == git {
			if err := r.readHeads(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// again reads a repository anew and plans its items once more. It returns
// those that still have something to push, and those that are finished.
func (e *Engine) again(ctx context.Context, git *gitrepo.Repo, items []*Item) (todo, finished []*Item, err error) {
	if err := e.rereadRepo(ctx, git); err != nil {
		return nil, nil, err
	}
	seen := map[Identity]bool{}
	var planned []*Item
	for _, i := range items {
		// What locks old revisions was read before the race: the next run trims.
		if seen[i.Identity] || i.Action == Trim {
			continue
		}
		seen[i.Identity] = true
		if i.write != nil && i.write.removal != nil {
			n := &Item{Identity: i.Identity, Name: i.Name, Path: i.Path}
			e.planRemoval(ctx, n, &removal{repo: i.write.removal.repo, state: i.write.removal.repo.stateOf(i.Path)})
			planned = append(planned, n)
			continue
		}
		planned = append(planned, e.decide(ctx, i.write.work.variant)...)
	}
	planned = slices.DeleteFunc(planned, func(i *Item) bool { return i.Action == Trim })
	if err := e.buildAll(ctx, planned); err != nil {
		return nil, nil, err
	}
	holdLocks(planned)
	for _, i := range planned {
		if i.repo() != nil {
			todo = append(todo, i)
		} else {
			finished = append(finished, i)
		}
	}
	sort.SliceStable(todo, func(a, b int) bool { return todo[a].Path < todo[b].Path })
	return todo, finished, nil
}
