package observe

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/record"
)

// registered returns an error where the registered branch does not exist and
// may not be created. The tips have been read.
func (r *Repo) registered(ctx context.Context) error {
	if !r.Head.IsZero() {
		return nil
	}
	found := decide.Registered{Create: r.Object.Spec.Git.CreateBranch, Begun: r.published()}
	var open []gitrepo.Hash
	for _, ref := range r.Git.Refs().All() {
		branch, ok := strings.CutPrefix(ref.Name, lifecycle.BranchRef(""))
		switch {
		case !ok:
			found.Tags = true
		case isOpen(ref.Name):
			open = append(open, ref.Commit)
		case record.IsRef(ref.Name):
		case strings.HasPrefix(ref.Name, lifecycle.DeletionPrefix), strings.HasPrefix(branch, pulls.HeadPrefix):
			found.Begun = true
		default:
			found.Branches = append(found.Branches, branch)
		}
	}
	if found.Missing(r.Address, r.Branch) == nil && !found.Create && len(open) > 0 {
		began, err := r.Git.FindAncestors(ctx, open, walkLimit, func(_ int, c *gitrepo.Commit) bool { return len(c.Parents) == 0 })
		if err != nil {
			return err
		}
		found.Begun = slices.ContainsFunc(began, func(c *gitrepo.Commit) bool { return c == nil || len(c.Annotations) == 0 })
	}
	return found.Missing(r.Address, r.Branch)
}

// isOpen reports whether a ref is an open revision's.
func isOpen(name string) bool {
	return strings.HasPrefix(name, lifecycle.DraftsPrefix) || strings.HasPrefix(name, lifecycle.ProposedPrefix)
}

// published reports whether the record knows a Published revision.
func (r *Repo) published() bool {
	if r.Recorded == nil {
		return false
	}
	for e := range r.Recorded.All() {
		if e.Place == record.Main || e.Place == record.Past || e.Place == record.Gone {
			return true
		}
	}
	return false
}

// Blocked returns an error where a ref of the repository makes one of these impossible.
func (r *Repo) Blocked(names ...string) error {
	return decide.Blocked(r.Address, refNames{r.Git.Refs()}, names...)
}

// refNames implements [decide.RefNames].
type refNames struct{ *gitrepo.Refs }

// Has implements decide.RefNames.
func (r refNames) Has(name string) bool {
	_, ok := r.Get(name)
	return ok
}

// Below implements decide.RefNames.
func (r refNames) Below(folder string) (string, bool) {
	all := r.All()
	i := sort.Search(len(all), func(i int) bool { return all[i].Name >= folder })
	if i == len(all) || !strings.HasPrefix(all[i].Name, folder) {
		return "", false
	}
	return all[i].Name, true
}
