package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
)

// Work is one revision of a wanted package to bring up to date.
type Work struct {
	// From is the revision that the work continues: an open Draft, the latest
	// Published, or nil for a first Draft.
	From *Revision
	// Since is the Published revision that From, an open Draft, started from.
	Since *Published
	// Adopt says that From was another's, or nobody's.
	Adopt bool
}

// Select says which revisions of a package a wanted one goes on with, or why it
// may not touch the package (Porch's PackageVariant design, "Adoption and
// Deletion Policies"). There is always one Work where there is no error.
func Select(m Manager, w *Want, repo *Repository, p *Package) ([]Work, error) {
	owner := m.Sign(w.Namespace, w.Name)
	if p.Latest == nil {
		err := vacant(w, repo, p)
		if err != nil && p.drafts(m, w) {
			err = discardable(err, m, w, p)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := Strangers(m, w, p); err != nil {
		return nil, err
	}
	sel := lifecycle.Downstream(owner, w.Repository, w.Package, w.adoption(), asOwned(m, w, p, owner))
	var works []Work
	for _, r := range sel.Continue {
		from := p.find(r)
		if draft := p.draft(r.Workspace); r.Phase == lifecycle.Proposed && draft != nil {
			return nil, Stalled("package %q in Repository %s has workspace %s both as Draft and as Proposed: delete one of the branches %s and %s",
				w.Package, w.Repository, r.Workspace, draft.Ref.Short(), from.Ref.Short())
		}
		n := Work{From: from, Adopt: from == p.Latest && p.Received(m, w.Namespace)}
		for _, a := range sel.Adopt {
			n.Adopt = n.Adopt || a.Name == r.Name && a.Phase == r.Phase
		}
		if from.Number == 0 {
			n.Since = p.Tagged(p.began(from))
		}
		works = append(works, n)
	}
	if len(works) == 0 {
		// Nothing of its own: a first Draft, or one that adopts what is Published.
		works = append(works, Work{From: p.Latest, Adopt: p.Latest != nil})
	}
	return works, nil
}

// drafts says whether the variant, by whatever name, has an open revision.
func (p *Package) drafts(m Manager, w *Want) bool {
	return slices.ContainsFunc(p.Heads(), func(r *Revision) bool { return r.Phase.Open() && m.Signed(r.Owner, w.Namespace) })
}

// vacant refuses a folder that the registered branch has although no revision
// says so: a first Draft would replace what somebody put there.
func vacant(w *Want, repo *Repository, p *Package) error {
	tree, _ := p.Tree(repo.Head)
	if tree.IsZero() {
		return nil
	}
	if b := p.Branch; b != nil && b.Owner != "" && w.adoption() == v1alpha1.AdoptExisting {
		return Stalled("package %q in Repository %s is on branch %s already, and its Kptfile says that it belongs to the variant %s: give this variant another downstream package, or remove that annotation there",
			w.Package, w.Repository, repo.Branch, b.Owner)
	}
	return Stalled("package %q in Repository %s is on branch %s already, and no revision of it is Published: set spec.adoptionPolicy: adoptExisting to take it over as %s/v1, or choose another downstream package",
		w.Package, w.Repository, repo.Branch, p.Path)
}

// adoptedAt is the commit of the registered branch at which a folder came that is no
// revision, where a variant is to take it over: zero elsewhere, and for what
// another manager says is its own.
func adoptedAt(m Manager, w *Want, p *Package) Hash {
	b := p.Branch
	if b == nil || p.Latest != nil || w.adoption() != v1alpha1.AdoptExisting || b.Owner != "" && !m.Signed(b.Owner, w.Namespace) {
		return Hash{}
	}
	return b.Came
}

// Landed finds a Draft of a wanted package that came to the registered branch by
// other means than an approval, whatever the style of that merge: it was approved
// by it, and its tag is made. So it is for a folder that others made there and a
// variant is to adopt. It returns the package as it is then.
// A missing tag comes first (Retag): its Tag has Again set.
func Landed(m Manager, w *Want, repo *Repository, p *Package) (Ruling, *Package, bool) {
	if ruling, tagged, ok := Retag(p); ok {
		return ruling, tagged, true
	}
	if p.misplaced() != nil {
		return Ruling{}, nil, false
	}
	there, known := p.Tree(repo.Head)
	if !known || there.IsZero() {
		return Ruling{}, nil, false
	}
	if p.Latest != nil {
		if published, known := p.Tree(p.Latest.Ref.Commit); !known || there == published {
			return Ruling{}, nil, false
		}
	}
	var tag Tag
	for _, r := range p.open() {
		upon := r.Inputs.Main != "" && r.Inputs.Main == (&Branch{Tree: there}).Main() // it was there before the Draft
		if tree, known := p.Tree(r.Ref.Commit); known && tree == there && !upon && m.Signed(r.Owner, w.Namespace) && p.drafted(r) {
			tag.Draft, tag.Commit = r, r.Ref.Commit
			break
		}
	}
	if b := p.Branch; b != nil && (tag.Draft != nil || (b.Drafted || p.Latest == nil) && ownedAs(m, w, p, b.Owner)) {
		if tag.Commit = b.Came; tag.Draft == nil && b.Draft != nil && m.Signed(b.Draft.Owner, w.Namespace) {
			tag.Draft = b.Draft
		}
	}
	if b := p.Branch; b != nil && !b.Landed.IsZero() && m.Signed(b.Owner, w.Namespace) {
		tag.Commit, tag.Draft = b.Landed, b.Draft
	}
	if tag.Commit.IsZero() {
		if tag.Commit = adoptedAt(m, w, p); tag.Commit.IsZero() {
			return Ruling{}, nil, false
		}
		tag.Adopts = true
	}
	n := p.nextAt(tag.Commit)
	tag.Ref = lifecycle.PublishedRef(p.Path, n)
	if tag.Adopts {
		return ruled(tag, "on "+repo.Branch+" already, and adoptionPolicy is adoptExisting: becomes "+RevisionName(n)), p.with(tag, n, repo), true
	}
	return ruled(tag, "merged into "+repo.Branch+" by other means: becomes "+RevisionName(n)), p.with(tag, n, repo), true
}

// drafted says whether an open revision has a commit of the machine's that made it:
// a branch that somebody began at the registered one has only what that has.
func (p *Package) drafted(r *Revision) bool {
	latest := p.Latest
	return r.Machine != nil && (latest == nil || latest.Machine == nil || latest.Machine.Commit != r.Machine.Commit)
}

// ownedAs says whether what an owner's annotation says is to be believed of a
// wanted package: where nothing was Published of it before only the variant's own
// name, for a folder may be a copy of another one.
func ownedAs(m Manager, w *Want, p *Package, owner string) bool {
	if p.Latest == nil {
		return owner == m.Sign(w.Namespace, w.Name)
	}
	return m.Signed(owner, w.Namespace)
}

// with is a package once a tag of Landed is there, of revision n.
func (p *Package) with(tag Tag, n int, repo *Repository) *Package {
	ref := Ref{Name: tag.Ref, Hash: tag.Commit, Commit: tag.Commit}
	latest := &Revision{Ref: ref, Number: n, Phase: lifecycle.Published}
	switch b := p.Branch; {
	case tag.Draft != nil:
		d := tag.Draft
		latest.Workspace, latest.Owner, latest.Inputs, latest.Machine = cmp.Or(d.Called, d.Workspace), d.Owner, d.Inputs, d.Machine
		latest.Parents, latest.When = d.Parents, d.When
	case b != nil:
		latest.Workspace, latest.Owner, latest.Machine = b.Workspace, b.Owner, b.Merged
		if b.Merged != nil {
			latest.Inputs = ParseInputs(b.Merged.Inputs)
		}
	}
	revisions := []*Revision{latest}
	for _, r := range p.Heads() {
		if r.Number == 0 && r.Workspace == latest.Workspace {
			latest.Workspace = cmp.Or(r.Called, r.Workspace)
		}
		if r != tag.Draft && r.Number == 0 {
			revisions = append(revisions, r)
		}
	}
	next := NewPackage(p.Path, append(slices.Clone(p.Tags), Published{Number: n, Ref: ref}), revisions...)
	next.Entries, next.Others, next.Numbers, next.Rollout, next.tagged = p.Entries, p.Others, p.Numbers, p.Rollout, true
	next.Trees = slices.Clone(p.Trees)
	at, _ := p.Tree(repo.Head)
	next.Learn(tag.Commit, at)
	if b := p.Branch; b != nil && !b.Landed.IsZero() && b.LandedTree != b.Tree {
		next.Learn(tag.Commit, b.LandedTree)
		next.Branch = &Branch{Tree: b.Tree, Came: b.Came, By: b.By, Owner: b.Owner}
	}
	return next
}

// asOwned lists the package's revisions in lifecycle's terms; owners of this
// manager and namespace get the variant's present name.
func asOwned(m Manager, w *Want, p *Package, owner string) []lifecycle.Revision {
	out := make([]lifecycle.Revision, 0, len(p.Revisions))
	for _, r := range p.Revisions {
		l := lifecycle.Revision{
			Name: r.PorchName(w.Repository, w.Package), Repository: w.Repository, Package: w.Package,
			Workspace: r.Workspace, Revision: r.Number, Phase: r.Phase,
		}
		switch {
		case m.Signed(r.Owner, w.Namespace), r == p.Latest && p.Received(m, w.Namespace):
			l.Owners = []string{owner}
			if l.Phase == lifecycle.DeletionProposed {
				l.Phase = lifecycle.Published // it is wanted: see restore
			}
		case r.Owner != "":
			l.Owners = []string{r.Owner}
		}
		out = append(out, l)
	}
	return out
}

func (p *Package) find(r lifecycle.Revision) *Revision {
	for _, h := range p.Revisions {
		if h.Workspace == r.Workspace && h.Number == r.Revision && (h.Phase == r.Phase || h.Number > 0) {
			return h
		}
	}
	return nil
}

func (p *Package) draft(workspace string) *Revision {
	for _, h := range p.Revisions {
		if h.Ref.Name == lifecycle.DraftRef(p.Path, workspace) {
			return h
		}
	}
	return nil
}

// Strangers says why a wanted package is not to be touched, and no open revision of
// it to be published: it is another's, by what was Published last or by what a
// person wrote into its Kptfile on the registered branch since.
func Strangers(m Manager, w *Want, p *Package) error {
	owner := m.Sign(w.Namespace, w.Name)
	if err := p.misplaced(); err != nil {
		return fmt.Errorf("package %q in Repository %s: %w", w.Package, w.Repository, err)
	}
	if p.Given(m, w.Namespace) && p.Branch.Owner != "" {
		return Stalled("package %q in Repository %s belongs to the variant %s: its Kptfile on the registered branch says so%s: take that annotation back there, or take this variant away",
			w.Package, w.Repository, p.Branch.Owner, p.Branch.by())
	}
	return refuse(m, w, p, lifecycle.Downstream(owner, w.Repository, w.Package, w.adoption(), asOwned(m, w, p, owner)), owner)
}

// discardable adds to the failure of a variant how to remove its Drafts. It names those
// that a person edited: the edits are lost with them.
func discardable(err error, m Manager, w *Want, p *Package) error {
	var edited []string
	for _, r := range p.open() {
		tree, known := p.Tree(r.Ref.Commit)
		if m.Signed(r.Owner, w.Namespace) && (r.byHand() || known && r.Edited(tree)) {
			edited = append(edited, r.Describe()+r.lastBy())
		}
	}
	if len(edited) > 0 {
		return Stalled("%w; edited by hand: %s: keep what you need of that before you remove it with: variform discard %s --reason TEXT", err, joined(edited), w.Identity)
	}
	return Stalled("%w; to remove its Draft run: variform discard %s --reason TEXT", err, w.Identity)
}

// lastBy names the tip of a revision and, where it is a person's, its author.
func (r *Revision) lastBy() string {
	if r.By == "" || !r.byHand() {
		return " (" + r.Ref.Commit.String()[:7] + ")"
	}
	return " by " + r.By + " (" + r.Ref.Commit.String()[:7] + ")"
}

// refuse says why a wanted package may not touch the one that is there. Drafts of
// its own go on, but where another's revision is the latest.
func refuse(m Manager, w *Want, p *Package, sel lifecycle.Selection, owner string) (err error) {
	foreign := sel.Foreign
	if len(sel.Continue) > 0 {
		foreign = slices.DeleteFunc(slices.Clone(foreign), func(r lifecycle.Revision) bool { return r.Revision == 0 || r.Revision != p.Latest.Number })
		defer func() {
			if err != nil {
				err = discardable(err, m, w, p)
			}
		}()
	}
	if len(foreign) == 0 {
		return nil
	}
	const where = "package %q in Repository %s "
	for _, r := range foreign {
		if len(r.Owners) == 0 {
			continue
		}
		if manager, rest, ok := strings.Cut(r.Owners[0], "/"); ok && strings.HasSuffix(owner, "/"+rest) {
			return Stalled(where+"belongs to the variant %s (%s), of another manager: if this fleet had that name before, go on under it with --manager %s; else give this variant another downstream package",
				w.Package, w.Repository, r.Owners[0], describe(r), manager)
		}
		return Stalled(where+"belongs to the variant %s (%s): give this variant another downstream package, or remove that one first",
			w.Package, w.Repository, r.Owners[0], describe(r))
	}
	if w.adoption() == v1alpha1.AdoptExisting || !slices.ContainsFunc(foreign, func(r lifecycle.Revision) bool { return !r.Phase.Open() }) {
		return nil // nobody's Drafts are let be: this one gets its own
	}
	help := "set spec.adoptionPolicy: adoptExisting to take it over, or choose another downstream package"
	if w.Derived {
		help = "have it published or deleted, or take it over with a PackageVariant whose spec.adoptionPolicy is adoptExisting"
	}
	return Stalled(where+"exists already (%s) and no variant made it: %s", w.Package, w.Repository, describe(foreign[0]), help)
}

// Unadopted warns of open revisions of a wanted package that no variant owns: they stay
// as they are, and the variant drafts its own. It returns "" where there are none.
func Unadopted(w *Want, p *Package) string {
	if w.adoption() == v1alpha1.AdoptExisting {
		return ""
	}
	var names []string
	for _, r := range p.Revisions {
		if r.Phase.Open() && r.Owner == "" {
			name := r.Describe()
			switch _, replaced := p.replaced(r); {
			case replaced && !w.Retry && !p.owned():
				continue // it waits for that, and tells it
			case replaced:
				name += ", whose history was replaced"
			}
			if r.By != "" {
				name += " by " + r.By
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("no variant owns %s: this variant does not touch that; to continue it, set spec.adoptionPolicy: adoptExisting", joined(Limit(names, 3)))
}

// owned reports whether an open revision is a variant's.
func (p *Package) owned() bool {
	return slices.ContainsFunc(p.open(), func(r *Revision) bool { return r.Owner != "" })
}

func describe(r lifecycle.Revision) string {
	h := Revision{Phase: r.Phase, Number: r.Revision, Workspace: r.Workspace}
	return h.Describe()
}
