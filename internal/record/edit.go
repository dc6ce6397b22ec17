package record

import (
	"cmp"
	"slices"
	"time"
)

// Edit changes the entries of one package: Put, Publish, Drop, Withdraw, Trim, Unsay
// or Forget.
type Edit interface {
	// Package is the package's path.
	Package() string
	apply(entries []Entry) []Entry
}

// Put sets an entry, in place of the one for the same revision. What was made of
// an open revision is in place of what came of its last build, too.
type Put struct{ Entry }

// Publish makes of an open revision what stands on the branch, and a Published
// one; with Upon, of what stood there before and others changed since. Entry is for
// both, but for Place. What that one's entry says besides stays, where it names
// the same Hydrated, or, where Entry knows none, the same Tree: so of one whose tag was
// lost, too. So does what is said of the revision before, where others changed it and
// published that. Where there is none such, and the Entry's Hydrated is not its
// Tree, nothing holds it but, with Held, a commit that is there yet; else nothing is
// known of what stands there now but, with Whose, whose it is: no commit may say that.
type Publish struct {
	Entry
	Upon, Whose, Held bool
}

// Drop removes an open revision's entries.
type Drop struct{ Path, Workspace string }

// Withdraw marks an open revision's entry: a run removed its branch: nothing
// wants it, or the package is to be what is Published.
type Withdraw struct{ Path, Workspace string }

// Settle removes what came of the last build of an open revision, or, without a
// workspace, of a new one: one since gave what is there.
type Settle struct{ Path, Workspace string }

// Trim removes entries of Published revisions.
type Trim struct {
	Path      string
	Revisions []int
}

// Unsay takes back what people said of a package whose variant has gone; with it
// goes all that is said of the package itself where none of its revisions is known
// to be Published.
type Unsay struct{ Path string }

// Forget removes all entries of a package, but which of its revisions have gone: those
// to Revision, which was drafted in Workspace, by this; 0 for none.
type Forget struct {
	Path, Workspace string
	Revision        int
}

// Package implements Edit.
func (e Put) Package() string { return e.Path }

// Package implements Edit.
func (e Publish) Package() string { return e.Path }

// Package implements Edit.
func (e Drop) Package() string { return e.Path }

// Package implements Edit.
func (e Withdraw) Package() string { return e.Path }

// Package implements Edit.
func (e Settle) Package() string { return e.Path }

// Package implements Edit.
func (e Trim) Package() string { return e.Path }

// Package implements Edit.
func (e Unsay) Package() string { return e.Path }

// Package implements Edit.
func (e Forget) Package() string { return e.Path }

func (e Put) apply(entries []Entry) []Entry {
	if e.Place == Open {
		entries = settle(settle(entries, e.Workspace), "")
	}
	return put(entries, e.Entry)
}

// Newest is the newest time that entries to put say, zero for none.
func Newest(edits []Edit) (at time.Time) {
	for _, e := range edits {
		if p, ok := e.(Put); ok && p.Place == Built {
			if t, err := time.Parse(time.RFC3339, p.At); err == nil && t.After(at) {
				at = t
			}
		}
	}
	return at
}

func settle(entries []Entry, workspace string) []Entry {
	return slices.DeleteFunc(entries, func(o Entry) bool { return o.Place == Built && o.Workspace == workspace })
}

func put(entries []Entry, e Entry) []Entry {
	entries = slices.DeleteFunc(entries, func(o Entry) bool { return o.Compare(e) == 0 })
	return append(entries, e)
}

func (e Publish) apply(entries []Entry) []Entry {
	made, held := e.Entry, e.Held || e.Hydrated == e.Tree
	for _, o := range entries {
		stood := o.Place == Main && e.Upon
		if stood {
			o.Workspace = ""
		}
		again := o.Place == Main && o.Tree == e.Tree && (e.Hydrated == "" || o.Hydrated == e.Hydrated && o.Commit == e.Commit) // or its tag is set again
		if stood || again || o.Place == Open && (o.Workspace == e.Workspace && o.Hydrated == e.Hydrated || e.Hydrated == "" && o.Tree == e.Tree) {
			made, e.Workspace = o, o.Workspace
			made.Inputs = cmp.Or(e.Inputs, o.Inputs)
			made.Commit, made.Tree, made.Revision, made.Withdrawn, held = e.Commit, e.Tree, e.Revision, 0, true
		}
	}
	for _, o := range entries {
		if !held && e.Hydrated != "" && o.Place == Main && o.Hydrated == e.Hydrated {
			made = o
			made.Workspace, made.Inputs = e.Workspace, cmp.Or(e.Inputs, o.Inputs)
			made.Commit, made.Tree, made.Revision, held = e.Commit, e.Tree, e.Revision, true
		}
	}
	entries = slices.DeleteFunc(entries, func(o Entry) bool {
		return o.Place == Main || (o.Place == Open || o.Place == Built) && o.Workspace == e.Workspace
	})
	if !held {
		return e.owned(entries)
	}
	made.Place = Main
	entries = append(entries, made)
	made.Place = Past
	return oldestOut(put(entries, made))
}

// owned are a package's entries with whose it is, where its revision has none that
// says so.
func (e Publish) owned(entries []Entry) []Entry {
	if !e.Whose || e.Owner == "" || slices.ContainsFunc(entries, func(o Entry) bool { return o.Place == Variant && (o.Owner != Nobody || o.Commit == e.Commit) }) {
		return entries
	}
	return put(entries, Entry{Path: e.Path, Place: Variant, Owner: e.Owner, Set: e.Set, For: e.For, DeletionPolicy: e.DeletionPolicy, Labels: e.Labels})
}

// oldestOut keeps the newest of the Published revisions.
func oldestOut(entries []Entry) []Entry {
	var numbers []int
	for _, e := range entries {
		if e.Place == Past {
			numbers = append(numbers, e.Revision)
		}
	}
	if len(numbers) <= pastKept {
		return entries
	}
	slices.Sort(numbers)
	from := numbers[len(numbers)-pastKept]
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Place == Past && e.Revision < from })
}

func (e Drop) apply(entries []Entry) []Entry {
	return slices.DeleteFunc(entries, func(o Entry) bool {
		return (o.Place == Open || o.Place == Built) && o.Workspace == e.Workspace
	})
}

func (e Withdraw) apply(entries []Entry) []Entry {
	entries = settle(entries, e.Workspace)
	for i, o := range entries {
		if o.Place == Open && o.Workspace == e.Workspace {
			entries[i].Withdrawn = justWithdrawn
		}
	}
	return entries
}

func (e Settle) apply(entries []Entry) []Entry { return settle(entries, e.Workspace) }

func (e Trim) apply(entries []Entry) []Entry {
	return slices.DeleteFunc(entries, func(o Entry) bool { return o.Place == Past && slices.Contains(e.Revisions, o.Revision) })
}

func (Unsay) apply(entries []Entry) []Entry {
	published := slices.ContainsFunc(entries, func(o Entry) bool { return o.Place == Main || o.Place == Past })
	var out []Entry
	for _, o := range entries {
		if o.Place == Variant && o.Owner != Nobody {
			if !published {
				continue
			}
			o.Hold, o.Discarded = nil, nil
		}
		out = append(out, o)
	}
	return out
}

func (e Forget) apply(entries []Entry) []Entry {
	entries = slices.DeleteFunc(entries, func(o Entry) bool { return o.Place != Gone || o.Revision < e.Revision })
	if len(entries) == 0 && e.Revision > 0 {
		return []Entry{{Path: e.Path, Place: Gone, Revision: e.Revision, Workspace: e.Workspace}}
	}
	return entries
}
