package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/resolver"
)

// readLocks resolves the targets of chosen packages if one has an open Draft of its lock. The
// lock after the approval is part of that answer.
func readLocks(ctx context.Context, e *Engine, s *observe.Snapshot, chosen []*decide.Candidate) error {
	if d := e.cfg.Dependencies; d == nil || len(d.Catalogs) == 0 || len(s.Targets) > 0 {
		return nil
	}
	for _, c := range chosen {
		if u := c.Unit(); (c.Err == nil || c.IsLock()) && u.Repo.Package(u.LockPath()).Open() != nil {
			return e.readNeeds(ctx, s)
		}
	}
	return nil
}

// locker writes the locks of targets that are true once some of their revisions are
// published: as a run would draft them, had nothing else of the target changed. It is safe for
// concurrent use with different repositories.
type locker struct {
	run     *run
	locks   map[decide.Unit]*decide.Want // the locks that targets want
	mu      sync.Mutex
	written []decide.Identity // of locks that were to be published
}

func newLocker(r *run) *locker {
	l := &locker{run: r, locks: map[decide.Unit]*decide.Want{}}
	for _, w := range r.snapshot.Wants {
		if w.Lock() != nil && w.Err == nil {
			l.locks[decide.Unit{Repo: w.Target.Repo, Dir: w.Target.Directory}] = w
		}
	}
	return l
}

// after is a [publish.Locker].
func (l *locker) after(ctx context.Context, u decide.Unit, stands map[string]*resolver.Package, goes []*decide.Candidate) (*publish.Lock, error) {
	w := l.locks[u]
	if w == nil {
		return nil, nil
	}
	repo := l.run.read.Repo(w.Namespace, w.Repository)
	pkg := repo.Package(u.LockPath())
	if pkg.Open() == nil || pkg.Hold() != nil {
		return nil, nil
	}
	there := map[string]string{}
	for ref, p := range stands {
		there[ref] = p.Version
	}
	l.run.read.ReadDrafts(ctx, goes)
	for _, c := range goes {
		ref, _ := u.Below(c.Package.Path)
		switch {
		case !c.From.Open():
			delete(there, ref)
		case c.Offer != nil:
			there[ref] = c.Offer.Version
		}
	}
	placed, err := lockAt(ctx, repo, u.LockPath())
	if err != nil || placed != nil && pkg.Latest == nil { // a run says whose that is
		return nil, err
	}
	content, err := w.Lock().After(w.Target, placed, there)
	if err != nil || content == nil {
		return nil, err
	}
	now := *w
	now.Content = content
	lock, err := buildLock(ctx, l.run, &subject{want: &now, repo: repo, pkg: pkg})
	if lock != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.written = append(l.written, w.Identity)
	}
	return lock, err
}

// redraft has the Drafts of locks that were written go on from these, so that the next run
// has nothing to do. It returns the items as they are then.
func (l *locker) redraft(ctx context.Context, items []*Item) []*Item {
	byRepo := map[observe.Repository][]*Item{}
	for _, i := range items {
		if i.want != nil && slices.Contains(l.written, i.Identity) && i.Phase.Open() && i.Err == nil {
			git := l.run.read.Repo(i.Namespace, i.Repository).Git
			byRepo[git] = append(byRepo[git], i)
		}
	}
	for git, of := range byRepo {
		now, err := l.run.again(ctx, git, of)
		if err != nil {
			continue // the next run does
		}
		items = slices.DeleteFunc(items, func(i *Item) bool { return slices.Contains(of, i) })
		items = append(items, l.run.push(ctx, git, now)...)
		l.run.closeStage(git)
	}
	return items
}

// buildLock builds a lock upon the Published one, nil where it is that already.
func buildLock(ctx context.Context, r *run, s *subject) (*publish.Lock, error) {
	if err := r.read.ReadBranch(ctx, s.repo, s.pkg); err != nil {
		return nil, err
	}
	if decide.Strangers(r.manager, s.want, s.pkg) != nil { // a run says why
		return nil, nil //nolint:nilerr // the lock of another stays as it is
	}
	q, err := r.question(s, decide.Work{From: s.pkg.Latest, Since: s.pkg.Newest()})
	if err != nil {
		return nil, err
	}
	intent, ok := decide.Intend(q).(decide.Build)
	if !ok {
		return nil, nil
	}
	built := r.builder.Make(ctx, build.Job{Question: q, Build: intent, Repo: s.repo, Keep: true})
	if built.Err != nil || built.Same {
		return nil, built.Err
	}
	out := &publish.Lock{Repo: s.repo, Package: s.pkg, From: &decide.Revision{
		Workspace: built.Workspace, Owner: q.Owner, Machine: &decide.Machine{Variant: q.Owner, Inputs: intent.Inputs.String()},
	}}
	if out.Files, err = built.After.Files(); err == nil && built.Machine != nil {
		out.Machine, err = built.Machine.Files()
	}
	return out, err
}

// lockAt is the lock that the registered branch holds, nil where it holds none.
func lockAt(ctx context.Context, repo *observe.Repo, at string) (*resolver.Lock, error) {
	if repo.Head.IsZero() {
		return nil, nil
	}
	_, pkg, err := repo.ReadPackage(ctx, repo.Head, at)
	switch {
	case errors.Is(err, observe.ErrNoFolder):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f, _ := pkg.Read(depend.LockFile)
	return resolver.ParseLock(f.Data)
}
