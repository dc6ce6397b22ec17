package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// Apply writes what a plan of this Engine holds, and brings the plan's items up
// to what was done.
func (e *Engine) Apply(ctx context.Context, plan *Plan) error {
	if e.cfg.Known != nil {
		e.cfg.Known.claim()
	}
	byRepo := map[observe.Repository][]*Item{}
	var rest []*Item
	total := 0
	for _, i := range plan.Items {
		if i.change != nil {
			byRepo[i.change.Repo.Git] = append(byRepo[i.change.Repo.Git], i)
			total++
		} else {
			rest = append(rest, i)
		}
	}
	var mu sync.Mutex
	done := 0
	plan.Items = rest
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.read.Repositories())
	for git, items := range byRepo {
		g.Go(func() error {
			out := plan.run.push(gctx, git, items)
			plan.run.closeStage(git)
			mu.Lock()
			defer mu.Unlock()
			plan.Items = append(plan.Items, out...)
			done += len(items)
			e.progress(Progress{Stage: "push", Done: done, Total: total, Item: git.URL()})
			return nil
		})
	}
	_ = g.Wait()
	plan.run.closeStages()
	plan.sort()                      // so that publications on one branch follow in order
	plan.run.govern(ctx, plan.Items) // what was to come may have been refused
	locks := newLocker(plan.run)
	e.publishActivated(ctx, locks, plan.Items)
	plan.Items = locks.redraft(ctx, plan.Items)
	plan.sort()
	return ctx.Err()
}

// push applies one repository's items. It returns them as they are then, those
// that a lost race made among them.
func (r *run) push(ctx context.Context, git observe.Repository, items []*Item) []*Item {
	of := map[*publish.Change]*Item{}
	changes := func(items []*Item) (out []*publish.Change) {
		for _, i := range items {
			if i.change != nil {
				of[i.change] = i
				out = append(out, i.change)
			}
		}
		return out
	}
	p := publish.Pusher{Read: r.read, Stage: r.stage(git), MaxRefs: r.cfg.MaxRefsPerPush}
	p.Again = func(ctx context.Context, git observe.Repository, lost []*publish.Change) ([]*publish.Change, error) {
		var gone []*Item
		for _, c := range lost {
			gone = append(gone, of[c])
		}
		now, err := r.again(ctx, git, gone)
		if err != nil {
			return nil, err
		}
		items = slices.DeleteFunc(items, func(i *Item) bool { return slices.Contains(gone, i) })
		items = append(items, now...)
		return changes(now), nil
	}
	p.Push(ctx, git, changes(items))
	for _, i := range items {
		if i.pushed(); i.Err == nil && i.change != nil {
			state(r.Engine, i.change.Repo, i.Path, i.change.Hash, string(i.states))
		}
	}
	return items
}

// pushed takes over what became of the item's change.
func (i *Item) pushed() {
	c := i.change
	switch {
	case c == nil:
		return
	case refused(c.Err) && i.Action == decide.ActionTag:
		i.rule(decide.Untagged(c.Decision.(decide.Tag), c.Err))
	case refused(c.Err) && c.Untagged():
		i.rule(decide.Unretired(c.Decision.(decide.Retire)))
	case refused(c.Err) && c.Lost():
		i.rule(decide.Unrecorded(c.Err))
	case c.Err != nil && c.Built != nil && c.Commit == nil && i.Action != decide.ActionDiscard:
		// Only the record was to move: what became of the item stands.
		i.Warnings = append(i.Warnings, fmt.Sprintf("what came of building it is not in the record, so that status cannot tell it: %v", c.Err))
	case c.Err != nil:
		i.fail(c.Err)
		return
	case !c.Hash.IsZero():
		i.Commit = c.Hash.String()
	}
	if _, ok := i.decision.(decide.Draft); ok {
		i.downstreams = []decide.Downstream{{Workspace: i.Workspace, Phase: lifecycle.Draft}}
	}
}

// refused says that the server turned a push down by a rule of its own.
func refused(err error) bool {
	var r *gitrepo.RejectedError
	return errors.As(err, &r)
}

// again reads a repository anew and decides once more about the items that a
// race undid. What locks old revisions was read before the race: the next run
// trims.
func (r *run) again(ctx context.Context, git observe.Repository, lost []*Item) ([]*Item, error) {
	if err := r.read.Reread(ctx, git); err != nil {
		return nil, err
	}
	plan := &Plan{}
	seen := map[decide.Identity]bool{}
	var subjects []*subject
	for _, i := range lost {
		if seen[i.Identity] || i.Action == decide.ActionTrim {
			continue
		}
		seen[i.Identity] = true
		if i.orphan != nil {
			plan.Items = append(plan.Items, r.removeAgain(ctx, i.orphan)...)
			continue
		}
		s := &subject{want: i.want}
		if old := r.subjects[i.want]; old != nil {
			s.wires = old.wires
		}
		s.err = r.ask(ctx, s)
		subjects = append(subjects, s)
	}
	if err := r.reconsider(ctx, subjects); err != nil {
		return nil, err
	}
	if err := r.build(ctx, subjects); err != nil {
		return nil, err
	}
	if err := r.prove(ctx, subjects); err != nil {
		return nil, err
	}
	r.settle(ctx, plan, subjects)
	slices.SortStableFunc(plan.Items, func(a, b *Item) int { return strings.Compare(a.Path, b.Path) })
	return plan.Items, nil
}

func (r *run) removeAgain(ctx context.Context, was *decide.Orphan) []*Item {
	o := *was
	o.Package, o.Landed, o.Err = o.Repo.Package(was.Package.Path), nil, nil
	r.read.ReadOrphan(ctx, &o)
	var out []*Item
	for _, m := range decide.Remove(&o) {
		out = append(out, r.removal(ctx, &decide.Removed{Orphan: &o, Removal: m}))
	}
	return out
}

// publishActivated publishes the Drafts of variants with activation Automatic,
// those that this run wrote among them. They are read anew: a Draft that moved
// since is left for the next run.
func (e *Engine) publishActivated(ctx context.Context, locks *locker, items []*Item) {
	byRepo := map[observe.Repository][]*Item{}
	for _, i := range items {
		if i.publish && i.Err == nil {
			git := e.read.Repo(i.Namespace, i.Repository).Git
			byRepo[git] = append(byRepo[git], i)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.read.Repositories())
	for git, list := range byRepo {
		g.Go(func() error {
			e.publishRepo(ctx, git, list, locks)
			return nil
		})
	}
	_ = g.Wait()
}

func (e *Engine) publishRepo(ctx context.Context, git observe.Repository, items []*Item, locks *locker) {
	if err := e.read.Reread(ctx, git); err != nil {
		for _, i := range items {
			i.fail(err)
		}
		return
	}
	var verdicts []*publish.Verdict
	var candidates []*decide.Candidate
	needs := decide.Needs{Locks: decide.Locks{}}
	of := map[*publish.Verdict]*Item{}
	for _, i := range items {
		c := e.activated(i)
		if c == nil {
			i.Warnings = append(i.Warnings, "the Draft moved while it was to be published: the next run looks at it again")
			continue
		}
		v := &publish.Verdict{Candidate: c, Repo: e.read.Repo(i.Namespace, i.Repository)}
		verdicts, candidates = append(verdicts, v), append(candidates, c)
		of[v] = i
		needs.Locks.Answered(c, i.want)
	}
	if needs.Stands = e.read.ReadStanding(ctx, decide.Units(candidates)); needs.Stands != nil {
		e.read.ReadDrafts(ctx, candidates)
	}
	needs.Refuse(candidates) // by what came to the branch since
	verdicts = slices.DeleteFunc(verdicts, func(v *publish.Verdict) bool {
		if v.Err != nil {
			of[v].withhold(v.Err.Error())
		}
		return v.Err != nil
	})
	decide.OneEach(candidates)
	a := publish.Machine(e.read, needs)
	a.Lock = locks.after
	a.Decide(ctx, git, verdicts)
	e.published(verdicts)
	for _, v := range verdicts {
		i := of[v]
		switch {
		case errors.Is(v.Err, publish.ErrMoved):
			i.Warnings = append(i.Warnings, v.Err.Error())
		case v.Err != nil:
			i.fail(fmt.Errorf("publishing (activation is Automatic): %w", v.Err))
		default:
			i.Phase, i.Revision, i.Commit = v.To, v.Number, v.Commit
			i.Ref = lifecycle.PublishedRef(i.Path, v.Number)
			i.downstreams = []decide.Downstream{{Workspace: i.Workspace, Phase: v.To}}
		}
	}
}

// activated is the open revision that an item is about, nil where it moved.
func (e *Engine) activated(i *Item) *decide.Candidate {
	repo := e.read.Repo(i.Namespace, i.Repository)
	p := repo.Package(i.Path)
	for _, h := range p.Revisions {
		if h.Phase.Open() && h.Workspace == i.Workspace && h.Ref.Commit.String() == i.Commit {
			return &decide.Candidate{Identity: i.Identity, Workspace: i.Workspace, From: h.Phase, Head: h, Package: p, Repo: repo.Repository}
		}
	}
	return nil
}
