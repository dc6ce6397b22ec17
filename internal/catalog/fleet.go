package catalog

import (
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/internal/depend"
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
// empty range is every version. Nil where there is none.
func (t *Target) Why(pkg, within string) ([]string, error) {
	var r *semver.Constraints
	if within != "" {
		var err error
		if r, err = semver.NewConstraint(within); err != nil {
			return nil, fmt.Errorf("%q is no range of versions: %w", within, err)
		}
		r.IncludePrerelease = true
	}
	if t.Resolution == nil {
		return nil, nil
	}
	in := func(version string) bool {
		v, err := semver.NewVersion(version)
		return r == nil || err == nil && r.Check(v)
	}
	var lines []string
	for _, i := range t.Resolution.Instances {
		if i.Package != pkg && i.Ref() != pkg && i.Name != pkg || !in(i.Version) && (i.From == "" || !in(i.From)) {
			continue
		}
		lines = append(lines, t.Resolution.Why(i.Ref())...)
		if i.From != "" && i.From != i.Version {
			lines = append(lines, fmt.Sprintf("%s is in place as %s", i.From, i.Ref()))
		}
	}
	return lines, nil
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
