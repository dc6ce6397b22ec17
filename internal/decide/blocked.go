package decide

import (
	"path"
	"strings"

	"github.com/variform/variform/internal/lifecycle"
)

// RefNames are the names of a repository's refs.
type RefNames interface {
	Has(name string) bool
	// Below returns a ref whose name begins with a folder's, which ends with a slash.
	Below(folder string) (name string, ok bool)
}

// Blocked returns an error where a ref of the repository makes one of these refs
// impossible: Git keeps no ref "a" beside a ref "a/b".
func Blocked(address string, refs RefNames, names ...string) error {
	for _, name := range names {
		other, found := refs.Below(name + "/")
		for dir := path.Dir(name); !found && strings.Count(dir, "/") >= 2; dir = path.Dir(dir) {
			if refs.Has(dir) {
				other, found = dir, true
			}
		}
		if found {
			return Stalled("%s exists in %s, so Git can create no %s beside it: rename or delete that %s", kindOfRef(other), address, kindOfRef(name), strings.Fields(kindOfRef(other))[0])
		}
	}
	return nil
}

// anyWorkspace stands for the next workspace of a package: none has that number.
const anyWorkspace = lifecycle.WorkspacePrefix + "0"

// Refs are the refs that a run and an approval create for a package, of a workspace that
// stands for the next one.
func (p *Package) Refs() []string {
	return []string{lifecycle.DraftRef(p.Path, anyWorkspace), lifecycle.ProposedRef(p.Path, anyWorkspace), lifecycle.PublishedRef(p.Path, p.Next())}
}

func kindOfRef(name string) string {
	if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
		return "tag " + tag
	}
	return "branch " + strings.TrimSuffix(strings.TrimPrefix(name, "refs/heads/"), anyWorkspace)
}
