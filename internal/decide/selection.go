package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/variform/variform/api"
)

// Selection says which packages a person means; one without anything means all.
type Selection struct {
	// Names are of variants, repository/package, sets, Repositories, targets or
	// packages: what has one of them is meant.
	Names []string
	// Labels must match those of its Repository and, before those, of the package;
	// nil matches all.
	Labels labels.Selector
	// Since leaves out what has not moved since then; zero leaves out nothing.
	Since time.Time
}

// Selectable is what a Selection is asked about.
type Selectable struct {
	Names  func() []string // any of which means it; none is ""
	Labels map[string]string
	When   time.Time // it moved last; zero is now
}

// given are the names that are some: a variant of no set is not called "", which a script's
// unset variable is.
func given(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// All says that everything is meant.
func (s Selection) All() bool { return len(s.Names) == 0 && s.Labels == nil && s.Since.IsZero() }

// Means says whether one is meant.
func (s Selection) Means(at Selectable) bool {
	called := len(s.Names) == 0 || slices.ContainsFunc(at.Names(), func(n string) bool { return slices.Contains(s.Names, n) })
	return called && s.rest(at)
}

// rest says whether what its names mean is meant besides.
func (s Selection) rest(at Selectable) bool {
	return (s.Labels == nil || s.Labels.Matches(labels.Set(at.Labels))) && (at.When.IsZero() || !at.When.Before(s.Since))
}

// Meant takes what is meant out of all; missing are the names that mean nothing.
func Meant[T any](s Selection, all []T, of func(T) Selectable) (chosen []T, missing []string) {
	used := map[string]bool{} // by each name: whether it means something
	for _, n := range s.Names {
		used[n] = false
	}
	for _, x := range all {
		at, called := of(x), len(s.Names) == 0
		if !called {
			for _, n := range at.Names() {
				if _, asked := used[n]; asked {
					called, used[n] = true, true
				}
			}
		}
		if called && s.rest(at) {
			chosen = append(chosen, x)
		}
	}
	return chosen, slices.DeleteFunc(slices.Clone(s.Names), func(n string) bool { return used[n] })
}

// Hint is what to do about a name that means nothing: the nearest of the names that mean
// something, else other.
func Hint(name string, names []string, other string) string {
	return cmp.Or(api.DidYouMean(name, names), other)
}

// String says what is meant besides names.
func (s Selection) String() string {
	var parts []string
	if s.Labels != nil {
		parts = append(parts, fmt.Sprintf("with the labels %q", s.Labels))
	}
	if !s.Since.IsZero() {
		parts = append(parts, "moved since "+s.Since.Format(time.RFC3339))
	}
	return strings.Join(parts, " that ")
}

// ParseLabels reads a label selector as kubectl takes it, "" for none.
func ParseLabels(text string) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	s, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("label selector %q: %w", text, err)
	}
	return s, nil
}

// ParseSince reads a day, a time, or how long ago that was (90m, 24h, 7d), "" for
// the beginning.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.Atoi(n); err == nil && days >= 0 {
			return now.AddDate(0, 0, -days), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: give a day (2026-01-31), a time (2026-01-31T09:00:00Z), or how long ago it was (90m, 24h, 7d)", text)
}

// LabelsOf are the labels that a package is selected by. Shared: read only.
func LabelsOf(repository, own map[string]string) map[string]string {
	switch {
	case len(repository) == 0:
		return own
	case len(own) == 0:
		return repository
	}
	out := maps.Clone(repository)
	maps.Copy(out, own)
	return out
}

// Part is how much of what is meant is taken, the first by name; the zero value
// takes all.
type Part struct {
	Max     int // so many
	Percent int // of a hundred, rounded up
}

// Check says what a part cannot be.
func (p Part) Check() error {
	if p.Max < 0 || p.Percent < 0 || p.Percent > 100 {
		return fmt.Errorf("a part is a number of packages, or 1 to 100 percent of them, not %d and %d", p.Max, p.Percent)
	}
	return nil
}

// Of is how many of n are taken.
func (p Part) Of(n int) int {
	if p.Percent > 0 {
		n = (n*p.Percent + 99) / 100
	}
	if p.Max > 0 {
		n = min(n, p.Max)
	}
	return n
}
