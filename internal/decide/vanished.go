package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/resolver"
)

// Vanished are locked versions that no source has as they were locked, each with
// the targets that have it.
type Vanished struct {
	lines   [][2]string // before and after the names of targets
	targets map[[2]string][]string
}

// Add takes in one of a target; kept is what was made of it, nil for nothing.
func (v *Vanished) Add(t *Target, p depend.Vanished, kept *resolver.Package) {
	name := cmp.Or(p.Package, p.Name)
	line := [2]string{name + " " + p.Version + " is locked in target ", " and no source has it any more"}
	if p.Now != "" {
		line[1] = fmt.Sprintf(" as %s and is now %s in %s", p.Digest, p.Now, p.Source)
	}
	switch {
	case kept == nil && p.Now != "":
		return // the target's answer is refused for it
	case kept == nil:
		line[1] += ": nothing was made of it yet, so that it is resolved anew"
	case p.Now != "":
		line[1] += fmt.Sprintf(": what is locked stays; find out why tag %s moved, then take what it is now with --upgrade %s@%s, or the newest version with --upgrade %s", kept.Tag, name, p.Version, name)
	default:
		line[1] += fmt.Sprintf(" (tag %s of %s): it stays; --upgrade %s takes the newest version", kept.Tag, p.Source, name)
	}
	if v.targets == nil {
		v.targets = map[[2]string][]string{}
	}
	if v.targets[line] == nil {
		v.lines = append(v.lines, line)
	}
	v.targets[line] = append(v.targets[line], t.Name())
}

// Warnings say each once.
func (v *Vanished) Warnings() []string {
	var out []string
	for _, line := range v.lines {
		out = append(out, line[0]+strings.Join(Limit(v.targets[line], 3), ", ")+line[1])
	}
	return out
}

// Unknown says which of the packages to upgrade are none that there is, by name or
// name@version.
func Unknown(refresh []string, versions []resolver.Package, targets []*Target) []error {
	names, offered := map[string]bool{}, depend.NewOffered(versions)
	for i := range versions {
		names[versions[i].Package] = true
	}
	for _, t := range targets {
		if t.Lock != nil {
			for _, p := range t.Lock.Packages {
				names[cmp.Or(p.Package, p.Name)] = true
			}
		}
	}
	var errs []error
	for _, r := range refresh {
		name, version, exact := strings.Cut(r, "@")
		there := slices.Sorted(maps.Keys(names))
		switch {
		case r == "*":
		case strings.ContainsAny(name, "*?["):
			errs = append(errs, fmt.Errorf("--upgrade %s: patterns mean nothing: give names, or * alone for all", r))
		case len(names) == 0:
			errs = append(errs, fmt.Errorf("--upgrade %s: no variant of this fleet needs a package: to update a set, change the revision of its upstream", r))
		case !names[name]:
			what := cmp.Or(api.DidYouMean(name, there), "there are "+strings.Join(Limit(there, 9), ", "))
			errs = append(errs, fmt.Errorf("--upgrade %s: no package is called %s: %s", r, name, what))
		case exact && len(offered[[2]string{name, strings.TrimPrefix(version, "v")}]) == 0:
			errs = append(errs, fmt.Errorf("--upgrade %s: no source has version %s of %s", r, version, name))
		}
	}
	return errs
}
