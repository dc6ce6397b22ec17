package reconcile

import (
	"slices"

	"github.com/variform/variform/internal/decide"
)

// Rest is what an engine's plan says that does not need the engine any more: who keeps
// a plan for later keeps no package, repository or answer with it.
func (p *Plan) Rest() *Plan {
	out := *p
	out.run, out.Targets, out.Items = nil, make([]*TargetPlan, len(p.Targets)), make([]*Item, len(p.Items))
	for n, t := range p.Targets {
		rest := *t
		rest.Answer = nil
		out.Targets[n] = &rest
	}
	for n, i := range p.Items {
		rest := *i
		rest.Base, rest.Before, rest.After, rest.Machine = nil, nil, nil, nil
		rest.change, rest.want, rest.orphan, rest.decision = nil, nil, nil, nil
		rest.moved = i.moves()
		out.Items[n] = &rest
	}
	return &out
}

// Into is what is known of the whole after the run of a part: the part's items for those
// that whole had there. Sets are expanded by every run, and are the part's.
func (p *Plan) Into(whole *Plan) *Plan {
	out := p.Rest()
	for _, i := range whole.Items {
		if !p.run.mine(i.Identity) {
			out.Items = append(out.Items, i)
		}
	}
	out.sort()
	return out
}

// Alone says that what a plan of a part says is all that is to be said: nothing could not
// be read, no set fails, and nothing is there that no variant wants, for what becomes of
// that the whole decides.
func (p *Plan) Alone() bool {
	return len(p.Problems) == 0 && len(p.Braked) == 0 && !p.SetsFail() &&
		!slices.ContainsFunc(p.Items, func(i *Item) bool { return i.orphan != nil || i.Action == decide.ActionTrim })
}

// SetsFail says that a target of a set fails.
func (p *Plan) SetsFail() bool {
	return slices.ContainsFunc(p.Sets, func(s *SetStatus) bool { return len(s.Failures) > 0 })
}

// Moved are the packages that a plan moved which was applied.
func (p *Plan) Moved() (out []decide.Identity) {
	for _, i := range p.Items {
		if i.Err == nil && i.moves() && !slices.Contains(out, i.Identity) {
			out = append(out, i.Identity)
		}
	}
	return out
}
