package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/variantgen"
)

// removal is a package of this manager's that no variant wants any more.
type removal struct {
	repo  *repository
	state *state
	owner mutate.Owner
	refs  []gitrepo.RefUpdate
	// release is the package without its ownership, for an open Draft whose
	// policy is orphan.
	release *krm.Package
}

// planRemovals finds this manager's packages whose variant has gone and plans
// what its deletion policy says, unless something forbids deletions.
func (e *Engine) planRemovals(ctx context.Context, plan *Plan, wanted []*variant) {
	items, trims := e.orphans(ctx, wanted), e.trims(plan, wanted)
	if len(items)+len(trims) == 0 {
		return
	}
	plan.PruneBlocked = e.pruneBlocks(plan)
	if e.cfg.Prune && len(plan.PruneBlocked) == 0 {
		if err := e.keepLocked(ctx, slices.Concat(items, trims)); err != nil {
			plan.PruneBlocked = append(plan.PruneBlocked, err.Error())
		}
	}
	blocked := !e.cfg.Prune || len(plan.PruneBlocked) > 0
	if !blocked {
		for _, t := range trims {
			if t.Action == Trim {
				plan.Items = append(plan.Items, t)
			}
		}
	}
	if !blocked {
		e.brake(plan, items, wanted)
	}
	for _, i := range items {
		switch {
		case i.Err != nil, i.Action == Keep:
		case i.Phase == lifecycle.DeletionProposed:
			i.Action, i.Reasons = Wait, []string{"proposed for deletion: approve that, or reject it"}
		case i.Action == UpToDate: // left alone, with or without --prune
		case blocked && len(plan.PruneBlocked) > 0:
			i.keep("no variant wants it as far as this run can tell, and nothing is deleted: " + strings.Join(plan.PruneBlocked, "; "))
		case !e.cfg.Prune:
			i.keep("its variant has gone; run with --prune to act on that")
		}
	}
	plan.Items = append(plan.Items, items...)
}

// keepLocked keeps packages that an upstreamLock names: whoever has it needs
// them for the next update. It reads every package's Kptfile, so it runs only
// where something is to go.
func (e *Engine) keepLocked(ctx context.Context, items []*Item) error {
	if !slices.ContainsFunc(items, func(i *Item) bool { return i.Action == Discard || i.Action == Retire || i.Action == Trim }) {
		return nil
	}
	type tip struct {
		repo *repository
		path string
		head *head
	}
	var tips []tip
	fetch := fetchSet{}
	for _, r := range e.sortedRepos() {
		if r.git == nil || r.err != nil {
			continue
		}
		for path, s := range r.states {
			for _, h := range s.heads {
				tips = append(tips, tip{r, path, h})
				fetch.add(r, h.Ref.Commit)
			}
		}
	}
	fetch.run(ctx, e.ioLimit())
	type result struct {
		lock *kptfilev1.GitLock
		err  error
	}
	results, err := parallel(ctx, e.limit(), tips, func(ctx context.Context, t tip) result {
		lock, err := t.repo.lockOf(ctx, t.head.Ref.Commit, t.path)
		if err != nil {
			err = fmt.Errorf("the upstreamLock of %s in Repository %s could not be read: %w", t.head.Ref.Name, t.repo.obj.Name, err)
		}
		return result{lock, err}
	})
	if err != nil {
		return err
	}
	locked := map[string]bool{}
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
		if r.lock != nil {
			locked[plainAddress(r.lock.Repo)+"\x00"+strings.Trim(r.lock.Directory, "/")] = true
		}
	}
	for _, i := range items {
		if w := i.write; w != nil && w.removal != nil && locked[plainAddress(w.removal.repo.git.URL())+"\x00"+i.Path] {
			i.keep("its variant has gone, but a package has it as its upstream, by its upstreamLock")
		}
	}
	return nil
}

// lockOf is the upstreamLock of a package, nil where it has none or no Kptfile.
func (r *repository) lockOf(ctx context.Context, commit gitrepo.Hash, path string) (*kptfilev1.GitLock, error) {
	tree, err := r.treeAt(ctx, commit, path)
	if err != nil || tree.IsZero() {
		return nil, err
	}
	pkg, err := r.git.ReadPackage(ctx, tree)
	if err != nil || pkg.Kptfile("") == nil {
		return nil, err
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return nil, nil //nolint:nilerr // what is no Kptfile locks nothing
	}
	return mutate.Lock(k), nil
}

func (i *Item) keep(reason string) {
	i.Action, i.Reasons, i.write = Keep, []string{reason}, nil
}

// pruneBlocks lists what forbids deletions in this run.
func (e *Engine) pruneBlocks(plan *Plan) []string {
	var out []string
	if len(e.cfg.Only) > 0 {
		out = append(out, "--only restricts the run")
	}
	if n := len(plan.Problems); n > 0 {
		out = append(out, plural(n, "input")+" could not be read")
	}
	for _, s := range plan.Sets {
		if n := len(s.Failures); n > 0 {
			out = append(out, fmt.Sprintf("set %s/%s has %s that failed", s.Namespace, s.Name, plural(n, "target")))
		}
	}
	return out
}

// orphans lists the owned packages that no variant wants.
func (e *Engine) orphans(ctx context.Context, wanted []*variant) []*Item {
	want := map[Identity]bool{}
	place := map[string]bool{}
	at := folderOf
	for _, v := range wanted {
		want[v.Identity] = true
		if r := e.repos[repoKey{v.Namespace, v.Repository}]; r != nil && r.git != nil {
			place[r.git.URL()+"\x00"+r.path(v.Package)] = true
		}
	}
	upstreams := e.upstreamPlaces(wanted)
	var items []*Item
	type orphan struct {
		item *Item
		*removal
	}
	var gone []orphan
	set := fetchSet{} // their Kptfiles have the last word: brought in one request a repository
	for _, r := range e.sortedRepos() {
		if r.git == nil || r.err != nil {
			continue
		}
		for _, path := range sortedStates(r.states) {
			s := r.states[path]
			owner := s.newestOwner()
			pkg := strings.TrimPrefix(strings.TrimPrefix(path, r.dir), "/")
			id := Identity{r.obj.Namespace, r.obj.Name, pkg}
			// One folder may be seen through several Repositories: whoever
			// wants it, wants it.
			if !e.mine(owner, r.obj.Namespace) || want[id] || place[r.git.URL()+"\x00"+path] {
				continue
			}
			place[r.git.URL()+"\x00"+path] = true
			item := &Item{Identity: id, Name: owner[strings.LastIndex(owner, "/")+1:], Path: path}
			item.targets = s.targets(func(h *head) bool { return e.mine(h.owner, r.obj.Namespace) })
			if why := cmp.Or(e.untouchable[at(r, path)], e.untouchable[at(r, "")]); why != "" {
				item.keep("nothing is known to need it, but " + why)
			} else if upstreams[r.git.URL()+"\x00"+path] {
				item.keep("its variant has gone, but other variants have it as their upstream")
			} else {
				gone = append(gone, orphan{item, &removal{repo: r, state: s}})
				for _, h := range s.heads {
					set.add(r, h.Ref.Commit)
				}
			}
			items = append(items, item)
		}
	}
	set.run(ctx, e.ioLimit())
	_, _ = parallel(ctx, e.limit(), gone, func(ctx context.Context, o orphan) struct{} {
		e.planRemoval(ctx, o.item, o.removal)
		return struct{}{}
	})
	return items
}

func sortedStates(m map[string]*state) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// newestOwner is the owner of the package's open revision, or of the latest
// Published one.
func (s *state) newestOwner() string {
	for _, r := range s.revisions {
		if r.Phase.Open() && len(r.Owners) > 0 {
			return r.Owners[0]
		}
	}
	if s.latest != nil {
		return s.latest.owner
	}
	return ""
}

// upstreamPlaces are the packages that wanted variants come from: their
// revisions are named by upstreamLocks and never go.
func (e *Engine) upstreamPlaces(wanted []*variant) map[string]bool {
	out := map[string]bool{}
	for _, v := range wanted {
		u := v.pv.Spec.Upstream
		if u == nil {
			continue
		}
		if r := e.repos[repoKey{v.Namespace, u.Repo}]; r != nil && r.git != nil {
			out[r.git.URL()+"\x00"+r.path(u.Package)] = true
		}
	}
	return out
}

// planRemoval reads the package's own word on who owns it and what to do, and
// lists the refs to move.
func (e *Engine) planRemoval(ctx context.Context, item *Item, r *removal) {
	for _, rev := range r.state.revisions {
		h := r.state.headOf(rev)
		if h == nil || !e.mine(h.owner, item.Namespace) {
			continue
		}
		if err := e.removeRevision(ctx, item, r, h); err != nil {
			item.fail(fmt.Errorf("removing %s: %w", h.Ref.Name, err))
			return
		}
	}
	if item.Action == "" || item.Action == UpToDate {
		item.Action = UpToDate
		return
	}
	for _, h := range r.state.surplus {
		if e.mine(h.owner, item.Namespace) {
			r.refs = append(r.refs, gitrepo.RefUpdate{Name: h.Ref.Name, Old: h.Ref.Hash})
		}
	}
	item.write = &write{removal: r}
}

func (e *Engine) removeRevision(ctx context.Context, item *Item, r *removal, h *head) error {
	_, pkg, err := r.repo.readPackage(ctx, h.Ref.Commit, r.state.path)
	if err != nil {
		return err
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return err
	}
	owner, owned := mutate.OwnerOf(k)
	if !owned || !e.mine(owner.Variant, item.Namespace) {
		// The Kptfile has the last word: a person gave it up, or away.
		return nil
	}
	if e.cfg.Dependencies == nil && (owner.For != "" || owner.Variant == e.cfg.Manager+"/"+item.Namespace+"/"+variantgen.Name("dependency", item.Repository, item.Package)) {
		item.Action, item.Reasons = UpToDate, []string{"another package needed it, and dependencies are left alone in this run"}
		return nil
	}
	r.owner, item.Set, item.Owner = owner, owner.Set, owner.For
	item.Workspace, item.Revision, item.Phase, item.Ref = h.workspace, h.Number, lifecycle.Phase(h.Lifecycle), h.Ref.Name
	item.Before = pkg
	policy := v1alpha1.DeletionPolicy(owner.DeletionPolicy)
	if owner.For != "" && lifecycle.Phase(h.Lifecycle).Open() {
		policy = v1alpha1.DeletionDelete // nothing uses what was never Published, whoever manages it
	}
	switch lifecycle.Remove(policy, lifecycle.Phase(h.Lifecycle)) {
	case lifecycle.Discard:
		item.Action, item.Reasons = Discard, []string{"its variant has gone"}
		r.refs = append(r.refs, gitrepo.RefUpdate{Name: h.Ref.Name, Old: h.Ref.Hash})
	case lifecycle.ProposeDeletion:
		item.Action, item.Reasons = Retire, []string{"its variant has gone"}
		for _, p := range r.state.refs.Published {
			if p.Lifecycle == gitrepo.Published {
				r.refs = append(r.refs, gitrepo.RefUpdate{Name: gitrepo.DeletionRef(r.state.path, p.Number), New: p.Ref.Commit})
			}
		}
	case lifecycle.Release:
		return e.releaseRevision(item, r, h, pkg)
	case lifecycle.Keep:
	}
	return nil
}

// releaseRevision gives up an open revision; a Published one cannot change and
// is simply left alone from now on.
func (e *Engine) releaseRevision(item *Item, r *removal, h *head, pkg *krm.Package) error {
	if !lifecycle.Phase(h.Lifecycle).Open() {
		return nil
	}
	item.Action, item.Reasons = Release, []string{"its variant has gone; deletionPolicy orphan leaves the package"}
	r.release = pkg.Clone()
	item.After = r.release
	return mutate.SetOwner(r.release, mutate.Owner{})
}

// brake keeps the packages of sets that would lose too many.
func (e *Engine) brake(plan *Plan, items []*Item, wanted []*variant) {
	type key struct{ namespace, set string }
	going, staying := map[key]int{}, map[key]int{}
	for _, i := range items {
		if i.Action == Discard || i.Action == Retire {
			going[key{i.Namespace, i.Set}]++
		}
	}
	for _, v := range wanted {
		staying[key{v.Namespace, v.set}]++
	}
	// A target that selects nothing is more often a mistake than a wish.
	empty := map[key]bool{}
	for _, s := range plan.Sets {
		empty[key{s.Namespace, s.Name}] = s.Empty || s.Variants == 0
	}
	braked := func(k key) bool {
		n, total := going[k], going[k]+staying[k]
		return n > 0 && e.cfg.MaxDelete < n && (empty[k] || lifecycle.Braked(n, total))
	}
	for _, i := range items {
		k := key{i.Namespace, i.Set}
		if i.Action != Discard && i.Action != Retire || !braked(k) {
			continue
		}
		name := "what no set makes"
		if k.set != "" {
			name = "set " + k.namespace + "/" + k.set
		}
		n, total := going[k], going[k]+staying[k]
		i.keep(fmt.Sprintf("its variant has gone, but %s would lose %d of %d packages at once: if that is meant, run with --max-delete=%d", name, n, total, n))
	}
	for k, n := range going {
		if braked(k) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("deletions braked: %d of %d packages of %s", n, n+staying[k], cmp.Or(k.set, "what no set makes")))
		}
	}
	sort.Strings(plan.Warnings)
}
