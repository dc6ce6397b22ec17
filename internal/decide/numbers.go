package decide

import (
	"fmt"
	"slices"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Numbered is a revision of a package by the commit that published it, as the commit's
// kpt: line has it.
type Numbered struct {
	Number int
	// Commit is zero where a Draft's trailer alone names the revision.
	Commit Hash
	// Deleted reports that the package was deleted on the registered branch since.
	Deleted bool
}

// highest returns the highest number that a revision of the package is known to have had,
// 0 for none: by tags, by commits of the registered branch, and by the commits behind its
// revisions. The record is not asked: anybody who may push can write it.
func (p *Package) highest() int {
	n := 0
	for _, t := range p.Tags {
		n = max(n, t.Number)
	}
	for _, c := range p.Numbers {
		n = max(n, c.Number)
	}
	for _, r := range p.Heads() {
		n = max(n, r.Newest.Number)
	}
	return n
}

// Next returns the number of the next revision to publish. No number that the record has
// is used again, whether or not the branch confirms it: a gap in the numbers harms nobody.
func (p *Package) Next() int {
	n := max(p.highest(), p.Gone().Revision)
	for _, e := range p.Entries {
		if e.Place == record.Past || e.Place == record.Main {
			n = max(n, e.Revision)
		}
	}
	if b := p.Branch; b != nil && b.Merged != nil {
		n = max(n, ParseInputs(b.Merged.Inputs).Started())
	}
	return n + 1
}

// PublishedOnce returns where the record has the newest Published revision of a package without a
// tag, zero for none. Approving a deletion removes it from the record too: here the tags were
// lost, and, where the branch confirms it, somebody deleted the package there.
func PublishedOnce(p *Package) (last Numbered) {
	if p.Latest != nil || len(p.Tags) > 0 {
		return last
	}
	for _, e := range p.Entries {
		if (e.Place == record.Past || e.Place == record.Main) && e.Revision > last.Number && e.Commit != "" {
			last = Numbered{Number: e.Revision, Commit: ParseHash(e.Commit), Deleted: true}
		}
	}
	return last
}

// nextAt returns the number of the next revision where it is Published at a commit of the
// registered branch: that which the record has for this commit, where it is a new one.
func (p *Package) nextAt(commit Hash) int {
	for _, e := range p.Entries {
		if e.Place == record.Past && e.Commit == commit.String() && e.Revision > p.highest() {
			return e.Revision
		}
	}
	return p.Next()
}

// Unconfirmed reports whether the record does not have the latest Published revision at its
// tag: the registered branch may say that the tag was moved, or that a newer tag was lost.
func (p *Package) Unconfirmed() bool {
	return p.Latest != nil && !p.tagged && !slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return (e.Place == record.Past || e.Place == record.Main) && e.Revision == p.Latest.Number && e.Commit == p.Latest.Ref.Commit.String()
	})
}

// Untagged returns the newest revision of a package on the registered branch whose tag is
// missing. ok is false where the newest revision has its tag, or was deleted, and where
// nothing but a Draft's trailer names a revision: a forge that merges Drafts may refuse
// all their tags. The error is for a person: it is not known at which commit a revision
// was Published.
func (p *Package) Untagged() (lost Numbered, ok bool, err error) {
	n, newest := p.highest(), 0
	if tags := len(p.Tags); tags > 0 {
		newest = p.Tags[tags-1].Number
	}
	for _, c := range p.Numbers {
		if c.Deleted {
			newest = max(newest, c.Number)
		}
	}
	if n <= newest || len(p.Tags)+len(p.Numbers) == 0 && !slices.ContainsFunc(p.Heads(), func(r *Revision) bool { return !r.Newest.Commit.IsZero() }) {
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
	next.Entries, next.Others, next.Trees, next.Numbers, next.Rollout, next.tagged = p.Entries, p.Others, slices.Clone(p.Trees), p.Numbers, p.Rollout, true
	return ruled(tag, fmt.Sprintf("tag %s is missing: set again at %s, where it was Published", RevisionName(p.Lost.Number), p.Lost.Ref.Commit.String()[:7])), next, true
}

// movedUnder returns an error if the tag of the latest revision moved to other content, and an
// open Draft was built from the commit that the record names. An update of that Draft would
// lose what the tag moved to. A Draft that was built from later commits of the branch has
// another parent, which a forged record may name.
func movedUnder(p *Package) error {
	r, name := p.Latest, RevisionName(p.Latest.Number)
	tree, known := p.Tree(r.Ref.Commit)
	for _, e := range p.Entries {
		was := ParseHash(e.Commit)
		if e.Place != record.Main || e.Revision != r.Number || was.IsZero() || was == r.Ref.Commit || !known || e.Tree == tree.String() {
			continue
		}
		for _, open := range p.open() {
			if open.Since == name && open.Inputs.Main == "" && open.Machine != nil && slices.Contains(open.Machine.Parents, was) {
				return Stalled("tag %s is at %s, and the record has it at %s, which %s was made from: move the tag back if that is right, or discard %s",
					name, r.Ref.Commit.String()[:7], was.String()[:7], open.Describe(), open.Describe())
			}
		}
	}
	return nil
}

// misplaced returns an error for a person where the tag of the latest revision is not at
// the commit at which it was Published: by its own commit, by those behind, or by those of
// the registered branch that came since. A revision whose number no commit has, as one that
// a forge merged, is where its tag is.
func (p *Package) misplaced() error {
	r := p.Latest
	if r == nil || p.tagged || r.Approved {
		return nil
	}
	at, found := r.Newest, r.Newest.Number >= r.Number || r.Newest.Number > 0 && r.Newest.Commit == r.Ref.Commit
	for _, c := range p.Numbers {
		if c.Number == r.Number && !c.Deleted {
			at, found = c, true
		}
	}
	switch name, tag := RevisionName(r.Number), r.Ref.Commit.String()[:7]; {
	case !found:
		return movedUnder(p)
	case at.Number == r.Number && !at.Commit.IsZero():
		return Stalled("tag %s is at %s, and that revision was Published at %s: move the tag back: git push --force origin %s:%s",
			name, tag, at.Commit.String()[:7], at.Commit, r.Ref.Name)
	case at.Commit == r.Ref.Commit:
		return Stalled("tag %s is at %s, where %s was Published: move the tag back: git push --force origin COMMIT:%s",
			name, tag, RevisionName(at.Number), r.Ref.Name)
	default:
		return Stalled("tag %s is at %s, which was made from %s: move the tag back: git push --force origin COMMIT:%s",
			name, tag, RevisionName(at.Number), r.Ref.Name)
	}
}
