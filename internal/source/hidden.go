package source

import "slices"

// MayHide says whether a Problem may stand for an object of one of some kinds:
// one that was rejected, or what could not be read at all.
func (f *Fleet) MayHide(kinds ...string) bool {
	named := 0
	for _, r := range f.Rejected {
		if slices.Contains(kinds, r.Kind) {
			return true
		}
		named += len(r.Issues)
	}
	return len(f.Problems) > named
}
