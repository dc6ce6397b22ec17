package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/revision"
	"github.com/variform/variform/resolver"
)

// Query filters entries; fields that are empty let all pass (Porter PEP003,
// provisional: "Porter Bundle Index").
type Query struct {
	// Labels must all be there with these values.
	Labels map[string]string
	// Interface is one that the package provides, Name a part of its name,
	// Keyword one of its Kptfile's keywords.
	Interface, Name, Keyword string
}

// Match says whether an entry passes.
func (q Query) Match(e *Entry) bool {
	for k, v := range q.Labels {
		if got, ok := e.Labels[k]; !ok || got != v {
			return false
		}
	}
	switch {
	case q.Name != "" && !strings.Contains(e.Package.Package, q.Name),
		q.Keyword != "" && !slices.Contains(e.Keywords, q.Keyword),
		q.Interface != "" && !slices.ContainsFunc(e.Provides, func(p resolver.Provide) bool { return p.Interface == q.Interface }):
		return false
	}
	return true
}

// Missing says that no package has a name, and which may be meant; nil where one
// has, be it one that nobody can have.
func (c *Content) Missing(pkg string) error {
	var names []string
	for i := range c.Entries {
		names = append(names, c.Entries[i].Package.Package)
	}
	if slices.Contains(names, pkg) || slices.ContainsFunc(c.Unusable, func(e *resolver.VersionError) bool { return e.Package == pkg }) {
		return nil
	}
	if hint := api.DidYouMean(pkg, names); hint != "" {
		return fmt.Errorf("no catalogue has a package %q: %s", pkg, hint)
	}
	return fmt.Errorf("no catalogue has a package %q", pkg)
}

// Newest is the newest version of a package among the entries, releases before
// prereleases; "" where there is none.
func Newest(entries []Entry, pkg string) string {
	var best *semver.Version
	for i := range entries {
		if entries[i].Package.Package != pkg {
			continue
		}
		v, err := semver.NewVersion(entries[i].Version)
		if err == nil && (best == nil || newer(v, best)) {
			best = v
		}
	}
	if best == nil {
		return ""
	}
	return best.Original()
}

// Newer reports whether a version is newer than another, as [Newest] orders them;
// false where one of them is no version.
func Newer(a, b string) bool {
	v, err := semver.NewVersion(a)
	w, other := semver.NewVersion(b)
	return err == nil && other == nil && newer(v, w)
}

func newer(a, b *semver.Version) bool {
	if pre := a.Prerelease() == ""; pre != (b.Prerelease() == "") {
		return pre
	}
	return revision.Compare(a, b) > 0
}
