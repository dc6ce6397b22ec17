package variantgen

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// The bounds of a generated name, Porch's.
const (
	maxName    = 63
	hashLength = 8
)

// Name is a variant's name: <set>-<repo>-<package>. Over 63 characters it is cut
// and ends in a hash, exactly as Porch's. A package with characters that a name
// cannot have (`/` above all, which becomes `-`) has the hash too.
func Name(set, repo, pkg string) string {
	id := set + "-" + repo + "-" + pkg
	clean := sanitize(id)
	if len(id) <= maxName && clean == id {
		return id
	}
	return hashed(clean, id)
}

// Names are all names that a variant of a set may have: its Name, and the one that it gets
// where another variant of the same run has that Name.
func Names(set, repo, pkg string) []string {
	return []string{Name(set, repo, pkg), distinctName(set, repo, pkg)}
}

// distinctName is the name of a variant whose Name another one has too: the
// hash is of all parts, apart from one another.
func distinctName(set, repo, pkg string) string {
	return hashed(sanitize(set+"-"+repo+"-"+pkg), set+"\x00"+repo+"\x00"+pkg)
}

func hashed(clean, id string) string {
	sum := sha1.Sum([]byte(id))
	stub := clean[:min(len(clean), maxName-hashLength-1)]
	return strings.TrimRight(stub, ".") + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// sanitize turns what an RFC 1123 name cannot hold into dashes and lower case.
// It returns its argument where nothing is to be done.
func sanitize(s string) string {
	if validName(s) {
		return s
	}
	b := []byte(strings.ToLower(s))
	for i, c := range b {
		if !nameByte(c) || c == '.' {
			b[i] = '-'
		}
	}
	return "x"[:boolInt(b[0] == '-')] + strings.TrimRight(string(b), "-")
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.'
}

// validName is the RFC 1123 subdomain rule without its bound on length: labels
// between dots begin and end with a letter or digit.
func validName(s string) bool {
	edge := true // at the beginning of a label
	for i := range len(s) {
		c := s[i]
		if !nameByte(c) || edge && (c == '-' || c == '.') {
			return false
		}
		edge = c == '.'
		if edge && s[i-1] == '-' {
			return false
		}
	}
	return s != "" && !edge && s[len(s)-1] != '-'
}
