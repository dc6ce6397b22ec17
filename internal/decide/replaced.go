package decide

import (
	"cmp"
	"fmt"

	"github.com/variform/variform/internal/record"
)

// replaced returns what the record has of an open revision where the history of its branch
// holds no commit of the machine any more: somebody replaced that history, and what is on
// the branch now is theirs. ok is false for most.
func (p *Package) replaced(r *Revision) (made record.Entry, ok bool) {
	if !r.Phase.Open() || r.Machine != nil || r.Owner != "" || p.Spent(r) {
		return record.Entry{}, false
	}
	for _, e := range p.Entries {
		owned := e.Owner != "" && e.Owner != record.Nobody
		if e.Place == record.Open && e.Workspace == r.Workspace && owned && e.Withdrawn == 0 && !ParseHash(e.Commit).IsZero() {
			return e, true
		}
	}
	return record.Entry{}, false
}

// ReplacedOwner returns the owner that the record has of an open revision whose history was
// replaced, "" for none.
func ReplacedOwner(p *Package) string {
	for _, r := range p.open() {
		if made, ok := p.replaced(r); ok {
			return made.Owner
		}
	}
	return ""
}

// began names the Published revision that an open one started from, by its commits or, of
// one whose history was replaced, by the record; "" for none.
func (p *Package) began(r *Revision) string {
	made, _ := p.replaced(r)
	return cmp.Or(r.Since, ParseInputs(made.Inputs).Published)
}

// replacedBy returns the reason for a branch whose history was replaced.
func replacedBy(r *Revision, made record.Entry) string {
	return fmt.Sprintf("history of %s was replaced by %s (%s): the commit that apply made (%s) is not in it",
		r.Ref.Short(), cmp.Or(r.By, "a person"), r.Ref.Commit.String()[:7], made.Commit[:7])
}

// replaced waits where the variant's own Draft is not its own any more, for its history
// was replaced: a Draft beside it would leave out what people wrote there. A person may
// ask for one all the same.
func (q Question) replaced() (Rule, bool) {
	if q.Adopt || q.Retry || q.From != nil && q.From.Number == 0 {
		return Rule{}, false
	}
	for _, r := range q.Package.open() {
		made, ok := q.Package.replaced(r)
		if !ok {
			continue
		}
		adopt := "set spec.adoptionPolicy: adoptExisting to continue with what is there, "
		if q.Derived || q.Lock() != nil {
			adopt = ""
		}
		return Rule{ruled(Wait{}, fmt.Sprintf("%s: push your changes upon that commit to the branch, %sor run apply --retry %s for another Draft beside it", replacedBy(r, made), adopt, q.Identity))}, true
	}
	return Rule{}, false
}
