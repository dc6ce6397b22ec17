package resolver

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/revision"
)

// Catalog is an index of package versions. Once built it says the same for ever and is safe for concurrent use. What
// does not depend on the rest of a resolution's input is worked out once, when the first one asks for it: many targets
// are best resolved against one Catalog.
type Catalog struct {
	// Unread is how many of its sources could not be read: a package that is missing may be there. Set it before use.
	Unread int

	packages map[string]*entry
	names    []string
	defaults map[string]string
	unusable map[string][]*VersionError // by package
	ranges   ranges                     // those of its own requirements
	// providers are the packages with a version that provides an API: the newest such, by the package's name.
	providers map[GVK][]*version
}

// entry is one package: its versions, newest first.
type entry struct {
	name     string
	versions []*version
	cands    []cand // the versions as candidates
	asked    []cand // those that who asks for them may have, public those that dependencies may have
	public   []cand
	lax      Scope
	ranges   int      // how many different ranges the catalogue's requirements on it have
	admitted sync.Map // by a requirement's range, default and prereleases: the indexes of the versions in it, a solve.Set
}

func private(c cand) bool { return c.v.Private }
func gone(c cand) bool    { return c.v.Gone }

// without are the candidates that something is not said of.
func without(cands []cand, said func(cand) bool) []cand {
	if !slices.ContainsFunc(cands, said) {
		return cands // the very same, which is compared by its address
	}
	return slices.DeleteFunc(slices.Clone(cands), said)
}

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

// WithUnusable says what is known to be broken, and why: conflicts are explained with it.
func WithUnusable(list ...*VersionError) CatalogOption {
	return func(c *Catalog) error {
		for _, e := range list {
			c.putAside(e)
		}
		return nil
	}
}

// NewCatalog indexes package versions. Those that nobody can have stop nothing: [Catalog.Unusable] lists them. The error
// is that of an option.
func NewCatalog(packages []Package, opts ...CatalogOption) (*Catalog, error) {
	c := emptyCatalog()
	usable, unusable := usableVersions(packages)
	for _, v := range usable {
		c.add(v)
	}
	errs := []error{WithUnusable(unusable...)(c)}
	for _, o := range opts {
		errs = append(errs, o(c))
	}
	ranges := map[string]map[string]bool{}
	for _, e := range c.packages {
		slices.SortFunc(e.versions, func(a, b *version) int { return compareVersions(b, a) })
		for n, v := range e.versions {
			v.index = n
			e.cands = append(e.cands, cand{v: v, text: v.Version, sem: v.sem, digest: v.Digest})
			if !v.Gone {
				e.lax = laxer(cmp.Or(e.lax, v.Scope), v.Scope)
			}
			countRanges(v.Requires, ranges)
		}
		e.asked = without(e.cands, gone)
		e.public = without(e.asked, private)
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
	return &Catalog{packages: map[string]*entry{}, defaults: map[string]string{}, unusable: map[string][]*VersionError{}}
}

// compareVersions orders by number, then by metadata, for which semver has no order (+k8s10 is after +k8s2), so that
// builds that differ in it alone have one, as have the contents that one number had one after the other.
func compareVersions(a, b *version) int {
	return cmp.Or(revision.Compare(a.sem, b.sem), strings.Compare(a.Version, b.Version), cmp.Compare(rankGone(a), rankGone(b)), strings.Compare(a.Digest, b.Digest))
}

func rankGone(v *version) int {
	if v.Gone {
		return 0
	}
	return 1
}

func laxer(a, b Scope) Scope {
	if stricter(a, b) == a {
		return b
	}
	return a
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

// newVersion reads what is to be put into the index.
func newVersion(p Package) (*version, error) {
	if p.Package == "" {
		return nil, errors.New("the package has no name")
	}
	v, err := parseVersion(p.Version)
	if err != nil {
		return nil, fmt.Errorf("version %q of package %s is not a semantic version: %w", p.Version, p.Package, err)
	}
	p.Scope = cmp.Or(Scope(strings.ToLower(string(p.Scope))), ScopeAny)
	if !slices.Contains([]Scope{ScopeAny, ScopeNamespace, ScopeCluster}, p.Scope) {
		return nil, fmt.Errorf("scope %q of package %s %s is none of cluster, namespace, any", p.Scope, p.Package, p.Version)
	}
	p.Requires = slices.Clone(p.Requires)
	slices.SortStableFunc(p.Requires, func(a, b Requirement) int { return strings.Compare(a.Alias, b.Alias) })
	return &version{Package: &p, sem: v}, nil
}

// add puts one version into the index.
func (c *Catalog) add(v *version) {
	name := v.Package.Package
	e := c.packages[name]
	if e == nil {
		e = &entry{name: name}
		c.packages[name] = e
	}
	e.versions = append(e.versions, v)
}

func (c *Catalog) putAside(e *VersionError) { c.unusable[e.Package] = append(c.unusable[e.Package], e) }

// parseVersion reads a full version, with or without a leading v.
func parseVersion(s string) (*semver.Version, error) {
	return semver.StrictNewVersion(strings.TrimPrefix(s, "v"))
}

// IgnoredTags are the tags that are no versions, in the order of their packages.
func (c *Catalog) IgnoredTags() []string {
	var out []string
	for _, e := range c.Unusable() {
		if e.Why == "" {
			out = append(out, e.Tag)
		}
	}
	return out
}

// Unusable are the versions that nobody can have, and the tags that are no versions, by package.
func (c *Catalog) Unusable() []*VersionError {
	var out []*VersionError
	for _, name := range sortedKeys(c.unusable) {
		out = append(out, c.unusable[name]...)
	}
	return out
}

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

// lax is the laxest scope of a package's versions.
func (c *Catalog) lax(name string) Scope {
	if e := c.packages[name]; e != nil {
		return cmp.Or(e.lax, ScopeAny)
	}
	return ScopeAny
}

// IsVersion tells whether a text is a full version, with or without a leading v.
func IsVersion(s string) bool {
	_, err := parseVersion(s)
	return err == nil
}
