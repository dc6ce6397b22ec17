package depend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/revision"
	"github.com/variform/variform/resolver"
)

// A conflict fails what takes part in it and what needs that; all else is answered
// without it, and keeps what it has (docs/design/dependencies.md#the-smallest-part-fails).

// partial is an input that is answered without what fails.
type partial struct {
	resolver.Input
	// back are the requests that go on as they are locked, at the version of then.
	back map[string]bool
}

// Rest is the input without what failed, and with what stands in its place.
func (a *Answer) Rest() resolver.Input { return a.in.Input }

// Failure is why packages of an answer, by path below the target, cannot be had.
type Failure struct {
	Refs []string
	Err  error
}

// Fail answers anew without the requests that bring what turned out to fail.
func (a *Answer) Fail(ctx context.Context, failures ...Failure) {
	a.Err = nil
	failed := map[string]error{}
	for _, f := range failures {
		asked := a.bringing(f.Refs...)
		for _, ref := range a.unsettled(asked) {
			failed[ref] = f.Err
		}
		if len(asked) == 0 {
			a.Err = errors.Join(a.Err, f.Err)
		}
	}
	if a.Lock = nil; a.Err == nil {
		a.solve(ctx, failed)
	}
}

// without leaves out what cannot be told, from the first.
func (a *Answer) without(failing map[string]error) {
	in := &partial{Input: a.Input, back: map[string]bool{}}
	a.in = in
	in.Want, in.Installations = slices.Clone(in.Want), slices.Clone(in.Installations)
	for _, ref := range slices.Sorted(maps.Keys(failing)) {
		a.Failed[ref] = failing[ref]
		a.stand(ref)
	}
}

// fail leaves out a request. What is locked in its place stays: at its version,
// where the rest has an answer with that, else just as it stands.
func (a *Answer) fail(ref string, err error) {
	in := a.in
	if a.Failed[ref] == nil {
		a.Failed[ref] = err
	}
	at := slices.IndexFunc(in.Want, func(w resolver.Request) bool { return w.Ref() == ref })
	was := lockedAt(a.Target.Lock, ref)
	if was == nil || in.back[ref] || was.Version == in.Want[at].Version || cmp.Or(was.Package, was.Name) != in.Want[at].Package {
		a.stand(ref)
		return
	}
	in.back[ref] = true
	in.Want[at].Version, in.Want[at].Prereleases = was.Version, nil
}

// stand puts what is locked in place of a request, with all that it needs, as what
// is there and is not changed.
func (a *Answer) stand(ref string) {
	in := a.in
	in.Want = slices.DeleteFunc(in.Want, func(w resolver.Request) bool { return w.Ref() == ref })
	was := lockedAt(a.Target.Lock, ref)
	if was == nil {
		return
	}
	in.Want = append(in.Want, resolver.Request{
		Name: was.Name, Namespace: was.Namespace, Package: cmp.Or(was.Package, was.Name), Version: was.Version, SkipDependencies: true,
		Allow: resolver.Changes{Upgrade: true, Downgrade: true}, // of others: all must allow it
	})
	for todo := []string{ref}; len(todo) > 0; todo = todo[1:] {
		p := lockedAt(a.Target.Lock, todo[0])
		asked := func(w resolver.Request) bool { return w.Ref() == todo[0] && w.Ref() != ref }
		if p == nil || slices.Contains(a.Stands, todo[0]) || slices.ContainsFunc(in.Want, asked) {
			continue
		}
		a.Stands = append(a.Stands, todo[0])
		in.Lock = standing(in.Lock, p)
		if !slices.ContainsFunc(in.Installations, func(i resolver.Installation) bool { return i.Ref() == todo[0] }) {
			share := cmp.Or(p.Share, &v1alpha1.Share{})
			in.Installations = append(in.Installations, resolver.Installation{
				Mode: share.Mode, Group: share.Group, Name: p.Name, Namespace: p.Namespace, Package: cmp.Or(p.Package, p.Name), Version: p.Version, Digest: p.Digest, Owner: p.Owner, Fixed: true,
			})
		}
		todo = append(todo, lockedNeeds(p)...)
	}
}

// standing is a lock that has a package as it stands, whatever was asked of it.
func standing(l *resolver.Lock, p *resolver.LockedPackage) *resolver.Lock {
	out := *l
	out.Packages = slices.Clone(l.Packages)
	*lockedAt(&out, lockedRef(p)) = *p
	return &out
}

// blamed are the requests that a conflict is about: those of them that are not as
// they are locked, or, where all are, all of them. Where it is not known what it is
// about that is all that was asked for. Nil for an error of another kind.
func (a *Answer) blamed(err error) []string {
	e, ok := errors.AsType[*resolver.ConflictError](err)
	if !ok {
		return nil
	}
	var asked []string
	for _, w := range a.in.Want {
		if e.Asked == nil || slices.Contains(e.Asked, w.Ref()) {
			asked = append(asked, w.Ref())
		}
	}
	return a.unsettled(asked)
}

// unsettled are those of some requests that are not as they are locked, or, where
// all are, all of them, but for what stands.
func (a *Answer) unsettled(asked []string) []string {
	var changed, settled []string
	for _, w := range a.in.Want {
		ref := w.Ref()
		switch was := lockedAt(a.Target.Lock, ref); {
		case !slices.Contains(asked, ref) || slices.Contains(a.Stands, ref):
		case was != nil && admits(w.Version, was):
			settled = append(settled, ref)
		default:
			changed = append(changed, ref)
		}
	}
	if len(changed) == 0 {
		return settled
	}
	return changed
}

// admits says whether a request is met by what is locked.
func admits(version string, was *resolver.LockedPackage) bool {
	if version == "" || version == was.Version || version == was.Digest {
		return true
	}
	c, err := revision.ParseRange(version)
	v, verr := semver.NewVersion(was.Version)
	return err == nil && verr == nil && c.Check(v)
}

// hanging are the requests that would bring what fails, in their need, and why.
func (a *Answer) hanging() map[string]error {
	out := map[string]error{}
	for _, w := range a.in.Want {
		if a.Failed[w.Ref()] != nil {
			continue
		}
		for _, ref := range a.Resolution.Reaches(w.Ref()) {
			if at, fails := a.inPlaceOf(a.Resolution.Find(ref)); fails {
				out[w.Ref()] = fmt.Errorf("it needs %s, which fails", path.Join(a.Target.Directory, at))
			}
		}
	}
	return out
}

// disputing are the requests that bring what those who share a dependency cannot agree
// on, and why: of who asks for what is not so, or where all of these are as they are
// locked, of who is in their way.
func (a *Answer) disputing() map[string]error {
	out := map[string]error{}
	for _, d := range a.Resolution.Disputes {
		by := a.bringing(d.By)
		fail := a.unsettled(slices.Concat(by, a.bringing(d.With)))
		if own := slices.DeleteFunc(slices.Clone(fail), func(ref string) bool { return !slices.Contains(by, ref) }); len(own) > 0 {
			fail = own
		}
		for _, ref := range fail {
			out[ref] = d
		}
	}
	return out
}

// inPlaceOf says whether an instance would be made in place of a package that fails:
// at its path, or beside a new variant of it that cannot be read.
func (a *Answer) inPlaceOf(i *resolver.Instance) (ref string, fails bool) {
	if i.Existing || i.Requested {
		return "", false
	}
	if a.Failed[i.Ref()] != nil {
		return i.Ref(), true
	}
	for _, ref := range slices.Sorted(maps.Keys(a.Target.Failing)) {
		if a.Target.Failing[ref].Package == i.Package && lockedAt(a.Target.Lock, ref) == nil {
			return ref, true
		}
	}
	return "", false
}

// bringing are the requests because of which something is there: one of some instances.
func (a *Answer) bringing(refs ...string) (asked []string) {
	for _, w := range a.in.Want {
		if slices.ContainsFunc(a.Resolution.Reaches(w.Ref()), func(ref string) bool { return slices.Contains(refs, ref) }) {
			asked = append(asked, w.Ref())
		}
	}
	return asked
}
