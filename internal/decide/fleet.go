package decide

import (
	"slices"
	"strings"
)

// Presence is what tells whether the packages that a manager signed are of this fleet,
// or of another fleet that has the same name.
type Presence struct {
	Manager Manager
	// Claimed reports that a person gave the manager's name with --manager, Known that
	// this fleet was applied from this machine before, SameOrigin that it comes from
	// where the fleet comes from that wrote a record last.
	Claimed, Known, SameOrigin bool
	// Doubt reports that part of the fleet could not be read.
	Doubt bool
	// Wanted are the packages that the fleet makes, Owned those that the manager signed
	// in its repositories, whether it makes them or not.
	Wanted []Identity
	Owned  []Identity
}

// Other returns why the fleet must not go on under its name: the manager signed packages,
// and the fleet makes none of them. Two fleets of one name would delete each other's.
func (p Presence) Other() error {
	if p.Claimed || p.Known || p.SameOrigin || p.Doubt || len(p.Wanted) == 0 || len(p.Owned) == 0 {
		return nil
	}
	var names []string
	for _, id := range p.Owned {
		if slices.Contains(p.Wanted, id) {
			return nil
		}
		names = append(names, id.String())
	}
	slices.Sort(names)
	return Stalled("another fleet has the name %q: it owns %s, and this fleet makes none of these packages: give this fleet its own name, as metadata.name of the Kptfile in the management directory; if it is the same fleet, run once with --manager %s",
		p.Manager, strings.Join(Limit(names, 5), ", "), p.Manager)
}

// KeptName is the name of a variant of a set: the one under which it owns its package, if
// its set ever gave it that name, else its name of now. So a target that comes or goes
// renames no other variant. names are all that its set may give it.
func KeptName(m Manager, w *Want, p *Package, names func() []string) string {
	if p == nil {
		return w.Name
	}
	owner := p.NewestOwner()
	name := OwnerName(owner)
	if !m.Signed(owner, w.Namespace) || owner != m.Sign(w.Namespace, name) || name == w.Name || !slices.Contains(names(), name) {
		return w.Name
	}
	return name
}
