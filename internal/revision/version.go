package revision

import (
	"cmp"
	"context"
	"slices"
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

// inRange is the highest version in a range.
func inRange[T any](ctx context.Context, text string, c Cascade, names Names[T]) (at T, rule Rule, err error) {
	within, err := semver.NewConstraint(text)
	if err != nil {
		return at, "", names.None(ctx, "it is no "+c.Names+", and does not read as a version range", nil)
	}
	versions, err := names.Versions(ctx)
	if err != nil {
		return at, "", err
	}
	if len(versions) == 0 {
		return at, "", names.None(ctx, "a version range looks at tags v<major>.<minor>.<patch>, and there are none", nil)
	}
	versions = slices.SortedFunc(slices.Values(versions), func(a, b Version) int { return -a.compare(b) })
	there := make([]string, 0, len(versions))
	for _, v := range versions {
		if within.Check(v.Semver) {
			return look(ctx, RuleRange, v.Tag, names, "its tag is gone")
		}
		there = append(there, v.Tag)
	}
	return at, "", names.None(ctx, "no version is in that range (prereleases only where the range names one)", there)
}

// compare orders by version, then by name those that differ in build metadata
// alone.
func (v Version) compare(w Version) int {
	return cmp.Or(v.Semver.Compare(w.Semver), strings.Compare(v.Tag, w.Tag))
}
