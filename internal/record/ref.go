package record

import (
	"fmt"
	"strings"
)

const (
	// RefPrefix begins the names of records.
	RefPrefix = "refs/variform/"
	// BranchPrefix begins them where a server takes only branches.
	BranchPrefix = "refs/heads/variform-record/"
	// Annotation of a Repository names the ref that its record stands in, or None.
	Annotation = "variform.dev/record-ref"
	// None keeps no record.
	None = "none"
)

// IsRef reports whether a ref is named like a record.
func IsRef(name string) bool {
	return strings.HasPrefix(name, RefPrefix) || strings.HasPrefix(name, BranchPrefix)
}

// Ref is the name of a manager's record, and Branch the one where a server takes
// only branches.
func Ref(manager string) string { return RefPrefix + escape(manager) }

// Branch is Ref for servers that take only branches.
func Branch(manager string) string { return BranchPrefix + escape(manager) }

// escape makes a name one segment of a ref.
func escape(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.' && !strings.HasPrefix(name[i:], ".lock")
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if name == "" {
		return "%"
	}
	return b.String()
}
