package decide

import (
	"fmt"
	"slices"
	"strings"
)

// Registered is what a repository's refs show about its registered branch.
type Registered struct {
	// Exists reports whether the branch does. Create is spec.git.createBranch.
	Exists, Create bool
	// Branches are the repository's branches that hold no revision, record or
	// request, and Tags reports whether it has a tag.
	Branches []string
	Tags     bool
	// Begun reports whether a commit stands behind the open revisions that is
	// not one of theirs, or the record knows a Published revision: the
	// repository had a branch once.
	Begun bool
}

// Missing returns the error for a registered branch that does not exist and
// that nothing may create: only createBranch may, and the first approval in a
// repository that never had a commit besides its Drafts.
func (r Registered) Missing(address, branch string) error {
	if r.Exists || r.Create || len(r.Branches) == 0 && !r.Tags && !r.Begun {
		return nil
	}
	return Stall(&NoBranchError{Address: address, Branch: branch, Branches: slices.Sorted(slices.Values(r.Branches))})
}

// NoBranchError is returned where a registered branch does not exist.
type NoBranchError struct {
	Address, Branch string
	Branches        []string // of the repository, sorted
}

// Error names the branches that exist.
func (e *NoBranchError) Error() string {
	there := "the repository has no other branch"
	if len(e.Branches) > 0 {
		there = "there are: " + strings.Join(Limit(e.Branches, 9), ", ")
	}
	return fmt.Sprintf("branch %s does not exist in %s; %s: correct spec.git.branch or restore the branch; only spec.git.createBranch: true creates it, without the repository's other files", e.Branch, e.Address, there)
}
