package decide

import (
	"strings"

	"github.com/variform/variform/internal/record"
)

// mergedReason is why a Draft is made of a Published revision that is Unbuilt.
const mergedReason = "no run built what was merged: rendered and validated"

// merged reports whether a Published revision holds a person's edits and came to the
// registered branch by other means than an approval, which asks for a build of edits.
// What others committed to the branch, and approve --main published, is none.
func (q Question) merged() bool {
	r := q.From
	switch {
	case r == nil || r.Number == 0 || q.Adopt || q.Lock() != nil || r.Reverts() != "":
		return false
	case q.Package != nil && q.Package.tagged && r.Inputs.Digest == "": // nothing tells what was merged just now
		return true
	case r.Machine == nil || q.Package == nil:
		return false
	}
	m := r.Machine
	if m.Hydrated.IsZero() || r.approved() {
		return false
	}
	workspace := r.Workspace
	tree, known := q.Package.Tree(r.Ref.Commit)
	for _, e := range q.Package.Entries {
		if e.Place == record.Main && e.Commit == r.Ref.Commit.String() {
			workspace, tree, known = e.Workspace, ParseHash(e.Tree), true
		}
	}
	return workspace != "" && known && !tree.IsZero() && tree != m.Hydrated
}

// approved reports whether a Published revision is what an approval made, or the machine.
func (r *Revision) approved() bool {
	return r.Approved || r.Machine != nil && r.Machine.Ours && r.Machine.Commit == r.Ref.Commit
}

// Unbuilt reports whether a Published revision is merged, and no run since built just
// what stands there: its functions may not have run upon the edits.
func (q Question) Unbuilt() bool {
	return q.merged() && !q.Unrendered && q.Buildable() && !q.Last.gave(q.From, q.inputs(q.Parts))
}

// ShowsGates reports whether the readiness gates of a Published revision are to be
// reported: others published it, and something may not be met. gated reports that its
// upstream has gates.
func (q Question) ShowsGates(gated bool) bool {
	r := q.From
	if r == nil || r.Number == 0 || q.Lock() != nil || !q.Repo.Deployment {
		return false
	}
	return !r.approved() && (gated || len(q.Unfilled) > 0 || q.merged())
}

// MergedUnmet warns of readiness gates that what was merged does not meet.
func MergedUnmet(tag Tag, unmet []Gate) []string {
	if len(unmet) == 0 || tag.Adopts {
		return nil
	}
	lines := make([]string, len(unmet))
	for i, g := range unmet {
		lines[i] = g.String()
	}
	return []string{"merged although readiness gates are not met: " + strings.Join(lines, "; ")}
}

// published is the Proof of a Published revision: nil of most.
func (o *Outcome) published() *Proof {
	p := &Proof{State: Proved, Gated: o.Repo != nil && o.Repo.Deployment, Unmet: o.Unmet}
	switch unbuilt := o.Unbuilt(); {
	case !unbuilt && (len(o.Unmet) == 0 || !o.ShowsGates(true)):
		return nil
	case !unbuilt:
		return p
	}
	p.State, p.Why = Unproved, mergedReason
	if r := o.came(); r.Err != nil {
		p.State, p.Why, p.Since = Failing, r.Err.Error(), r.Since
	}
	return p
}
