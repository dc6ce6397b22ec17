package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/variform/variform/internal/decide"
)

// LeftBehind says what is left of this manager's Published packages, by address and
// path as an earlier run knew them, where no Repository shows them any more. It
// returns what is known now. One that cannot be read is told of once.
func (r *Reader) LeftBehind(ctx context.Context, known map[string][]string) (now map[string][]string, warnings []string) {
	now = map[string][]string{}
	have := map[string][]string{}  // open or Published
	var shown []*decide.Repository // also those that this run could not read
	for _, repo := range r.sorted {
		shown = append(shown, repo.Repository)
		if repo.Git == nil || repo.Err != nil {
			for address, paths := range known { // it may be there next time
				if decide.SameAddress(address, repo.Address) {
					now[address] = append(now[address], paths...)
				}
			}
			continue
		}
		for _, path := range repo.Paths() {
			p := repo.Package(path)
			have[repo.Git.URL()] = append(have[repo.Git.URL()], decide.Left{Path: path, Owner: p.NewestOwner()}.String())
			if p.IsPublished() && r.cfg.Manager.Signed(p.Latest.Owner, repo.Namespace) {
				now[repo.Git.URL()] = append(now[repo.Git.URL()], decide.Left{Path: path, Owner: p.Latest.Owner}.String())
			}
		}
	}
	gone := decide.TakenOut(known, shown)
	for _, address := range slices.Sorted(maps.Keys(gone)) {
		if to := decide.MovedTo(address, gone[address], have); to != "" {
			warnings = append(warnings, decide.Moved(address, to, len(gone[address])))
			continue
		}
		git, err := r.cfg.Git.Open(ctx, address)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("no Repository shows %s any more, and what is left there cannot be read: %v", address, err))
			continue
		}
		index := git.Index("")
		left := slices.DeleteFunc(gone[address], func(path string) bool {
			p := index.Package(decide.ParseLeft(path).Path)
			return p == nil || p.Latest() == nil
		})
		if len(left) > 0 {
			now[address] = append(now[address], left...)
			paths := make([]string, len(left))
			for i, l := range left {
				paths[i] = decide.ParseLeft(l).Path
			}
			warnings = append(warnings, decide.LeftBehind(address, paths))
		}
	}
	for address, paths := range now {
		slices.Sort(paths)
		now[address] = slices.Compact(paths)
	}
	return now, warnings
}
