package reconcile

import (
	"cmp"
	"errors"
	"slices"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// Item is what a run does, or would do, about one revision of one variant, or of
// one owned package without a variant.
type Item struct {
	decide.Identity
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

	Action decide.Action
	// Reasons tell why, one line each: which input changed, what is wrong.
	Reasons []string
	// Warnings are for the reader; they stop nothing.
	Warnings []string
	// Err is set with Fail. Stalled says that it needs a person.
	// Since is the time of the newest commit among what went in, where the failure
	// is one that is remembered.
	Err     error
	Stalled bool
	Since   time.Time

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
	// When is the time of the revision that is there; zero for none.
	When time.Time

	// Base is what a reviewer compares with: the latest Published revision, or
	// the upstream for a first Draft. Before is the open Draft as it is, nil
	// without one. After is what was built, nil where nothing was, and Machine the
	// same without people's edits, nil where that is not known. All are nil without
	// Config.Packages.
	Base, Before, After, Machine *krm.Package
	// Conflicts are the edits by hand that the update met, and what became of them.
	// Lost are the edits that publishing the revision loses.
	Conflicts []merge.Conflict
	Lost      []decide.LostEdit
	// Attention is what a person is to see first, such as decide.BaseUnknown.
	Attention []string
	// Findings are what Kubernetes would refuse of what was built, weighed. Invalid describes
	// the errors, of an open revision that was not built as its commit has them.
	Findings []decide.Finding
	Invalid  []string
	// Held says who holds the package, and why; "" where nobody does.
	Held string
	// Rollout is the name of the Rollout that publishes the open Draft, "" for none.
	Rollout string
	// Proof is what is known of an open revision without building it; nil where
	// packages are built.
	Proof *decide.Proof
	// Told says that its Reasons are to be told though nothing becomes of it: what
	// people committed to the branch.
	Told bool
	// Conditions are those of the package built.
	Conditions []kptfilev1.Condition

	downstreams []decide.Downstream
	decision    decide.Decision
	publish     bool              // once the Draft is there
	states      decide.ProofState // of the Draft, once it is there
	change      *publish.Change
	moved       bool           // by a change that is no longer kept
	taken       any            // of what was made, by Blame
	want        *decide.Want   // nil for a removal
	orphan      *decide.Orphan // nil for what is wanted
}

// fail makes a failure of the item.
func (i *Item) fail(err error) *Item {
	i.Action, i.decision, i.Err, i.Stalled, i.change, i.publish = decide.ActionFail, decide.Fail{}, err, decide.IsStalled(err), nil, false
	return i
}

// rule takes a ruling over.
func (i *Item) rule(r decide.Ruling) {
	i.decision, i.Action, i.Reasons, i.publish = r.Decision, r.Decision.Action(), r.Reasons, r.Publish
	i.Warnings = append(i.Warnings, r.Warnings...)
	if r.Err != nil {
		i.Err, i.Stalled, i.Since = r.Err, decide.IsStalled(r.Err), r.Since
	}
}

// at says where the item's revision is.
func (i *Item) at(r *decide.Revision) {
	if r == nil {
		return
	}
	i.Phase, i.Workspace, i.Revision = r.Phase, r.Workspace, r.Number
	i.Ref, i.Commit, i.When = r.Ref.Name, r.Ref.Commit.String(), r.When
}

// moves says that something is to be pushed for the item, or was.
func (i *Item) moves() bool { return i.change != nil || i.moved || i.publish }

// pending reports whether the item waits for a run, or for a person.
func (i *Item) pending() bool { return i.Action.Pending() || i.Action == decide.ActionWait }

// Plan is what a run would do.
type Plan struct {
	// Items are sorted by namespace, repository, package and workspace.
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
	// Braked has a line for each set that would have lost too many packages at once.
	Braked []string

	run *run
}

// SetStatus is what became of one PackageVariantSet.
type SetStatus struct{ observe.Set }

// SetSizes counts the variants of each set, as review.Classifier wants it.
func (p *Plan) SetSizes() map[string]int {
	var sets []*observe.Set
	for _, s := range p.Sets {
		sets = append(sets, &s.Set)
	}
	return sizes(sets)
}

// sizes leaves sets out that lack variants: who has all that are there has not all.
func sizes(sets []*observe.Set) map[string]int {
	out := map[string]int{}
	for _, s := range sets {
		if len(s.Failures) == 0 {
			out[setOf(s.Namespace, s.Name)] = s.Variants
		}
	}
	return out
}

// setOf names a set, "" for none.
func setOf(namespace, name string) string {
	if name == "" {
		return ""
	}
	return namespace + "/" + name
}

// TargetPlan is what became of the dependencies of one target.
type TargetPlan struct {
	Namespace, Name string
	// Repository is the one that the target is in.
	Repository string
	// Answer is nil where it could not be looked for.
	Answer *depend.Answer
	// Err is why there is no answer. All variants of the target have it.
	Err error
}

func targetPlans(s *observe.Snapshot) []*TargetPlan {
	var out []*TargetPlan
	for _, t := range s.Targets {
		out = append(out, &TargetPlan{Namespace: t.Namespace, Name: t.Name(), Repository: t.Repo.Name, Answer: t.Answer, Err: t.Err})
	}
	return out
}

func (p *Plan) sort() { SortItems(p.Items) }

// SortItems sorts as the items of a plan are.
func SortItems(items []*Item) {
	slices.SortStableFunc(items, func(a, b *Item) int {
		return cmp.Or(a.Compare(b.Identity), cmp.Compare(a.Workspace, b.Workspace))
	})
}

// Count counts items by action.
func (p *Plan) Count() map[decide.Action]int {
	out := map[decide.Action]int{}
	for _, i := range p.Items {
		out[i.Action]++
	}
	return out
}

// Pending reports whether applying the plan would change Git.
func (p *Plan) Pending() bool {
	return slices.ContainsFunc(p.Items, func(i *Item) bool { return i.Action.Pending() })
}

// Failed reports whether anything could not be read or done; what was braked, too.
func (p *Plan) Failed() bool {
	return len(p.Problems) > 0 || len(p.Braked) > 0 ||
		p.SetsFail() ||
		slices.ContainsFunc(p.Items, func(i *Item) bool { return i.Err != nil })
}

// Failures are the items that fail, but for those that a Repository fails which is
// among the Problems: that is told once.
func (p *Plan) Failures() (out []*Item) {
	type repository struct{ namespace, name string }
	of := func(err error) (repository, bool) {
		r, ok := errors.AsType[*observe.RepositoryError](err)
		if !ok {
			return repository{}, false
		}
		return repository{r.Namespace, r.Name}, true
	}
	told := map[repository]bool{}
	for _, err := range p.Problems {
		if r, ok := of(err); ok {
			told[r] = true
		}
	}
	for _, i := range p.Items {
		if i.Err == nil {
			continue
		}
		if r, ok := of(i.Err); !ok || !told[r] {
			out = append(out, i)
		}
	}
	return out
}
