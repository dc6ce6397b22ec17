package reconcile

import (
	"cmp"
	"context"
	"fmt"
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
	for _, v := range chosen {
		in[v] = true
	}
	here := byUnit(all)
	var read lockReader
	for _, v := range chosen {
		u := unitOf(v)
		need, err := read.below(ctx, e, u, v)
		if err != nil {
			errs = append(errs, err)
		}
		for _, o := range here[u] {
			in[o] = in[o] || o.From.Open() && need[u.ref(o.Package)]
		}
	}
	for u, need := range read.needs {
		left := slices.ContainsFunc(here[u], func(v *Verdict) bool { return !in[v] && v.From.Open() && lockRank(v) == 0 })
		for _, v := range here[u] {
			in[v] = in[v] || len(need) > 0 && !left && lockRank(v) > 0 && v.From.Open()
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(v *Verdict) bool { return !in[v] }), errs
}

// byUnit groups revisions by target, in their order.
func byUnit(list []*Verdict) map[unit][]*Verdict {
	out := map[unit][]*Verdict{}
	for _, v := range list {
		out[unitOf(v)] = append(out[unitOf(v)], v)
	}
	return out
}

// lockReader reads the newest lock of each target once. Its zero value is ready.
type lockReader struct {
	needs map[unit]map[string][]string // direct dependencies by ref
}

// below are the refs of all that a revision's package needs, by its target's
// newest lock.
func (l *lockReader) below(ctx context.Context, e *Engine, u unit, v *Verdict) (map[string]bool, error) {
	need, known := l.needs[u]
	if !known {
		lock, err := e.newestLock(ctx, u)
		if lock != nil {
			need = needs(lock)
		}
		if l.needs == nil {
			l.needs = map[unit]map[string][]string{}
		}
		if l.needs[u] = need; err != nil {
			return nil, err
		}
	}
	out := map[string]bool{}
	list := []string{u.ref(v.Package)}
	for at := 0; at < len(list); at++ {
		for _, d := range need[list[at]] {
			if !out[d] {
				out[d] = true
				list = append(list, d)
			}
		}
	}
	return out, nil
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
		out[ref] = nil
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
	here := byUnit(all)
	var read lockReader
	for _, v := range chosen {
		u := unitOf(v)
		left := slices.DeleteFunc(slices.Clone(here[u]), func(o *Verdict) bool { return in[o] || !o.From.Open() || lockRank(o) > 0 })
		if len(left) == 0 || !v.From.Open() {
			continue
		}
		target := path.Join(u.repo.obj.Name, u.dir)
		if lockRank(v) > 0 {
			v.Err = fmt.Errorf("it is published with the packages that it names, and %s is open: approve the target %s as a whole", left[0].Identity, target)
			continue
		}
		need, err := read.below(ctx, e, u, v)
		if err != nil {
			errs = append(errs, err)
		}
		for _, o := range left {
			if need[u.ref(o.Package)] && v.Err == nil {
				v.Err = fmt.Errorf("it needs %s, which is open (%s): approve that too, or the target %s as a whole, or this alone with --dependencies=false", o.Identity, o.From, target)
			}
		}
	}
	return errs
}
