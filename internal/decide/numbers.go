package decide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Numbered is a commit of the registered branch at which a revision of a package was
// Published: by the commit's kpt: line, or by the record.
type Numbered struct {
	Number int
	Commit Hash
}

// highest returns the highest number that a revision of the package is known to have had,
// 0 for none: by tags, approved deletions, the record, commits of the registered branch,
// and what revisions say that they started from. None of these numbers is used again.
func (p *Package) highest() int {
	n := p.Gone().Revision
	for _, t := range p.Tags {
		n = max(n, t.Number)
	}
	for _, e := range p.Entries {
		if e.Place == record.Past || e.Place == record.Main {
			n = max(n, e.Revision)
		}
	}
	for _, c := range p.Numbers {
		n = max(n, c.Number)
	}
	from := func(in Inputs) {
		if started, err := strconv.Atoi(strings.TrimPrefix(in.Published, "v")); err == nil {
			n = max(n, started)
		}
	}
	for _, r := range p.Heads() {
		from(r.Inputs)
	}
	if b := p.Branch; b != nil && b.Merged != nil {
		from(ParseInputs(b.Merged.Inputs))
	}
	return n
}

// TagsAlone reports whether nothing but tags is known of what was Published of a variant's
// package, so that the loss of the newest tag shows on the registered branch only.
func (p *Package) TagsAlone() bool {
	return p.Latest != nil && p.Latest.Owner != "" && !p.tagged && !slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Past || e.Place == record.Main
	})
}

// Next returns the number of the next revision to publish.
func (p *Package) Next() int { return p.highest() + 1 }

// Untagged returns the newest revision of a package on the registered branch whose tag is
// missing. ok is false where the newest revision has its tag. The error is for a person:
// it is not known at which commit a revision was Published.
func (p *Package) Untagged() (lost Numbered, ok bool, err error) {
	newest := p.Gone().Revision
	if n := len(p.Tags); n > 0 {
		newest = max(newest, p.Tags[n-1].Number)
	}
	n := p.highest()
	if n <= newest {
		return lost, false, nil
	}
	for _, c := range p.Numbers {
		switch {
		case c.Number != n:
		case lost.Commit.IsZero():
			lost, ok = c, true
		case lost.Commit != c.Commit:
			return Numbered{}, false, Stalled("%s was Published once, its tag is missing, and two commits of the registered branch say that they are it (%s, %s): set the tag at the right one: git push origin COMMIT:%s",
				RevisionName(n), lost.Commit.String()[:7], c.Commit.String()[:7], lifecycle.PublishedRef(p.Path, n))
		}
	}
	if !ok {
		err = Stalled("%s was Published, its tag is missing, and it is not known at which commit: push the tag again from a clone that has it, or set it: git push origin COMMIT:%s",
			RevisionName(n), lifecycle.PublishedRef(p.Path, n))
	}
	return lost, ok, err
}

// Retag sets the missing tag of the newest revision again, where it belongs. It returns
// the package as it is then, whose branch has not been looked at.
func Retag(p *Package) (Ruling, *Package, bool) {
	if p.Lost == nil {
		return Ruling{}, nil, false
	}
	tag := Tag{Ref: p.Lost.Ref.Name, Commit: p.Lost.Ref.Commit, Again: true}
	revisions := []*Revision{p.Lost}
	for _, r := range p.Heads() {
		if r.Number == 0 {
			revisions = append(revisions, r)
		}
	}
	next := NewPackage(p.Path, append(slices.Clone(p.Tags), Published{Number: p.Lost.Number, Ref: p.Lost.Ref}), revisions...)
	next.Entries, next.Others, next.Trees, next.Numbers, next.tagged = p.Entries, p.Others, slices.Clone(p.Trees), p.Numbers, true
	return ruled(tag, fmt.Sprintf("tag %s is missing: set again at %s, where it was Published", RevisionName(p.Lost.Number), p.Lost.Ref.Commit.String()[:7])), next, true
}

// misplaced returns an error for a person where the tag of the latest revision is not at
// the commit at which the record says that it was Published.
func (p *Package) misplaced() error {
	if p.Latest == nil || p.tagged {
		return nil
	}
	for _, e := range p.Entries {
		if e.Place == record.Past && e.Revision == p.Latest.Number && e.Commit != "" && e.Commit != p.Latest.Ref.Commit.String() {
			return Stalled("tag %s is at %s, and the record says that it was Published at %s: move the tag back: git push --force origin %s:%s; or, where the tag is right, run variform record rebuild",
				RevisionName(e.Revision), p.Latest.Ref.Commit.String()[:7], e.Commit[:7], e.Commit, p.Latest.Ref.Name)
		}
	}
	return nil
}
