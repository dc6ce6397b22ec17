package depend

import (
	"fmt"
	"path"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/resolver"
)

var (
	numberTag    = lazyregexp.New(`^v([1-9][0-9]*)$`)
	threeNumbers = lazyregexp.New(`^v?\d+\.\d+\.\d+`)
)

// TagVersion is the version that a tag says, by its last part: vN is N.0.0, and
// a full semantic version is itself. Others, such as floating ones, say none.
func TagVersion(tag string) (string, bool) {
	version := strings.TrimPrefix(path.Base(tag), "v")
	if m := numberTag.FindStringSubmatch(path.Base(tag)); m != nil {
		version = m[1] + ".0.0"
	}
	return version, resolver.IsVersion(version)
}

// Warnings say of each version that nobody can have why, and of each source which
// tags look like versions and are none.
func Warnings(unusable []*resolver.VersionError) []string {
	var out, sources []string
	passed := map[string][]string{}
	for _, e := range unusable {
		switch {
		case e.Why != "":
			out = append(out, e.Error())
		case threeNumbers.MatchString(path.Base(e.Tag)):
			if passed[e.Source] == nil {
				sources = append(sources, e.Source)
			}
			passed[e.Source] = append(passed[e.Source], e.Tag)
		}
	}
	for _, s := range sources {
		const shown = 3
		tags := passed[s]
		text := strings.Join(tags[:min(len(tags), shown)], ", ")
		if more := len(tags) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, fmt.Sprintf("source %s: passed over what is no semantic version: %s (a version is vN or vX.Y.Z, of numbers without leading zeros)", s, text))
	}
	return out
}

// In says which of a Repository's patterns of folders a package is in, by its
// path: the folder that matches, "" for none. The patterns are those of
// [path.Match], separated by commas.
func In(patterns, pkg string) string {
	for _, p := range strings.Split(patterns, ",") {
		p = strings.Trim(strings.TrimSpace(p), "/")
		parts := strings.Split(pkg, "/")
		n := strings.Count(p, "/") + 1
		if p == "" || len(parts) <= n {
			continue
		}
		dir := strings.Join(parts[:n], "/")
		if ok, err := path.Match(p, dir); ok && err == nil {
			return dir
		}
	}
	return ""
}
