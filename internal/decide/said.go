package decide

import (
	"errors"
	"fmt"

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

// inputsOf are those of an open revision: what a build showed to give just that, or
// what its commit says.
func (p *Package) inputsOf(r *Revision) Inputs {
	for _, e := range p.Entries {
		if e.Place == record.Built && e.Workspace == r.Workspace && e.Commit == r.Ref.Commit.String() && e.Failure == "" {
			return ParseInputs(e.Inputs)
		}
	}
	return r.Inputs
}

// SayDiscard discards the open revisions of a wanted package: they go, and no Draft
// of the newest one's inputs is made again unasked.
func SayDiscard(m Manager, w *Want, repo *Repository, p *Package, word record.Word) (record.Entry, []Discard, error) {
	e := restating(m, w, p)
	var out []Discard
	for _, r := range p.open() {
		if m.Signed(r.Owner, w.Namespace) {
			out = append(out, Discard{r})
		}
	}
	switch h := p.Hold(); {
	case len(out) == 0:
		return e, nil, errors.New("it has no open Draft of this fleet")
	case h != nil:
		return e, nil, heldError(h, w.Identity)
	}
	word.Inputs = p.inputsOf(out[0].Revision).String()
	e.Discarded = &word
	return e, out, unkept(repo)
}
