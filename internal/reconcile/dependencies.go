package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
)

// manifestFile is where a package's PackageManifest stands.
const manifestFile = "package.yaml"

// Dependencies says where what packages need comes from.
type Dependencies struct {
	// Catalogs are the fleet's. Without one nothing is brought.
	Catalogs []*variformv1alpha1.Catalog
	// Read reads all versions that the Catalogs have. It is called once, where a
	// target needs something.
	Read func(context.Context) ([]resolver.Package, []error)
	// Refresh are packages, "*" for all, that take the newest version that they
	// may, whatever is locked.
	Refresh []string
	// Platform is what targets run on whose Repository does not say so.
	Platform map[string]string
}

// TargetPlan is what became of the dependencies of one target.
type TargetPlan struct {
	Namespace, Name string
	// Answer is nil where it could not be looked for.
	Answer *depend.Answer
	// Err is why there is no answer. All variants of the target have it.
	Err error

	target *fleetTarget
}

// fleetTarget is a target while it is planned.
type fleetTarget struct {
	depend.Target
	repo     *repository
	variants map[string]*variant // wanted and derived, by path below the target
	existing map[string]present  // that no variant makes, by path below the target
	err      error
	unread   error // variants of which it cannot be told what they need
	lockPath string
	paths    []string // of the packages that are there, sorted
	plan     *TargetPlan
	doubt    doubt
}

// present is a package that stands in a target, and what it brings and gives.
type present struct {
	pkg     *krm.Package
	apis    []resolver.GVK
	outputs []variformv1alpha1.ManifestOutput
}

// dependent is what a variant has to do with its target's dependencies.
type dependent struct {
	target *fleetTarget
	ref    string
	// derived says that no one wrote the variant: the target needs it. owner is
	// what variform.dev/owner says, "" for a variant that was asked for.
	derived bool
	owner   string
	// needs are those that need it, for people.
	needs []string
	lock  *lockContent // of the lock's own package
	wires *wires       // nil where nothing was resolved
	// level is its place in the order of wiring; read says that others read its
	// outputs, and items are then what was decided about it.
	level          int
	levelled, read bool
	items          []*Item
}

// path is where a package of the target stands in the Git repository.
func (t *fleetTarget) path(ref string) string {
	return t.repo.path(path.Join(t.Directory, ref))
}

// dependencies resolves every target and returns the wanted variants with
// those that targets need besides, and their locks (issue: fan-out that brings
// what a package needs). One target's conflict is that target's alone.
func (e *Engine) dependencies(ctx context.Context, plan *Plan, wanted []*variant) []*variant {
	e.untouchable = map[place]string{}
	targets := e.targetsOf(plan, wanted)
	e.readUpstreams(ctx, wanted)
	for _, t := range targets {
		t.read(ctx, e)
	}
	if e.cfg.Dependencies != nil {
		wanted = append(wanted, e.resolveTargets(ctx, plan, targets)...)
	}
	e.readClaims(ctx, targets)
	for _, t := range targets {
		if t.err == nil && t.plan == nil { // what was resolved was checked
			if err := t.owners(ctx, e); err != nil {
				t.err = stalledError{err}
			}
		}
		t.fail()
	}
	e.markWanted(wanted)
	return wanted
}

// targetsOf groups variants by target, sorted.
func (e *Engine) targetsOf(plan *Plan, wanted []*variant) []*fleetTarget {
	byID := map[string]*fleetTarget{}
	var out []*fleetTarget
	for _, v := range wanted {
		r := e.repos[repoKey{v.Namespace, v.Repository}]
		if r == nil || r.git == nil || r.err != nil {
			continue
		}
		dir := depend.In(r.obj.Annotations[variformv1alpha1.TargetsAnnotation], v.Package)
		t := e.target(byID, r, dir, &out)
		ref := strings.TrimPrefix(strings.TrimPrefix(v.Package, dir), "/")
		v.dep = &dependent{target: t, ref: ref}
		t.variants[ref] = v
	}
	if e.cfg.Dependencies != nil {
		for _, i := range e.cfg.Fleet.Installations {
			ns := cmp.Or(i.Namespace, defaultNamespace)
			repo, rest, _ := strings.Cut(strings.Trim(i.Spec.Target, "/"), "/")
			if r := e.repos[repoKey{ns, repo}]; r != nil && r.git != nil && r.err == nil {
				e.target(byID, r, depend.In(r.obj.Annotations[variformv1alpha1.TargetsAnnotation], rest+"/x"), &out)
			} else if r == nil && repo != "" {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("Installation %s/%s has no effect: its target %s is in no registered Repository", ns, i.Name, i.Spec.Target))
			}
		}
		for _, i := range e.cfg.Fleet.Installations {
			for _, t := range out {
				if _, here := t.Place(i); here && t.Namespace == cmp.Or(i.Namespace, defaultNamespace) {
					t.Installations = append(t.Installations, i)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *fleetTarget) int { return cmp.Compare(a.ID(), b.ID()) })
	setPaths(out)
	return out
}

// setPaths gives targets the paths of the packages that stand in them; those of
// a repository are sorted into its targets once.
func setPaths(targets []*fleetTarget) {
	type folder struct {
		repo *repository
		dir  string
	}
	paths, seen := map[folder][]string{}, map[*repository]bool{}
	for _, t := range targets {
		if r := t.repo; !seen[r] {
			seen[r] = true
			for _, p := range sortedStates(r.states) {
				pkg := strings.TrimPrefix(strings.TrimPrefix(p, r.dir), "/")
				at := folder{r, depend.In(r.obj.Annotations[variformv1alpha1.TargetsAnnotation], pkg)}
				paths[at] = append(paths[at], p)
			}
		}
		t.paths = paths[folder{t.repo, t.Directory}]
	}
}

func (e *Engine) target(byID map[string]*fleetTarget, r *repository, dir string, out *[]*fleetTarget) *fleetTarget {
	id := r.obj.Namespace + "/" + r.obj.Name + "/" + dir
	t := byID[id]
	if t == nil {
		t = &fleetTarget{repo: r, variants: map[string]*variant{}, existing: map[string]present{}}
		t.Namespace, t.Repository, t.Directory = r.obj.Namespace, r.obj.Name, dir
		t.lockPath = t.path(depend.LockPackage)
		byID[id] = t
		*out = append(*out, t)
	}
	return t
}

// readUpstreams reads the upstreams of variants, each once, many at a time.
func (e *Engine) readUpstreams(ctx context.Context, variants []*variant) {
	seen := map[upstreamKey]bool{}
	var list []upstreamKey
	for _, v := range variants {
		if v.pv.Spec.Upstream == nil {
			continue
		}
		if k := (upstreamKey{v.Namespace, *v.pv.Spec.Upstream}); !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	_, _ = parallel(ctx, e.limit(), list, func(ctx context.Context, k upstreamKey) struct{} {
		e.resolveUpstream(ctx, k.namespace, k.Upstream)
		return struct{}{}
	})
}

// read makes the target's variants of the upstreams that could be read.
func (t *fleetTarget) read(ctx context.Context, e *Engine) {
	for _, ref := range slices.Sorted(maps.Keys(t.variants)) {
		v := t.variants[ref]
		up := e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream)
		if up.err == nil && up.offer.err != nil {
			up.err = up.offer.err
			if d := e.cfg.Dependencies; d != nil && len(d.Catalogs) > 0 {
				v.err = stalledError{fmt.Errorf("upstream %s: %w", up.String(), up.err)}
			}
		}
		if up.err != nil {
			t.unread = errors.Join(t.unread, fmt.Errorf("PackageVariant %s/%s: %w", v.Namespace, v.pv.Name, up.err))
			continue
		}
		t.Variants = append(t.Variants, &depend.Variant{PackageVariant: v.pv, Set: v.set, Ref: ref, Upstream: up.offer.pkg})
	}
}

// offer is what a package's manifest and its content say to the resolver.
type offer struct {
	pkg     *resolver.Package
	outputs []variformv1alpha1.ManifestOutput
	inputs  map[string]variformv1alpha1.ManifestInput // by "parameters.x" and "credentials.x"
	apis    []resolver.GVK
	err     error
}

// readOffer reads a package; fallback names it where it has no manifest.
func readOffer(p *krm.Package, fallback, tag, digest string) (o offer) {
	o.pkg = &resolver.Package{Package: fallback}
	if f, ok := p.Read(manifestFile); ok {
		obj, report := api.Parse(f.Data, api.WithFile(manifestFile))
		if o.err = report.Err(); o.err != nil {
			return o
		}
		m, ok := obj.(*variformv1alpha1.PackageManifest)
		if !ok {
			o.err = fmt.Errorf("%s holds no PackageManifest", manifestFile)
			return o
		}
		manifest := resolver.FromManifest(m)
		o.pkg, o.outputs = &manifest, m.Spec.Outputs
		o.inputs = map[string]variformv1alpha1.ManifestInput{}
		for _, i := range m.Spec.Parameters {
			o.inputs["parameters."+i.Name] = i
		}
		for _, i := range m.Spec.Credentials {
			o.inputs["credentials."+i.Name] = i
		}
	}
	o.pkg.Version = depend.Version(o.pkg.Version, tag, digest)
	o.pkg.Tag, o.pkg.Digest = tag, digest
	o.apis = depend.APIs(p)
	for _, g := range o.apis {
		if !slices.ContainsFunc(o.pkg.Provides, func(p resolver.Provide) bool { return p.GVK != nil && *p.GVK == g }) {
			o.pkg.Provides = append(o.pkg.Provides, resolver.Provide{GVK: &g})
		}
	}
	return o
}

// resolveTargets answers for the targets that want something, and returns the
// variants that the answers bring, locks included.
func (e *Engine) resolveTargets(ctx context.Context, plan *Plan, targets []*fleetTarget) []*variant {
	var active []*fleetTarget
	for _, t := range targets {
		if t.Wants() {
			active = append(active, t)
		} else if t.unread != nil {
			e.hold(ctx, t, "it cannot be told what the packages of target "+t.Name()+" need")
		}
	}
	if len(active) == 0 {
		return nil
	}
	deps := e.cfg.Dependencies
	if len(deps.Catalogs) == 0 {
		active = slices.DeleteFunc(active, func(t *fleetTarget) bool {
			if !t.Needs() {
				return false
			}
			e.hold(ctx, t, "the fleet has no Catalog, so that what it is for cannot be told")
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("packages of target %s need others, and the fleet has no Catalog to bring them from: add one, or run with --dependencies=false", t.Name()))
			return true
		})
	}
	entries, problems := deps.Read(ctx)
	doubt := e.uncertain(plan, problems)
	plan.Problems = append(plan.Problems, problems...)
	for _, t := range active {
		t.Refresh = deps.Refresh
	}
	e.readEnvironment(ctx, active)
	var upstreams []*resolver.Package
	for _, t := range active {
		// What one variant needs cannot be told, so what all of them need cannot.
		t.err = errors.Join(t.unread, t.err)
		t.doubt = doubt
		if t.Platform == nil {
			t.Platform = deps.Platform
		}
		for _, v := range t.Variants {
			if !slices.Contains(upstreams, v.Upstream) {
				upstreams = append(upstreams, v.Upstream)
			}
		}
	}
	slices.SortFunc(upstreams, func(a, b *resolver.Package) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Digest, b.Digest))
	})
	pool, err := depend.NewPool(entries, deps.Catalogs, upstreams)
	if err != nil {
		plan.Problems = append(plan.Problems, err)
		for _, t := range active {
			t.err = errors.Join(t.err, errors.New("the catalogue cannot be used: see the problems of the run"))
		}
	}
	oneLock(active)
	plans, _ := parallel(ctx, e.limit(), active, func(_ context.Context, t *fleetTarget) *TargetPlan {
		p := &TargetPlan{Namespace: t.Namespace, Name: t.Name(), target: t}
		t.plan = p
		if t.err == nil {
			p.Answer = t.Resolve(pool)
			t.err = p.Answer.Err
		}
		return p
	})
	var out []*variant
	for _, p := range plans {
		if p != nil && p.Answer != nil && p.target.err == nil {
			out = append(out, e.derive(p)...)
		}
	}
	e.readUpstreams(ctx, out)
	for _, p := range plans {
		if p == nil {
			continue
		}
		if t := p.target; t.err == nil {
			out = append(out, e.conclude(ctx, p)...)
		}
		if t := p.target; t.err != nil {
			t.err = stalledError{fmt.Errorf("dependencies of target %s: %w", t.Name(), t.err)}
			p.Err = t.err
			e.hold(ctx, t, "the dependencies of target "+t.Name()+" have no answer")
		}
		plan.Targets = append(plan.Targets, p)
	}
	return slices.DeleteFunc(out, func(v *variant) bool { return v.dep.target.err != nil })
}

// oneLock refuses targets that share a folder, seen through two Repositories.
func oneLock(targets []*fleetTarget) {
	first := map[place]*fleetTarget{}
	for _, t := range targets {
		at := place{t.repo.git, t.lockPath}
		o := first[at]
		if o == nil {
			first[at] = t
			continue
		}
		err := fmt.Errorf("targets %s and %s are one folder of %s: a folder has one lock, so use one Repository for it, or folders apart", o.ID(), t.ID(), t.repo.git.URL())
		t.err = errors.Join(t.err, err)
		if !strings.Contains(fmt.Sprint(o.err), err.Error()) {
			o.err = errors.Join(o.err, err)
		}
	}
}

// doubt is why an answer must not be other than the last one in this run.
type doubt struct {
	why string // "" for none
	// loss says that only what goes is in doubt: a requirement may be missing,
	// not a version to choose from.
	loss bool
}

// about are the changes of a lock that are in doubt.
func (d doubt) about(changes []depend.Change) []string {
	var out []string
	for _, c := range changes {
		if d.why != "" && (c.Gone || !d.loss) {
			out = append(out, c.String())
		}
	}
	return out
}

// uncertain says what of the answers must not be trusted in this run.
func (e *Engine) uncertain(plan *Plan, catalogue []error) doubt {
	unread := 0
	for _, err := range catalogue {
		// A version that is broken is one that nobody can have.
		var broken interface{ BrokenVersion() string }
		if !errors.As(err, &broken) {
			unread++
		}
	}
	switch {
	case unread > 0:
		return doubt{why: plural(unread, "part") + " of the catalogue could not be read"}
	case e.cfg.Fleet.Hidden:
		return doubt{why: "an Installation or a Catalog may be among what could not be read"}
	case len(plan.Problems) > 0:
		return doubt{plural(len(plan.Problems), "input") + " could not be read", true}
	}
	for _, s := range plan.Sets {
		if n := len(s.Failures); n > 0 {
			return doubt{fmt.Sprintf("set %s/%s has %s that failed", s.Namespace, s.Name, plural(n, "target")), true}
		}
	}
	return doubt{}
}

// readEnvironment reads what targets have: their locks, and what stands there
// that no variant of this manager makes.
func (e *Engine) readEnvironment(ctx context.Context, targets []*fleetTarget) {
	set := fetchSet{}
	for _, t := range targets {
		for _, h := range t.heads(e) {
			set.add(t.repo, h.Ref.Commit)
		}
	}
	set.run(ctx, e.ioLimit())
	_, _ = parallel(ctx, e.limit(), targets, func(ctx context.Context, t *fleetTarget) struct{} {
		if err := t.environment(ctx, e); err != nil {
			t.err = errors.Join(t.err, err)
		}
		return struct{}{}
	})
}

// heads are the revisions that tell what the target has.
func (t *fleetTarget) heads(e *Engine) []*head {
	var out []*head
	for _, p := range t.paths {
		s := t.repo.states[p]
		if p == t.lockPath {
			out = append(out, s.open(), s.latest)
		} else if _, foreign := t.foreign(e, p); foreign {
			out = append(out, s.latest)
		}
	}
	return slices.DeleteFunc(out, func(h *head) bool { return h == nil })
}

// open is the newest open revision, nil for none.
func (s *state) open() *head {
	for _, r := range slices.Backward(s.revisions) {
		if r.Phase.Open() {
			return s.headOf(r)
		}
	}
	return nil
}

// foreign says whether a package is the target's and another's than this
// manager's, and its path below the target.
func (t *fleetTarget) foreign(e *Engine, p string) (ref string, ok bool) {
	s := t.repo.states[p]
	if !s.isPublished() || e.mine(s.latest.owner, t.Namespace) || p == t.lockPath {
		return "", false
	}
	ref, ok = t.below(p)
	return ref, ok && t.variants[ref] == nil
}

// environment reads the target's locks and what others put there.
func (t *fleetTarget) environment(ctx context.Context, e *Engine) error {
	errs := []error{t.annotations()}
	s := t.repo.stateOf(t.lockPath)
	for _, l := range []struct {
		head *head
		into **resolver.Lock
	}{{s.latest, &t.Placed}, {s.open(), &t.Lock}} {
		if l.head == nil || l.head.Lifecycle == gitrepo.DeletionProposed {
			continue
		}
		if !e.mine(l.head.owner, t.Namespace) {
			errs = append(errs, fmt.Errorf("%s of %s is the lock of %s: a folder has one lock, so give each fleet folders of its own (spec.git.directory of the Repository, or its annotation %s), or describe both in one",
				l.head.Ref.Name, t.repo.git.URL(), cmp.Or(l.head.owner, "nobody known"), variformv1alpha1.TargetsAnnotation))
			continue
		}
		lock, err := t.readLock(ctx, l.head)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: correct the lock there, or delete that revision: %w", l.head.Ref.Name, t.repo.git.URL(), err))
			continue
		}
		*l.into = lock
	}
	if t.Lock == nil {
		t.Lock = t.Placed
	}
	t.Published = map[string]bool{}
	for _, p := range t.paths {
		if ref, ok := t.below(p); ok && t.repo.states[p].isPublished() {
			t.Published[ref] = true
		}
		if ref, ok := t.foreign(e, p); ok {
			errs = append(errs, t.exists(ctx, ref, t.repo.states[p], nil))
		} else if ref, ok := t.dropped(e, p); ok {
			errs = append(errs, t.exists(ctx, ref, t.repo.states[p], e))
		}
	}
	return errors.Join(errs...)
}

// dropped says whether this manager made a package and its last answer has no
// use for it any more, so that it may be one that was left where it is.
func (t *fleetTarget) dropped(e *Engine, p string) (ref string, ok bool) {
	s := t.repo.states[p]
	if ref, ok = t.below(p); !ok || p == t.lockPath || !s.isPublished() || !e.mine(s.latest.owner, t.Namespace) || t.variants[ref] != nil {
		return "", false
	}
	if t.Lock != nil && slices.ContainsFunc(t.Lock.Packages, func(l resolver.LockedPackage) bool { return l.Owner != "" && path.Join(l.Namespace, l.Name) == ref }) {
		return "", false
	}
	return ref, !slices.ContainsFunc(t.Installations, func(i *variformv1alpha1.Installation) bool {
		ns, here := t.Place(i)
		return here && i.Spec.Target != "" && path.Join(ns, i.Name) == ref
	})
}

// leaves says whether a package that no answer names stays by its deletionPolicy:
// what it was made for has gone, or has an answer that does without. It may also
// be that the lock with that answer is not there yet.
func (t *fleetTarget) leaves(e *Engine, owner mutate.Owner) bool {
	if owner.DeletionPolicy != string(v1alpha1.DeletionOrphan) {
		return false
	}
	for _, v := range t.Variants {
		if v.ID() == owner.For {
			return t.answered(v.Ref, v.Upstream.Version)
		}
	}
	for p, s := range t.repo.states {
		if ref, here := t.below(p); here && (s.open() != nil || s.isPublished()) && s.newestOwner() == e.cfg.Manager+"/"+owner.For {
			return t.answered(ref, "")
		}
	}
	return true
}

// answered says whether the newest lock has a package, at a version where one is
// given.
func (t *fleetTarget) answered(ref, version string) bool {
	return t.Lock != nil && slices.ContainsFunc(t.Lock.Packages, func(l resolver.LockedPackage) bool {
		return path.Join(l.Namespace, l.Name) == ref && (version == "" || l.Version == version)
	})
}

// below is a package's path below the target; false for one of another target.
func (t *fleetTarget) below(p string) (ref string, ok bool) {
	pkg := strings.TrimPrefix(strings.TrimPrefix(p, t.repo.dir), "/")
	dir := depend.In(t.repo.obj.Annotations[variformv1alpha1.TargetsAnnotation], pkg)
	return strings.TrimPrefix(strings.TrimPrefix(pkg, dir), "/"), dir == t.Directory
}

// isPublished says whether a revision is Published and meant to stay.
func (s *state) isPublished() bool {
	return s.latest != nil && s.latest.Lifecycle != gitrepo.DeletionProposed
}

// annotations reads what the Repository says about its targets.
func (t *fleetTarget) annotations() error {
	var errs []error
	a := t.repo.obj.Annotations
	bad := func(key, word, form string) {
		errs = append(errs, fmt.Errorf("Repository %s: annotation %s: %q must be %s", t.Repository, key, word, form))
	}
	for _, word := range words(a[variformv1alpha1.PlatformAnnotation]) {
		name, version, ok := strings.Cut(word, "=")
		if !ok || name == "" || version == "" {
			bad(variformv1alpha1.PlatformAnnotation, word, "<name>=<version>, such as kubernetes=1.31.2")
			continue
		}
		if t.Platform == nil {
			t.Platform = map[string]string{}
		}
		t.Platform[name] = version
	}
	for _, word := range words(a[variformv1alpha1.APIsAnnotation]) {
		at := strings.LastIndex(word, "/")
		if at <= 0 || at == len(word)-1 {
			bad(variformv1alpha1.APIsAnnotation, word, "<apiVersion>/<Kind>, such as cert-manager.io/v1/Issuer")
			continue
		}
		t.APIs = append(t.APIs, resolver.GVK{APIVersion: word[:at], Kind: word[at+1:]})
	}
	return errors.Join(errs...)
}

// words are the parts of a list with commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

func (t *fleetTarget) readLock(ctx context.Context, h *head) (*resolver.Lock, error) {
	tree, err := t.repo.treeAt(ctx, h.Ref.Commit, t.lockPath)
	if err != nil {
		return nil, err
	}
	data, ok, err := t.repo.git.ReadFile(tree, depend.LockFile)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s/%s is missing", t.lockPath, depend.LockFile)
	}
	return resolver.ParseLock(data)
}

// exists reads a Published package that no variant of this manager's makes; one
// that this manager (not nil) dropped only where it was left for good.
func (t *fleetTarget) exists(ctx context.Context, ref string, s *state, dropped *Engine) error {
	_, pkg, err := t.repo.readPackage(ctx, s.latest.Ref.Commit, s.path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.latest.Ref.Name, err)
	}
	if pkg.Kptfile("") == nil {
		return nil // a folder with tags, and no package
	}
	name, tag := path.Base(ref), revisionName(s.latest.Number)
	var labels map[string]string
	if k, err := mutate.Read(pkg, ""); err == nil {
		if owner, owned := mutate.OwnerOf(k); dropped != nil && owned && !t.leaves(dropped, owner) {
			if t.Lock == nil && owner.For != "" && len(t.Refresh) == 0 {
				return fmt.Errorf("%s was brought by an answer of which there is no lock (%s): bring the lock's revision back, or resolve anew, with what is newest, by --upgrade '*'", s.path, t.lockPath)
			}
			return nil
		}
		labels = k.Labels
		if lock := mutate.Lock(k); lock != nil {
			if _, isVersion := depend.TagVersion(lock.Ref); isVersion {
				tag = lock.Ref
			}
			if d := strings.Trim(lock.Directory, "/"); d != "" {
				name = path.Base(d)
			}
		}
	}
	o := readOffer(pkg, name, tag, "git:"+s.latest.Ref.Commit.String())
	if o.err != nil {
		return fmt.Errorf("package %s at %s: %w", s.path, s.latest.Ref.Name, o.err)
	}
	t.existing[ref] = present{pkg, o.apis, o.outputs}
	i := resolver.Installation{Name: path.Base(ref), Package: o.pkg.Package, Version: o.pkg.Version, Manifest: o.pkg, Labels: labels}
	if dir := path.Dir(ref); dir != "." {
		i.Namespace = dir
	}
	t.Existing = append(t.Existing, i)
	t.APIs = append(t.APIs, o.apis...)
	return nil
}

// derive makes variants of an answer's derived ones. Their upstreams are not
// read yet.
func (e *Engine) derive(p *TargetPlan) []*variant {
	t := p.target
	list, err := p.Answer.Derive(func(i *resolver.Instance) (*v1alpha1.Upstream, error) {
		return e.upstreamOf(t.Namespace, i)
	})
	if err != nil {
		t.err = err
		return nil
	}
	var out []*variant
	for _, d := range list {
		v := &variant{
			Identity: Identity{t.Namespace, t.Repository, d.PackageVariant.Spec.Downstream.Package}, pv: d.PackageVariant, set: d.Set,
			dep: &dependent{target: t, ref: d.Ref, derived: true, owner: d.Owner, needs: p.Answer.Requirers(d.Ref)},
		}
		t.variants[d.Ref] = v
		out = append(out, v)
	}
	return out
}

// upstreamOf finds the registered Repository that has a resolved version.
func (e *Engine) upstreamOf(namespace string, i *resolver.Instance) (*v1alpha1.Upstream, error) {
	for _, r := range e.sortedRepos() {
		if r.obj.Namespace != namespace || r.err != nil {
			continue
		}
		var pkg string
		switch {
		case r.git != nil && sameAddress(r.git.URL(), i.Source):
			below, ok := strings.CutPrefix(path.Dir(i.Tag)+"/", strings.TrimPrefix(r.dir+"/", "/"))
			if !ok {
				continue
			}
			pkg = strings.Trim(below, "/")
		case r.oci != nil:
			below, ok := strings.CutPrefix(i.Source+"/", r.oci.Address()+"/")
			if !ok {
				continue
			}
			pkg = strings.Trim(below, "/")
		default:
			continue
		}
		return &v1alpha1.Upstream{Repo: r.obj.Name, Package: pkg, Revision: v1alpha1.Revision(path.Base(i.Tag))}, nil
	}
	return nil, fmt.Errorf("it comes from %s, which is no registered Repository of namespace %s: add a Repository for it", i.Source, namespace)
}

// conclude checks what was derived against what it turned out to be, and makes
// the target's lock.
func (e *Engine) conclude(ctx context.Context, p *TargetPlan) []*variant {
	t := p.target
	var errs []error
	when := time.Unix(0, 0).UTC()
	lock := p.Answer.Lock
	for _, ref := range slices.Sorted(maps.Keys(t.variants)) {
		v := t.variants[ref]
		up := e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream)
		if up.err == nil {
			up.err = up.offer.err
		}
		if up.err != nil {
			errs = append(errs, up.err)
			continue
		}
		if up.when.After(when) {
			when = up.when
		}
		if i := p.Answer.Resolution.Find(ref); i != nil && i.Digest != up.offer.pkg.Digest {
			errs = append(errs, fmt.Errorf("%s %s was read as %s, and is %s in Repository %s: its tag has moved, or two places have it with different content",
				i.Package, i.Version, i.Digest, up.offer.pkg.Digest, v.pv.Spec.Upstream.Repo))
		}
		own(&lock.Spec, ref, up.offer.apis)
	}
	for _, l := range lock.Spec.Packages { // what others put there has owners of APIs too
		ref := path.Join(l.Namespace, l.Name)
		own(&lock.Spec, ref, t.existing[ref].apis)
	}
	if changes := t.doubt.about(depend.Changed(t.Lock, &lock.Spec)); len(changes) > 0 {
		errs = append(errs, fmt.Errorf("%s, so that this change is not trusted: %s", t.doubt.why, strings.Join(limit(changes, 3), "; ")))
	}
	if err := errors.Join(append(errs, t.owners(ctx, e))...); err != nil {
		t.err = err
		return nil
	}
	t.levels()
	content, err := newLockContent(t, lock, when)
	if err != nil {
		t.err = err
		return nil
	}
	pkg := path.Join(t.Directory, depend.LockPackage)
	pv := &v1alpha1.PackageVariant{}
	pv.APIVersion, pv.Kind = v1alpha1.APIVersion, v1alpha1.KindPackageVariant
	pv.Namespace, pv.Name = t.Namespace, variantgen.Name("lock", t.Repository, pkg)
	pv.Spec.Downstream = &v1alpha1.Downstream{Repo: t.Repository, Package: pkg}
	return []*variant{{
		Identity: Identity{t.Namespace, t.Repository, pkg}, pv: pv,
		dep: &dependent{target: t, ref: depend.LockPackage, owner: t.ID(), lock: content},
	}}
}

// own records the APIs that a package brings as its.
func own(lock *resolver.Lock, ref string, apis []resolver.GVK) {
	for _, g := range apis {
		if lock.CustomResourceDefinitions == nil {
			lock.CustomResourceDefinitions = map[string]string{}
		}
		lock.CustomResourceDefinitions[g.GroupKind()] = ref
	}
}

// readClaims reads what others put into clusters that get an API by a variant and
// that were not read to be resolved.
func (e *Engine) readClaims(ctx context.Context, targets []*fleetTarget) {
	set := fetchSet{}
	type there struct {
		target *fleetTarget
		ref    string
		state  *state
	}
	var list []there
	for _, t := range targets {
		brings := slices.ContainsFunc(t.Variants, func(v *depend.Variant) bool { return len(provided(v.Upstream)) > 0 })
		if t.Published != nil || t.err != nil || !brings || !t.repo.obj.Spec.Deployment {
			continue
		}
		for _, p := range t.paths {
			if ref, ok := t.foreign(e, p); ok {
				list = append(list, there{t, ref, t.repo.states[p]})
				set.add(t.repo, t.repo.states[p].latest.Ref.Commit)
			}
		}
	}
	set.run(ctx, e.ioLimit())
	for _, x := range list {
		_, pkg, err := x.target.repo.readPackage(ctx, x.state.latest.Ref.Commit, x.state.path)
		if err != nil {
			x.target.err = stalledError{errors.Join(x.target.err, fmt.Errorf("reading %s: %w", x.state.latest.Ref.Name, err))}
			continue
		}
		x.target.existing[x.ref] = present{pkg: pkg, apis: depend.APIs(pkg)}
	}
}

// owners refuses two packages of a target that bring one API: in one cluster
// only one of them can have it (seed 004, "PackageLock").
func (t *fleetTarget) owners(ctx context.Context, e *Engine) error {
	if !t.repo.obj.Spec.Deployment {
		return nil
	}
	owner := map[string]string{}
	var errs []error
	claim := func(ref string, apis []resolver.GVK) {
		for _, g := range apis {
			api := g.GroupKind()
			if o := owner[api]; o != "" && o != ref {
				errs = append(errs, fmt.Errorf("packages %s and %s both bring the API %s: a cluster has one of it, so remove one of the packages, or take a version of one that does not bring it", o, ref, api))
				continue
			}
			owner[api] = ref
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(t.existing)) {
		claim(ref, t.existing[ref].apis)
	}
	for _, ref := range slices.Sorted(maps.Keys(t.variants)) {
		v := t.variants[ref]
		if up := e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream); up.err == nil {
			claim(ref, provided(up.offer.pkg))
		}
	}
	return errors.Join(errs...)
}

// provided are the APIs that a package brings.
func provided(p *resolver.Package) []resolver.GVK {
	var out []resolver.GVK
	for _, o := range p.Provides {
		if o.GVK != nil {
			out = append(out, *o.GVK)
		}
	}
	return out
}

// fail gives every variant of the target the reason.
func (t *fleetTarget) fail() {
	for _, v := range t.variants {
		if v.err == nil {
			v.err = t.err
		}
	}
}

// hold keeps what earlier answers brought: it cannot be told that nothing needs
// it any more.
func (e *Engine) hold(ctx context.Context, t *fleetTarget, why string) {
	e.untouchable[place{t.repo.git, t.lockPath}] = why
	s, read := t.repo.stateOf(t.lockPath), false
	for _, h := range []*head{s.latest, s.open()} {
		if h == nil {
			continue
		}
		lock, err := t.readLock(ctx, h)
		if read = err == nil; !read {
			break
		}
		for _, p := range lock.Packages {
			e.untouchable[place{t.repo.git, t.path(path.Join(p.Namespace, p.Name))}] = why
		}
	}
	if !read { // what was brought cannot be told
		e.untouchable[place{t.repo.git, ""}] = why
	}
}

// markWanted notes where variants are to stand, and looks behind the tips of
// those that were not known when the tips were read.
func (e *Engine) markWanted(variants []*variant) {
	for _, v := range variants {
		if r := e.repos[repoKey{v.Namespace, v.Repository}]; r != nil {
			if r.wanted == nil {
				r.wanted = map[string]bool{}
			}
			r.wanted[r.path(v.Package)] = true
		}
	}
}

// deepen reads the history of heads that were taken for packages which nobody
// wants.
func (e *Engine) deepen(ctx context.Context, variants []*variant) []error {
	heads := map[*repository][]*head{}
	for _, v := range variants {
		r := e.repos[repoKey{v.Namespace, v.Repository}]
		if r == nil || r.git == nil || r.err != nil {
			continue
		}
		if s := r.states[r.path(v.Package)]; s != nil && s.latest != nil && s.latest.shallow {
			s.latest.shallow = false
			if s.latest.machine == nil {
				heads[r] = append(heads[r], s.latest)
			}
		}
	}
	var problems []error
	for _, r := range e.sortedRepos() {
		list := heads[r]
		if len(list) == 0 {
			continue
		}
		if err := r.walk(ctx, list); err != nil {
			problems = append(problems, &RepositoryError{r.obj.Namespace, r.obj.Name, err})
			continue
		}
		for _, h := range list {
			r.states[h.Package].list(r.obj.Name, r.dir)
		}
	}
	return problems
}

// folderOf is a package's place, "" for the whole repository.
func folderOf(r *repository, path string) place { return place{r.git, path} }
