package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
)

// TakenOut are the Published packages, by address and path, that an earlier run knew
// and that no Repository shows any more.
func TakenOut(known map[string][]string, repos []*Repository) map[string][]string {
	out, shown := map[string][]string{}, map[string][]*Repository{}
	for _, r := range repos {
		at := PlainAddress(r.Address)
		shown[at] = append(shown[at], r)
	}
	for address, paths := range known {
		here := shown[PlainAddress(address)]
		left := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
			return slices.ContainsFunc(here, func(r *Repository) bool {
				return r.Dir == "" || strings.HasPrefix(path, r.Dir+"/")
			})
		})
		if len(left) > 0 {
			out[address] = left
		}
	}
	return out
}

// Left is a Published package as an earlier run noted it: its path and its owner, "" where
// an older program noted the path alone.
type Left struct{ Path, Owner string }

// ParseLeft reads what String wrote.
func ParseLeft(text string) Left {
	path, owner, _ := strings.Cut(text, "\t")
	return Left{path, owner}
}

// String returns the note.
func (l Left) String() string { return strings.TrimSuffix(l.Path+"\t"+l.Owner, "\t") }

// MovedTo returns the address to which a repository moved whose packages no Repository shows
// any more, "" for none: another one has all of them, of the same owners.
func MovedTo(from string, left []string, now map[string][]string) string {
	for _, to := range slices.Sorted(maps.Keys(now)) {
		if !SameAddress(from, to) && len(left) > 0 && !slices.ContainsFunc(left, func(l string) bool {
			return ParseLeft(l).Owner == "" || !slices.Contains(now[to], l)
		}) {
			return to
		}
	}
	return ""
}

// Moved notes, once, that a repository moved.
func Moved(from, to string, packages int) string {
	return fmt.Sprintf("%s moved: %s of this fleet in %s now", from, count.Of(packages, "package"), to)
}

// LeftBehind tells of packages that were left where no Repository shows them.
func LeftBehind(address string, paths []string) string {
	return fmt.Sprintf("no Repository shows %s in %s any more, and they are Published there for this fleet: %s: to have them deleted describe it again without labels, apply --prune, approve, and remove it then",
		count.Of(len(paths), "package"), address, strings.Join(Limit(paths, 5), ", "))
}
