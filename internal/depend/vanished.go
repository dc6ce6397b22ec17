package depend

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/resolver"
)

// Offered are the digests that sources have, by package and version.
type Offered map[[2]string][]string

// NewOffered indexes versions.
func NewOffered(versions []resolver.Package) Offered {
	out := Offered{}
	for i := range versions {
		k := [2]string{versions[i].Package, versions[i].Version}
		out[k] = append(out[k], versions[i].Digest)
	}
	return out
}

// Vanished is a locked version that no source has as it was locked.
type Vanished struct {
	resolver.LockedPackage
	// Now is what its number has now, "" where no source has that any more.
	Now string
}

// Vanished are the dependencies that are locked as no source has them, and that
// nobody asked to change. What variants come from, and what others put there, is
// no version of a catalogue.
func (t *Target) Vanished(offered Offered) []Vanished {
	if t.Lock == nil {
		return nil
	}
	var out []Vanished
	for _, p := range t.Lock.Packages {
		ref, name := path.Join(p.Namespace, p.Name), cmp.Or(p.Package, p.Name)
		have := offered[[2]string{name, p.Version}]
		if p.Digest == "" || p.Source == "" || slices.Contains(have, p.Digest) || t.refreshes(name) ||
			slices.ContainsFunc(t.Variants, func(v *Variant) bool { return v.Ref == ref }) ||
			slices.ContainsFunc(t.Existing, func(i resolver.Installation) bool { return i.Ref() == ref }) {
			continue
		}
		v := Vanished{LockedPackage: p}
		if len(have) > 0 {
			v.Now = have[0]
		}
		out = append(out, v)
	}
	return out
}

// refreshes says whether a package is to be another than it is locked.
func (t *Target) refreshes(name string) bool {
	return slices.Contains(t.Refresh, name) || slices.Contains(t.Refresh, "*") || t.exact(name) != ""
}

// exact is the one version that was asked for of a package, by name@version.
func (t *Target) exact(name string) string {
	for _, r := range t.Refresh {
		if n, v, ok := strings.Cut(r, "@"); ok && n == name {
			return strings.TrimPrefix(v, "v")
		}
	}
	return ""
}

// inexact are the requests that bring a package which has not the one version that was
// asked for of it, and why it has not.
func (a *Answer) inexact(ctx context.Context) (map[string]error, error) {
	out := map[string]error{}
	for _, i := range a.Resolution.Instances {
		v := a.Target.exact(i.Package)
		if v == "" || i.Existing || i.Requested || i.Version == v {
			continue
		}
		why, err := resolver.WhyNot(ctx, a.in.Input, i.Package, v) // without what fails for another reason
		if err != nil {
			return nil, err
		}
		err = &resolver.ConflictError{
			Kind: resolver.NoSolution, Summary: fmt.Sprintf("%s cannot be %s %s, and would be %s:", i.Ref(), i.Package, v, i.Version), Reasons: why,
		}
		for _, ref := range a.unsettled(a.bringing(i.Ref())) {
			out[ref] = err
		}
	}
	return out, nil
}
