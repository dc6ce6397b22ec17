// Package depend joins the resolver to a fleet: what the variants of a target
// need, answered with what the target has, becomes more variants and a lock
// (docs/design/dependencies.md#the-way-of-an-answer). It only computes; who
// reads Git brings the facts.
//
//	pool, err := depend.NewPool(catalogue, catalogs, upstreams)
//	answer := target.Resolve(ctx, pool)
//	derived, err := answer.Derive(upstreamOf)
//
// A target is a Repository, or a folder of one. An installation is a package
// there: the last part of its path is its name, what comes before its
// namespace, so that a package at the top is global and one in a folder sees
// its neighbours and the top (Porter PEP003: local before global).
package depend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
)

// LockPackage is the folder of a target's lock, and LockFile the lock in it.
const (
	LockPackage = "variform-lock"
	LockFile    = "lock.yaml"
)

// LockVariant is the name of the variant of a target's lock.
func LockVariant(repo, pkg string) string { return variantgen.Name("lock", repo, pkg) }

// Target is one target with what is wanted of it and what it has.
type Target struct {
	// Namespace is that of the Repository, Repository its name, Directory the
	// folder in it, "" for all of it.
	Namespace, Repository, Directory string
	// Variants are the wanted ones, of all sets.
	Variants []*Variant
	// Existing are packages that are there and that no variant makes.
	Existing []resolver.Installation
	// Installations are those of the management directory that are for the
	// target, or for every one of its namespace.
	Installations []*v1alpha1.Installation
	// Lock is the newest answer, Placed the one that was approved; nil for none.
	Lock, Placed *resolver.Lock
	// Published are the paths below the target of packages that have a Published
	// revision: of what Placed names, these are in place.
	Published map[string]bool
	// APIs are served beside those of its packages, Platform is what it runs on.
	APIs     []resolver.GVK
	Platform map[string]string
	// Refresh are packages, "*" for all, that take their newest version, or with
	// name@version that one.
	Refresh []string
	// Failing are wanted packages of which it cannot be told what they need, by
	// path below the target. What the lock has in their place stays.
	Failing map[string]Unread

	unclear error // what documents have twice
}

// Unread is a variant whose upstream cannot be read, and why; Package is what it is
// of, by the name of its folder.
type Unread struct {
	Package string
	Err     error
}

// Name is the Repository's, with the folder where the target is one.
func (t *Target) Name() string { return path.Join(t.Repository, t.Directory) }

// ID names the target among those of all namespaces.
func (t *Target) ID() string { return t.Namespace + "/" + t.Name() }

// Variant is one wanted variant.
type Variant struct {
	PackageVariant *configv1alpha1.PackageVariant
	// Set is the set that made it, "" for one that was written by hand.
	Set string
	// Ref is its package's path below the target.
	Ref string
	// Upstream is what it is a variant of.
	Upstream *resolver.Package
}

// ID is how others name the variant.
func (v *Variant) ID() string { return v.PackageVariant.Namespace + "/" + v.PackageVariant.Name }

// Pool is the catalogue that all targets choose from: what the Catalogs have,
// and what the fleet's variants come from.
type Pool struct {
	catalog *resolver.Catalog

	locks   Locks
	mu      sync.Mutex
	answers []*answered // the newest last
}

// answered is a question, with its answer or its refusal once that is known.
type answered struct {
	sum   uint64 // of the question
	in    resolver.Input
	known chan struct{} // closed then
	out   *resolver.Resolution
	err   error
}

// maxAnswers bounds how many are kept for others that ask the same: alike targets need
// not follow each other.
const maxAnswers = 256

// resolve is [resolver.Resolve], once for all that ask the same where the same is
// there: most targets of a fleet do. Of the answer the lock alone may be changed,
// of a refusal nothing.
func (p *Pool) resolve(ctx context.Context, in resolver.Input) (*resolver.Resolution, error) {
	in.Lock, in.Placed = nameless(in.Lock), nameless(in.Placed)
	for {
		k, first := p.asked(in)
		if first {
			k.out, k.err = resolver.Resolve(ctx, in)
			if ctx.Err() != nil {
				p.forget(k)
			}
			close(k.known)
		}
		select {
		case <-k.known:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case k.err == nil:
			return ownLock(k.out), nil
		case first || errors.As(k.err, new(*resolver.ConflictError)):
			return nil, k.err
		} // else who asked first was told to stop
	}
}

// asked is the question as it was asked before; first says that it was not.
func (p *Pool) asked(in resolver.Input) (k *answered, first bool) {
	sum := sumOf(&in)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range slices.Backward(p.answers) {
		if k.sum == sum && reflect.DeepEqual(k.in, in) {
			return k, false
		}
	}
	in.Want = slices.Clone(in.Want) // who asked may put something else there
	k = &answered{sum: sum, in: in, known: make(chan struct{})}
	p.answers = append(p.answers[max(0, len(p.answers)-maxAnswers+1):], k)
	return k, true
}

// forget drops a question that has no answer yet.
func (p *Pool) forget(k *answered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = slices.DeleteFunc(p.answers, func(o *answered) bool { return o == k })
}

// nameless is a lock without the name of its target, which resolves nothing.
func nameless(l *resolver.Lock) *resolver.Lock {
	if l == nil {
		return nil
	}
	out := *l
	out.Target = ""
	return &out
}

// ownLock is a resolution with a lock of its own.
func ownLock(r *resolver.Resolution) *resolver.Resolution {
	out, lock := *r, *r.Lock
	lock.Packages = slices.Clone(lock.Packages)
	lock.CustomResourceDefinitions, lock.Compositions = maps.Clone(lock.CustomResourceDefinitions), maps.Clone(lock.Compositions)
	out.Lock = &lock
	return &out
}

// NewPool indexes package versions once for all targets. An upstream with the
// number of a catalogued version and other content gets build metadata of its
// own, so that neither is taken for the other; it is changed in place. What is
// unusable explains conflicts.
func NewPool(entries []resolver.Package, catalogs []*v1alpha1.Catalog, upstreams []*resolver.Package, unusable ...*resolver.VersionError) (*Pool, error) {
	type key struct{ name, version string }
	have := map[key]string{}
	entries, doubled := resolver.Usable(entries)
	for i := range entries {
		if entries[i].Gone {
			continue
		}
		have[key{entries[i].Package, entries[i].Version}] = entries[i].Digest
	}
	all := slices.Clone(entries)
	for _, u := range upstreams {
		digest, there := have[key{u.Package, u.Version}]
		if there && digest != u.Digest {
			sep := "+"
			if strings.Contains(u.Version, "+") {
				sep = "."
			}
			u.Version += sep + shortDigest(u.Digest)
			_, there = have[key{u.Package, u.Version}]
		}
		if !there {
			have[key{u.Package, u.Version}] = u.Digest
			own := *u
			own.Private = true
			all = append(all, own)
		}
	}
	defaults, err := resolver.Defaults(catalogs)
	cat, catErr := resolver.NewCatalog(all, resolver.WithDefaults(defaults), resolver.WithUnusable(doubled...), resolver.WithUnusable(unusable...))
	return &Pool{catalog: cat}, errors.Join(err, catErr)
}

// Unread sets how many sources of the catalogue could not be read.
func (p *Pool) Unread(sources int) { p.catalog.Unread = sources }

// Warnings say which versions nobody can have, and what was passed over.
func (p *Pool) Warnings() []string { return Warnings(p.catalog.Unusable()) }

// shortDigest is what tells a digest from others in a version: twelve digits.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return "g" + hex[:min(12, len(hex))]
}

// Version is an upstream's: the manifest's, else that of its tag (v3 is 3.0.0),
// else a prerelease of nothing that names its digest.
func Version(manifest, tag, digest string) string {
	if manifest != "" {
		return manifest
	}
	if v, ok := TagVersion(tag); ok {
		return v
	}
	return "0.0.0-" + shortDigest(digest)
}

// Input is what the resolver gets for the target. Its error lists all that
// keeps the target from being resolved.
func (t *Target) Input(pool *Pool) (resolver.Input, error) {
	in := resolver.Input{
		Catalog: pool.catalog, Installations: slices.Clone(t.Existing), APIs: t.APIs, Platform: t.Platform,
		Lock: t.locked(), Placed: t.inPlace(), Refresh: t.Refresh, ClusterNamespace: new(string),
	}
	used := map[*v1alpha1.Installation]bool{}
	for _, v := range t.Variants {
		in.Want = append(in.Want, t.request(v, used))
	}
	for _, i := range t.Installations {
		ns, here := t.Place(i)
		if used[i] || !here || i.Spec.Package == LockPackage { // that one has a policy and is no package of a catalogue
			continue
		}
		own := *i
		own.Namespace = ns
		if e, ok := resolver.Existing(&own, pool.catalog, cmp.Or(t.Placed, t.Lock)); ok {
			at := slices.IndexFunc(in.Installations, func(o resolver.Installation) bool { return o.Ref() == e.Ref() })
			if at < 0 {
				in.Installations = append(in.Installations, e)
				continue
			}
			there := &in.Installations[at] // what Git cannot say of it
			there.Mode, there.Group = e.Mode, e.Group
			if len(e.Labels) > 0 {
				there.Labels = e.Labels
			}
			continue
		}
		if t.asks(i) && !doubles(i, used) {
			in.Want = append(in.Want, resolver.FromInstallation(&own))
		}
	}
	for n := range in.Installations {
		in.Installations[n].Fixed = true
	}
	return in, t.unclear
}

// doubles says whether an Installation is for the very package of a variant about which
// another one decides. That is an error of the fleet, and told as one: it asks for
// nothing.
func doubles(i *v1alpha1.Installation, used map[*v1alpha1.Installation]bool) bool {
	for o := range used {
		if o.Spec.Target == i.Spec.Target && o.Spec.Package == i.Spec.Package {
			return true
		}
	}
	return false
}

// locked is the newest answer, without the digests of what may become another
// under the same number: what is to be refreshed, and a variant whose upstream
// is a branch or the like.
func (t *Target) locked() *resolver.Lock {
	if t.Lock == nil {
		return nil
	}
	moves := map[string]bool{}
	for _, v := range t.Variants {
		if _, fixed := TagVersion(v.Upstream.Tag); !fixed {
			moves[v.Ref] = true
		}
	}
	out, own := *t.Lock, false
	for n := range out.Packages {
		name := cmp.Or(out.Packages[n].Package, out.Packages[n].Name)
		if !moves[lockedRef(&out.Packages[n])] && !t.refreshes(name) {
			continue
		}
		if !own {
			out.Packages, own = slices.Clone(out.Packages), true
		}
		p := &out.Packages[n]
		p.Version, p.Digest = cmp.Or(t.exact(name), p.Version), ""
	}
	return &out
}

// inPlace is what of the approved lock has come about: the lock has the whole
// graph, also where only direct dependencies are made at first.
func (t *Target) inPlace() *resolver.Lock {
	if t.Placed == nil {
		return nil
	}
	out, missing := *t.Placed, func(p resolver.LockedPackage) bool { return !t.Published[lockedRef(&p)] }
	if slices.ContainsFunc(out.Packages, missing) {
		out.Packages = slices.DeleteFunc(slices.Clone(out.Packages), missing)
	}
	return &out
}

// Needs says whether packages may have to be brought: a variant needs something,
// or an Installation asks for a package.
func (t *Target) Needs() bool {
	used := map[*v1alpha1.Installation]bool{}
	for _, v := range t.Variants {
		if len(v.Upstream.Requires) > 0 {
			return true
		}
		t.request(v, used)
	}
	return slices.ContainsFunc(t.Installations, func(i *v1alpha1.Installation) bool {
		_, here := t.Place(i)
		return here && !used[i] && t.asks(i) && i.Status.CurrentRevision == "" && i.Spec.Package != LockPackage
	})
}

// Has reports whether an Installation states what the target has: that can meet needs without a Catalog.
func (t *Target) Has() bool {
	return slices.ContainsFunc(t.Installations, func(i *v1alpha1.Installation) bool {
		_, here := t.Place(i)
		return here && i.Status.CurrentRevision != ""
	})
}

// Wants says whether there is anything to resolve: something is needed, or a
// variant's package takes values.
func (t *Target) Wants() bool {
	return t.Needs() || slices.ContainsFunc(t.Variants, func(v *Variant) bool {
		return len(v.Upstream.Parameters)+len(v.Upstream.Credentials) > 0
	})
}

// once are the variants of a package of which a target has one place, where there
// are several.
func (t *Target) once() map[string]error {
	failing := map[string]error{}
	first := map[string]*Variant{}
	for _, v := range t.Variants {
		key := v.Upstream.Package
		switch v.Upstream.Scope {
		case resolver.ScopeCluster:
		case resolver.ScopeNamespace:
			key += " in " + namespace(v.Ref)
		default:
			continue
		}
		if o := first[key]; o != nil {
			err := fmt.Errorf("%s and %s are both variants of %s, which has scope %s: remove one of PackageVariants %s and %s",
				o.Ref, v.Ref, v.Upstream.Package, v.Upstream.Scope, o.ID(), v.ID())
			failing[o.Ref], failing[v.Ref] = err, err
			continue
		}
		first[key] = v
	}
	return failing
}

// Place is the namespace in the target that an Installation is for; here is
// false where it is for another target.
func (t *Target) Place(i *v1alpha1.Installation) (ns string, here bool) {
	if i.Spec.Target == "" {
		return "", true
	}
	return below(t.Name(), strings.Trim(i.Spec.Target, "/"))
}

// asks says whether an Installation asks for its package: it names the target, or
// the target has no name. Others are about what is there for another reason.
func (t *Target) asks(i *v1alpha1.Installation) bool { return i.Spec.Target != "" || t.Name() == "" }

// below is what of a path comes after a folder of it.
func below(dir, name string) (string, bool) {
	if name == dir {
		return "", true
	}
	rest, ok := strings.CutPrefix(name, dir+"/")
	return rest, ok
}

// namespace is the folder that a package stands in, "" at the top.
func namespace(ref string) string {
	if dir := path.Dir(ref); dir != "." {
		return dir
	}
	return ""
}

// request asks for a variant's package at its very version, with what an
// Installation decides about it.
func (t *Target) request(v *Variant, used map[*v1alpha1.Installation]bool) resolver.Request {
	r := resolver.Request{Allow: resolver.Changes{Upgrade: true}}
	if i := t.decision(v); i != nil {
		used[i] = true
		r = resolver.FromInstallation(i)
	}
	r.Name, r.Namespace, r.Package, r.Version, r.Prereleases = path.Base(v.Ref), namespace(v.Ref), v.Upstream.Package, v.Upstream.Version, nil
	if strings.HasSuffix(r.Version, shortDigest(v.Upstream.Digest)) {
		r.Version = v.Upstream.Digest // build metadata makes no difference to a range
	}
	r.Parameters = t.parameters(v, r.Parameters)
	return r
}

// parameters adds the values that the variant's own package context gives.
func (t *Target) parameters(v *Variant, given map[string]string) map[string]string {
	context := v.PackageVariant.Spec.PackageContext
	if context == nil || len(v.Upstream.ContextKeys) == 0 {
		return given
	}
	out := map[string]string{}
	for name, key := range v.Upstream.ContextKeys {
		if value, ok := context.Data[key]; ok {
			out[name] = value
		}
	}
	for name, value := range given {
		out[name] = value
	}
	return out
}

// decision is the Installation about a variant: for its target before for all,
// and by its path before by its package.
func (t *Target) decision(v *Variant) *v1alpha1.Installation {
	var best *v1alpha1.Installation
	rank := 0
	for _, i := range t.Installations {
		ns, here := t.Place(i)
		if !here {
			continue
		}
		var n int
		switch {
		case path.Join(ns, i.Spec.Package) == v.Ref || i.Spec.Target == "" && i.Spec.Package == v.PackageVariant.Spec.Downstream.Package:
			n = 2
		case i.Spec.Package == v.Upstream.Package && (ns == "" || ns == namespace(v.Ref)):
			n = 1
		default:
			continue
		}
		if i.Spec.Target != "" {
			n += 2
		}
		if n > rank {
			best, rank = i, n
		}
	}
	return best
}

// Answer is what a target is to have.
type Answer struct {
	Target     *Target
	Input      resolver.Input
	Resolution *resolver.Resolution
	// Lock is the answer as a document; nil with Err.
	Lock *v1alpha1.PackageLock
	// Failed is what was asked for and has no answer, by path below the target, and
	// why; all else was answered without it. Stands are the packages that the lock
	// keeps for it, just as they are there.
	Failed map[string]error
	Stands []string
	// Err is why there is no answer at all, such as a [*resolver.ConflictError].
	Err error

	pool *Pool
	in   *partial
}

// Resolve answers for the target. It may be called for many targets at once.
func (t *Target) Resolve(ctx context.Context, pool *Pool) *Answer {
	a := &Answer{Target: t, pool: pool}
	if a.Input, a.Err = t.Input(pool); a.Err == nil {
		a.Solve(ctx)
	}
	return a
}

// Solve answers for the input as it is now.
func (a *Answer) Solve(ctx context.Context) {
	a.Lock, a.Failed, a.Stands = nil, map[string]error{}, nil
	failing := a.Target.once()
	for ref, u := range a.Target.Failing {
		failing[ref] = u.Err
	}
	a.without(failing)
	a.solve(ctx, nil)
}

// solve answers without what failed, and without what takes part in a conflict then.
func (a *Answer) solve(ctx context.Context, failed map[string]error) {
	for {
		for _, ref := range slices.Sorted(maps.Keys(failed)) {
			a.fail(ref, failed[ref])
		}
		if len(a.Failed) > 0 && !slices.ContainsFunc(a.in.Want, func(w resolver.Request) bool { return !slices.Contains(a.Stands, w.Ref()) }) {
			a.Err = errors.Join(a.Causes()...)
			return
		}
		failed = map[string]error{}
		if a.Err = a.edits(a.resolve(ctx)); a.Err == nil {
			if failed = a.hanging(); len(failed) == 0 {
				failed = a.disputing()
			}
			if len(failed) == 0 {
				failed, a.Err = a.inexact(ctx)
			}
		}
		for _, ref := range a.blamed(a.Err) {
			failed[ref] = a.Err
		}
		if len(failed) == 0 {
			break
		}
	}
	if a.Err != nil {
		return
	}
	a.Lock = a.Resolution.Document(a.Target.Name())
	a.setOwners()
	a.Lock.Spec.Packages = a.pool.locks.Of(a.Lock.Spec.Packages)
	a.Resolution.Lock.Packages = a.Lock.Spec.Packages
}

// Causes are why something has no answer, each once, in the order of paths.
func (a *Answer) Causes() (out []error) {
	for _, ref := range slices.Sorted(maps.Keys(a.Failed)) {
		err := a.Failed[ref]
		same := func(o error) bool { // a list of faults cannot be compared
			return errors.Is(o, err) || o.Error() == err.Error()
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, err)
		}
	}
	return out
}

// resolve answers, and once more where something gets a newer version: what it
// manages takes the newest that it may as well (Porter PEP003, provisional:
// "Managed Dependency").
func (a *Answer) resolve(ctx context.Context) error {
	for {
		if a.Resolution, a.Err = a.pool.resolve(ctx, a.in.Input); a.Err != nil {
			a.Err = accepting(a.Err)
			return a.Err
		}
		more := a.follow()
		if len(more) == 0 {
			a.Err = a.unallowed()
			return a.Err
		}
		a.in.Refresh = append(slices.Clip(a.in.Refresh), more...)
	}
}

// accepting says of what moved how it is taken as it is now.
func accepting(err error) error {
	e, ok := errors.AsType[*resolver.ConflictError](err)
	if !ok || e.Kind != resolver.DigestMismatch {
		return err
	}
	own := *e // others may have been refused the same
	own.Hints = []resolver.Hint{{
		Text: "find out why it moved, or who edited the lock; to take what is there now, run with --upgrade " + strings.Join(e.Moved, " --upgrade "),
	}}
	return &own
}

// follow are the packages whose instances an upgrade acts on as well, and that
// are not refreshed yet.
func (a *Answer) follow() []string {
	if a.Target.Lock == nil || slices.Contains(a.in.Refresh, "*") {
		return nil
	}
	was := map[string]string{}
	for _, p := range a.Target.Lock.Packages {
		was[path.Join(p.Namespace, p.Name)] = p.Version
	}
	var out []string
	for _, p := range a.Resolution.Instances {
		if p.Existing || !newer(was[p.Ref()], p.Version) {
			continue
		}
		for _, ref := range reached(p, v1alpha1.Lifecycle.Upgrades) {
			if i := a.Resolution.Find(ref); !i.Existing && !slices.Contains(a.in.Refresh, i.Package) && !slices.Contains(out, i.Package) {
				out = append(out, i.Package)
			}
		}
	}
	return out
}

// newer says whether a version is above another that there was.
func newer(was, now string) bool {
	a, errA := semver.NewVersion(was)
	b, errB := semver.NewVersion(now)
	return errA == nil && errB == nil && b.GreaterThan(a)
}

// unallowed refuses changes that no search could refuse: of what is in place of
// several instances of one package, of which it is known only now which is which.
func (a *Answer) unallowed() error {
	up, down := true, true
	for _, w := range a.in.Want {
		up = up && w.Allow.Upgrade && !w.ValidateOnly
		down = down && w.Allow.Downgrade && !w.ValidateOnly
	}
	e := &resolver.ConflictError{Kind: resolver.NoSolution, Summary: "what is in place would change in a way that is not allowed:"}
	for _, i := range a.Resolution.Instances {
		switch c := a.change(i); {
		case c == nil:
		case c.Kind == "upgrade" && !up || c.Kind == "downgrade" && !down:
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s is at %s and would get %s", i.Ref(), c.From, c.To))
			e.Hints = append(e.Hints, resolver.Hint{
				Text: fmt.Sprintf("allow a change of %s: %s", i.Ref(), strings.ToUpper(c.Kind[:1])+c.Kind[1:]), Field: resolver.FieldAllowChanges,
			})
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	return e
}

// change is what becomes of an instance that is in place, nil for nothing.
func (a *Answer) change(i *resolver.Instance) *resolver.Change {
	if i.From == "" || i.From == i.Version {
		return nil
	}
	for n := range a.Resolution.Changes {
		if c := &a.Resolution.Changes[n]; c.Installation == i.Name && c.From == i.From && c.To == i.Version {
			return c
		}
	}
	return nil
}

// setOwners records whom each dependency was made for: who is recorded as long
// as it needs it, else the first that does (Carvel's dependencies proposal,
// "the first creator").
func (a *Answer) setOwners() {
	was := map[string]string{}
	for _, l := range []*resolver.Lock{a.Target.Placed, a.Target.Lock} {
		if l == nil {
			continue
		}
		for _, p := range l.Packages {
			was[path.Join(p.Namespace, p.Name)] = p.Owner
		}
	}
	for n := range a.Lock.Spec.Packages {
		p := &a.Lock.Spec.Packages[n]
		ref := path.Join(p.Namespace, p.Name)
		i := a.Resolution.Find(ref)
		if slices.Contains(a.Stands, ref) {
			p.Owner = was[ref]
			continue
		}
		if i == nil || i.Existing || i.Requested {
			continue
		}
		who := a.Requirers(ref)
		if p.Owner = was[ref]; !slices.Contains(who, p.Owner) && len(who) > 0 {
			p.Owner = who[0]
		}
	}
}

// Requirers are the installations that need one, in the order of the walk from
// what was asked for.
func (a *Answer) Requirers(ref string) []string {
	var out []string
	for _, p := range a.Resolution.Instances {
		for _, b := range p.Bindings {
			if b.Installation != "" && path.Join(b.Namespace, b.Installation) == ref && !slices.Contains(out, p.Ref()) {
				out = append(out, p.Ref())
			}
		}
	}
	return out
}

// Derived is a variant that a target needs beside those that are wanted.
type Derived struct {
	*Variant
	Instance *resolver.Instance
	// Owner is the variant that it was first made for, "" where an Installation
	// asks for it by itself.
	Owner string
}

// UpstreamFunc finds a resolved version among the registered Repositories.
type UpstreamFunc func(*resolver.Instance) (*configv1alpha1.Upstream, error)

// Derive makes the variants that the answer needs: one for each instance that
// is to be created and that no variant makes (Carvel's dependencies proposal,
// "PackageInstalls for dependencies"). They take over the context, the
// injectors, labels and annotations of the variant at the root of what needs
// them. Failures are those that nobody has.
func (a *Answer) Derive(upstream UpstreamFunc) (out []*Derived, failures []Failure) {
	wanted := map[string]*Variant{}
	for _, v := range a.Target.Variants {
		wanted[v.Ref] = v
	}
	for _, i := range a.Resolution.Instances {
		if wanted[i.Ref()] != nil || i.Existing || !i.Create {
			continue
		}
		up, err := upstream(i)
		if err != nil {
			failures = append(failures, Failure{[]string{i.Ref()}, fmt.Errorf("%s %s: %w", i.Package, i.Version, err)})
			continue
		}
		out = append(out, a.derive(i, up, wanted[a.Resolution.RootRef(i)]))
	}
	names := map[string]string{}
	for _, v := range a.Target.Variants {
		names[v.Ref] = v.ID()
	}
	for _, d := range out {
		names[d.Ref] = d.ID()
	}
	annotations := map[string]map[string]string{} // by owner, who has several
	for _, d := range out {
		for _, p := range a.Lock.Spec.Packages {
			if path.Join(p.Namespace, p.Name) == d.Ref && p.Owner != "" {
				if d.Owner = names[p.Owner]; d.Owner == "" { // made by others: it is their package's
					d.Owner = a.Target.Namespace + "/" + p.Owner
				}
				if annotations[d.Owner] == nil {
					annotations[d.Owner] = map[string]string{v1alpha1.OwnerAnnotation: d.Owner}
				}
				d.PackageVariant.Annotations = annotations[d.Owner]
			}
		}
	}
	return out, failures
}

func (a *Answer) derive(i *resolver.Instance, up *configv1alpha1.Upstream, root *Variant) *Derived {
	t := a.Target
	pkg := path.Join(t.Directory, i.Ref())
	pv := &configv1alpha1.PackageVariant{}
	pv.APIVersion, pv.Kind = configv1alpha1.APIVersion, configv1alpha1.KindPackageVariant
	pv.Namespace, pv.Name = t.Namespace, variantgen.Name("dependency", t.Repository, pkg)
	pv.Spec.Upstream = up
	pv.Spec.Downstream = &configv1alpha1.Downstream{Repo: t.Repository, Package: pkg}
	pv.Spec.DeletionPolicy = configv1alpha1.DeletionOrphan
	if i.Requested || a.managed(i) {
		pv.Spec.DeletionPolicy = configv1alpha1.DeletionDelete
	}
	d := &Derived{Variant: &Variant{PackageVariant: pv, Ref: i.Ref(), Upstream: i.Manifest()}, Instance: i}
	if root != nil {
		from := &root.PackageVariant.Spec
		d.Set = root.Set
		pv.Spec.PackageContext, pv.Spec.Injectors = from.PackageContext, from.Injectors
		pv.Spec.Labels, pv.Spec.Annotations = from.Labels, from.Annotations
	}
	if len(i.Labels) > 0 { // those that it was asked for by (Porter PEP003, provisional)
		pv.Spec.Labels = maps.Clone(pv.Spec.Labels)
		if pv.Spec.Labels == nil {
			pv.Spec.Labels = map[string]string{}
		}
		maps.Copy(pv.Spec.Labels, i.Labels)
	}
	return d
}

// managed says whether the dependency goes with what needs it (Porter PEP003,
// provisional: "Managed Dependency"): one of those that do manages it. Others
// leave it where it is.
func (a *Answer) managed(i *resolver.Instance) bool {
	return slices.ContainsFunc(a.Resolution.Instances, func(p *resolver.Instance) bool {
		return slices.Contains(reached(p, v1alpha1.Lifecycle.Removes), i.Ref())
	})
}

// Invokes are the direct dependencies that an action on an installation acts on
// as well (Porter PEP003, provisional: "invoke").
func (a *Answer) Invokes(ref string) []string {
	if p := a.Resolution.Find(ref); p != nil {
		return reached(p, v1alpha1.Lifecycle.Invokes)
	}
	return nil
}

// reached are the dependencies of an installation whose lifecycle has an action.
func reached(p *resolver.Instance, action func(v1alpha1.Lifecycle) bool) []string {
	m := p.Manifest()
	if m == nil {
		return nil
	}
	var out []string
	for _, b := range p.Bindings {
		for n := range m.Requires {
			if r := &m.Requires[n]; b.Installation != "" && r.Alias == b.Alias && action(r.Lifecycle) {
				out = append(out, path.Join(b.Namespace, b.Installation))
			}
		}
	}
	return out
}

// Change is what two locks have different about one package.
type Change struct {
	Ref, What string
	Gone      bool // the later lock does not have it
}

// String is the change in a line.
func (c Change) String() string { return c.Ref + c.What }

// rewired is what is other of a locked package at the same version, "" for nothing. A lock of an earlier release does not
// have who needs it as data, nor where what it needs is.
func rewired(o, p *resolver.LockedPackage) string {
	earlier := o.Why != "" && !o.Requested && o.NeededBy == nil
	switch {
	case !earlier && (o.Requested != p.Requested || !slices.Equal(o.NeededBy, p.NeededBy)):
		return ": " + cmp.Or(p.Why, "nothing needs it")
	case !earlier && !slices.Equal(o.Dependencies, p.Dependencies):
		return ": it needs other instances"
	case !slices.Equal(o.Wiring, p.Wiring):
		return ": its values come from elsewhere"
	case !reflect.DeepEqual(o.Share, p.Share), o.Owner != p.Owner:
		return ": it is shared otherwise"
	}
	return ""
}

// Changed tells what two locks have different: what comes, changes and goes.
func Changed(old, now *resolver.Lock) []Change {
	was := map[string]*resolver.LockedPackage{}
	if old != nil {
		for n := range old.Packages {
			p := &old.Packages[n]
			was[path.Join(p.Namespace, p.Name)] = p
		}
	}
	var out []Change
	for n := range now.Packages {
		p := &now.Packages[n]
		ref := path.Join(p.Namespace, p.Name)
		o := was[ref]
		delete(was, ref)
		var what string
		switch name := cmp.Or(p.Package, p.Name); {
		case o == nil:
			what = fmt.Sprintf(" comes: %s %s, %s", name, p.Version, cmp.Or(p.Why, "there already"))
		case o.Version != p.Version:
			what = fmt.Sprintf(": %s %s instead of %s", name, p.Version, o.Version)
		case o.Digest != p.Digest:
			what = fmt.Sprintf(": %s %s is %s instead of %s", name, p.Version, p.Digest, o.Digest)
		default:
			if what = rewired(o, p); what == "" {
				continue
			}
		}
		out = append(out, Change{Ref: ref, What: what})
	}
	for _, ref := range slices.Sorted(maps.Keys(was)) {
		out = append(out, Change{Ref: ref, What: " goes", Gone: true})
	}
	return out
}
