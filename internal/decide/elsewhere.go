package decide

import (
	"slices"

	"github.com/variform/variform/internal/record"
)

// This file is about a revision that another tool published, as Porch does with a
// commit of its own (docs/design/record.md#published-by-others): neither its commit
// nor the record says what it was made from, but its workspace may.

// Origin is what the machine made of a package at one time: a commit of an open
// revision, or one that the record knows.
type Origin struct {
	// At is the commit that was compared, zero where none was.
	At      Hash
	Machine *Machine // nil: the machine made nothing there
	// Same reports that the Published revision holds what stands at At, apart from
	// bookkeeping (krm.SameContent).
	Same bool
}

// Elsewhere reports whether another tool published the latest revision, and the record
// does not know of it yet.
func (p *Package) Elsewhere() bool {
	l := p.Latest
	return l != nil && !p.tagged && !l.Made() && !slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Past && e.Commit == l.Ref.Commit.String()
	})
}

// Approved returns the open revision that became the latest Published one Elsewhere and
// is still there: both have one workspace. It returns nil where there is none.
func (p *Package) Approved() *Revision {
	if !p.Elsewhere() || p.Latest.Workspace == "" {
		return nil
	}
	for _, r := range p.Revisions {
		if r.Phase.Open() && r.Workspace == p.Latest.Workspace {
			return r
		}
	}
	return nil
}

// Trace says of a revision that was published Elsewhere what the machine made it from:
// the origin whose content it has, the newest one where it has another content, or the
// one that the record has of its workspace. origins are those of the Approved revision,
// the newest first. That revision becomes Surplus if its content was published. It also
// becomes Surplus if the machine committed it once and nobody changed it: then the other
// tool started from it, and any difference is an edit by that tool.
func (p *Package) Trace(origins []Origin) {
	if !p.Elsewhere() || p.Latest.Workspace == "" {
		return
	}
	draft, l, commits := p.Approved(), p.Latest, len(origins)
	for _, e := range p.Entries {
		if e.Place == record.Open && e.Workspace == l.Workspace {
			var none *Machine
			origins = append(origins[:len(origins):len(origins)], Origin{Machine: none.Merged(e)})
		}
	}
	origins = slices.DeleteFunc(slices.Clone(origins), func(o Origin) bool { return o.Machine == nil })
	if len(origins) == 0 {
		return
	}
	of := origins[0]
	if at := slices.IndexFunc(origins, func(o Origin) bool { return o.Same }); at >= 0 {
		of = origins[at]
	}
	l.Machine, l.Inputs, p.traced = of.Machine, ParseInputs(of.Machine.Inputs), true
	if draft != nil && of.At == draft.Ref.Commit && (of.Same || commits == 1 && draft.Made()) {
		p.retouched = !of.Same
		p.Revisions = slices.DeleteFunc(slices.Clone(p.Revisions), func(r *Revision) bool { return r == draft })
		p.Surplus = append(p.Surplus[:len(p.Surplus):len(p.Surplus)], draft)
	}
}

// Publication returns the latest revision where the record is to say what the machine
// made it from: it was published Elsewhere, and that is known. It returns nil otherwise.
func (p *Package) Publication() *Revision {
	if l := p.Latest; p.Elsewhere() && l.Machine != nil && !l.Machine.Hydrated.IsZero() {
		return l
	}
	return nil
}
