package decide

import (
	"fmt"

	"github.com/variform/variform/internal/record"
)

// Hydration is the version of the way that packages are made: it is raised where
// equal inputs give other bytes than before
// (docs/design/hydration-and-update.md#hi).
const Hydration = 3

// hydration is the version that made a revision, 0 where the record does not say.
// An entry is believed that names what the revision's own commit names; where that
// names nothing, as a forge's, that commit itself. Of a Draft that went on after it was
// merged the Published revision's entry tells, until it has one of its own. The entry of a
// renamed Draft has its old name and its commit.
func (q Question) hydration() (version int) {
	own := false
	for _, e := range q.Package.Entries {
		at := e.Commit == q.From.Ref.Commit.String()
		named := at
		if m := q.From.Machine; m != nil && !m.Hydrated.IsZero() {
			named, at = e.Hydrated == m.Hydrated.String(), at || e.Commit == m.Commit.String()
		}
		switch {
		case !named:
		case e.Place == record.Main && q.From.Number > 0, e.Place == record.Open && (at || e.Workspace == q.From.Workspace):
			version, own = e.Hydration, true
		case e.Place == record.Main && !own:
			version = e.Hydration
		}
	}
	return version
}

// newer leaves alone what a newer program made: it would be made worse.
func (q Question) newer() (Rule, bool) {
	if q.From == nil || q.hydration() <= Hydration {
		return Rule{}, false
	}
	return Rule{ruled(Wait{}, fmt.Sprintf("made by a newer Variform, of hydration version %d (this one's is %d): apply with that one or a later one", q.hydration(), Hydration))}, true
}
