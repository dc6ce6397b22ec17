package depend

import (
	"path"
	"regexp"
	"strings"
)

var (
	numberTag = regexp.MustCompile(`^v([1-9][0-9]*)$`)
	semverTag = regexp.MustCompile(`^v?(\d+\.\d+\.\d+([-+].*)?)$`)
)

// TagVersion is the version that a tag says, by its last part: vN is N.0.0, and
// a full semantic version is itself. Others, such as floating ones, say none.
func TagVersion(tag string) (string, bool) {
	last := path.Base(tag)
	if m := numberTag.FindStringSubmatch(last); m != nil {
		return m[1] + ".0.0", true
	}
	if m := semverTag.FindStringSubmatch(last); m != nil {
		return m[1], true
	}
	return "", false
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
