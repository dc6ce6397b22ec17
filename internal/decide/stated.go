package decide

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/record"
)

// This file is about what the manager's record says of a package itself, beside
// its revisions (docs/design/record.md#what-it-holds): it changes with the fleet,
// and without a Draft.

// Stated is what the record says of the variant of a revision: what the fleet
// said last, or what the revision was made by. False where it says nothing. Without a
// revision it is about what the record alone knows of.
func (p *Package) Stated(r *Revision) (record.Entry, bool) {
	var found record.Entry
	for _, e := range p.Entries {
		switch {
		case e.Place == record.Variant && e.Owner != record.Nobody:
			return e, true
		case e.Place == record.Main && r == p.Latest,
			e.Place == record.Open && (r == nil || e.Workspace == r.Workspace): // also of what a forge merged
			found = e
		}
	}
	return found, found.Place != ""
}

// Said is what the record is to say of a package whose latest Published revision is
// released; false for an open one, whose commit says it.
func (d Release) Said(path string) (record.Entry, bool) {
	r := d.Revision
	return record.Entry{Path: path, Place: record.Variant, Owner: record.Nobody, Commit: r.Ref.Commit.String()}, r.Number > 0
}

// Believe takes over what a manager's record knows better than the commits: whose
// the latest Published revision is where no commit of the machine's leads to it,
// what one that a forge squashed was made of, and that its variant has released it. Entries count for the commit that they
// name, but for one about the package itself, and a release only where the manager owned it.
func (p *Package) Believe(manager string, entries []record.Entry) {
	l := p.Latest
	if l == nil {
		return
	}
	for _, e := range entries {
		switch {
		case e.Place == record.Variant && strings.HasPrefix(e.Owner, manager+"/") && l.Machine == nil && l.Owner == "":
			l.Owner = e.Owner
		case e.Commit != l.Ref.Commit.String():
		case e.Place == record.Past && l.Machine == nil && l.Owner == "":
			l.Owner = e.Owner
			l.squashed(e)
		case e.Place == record.Past:
			l.squashed(e)
		case e.Place == record.Variant && e.Owner == record.Nobody && strings.HasPrefix(l.Owner, manager+"/"):
			l.Owner = ""
		}
	}
}

// Heed takes over from another's record that people set the package back.
func (p *Package) Heed(entries []record.Entry) {
	for _, e := range entries {
		if l := p.Latest; l != nil && e.Place == record.Past && e.Commit == l.Ref.Commit.String() {
			l.squashed(e)
		}
	}
}

// Doubt takes the trailers of a manager's open revisions for a person's where its
// record, of which there is one, does not know their commit: whoever may push
// writes trailers, and the machine's name. It knows what was built without a base to
// hold by that, but of locks: those from before their commits named what the machine made.
func (p *Package) Doubt(manager string) {
	for _, r := range p.Heads() {
		if r.Number > 0 || r.Machine == nil || !strings.HasPrefix(r.Owner, manager+"/") {
			continue
		}
		if path.Base(p.Path) == depend.LockPackage && r.Machine.Hydrated.IsZero() {
			continue
		}
		r.Machine.Ours = r.Machine.Ours && slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
			known := e.Place == record.Open || e.Place == record.Built && r.Machine.Hydrated.IsZero()
			return known && e.Workspace == r.Workspace && e.Commit == r.Machine.Commit.String()
		})
	}
}

// Said is what the record is to say of a variant itself.
func (w *Want) Said() record.Entry {
	e := record.Entry{Set: w.Set, For: w.MadeFor, DeletionPolicy: string(w.DeletionPolicy())}
	if pv := w.Variant(); pv != nil {
		e.Labels = pv.Spec.Labels
	}
	return e
}

// said is the record's entry about the package itself, where its variant has it.
func (p *Package) said() (record.Entry, bool) {
	for _, e := range p.Entries {
		if e.Place == record.Variant && e.Owner != record.Nobody {
			return e, true
		}
	}
	return record.Entry{}, false
}

// Spoken says that people said something of a package.
func (p *Package) Spoken() bool {
	e, _ := p.said()
	return e.Hold != nil || e.Discarded != nil
}

// Unsaid reports whether what people said of an orphan goes with a removal of it.
func (o *Orphan) Unsaid(m Removal) bool { return m.Goes() && o.Package.Spoken() }

// Saying is what people said of a package: the entry, and the record of another
// that it stands in, nil for this manager's own.
type Saying struct {
	record.Entry
	In *record.Record
}

// sayings are what people said of a package, in this manager's record first.
func (p *Package) sayings() (out []Saying) {
	add := func(entries []record.Entry, in *record.Record) {
		for _, e := range entries {
			if e.Place == record.Variant && e.Owner != record.Nobody && (e.Hold != nil || e.Discarded != nil) {
				out = append(out, Saying{e, in})
			}
		}
	}
	add(p.Entries, nil)
	for _, rec := range p.Others {
		add(rec.Package(p.Path), rec)
	}
	return out
}

// whose names another's record, "" for this manager's.
func (s *Saying) whose() string {
	switch {
	case s.In == nil:
		return ""
	case s.In.Origin != "":
		return ", in the record of manager " + s.In.Manager + " of " + s.In.Origin
	}
	return ", in the record of manager " + s.In.Manager
}

// isCarried reports whether a Rollout publishes the open Draft, and no forge merged it.
func isCarried(p *Package) bool {
	if p.Rollout == "" || p.Open() == nil {
		return false
	}
	draft, known := p.Tree(p.Open().Ref.Commit)
	return !known || !slices.ContainsFunc(p.Trees, func(f Folder) bool { return f.Tree == draft && f.Commit != p.Open().Ref.Commit })
}

// NewerWaits is a warning that a newer version waits until a Rollout ends, "" where none does.
func (o *Outcome) NewerWaits() string {
	b, build := o.Intent.(Build)
	if !build || o.Package.Rollout == "" || b.Inputs.Upstream == o.From.Inputs.Upstream {
		return ""
	}
	return o.Source + " waits behind rollout " + o.Package.Rollout
}

// inRollout names the Rollout that publishes the package.
func inRollout(p *Package) string { return "in rollout " + p.Rollout }

// Hold is what a person said who holds a package as it is, in whosever record; nil
// where nobody does.
func (p *Package) Hold() *Saying {
	for _, s := range p.sayings() {
		if s.Hold != nil {
			return &s
		}
	}
	return nil
}

// discarded is what a person said who discarded its Draft last; of what is in another's
// record it is not known whether that is over, but where a Draft is open.
func (p *Package) discarded() *Saying {
	for _, s := range p.sayings() {
		if s.Discarded != nil && (s.In == nil || p.Open() == nil) {
			return &s
		}
	}
	return nil
}

// Held leaves a package as it is that a person holds, or a Rollout publishes; false for
// all others.
func Held(p *Package) (Ruling, bool) {
	switch h := p.Hold(); {
	case h != nil:
		return ruled(Wait{}, heldBy(h)), true
	case isCarried(p):
		return ruled(Nothing{}, inRollout(p)), true
	}
	return Ruling{}, false
}

// HeldBy says who holds a package, and why; "" where nobody does.
func HeldBy(p *Package) string {
	if h := p.Hold(); h != nil {
		return heldBy(h)
	}
	return ""
}

func heldBy(h *Saying) string {
	return "held by " + h.Hold.By + h.whose() + ": " + h.Hold.Reason
}

// heldError says how a hold is taken off: each record is written by its own manager.
func heldError(h *Saying, id Identity) error {
	how := "variform hold --off " + id.String()
	if h.In != nil {
		how += " --manager " + h.In.Manager
	}
	return fmt.Errorf("%s: %s takes that off", heldBy(h), how)
}

// restating is the record's entry about a wanted package itself as it is to be, with
// what people said of it there.
func restating(m Manager, w *Want, p *Package) record.Entry {
	before, _ := p.said()
	now := w.Said()
	now.Path, now.Place, now.Owner = p.Path, record.Variant, m.Sign(w.Namespace, w.Name)
	now.Hold, now.Discarded = before.Hold, before.Discarded
	return now
}

// Restated records what the fleet says of a variant whose package is there, where
// the record says something else: deletion policy, set and labels are in force at
// once, and no reason for a Draft. False where there is nothing to record. Where
// the record knows nothing of the package the Kptfile's annotations stand in, but
// for a policy that keeps more than they may, and where its commit does not tell whose
// it is. draft is the commit that this run makes, nil for none: with a new Draft, what a
// person discarded before is over, and a Draft that it takes over is the variant's from now on.
func Restated(m Manager, w *Want, repo *Repository, p *Package, draft *Draft) (Ruling, bool) {
	drafted := draft != nil && draft.New()
	now := restating(m, w, p)
	if before, _ := p.said(); drafted && before.Discarded != nil {
		now.Discarded = nil
		return ruled(Record{Entry: now}, changes(before, now)...), true
	}
	from := p.Open()
	if from == nil {
		from = p.Latest
	}
	then, known := p.said()
	switch {
	case w.Variant() == nil || !repo.Records:
		return Ruling{}, false
	case p.misplaced() != nil: // recording the package would confirm where its tag is
		return Ruling{}, false
	case from == nil && drafted && known: // of one that was there before
	case from == nil && (drafted || !p.hadRevision(m, w)), from != nil && !m.Signed(from.Owner, w.Namespace) && (draft == nil || draft.From != from):
		return Ruling{}, false
	default:
		then, known = p.Stated(from)
	}
	said := changes(then, now)
	if !known && now.DeletionPolicy == "" || known && len(said) == 0 {
		switch {
		case from == nil || from != p.Latest || p.told():
			return Ruling{}, false
		case p.Publication() != nil:
			return ruled(Record{now, true}, RevisionName(from.Number)+" was published by another tool: the record is to say what it was made from"), true
		}
		return ruled(Record{now, true}, "neither the record nor its commit tells whose it is"), true
	}
	return ruled(Record{Entry: now}, said...), true
}

// hadRevision reports whether the record has a revision of the variant's manager, for a package
// without any: a forge may have merged its Draft, and what is held, or waits, is not tagged.
func (p *Package) hadRevision(m Manager, w *Want) bool {
	return slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return (e.Place == record.Open || e.Place == record.Main) && m.Signed(e.Owner, w.Namespace)
	})
}

// told says that the record or its own commit tells whose the latest Published revision
// is: nobody reads what lies behind it, nor its Kptfile, once it is no longer wanted.
// The tag that this run makes is recorded with it, and so is a revision with the Draft
// that became it.
func (p *Package) told() bool {
	l := p.Latest
	return p.tagged || p.traced && len(p.Surplus) > 0 || l.Machine != nil && l.Machine.Commit == l.Ref.Commit || slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Variant && e.Owner != record.Nobody || e.Place == record.Past && e.Commit == l.Ref.Commit.String()
	})
}

// changes tell what of a variant is not as it was.
func changes(then, now record.Entry) (out []string) {
	if then.DeletionPolicy != now.DeletionPolicy {
		out = append(out, "deletionPolicy is "+policyName(now.DeletionPolicy)+" from now on")
	}
	if then.Set != now.Set || then.For != now.For {
		out = append(out, "what it is made for has changed")
	}
	if !maps.Equal(then.Labels, now.Labels) {
		out = append(out, "its labels have changed: Drafts get them when they are created")
	}
	return slices.Clip(out)
}

func policyName(policy string) string {
	if policy == "" {
		return "delete"
	}
	return policy
}
