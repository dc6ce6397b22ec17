package render

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// reference is a container image split in its parts.
type reference struct {
	repository string // registry and path, without tag and digest
	tag        string
	digest     string // sha256:…
}

// imagePattern is the grammar that kpt accepts for function images.
var imagePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` +
		`(?:[a-zA-Z0-9][a-zA-Z0-9-]*(?:\.[a-zA-Z0-9][a-zA-Z0-9-]*)*(?::[0-9]+)?/)?` +
		`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
		`(?::\w[\w.-]{0,127})?` +
		`(?:@sha256:[a-fA-F0-9]{64})?$`)
})

func parseImage(image string) (reference, error) {
	if !imagePattern().MatchString(image) {
		return reference{}, fmt.Errorf("%q is not an image reference (registry/path:tag or registry/path@sha256:digest)", image)
	}
	var ref reference
	rest := image
	if name, digest, ok := strings.Cut(rest, "@"); ok {
		rest, ref.digest = name, digest
	}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, '/') {
		rest, ref.tag = rest[:i], rest[i+1:]
	}
	ref.repository = rest
	return ref, nil
}

// resolve completes a bare image name with the catalogue's registry.
func (r reference) resolve(registry string) reference {
	if !strings.Contains(r.repository, "/") && registry != "" {
		r.repository = strings.TrimRight(registry, "/") + "/" + r.repository
	}
	return r
}

func (r reference) String() string {
	s := r.repository
	if r.tag != "" {
		s += ":" + r.tag
	}
	if r.digest != "" {
		s += "@" + r.digest
	}
	return s
}

// under says whether the repository is registry/<name>, and its name.
func (r reference) under(registry string) (string, bool) {
	name, ok := strings.CutPrefix(r.repository, registry+"/")
	return name, ok && name != "" && !strings.Contains(name, "/")
}

// allowed says whether one of the patterns admits the image: the exact image,
// an image without tag, or a prefix that ends in "/*".
func (r reference) allowed(patterns []string) bool {
	full := r.String()
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "/*"); ok {
			if strings.HasPrefix(r.repository, prefix+"/") {
				return true
			}
			continue
		}
		if p == full || p == r.repository {
			return true
		}
	}
	return false
}
