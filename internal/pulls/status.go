package pulls

import (
	"fmt"

	"github.com/variform/variform/internal/count"
)

// ProofCheck is the check that says whether approve would take what a head holds.
const ProofCheck = "variform/proof"

// State is what a check found, as forges call it.
type State string

// States.
const (
	StatePending State = "pending"
	StateSuccess State = "success"
	StateFailure State = "failure"
	StateError   State = "error"
)

// Status is what a check says of a commit.
type Status struct {
	Context     string // the check: variform/proof
	State       State
	Description string // a line; an adapter cuts it to what its forge takes
	URL         string // of a page that says more, "" for none
}

// Verdict is what approve would say of a Draft.
type Verdict struct {
	Name    string
	Refused string // why, "" where it would take it
	Behind  bool   // a run of apply is all that is lacking
	Loses   string // the edits by hand that it loses, "" for none
}

// Proof is the check of a head that holds these Drafts: what fails counts before what
// the next run brings up to date.
func Proof(verdicts []Verdict, url string) Status {
	s := Status{Context: ProofCheck, State: StateSuccess, Description: count.Of(len(verdicts), "package") + " rendered, valid, its gates met", URL: url}
	if len(verdicts) > 1 {
		s.Description = count.Of(len(verdicts), "package") + " rendered, valid, their gates met"
	}
	for _, v := range verdicts {
		if v.Loses != "" {
			s.Description += "; " + v.Name + " " + v.Loses
		}
	}
	more := 0
	for _, v := range verdicts {
		state := StateFailure
		if v.Behind {
			state = StatePending
		}
		switch {
		case v.Refused == "":
		case s.State == StateSuccess || s.State == StatePending && state == StateFailure:
			if s.State == StatePending {
				more++
			}
			s.State, s.Description = state, v.Name+": "+v.Refused
		default:
			more++
		}
	}
	if more > 0 {
		s.Description = fmt.Sprintf("%d more, and %s", more, s.Description)
	}
	return s
}

// key tells what a check says of a commit, to the next run.
func (s *Status) key(commit string) string {
	return short(fmt.Sprintf("%s\n%s\n%s\n%s\n%s", commit, s.Context, s.State, s.Description, s.URL))
}
