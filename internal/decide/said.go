package decide

import (
	"errors"
	"fmt"
	"slices"

	"github.com/variform/variform/internal/record"
)

// This file is about what people say of packages, and the record keeps: a hold,
// and that a Draft was discarded.

// unkept refuses to say something where there is no record to keep it.
func unkept(repo *Repository) error {
	if repo.Records {
		return nil
	}
	return fmt.Errorf("Repository %s has no record that could keep it: see its annotation %s, and \"variform record check\"", repo.Name, record.Annotation)
}

// SayHold holds a wanted package as it is.
func SayHold(m Manager, w *Want, repo *Repository, p *Package, word record.Word) (record.Entry, error) {
	e := restating(m, w, p)
	e.Hold = &word
	return e, unkept(repo)
}

// SayOff takes a hold off a package, wanted or not.
func SayOff(repo *Repository, p *Package) (record.Entry, error) {
	e, _ := p.said()
	if e.Hold == nil {
		if h := p.Hold(); h != nil {
			return e, fmt.Errorf("it is %s: take that off with --manager %s", heldBy(h), h.In.Manager)
		}
		return e, errors.New("nobody holds it")
	}
	e.Hold = nil
	return e, unkept(repo)
}

// inputsOf returns the inputs of an open revision: those that a build showed to give just
// that, those that its commit says, or, where a person replaced the commit that the record
// has, those of the record.
func (p *Package) inputsOf(r *Revision) Inputs {
	inputs := r.Inputs
	for _, e := range p.Entries {
		commit := ParseHash(e.Commit)
		switch {
		case e.Workspace != r.Workspace:
		case e.Place == record.Built && commit == r.Ref.Commit && e.Failure == "":
			return ParseInputs(e.Inputs)
		case e.Place == record.Open && e.Inputs != "" && (r.Machine == nil || r.Machine.Commit != commit && !slices.Contains(r.Machine.Parents, commit)):
			inputs = ParseInputs(e.Inputs)
		}
	}
	return inputs
}

// SayDiscard discards the open revision of a wanted package, of several those that
// names mean: they go, and no Draft of the same inputs is made again unasked. One that
// sets the package back keeps none away: no run makes it. What the
// registered branch has of it, merged by other means, is tagged first: it would be
// nobody's there.
func SayDiscard(m Manager, w *Want, repo *Repository, p *Package, names []string, word record.Word) (record.Entry, []Discard, error) {
	ours := func(r *Revision) bool { return m.Signed(r.Owner, w.Namespace) }
	landed := func(r *Revision) bool { return merged(m, w, repo, p, r) }
	return discarding(w.Identity, repo, p, restating(m, w, p), names, word, ours, landed)
}

// SayDiscard is that for the open revisions of a package that no variant wants, edits
// by hand and all.
func (o *Orphan) SayDiscard(m Manager, names []string, word record.Word) (record.Entry, []Discard, error) {
	if o.Err != nil {
		return record.Entry{}, nil, o.Err
	}
	e, known := o.Package.said()
	if !known {
		e = record.Entry{
			Path: o.Package.Path, Place: record.Variant, Owner: m.Sign(o.Namespace, o.Name),
			Set: o.Set, For: o.MadeFor, DeletionPolicy: o.policy(),
		}
	}
	ours := func(r *Revision) bool {
		_, owned := o.Owners[r.Ref.Name]
		return m.Signed(r.Owner, o.Namespace) && (owned || o.Kept != "" || o.Upstream)
	}
	landed := func(r *Revision) bool { return o.Landed != nil && o.Landed.Decision.(Tag).Draft == r }
	return discarding(o.Identity, o.Repo, o.Package, e, names, word, ours, landed)
}

// Names are those that mean the package: of the variant that made it, repository/package,
// and of its open revisions.
func (o *Orphan) Names() []string {
	return append(given(o.Name, o.Identity.String()), o.draftNames(o.Package)...)
}

func discarding(id Identity, repo *Repository, p *Package, e record.Entry, names []string, word record.Word, ours, landed func(*Revision) bool) (record.Entry, []Discard, error) {
	var all, out []Discard
	var several []string
	for _, r := range p.open() {
		if !ours(r) {
			continue
		}
		d, name := Discard{Revision: r}, id.draftName(r)
		all, several = append(all, d), append(several, fmt.Sprintf("%s (%s)%s", name, r.Phase, r.settingBack()))
		if slices.Contains(names, name) {
			out = append(out, d)
		}
	}
	if len(all) == 1 {
		out = all
	}
	switch h := p.Hold(); {
	case len(all) == 0:
		return e, nil, errors.New("it has no open Draft of this fleet")
	case h != nil:
		return e, nil, heldError(h, id)
	case p.Rollout != "":
		return e, nil, fmt.Errorf("it is %s: run variform rollout stop %s first", inRollout(p), p.Rollout)
	case len(out) == 0:
		return e, nil, fmt.Errorf("it has several open revisions: %s: discard them by those names", joined(several))
	case slices.ContainsFunc(out, func(d Discard) bool { return landed(d.Revision) }):
		return e, nil, fmt.Errorf("it was merged into %s, and the next apply tags it there: run that first; set it back there, or delete it, where it is not wanted", repo.Branch)
	}
	for _, d := range out {
		if d.Revision.Reverts() == "" {
			word.Inputs = p.inputsOf(d.Revision).String()
			if at := slices.IndexFunc(p.Entries, func(e record.Entry) bool {
				return e.Place == record.Open && e.Workspace == d.Revision.Workspace
			}); at >= 0 {
				word.Set, word.For = p.Entries[at].Set, p.Entries[at].For
			}
			e.Discarded = &word
			break
		}
	}
	return e, out, unkept(repo)
}

// merged says that the next run tags what the registered branch has of an open
// revision, or of what that was before people went on with it; of any revision where
// none is asked about.
func merged(m Manager, w *Want, repo *Repository, p *Package, r *Revision) bool {
	ruling, _, ok := Landed(m, w, repo, p)
	if !ok || ruling.Decision.(Tag).Adopts {
		return false
	}
	return r == nil || ruling.Decision.(Tag).Draft == r || p.Branch != nil && p.Branch.Workspace == r.Workspace
}

// Describe names what is discarded for people; editor is who committed to it by
// hand, "" for nobody.
func (d Discard) Describe(editor string) string {
	s := d.Revision.Describe() + d.Revision.settingBack()
	if editor != "" {
		s += ", edited by " + editor
	}
	return s
}

// settingBack says that a revision sets its package back, "" of most.
func (r *Revision) settingBack() string {
	if r.Reverts() == "" {
		return ""
	}
	return ", which sets it back to " + r.Reverts()
}

// draftName is how people name one of several open revisions.
func (id Identity) draftName(r *Revision) string { return r.PorchName(id.Repository, id.Package) }

// DraftNames are those that mean an open revision of a wanted package.
func (w *Want) DraftNames(p *Package) []string { return w.draftNames(p) }

func (id Identity) draftNames(p *Package) (names []string) {
	for _, r := range p.open() {
		names = append(names, id.draftName(r))
	}
	return names
}
