package decide

import (
	"fmt"
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

// LeftBehind tells of packages that were left where no Repository shows them.
func LeftBehind(address string, paths []string) string {
	return fmt.Sprintf("no Repository shows %s in %s any more, and they are Published there for this fleet: %s: to have them deleted describe it again without labels, apply --prune, approve, and remove it then",
		count.Of(len(paths), "package"), address, strings.Join(Limit(paths, 5), ", "))
}
