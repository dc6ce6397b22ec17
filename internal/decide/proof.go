package decide

import (
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
	Unproved ProofState = "Unproved" // no run has built it as it stands
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
	case r.Decision == Nothing{} || o.From.Reverts() != "" && !o.Behind():
		if by := o.restless(); by != "" {
			p.Why = by + " changes what it has made already, so that it is not rendered again after edits"
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
