package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

// dependencies resolves every target and returns the wanted packages with those
// that targets need besides, and their locks. One target's conflict is that
// target's alone.
func (r *Reader) dependencies(ctx context.Context, s *Snapshot, wants []*decide.Want) []*decide.Want {
	if r.cfg.Dependencies == nil {
		wants = r.here(wants)
	}
	all := r.targetsOf(s, wants)
	r.ReadUpstreams(ctx, wants) // also of what others resolve: their upstreams are candidates here
	for _, t := range all {
		r.readVariants(ctx, t)
	}
	wants = r.here(wants)
	targets := slices.DeleteFunc(slices.Clone(all), func(t *decide.Target) bool { return r.repoOf(t).closed })
	for _, w := range wants {
		if w.Upstream() == nil {
			continue
		}
		if why := r.UpstreamOf(ctx, w).Differs; why != "" {
			s.warn(why)
		}
	}
	if r.cfg.Dependencies != nil {
		wants = append(wants, r.resolve(ctx, s, targets, all)...)
		r.warnOfClashes(ctx, s, targets)
		for _, w := range wants {
			if w.Upstream() == nil {
				continue
			}
			if up := r.UpstreamOf(ctx, w); up.Err == nil {
				s.warn(up.Doubts()...)
			}
		}
	}
	for _, t := range targets {
		t.Fail()
	}
	s.Unanswered = append(s.Unanswered, decide.Unasked(targets)...)
	r.markWanted(wants)
	return wants
}

// here leaves out what is wanted of repositories that are not read.
func (r *Reader) here(wants []*decide.Want) []*decide.Want {
	return slices.DeleteFunc(slices.Clone(wants), func(w *decide.Want) bool {
		repo := r.RepoOf(w)
		return repo != nil && repo.closed
	})
}

// targetsOf groups wanted packages by target, sorted.
func (r *Reader) targetsOf(s *Snapshot, wants []*decide.Want) []*decide.Target {
	byID := map[string]*decide.Target{}
	var out []*decide.Target
	target := func(repo *Repo, dir string) *decide.Target {
		id := repo.Namespace + "/" + repo.Name + "/" + dir
		if byID[id] == nil {
			byID[id] = decide.NewTarget(repo.Repository, dir)
			out = append(out, byID[id])
		}
		return byID[id]
	}
	for _, w := range wants {
		repo := r.RepoOf(w)
		if !repo.holdsTargets() {
			continue
		}
		dir := decide.In(repo.Repository, w.Package)
		w.Target = target(repo, dir)
		w.Ref = strings.TrimPrefix(strings.TrimPrefix(w.Package, dir), "/")
		w.Target.Wants[w.Ref] = w
	}
	if r.cfg.Dependencies != nil {
		for _, i := range r.cfg.Fleet.Installations {
			ns := api.NamespaceOr(i.Namespace)
			name, rest, _ := strings.Cut(strings.Trim(i.Spec.Target, "/"), "/")
			if repo := r.repos[repoKey{ns, name}]; repo.holdsTargets() {
				target(repo, decide.In(repo.Repository, rest+"/x"))
			} else if repo == nil && name != "" {
				s.Unanswered = append(s.Unanswered, &decide.InstallationError{
					Namespace: ns, Name: i.Name,
					Err: fmt.Errorf("Installation %s/%s: spec.target: %s is in no registered Repository of its namespace: register it, or correct the name", ns, i.Name, i.Spec.Target),
				})
			}
		}
		for _, i := range r.cfg.Fleet.Installations {
			for _, t := range out {
				if _, here := t.Place(i); here && t.Namespace == api.NamespaceOr(i.Namespace) {
					t.Installations = append(t.Installations, i)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *decide.Target) int { return cmp.Compare(a.ID(), b.ID()) })
	decide.SetPaths(out)
	return out
}

// holdsTargets says that packages may stand there.
func (r *Repo) holdsTargets() bool {
	return r != nil && (r.closed || r.Git != nil && r.Err == nil)
}

// readVariants gives the target's variants whose upstreams could be read.
func (r *Reader) readVariants(ctx context.Context, t *decide.Target) {
	for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
		w := t.Wants[ref]
		up := r.UpstreamOf(ctx, w)
		err := up.Err
		if err == nil && up.Offer.Err != nil {
			err = up.Offer.Err
			if d := r.cfg.Dependencies; d != nil && len(d.Catalogs) > 0 {
				w.Err = decide.Stall(fmt.Errorf("upstream %s: %w", up.String(), err))
			}
		}
		if err != nil {
			if t.Failing == nil {
				t.Failing = map[string]depend.Unread{}
			}
			unread := depend.Unread{Err: err}
			if u := w.Upstream(); u != nil {
				unread.Package = path.Base(u.Package)
			}
			t.Failing[ref] = unread
			continue
		}
		t.Variants = append(t.Variants, &depend.Variant{PackageVariant: w.Variant(), Set: w.Set, Ref: ref, Upstream: up.Offer.Package})
	}
}

// resolve answers for the targets that want something, and returns what the
// answers bring, locks included. All are those of the whole fleet: what their variants
// are made from can be had by each.
func (r *Reader) resolve(ctx context.Context, s *Snapshot, targets, all []*decide.Target) []*decide.Want {
	active := r.active(ctx, s, targets)
	deps := r.cfg.Dependencies
	if len(active) == 0 {
		if deps != nil && len(s.Problems) == 0 {
			s.Problems = append(s.Problems, decide.Unknown(deps.Refresh, nil, nil)...)
		}
		return nil
	}
	asking := slices.Clone(active)
	for _, t := range all {
		if r.repoOf(t).closed && t.Asks() && (len(deps.Catalogs) > 0 || !t.Needs() || t.Has()) {
			asking = append(asking, t)
		}
	}
	made := upstreamPackages(asking)
	var needed []resolver.GVK
	for _, u := range made {
		needed = append(needed, u.APIs()...)
	}
	entries, unusable, problems := deps.Read(ctx, needed)
	doubt := decide.Uncertain(len(problems), r.cfg.Fleet.Hidden, len(s.Problems), s.Sizes())
	s.Problems = append(s.Problems, problems...)
	for _, t := range active {
		t.Refresh = deps.Refresh
	}
	r.readEnvironment(ctx, active)
	for _, t := range active {
		s.warn(t.Strays...)
		t.Doubt = doubt
		if t.Platform == nil {
			t.Platform = deps.Platform
		}
	}
	if len(problems) == 0 {
		s.Problems = append(s.Problems, decide.Unknown(deps.Refresh, entries, active)...)
		entries = append(entries, r.keep(ctx, s, active, entries)...)
	}
	pool, err := depend.NewPool(entries, deps.Catalogs, made, unusable...)
	pool.Unread(len(problems))
	s.Warnings = append(s.Warnings, pool.Warnings()...)
	if err != nil {
		s.Problems = append(s.Problems, err)
		for _, t := range active {
			t.Err = errors.Join(t.Err, errors.New("the catalogue cannot be used: see the problems of the run"))
		}
	}
	decide.OneLock(active)
	_, stopped := Parallel(ctx, r.limit(), active, func(ctx context.Context, t *decide.Target) struct{} {
		if t.Err == nil {
			t.Answer = t.Resolve(ctx, pool)
			t.Err = t.Answer.Err
		}
		return struct{}{}
	})
	if stopped != nil { // the run ends with this, but not before it has looked at all targets
		for _, t := range active {
			t.Err = cmp.Or(t.Err, stopped)
		}
	}
	s.Targets = active
	return r.answered(ctx, s, active)
}

// Without answers for a target again, without what turned out not to be had though it
// could be made, and says so to the snapshot.
func (r *Reader) Without(ctx context.Context, s *Snapshot, t *decide.Target, failures []depend.Failure) {
	t.Answer.Fail(ctx, failures...)
	t.Err = t.Answer.Err
	s.Wants = slices.DeleteFunc(s.Wants, func(w *decide.Want) bool { return w.Target == t && (w.Derived || w.Lock() != nil) })
	more := r.answered(ctx, s, []*decide.Target{t})
	t.Fail()
	s.Unanswered = append(s.Unanswered, decide.Unasked([]*decide.Target{t})...)
	s.Wants = append(s.Wants, more...)
}

// answered returns what answers bring, locks included, and keeps what stands in place
// of what has none.
func (r *Reader) answered(ctx context.Context, s *Snapshot, targets []*decide.Target) []*decide.Want {
	out := r.conclude(ctx, targets)
	r.readStanding(ctx, targets)
	for _, t := range targets {
		if t.Err != nil {
			r.hold(ctx, s, t, "the dependencies of target "+t.Name()+" have no answer")
			t.Err = decide.Unanswered(t.Err)
		} else {
			for _, ref := range t.Answer.Stands {
				s.Untouchable[r.repoOf(t).Place(t.Path(ref))] = "what needs it has no answer"
			}
		}
	}
	return out
}

// active are the targets to be resolved. What the others were brought stays
// where it cannot be told that nothing needs it.
func (r *Reader) active(ctx context.Context, s *Snapshot, targets []*decide.Target) []*decide.Target {
	var out []*decide.Target
	for _, t := range targets {
		switch {
		case !t.Asks():
			if len(t.Failing) > 0 {
				r.hold(ctx, s, t, "it cannot be told what the packages of target "+t.Name()+" need")
			}
		case len(r.cfg.Dependencies.Catalogs) == 0 && t.Needs() && !t.Has():
			r.hold(ctx, s, t, "the fleet has no Catalog, so that what it is for cannot be told")
			s.Warnings = append(s.Warnings, fmt.Sprintf("packages of target %s need others, and the fleet has no Catalog to bring them from: add one, or run with --dependencies=false", t.Name()))
		default:
			out = append(out, t)
		}
	}
	return out
}

// upstreamPackages are what the targets' variants come from, sorted.
func upstreamPackages(targets []*decide.Target) []*resolver.Package {
	var out []*resolver.Package
	seen := map[*resolver.Package]bool{}
	for _, t := range targets {
		for _, v := range t.Variants {
			if !seen[v.Upstream] {
				seen[v.Upstream] = true
				out = append(out, v.Upstream)
			}
		}
	}
	slices.SortFunc(out, func(a, b *resolver.Package) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Digest, b.Digest))
	})
	return out
}

// conclude makes what answers bring, and the targets' locks. Where something of that
// turns out not to be had, there is an answer without it.
func (r *Reader) conclude(ctx context.Context, targets []*decide.Target) []*decide.Want {
	var out []*decide.Want
	for todo := targets; len(todo) > 0; {
		var read []*decide.Want
		var next []*decide.Target
		failed := map[*decide.Target][]depend.Failure{}
		for _, t := range todo {
			if t.Err != nil {
				continue
			}
			var derived []*decide.Want
			derived, failed[t] = t.Derive(func(i *resolver.Instance) (*v1alpha1.Upstream, error) { return r.upstreamFor(t.Namespace, i) })
			read = append(read, derived...)
		}
		r.ReadUpstreams(ctx, read)
		for _, t := range todo {
			if t.Err != nil {
				continue
			}
			var lock *decide.Want
			if len(failed[t]) == 0 {
				lock, failed[t], t.Err = t.Conclude(func(w *decide.Want) *decide.Upstream { return r.UpstreamOf(ctx, w) })
			}
			switch {
			case len(failed[t]) > 0:
				t.Answer.Fail(ctx, failed[t]...)
				t.Err = t.Answer.Err
				next = append(next, t)
			case t.Err == nil:
				for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
					if w := t.Wants[ref]; w.Derived {
						out = append(out, w)
					}
				}
				out = append(out, lock)
			}
		}
		todo = next
	}
	return out
}

// readStanding reads what stands in place of what has no answer: its values stay.
func (r *Reader) readStanding(ctx context.Context, targets []*decide.Target) {
	type place struct {
		t   *decide.Target
		ref string
		h   *decide.Revision
	}
	set := fetchSet{}
	var places []place
	for _, t := range targets {
		if t.Err != nil {
			continue
		}
		for _, ref := range t.Answer.Stands {
			if p := r.repoOf(t).Package(t.Path(ref)); p.IsPublished() && t.Wants[ref] == nil {
				set.add(r.repoOf(t), p.Path, p.Latest)
				places = append(places, place{t, ref, p.Latest})
			}
		}
	}
	set.run(ctx, r.Repositories())
	for _, p := range places {
		_, pkg, err := r.repoOf(p.t).ReadPackage(ctx, p.h.Ref.Commit, p.t.Path(p.ref))
		if err != nil {
			continue // who needs a value of it says that it has none
		}
		o := offerOf(pkg, path.Base(p.ref), p.h.Ref.Commit)
		p.t.There[p.ref] = decide.Present{Package: pkg, APIs: o.APIs, Outputs: o.Outputs}
	}
}

// readEnvironment reads what targets have: their locks, and what stands there
// that no variant of this manager makes.
func (r *Reader) readEnvironment(ctx context.Context, targets []*decide.Target) {
	set := fetchSet{}
	for _, t := range targets {
		repo := r.repoOf(t)
		set.place(repo, repo.Head, t.Path(""))
		for _, p := range t.Paths {
			s := repo.Package(p)
			if p == t.LockPath {
				set.add(repo, s.Path, s.Open(), s.Latest)
			} else if _, foreign := t.Foreign(r.cfg.Manager, p); foreign {
				set.add(repo, s.Path, s.Latest)
			}
		}
	}
	set.run(ctx, r.Repositories())
	_, _ = Parallel(ctx, r.limit(), targets, func(ctx context.Context, t *decide.Target) struct{} {
		if err := r.environment(ctx, t); err != nil {
			t.Err = errors.Join(t.Err, err)
		}
		return struct{}{}
	})
}

func (r *Reader) repoOf(t *decide.Target) *Repo { return r.repos[repoKey{t.Namespace, t.Repository}] }

// environment reads the target's locks and what others put there.
func (r *Reader) environment(ctx context.Context, t *decide.Target) error {
	repo := r.repoOf(t)
	errs := []error{t.Annotate()}
	s := repo.Package(t.LockPath)
	for _, l := range []struct {
		head *decide.Revision
		into **resolver.Lock
	}{{s.Latest, &t.Placed}, {s.Open(), &t.Lock}} {
		if l.head == nil || l.head.Phase == lifecycle.DeletionProposed {
			continue
		}
		if !r.cfg.Manager.Signed(l.head.Owner, t.Namespace) {
			errs = append(errs, fmt.Errorf("%s of %s is the lock of %s: a folder has one lock, so give each fleet folders of its own (spec.git.directory of the Repository, or its annotation %s), or describe both in one",
				l.head.Ref.Name, repo.Git.URL(), cmp.Or(l.head.Owner, "nobody known"), decide.TargetsAnnotation))
			continue
		}
		lock, err := repo.readLock(ctx, l.head, t.LockPath)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: correct the lock there, or delete that revision: %w", l.head.Ref.Name, repo.Git.URL(), err))
			continue
		}
		lock.Packages = r.locks.Of(lock.Packages)
		*l.into = lock
	}
	if t.Lock == nil {
		t.Lock = t.Placed
	}
	t.Published = map[string]bool{}
	for _, p := range t.Paths {
		if ref, ok := t.Below(p); ok && repo.Package(p).IsPublished() {
			t.Published[ref] = true
		}
		if ref, ok := t.Foreign(r.cfg.Manager, p); ok {
			errs = append(errs, r.exists(ctx, t, ref, repo.Package(p), false))
		} else if ref, ok := t.Dropped(r.cfg.Manager, p); ok {
			errs = append(errs, r.exists(ctx, t, ref, repo.Package(p), true))
		}
	}
	t.Relock()
	return errors.Join(append(errs, r.untagged(ctx, t))...)
}

// untagged reads what stands on the target's branch, has no revision, and is not of
// this manager's making.
func (r *Reader) untagged(ctx context.Context, t *decide.Target) error {
	repo := r.repoOf(t)
	if repo.Head.IsZero() {
		return nil
	}
	there, err := repo.Git.Packages(ctx, gitrepo.Hash(repo.Head), t.Path(""))
	if err != nil {
		return fmt.Errorf("reading branch %s of %s: %w", repo.Branch, repo.Git.URL(), err)
	}
	for _, at := range there {
		ref, ok := t.Untagged(at.Path)
		if !ok {
			continue
		}
		pkg, err := repo.Git.ReadPackage(ctx, at.Tree)
		if err != nil {
			return fmt.Errorf("reading %s on branch %s: %w", at.Path, repo.Branch, err)
		}
		k, err := mutate.Read(pkg, "")
		if err != nil {
			continue // it is no package
		}
		if owner, owned := mutate.OwnerOf(k); owned && r.cfg.Manager.Signed(owner.Variant, t.Namespace) {
			continue
		}
		if err := has(t, ref, pkg, decide.Hash(at.Tree), k.Labels); err != nil {
			return fmt.Errorf("package %s on branch %s: %w", at.Path, repo.Branch, err)
		}
	}
	return nil
}

func (r *Repo) readLock(ctx context.Context, h *decide.Revision, path string) (*resolver.Lock, error) {
	if err := r.Git.FetchPlaces(ctx, gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: path}); err != nil {
		return nil, err
	}
	tree, err := r.TreeAt(ctx, h.Ref.Commit, path)
	if err != nil {
		return nil, err
	}
	data, ok, err := r.Git.ReadFile(gitrepo.Hash(tree), depend.LockFile)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s/%s is missing", path, depend.LockFile)
	}
	return resolver.ParseLock(data)
}

// exists reads a Published package that no variant of this manager's makes; one
// that this manager dropped only where it was left for good.
func (r *Reader) exists(ctx context.Context, t *decide.Target, ref string, s *decide.Package, dropped bool) error {
	_, pkg, err := r.repoOf(t).ReadPackage(ctx, s.Latest.Ref.Commit, s.Path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.Latest.Ref.Name, err)
	}
	if pkg.Kptfile("") == nil {
		return nil // a folder with tags, and no package
	}
	var labels map[string]string
	if k, err := mutate.Read(pkg, ""); err == nil {
		owner, owned := mutate.OwnerOf(k)
		if e, stated := s.Stated(s.Latest); stated {
			owner.For, owner.DeletionPolicy = e.For, e.DeletionPolicy
		}
		if dropped && owned && !t.Leaves(r.cfg.Manager, owner.DeletionPolicy, owner.For) {
			if t.Lock != nil || owner.For == "" {
				return nil
			}
			o := offerOf(pkg, path.Base(ref), s.Latest.Ref.Commit)
			lost, err := r.repoOf(t).had(ctx, t.LockPath)
			switch {
			case err != nil:
				return fmt.Errorf("looking for a lock %s: %w", t.LockPath, err)
			case !lost && o.Err == nil && !o.Unversioned:
				t.Brought(ref, owner.For, o.Package)
			case len(t.Refresh) == 0:
				return fmt.Errorf("%s was brought by an answer of which there is no lock (%s): bring the lock's revision back, or resolve anew, with what is newest, by --upgrade '*'", s.Path, t.LockPath)
			}
			return nil
		}
		labels = k.Labels
		if !dropped && owned && r.cfg.Manager.Signed(owner.Variant, t.Namespace) {
			t.Stray(ref, s.Latest)
		}
	}
	if err := has(t, ref, pkg, s.Latest.Ref.Commit, labels); err != nil {
		return fmt.Errorf("package %s at %s: %w", s.Path, s.Latest.Ref.Name, err)
	}
	return nil
}

// has notes a package that stands in a target, with the commit or the tree that says
// what it holds.
func has(t *decide.Target, ref string, pkg *krm.Package, at decide.Hash, labels map[string]string) error {
	o := offerOf(pkg, path.Base(ref), at)
	if o.Err != nil {
		return o.Err
	}
	t.There[ref] = decide.Present{Package: pkg, APIs: o.APIs, Outputs: o.Outputs}
	i := resolver.Installation{Name: path.Base(ref), Package: o.Package.Package, Version: o.Package.Version, Manifest: o.Package, Labels: labels, Unversioned: o.Unversioned}
	if dir := path.Dir(ref); dir != "." {
		i.Namespace = dir
	}
	t.Existing = append(t.Existing, i)
	t.APIs = append(t.APIs, o.APIs...)
	return nil
}

// had says that a package is there, or was Published once: a commit of the registered
// branch says so.
func (r *Repo) had(ctx context.Context, path string) (bool, error) {
	if p := r.Package(path); len(p.Tags)+len(p.Heads()) > 0 {
		return true, nil
	}
	found := false
	_, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(r.Head)}, walkLimit, func(_ int, c *gitrepo.Commit) bool {
		found = found || slices.ContainsFunc(c.Annotations, func(a gitrepo.Annotation) bool { return a.Package == path })
		return found
	})
	return found, err
}

// offerOf is what a package that stands somewhere is: by its manifest, or by what it
// came from. The number of its own revision is no version of it.
func offerOf(pkg *krm.Package, name string, at decide.Hash) decide.Offer {
	tag := ""
	if k, err := mutate.Read(pkg, ""); err == nil {
		if lock := mutate.Lock(k); lock != nil {
			if _, isVersion := depend.TagVersion(lock.Ref); isVersion {
				tag = lock.Ref
			}
			if d := strings.Trim(lock.Directory, "/"); d != "" {
				name = path.Base(d)
			}
		}
	}
	return decide.ReadOffer(pkg, name, tag, "git:"+at.String())
}

// upstreamFor finds the registered Repository that has a resolved version.
func (r *Reader) upstreamFor(namespace string, i *resolver.Instance) (*v1alpha1.Upstream, error) {
	if m := i.Manifest(); m != nil && m.Foreign != "" {
		return nil, fmt.Errorf("a %s (%s) is all that there is of it, of which no variant can be made: publish a kpt package of that name, with a tag %s/v%s, in a Git source of a Catalog",
			m.Foreign, m.Source, path.Base(i.Package), i.Version)
	}
	for _, repo := range r.sorted {
		if repo.Namespace != namespace || repo.Err != nil {
			continue
		}
		var below string
		var ok bool
		switch {
		case repo.Git != nil && decide.SameAddress(repo.Git.URL(), i.Source), repo.closed && decide.SameAddress(repo.Address, i.Source):
			below, ok = strings.CutPrefix(path.Dir(i.Tag)+"/", strings.TrimPrefix(repo.Dir+"/", "/"))
		case repo.OCI != nil:
			below, ok = strings.CutPrefix(i.Source+"/", repo.OCI.Address()+"/")
		}
		if ok {
			return &v1alpha1.Upstream{Repo: repo.Name, Package: strings.Trim(below, "/"), Revision: v1alpha1.Revision(path.Base(i.Tag))}, nil
		}
	}
	return nil, fmt.Errorf("it comes from %s, which is no registered Repository of namespace %s: add a Repository for it", i.Source, namespace)
}

// warnOfClashes reads what others put into clusters that get an API by a variant
// and that take no part in dependencies, and says where two packages bring one
// API. Only targets that are resolved have owners of APIs to keep to.
func (r *Reader) warnOfClashes(ctx context.Context, s *Snapshot, targets []*decide.Target) {
	upstream := func(w *decide.Want) *decide.Upstream { return r.UpstreamOf(ctx, w) }
	set := fetchSet{}
	var brings []*decide.Target
	for _, t := range targets {
		if t.Answer == nil && t.Err == nil && t.Repo.Deployment && t.BringsAPIs() {
			brings = append(brings, t)
			for _, p := range t.Paths {
				if _, ok := t.Foreign(r.cfg.Manager, p); ok {
					set.add(r.repoOf(t), p, t.Repo.Package(p).Latest)
				}
			}
		}
	}
	set.run(ctx, r.Repositories())
	for _, t := range brings {
		for _, p := range t.Paths {
			ref, ok := t.Foreign(r.cfg.Manager, p)
			if !ok {
				continue
			}
			latest := t.Repo.Package(p).Latest
			_, pkg, err := r.repoOf(t).ReadPackage(ctx, latest.Ref.Commit, p)
			if err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("target %s: what %s brings was not read: %v", t.Name(), latest.Ref.Name, err))
				continue
			}
			t.There[ref] = decide.Present{Package: pkg, APIs: contents.Of(pkg).Serves}
		}
		for _, c := range t.Clashes(upstream) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("target %s: %v", t.Name(), c))
		}
	}
}

// hold keeps what earlier answers brought: it cannot be told that nothing needs
// it any more.
func (r *Reader) hold(ctx context.Context, s *Snapshot, t *decide.Target, why string) {
	repo := r.repoOf(t)
	s.Untouchable[repo.Place(t.LockPath)] = why
	p, read := repo.Package(t.LockPath), false
	for _, h := range []*decide.Revision{p.Latest, p.Open()} {
		if h == nil {
			continue
		}
		lock, err := repo.readLock(ctx, h, t.LockPath)
		if read = err == nil; !read {
			break
		}
		for _, p := range lock.Packages {
			s.Untouchable[repo.Place(t.Path(path.Join(p.Namespace, p.Name)))] = why
		}
	}
	if !read { // what was brought cannot be told
		s.Untouchable[repo.Place("")] = why
	}
}

// fetchSet collects what is to be fetched, by Git repository.
type fetchSet map[Repository]map[gitrepo.Place]bool

// add adds the folder that a package's revisions have.
func (f fetchSet) add(r *Repo, path string, revisions ...*decide.Revision) {
	for _, h := range revisions {
		if h != nil {
			f.place(r, h.Ref.Commit, path)
		}
	}
}

// way adds what leads to a package in a commit: it tells the package's tree, and is all
// that a commit upon it needs to keep the rest.
func (f fetchSet) way(r *Repo, h decide.Hash, path string) {
	f.places(r, gitrepo.Place{Commit: gitrepo.Hash(h), Path: path, Way: true})
}

// open adds an open revision's folder, and what leads there: a commit upon it keeps what is
// beside the folder. What people changed is told by what the machine made.
func (f fetchSet) open(r *Repo, path string, h *decide.Revision) {
	f.way(r, h.Ref.Commit, path)
	f.place(r, h.Ref.Commit, path)
	if h.Machine != nil {
		f.place(r, h.Machine.Commit, path)
	}
}

// made adds what ReadMade reads of a revision, nil for none.
func (f fetchSet) made(r *Repo, p *decide.Package, h *decide.Revision) {
	if h != nil {
		tree, _ := recordedTree(p, h)
		f.places(r, gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: p.Path, Tree: gitrepo.Hash(tree)})
	}
}

// branch adds a package as it stands on the registered branch, and the way to it.
func (f fetchSet) branch(r *Repo, path string) {
	f.way(r, r.Head, path)
	f.place(r, r.Head, path)
}

func (f fetchSet) place(r *Repo, h decide.Hash, path string) {
	f.places(r, gitrepo.Place{Commit: gitrepo.Hash(h), Path: path})
}

func (f fetchSet) places(r *Repo, places ...gitrepo.Place) {
	if r == nil || r.Git == nil {
		return
	}
	if f[r.Git] == nil {
		f[r.Git] = map[gitrepo.Place]bool{}
	}
	for _, p := range places {
		if !p.Commit.IsZero() {
			f[r.Git][p] = true
		}
	}
}

// run fetches each repository's in one request. A failure is not
// reported here: whoever needs the objects asks again and fails by name.
func (f fetchSet) run(ctx context.Context, limit int) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for r, places := range f {
		g.Go(func() error {
			_ = r.FetchPlaces(ctx, slices.Collect(maps.Keys(places))...)
			return nil
		})
	}
	_ = g.Wait()
}
