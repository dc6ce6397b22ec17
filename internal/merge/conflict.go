package merge

import (
	"cmp"
	"fmt"

	"github.com/variform/variform/internal/krm"
)

// Side is one of the two sides of a merge.
type Side string

// The sides that can win a conflict.
const (
	Upstream Side = "upstream"
	Local    Side = "local"
)

// Fate is what became of an edit that met a change of upstream.
type Fate string

// The fates of edits.
const (
	Lost     Fate = "lost"      // upstream's stands
	Kept     Fate = "kept"      // local's stands
	NotTaken Fate = "not taken" // local's stands, for what it was made from is a guess

	KeptThoughRemoved Fate = "kept though removed" // local's stands, upstream has it no more
	BothAdded         Fate = "both added"          // merged by field
	Overruled         Fate = "overruled"           // the edit is to be made elsewhere
	LeftOut           Fate = "left out"            // upstream's stands; local's was no edit but a value that the run left out
)

// Conflict is one thing that both sides changed, each in its own way, so that
// one of the changes is not in the merged package.
type Conflict struct {
	// Path is the file in the merged package, or where it would have been.
	Path string

	// Line is the place in the local file, from 1; 0 where local has none.
	Line int

	// Resource is the resource by its local identity; the zero value for a file
	// without resources and for a whole subpackage.
	Resource krm.ID

	// Field is the path of the field, with list items by key:
	// "spec.template.spec.containers[name=app].image". Empty where the conflict is
	// about the whole resource, file or subpackage; "(file)" where both sides moved
	// the resource, and the values are the files.
	Field string

	// Base, Upstream and Local are the three values as YAML in one line, cut
	// where long; "" means that the side has none. Values of Secrets, and of
	// fields that are named like a credential, read "(redacted)"; of files there
	// is only a digest.
	Base, Upstream, Local string

	// Theirs is what people call the side of Upstream, and Ours that of Local, where
	// they are other than that: a branch, and a Draft upon it.
	Theirs, Ours string

	// Winner is the side whose value is in the merged package.
	Winner Side
	Fate   Fate

	// By is who wrote local's value, with the commit, where that is known.
	By string

	// Instead says where an Overruled edit is to be made.
	Instead string
}

// String is one line for a plan or a commit message.
func (c Conflict) String() string {
	if c.By != "" {
		return c.text() + ", by " + c.By
	}
	return c.text()
}

func (c Conflict) text() string {
	switch c.Fate {
	case NotTaken:
		return fmt.Sprintf("%s: not taken, base unknown: %s has %s; %s stays", c.place(), c.called(Upstream), orDeleted(c.Upstream), orDeleted(c.Local))
	case KeptThoughRemoved:
		return fmt.Sprintf("%s: removed %s, kept for an edit: %s", c.place(), where(c.Theirs), c.Local)
	case Overruled:
		return fmt.Sprintf("%s: overruled with %s, the edit was %s: change %s", c.place(), orDeleted(c.Upstream), orDeleted(c.Local), c.Instead)
	case BothAdded:
		if c.Upstream+c.Local == "" {
			return c.place() + ": both added it, merged by field"
		}
	}
	won, lost, loser := c.Upstream, c.Local, Local
	if c.Winner == Local {
		won, lost, loser = c.Local, c.Upstream, Upstream
	}
	text := c.place()
	switch c.Fate {
	case BothAdded:
		text += bothAddedIt
	case LeftOut:
		text += valueLeftOut
	}
	return fmt.Sprintf("%s: %s wins with %s; %s was %s", text, c.called(c.Winner), orDeleted(won), c.called(loser), orDeleted(lost))
}

// These stand behind the place in the line of a conflict.
const (
	bothAddedIt  = ": both added it"
	valueLeftOut = ": a value of another package was left out"
)

// called names a side for people.
func (c Conflict) called(s Side) string {
	if s == Upstream {
		return cmp.Or(c.Theirs, string(Upstream))
	}
	return cmp.Or(c.Ours, string(Local))
}

func where(theirs string) string {
	if theirs == "" {
		return "upstream"
	}
	return "on " + theirs
}

// SamePlace says whether both conflicts are about one field of one resource.
func (c Conflict) SamePlace(o Conflict) bool {
	return c.Path == o.Path && c.Resource == o.Resource && c.Field == o.Field
}

// Undecided says what both sides have, where neither is to win.
func (c Conflict) Undecided() string {
	return fmt.Sprintf("%s: %s has %s; %s has %s", c.place(), c.called(Upstream), orDeleted(c.Upstream), c.called(Local), orDeleted(c.Local))
}

// place is file, resource and field.
func (c Conflict) place() string {
	text := c.Path
	if c.Resource != (krm.ID{}) {
		text += ": " + c.Resource.String()
	}
	if c.Field != "" {
		text += ": " + c.Field
	}
	return text
}

// fate is a conflict's where nothing says another one.
func (o Options) fate(c Conflict) Fate {
	switch {
	case c.Fate != "":
		return c.Fate
	case c.Winner == Upstream:
		return Lost
	case o.Guess:
		return NotTaken
	}
	return Kept
}

func orDeleted(v string) string {
	if v == "" {
		return "(deleted)"
	}
	return v
}
