package resolver

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/revision"
)

// ranges parses each range once. It is safe for concurrent use.
type ranges struct {
	parsed sync.Map // text to parsedRange
	of     *ranges  // those of the catalogue, which are looked at first
}

type parsedRange struct {
	c   *revision.Range
	err error
}

func (r *ranges) get(text string) (*revision.Range, error) {
	for _, known := range []*ranges{r.of, r} {
		if known == nil {
			continue
		}
		if p, ok := known.parsed.Load(text); ok {
			p := p.(parsedRange)
			return p.c, p.err
		}
	}
	var p parsedRange
	p.c, p.err = revision.ParseRange(cmp.Or(text, "*"))
	r.parsed.Store(text, p)
	return p.c, p.err
}

// selection is which versions a text admits: those in a range, or those with one digest.
type selection struct {
	c      *revision.Range
	digest string
}

// selection reads a range of versions, or a digest in its place.
func (r *ranges) selection(text string) (selection, error) {
	if d := api.DigestOf(text); d != "" {
		return selection{digest: d}, nil
	}
	c, err := r.get(text)
	return selection{c: c}, err
}

// admits tells whether a version, of which the number or the digest may not be known, is selected.
func (s selection) admits(v *semver.Version, digest string, pre *Prereleases) bool {
	if s.digest != "" {
		return s.digest == digest
	}
	return v != nil && admits(s.c, v, pre)
}

// at names a package at a version, a range of them, or a digest, of which it has the beginning.
func at(pkg, version string) string {
	d := api.DigestOf(version)
	if d == "" {
		return strings.TrimSpace(pkg + " " + version)
	}
	return pkg + "@" + shortDigest(d)
}

// shortDigest is the beginning of a digest, which is enough for a person to tell it from others.
func shortDigest(d string) string {
	const shown = 12
	algorithm, hash, _ := strings.Cut(d, ":")
	if len(hash) <= shown {
		return d
	}
	return algorithm + ":" + hash[:shown] + "…"
}

// admits tells whether a version is in a range. Prereleases are in it only where the range names one
// ("-0"), or where pre admits their identifier.
func admits(c *revision.Range, v *semver.Version, pre *Prereleases) bool {
	if c.Check(v) {
		return true
	}
	if pre == nil || v.Prerelease() == "" || !named(pre, v.Prerelease()) {
		return false
	}
	return c.CheckPrerelease(v)
}

// prerelease finds a prerelease in a range of versions.
var prerelease = lazyregexp.New(`[0-9xX*]-[0-9A-Za-z]`)

// holds tells whether a platform's version is in a range. What a platform runs is a fact and no offer: 1.30.4-gke.1348000
// is its release 1.30.4, unless the range itself tells prereleases apart.
func (r *ranges) holds(text string, v *semver.Version) bool {
	release := semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
	for _, part := range strings.Split(text, "||") {
		c, err := r.get(strings.TrimSpace(part))
		if err != nil {
			return false
		}
		if !prerelease.MatchString(part) {
			if c.Check(release) {
				return true
			}
			continue
		}
		if c.CheckPrerelease(v) {
			return true
		}
	}
	return false
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
