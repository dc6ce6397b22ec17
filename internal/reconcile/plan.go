package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/gitrepo"
)

// Plan finds out what a run would do and builds every package that would
// change. It writes nothing to any repository. The error is non-nil only where
// nothing could be planned at all; what failed in part stands in the Plan.
func (e *Engine) Plan(ctx context.Context) (*Plan, error) {
	plan, err := e.Survey(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.buildAll(ctx, plan.Items); err != nil {
		return nil, err
	}
	holdLocks(plan.Items)
	plan.sort()
	return plan, nil
}

// Resolve answers what every target needs, and looks no further. The problems
// are inputs that could not be read.
func (e *Engine) Resolve(ctx context.Context) (targets []*TargetPlan, problems []error, err error) {
	plan, _ := e.observe(ctx)
	for _, s := range plan.Sets {
		plan.Problems = append(plan.Problems, s.Failures...)
	}
	return plan.Targets, plan.Problems, ctx.Err()
}

// observe reads what is wanted and what is there, and resolves what packages
// need.
func (e *Engine) observe(ctx context.Context) (*Plan, []*variant) {
	plan := &Plan{Problems: slices.Clone(e.cfg.Fleet.Problems)}
	plan.Problems = append(plan.Problems, e.readPolicies()...)
	plan.Problems = append(plan.Problems, e.openRepositories(ctx)...)
	wanted := e.expand(ctx, plan)
	plan.Problems = append(plan.Problems, e.readHeads(ctx)...)
	wanted = e.dependencies(ctx, plan, wanted)
	plan.Problems = append(plan.Problems, e.deepen(ctx, wanted)...)
	e.collide(wanted)
	return plan, wanted
}

// Survey is Plan without building: changed inputs are found, not what comes of
// them. It is what status shows.
func (e *Engine) Survey(ctx context.Context) (*Plan, error) {
	plan, wanted := e.observe(ctx)
	selected, err := e.only(wanted)
	if err == nil {
		err = e.invoke(selected)
	}
	if err != nil {
		return nil, err
	}
	e.prefetch(ctx, selected)
	if plan.Items, err = e.decideAll(ctx, selected); err != nil {
		return nil, err
	}
	holdLocks(plan.Items)
	e.planRemovals(ctx, plan, wanted)
	plan.sort()
	return plan, ctx.Err()
}

func (p *Plan) sort() {
	sort.SliceStable(p.Items, func(i, j int) bool {
		a, b := p.Items[i], p.Items[j]
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Repository, b.Repository),
			cmp.Compare(a.Package, b.Package), cmp.Compare(a.Workspace, b.Workspace)) < 0
	})
}

// buildAll builds the items that need it, many at once.
func (e *Engine) buildAll(ctx context.Context, items []*Item) error {
	var todo []*Item
	for _, i := range items {
		if i.write != nil && i.write.work != nil && !i.built {
			i.built = true
			todo = append(todo, i)
		}
	}
	e.prefetchBuilds(ctx, todo)
	var mu sync.Mutex
	done := 0
	_, err := parallel(ctx, e.limit(), todo, func(ctx context.Context, i *Item) struct{} {
		e.build(ctx, i)
		mu.Lock()
		defer mu.Unlock()
		done++
		e.progress(Progress{Stage: "variants", Done: done, Total: len(todo), Item: i.String()})
		return struct{}{}
	})
	return err
}

// parallel maps a list, at most limit at once, and keeps its order. It stops
// early only where the context ends.
func parallel[T, R any](ctx context.Context, limit int, list []T, f func(context.Context, T) R) ([]R, error) {
	out := make([]R, len(list))
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(limit, len(list)) { // a few that stay, not one for each
		g.Go(func() error {
			for i := next.Add(1) - 1; int(i) < len(list); i = next.Add(1) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				out[i] = f(ctx, list[i])
			}
			return nil
		})
	}
	return out, g.Wait()
}

// fetchSet collects commits to fetch, by Git repository.
type fetchSet map[*gitrepo.Repo]map[gitrepo.Hash]bool

func (f fetchSet) add(r *repository, h gitrepo.Hash) {
	if r == nil || r.git == nil || h.IsZero() {
		return
	}
	if f[r.git] == nil {
		f[r.git] = map[gitrepo.Hash]bool{}
	}
	f[r.git][h] = true
}

// run fetches each repository's commits in one request. A failure is not
// reported here: whoever needs the objects asks again and fails by name.
func (f fetchSet) run(ctx context.Context, limit int) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for r, hashes := range f {
		g.Go(func() error {
			_ = r.Fetch(ctx, slices.Collect(maps.Keys(hashes))...)
			return nil
		})
	}
	_ = g.Wait()
}

// prefetch brings the revisions that mergedElsewhere compares, where what they
// hold is not known yet.
func (e *Engine) prefetch(ctx context.Context, variants []*variant) {
	set := fetchSet{}
	for _, v := range variants {
		r := e.repos[repoKey{v.Namespace, v.Repository}]
		if r == nil || r.err != nil || r.git == nil {
			continue
		}
		s := r.stateOf(r.path(v.Package))
		add := func(commit gitrepo.Hash) {
			if _, known := r.git.KnownTreeAt(commit, s.path); !known {
				set.add(r, commit)
			}
		}
		for _, h := range s.heads {
			if h.Number > 0 {
				continue
			}
			add(r.head())
			if s.latest != nil {
				add(s.latest.Ref.Commit)
			}
		}
	}
	set.run(ctx, e.ioLimit())
}

// prefetchBuilds brings the revisions that builds start from.
func (e *Engine) prefetchBuilds(ctx context.Context, items []*Item) {
	set := fetchSet{}
	for _, i := range items {
		w := i.write.work
		set.add(w.repo, w.repo.head())
		if w.from != nil {
			set.add(w.repo, w.from.Ref.Commit)
		}
	}
	set.run(ctx, e.ioLimit())
}

// only restricts variants to those that Config.Only names: a variant's name,
// its repository/package, its set, its repository or its package.
func (e *Engine) only(all []*variant) ([]*variant, error) {
	if len(e.cfg.Only) == 0 {
		return all, nil
	}
	out, err := called(all, e.cfg.Only)
	if err != nil {
		return nil, err
	}
	return closure(out, all), nil
}

// called are the variants that names mean. A name that means none is an error.
func called(all []*variant, names []string) ([]*variant, error) {
	used := map[string]bool{}
	var out []*variant
	for _, v := range all {
		hit := false
		for _, name := range names {
			if slices.Contains([]string{v.pv.Name, v.Identity.String(), v.set, v.Repository, v.Package, v.target()}, name) {
				hit, used[name] = true, true
			}
		}
		if hit {
			out = append(out, v)
		}
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("nothing is called %q: give the name of a variant, repository/package, a set, a repository, a target or a package", name)
		}
	}
	return out, nil
}

// target is the name of the target that the variant is in, its Repository's
// where it is in none.
func (v *variant) target() string {
	if v.dep == nil {
		return v.Repository
	}
	return v.dep.target.Name()
}

// invoke marks what is to be rendered again though nothing that goes into it
// has changed: the variants named, and what they need where they manage that
// (seed 001, "invoke").
func (e *Engine) invoke(all []*variant) error {
	if len(e.cfg.Invoke) == 0 {
		return nil
	}
	list, err := called(all, e.cfg.Invoke)
	for at := 0; at < len(list); at++ {
		v := list[at]
		v.invoked = true
		for _, d := range v.managed() {
			if !d.invoked && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return err
}
