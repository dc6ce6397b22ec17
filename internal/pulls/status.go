package pulls

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
