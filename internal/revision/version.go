package revision

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Version is a tag that is a whole semantic version.
type Version struct {
	Tag    string // as Names.Look takes it
	Semver *semver.Version
}

// ParseVersion reads a tag's last part as a whole semantic version, with or
// without a v. A registry's tag cannot hold a plus: build metadata stand after
// an underscore there, as in Helm.
func ParseVersion(tag string) (*semver.Version, bool) {
	v, err := semver.StrictNewVersion(strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1))
	return v, err == nil
}

// Published is revision N as a version, for packages that have no others: N.0.0.
func Published(n int) Version {
	return Version{"v" + strconv.Itoa(n), semver.New(uint64(max(n, 0)), 0, 0, "", "")}
}

// Highest is the highest version that is no prerelease.
func Highest(list []Version) (v Version, ok bool) {
	for _, w := range list {
		if w.Semver.Prerelease() == "" && (!ok || v.compare(w) < 0) {
			v, ok = w, true
		}
	}
	return v, ok
}

// inRange is the highest version in a range.
func inRange[T any](ctx context.Context, text string, c Cascade, names Names[T]) (at T, rule Rule, err error) {
	within, err := ParseRange(text)
	if err != nil {
		return at, "", names.None(ctx, "it is no "+c.Names+", and does not read as a version range", nil)
	}
	versions, err := names.Versions(ctx)
	if err != nil {
		return at, "", err
	}
	if len(versions) == 0 {
		return at, "", names.None(ctx, "a version range reads tags v<major>.<minor>.<patch> or <major>.<minor>.<patch>, or v<N> where there are none of those; the package has none of them", nil)
	}
	versions = slices.SortedFunc(slices.Values(versions), func(a, b Version) int { return -a.compare(b) })
	there := make([]string, 0, len(versions))
	for _, v := range versions {
		if within.Check(v.Semver) {
			// A store may have to look whether one is Published: then the next is asked.
			if at, ok, err := names.Look(ctx, RuleRange, v.Tag); ok || err != nil {
				return at, RuleRange, err
			}
		}
		there = append(there, v.Tag)
	}
	return at, "", names.None(ctx, "no version is in that range (prereleases only where the range names one)", there)
}

// compare orders by version, then by name those that differ in build metadata
// alone.
func (v Version) compare(w Version) int {
	return cmp.Or(Compare(v.Semver, w.Semver), strings.Compare(v.Tag, w.Tag))
}
