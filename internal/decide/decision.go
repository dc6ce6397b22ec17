package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Action is what a run does, or would do, about one revision, as reports name it.
type Action string

// The actions.
const (
	ActionCreate  Action = "create"  // a first Draft
	ActionUpdate  Action = "update"  // an open Draft gets a commit
	ActionRedraft Action = "redraft" // a new Draft from the latest Published
	ActionNone    Action = "none"    // nothing to do
	ActionTag     Action = "tag"     // a Draft merged elsewhere becomes Published
	ActionDiscard Action = "discard" // an open Draft whose variant has gone
	ActionRetire  Action = "retire"  // a Published package is proposed for deletion
	ActionRestore Action = "restore" // a proposed deletion is taken back
	ActionRelease Action = "release" // ownership is given up, the package stays
	ActionKeep    Action = "keep"    // would go, but deletions are off or braked
	ActionPublish Action = "publish" // an open Draft is published: activation is Automatic
	ActionTrim    Action = "trim"    // Published revisions beyond historyLimit go
	ActionRecord  Action = "record"  // the record alone takes over what the fleet says
	ActionForget  Action = "forget"  // what was said of a package that is not there goes
	ActionWait    Action = "wait"    // a person must decide something first
	ActionFail    Action = "fail"    // could not be done
)

// Pending reports whether the action changes anything in Git.
func (a Action) Pending() bool {
	switch a {
	case ActionNone, ActionKeep, ActionWait, ActionFail:
		return false
	default:
		return true
	}
}

// Move is one ref that moves: from Old, zero where it is made, to New, zero
// where it goes.
type Move struct {
	Name     string
	Old, New Hash
}

// Decision is what becomes of one revision. It is a closed sum: Draft, Tag,
// Publish, Discard, Retire, Restore, Release and Trim move refs; Record and Forget
// write only the manager's record; Nothing, Keep, Wait and Fail do nothing.
type Decision interface {
	Action() Action
	// Moves are all refs that the decision moves, given the commit that it
	// makes, if it makes one. Publish moves what an approval of its Draft moves.
	Moves(commit Hash) []Move
	decision()
}

// Untagged is what becomes of a merged Draft whose tag the server refuses by a rule
// of its own: runs go on without the tag, and one that may make it does.
func Untagged(tag Tag, err error) Ruling {
	name := strings.TrimPrefix(tag.Ref, "refs/tags/")
	r := ruled(Wait{}, "merged, and its tag "+name+" was refused: let this account make it, or have it made at "+tag.Commit.String())
	r.Warnings = []string{fmt.Sprintf("tag %s was not made, tags of this repository seem to be protected: %v", name, err)}
	return r
}

// Unretired is what becomes of a proposal to delete a merged Draft that stays
// Untagged.
func Unretired(d Retire) Ruling {
	latest := d.Tags[len(d.Tags)-1]
	return ruled(Wait{}, gone+", and its deletion is proposed once it is tagged "+strings.TrimPrefix(latest.Ref.Name, "refs/tags/"))
}

// Unrecorded is what becomes of a Record of what was Lost that the server refuses: the
// package is as it is to be.
func Unrecorded(err error) Ruling {
	r := ruled(Nothing{})
	r.Warnings = []string{fmt.Sprintf("prune will not find it once nothing wants it, for its commit does not tell whose it is, and the record was refused: %v", err)}
	return r
}

// Draft puts a commit on a Draft branch: of a new Draft (create, redraft), of the
// one that is there, or of one that was Proposed and comes back (update).
type Draft struct {
	As  Action // ActionCreate, ActionUpdate or ActionRedraft
	Ref string // the Draft's branch
	// From is the open revision that gets the commit, nil for a new Draft.
	From *Revision
}

// Action implements Decision.
func (d Draft) Action() Action { return d.As }

// New reports whether the Draft is a new one.
func (d Draft) New() bool { return d.From == nil }

// Moves implements Decision.
func (d Draft) Moves(commit Hash) []Move {
	switch {
	case d.From == nil:
		return []Move{{Name: d.Ref, New: commit}}
	case d.From.Ref.Name == d.Ref:
		return []Move{{Name: d.Ref, Old: d.From.Ref.Hash, New: commit}}
	default:
		return []Move{{Name: d.Ref, New: commit}, remove(d.From.Ref)}
	}
}

// Tag publishes a Draft that was merged into the registered branch by other means.
type Tag struct {
	Ref string // the tag to make
	// Commit is that of the registered branch at which the Draft came.
	Commit Hash
	// Draft is the open revision that is left, nil where its branch has gone.
	Draft *Revision
	// Adopts says that no Draft was merged: what stands there is taken over. It is
	// tagged only where the variant can go on from it.
	Adopts bool
	// Local says that no Draft was merged, but others committed upon what was Published.
	Local bool
	// Again says that the tag was there once.
	Again bool
}

// Action implements Decision.
func (Tag) Action() Action { return ActionTag }

// Moves implements Decision.
func (d Tag) Moves(Hash) []Move {
	moves := []Move{{Name: d.Ref, New: d.Commit}}
	if d.Draft != nil {
		moves = append(moves, remove(d.Draft.Ref))
	}
	return moves
}

// Publish approves a Draft that is there: activation is Automatic.
type Publish struct{ Draft *Revision }

// Action implements Decision.
func (Publish) Action() Action { return ActionPublish }

// Moves implements Decision.
func (Publish) Moves(Hash) []Move { return nil }

// Discard removes an open revision.
type Discard struct {
	Revision *Revision
	// Withdrawn says that a run takes it away: its variant has gone, or wants what is
	// Published. The record remembers it, for others may merge it at that time.
	Withdrawn bool
}

// Action implements Decision.
func (Discard) Action() Action { return ActionDiscard }

// Moves implements Decision.
func (d Discard) Moves(Hash) []Move { return []Move{remove(d.Revision.Ref)} }

// Retire proposes the deletion of Published revisions.
type Retire struct {
	Path string
	Tags []Published
}

// Action implements Decision.
func (Retire) Action() Action { return ActionRetire }

// Moves implements Decision.
func (d Retire) Moves(Hash) []Move {
	var out []Move
	for _, t := range d.Tags {
		out = append(out, Move{Name: lifecycle.DeletionRef(d.Path, t.Number), New: t.Ref.Commit})
	}
	return out
}

// Restore takes proposals of deletion back.
type Restore struct{ Tags []Published }

// Action implements Decision.
func (Restore) Action() Action { return ActionRestore }

// Moves implements Decision.
func (d Restore) Moves(Hash) []Move {
	var out []Move
	for _, t := range d.Tags {
		out = append(out, remove(t.Deletion))
	}
	return out
}

// Release gives a revision up: an open one by a commit on its own branch, the
// latest Published one in the record alone.
type Release struct{ Revision *Revision }

// Action implements Decision.
func (Release) Action() Action { return ActionRelease }

// Moves implements Decision.
func (d Release) Moves(commit Hash) []Move {
	if d.Revision.Number > 0 {
		return nil
	}
	return []Move{{Name: d.Revision.Ref.Name, Old: d.Revision.Ref.Hash, New: commit}}
}

// Trim removes Published revisions beyond an Installation's historyLimit.
type Trim struct{ Tags []Published }

// Action implements Decision.
func (Trim) Action() Action { return ActionTrim }

// Moves implements Decision.
func (d Trim) Moves(Hash) []Move {
	var out []Move
	for _, t := range d.Tags {
		out = append(out, remove(t.Ref))
	}
	return out
}

// Record sets what the record says of the package itself. Lost says that the fleet says
// nothing new: the record was to have it.
type Record struct {
	Entry record.Entry
	Lost  bool
}

// Action implements Decision.
func (Record) Action() Action { return ActionRecord }

// Moves implements Decision.
func (Record) Moves(Hash) []Move { return nil }

// Forget removes what the record alone knows of a package that is not there: what
// people said of it.
type Forget struct{}

// Action implements Decision.
func (Forget) Action() Action { return ActionForget }

// Moves implements Decision.
func (Forget) Moves(Hash) []Move { return nil }

// Nothing leaves a revision as it is: it is up to date.
type Nothing struct{}

// Keep leaves what would go, since deletions are off, blocked or braked.
type Keep struct{}

// Wait leaves a revision as it is until a person has decided something.
type Wait struct{}

// Fail is what could not be done.
type Fail struct{}

// Action implements Decision.
func (Nothing) Action() Action { return ActionNone }

// Action implements Decision.
func (Keep) Action() Action { return ActionKeep }

// Action implements Decision.
func (Wait) Action() Action { return ActionWait }

// Action implements Decision.
func (Fail) Action() Action { return ActionFail }

// Moves implements Decision.
func (Nothing) Moves(Hash) []Move { return nil }

// Moves implements Decision.
func (Keep) Moves(Hash) []Move { return nil }

// Moves implements Decision.
func (Wait) Moves(Hash) []Move { return nil }

// Moves implements Decision.
func (Fail) Moves(Hash) []Move { return nil }

func (Draft) decision()   {}
func (Tag) decision()     {}
func (Publish) decision() {}
func (Discard) decision() {}
func (Retire) decision()  {}
func (Restore) decision() {}
func (Release) decision() {}
func (Trim) decision()    {}
func (Record) decision()  {}
func (Forget) decision()  {}
func (Nothing) decision() {}
func (Keep) decision()    {}
func (Wait) decision()    {}
func (Fail) decision()    {}

func remove(r Ref) Move { return Move{Name: r.Name, Old: r.Hash} }

// Ruling is what becomes of one revision of one package, and why.
type Ruling struct {
	Decision Decision
	// Reasons tell why, one line each. Warnings stop nothing.
	Reasons, Warnings []string
	// Err is set with Fail, and with a Draft that was made all the same. Since, where it is remembered, is when what failed came.
	Err   error
	Since time.Time
	// Publish says that the Draft is published once it is there.
	Publish bool

	// considered says that activation looked at what was to be built.
	considered bool
}

func ruled(d Decision, reasons ...string) Ruling { return Ruling{Decision: d, Reasons: reasons} }

func failed(err error) Ruling { return Ruling{Decision: Fail{}, Err: err} }

// Goes reports whether a ruling takes a package, its ownership, or what was said of
// it, away: what the brake counts.
func (r Ruling) Goes() bool {
	return slices.Contains([]Action{ActionDiscard, ActionRetire, ActionRelease, ActionForget}, r.Decision.Action())
}
