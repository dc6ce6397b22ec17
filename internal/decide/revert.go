package decide

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/lifecycle"
)

// Reverts is what a person asked for whose commit it is, "v1 by Ann": the Published
// revision that this one sets the package back to, "" for most.
func (r *Revision) Reverts() string {
	if r == nil || r.Machine == nil {
		return ""
	}
	return r.Machine.Reverts
}

// revertsTo reports whether a revision sets the package back to a Published one.
func (r *Revision) revertsTo(name string) bool {
	to, _, _ := strings.Cut(r.Reverts(), " ")
	return to == name
}

// Reverting refuses a Draft that sets a package back and that a person went on with:
// nothing builds upon one. Else it is what it says, whatever the inputs are now.
func (r *Revision) Reverting() error {
	if !r.byHand() {
		return nil
	}
	return fmt.Errorf("it sets the package back to %s, and was edited by hand (%s), which nothing has built: take the edits back, or go on from it with apply --retry", r.Reverts(), r.Ref.Commit.String()[:7])
}

// Unreverted returns why an open revision may not be published unseen whose commit says that
// it sets the package back: it differs from the revision that it names in these paths, or err
// keeps it from being compared. "" is for what is as it says.
func (r *Revision) Unreverted(differs []string, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case len(differs) > 0:
		return fmt.Sprintf("it says that it sets the package back to %s, and differs from that in %s: review and approve the class that shows it, or discard it", r.Reverts(), strings.Join(Limit(differs, 5), ", "))
	}
	return ""
}

// Revert says how a person sets a wanted package back to what Published revision n
// held: upon which revision that is to be built. done says that it is so already.
// What the branch and that revision hold has been read. What others merged is
// tagged first: it is what would be taken back.
func Revert(m Manager, w *Want, repo *Repository, p *Package, n int) (to Published, on Work, done string, err error) {
	latest, name, hold := p.Latest, RevisionName(n), p.Hold()
	var open *Revision
	for _, r := range p.open() {
		if r.Reverts() != "" && m.Signed(r.Owner, w.Namespace) {
			open = r
		}
	}
	t := p.Tagged(name)
	switch {
	case w.Err != nil:
		err = w.Err
	case w.Lock() != nil:
		err = errors.New("a lock says what was resolved: set back the packages that it names")
	case latest == nil:
		err = errors.New("no revision of it is Published")
	case !m.Signed(latest.Owner, w.Namespace):
		err = fmt.Errorf("%s is no package of this fleet", latest.Describe())
	case hold != nil:
		err = heldError(hold, w.Identity)
	case latest.Phase == lifecycle.DeletionProposed:
		err = fmt.Errorf("%s is proposed for deletion: reject that first", RevisionName(latest.Number))
	case t == nil:
		var names []string
		for _, t := range p.Tags {
			names = append(names, RevisionName(t.Number))
		}
		err = fmt.Errorf("it has no %s: there are %s", cmp.Or(name, "such revision"), joined(names))
	case merged(m, w, repo, p, nil):
		err = fmt.Errorf("a Draft of it was merged into %s, and the next apply tags it there: run that first, for it is what is set back", repo.Branch)
	case open != nil && open.byHand():
		err = fmt.Errorf("%s%s, was edited by hand%s: go on from it with apply --retry %s, or, to lose the edit, discard it first", open.Describe(), open.settingBack(), open.lastBy(), w.Identity)
	}
	if err != nil {
		return Published{}, Work{}, "", err
	}
	work := Work{From: latest}
	if open != nil {
		work = Work{From: open, Since: p.Tagged(open.Since)}
	}
	q := Question{Want: w, Work: work, Package: p}
	then, _ := p.Tree(t.Ref.Commit)
	now, _ := p.Tree(latest.Ref.Commit)
	switch {
	case open != nil && open.revertsTo(name) && !q.Behind():
		done = open.Describe() + " sets it back to " + open.Reverts() + " already"
	case open == nil && p.Branch == nil && then == now:
		done = RevisionName(latest.Number) + ", the latest Published, is that already"
	}
	return *t, work, done, nil
}

// Reverting is the build that sets a package back. Its inputs are those of what is
// Published, which it takes back: no Draft of the same is made again unasked, and one
// of what changed since is.
func (q Question) Reverting(to string) Build {
	latest, newest, main := q.Package.Latest, q.Package.Newest(), q.Package.Branch.Main()
	was := latest.Inputs
	from := q.Package.Tagged(was.Published)
	b := Build{As: ActionRedraft, Reasons: []string{"set back to " + to}, Inputs: q.Parts.Inputs(newest).On(main)}
	if q.From.Number == 0 {
		b.As = ActionUpdate
	}
	if was.Digest == "" || q.made(was, q.Parts.Inputs(from).On(was.Main), from) {
		return b
	}
	was.Published, was.Main, was.Digest = b.Inputs.Published, main, Digest("set back", was.Digest)
	b.Inputs = was
	return b
}

// SetBack says that an open revision, or a new one where from is none, brings back what
// people took back: with a revert, or on the registered branch.
func (p *Package) SetBack(from *Revision) bool {
	if p.Latest == nil || from != nil && from.Number == 0 && from.Reverts() != "" {
		return false
	}
	return p.Latest.Reverts() != "" || p.Branch != nil && p.Branch.Reverted != nil
}

// reverted waits where a person set the package back: with a Draft until that is
// decided, and with what was Published until what was taken back has changed.
func (q Question) reverted() (Rule, bool) {
	to := q.From.Reverts()
	switch {
	case to == "" || q.Retry:
		return Rule{}, false
	case q.From.Number == 0 && q.Behind():
		name, _, _ := strings.Cut(to, " ")
		return Rule{ruled(Wait{}, fmt.Sprintf("sets it back to %s, and %s moved since: run revert %s %s again, or discard it; apply --retry %[3]s drafts the variant as it is now instead", to, q.Repo.Branch, q.Identity, name))}, true
	case q.From.Number == 0:
		return Rule{ruled(Wait{}, fmt.Sprintf("sets it back to %s: approve it, or discard it; apply --retry %s drafts the variant as it is now instead", to, q.Identity))}, true
	case q.since():
		return Rule{}, false
	}
	return Rule{ruled(Wait{}, fmt.Sprintf("set back to %s: apply --retry %s drafts what was set back again", to, q.Identity))}, true
}
