package api

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/variform/variform/internal/lazyregexp"
)

// CheckLabel says why a label is not valid in Kubernetes, nil if it is.
func CheckLabel(key, value string) error {
	if err := checkKey(key, key); err != nil {
		return err
	}
	if plainWord(value) && len(value) <= validation.LabelValueMaxLength {
		return nil
	}
	if msgs := validation.IsValidLabelValue(value); len(msgs) > 0 {
		return fmt.Errorf("label value %q is not valid: %s", shorten(value), msgs[0])
	}
	return nil
}

// CheckAnnotation says why an annotation's key is not valid in Kubernetes, nil if it is.
func CheckAnnotation(key string) error { return checkKey(key, strings.ToLower(key)) }

func checkKey(key, checked string) error {
	if key == "" {
		return fmt.Errorf("the key is empty")
	}
	prefix, name, prefixed := strings.Cut(checked, "/")
	if !prefixed {
		name = checked
	}
	if name != "" && plainWord(name) && len(name) <= validation.LabelValueMaxLength && (!prefixed || plainDomain(prefix)) {
		return nil
	}
	if msgs := validation.IsQualifiedName(checked); len(msgs) > 0 {
		return fmt.Errorf("key %q is not valid: %s", shorten(key), msgs[0])
	}
	return nil
}

// plainWord is the common case of a valid name part, checked without a regular
// expression: letters, digits, and -_. between them; empty counts.
func plainWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	return true
}

// plainDomain is the common case of a valid prefix: lower case words with
// single dots between them.
func plainDomain(s string) bool {
	edge := true
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			edge = false
		case c == '.' && !edge:
			edge = true
		default:
			return false
		}
	}
	return !edge && len(s) <= validation.DNS1123SubdomainMaxLength
}

func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return s[:77] + "..."
}

// CheckName says why a name of a Kubernetes object is not valid (RFC 1123
// subdomain), nil if it is.
func CheckName(name string) error {
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return fmt.Errorf("%q is not a valid name: %s", shorten(name), msgs[0])
	}
	return nil
}

// CheckPackagePath says why a package's path cannot be used below a repository
// and in the names of branches and tags; nil if it can. A path is one or more
// segments between slashes, none of them `.` or `..`, none that Git refuses, and none longer
// than file systems have it.
func CheckPackagePath(path string) error {
	if path == "" {
		return fmt.Errorf("the path is empty")
	}
	if len(path) > 1024 {
		return fmt.Errorf("the path is longer than 1024 characters")
	}
	if strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is an absolute path; leave out the leading slash", shorten(path))
	}
	for rest, more := path, true; more; {
		var seg string
		seg, rest, more = strings.Cut(rest, "/")
		if why := badSegment(seg); why != "" {
			return fmt.Errorf("%q is not a valid package path: %s", shorten(path), why)
		}
	}
	return nil
}

func badSegment(seg string) string {
	switch {
	case seg == "":
		return "it has an empty segment"
	case len(seg) > 255:
		return fmt.Sprintf("the segment %q has %d bytes, more than 255", shorten(seg), len(seg))
	case seg == "..":
		return "it leaves the repository with `..`"
	case seg[0] == '.':
		return fmt.Sprintf("the segment %q starts with a dot", shorten(seg))
	case seg[0] == '-':
		return fmt.Sprintf("the segment %q starts with a dash", shorten(seg))
	case strings.HasSuffix(seg, ".lock"), seg[len(seg)-1] == '.':
		return fmt.Sprintf("the segment %q ends in a way that Git refuses", shorten(seg))
	case strings.Contains(seg, ".."), strings.Contains(seg, "@{"), seg == "@":
		return fmt.Sprintf("the segment %q holds what Git refuses in names", shorten(seg))
	}
	for i := range len(seg) {
		if c := seg[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return fmt.Sprintf("it holds the character %q, which Git refuses in names", c)
		}
	}
	return ""
}

// CheckBranch says why a branch's name is not one that Git takes, nil if it is.
func CheckBranch(branch string) error {
	if err := CheckPackagePath(branch); err != nil {
		return fmt.Errorf("%q is not a valid branch name", shorten(branch))
	}
	return nil
}

// CheckContextKey says why a key cannot be set in the package context, nil if
// it can: it is kpt's own, or no valid key of a ConfigMap.
func CheckContextKey(key string) error {
	if IsReservedContextKey(key) {
		return fmt.Errorf("must not contain the key %q, which kpt sets itself", key)
	}
	if plainWord(key) && key != "" && len(key) <= validation.DNS1123SubdomainMaxLength {
		return nil
	}
	if msgs := validation.IsConfigMapKey(key); len(msgs) > 0 {
		return fmt.Errorf("%q is not a valid key of a ConfigMap: %s", shorten(key), msgs[0])
	}
	return nil
}

// digest is what OCI calls one: an algorithm and what it gave. A commit of Git reads the same, "git:<hash>".
var digest = lazyregexp.New(`^@?([a-z0-9]+(?:[.+_-][a-z0-9]+)*:[A-Za-z0-9=_-]+)$`)

// DigestOf is the digest that a text is, with or without a leading "@"; "" where it is none.
func DigestOf(text string) string {
	if m := digest.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
