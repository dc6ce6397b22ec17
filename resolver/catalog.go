package resolver

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
)

// Catalog is an index of package versions. Once built it says the same for ever and is safe for concurrent use. What
// does not depend on the rest of a resolution's input is worked out once, when the first one asks for it: many targets
// are best resolved against one Catalog.
type Catalog struct {
	packages map[string]*entry
	names    []string
	defaults map[string]string
	ignored  []string
	ranges   ranges // those of its own requirements
	// providers are the packages with a version that provides an API: the newest such, by the package's name.
	providers map[GVK][]*version
}

// entry is one package: its versions, newest first.
type entry struct {
	name     string
	versions []*version
	cands    []cand // the versions as candidates
	public   []cand // those that dependencies may have
	scope    Scope
	ranges   int      // how many different ranges the catalogue's requirements on it have
	admitted sync.Map // by a requirement's range, default and prereleases: the indexes of the versions in it, a solve.Set
}

func private(c cand) bool { return c.v.Private }

// version is one version of a package with its parsed number.
type version struct {
	*Package
	sem   *semver.Version
	index int // among its entry's versions, -1 for one that is in no catalogue
	facts atomic.Pointer[facts]
}

// CatalogOption adds to a catalogue.
type CatalogOption func(*Catalog) error

// WithDefaults registers the default implementation (a package name) of interfaces by their identifier.
func WithDefaults(d map[string]string) CatalogOption {
	return func(c *Catalog) error {
		for k, v := range d {
			c.defaults[k] = v
		}
		return nil
	}
}

var fullVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+].*)?$`)

// WithTags adds versions of which only the tag is known, by package. Tags that are not full versions are
// ignored ([Catalog.IgnoredTags]): "v1" would otherwise be taken for 1.0.0.
func WithTags(tags map[string][]string) CatalogOption {
	return func(c *Catalog) error {
		for _, name := range sortedKeys(tags) {
			for _, tag := range tags[name] {
				v, err := semver.NewVersion(tag)
				if err != nil || !fullVersion.MatchString(tag) {
					c.ignored = append(c.ignored, tag)
					continue
				}
				if err := c.add(Package{Package: name, Version: v.String(), Tag: tag}); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// NewCatalog indexes package versions. All that is wrong with them is reported together: a version that does
// not parse, a range that does not parse, the same version twice.
func NewCatalog(packages []Package, opts ...CatalogOption) (*Catalog, error) {
	c := emptyCatalog()
	var errs []error
	for _, p := range packages {
		errs = append(errs, c.add(p))
	}
	for _, o := range opts {
		errs = append(errs, o(c))
	}
	ranges := map[string]map[string]bool{}
	for _, e := range c.packages {
		slices.SortFunc(e.versions, func(a, b *version) int { return compareVersions(b, a) })
		for n, v := range e.versions {
			v.index = n
			e.cands = append(e.cands, cand{v: v, text: v.Version, sem: v.sem, digest: v.Digest})
			e.scope = stricter(e.scope, v.Scope)
			countRanges(v.Requires, ranges)
		}
		e.public = e.cands
		if slices.ContainsFunc(e.cands, private) {
			e.public = slices.DeleteFunc(slices.Clone(e.cands), private)
		}
	}
	c.names = sortedKeys(c.packages)
	c.providers = map[GVK][]*version{}
	for _, name := range c.names {
		c.index(c.packages[name])
	}
	for name, set := range ranges {
		if e := c.packages[name]; e != nil {
			e.ranges = len(set)
		}
	}
	return c, errors.Join(errs...)
}

// index notes which APIs a package provides.
func (c *Catalog) index(e *entry) {
	for _, v := range e.versions {
		for _, p := range v.Provides {
			if p.GVK == nil {
				continue
			}
			vs := c.providers[*p.GVK]
			if len(vs) == 0 || vs[len(vs)-1].Package.Package != e.name {
				c.providers[*p.GVK] = append(vs, v)
			}
		}
	}
}

func emptyCatalog() *Catalog {
	return &Catalog{packages: map[string]*entry{}, defaults: map[string]string{}}
}

// compareVersions orders by number, then by text, so that builds that differ in metadata alone have an order.
func compareVersions(a, b *version) int {
	if n := a.sem.Compare(b.sem); n != 0 {
		return n
	}
	return strings.Compare(a.Version, b.Version)
}

func stricter(a, b Scope) Scope {
	rank := func(s Scope) int { return slices.Index([]Scope{ScopeAny, ScopeNamespace, ScopeCluster}, s) }
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func countRanges(reqs []Requirement, ranges map[string]map[string]bool) {
	for _, r := range reqs {
		if r.Package != "" {
			if ranges[r.Package] == nil {
				ranges[r.Package] = map[string]bool{}
			}
			ranges[r.Package][r.Version+"|"+r.Default+"|"+canonical(r.Prereleases)] = true
		}
		countRanges(r.AnyOf, ranges)
	}
}

// add puts one version into the index.
func (c *Catalog) add(p Package) error {
	if p.Package == "" {
		return errors.New("catalogue: a package has no name")
	}
	v, err := parseVersion(p.Version)
	if err != nil {
		return fmt.Errorf("catalogue: package %s: version %q is not a semantic version: %w", p.Package, p.Version, err)
	}
	p.Scope = Scope(strings.ToLower(string(p.Scope)))
	if !slices.Contains([]Scope{"", ScopeAny, ScopeNamespace, ScopeCluster}, p.Scope) {
		return fmt.Errorf("catalogue: package %s %s: scope %q is none of cluster, namespace, any", p.Package, p.Version, p.Scope)
	}
	e := c.packages[p.Package]
	if e == nil {
		e = &entry{name: p.Package, scope: ScopeAny}
		c.packages[p.Package] = e
	}
	for _, o := range e.versions {
		if o.sem.Equal(v) && o.Version == p.Version {
			if o.Digest != p.Digest || o.Source != p.Source {
				return fmt.Errorf("catalogue: package %s %s is there twice, with digests %q and %q", p.Package, p.Version, o.Digest, p.Digest)
			}
			return nil
		}
	}
	p.Requires = slices.Clone(p.Requires)
	slices.SortStableFunc(p.Requires, func(a, b Requirement) int { return strings.Compare(a.Alias, b.Alias) })
	e.versions = append(e.versions, &version{Package: &p, sem: v})
	return nil
}

// parseVersion reads a full version, with or without a leading v.
func parseVersion(s string) (*semver.Version, error) {
	return semver.StrictNewVersion(strings.TrimPrefix(s, "v"))
}

// IgnoredTags are the tags that are no versions, in the order of their packages.
func (c *Catalog) IgnoredTags() []string { return slices.Clone(c.ignored) }

// Packages lists the names of all packages, sorted.
func (c *Catalog) Packages() []string { return slices.Clone(c.names) }

// Versions lists the versions of a package, newest first; nil where it is not known.
func (c *Catalog) Versions(name string) []Package {
	var out []Package
	for _, v := range c.versions(name) {
		out = append(out, *v.Package)
	}
	return out
}

// Default is the package that is registered as the default implementation of an interface.
func (c *Catalog) Default(iface string) (string, bool) {
	d, ok := c.defaults[iface]
	return d, ok
}

func (c *Catalog) versions(name string) []*version {
	if e := c.packages[name]; e != nil {
		return e.versions
	}
	return nil
}

// find is the version of a package with a number or a digest, or nil.
func (c *Catalog) find(name, v string) *version {
	if d := api.DigestOf(v); d != "" {
		return c.withDigest(name, d)
	}
	for _, o := range c.versions(name) {
		if sameVersion(o.Version, v) {
			return o
		}
	}
	return nil
}

// withDigest is the newest version of a package that has a digest, or nil.
func (c *Catalog) withDigest(name, digest string) *version {
	for _, v := range c.versions(name) {
		if v.Digest == digest {
			return v
		}
	}
	return nil
}

func (c *Catalog) scope(name string) Scope {
	if e := c.packages[name]; e != nil {
		return e.scope
	}
	return ScopeAny
}

// IsVersion tells whether a text is a full version, with or without a leading v.
func IsVersion(s string) bool {
	_, err := parseVersion(s)
	return err == nil
}
