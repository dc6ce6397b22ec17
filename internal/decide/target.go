package decide

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// Target is a target while a run is planned: what it is to have, what stands
// there, and what was resolved for it.
type Target struct {
	depend.Target
	Repo *Repository
	// Wants are wanted and derived packages, by path below the target.
	Wants map[string]*Want
	// There are packages that stand there and that no variant makes, likewise.
	There map[string]Present
	// Err is why its packages cannot be decided about.
	Err error
	// LockPath is the path of its lock's package, Paths those of the packages
	// that are there, sorted.
	LockPath string
	Paths    []string
	// Answer is what was resolved, nil where nothing was.
	Answer *depend.Answer
	Doubt  Doubt

	brought []resolver.LockedPackage
	byOwner map[string]string // see madeBy
	// Strays are warnings about brought packages whose tags no run made.
	Strays []string
	// Namespaces are there beside those that its packages make.
	Namespaces []string
	// Deployers are told in which order its packages are deployed.
	Deployers Deployers
}

// Present is a package that stands in a target, and what it brings and gives.
type Present struct {
	Package *krm.Package
	APIs    []resolver.GVK
	Outputs []variformv1alpha1.ManifestOutput
}

// Doubt is why an answer must not be other than the last one in this run.
type Doubt struct {
	Why string // "" for none
	// Loss says that only what goes is in doubt: a requirement may be missing,
	// not a version to choose from.
	Loss bool
}

// Values is why values that changed are not to be trusted, "" where they are.
func (d Doubt) Values() string {
	if d.Loss {
		return ""
	}
	return d.Why
}

// about are the changes of a lock that are in doubt.
func (d Doubt) about(changes []depend.Change) []string {
	var out []string
	for _, c := range changes {
		if d.Why != "" && (c.Gone || !d.Loss) {
			out = append(out, c.String())
		}
	}
	return out
}

// NewTarget is a folder of a Repository, "" for all of it.
func NewTarget(r *Repository, dir string) *Target {
	t := &Target{Repo: r, Wants: map[string]*Want{}, There: map[string]Present{}}
	t.Namespace, t.Repository, t.Directory = r.Namespace, r.Name, dir
	t.LockPath = t.Path(depend.LockPackage)
	for _, word := range words(r.Annotations[variformv1alpha1.OrderAnnotation]) {
		t.Deployers.add(word)
	}
	return t
}

// Path is where a package of the target stands in the Git repository.
func (t *Target) Path(ref string) string { return t.Repo.Path(path.Join(t.Directory, ref)) }

// In is the folder of a Repository that a package is in: its target.
func In(r *Repository, pkg string) string {
	return depend.In(r.Annotations[TargetsAnnotation], pkg)
}

// Below is a package's path below the target; false for one of another target.
func (t *Target) Below(p string) (ref string, ok bool) {
	return Unit{t.Repo, t.Directory}.Below(p)
}

// TargetsAnnotation on a Repository says which of its folders are targets.
const TargetsAnnotation = variformv1alpha1.TargetsAnnotation

// SetPaths gives targets the paths of the packages that stand in them.
func SetPaths(targets []*Target) {
	units := make([]Unit, len(targets))
	for i, t := range targets {
		units[i] = Unit{t.Repo, t.Directory}
	}
	paths := PathsIn(units)
	for i, t := range targets {
		t.Paths = paths[units[i]]
	}
}

// Foreign says whether a package is the target's and another's than this
// manager's, and its path below the target.
func (t *Target) Foreign(m Manager, p string) (ref string, ok bool) {
	s := t.Repo.Package(p)
	if !s.IsPublished() || m.Signed(s.Latest.Owner, t.Namespace) || p == t.LockPath {
		return "", false
	}
	ref, ok = t.Below(p)
	return ref, ok && t.Wants[ref] == nil
}

// Stray notes a package that the lock says was brought, and whose tag is at a commit
// that no run made.
func (t *Target) Stray(ref string, h *Revision) {
	for _, l := range []*resolver.Lock{t.Placed, t.Lock} {
		if l != nil && slices.ContainsFunc(l.Packages, func(p resolver.LockedPackage) bool {
			return p.Owner != "" && path.Join(p.Namespace, p.Name) == ref
		}) {
			t.Strays = append(t.Strays, fmt.Sprintf("target %s: tag %s was moved or made by hand, for no run made its commit %s: %s counts as what others put there, though the lock says that it was brought; move the tag back, or delete it and apply",
				t.Name(), strings.TrimPrefix(h.Ref.Name, "refs/tags/"), h.Ref.Commit.String()[:7], t.Path(ref)))
			return
		}
	}
}

// Untagged says whether a package on the branch is the target's, has no revision, and
// is not wanted, and its path below the target.
func (t *Target) Untagged(p string) (ref string, ok bool) {
	s := t.Repo.Package(p)
	ref, ok = t.Below(p)
	return ref, ok && ref != "" && p != t.LockPath && In(t.Repo, t.Repo.Below(p)) == t.Directory &&
		t.Wants[ref] == nil && s.Open() == nil && !s.IsPublished() && len(s.Entries) == 0
}

// Dropped says whether this manager made a package and its last answer has no
// use for it any more, so that it may be one that was left where it is.
func (t *Target) Dropped(m Manager, p string) (ref string, ok bool) {
	s := t.Repo.Package(p)
	if ref, ok = t.Below(p); !ok || p == t.LockPath || !s.IsPublished() || !m.Signed(s.Latest.Owner, t.Namespace) || t.Wants[ref] != nil {
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

// Leaves says whether a package that no answer names stays by its deletionPolicy:
// what it was made for has gone, or has an answer that does without. It may also
// be that the lock with that answer is not there yet.
func (t *Target) Leaves(m Manager, policy, madeFor string) bool {
	if policy != string(v1alpha1.DeletionOrphan) {
		return false
	}
	for _, v := range t.Variants {
		if v.ID() == madeFor {
			return t.answered(v.Ref, v.Upstream.Version)
		}
	}
	if ref, there := t.madeBy(string(m) + "/" + madeFor); there {
		return t.answered(ref, "")
	}
	return true
}

// madeBy is the path below the target of the package that stands there as a variant's; of
// several the first.
func (t *Target) madeBy(owner string) (ref string, there bool) {
	if t.byOwner == nil { // by each package that is asked about would be the square of them
		t.byOwner = map[string]string{}
		for _, p := range t.Paths {
			s := t.Repo.Package(p)
			ref, here := t.Below(p)
			if _, earlier := t.byOwner[s.NewestOwner()]; here && !earlier && (s.Open() != nil || s.IsPublished()) {
				t.byOwner[s.NewestOwner()] = ref
			}
		}
	}
	ref, there = t.byOwner[owner]
	return ref, there
}

// Brought notes a Published package that an answer brought of which there was no lock
// yet: that could not be drafted, for a package beside it fails.
func (t *Target) Brought(ref, madeFor string, p *resolver.Package) {
	l := resolver.LockedPackage{Name: path.Base(ref), Version: p.Version}
	if dir := path.Dir(ref); dir != "." {
		l.Namespace = dir
	}
	if p.Package != l.Name {
		l.Package = p.Package
	}
	for _, v := range t.Variants {
		if v.ID() == madeFor {
			l.Owner = v.Ref
		}
	}
	t.brought = append(t.brought, l)
}

// Relock has what an answer without a lock brought stay as it is: it counts as locked.
func (t *Target) Relock() {
	if t.Lock == nil && len(t.brought) > 0 {
		t.Lock = &resolver.Lock{Packages: t.brought}
	}
}

// answered says whether the newest lock has a package, at a version where one is
// given.
func (t *Target) answered(ref, version string) bool {
	return t.Lock != nil && slices.ContainsFunc(t.Lock.Packages, func(l resolver.LockedPackage) bool {
		return path.Join(l.Namespace, l.Name) == ref && (version == "" || l.Version == version)
	})
}

// Told is an output that an Installation gives as a parameter of the same name.
func (t *Target) Told(o resolver.OutputRef) (string, bool) {
	for _, i := range t.Installations {
		ns, here := t.Place(i)
		if v, ok := i.Spec.Parameters[o.Output]; ok && here && path.Join(ns, i.Name) == o.Instance {
			return v, true
		}
	}
	return "", false
}

// Annotate reads what the Repository says about its targets.
func (t *Target) Annotate() error {
	var errs []error
	a := t.Repo.Annotations
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
	t.Namespaces = words(a[variformv1alpha1.NamespacesAnnotation])
	for _, word := range words(a[variformv1alpha1.OrderAnnotation]) {
		if !new(Deployers).add(word) {
			bad(variformv1alpha1.OrderAnnotation, word, "argocd, kpt, flux or flux=<namespace>/<GitRepository>")
		}
	}
	return errors.Join(errs...)
}

// words are the parts of a list with commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// OneLock refuses targets that share a folder, seen through two Repositories.
func OneLock(targets []*Target) {
	first := map[Place]*Target{}
	for _, t := range targets {
		at := t.Repo.Place(t.LockPath)
		o := first[at]
		if o == nil {
			first[at] = t
			continue
		}
		err := fmt.Errorf("targets %s and %s are one folder of %s: a folder has one lock, so use one Repository for it, or folders apart", o.ID(), t.ID(), t.Repo.Git)
		t.Err = errors.Join(t.Err, err)
		if !strings.Contains(fmt.Sprint(o.Err), err.Error()) {
			o.Err = errors.Join(o.Err, err)
		}
	}
}

// Uncertain says what of the answers must not be trusted in this run: hidden
// says that an Installation or a Catalog may be among what could not be read,
// unread counts inputs, and catalogue the parts of the catalogue of which nothing
// is known.
func Uncertain(catalogue int, hidden bool, unread int, sets []SetSize) Doubt {
	switch {
	case catalogue > 0:
		return Doubt{Why: count.Of(catalogue, "part") + " of the catalogue could not be read"}
	case hidden:
		return Doubt{Why: "an Installation or a Catalog may be among what could not be read"}
	case unread > 0:
		return Doubt{count.Of(unread, "input") + " could not be read", true}
	}
	for _, s := range sets {
		if s.Failed > 0 {
			return Doubt{fmt.Sprintf("set %s/%s has %s that failed", s.Namespace, s.Name, count.Of(s.Failed, "target")), true}
		}
	}
	return Doubt{}
}

// Derive makes wants of what the target needs beside those that are wanted, in
// place of those of an answer before; upstream finds a resolved version among the
// Repositories.
func (t *Target) Derive(upstream depend.UpstreamFunc) (out []*Want, failures []depend.Failure) {
	maps.DeleteFunc(t.Wants, func(_ string, w *Want) bool { return w.Derived })
	list, failures := t.Answer.Derive(upstream)
	for _, d := range list {
		w := &Want{
			Identity: Identity{t.Namespace, t.Repository, d.PackageVariant.Spec.Downstream.Package}, Name: d.PackageVariant.Name, Set: d.Set,
			MadeFor: d.Owner, Derived: true, Needs: t.Answer.Requirers(d.Ref),
			Target: t, Ref: d.Ref, Content: &Variant{d.PackageVariant},
		}
		if d.Upstream.Gone {
			w.Locked = d.Upstream.Digest
		}
		t.Wants[d.Ref] = w
		out = append(out, w)
	}
	return out, failures
}

// Conclude checks what was derived against what it turned out to be, sets the
// order of wiring, and makes the target's lock. upstream is what a want's
// upstream holds. Failures are what cannot be had: there is to be an answer without.
func (t *Target) Conclude(upstream func(*Want) *Upstream) (lockWant *Want, failures []depend.Failure, err error) {
	when := time.Unix(0, 0).UTC()
	lock := t.Answer.Lock
	fail := func(err error, refs ...string) { failures = append(failures, depend.Failure{Refs: refs, Err: err}) }
	for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
		if t.failed(ref) != nil {
			continue
		}
		w := t.Wants[ref]
		up := upstream(w)
		if w.Locked != "" && up.Err != nil { // what stays locked is its variant's alone
			w.Err = up.Err
			continue
		}
		err := up.Err
		if err == nil {
			err = up.Offer.Err
		}
		if err != nil {
			fail(err, ref)
			continue
		}
		if up.When.After(when) {
			when = up.When
		}
		if i := t.Answer.Resolution.Find(ref); i != nil && i.Digest != up.Offer.Package.Digest {
			fail(fmt.Errorf("%s %s was read as %s, and is %s in Repository %s: its tag has moved, or two places have it with different content",
				i.Package, i.Version, i.Digest, up.Offer.Package.Digest, w.Upstream().Repo), ref)
		}
		own(&lock.Spec, ref, up.Offer.APIs)
	}
	for _, l := range lock.Spec.Packages { // what others put there has owners of APIs too
		ref := path.Join(l.Namespace, l.Name)
		own(&lock.Spec, ref, t.There[ref].APIs)
	}
	t.ownAsBefore(&lock.Spec)
	for _, c := range t.Clashes(upstream) {
		fail(c, c.First, c.Second)
	}
	if len(failures) > 0 {
		return nil, failures, nil
	}
	if changes := t.Doubt.about(depend.Changed(t.Lock, &lock.Spec)); len(changes) > 0 {
		return nil, nil, fmt.Errorf("%s, so that this change is not trusted: %s", t.Doubt.Why, strings.Join(Limit(changes, 3), "; "))
	}
	t.placed()
	t.levels()
	content, err := NewLock(t, lock, when)
	if err != nil {
		return nil, nil, err
	}
	pkg := path.Join(t.Directory, depend.LockPackage)
	return &Want{
		Identity: Identity{t.Namespace, t.Repository, pkg}, Name: depend.LockVariant(t.Repository, pkg),
		MadeFor: t.ID(), Target: t, Ref: depend.LockPackage, Content: content,
	}, nil, nil
}

// ownAsBefore records the APIs of what fails, or stands for that, as the lock has
// them.
func (t *Target) ownAsBefore(lock *resolver.Lock) {
	if t.Lock == nil {
		return
	}
	for api, ref := range t.Lock.CustomResourceDefinitions {
		if t.failed(ref) == nil && !slices.Contains(t.Answer.Stands, ref) {
			continue
		}
		if lock.CustomResourceDefinitions == nil {
			lock.CustomResourceDefinitions = map[string]string{}
		}
		if lock.CustomResourceDefinitions[api] == "" {
			lock.CustomResourceDefinitions[api] = ref
		}
	}
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

// Clash is an API that two packages of a target bring.
type Clash struct {
	API, First, Second string // the packages' paths below the target
}

// Error says what to do about it.
func (c Clash) Error() string {
	return fmt.Sprintf("packages %s and %s both bring the API %s: a cluster has one of it, so remove one of the packages, or take a version of one that does not bring it", c.First, c.Second, c.API)
}

// BringsAPIs reports whether one of the target's variants brings an API.
func (t *Target) BringsAPIs() bool {
	return slices.ContainsFunc(t.Variants, func(v *depend.Variant) bool { return len(provided(v.Upstream)) > 0 })
}

// Clashes finds the APIs that two packages of a target bring: in one cluster
// only one of them can have it (Crossplane's packages v2, "PackageLock").
// Repositories that are no clusters have none.
func (t *Target) Clashes(upstream func(*Want) *Upstream) []Clash {
	if !t.Repo.Deployment {
		return nil
	}
	owner := map[string]string{}
	var out []Clash
	claim := func(ref string, apis []resolver.GVK) {
		for _, g := range apis {
			api := g.GroupKind()
			if o := owner[api]; o != "" && o != ref {
				out = append(out, Clash{api, o, ref})
				continue
			}
			owner[api] = ref
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(t.There)) {
		claim(ref, t.There[ref].APIs)
	}
	for _, ref := range slices.Sorted(maps.Keys(t.Wants)) {
		if w := t.Wants[ref]; w.Upstream() != nil && t.failed(ref) == nil {
			if up := upstream(w); up.Err == nil {
				claim(ref, provided(up.Offer.Package))
			}
		}
	}
	return out
}

// failed is why a wanted package has no answer, nil where it has one, or none was
// looked for.
func (t *Target) failed(ref string) error {
	if t == nil || t.Answer == nil {
		return nil
	}
	return t.Answer.Failed[ref]
}

// Fail gives the wanted packages that have no answer their reason: all of them,
// where the target has none.
func (t *Target) Fail() {
	for ref, w := range t.Wants {
		err := t.Err
		if failed := t.failed(ref); failed != nil {
			err = Unanswered(failed)
		}
		if w.Err == nil && t.Failing[ref].Err == nil { // what cannot be told is told as it is
			w.Err = err
		}
	}
}

// InstallationError is a failure of what an Installation asks for.
type InstallationError struct {
	Namespace, Name string
	Err             error
}

// Error is the cause, which says what is asked for.
func (e *InstallationError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *InstallationError) Unwrap() error { return e.Err }

// Unasked are the failures of targets that no variant tells of: those of what
// Installations ask for. Each cause is one, with the targets that have it.
func Unasked(targets []*Target) (out []error) {
	var order []string
	where, causes := map[string][]string{}, map[string]error{}
	add := func(t *Target, ref, what string, err error) {
		text := what + err.Error()
		if where[text] == nil {
			err = fmt.Errorf("%s%w", what, err)
			if asks := t.Asking(ref); len(asks) > 0 {
				err = &InstallationError{asks[0].Namespace, asks[0].Name, err}
			}
			order, causes[text] = append(order, text), err
		}
		where[text] = append(where[text], t.Name())
	}
	for _, t := range targets {
		var failed map[string]error
		if t.Answer != nil {
			failed = t.Answer.Failed
		}
		tells := func(ref string) bool { return t.Wants[ref] != nil && !t.Wants[ref].Derived }
		if t.Err != nil && len(failed) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(t.Wants)), tells) {
			add(t, "", "", t.Err)
		}
		for _, ref := range slices.Sorted(maps.Keys(failed)) {
			if !tells(ref) {
				add(t, ref, "Installation of "+ref+": ", Unanswered(failed[ref]))
			}
		}
	}
	for _, text := range order {
		out = append(out, fmt.Errorf("target %s: %w", strings.Join(Limit(where[text], 3), ", "), causes[text]))
	}
	return out
}

// Unanswered is why a package's dependencies have no answer. It names no target: the
// same cause in many is told once.
func Unanswered(err error) error { return Stall(fmt.Errorf("dependencies: %w", err)) }

// levels gives each wanted package of an answered target its place in the order
// of wiring: after those whose outputs it reads, or whose resources it waits for.
func (t *Target) levels() {
	res := t.Answer.Resolution
	var level func(ref string, depth int) int
	level = func(ref string, depth int) int {
		w := t.Wants[ref]
		if w == nil || depth > len(t.Wants) { // the resolver refuses cycles
			return -1
		}
		if w.levelled {
			return w.Level
		}
		n := 0
		read := func(from string) {
			n = max(n, level(from, depth+1)+1)
			if r := t.Wants[from]; r != nil {
				r.Read = true
			}
		}
		for _, o := range res.Reads(ref) {
			read(o.Instance)
		}
		if t.Deployers.Kpt {
			for _, d := range w.After {
				read(d)
			}
		}
		w.Level, w.levelled = n, true
		return n
	}
	for ref := range t.Wants {
		level(ref, 0)
	}
}

// Waves sorts wanted packages by their place in the order of wiring: those of a
// wave read only what earlier ones give. Their order stays.
func Waves(wants []*Want) [][]*Want {
	var out [][]*Want
	for _, w := range wants {
		for len(out) <= w.Level {
			out = append(out, nil)
		}
		out[w.Level] = append(out[w.Level], w)
	}
	return out
}

// Needed adds what the selected packages need, and the locks of their targets:
// what is restricted to one variant is whole all the same.
func Needed(selected, all []*Want) []*Want {
	want, touched := map[*Want]bool{}, map[*Target]bool{}
	var add func(w *Want)
	add = func(w *Want) {
		if want[w] {
			return
		}
		want[w] = true
		res := w.Resolution()
		if res == nil {
			return
		}
		t := w.Target
		if i := res.Find(w.Ref); i != nil {
			for _, b := range i.Bindings {
				if d := t.Wants[path.Join(b.Namespace, b.Installation)]; d != nil && b.Installation != "" {
					add(d)
				}
			}
		}
		for _, o := range res.Reads(w.Ref) { // what others map to it, too
			if d := t.Wants[o.Instance]; d != nil {
				add(d)
			}
		}
		touched[t] = true
	}
	for _, w := range selected {
		add(w)
	}
	for _, w := range all {
		want[w] = want[w] || w.Lock() != nil && touched[w.Target]
	}
	return slices.DeleteFunc(slices.Clone(all), func(w *Want) bool { return !want[w] })
}

// Managed are the packages that an action on one of them acts on as well: what
// it needs and manages (Porter PEP003, "invoke").
func (w *Want) Managed() []*Want {
	if w.Resolution() == nil {
		return nil
	}
	var out []*Want
	for _, ref := range w.Target.Answer.Invokes(w.Ref) {
		if d := w.Target.Wants[ref]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

// Confusable warns of folders that wants are to stand in which differ only in case or Unicode
// form: where file systems do not tell these apart a checkout has one of them. Up to five
// pairs of a Git repository are named. where is as for Collide.
func Confusable(wants []*Want, where func(*Want) (Place, bool)) (warnings []string) {
	var all []Place
	odd := false // nearly all are what others would have to be like
	for _, w := range wants {
		if at, ok := where(w); ok {
			all = append(all, at)
			odd = odd || boundary.Folded(at.Name) != at.Name
		}
	}
	if !odd {
		return nil
	}
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Git, b.Git), cmp.Compare(a.Name, b.Name)) })
	first := map[Place]string{} // by what they are folded to
	pairs := map[[3]string]bool{}
	found := map[string]int{} // in each Git repository
	var gits []string
	for _, at := range all {
		for i := 0; i <= len(at.Name); i++ {
			if i < len(at.Name) && at.Name[i] != '/' {
				continue
			}
			dir := at.Name[:i]
			key := Place{at.Git, boundary.Folded(dir)}
			other, there := first[key]
			if !there {
				first[key] = dir
				continue
			}
			if other == dir {
				continue
			}
			if pair := [3]string{at.Git, other, dir}; !pairs[pair] {
				if pairs[pair] = true; found[at.Git] == 0 {
					gits = append(gits, at.Git)
				}
				if found[at.Git]++; found[at.Git] <= mostConfusable {
					warnings = append(warnings, fmt.Sprintf("folders %q and %q of %s differ only in case or Unicode form: on systems that do not tell these apart (macOS, Windows) a checkout has one of them, so give packages there other names", other, dir, at.Git))
				}
			}
			break
		}
	}
	for _, git := range gits {
		if more := found[git] - mostConfusable; more > 0 {
			warnings = append(warnings, fmt.Sprintf("%s has %s that differ only in case or Unicode form", git, count.Of(more, "more pair of folders", "more pairs of folders")))
		}
	}
	return warnings
}

// mostConfusable is how many pairs Confusable names of a Git repository.
const mostConfusable = 5

// Collide marks wants that would write to one folder, or one inside the other's:
// several Repositories may show the same folder of a Git repository, under other
// names, directories or branches, and refs are by folder. where gives each one's
// place, false where its repository is not there.
func Collide(wants []*Want, where func(*Want) (Place, bool)) {
	at := map[Place][]*Want{}
	for _, w := range wants {
		if k, ok := where(w); ok {
			at[k] = append(at[k], w)
		}
	}
	for _, w := range wants {
		k, ok := where(w)
		for _, o := range at[k] {
			if ok && o != w && w.Err == nil {
				w.Err = Stalled("spec.downstream: PackageVariant %s/%s (Repository %s) makes the same folder %q of %s: remove one of the two, or give one another package",
					o.Namespace, o.Name, o.Repository, k.Name, k.Git)
			}
		}
		for dir := path.Dir(k.Name); ok && dir != "." && dir != "/"; dir = path.Dir(dir) {
			for _, outer := range at[Place{k.Git, dir}] {
				const text = "spec.downstream: folder %q lies inside %q, and PackageVariant %s/%s makes %s: give one of them another package"
				w.Err = Stalled(text, k.Name, dir, outer.Namespace, outer.Name, "the outer one")
				if outer.Err == nil {
					outer.Err = Stalled(text, k.Name, dir, w.Namespace, w.Name, "the inner one")
				}
			}
		}
	}
}
