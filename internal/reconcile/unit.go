package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

// unit is what a decision is about in one target: its lock and the packages
// that it names are one unit of review.
type unit struct {
	repo *repository
	dir  string // below the Repository
}

func unitOf(v *Verdict) unit {
	return unit{v.repo, depend.In(v.repo.obj.Annotations[variformv1alpha1.TargetsAnnotation], v.Package)}
}

// ref is a package's path below the target.
func (u unit) ref(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, u.dir), "/")
}

// withNeeds adds to what a person named what that needs, by the target's newest
// lock, and the lock where nothing else of the target is left open. With Alone
// it leaves out what is there because others need it (seed 001,
// "--dependencies").
func (e *Engine) withNeeds(ctx context.Context, req Request, chosen, all []*Verdict) (out []*Verdict, errs []error) {
	if req.Alone {
		for _, v := range chosen {
			made, err := v.madeFor(ctx)
			if err != nil {
				errs = append(errs, err)
			} else if made == "" {
				out = append(out, v)
			}
		}
		return out, errs
	}
	if req.All || req.Decision == Reject || len(chosen) == 0 {
		return chosen, nil
	}
	in := map[*Verdict]bool{}
	byUnit := map[unit][]*Verdict{}
	for _, v := range chosen {
		in[v] = true
		byUnit[unitOf(v)] = append(byUnit[unitOf(v)], v)
	}
	for u, list := range byUnit {
		lock, err := e.newestLock(ctx, u)
		if err != nil {
			errs = append(errs, err)
		}
		if lock == nil {
			continue
		}
		need := needs(lock)
		here := map[string][]*Verdict{}
		for _, v := range all {
			if unitOf(v) == u {
				here[u.ref(v.Package)] = append(here[u.ref(v.Package)], v)
			}
		}
		for at := 0; at < len(list); at++ {
			for _, d := range need[u.ref(list[at].Package)] {
				for _, v := range here[d] {
					if !in[v] && v.From.Open() {
						in[v] = true
						list = append(list, v)
					}
				}
			}
		}
		left := false
		for ref, open := range here {
			for _, v := range open {
				left = left || ref != depend.LockPackage && !in[v] && v.From.Open()
			}
		}
		for _, v := range here[depend.LockPackage] {
			in[v] = in[v] || !left && v.From.Open()
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(v *Verdict) bool { return !in[v] }), errs
}

// newestLock reads a target's open lock, or its Published one; nil for none.
func (e *Engine) newestLock(ctx context.Context, u unit) (*resolver.Lock, error) {
	t := &fleetTarget{repo: u.repo}
	t.Directory = u.dir
	t.lockPath = t.path(depend.LockPackage)
	s := u.repo.stateOf(t.lockPath)
	h := s.open()
	if h == nil {
		h = s.latest
	}
	if h == nil || !e.mine(h.owner, u.repo.obj.Namespace) {
		return nil, nil
	}
	if err := u.repo.git.Fetch(ctx, h.Ref.Commit); err != nil {
		return nil, err
	}
	lock, err := t.readLock(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", h.Ref.Name, u.repo.git.URL(), err)
	}
	return lock, nil
}

// needs are the direct dependencies of each package of a lock, by ref.
func needs(lock *resolver.Lock) map[string][]string {
	out := map[string][]string{}
	there := map[string]bool{}
	for _, p := range lock.Packages {
		there[path.Join(p.Namespace, p.Name)] = true
	}
	for _, p := range lock.Packages {
		ref := path.Join(p.Namespace, p.Name)
		for _, d := range p.Dependencies {
			if near := path.Join(p.Namespace, d); there[near] {
				d = near
			}
			out[ref] = append(out[ref], d)
		}
	}
	return out
}

// madeFor is what the package's Kptfile says that it was made for.
func (v *Verdict) madeFor(ctx context.Context) (string, error) {
	_, pkg, err := v.repo.readPackage(ctx, v.head.Ref.Commit, v.state.path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", v.head.Ref.Name, err)
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return "", nil //nolint:nilerr // nobody's dependency; the decision says what is wrong
	}
	owner, _ := mutate.OwnerOf(k)
	return owner.For, nil
}

// locksLast orders what is decided so that locks come after what they name.
func locksLast(list []*Verdict) []*Verdict {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b *Verdict) int { return cmp.Compare(lockRank(a), lockRank(b)) })
	return out
}

func lockRank(v *Verdict) int {
	if path.Base(v.Package) == depend.LockPackage {
		return 1
	}
	return 0
}

// whole keeps a lock open where a package of its target was refused: a Published
// lock says what is there.
func whole(v *Verdict, list []*Verdict, d Decision) error {
	if d != Approve || lockRank(v) == 0 || !v.From.Open() {
		return nil
	}
	u := unitOf(v)
	for _, o := range list {
		if o != v && o.Err != nil && unitOf(o) == u {
			return fmt.Errorf("it is published with the packages that it names, and %s was refused", o.Identity)
		}
	}
	return nil
}

// apart refuses approvals that would part what belongs together: of a package
// while one that it needs stays open, and of a lock while a package of its
// target does.
func (e *Engine) apart(ctx context.Context, req Request, chosen, all []*Verdict) (errs []error) {
	if req.Decision != Approve || req.Alone {
		return nil
	}
	in := map[*Verdict]bool{}
	for _, v := range chosen {
		in[v] = true
	}
	left := map[unit]map[string]*Verdict{} // open and not chosen, by ref
	for _, v := range all {
		if u := unitOf(v); !in[v] && v.From.Open() && lockRank(v) == 0 {
			if left[u] == nil {
				left[u] = map[string]*Verdict{}
			}
			left[u][u.ref(v.Package)] = v
		}
	}
	locks := map[unit]*resolver.Lock{}
	for _, v := range chosen {
		u := unitOf(v)
		if len(left[u]) == 0 || !v.From.Open() {
			continue
		}
		if lockRank(v) > 0 {
			ref := slices.Min(slices.Collect(maps.Keys(left[u])))
			v.Err = fmt.Errorf("it is published with the packages that it names, and %s is open: approve the target %s as a whole", left[u][ref].Identity, path.Join(u.repo.obj.Name, u.dir))
			continue
		}
		lock, read := locks[u]
		if !read {
			var err error
			if lock, err = e.newestLock(ctx, u); err != nil {
				errs = append(errs, err)
			}
			locks[u] = lock
		}
		if lock == nil {
			continue
		}
		need := needs(lock)
		seen := map[string]bool{}
		list := []string{u.ref(v.Package)}
		for at := 0; at < len(list); at++ {
			for _, d := range need[list[at]] {
				if !seen[d] {
					seen[d] = true
					list = append(list, d)
				}
			}
		}
		for _, d := range list[1:] {
			if o := left[u][d]; o != nil && v.Err == nil {
				v.Err = fmt.Errorf("it needs %s, which is open (%s): approve that too, or the target %s as a whole, or this alone with --dependencies=false", o.Identity, o.From, path.Join(u.repo.obj.Name, u.dir))
			}
		}
	}
	return errs
}
