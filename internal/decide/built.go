package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/variform/variform/internal/record"
)

// Fails says why an open revision cannot be approved as it is: its last build failed, or
// its functions were not run; "" for most.
func (r *Revision) Fails(last *Built) string {
	unrendered := r.Machine != nil && r.Machine.Commit == r.Ref.Commit && r.Inputs.unrendered()
	switch {
	case last != nil && last.Failure != "" && (unrendered || last.Commit == r.Ref.Commit):
		return "it fails: " + last.Failure
	case unrendered:
		return "its functions were not run"
	}
	return ""
}

// Built is what is remembered of a build that gave no commit
// (docs/design/record.md#what-was-built).
type Built struct {
	// Commit is the revision's that was built upon, zero for a first Draft.
	Commit Hash
	Inputs Inputs
	// Failure is why it failed, "" where it gave what is there.
	Failure string
	// Restless is the function that is not idempotent, where one was found.
	Restless string
	// At is the time of the newest commit among what went in.
	At time.Time
}

// fails says that this very build failed: of these inputs, upon that revision.
func (b *Built) fails(from *Revision, in Inputs) bool {
	return b != nil && b.Failure != "" && b.of(from, in) && b.Inputs.Keep == in.Keep
}

// gave says that this very build gave what is there.
func (b *Built) gave(from *Revision, in Inputs) bool {
	return b != nil && b.Failure == "" && b.of(from, in)
}

// of reports whether it was a build of these inputs upon that revision.
func (b *Built) of(from *Revision, in Inputs) bool {
	var commit Hash
	if from != nil {
		commit = from.Ref.Commit
	}
	return b.Commit == commit && b.Inputs.Fits(in)
}

// BuiltAs is the workspace that a build of a revision is remembered by: "" for
// that of a new one.
func BuiltAs(from *Revision) string {
	if from == nil || from.Number > 0 {
		return ""
	}
	return from.Workspace
}

// Upon is the revision that Remember tells of: of a Draft of which nothing is left,
// what is Published.
func (o *Outcome) Upon() *Revision {
	if o.Back {
		return o.Package.Latest
	}
	return o.From
}

// Remember says what is to be remembered of a build, nil for nothing any more;
// false where that is so already, or the build gave a commit, which says it.
func (o *Outcome) Remember() (*Built, bool) {
	b, build := o.Intent.(Build)
	switch {
	case !build || !o.Tried || len(o.Drop) > 0: // who asks for that is told
		return nil, false
	case o.Back && o.Err == nil:
		upon := o.Question
		upon.From = o.Package.Latest
		return &Built{Commit: upon.From.Ref.Commit, Inputs: b.Inputs, Restless: o.Restless, At: o.At}, upon.remembered()
	case o.Err != nil:
		if o.Failure == "" || o.Last.fails(o.From, b.Inputs) {
			return nil, false
		}
		built := &Built{Inputs: b.Inputs, Failure: o.Failure, At: o.At}
		if o.From != nil {
			built.Commit = o.From.Ref.Commit
		}
		return built, true
	case o.Same && o.remembered():
		if o.Last.gave(o.From, b.Inputs) {
			return nil, false
		}
		return &Built{Commit: o.From.Ref.Commit, Inputs: b.Inputs, Restless: o.Restless, At: o.At}, true
	case o.Same:
		return nil, o.Last != nil
	}
	return nil, false
}

// proves says that a build of the revision that gives what is there proves it: an
// open one is approved upon that.
func (q Question) proves() bool { return BuiltAs(q.From) != "" && !q.Unrendered }

// edited says that a person committed to an open revision since the machine did.
func (q Question) edited() bool { return q.proves() && q.byHand() && q.Buildable() }

// remembered says that it is kept in the record that building gave what is there:
// of an open revision, and of a Published one of which nothing else tells what it
// was made of, for others approved it.
func (q Question) remembered() bool {
	return q.proves() || q.From != nil && (q.From.Inputs.Digest == "" || q.merged()) && !q.Unrendered && !q.Unkept
}

// proved says that the revision is known to be what building makes of it.
func (q Question) proved(in Inputs) bool {
	return q.remembered() && q.Last.gave(q.From, in) && (q.Gave || q.Surveyed || BuiltAs(q.From) == "")
}

// Current refuses to publish a Draft whose variant fails, or that was made of
// other inputs than those of now, but for what a build showed to make no
// difference. Where it stands is for [Unmoved] to say.
func (q Question) Current() error {
	then := q.From.Inputs
	now := q.Parts.Inputs(q.recorded()).On(then.Main)
	built := q.Parts.Inputs(q.Package.Newest()).On(then.Main)
	built.Keep = q.KeepEdits
	switch {
	case q.Last.fails(q.From, built):
		return fmt.Errorf("its variant fails: %s\nwhen that is corrected run apply, review, and approve again", q.Last.Failure)
	case q.Keeps():
		return Behind("%s: run apply, review, and approve again", keepsReason)
	case q.proved(built):
		return nil
	case then.unrendered() && !now.unrendered() && len(q.Parts.Functions) > 0:
		return Behind("this Draft was made without running its functions: run apply, review, and approve again")
	case q.rewritten() && !then.Fits(now):
		return Behind("%s: run apply, review, and approve again", q.amended())
	case then.Points != now.Points, !then.Fits(now) && !q.made(then, now, q.recorded()):
		now.Functions = then.Functions // they alone refuse nothing
		return Behind("%s since this Draft was made: run apply, review, and approve again", joined(q.reasons(now)))
	}
	return nil
}

// rewritten says that an open revision has not the commit any more that the record
// knows as the machine's last: a person made it anew, without its trailers.
func (q Question) rewritten() bool {
	return BuiltAs(q.From) != "" && slices.ContainsFunc(q.Package.Entries, func(e record.Entry) bool {
		return e.Place == record.Open && e.Workspace == q.From.Workspace && (q.From.Machine == nil || q.From.Machine.Commit.String() != e.Commit)
	})
}

// amended tells of that.
func (q Question) amended() string {
	return fmt.Sprintf("the commit that apply made was amended, or replaced, by %s (%s)", cmp.Or(q.From.By, "a person"), q.From.Ref.Commit.String()[:7])
}

// Unproved says that a person committed to the Draft since the machine did, and
// that no build since gave just that.
func (q Question) Unproved() bool {
	return BuiltAs(q.From) != "" && q.byHand() &&
		!(q.Gave && q.Last.gave(q.From, q.Parts.Inputs(q.Package.Newest()).On(q.From.Inputs.Main)))
}

// Buildable says that this run has all that goes into the revision: values that
// cannot be made in it wait for one that makes them.
func (q Question) Buildable() bool { return !q.Alone || q.From.Inputs.Values == "" }

func (q Question) byHand() bool { return q.From.byHand() }

// Edited says that it is open, and a person committed to it since the machine did.
func (c *Candidate) Edited() bool { return c.From.Open() && c.Head.byHand() }

// Unwanted refuses to publish an edited Draft that no variant wants, unless a run
// built it as it stands: none will.
func (c *Candidate) Unwanted(last *Built) error {
	commit := c.Head.Ref.Commit
	if last != nil && last.Commit == commit && last.Failure == "" {
		return nil
	}
	return fmt.Errorf("it was edited by hand (%s), and this run has no variant to build it for: correct the fleet, run apply, and approve again", commit.String()[:7])
}
