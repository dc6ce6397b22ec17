package resolver

import (
	"regexp"

	"github.com/Masterminds/semver/v3"
)

var fullVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+].*)?$`)

// withTags adds versions of which only the tag is known, by package. Tags that are not full versions are
// ignored ([Catalog.IgnoredTags]): "v1" would otherwise be taken for 1.0.0.
func withTags(tags map[string][]string) CatalogOption {
	return func(c *Catalog) error {
		for _, name := range sortedKeys(tags) {
			for _, tag := range tags[name] {
				v, err := semver.NewVersion(tag)
				if err != nil || !fullVersion.MatchString(tag) {
					c.putAside(&VersionError{Package: name, Tag: tag})
					continue
				}
				if c.find(name, v.String()) == nil {
					c.add(&version{Package: &Package{Package: name, Version: v.String(), Tag: tag}, sem: v})
				}
			}
		}
		return nil
	}
}
