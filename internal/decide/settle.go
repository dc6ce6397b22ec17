package decide

import (
	"fmt"
	"slices"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/lifecycle"
)

// Restored takes back the proposals to delete a package that is wanted, where
// this manager owns it; false where there is none.
func Restored(m Manager, w *Want, p *Package) (Ruling, bool) {
	tags := p.Deletions()
	if len(tags) == 0 || p.Latest == nil || !m.Signed(p.Latest.Owner, w.Namespace) {
		return Ruling{}, false
	}
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = RevisionName(t.Number)
	}
	return ruled(Restore{tags}, fmt.Sprintf("the proposed deletion of %s is taken back: the package is wanted", joined(Limit(names, 5)))), true
}

// Leftover discards a wanted package's surplus Drafts, one ruling each.
func Leftover(m Manager, w *Want, p *Package) []Ruling {
	var out []Ruling
	for _, r := range p.Surplus {
		switch {
		case !m.Signed(r.Owner, w.Namespace):
		case p.traced && r.Workspace == p.Latest.Workspace && p.retouched:
			out = append(out, ruled(Discard{Revision: r}, "another tool edited it, and published it as "+RevisionName(p.Latest.Number)))
		case p.traced && r.Workspace == p.Latest.Workspace:
			out = append(out, ruled(Discard{Revision: r}, "another tool published it as "+RevisionName(p.Latest.Number)))
		default:
			out = append(out, ruled(Discard{Revision: r}, "all of it was proposed or published meanwhile"))
		}
	}
	return out
}

// HeldLock waits with a lock of which nothing could be made: a lock is drafted with
// what it names.
func HeldLock(o *Outcome, r Ruling) Ruling {
	lock := o.Lock()
	if _, drafts := r.Decision.(Draft); lock == nil || !drafts || len(lock.Unmade) == 0 {
		return r
	}
	var names []string
	for _, id := range lock.Unmade {
		names = append(names, id.String())
	}
	return Ruling{Decision: Wait{}, Warnings: r.Warnings, Reasons: []string{"is drafted with what it names, and failed: " + joined(Limit(names, 5))}}
}

// Trimmable are the Published revisions beyond an Installation's historyLimit,
// oldest first: candidates, of which only those that this manager published may
// go. A revision that an open one started from stays.
func Trimmable(m Manager, w *Want, p *Package, keep int) []Published {
	if keep == 0 || p.Latest == nil || !m.Signed(p.Latest.Owner, w.Namespace) {
		return nil
	}
	oldest := p.Latest.Number
	for _, r := range p.Heads() {
		if since := p.Tagged(r.Since); r.Number == 0 && since != nil {
			oldest = min(oldest, since.Number)
		}
	}
	var inactive []Published
	for _, t := range p.Tags {
		if t.Number < p.Latest.Number && !t.DeletionProposed() {
			inactive = append(inactive, t)
		}
	}
	if len(inactive) <= keep {
		return nil
	}
	return slices.DeleteFunc(inactive[:len(inactive)-keep], func(t Published) bool { return t.Number >= oldest })
}

// Trimmed rules that Published revisions go.
func Trimmed(tags []Published, keep int) Ruling {
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = RevisionName(t.Number)
	}
	return ruled(Trim{tags}, fmt.Sprintf("historyLimit %d: %s go", keep, joined(Limit(names, 5))))
}

// Orphan is a package of this manager's that no variant wants any more.
type Orphan struct {
	Identity
	Name    string // of the variant that owned it
	Repo    *Repository
	Package *Package
	// Set and MadeFor are what the newest Kptfile of it says.
	Set, MadeFor string
	// Kept is why it stays, "" where it may go.
	Kept string
	// Upstream reports that wanted packages have it as their upstream.
	Upstream bool
	// Doubt is why this run cannot judge whether a variant wants it, "" where no
	// variant does; see [Blocks].
	Doubt string
	// Owners is what is known of its revisions' variants, by ref. A revision
	// without an entry was given up, or away, by a person, in its Kptfile.
	Owners map[string]Ownership
	// Landed says that Package is as it is once a merged Draft is tagged; nil for
	// most.
	Landed *Ruling
	// Alone says that what was made for others is left alone in this run, as
	// dependencies are.
	Alone bool
	// Err is why it could not be looked at.
	Err error
}

// Ownership is what is known of who made a package: by the record, or by its
// Kptfile where that says nothing.
type Ownership struct {
	Policy string // deletionPolicy, "" for delete
	// For is what it was made for; Dependency says that it was brought because
	// another package needed it.
	For        string
	Dependency bool
	// Author is who last committed to the revision by hand, "" for nobody, and Edits
	// names what people changed there: nil where it cannot be told from what the
	// machine made.
	Author string
	Edits  []string
}

// Removal is what becomes of one revision of an Orphan.
type Removal struct {
	Ruling
	Revision *Revision // nil where nothing of the package is this manager's
}

const (
	gone     = "its variant has gone"
	stranger = "its Kptfile says that it is of no variant of this fleet: it stays"
)

// Remove decides each revision of an orphan by itself (Porch's PackageVariant
// design, "Adoption and Deletion Policies"): there is at least one Removal. Under a
// Doubt none is removed, and no reason claims that the variant is gone.
func Remove(o *Orphan) []Removal {
	switch {
	case o.Err != nil:
		return []Removal{{Ruling: failed(o.Err)}}
	case o.Kept != "":
		return []Removal{{Ruling: ruled(Keep{}, o.Kept)}}
	}
	list := removals(o)
	if o.Doubt == "" {
		return list
	}
	for i := range list {
		list[i].Ruling = o.unjudged(list[i].Ruling)
	}
	return list
}

// unjudged replaces a ruling that rests on the variant being gone.
func (o *Orphan) unjudged(r Ruling) Ruling {
	doubt := "this run cannot tell whether a variant wants it: " + o.Doubt
	if h := o.Package.Hold(); h != nil {
		doubt = heldBy(h) + "; " + doubt
	}
	switch r.Decision.(type) {
	case Wait:
		return ruled(Wait{}, "its deletion is proposed, and "+doubt)
	case Nothing, Tag:
		return r
	}
	return ruled(Keep{}, doubt)
}

// removals are those of an orphan whose variant is gone.
func removals(o *Orphan) []Removal {
	if o.Upstream {
		return []Removal{{Ruling: ruled(Keep{}, gone+", but other variants have it as their upstream")}}
	}
	hold, there := o.Package.Hold(), len(o.Package.Heads()) > 0
	switch {
	case there && o.Package.Rollout != "":
		return []Removal{{Ruling: ruled(Keep{}, gone+", and it is "+inRollout(o.Package)+": run variform rollout stop "+o.Package.Rollout)}}
	case there && hold != nil:
		return []Removal{{Ruling: ruled(Keep{}, gone+", and it is "+heldBy(hold))}}
	case !there && o.Package.Spoken():
		return []Removal{{Ruling: ruled(Forget{}, gone+", and with it goes what was said of it")}}
	}
	var out []Removal
	policy := o.policy()
	for _, r := range o.Package.Revisions {
		if owner, owned := o.Owners[r.Ref.Name]; owned {
			out = append(out, Removal{o.remove(r, owner, policy), r})
		} else if made, ok := o.Package.replaced(r); ok {
			out = append(out, Removal{ruled(Keep{}, gone+", and the "+replacedBy(r, made)+": bring its variant back, or delete the branch "+r.Ref.Short()), r})
		}
	}
	for _, r := range o.Package.Surplus {
		if _, owned := o.Owners[r.Ref.Name]; owned {
			out = append(out, Removal{ruled(Discard{Revision: r, Withdrawn: true}, gone), r})
		}
	}
	// What stays as it is tells only where it is all that there is to tell.
	moved := slices.DeleteFunc(slices.Clone(out), func(m Removal) bool { return m.Decision == Nothing{} && len(m.Reasons) == 0 })
	switch {
	case len(out) == 0:
		return []Removal{{Ruling: ruled(Nothing{}, stranger)}}
	case len(moved) == 0:
		return out[:1]
	case o.Landed != nil:
		tag := Removal{*o.Landed, o.Landed.Decision.(Tag).Draft}
		moved = append([]Removal{tag}, moved...)
	}
	return moved
}

// policy is the deletion policy as the variant last had it: that of the newest
// revision of the machine's hand.
func (o *Orphan) policy() string {
	for _, r := range o.Package.open() {
		if owner, owned := o.Owners[r.Ref.Name]; owned {
			return owner.Policy
		}
	}
	if o.Package.Latest == nil {
		return ""
	}
	return o.Owners[o.Package.Latest.Ref.Name].Policy
}

func (o *Orphan) remove(r *Revision, owner Ownership, policy string) Ruling {
	switch {
	case o.Alone && owner.Dependency:
		return ruled(Nothing{}, "another package needed it, and dependencies are left alone in this run")
	case r.Phase == lifecycle.DeletionProposed:
		return ruled(Wait{}, "proposed for deletion: approve that, or reject it")
	case r.Phase.Open() && owner.For != "":
		policy = "" // nothing uses what was never Published, whoever manages it
	}
	switch lifecycle.Remove(v1alpha1.DeletionPolicy(policy), r.Phase) {
	case lifecycle.ProposeDeletion:
		return o.retire()
	case lifecycle.Release:
		switch {
		case r.Number > 0 && owner.Dependency:
			return ruled(Nothing{}, "it was brought for others, and nothing needs it any more")
		case r.Number > 0 && !o.Repo.Records:
			return ruled(Nothing{}) // there is no place to say so
		}
		reason := gone + "; deletionPolicy orphan leaves the package"
		if r.Phase.Open() { // no name reaches it here any more
			reason += fmt.Sprintf(", and its branch %s, for you to delete where it is not wanted", r.Ref.Short())
		}
		return ruled(Release{r}, reason)
	case lifecycle.Discard:
		if owner.Author != "" {
			return ruled(Keep{}, o.edited(r, owner))
		}
		return ruled(Discard{Revision: r, Withdrawn: true}, gone)
	default:
		return ruled(Nothing{})
	}
}

// edited is why an open revision with a person's commits stays. It offers to remove
// the revision only where it names the edits that are lost with it.
func (o *Orphan) edited(r *Revision, owner Ownership) string {
	if len(owner.Edits) == 0 {
		return fmt.Sprintf("%s, and %s committed to %s by hand: bring its variant back", gone, owner.Author, r.Describe())
	}
	remedy := "run variform discard " + o.draftName(r) + " --reason TEXT"
	if !o.Repo.Records {
		remedy = "delete the branch " + r.Ref.Short()
	}
	return fmt.Sprintf("%s, and %s edited %s by hand: %s: bring its variant back, or, to lose %s, %s",
		gone, owner.Author, r.Describe(), joined(Limit(owner.Edits, 5)), count.Of(len(owner.Edits), "edit"), remedy)
}

func (o *Orphan) retire() Ruling {
	var tags []Published
	for _, t := range o.Package.Tags {
		if !t.DeletionProposed() {
			tags = append(tags, t)
		}
	}
	return ruled(Retire{Path: o.Package.Path, Tags: tags}, gone)
}
