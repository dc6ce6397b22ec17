package decide

import (
	"errors"
	"fmt"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
)

// ErrNoLocalChange says that others committed nothing to the registered branch.
var ErrNoLocalChange = errors.New("no local change")

// TagsMain reports whether each local change of a Repository's packages is to become a
// revision by the next run.
func (r *Repository) TagsMain() bool {
	return r.Annotations[v1alpha1.TagMainAnnotation] == v1alpha1.TagMainAlways
}

// AtOnce is the ruling of OnMain where the Repository asks for it.
func AtOnce(tag Tag, repo *Repository, p *Package) Ruling {
	return ruled(tag, fmt.Sprintf("%s moved since %s%s: becomes %s, for variform.dev/tag-main is %s", repo.Branch, RevisionName(p.Latest.Number), p.Branch.by(), RevisionName(p.Next()), v1alpha1.TagMainAlways))
}

// OnMain makes a revision of what others committed to the registered branch of a
// wanted package since it was Published last: the branch and open Drafts stay as
// they are. It returns the package as it is then. The branch has been looked at.
func OnMain(m Manager, w *Want, repo *Repository, p *Package) (Tag, *Package, error) {
	b, latest := p.Branch, p.Latest
	hold := p.Hold()
	landed := func() bool {
		_, _, ok := Landed(m, w, repo, p)
		return ok
	}
	var err error
	switch {
	case p.Lost != nil:
		err = fmt.Errorf("tag %s is missing: run apply, which sets it again", RevisionName(p.Lost.Number))
	case latest == nil:
		err = fmt.Errorf("%w: no revision of it is Published", ErrNoLocalChange)
	case b == nil:
		err = fmt.Errorf("%w: %s is what is on %s", ErrNoLocalChange, RevisionName(latest.Number), repo.Branch)
	case !m.Signed(latest.Owner, w.Namespace):
		err = fmt.Errorf("%s is no package of this fleet", latest.Describe())
	case hold != nil:
		err = heldError(hold, w.Identity)
	case latest.Phase == lifecycle.DeletionProposed:
		err = fmt.Errorf("%s is proposed for deletion: reject that first", RevisionName(latest.Number))
	case b.Main() == deleted:
		err = fmt.Errorf("it was %s", b.away(w, repo))
	case b.Reverted != nil:
		err = fmt.Errorf("it was set back to %s on %s%s: apply --retry %s drafts what was set back again", RevisionName(b.Reverted.Number), repo.Branch, b.by(), w.Identity)
	case landed():
		err = errors.New("a Draft was merged there: run apply, which makes a revision of that")
	case !m.Signed(b.Owner, w.Namespace):
		err = fmt.Errorf("its Kptfile on %s does not say that it is of this fleet: take back what became of its annotation there", repo.Branch)
	}
	if err != nil {
		return Tag{}, nil, err
	}
	now := *p
	now.Branch = &Branch{Tree: b.Tree, Came: b.Came, By: b.By, Owner: latest.Owner, Merged: latest.Machine}
	n := p.Next()
	tag := Tag{Ref: lifecycle.PublishedRef(p.Path, n), Commit: b.Came, Local: true}
	return tag, now.with(tag, n, repo), nil
}
