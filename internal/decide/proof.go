package decide

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/variform/variform/internal/record"
)

// Proof is what is known of an open revision without building it: whether it is what
// building makes of the inputs of now, and which readiness gates it does not meet.
type Proof struct {
	State ProofState
	// Why tells why it is not proved, or what is to be known of one that is.
	Why string
	// Since is when what failed came, zero where that is not known.
	Since time.Time
	// Gated says that its gates are asked for, Unmet are those that are not met.
	Gated bool
	Unmet []Gate
}

// ProofState says how far a Proof goes.
type ProofState string

// The states.
const (
	Proved   ProofState = "Proved"
	Edited   ProofState = "Edited"   // a build, and edits: a person approves it as a class that shows them
	Unproved ProofState = "Unproved" // this machine has not built it as it stands
	Failing  ProofState = "Failing"  // the last build of it failed
)

// Proof is that of an open revision, and of a Published one that others merged and that
// is Unbuilt or does not meet its gates; nil of all else.
func (o *Outcome) Proof() *Proof {
	switch {
	case o.From == nil:
		return nil
	case o.From.Number > 0:
		return o.published()
	}
	p := &Proof{State: Proved, Gated: o.Repo.Deployment, Unmet: o.Unmet}
	r := o.came()
	switch {
	case r.Err != nil:
		p.State, p.Why, p.Since = Failing, r.Err.Error(), r.Since
	case o.Unproved != "":
		p.State, p.Why = Unproved, o.Unproved
	case o.From.Reverts() != "" && !o.Behind():
	case r.Decision == Nothing{}:
		p.State, p.Why = o.stated()
		if by := o.restless(); by != "" {
			p.Why = strings.TrimPrefix(p.Why+"; "+by+" changes what it has made already, so that it is not rendered again after edits", "; ")
		}
	case o.byHand():
		p.State, p.Why = Unproved, "edited by hand ("+o.From.Ref.Commit.String()[:7]+"), and no run has built it since"
	default:
		p.State, p.Why = Unproved, strings.Join(r.Reasons, "; ")
	}
	return p
}

// restless is the function that is not idempotent, as the last build of an open
// revision found it; "" for none.
func (o *Outcome) restless() string {
	if o.Tried {
		return o.Restless
	}
	if o.byHand() && o.Last != nil {
		return o.Last.Restless
	}
	for _, e := range o.Package.Entries {
		if e.Place == record.Open && e.Workspace == o.From.Workspace {
			return e.Restless
		}
	}
	return ""
}

// stated is what is known of an open revision that needs no build.
func (o *Outcome) stated() (state ProofState, why string) {
	switch {
	case o.Proven:
		return Proved, ""
	case o.Own, o.byHand() && o.Gave:
		return Edited, editedReason
	}
	return Unproved, "this machine has not built it: run plan"
}

// editedReason is what a person is to do with edits.
const editedReason = "a build and edits: approve the class that shows them"

// Disowned is a revision whose commit this machine cannot confirm: what it says of itself
// does not count, and what it holds beyond a build is a person's.
func (r *Revision) Disowned() *Revision {
	out, m := *r, *r.Machine
	m.Ours = false
	out.Machine = &m
	return &out
}

// Unconfirmed reports whether this machine knows nothing of an open revision of the inputs
// of now, so that it has to be built again.
func (q Question) Unconfirmed() bool {
	return BuiltAs(q.From) != "" && !q.Proven && !q.Own && q.From.Made() && q.From.Reverts() == "" && !q.Unrendered && q.Buildable()
}

// Confirm takes the word of this machine for an open revision instead of that of its commit:
// commit is Proved where that is a build, Edited where the machine's own commit is a build and
// edits, "" where nothing is known; gave reports that a build of the inputs of now upon the
// commit gave what it holds.
func (q Question) Confirm(commit ProofState, gave bool) Question {
	if BuiltAs(q.From) == "" {
		return q
	}
	q.Proven, q.Own, q.Gave = commit == Proved, commit == Edited, gave
	if commit == "" && gave && q.From.Made() {
		q.From = q.From.Disowned()
	}
	return q
}

// EditedOpen reports whether a revision is open, and a person's as it stands.
func (q Question) EditedOpen() bool { return BuiltAs(q.From) != "" && q.byHand() }

// States is what the machine that makes a Draft may state of it: Proved where building it
// again from the registered branch gives it, else Edited: it is a build and edits. edited
// reports that it holds more than the machine makes, and guessed that the base of its update
// is a guess. An update of a proved Draft that holds no more than the machine makes is proved:
// edits of the branch would be in both.
func (q Question) States(edited, guessed bool) ProofState {
	fromBranch := BuiltAs(q.From) == ""
	switch {
	case guessed, len(q.Drop) > 0, edited && !fromBranch:
		return Edited
	case fromBranch, q.Proven, q.Package.Latest == nil, q.Package.Branch == nil && unedited(q.Package):
		return Proved
	}
	return Edited
}

// unedited reports whether the latest Published revision holds no edits, by its approval.
func unedited(p *Package) bool {
	m := p.Latest.Machine
	tree, known := p.Tree(p.Latest.Ref.Commit)
	return known && m != nil && m.Approval && m.Hydrated == tree
}

// ByHand is the refusal of edits that no run has built.
func (q Question) ByHand() string {
	return fmt.Sprintf("it was edited by hand (%s), and no run has built it since", q.From.Ref.Commit.String()[:7])
}

// InputsKey identifies the inputs of a build upon an open revision.
func (q Question) InputsKey() string {
	in := q.Parts.Inputs(q.Package.Newest()).On(q.Package.Branch.Main())
	return in.Digest + in.Points
}

// HowProved returns what is known of an open revision that this machine does not state to be a
// build, before approve builds it: Proved where a build is to tell, Edited where this machine
// made it, with edits, and cannot build it here, Unproved with the reason where it cannot be
// built here, and Failing with the reason where it is refused. "" is for what is behind the
// registered branch, which [Unmoved] refuses. merged reports that the branch has its content,
// and functions that pipelines run here.
func HowProved(q Question, merged, functions bool, branch string) (ProofState, error) {
	switch edited := q.EditedOpen(); {
	case merged && edited:
		return Failing, Behind("it was merged on %s as a person left it: run apply, which makes a revision of that", branch)
	case q.Behind():
		return "", nil
	case functions && q.Buildable():
		return Proved, nil
	case q.Own:
		return Edited, nil
	case edited && !functions:
		return Failing, Behind("%s: run apply, with its functions, review, and approve again", q.ByHand())
	case edited:
		return Failing, Behind("%s, with the values that other packages give it: run apply, review, and approve again", q.ByHand())
	case !functions:
		return Unproved, errors.New("pipelines are left unrun")
	}
	return Unproved, errors.New("other packages give it values, which approve does not build")
}

// UnprovedBefore reports that the latest Published revision was approved unproved, "" where
// it was not.
func UnprovedBefore(p *Package) string {
	if p.Latest == nil || p.Latest.Machine == nil || !p.Latest.Machine.Approval || p.Latest.Machine.Unproved == "" {
		return ""
	}
	return fmt.Sprintf("%s was approved unproved: %s", RevisionName(p.Latest.Number), p.Latest.Machine.Unproved)
}

// RefuseEdited refuses to publish unseen what is not a build: edits but as members of a
// class, which shows them, and what cannot be built here but with unproved. seen reports that
// people see the edits before they merge.
func RefuseEdited(list []*Candidate, unproved, seen bool) {
	for _, c := range list {
		switch {
		case c.Err != nil || !c.From.Open():
		case c.Unprovable != nil && !unproved:
			c.Err = fmt.Errorf("it cannot be proved here: %w: run plan where it can be built and approve it there, or add --unproved", c.Unprovable)
		case len(c.Edits) > 0 && c.Class == "" && !seen:
			c.Err = fmt.Errorf("it holds edits in %s: run review, and approve the class ID that shows them, or add --accept-edits", strings.Join(Limit(c.Edits, 5), ", "))
		}
	}
}
