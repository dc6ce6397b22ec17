package reconcile

import (
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
)

// Action is what a run does, or would do, about one variant.
type Action string

// The actions.
const (
	Create   Action = "create"  // a first Draft
	Update   Action = "update"  // an open Draft gets a commit
	Redraft  Action = "redraft" // a new Draft from the latest Published
	UpToDate Action = "none"    // nothing to do
	Tag      Action = "tag"     // a Draft merged elsewhere becomes Published
	Discard  Action = "discard" // an open Draft whose variant has gone
	Retire   Action = "retire"  // a Published package is proposed for deletion
	Release  Action = "release" // ownership is given up, the package stays
	Keep     Action = "keep"    // would go, but deletions are off or braked
	Publish  Action = "publish" // an open Draft is published: activation is Automatic
	Trim     Action = "trim"    // Published revisions beyond historyLimit go
	Wait     Action = "wait"    // a person must decide something first
	Fail     Action = "fail"    // could not be done
)

// Pending reports whether the action changes anything in Git.
func (a Action) Pending() bool {
	switch a {
	case UpToDate, Keep, Wait, Fail:
		return false
	default:
		return true
	}
}

// Identity names a variant: not by its name but by what it makes (design
// section 4).
type Identity struct {
	Namespace  string
	Repository string
	Package    string
}

// String is repository/package, the way people name a variant.
func (i Identity) String() string { return i.Repository + "/" + i.Package }

// Item is one variant, or one owned package without a variant, in a plan.
type Item struct {
	Identity
	// Name is the PackageVariant's name, Set the set that generated it; either
	// may be empty for a package whose variant has gone.
	Name string
	Set  string
	// Variant is nil for a package whose variant has gone, and for a lock.
	Variant *v1alpha1.PackageVariant
	// Owner is the <namespace>/<name> of the PackageVariant that it was first
	// made for, "" for what was asked for by itself; of a Lock, its target.
	Owner string
	Lock  bool

	Action Action
	// Reasons tell why, one line each: which input changed, what is wrong.
	Reasons []string
	// Warnings are for the reader; they stop nothing.
	Warnings []string
	// Err is set with Fail. Stalled says that it needs a person.
	Err     error
	Stalled bool

	// Workspace and Phase are those of the revision that the action makes or
	// that is there; Revision is N of vN for a Published one.
	Workspace string
	Phase     lifecycle.Phase
	Revision  int
	// Path is the package's folder in its repository.
	Path string
	// Upstream is what the upstream resolved to, "catalog/web@v2".
	Upstream string
	// Ref and Commit are where the revision is, or will be.
	Ref    string
	Commit string

	// Base is what a reviewer compares with: the latest Published revision, or
	// the upstream for a first Draft. Before is the open Draft as it is, nil
	// without one. After is what was built, nil where nothing was.
	Base, Before, After *krm.Package
	// Conflicts are local values that an update lost to the upstream.
	Conflicts []merge.Conflict
	// Conditions are the injection conditions of the package built.
	Conditions []Condition

	targets []target
	write   *write
	built   bool // or tried
	publish bool // once the Draft is there
	// oneOfSeveral is a Draft that would be published if it were the only one.
	oneOfSeveral bool
}

// Condition is a Kptfile condition.
type Condition struct {
	Type, Status, Reason, Message string
}

// target is one downstream revision for status.
type target struct {
	workspace string
	phase     lifecycle.Phase
}

// RevisionName is Porch's name of a package revision.
func RevisionName(repo, pkg, workspace string) string {
	return repo + "." + strings.ReplaceAll(pkg, "/", ".") + "." + workspace
}

// Plan is what a run would do.
type Plan struct {
	// Items are sorted by namespace, repository and package.
	Items []*Item
	// Sets are sorted by namespace and name.
	Sets []*SetStatus
	// Targets are those whose dependencies were resolved, sorted.
	Targets []*TargetPlan
	// Problems lists inputs that could not be read at all.
	Problems []error
	// Warnings are about no one variant.
	Warnings []string
	// PruneBlocked says why nothing is deleted though Prune is set; empty
	// where nothing blocks.
	PruneBlocked []string
}

// SetStatus is what became of one PackageVariantSet.
type SetStatus struct {
	Namespace, Name string
	Variants        int
	// Empty is set where a target of the set selects nothing.
	Empty    bool
	Failures []error
	Warnings []string
}

// Count counts items by action.
func (p *Plan) Count() map[Action]int {
	out := map[Action]int{}
	for _, i := range p.Items {
		out[i.Action]++
	}
	return out
}

// Pending reports whether applying the plan would change Git.
func (p *Plan) Pending() bool {
	for _, i := range p.Items {
		if i.Action.Pending() {
			return true
		}
	}
	return false
}

// Failed reports whether anything could not be read or done.
func (p *Plan) Failed() bool {
	if len(p.Problems) > 0 {
		return true
	}
	for _, s := range p.Sets {
		if len(s.Failures) > 0 {
			return true
		}
	}
	for _, i := range p.Items {
		if i.Err != nil {
			return true
		}
	}
	return false
}
