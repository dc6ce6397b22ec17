package resolver

import (
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// ranges parses each range once.
type ranges map[string]parsedRange

type parsedRange struct {
	c   *semver.Constraints
	err error
}

func (r ranges) get(text string) (*semver.Constraints, error) {
	p, ok := r[text]
	if !ok {
		c := text
		if c == "" {
			c = "*"
		}
		p.c, p.err = semver.NewConstraint(c)
		r[text] = p
	}
	return p.c, p.err
}

// admits tells whether a version is in a range. Prereleases are in it only where the range names one
// ("-0"), or where pre admits their identifier.
func admits(c *semver.Constraints, v *semver.Version, pre *Prereleases) bool {
	if c.Check(v) {
		return true
	}
	if pre == nil || v.Prerelease() == "" || !named(pre, v.Prerelease()) {
		return false
	}
	wide := *c
	wide.IncludePrerelease = true
	return wide.Check(v)
}

// named tells whether one of the identifiers is among those of a prerelease.
func named(p *Prereleases, prerelease string) bool {
	if len(p.Identifiers) == 0 {
		return true
	}
	for _, part := range strings.Split(prerelease, ".") {
		if slices.Contains(p.Identifiers, part) {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// baseName is the last part of a package's name.
func baseName(pkg string) string { return pkg[strings.LastIndex(pkg, "/")+1:] }
