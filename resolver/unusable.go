package resolver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api"
)

// VersionError is a version of a package that nobody can have, and why; the other versions can be had. Without Why it is
// a tag of the package that is no version, and that was passed over.
type VersionError struct {
	Package, Version string
	Source, Tag      string
	Why              string
}

// Error names the source, the tag and the cause.
func (e *VersionError) Error() string {
	source := ""
	if e.Source != "" {
		source = "source " + e.Source + ": "
	}
	return fmt.Sprintf("%s%s: %s", source, e.name(), cmp.Or(e.Why, "it is no semantic version"))
}

// name is the tag, or where there is none the package at its version.
func (e *VersionError) name() string {
	if e.Tag != "" {
		return "tag " + e.Tag
	}
	return strings.TrimSpace("package " + e.Package + " " + e.Version)
}

// where is the tag and the source of a version.
func where(p *Package) string {
	if p.Tag == "" {
		return fmt.Sprintf("%q", p.Digest)
	}
	return fmt.Sprintf("tag %s of %s (%s)", p.Tag, p.Source, shortDigest(p.Digest))
}

// Usable parts versions that can be had from those that nobody can: one that is no semantic version, or that is there
// twice with different content.
func Usable(packages []Package) (usable []Package, unusable []*VersionError) {
	vs, unusable := usableVersions(packages)
	for _, v := range vs {
		usable = append(usable, *v.Package)
	}
	return usable, unusable
}

func usableVersions(packages []Package) (usable []*version, unusable []*VersionError) {
	type key struct {
		name, version, digest string
		private               bool
	}
	first, doubled := map[key]*version{}, map[key]*VersionError{}
	keyOf := func(v *version) key {
		k := key{name: v.Package.Package, version: v.sem.String(), private: v.Private}
		if v.Gone {
			k.digest = v.Digest
		}
		return k
	}
	for i := range packages {
		v, err := newVersion(packages[i])
		if err != nil {
			p := &packages[i]
			unusable = append(unusable, &VersionError{p.Package, p.Version, p.Source, p.Tag, err.Error()})
			continue
		}
		k := keyOf(v)
		o := first[k]
		switch {
		case o == nil:
			first[k] = v
			usable = append(usable, v)
		case o.Digest == v.Digest && (v.Digest != "" || o.Source == v.Source): // a mirror
		case doubled[k] == nil:
			text := fmt.Sprintf("version %s of package %s is there twice, as %s and as %s", o.Version, k.name, where(o.Package), where(v.Package))
			doubled[k] = &VersionError{k.name, o.Version, o.Source, o.Tag, text + ": nobody can have it until one of them has another version; a published tag is not to be moved, so publish a new one"}
			unusable = append(unusable, doubled[k])
		}
	}
	return slices.DeleteFunc(usable, func(v *version) bool { return doubled[keyOf(v)] != nil }), unusable
}

// unusableOf is what is known of a package beside its versions, which explains why it has no other: what of it fits a
// range, or all of it where the range cannot tell, and its tags that are no versions.
func (u *universe) unusableOf(pkg, asked string) string {
	var broken, passed []string
	sel, err := u.rs.selection(asked)
	for _, e := range u.cat.unusable[pkg] {
		v, parseErr := parseVersion(e.Version)
		switch {
		case e.Why == "":
			passed = append(passed, e.Tag)
		case err != nil || parseErr != nil || sel.c == nil || admits(sel.c, v, &Prereleases{}):
			broken = append(broken, fmt.Sprintf("%s (%s)", e.name(), strings.ReplaceAll(e.Why, "\n", "; ")))
		}
	}
	var out string
	if len(broken) > 0 {
		out += ", and nobody can have " + shorten(broken, 3)
	}
	if len(passed) > 0 {
		out += fmt.Sprintf(", and %s no version, as vN or vX.Y.Z would be", are(passed))
	}
	return out
}

// are joins names of tags with their verb.
func are(tags []string) string {
	if len(tags) == 1 {
		return "its tag " + tags[0] + " is"
	}
	return "its tags " + shorten(tags, 4) + " are"
}

// versionsText says which versions of a package there are that fit a range, and why others of it are not among them.
func (u *universe) versionsText(pkg, asked string) string {
	var names []string
	for _, v := range u.cat.versions(pkg) {
		if v.Private || v.Gone {
			continue
		}
		names = append(names, v.Version)
	}
	if len(names) == 0 {
		return u.unknown(pkg, asked)
	}
	text := fmt.Sprintf("the versions of %s are %s", pkg, shorten(names, 6))
	if p := u.excluded(pkg, asked); p != "" {
		text += fmt.Sprintf("; %s is a prerelease, which a range leaves out unless it names one, as %q does", p, admitting(asked, p, u.rs))
	}
	return text + u.unusableOf(pkg, asked)
}

// excluded is the newest version of a package that a range leaves out only because it is a prerelease.
func (u *universe) excluded(pkg, asked string) string {
	sel, err := u.rs.selection(asked)
	if err != nil || sel.c == nil {
		return ""
	}
	for _, v := range u.cat.versions(pkg) {
		if v.sem.Prerelease() != "" && !v.Private && !v.Gone && !admits(sel.c, v.sem, nil) && admits(sel.c, v.sem, &Prereleases{}) {
			return v.Version
		}
	}
	return ""
}

// admitting is a range like another that admits a prerelease, too.
func admitting(asked, version string, rs *ranges) string {
	v, err := parseVersion(version)
	if err != nil {
		return version
	}
	wide := asked + "-0"
	if asked == "" {
		wide = fmt.Sprintf(">=%d.%d.%d-0", v.Major(), v.Minor(), v.Patch())
	}
	if c, err := rs.get(wide); err == nil && c.Check(v) {
		return wide
	}
	return version
}

// offers says which versions there are for one who asked for a range or a digest.
func (u *universe) offers(pkg, asked string) string {
	vs := slices.DeleteFunc(u.cat.Versions(pkg), func(p Package) bool { return p.Gone })
	if api.DigestOf(asked) == "" || len(vs) == 0 {
		return u.versionsText(pkg, asked)
	}
	var names []string
	for _, v := range vs {
		if v.Digest == "" {
			names = append(names, "that of "+v.Version+" is not known")
			continue
		}
		names = append(names, v.Version+" is "+shortDigest(v.Digest))
	}
	return fmt.Sprintf("no version of %s has that digest: %s", pkg, shorten(names, 6)) + u.unusableOf(pkg, "")
}

// unknown says that the catalogue has no version of a package, and what may be meant.
func (u *universe) unknown(pkg, asked string) string {
	return u.cat.missing(pkg) + u.unusableOf(pkg, asked)
}

func (c *Catalog) missing(pkg string) string {
	text := fmt.Sprintf("no package %s is in the catalogue", pkg)
	switch {
	case len(c.unusable[pkg]) > 0:
		return text
	case c.Unread > 0:
		return fmt.Sprintf("package %s is in no source of the catalogue that could be read; %d could not: see the errors about catalogs", pkg, c.Unread)
	}
	const short = 3 // names of three letters are near to one another
	if hint := api.DidYouMean(pkg, c.names); hint != "" && len(pkg) > short {
		text += ": " + hint
	}
	return text
}
