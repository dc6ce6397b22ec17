// Package lifecycle decides what happens to the revisions of a downstream
// package: which of them a variant continues, adopts or removes, and what the
// next workspace is called (Porch's PackageVariant design, "Lifecycle
// Management" and "Adoption and Deletion Policies"). It is pure: revisions in,
// decisions out.
package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/revision"
)

// Phase is where a package revision stands between Draft and deletion: the
// API's own type, by a shorter name.
type Phase = v1alpha1.Lifecycle

// The phases of a package revision.
const (
	Draft            = v1alpha1.LifecycleDraft
	Proposed         = v1alpha1.LifecycleProposed
	Published        = v1alpha1.LifecyclePublished
	DeletionProposed = v1alpha1.LifecycleDeletionProposed
)

// Revision is one package revision.
type Revision struct {
	Name       string // Porch's name, <repo>.<package>.<workspace>
	Repository string
	Package    string
	Workspace  string
	Revision   int // N of vN; 0 before publication, -1 for the branch's own content
	Phase      Phase
	Owners     []string // the variants that own it; nil means none
}

// OwnedBy reports whether the variant owns the revision.
func (r Revision) OwnedBy(owner string) bool { return slices.Contains(r.Owners, owner) }

// WorkspacePrefix starts the name of each workspace that Variform and Porch's
// controller make.
const WorkspacePrefix = "packagevariant-"

// NextWorkspace names the next workspace of a package: packagevariant-N, N one
// above the highest of those in use, whatever their phase.
func NextWorkspace(used ...string) string {
	highest := 0
	for _, name := range used {
		highest = max(highest, WorkspaceNumber(name))
	}
	return WorkspacePrefix + strconv.Itoa(highest+1)
}

// WorkspaceNumber is N of packagevariant-N as NextWorkspace writes it, 0 for any
// other name.
func WorkspaceNumber(workspace string) int {
	digits := strings.TrimPrefix(workspace, WorkspacePrefix)
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || WorkspacePrefix+strconv.Itoa(n) != workspace {
		return 0
	}
	return n
}

// Selection says which revisions a variant works on. Lists keep the order in
// which the revisions were given.
type Selection struct {
	// Continue are the open revisions that the variant owns or adopts; where
	// there is none, the latest Published one that it owns, alone.
	Continue []Revision
	// Adopt are those of Continue that it does not own yet.
	Adopt []Revision
	// Strays are open revisions that it owns under another package name: the
	// variant's downstream was changed.
	Strays []Revision
	// Foreign are the revisions of the package that it neither owns nor adopts.
	Foreign []Revision
}

// Downstream selects the revisions of repo and pkg that the variant owner
// works on.
func Downstream(owner, repo, pkg string, policy v1alpha1.AdoptionPolicy, revisions []Revision) Selection {
	var s Selection
	var latest *Revision
	for i, r := range revisions {
		owned := r.OwnedBy(owner)
		if r.Repository != repo || r.Package != pkg {
			if owned && r.Phase.Open() {
				s.Strays = append(s.Strays, r)
			}
			continue
		}
		switch {
		case r.Phase.Open() && owned:
			s.Continue = append(s.Continue, r)
		case r.Phase.Open() && policy == v1alpha1.AdoptExisting && len(r.Owners) == 0:
			s.Continue = append(s.Continue, r)
			s.Adopt = append(s.Adopt, r)
		case r.Phase == Published && owned:
			if latest == nil || r.Revision > latest.Revision {
				latest = &revisions[i]
			}
		case !owned:
			s.Foreign = append(s.Foreign, r)
		}
	}
	if len(s.Continue) == 0 && latest != nil {
		s.Continue = []Revision{*latest}
	}
	return s
}

// Removal is what happens to one revision whose variant has gone.
type Removal string

// The removals.
const (
	Keep            Removal = "keep"             // nothing to do
	Discard         Removal = "discard"          // an open revision goes
	ProposeDeletion Removal = "propose-deletion" // a Published one waits for approval
	Release         Removal = "release"          // ownership is given up, the package stays
)

// Remove decides for one revision under the deletion policy; "" is delete.
func Remove(policy v1alpha1.DeletionPolicy, phase Phase) Removal {
	switch {
	case policy == v1alpha1.DeletionOrphan:
		return Release
	case phase.Open():
		return Discard
	case phase == Published:
		return ProposeDeletion
	default:
		return Keep
	}
}

// The deletion brake: at least brakeFrom packages of a set, and more than one
// in brakeShare of them.
const (
	brakeFrom  = 3
	brakeShare = 4
)

// Braked reports whether a set would lose too many of its packages at once for
// that to happen without the number being said (docs/design/git.md#deletion).
func Braked(going, total int) bool { return going >= brakeFrom && going*brakeShare > total }

// Follows reports whether an upstream names no revision, so that it means the highest
// Published one.
func Follows(u v1alpha1.Upstream) bool {
	return u.WorkspaceName == "" && (u.Revision == "" || u.Revision == "latest")
}

// FindUpstream picks the revision that an upstream names from revisions given
// as objects (a function has no Git to ask): by workspace or by number where
// either is given, else the highest Published, else the branch's own content.
func FindUpstream(u v1alpha1.Upstream, revisions []Revision) (Revision, error) {
	number, numbered := revision.Number(string(u.Revision))
	if numbered && number == 0 && u.Revision != "" {
		return Revision{}, fmt.Errorf("revision 0 of upstream %s/%s: upstream cannot be published with revision number 0", u.Repo, u.Package)
	}
	follows := Follows(u)
	var best *Revision
	for i, r := range revisions {
		if r.Repository != u.Repo || r.Package != u.Package {
			continue
		}
		switch {
		case u.WorkspaceName != "" && r.Workspace == u.WorkspaceName,
			u.WorkspaceName == "" && u.Revision != "" && r.Workspace == string(u.Revision),
			numbered && r.Revision == number:
			return r, nil
		case !follows:
		case rank(r) > 0 && (best == nil || rank(r) > rank(*best)):
			best = &revisions[i]
		}
	}
	if best == nil {
		return Revision{}, fmt.Errorf("could not find upstream package revision %s/%s %s", u.Repo, u.Package, wanted(u))
	}
	return *best, nil
}

// branchWorkspace is the workspace under which the registered branch's own
// content is listed, with revision -1.
const branchWorkspace = "main"

// rank orders the revisions that an upstream without revision and workspace
// may mean: the higher Published one, then the branch's own content; 0 is none.
func rank(r Revision) int {
	switch {
	case r.Revision > 0:
		return r.Revision + 1
	case r.Workspace == branchWorkspace:
		return 1
	default:
		return 0
	}
}

func wanted(u v1alpha1.Upstream) string {
	switch {
	case u.WorkspaceName != "" && u.Revision != "":
		return fmt.Sprintf("(workspace %q or revision %q)", u.WorkspaceName, u.Revision)
	case u.WorkspaceName != "":
		return fmt.Sprintf("(workspace %q)", u.WorkspaceName)
	case u.Revision != "":
		return fmt.Sprintf("(revision %q)", u.Revision)
	default:
		return "(any Published revision)"
	}
}
