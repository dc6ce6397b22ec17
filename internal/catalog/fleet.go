package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/revision"
	"github.com/variform/variform/resolver"
)

// FromAnswer is a target of a fleet's variants with its answer; a nil answer has
// err.
func FromAnswer(name string, a *depend.Answer, err error) Target {
	t := Target{Name: name, Err: err}
	if a != nil {
		t.Input, t.Resolution, t.Lock, t.answer = a.Input, a.Resolution, a.Lock, a
		if a.Err != nil { // which names no target
			t.Err = a.Err
		} else {
			t.Failed = a.Causes()
		}
	}
	if t.Err != nil {
		t.Resolution, t.Lock = nil, nil
	}
	return t
}

// Causes are why the target has no answer, or why some of what was asked for has none.
func (t *Target) Causes() []error {
	switch {
	case t.Err == nil:
		return t.Failed
	case t.answer != nil && t.answer.Err != nil && len(t.answer.Failed) > 0:
		return t.answer.Causes()
	}
	return []error{t.Err}
}

// Named are the targets of some names, all of them for none.
func Named(targets []Target, names []string) []Target {
	if len(names) == 0 {
		return targets
	}
	return slices.DeleteFunc(targets, func(t Target) bool { return !slices.Contains(names, t.Name) })
}

// Without lists the targets among those named, all of them for none, that only
// Installations name: they are in no registered Repository. A name that nothing
// has is ErrNoTarget.
func (w *Wanted) Without(known []Target, named []string) ([]*depend.Target, error) {
	all := w.Targets()
	names := namesOf(all)
	for i := range known {
		names = append(names, known[i].Name)
	}
	if err := missing(named, names); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t *depend.Target) bool {
		n := t.Name()
		return w.Repository(t) != nil || len(named) > 0 && !slices.Contains(named, n) || n == "" && len(known) > 0
	}), nil
}

// Why tells who needs a package in the target and why it has its version, for
// every instance of it that is in a range of versions, in place or to be; an
// empty range is every version. Of what has no answer it tells what stands. Nil where
// there is none.
func (t *Target) Why(pkg, within string) ([]string, error) {
	var r *revision.Range
	if within != "" {
		var err error
		if r, err = revision.ParseRange(within); err != nil {
			return nil, fmt.Errorf("%q is no range of versions: %w", within, err)
		}
	}
	in := func(version string) bool {
		v, err := semver.NewVersion(version)
		return r == nil || err == nil && r.CheckPrerelease(v)
	}
	lines := t.standing(pkg, in)
	if t.Resolution == nil {
		return lines, nil
	}
	for _, i := range t.Resolution.Instances {
		if !means(pkg, i.Package, i.Ref()) || !in(i.Version) && (i.From == "" || !in(i.From)) {
			continue
		}
		lines = append(lines, t.Resolution.Why(i.Ref())...)
		if i.From != "" && i.From != i.Version {
			lines = append(lines, fmt.Sprintf("%s is in place as %s", i.From, i.Ref()))
		}
	}
	return lines, nil
}

// WhyNot tells why a package does not have a version in the target, beside what has no
// answer.
func (t *Target) WhyNot(ctx context.Context, pkg, version string) ([]string, error) {
	stands := func(had string) bool { return t.Err != nil || strings.TrimPrefix(version, "v") != had }
	lines := t.standing(pkg, stands)
	if len(lines) == 0 && t.Err == nil {
		return resolver.WhyNot(ctx, t.answer.Rest(), pkg, version)
	}
	return lines, nil
}

// standing tells what was asked for of a package and has no answer, and what stands:
// in its place, or, where the whole target has none, of the package.
func (t *Target) standing(pkg string, in func(version string) bool) (lines []string) {
	locked, failed := t.locked(), map[string]bool{}
	for _, r := range t.unanswered() {
		failed[r.Ref()] = true
		was := locked[r.Ref()]
		if !means(pkg, r.Package, r.Ref()) || was != nil && !in(was.Version) {
			continue
		}
		line := strings.TrimSpace(cmp.Or(r.Package, r.Ref())+" "+r.Version) + " was asked for and has no answer"
		if was != nil {
			line += fmt.Sprintf(", and %s stands as it is locked", was.Version)
		}
		lines = append(lines, line)
	}
	if t.Err == nil {
		return lines
	}
	for _, ref := range slices.Sorted(maps.Keys(locked)) {
		p := locked[ref]
		name := cmp.Or(p.Package, p.Name)
		if !failed[ref] && means(pkg, name, ref) && in(p.Version) {
			lines = append(lines, fmt.Sprintf("%s %s stands as it is locked, %s, until the target has an answer", name, p.Version, cmp.Or(p.Why, "there already")))
		}
	}
	for _, i := range t.Input.Installations {
		if locked[i.Ref()] == nil && means(pkg, i.Package, i.Ref()) && in(i.Version) {
			lines = append(lines, fmt.Sprintf("%s %s is there as %s", i.Package, i.Version, i.Ref()))
		}
	}
	return lines
}

// means says whether a name is a package's, or that of an instance of it.
func means(name, pkg, ref string) bool { return name == pkg || name == ref || name == path.Base(ref) }

// locked is what the target's lock has, by path.
func (t *Target) locked() map[string]*resolver.LockedPackage {
	out := map[string]*resolver.LockedPackage{}
	if t.answer != nil && t.answer.Target.Lock != nil {
		for n := range t.answer.Target.Lock.Packages {
			p := &t.answer.Target.Lock.Packages[n]
			out[path.Join(p.Namespace, p.Name)] = p
		}
	}
	return out
}

// unanswered is what was asked for and has no answer.
func (t *Target) unanswered() (out []resolver.Request) {
	if t.answer == nil {
		return nil
	}
	for _, ref := range slices.Sorted(maps.Keys(t.answer.Failed)) {
		r := resolver.Request{Name: path.Base(ref), Namespace: strings.TrimSuffix(strings.TrimSuffix(ref, path.Base(ref)), "/")}
		if at := slices.IndexFunc(t.Input.Want, func(w resolver.Request) bool { return w.Ref() == ref }); at >= 0 {
			r = t.Input.Want[at]
		}
		out = append(out, r)
	}
	return out
}

// Said is what is told of targets: those of which the same is to be told are one
// group.
type Said struct{ Groups []SaidGroup }

// SaidGroup are some targets and what is told of each of them.
type SaidGroup struct{ Targets, Lines []string }

// Add tells something of one more target.
func (s *Said) Add(target string, lines []string) {
	for i := range s.Groups {
		if slices.Equal(s.Groups[i].Lines, lines) {
			s.Groups[i].Targets = append(s.Groups[i].Targets, target)
			return
		}
	}
	s.Groups = append(s.Groups, SaidGroup{[]string{target}, lines})
}
