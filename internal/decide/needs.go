package decide

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/resolver"
)

// This file is the walk over what the packages of a target need of each other
// (docs/design/dependencies.md#nothing-before-what-it-needs): nothing is Published
// before or without that, by whichever door.

// Stop is how a package stands of which something is to come and does not, and
// what to do about that.
type Stop struct {
	How, Do string
	nowhere bool // there is no revision of it: a lock may be ahead of that
}

// Stops are those of one target, by path below it.
type Stops map[string]Stop

// cause is the nearest package that one needs and that stops; "" for none.
func (g LockGraph) cause(ref string, stops Stops) string {
	seen := map[string]bool{ref: true}
	for list := g[ref].Needs; len(list) > 0; list = list[1:] {
		d := list[0]
		if seen[d] {
			continue
		}
		if _, stopped := stops[d]; stopped {
			return d
		}
		seen[d] = true
		list = append(list[:len(list):len(list)], g[d].Needs...)
	}
	return ""
}

// stopped is the package for which a package cannot go, or a lock that names some, and
// why it needs that; "" for none. A lock that names a package as it stands there does not
// wait for what is to become of that; of one without named nothing is known.
func (g LockGraph) stopped(ref string, lock bool, named LockGraph, stops Stops, there map[string]*resolver.Package) (d, needs string) {
	if !lock {
		return g.cause(ref, stops), "it needs %s, which %s"
	}
	for _, d := range slices.Sorted(maps.Keys(stops)) {
		l, names := named[d]
		stands := there[d] != nil && SameNumber(there[d].Version, l.Version)
		if stops[d].nowhere || named != nil && (!names || stands) {
			continue
		}
		return d, lockWaits
	}
	return "", ""
}

// order sorts packages by the waves of the lock's plan, which knows who reads what of
// whom as well, and so that what one needs comes before it. Those of a wave keep their
// order.
func (g LockGraph) order(refs []string) []string {
	refs = slices.Clone(refs)
	slices.SortStableFunc(refs, func(a, b string) int { return cmp.Compare(g[a].Wave, g[b].Wave) })
	var out []string
	in, seen := map[string]bool{}, map[string]bool{}
	for _, r := range refs {
		in[r] = true
	}
	var visit func(ref string)
	visit = func(ref string) {
		if seen[ref] {
			return
		}
		seen[ref] = true
		for _, d := range g[ref].Needs {
			visit(d)
		}
		if in[ref] {
			out = append(out, ref)
		}
	}
	for _, r := range refs {
		visit(r)
	}
	return out
}

// Needs is what governs a publication: what packages of targets need by the newest
// locks, and what of that does not come. The zero value governs locks alone.
type Needs struct {
	Locks Locks
	// Named is what the newest locks name, where answers of now stand in Locks.
	Named Locks
	Stops map[Unit]Stops
	// Stands are the packages that registered branches hold, where they were read.
	Stands Standing
}

// Standing are packages of targets, by path below them.
type Standing map[Unit]map[string]*resolver.Package

// lockWaits is why a lock is refused for a package that stops.
const lockWaits = "it is published with the packages that it names, and %s %s"

const alone = ", or approve this alone with --dependencies=false"

// NewNeeds is what governs the approval of some of all open revisions.
func NewNeeds(chosen, all []*Candidate, locks, named Locks, stands Standing) Needs {
	n := Needs{locks, named, map[Unit]Stops{}, stands}
	in := map[*Candidate]bool{}
	for _, c := range chosen {
		in[c] = true
	}
	for _, u := range Units(chosen) {
		n.Stops[u] = locks[u].missing(u, stands[u])
	}
	for _, c := range all {
		if stops := n.Stops[c.Unit()]; stops != nil && !in[c] && c.From.Open() && !c.IsLock() {
			if _, said := stops[c.ref()]; !said {
				stops[c.ref()] = Stop{How: "is open (" + string(c.From) + ")", Do: "approve that too, or the target " + c.Unit().target() + " as a whole"}
			}
		}
	}
	return n
}

// met reports whether one of some packages gives what a package needs, where that sees it.
func met(r *resolver.Requirement, of string, among map[string]*resolver.Package) bool {
	for ref, p := range among {
		if sees(r, of, ref, p) && r.MetBy(p) {
			return true
		}
	}
	return false
}

// sees reports whether a package that needs something sees another one: at the top, in the folder where it is to be, which is
// mostly its own, and wherever there can be one alone.
func sees(r *resolver.Requirement, of, ref string, p *resolver.Package) bool {
	folder, in := path.Dir(ref), path.Dir(of)
	if r.Namespace != nil && *r.Namespace != "" && *r.Namespace != "${installation.namespace}" {
		in = *r.Namespace
	}
	return folder == "." || folder == in || r.GVK != nil || p.Scope == resolver.ScopeCluster || strings.Contains(in, "${")
}

// lacks says what a package that is set back needs, by its own manifest of then, and
// is not there: the lock is of what is set back.
func lacks(ref string, p *resolver.Package, after map[string]*resolver.Package) error {
	for i := range p.Requires {
		if r := &p.Requires[i]; r.Package != "" && !r.Optional && !met(r, ref, after) {
			return fmt.Errorf("it needs %s, as it was then, and that is not there: revert that as well%s", r.Asks(), alone)
		}
	}
	return nil
}

// missing are the packages of a lock that are not there as it has them, and of which
// nothing comes: people said so, or none could be made.
func (g LockGraph) missing(u Unit, stands map[string]*resolver.Package) Stops {
	out := Stops{}
	for ref, l := range g {
		p := u.at(ref)
		discarded := p.discarded()
		there := stands[ref]
		switch h := p.Hold(); {
		case there != nil && SameNumber(there.Version, l.Version):
		case h != nil:
			out[ref] = Stop{How: "is " + heldBy(h), Do: "take that off"}
		case discarded != nil:
			out[ref] = Stop{How: "was discarded by " + discarded.Discarded.By + discarded.whose(), Do: "have it drafted again with apply --retry"}
		case p.Open() == nil && p.Latest.Reverts() != "":
			out[ref] = Stop{How: "was set back to " + p.Latest.Reverts(), Do: "have it drafted again with apply --retry"}
		case p.Open() == nil && p.Latest == nil && u.Repo.Wanted[p.Path]:
			out[ref] = Stop{How: "is not there", Do: "run apply, which tells why it cannot be made", nowhere: true}
		}
	}
	return out
}

func (u Unit) at(ref string) *Package { return u.Repo.Package(u.Repo.Path(path.Join(u.Dir, ref))) }

// Outdated says that the newest locks are not of what open candidates hold, or name
// what is nowhere: a lock is drafted with all that it names, or not at all. What is
// needed is then for an answer of now to say.
func (l Locks) Outdated(list []*Candidate) bool {
	for _, c := range list {
		if o := c.Offer; o != nil && len(o.Requires) > 0 && !SameNumber(l[c.Unit()][c.ref()].Version, o.Version) {
			return true
		}
	}
	for u, g := range l {
		for ref := range g {
			if p := u.at(ref); p.Open() == nil && p.Latest == nil {
				return true
			}
		}
	}
	return false
}

// SameNumber compares versions without build metadata, which tell content apart.
func SameNumber(a, b string) bool {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	return a == b
}

// Answers are what targets were answered now, in place of their locks.
func (l Locks) Answers(targets []*Target) {
	for _, t := range targets {
		if t.Answer != nil && t.Answer.Lock != nil {
			l[Unit{t.Repo, t.Directory}] = NewLockGraph(&t.Answer.Lock.Spec)
		}
	}
}

// Refuse refuses what would be published without what it needs, and what would take
// from others what they need as they stand: a refusal travels to all that needs what
// was refused, and to the lock that names it.
func (n Needs) Refuse(list []*Candidate) {
	for again := true; again; again = n.refuseTaking(list) {
		n.refuseWithout(list)
	}
}

// refuseTaking refuses a revision, or a deletion, that leaves a package beside it
// without what it has now; false where there is none.
func (n Needs) refuseTaking(list []*Candidate) (refused bool) {
	for u, here := range byUnit(list) {
		before, after := n.Stands[u], maps.Clone(n.Stands[u])
		for _, c := range here {
			switch {
			case c.Err != nil || before == nil:
			case !c.From.Open():
				delete(after, c.ref())
			case c.Offer != nil:
				after[c.ref()] = c.Offer
			}
		}
		for _, c := range here {
			if was := before[c.ref()]; was != nil && c.Err == nil && after[c.ref()] != was {
				if c.Err = taken(u, c.ref(), was, after); c.Err == nil && c.Head.Reverts() != "" {
					c.Err = lacks(c.ref(), after[c.ref()], after)
				}
				refused = refused || c.Err != nil
			}
		}
	}
	return refused
}

// taken says which of the packages that are there afterwards needs one as it was
// before, and nothing else gives it that.
func taken(u Unit, ref string, was *resolver.Package, after map[string]*resolver.Package) error {
	for _, other := range slices.Sorted(maps.Keys(after)) {
		for i := range after[other].Requires {
			r := &after[other].Requires[i]
			if other == ref || r.Optional || !sees(r, other, ref, was) || !r.MetBy(was) || met(r, other, after) {
				continue
			}
			what, do := "and this removes it", "remove that first"
			if now := after[ref]; now != nil {
				what, do = fmt.Sprintf("which %s %s is not", now.Package, now.Version), "approve a revision of that too which does without (revert it as well, say)"
			}
			return fmt.Errorf("%s needs %s, %s: %s%s", u.identity(other), r.Asks(), what, do, alone)
		}
	}
	return nil
}

func (u Unit) identity(ref string) Identity {
	return Identity{u.Repo.Namespace, u.Repo.Name, path.Join(u.Dir, ref)}
}

// refuseWithout refuses what needs something that does not come.
func (n Needs) refuseWithout(list []*Candidate) {
	stops := map[Unit]Stops{}
	for _, c := range list {
		u := c.Unit()
		if stops[u] == nil {
			if stops[u] = maps.Clone(n.Stops[u]); stops[u] == nil {
				stops[u] = Stops{}
			}
		}
		if _, said := stops[u][c.ref()]; c.Err != nil && c.From.Open() && !c.IsLock() && !said {
			stops[u][c.ref()] = Stop{How: "was refused"}
		}
	}
	for _, c := range list {
		u := c.Unit()
		if c.Err != nil || !c.From.Open() {
			continue
		}
		if ref, needs := n.Locks[u].stopped(c.ref(), c.IsLock(), n.Named[u], stops[u], n.Stands[u]); ref != "" {
			c.Err = stops[u][ref].refusal(needs, u, ref)
		}
	}
}

// refusal says that what needs a package, or names it, is refused as that stops.
func (s Stop) refusal(needs string, u Unit, ref string) error {
	text := fmt.Sprintf(needs, u.identity(ref), s.How)
	if s.Do != "" {
		text += ": " + s.Do
	}
	if s.Do != "" && needs != lockWaits { // a lock alone would not be true
		text += alone
	}
	return errors.New(text)
}

// Order sorts candidates so that what others need comes before them, and locks
// come last.
func (n Needs) Order(list []*Candidate) []*Candidate {
	var out, locks []*Candidate
	here := byUnit(list)
	for _, u := range Units(list) {
		by, refs := map[string][]*Candidate{}, []string(nil)
		for _, c := range here[u] {
			if c.IsLock() {
				locks = append(locks, c)
				continue
			}
			by[c.ref()] = append(by[c.ref()], c)
			refs = append(refs, c.ref())
		}
		for _, ref := range n.Locks[u].order(refs) {
			out = append(out, by[ref]...)
		}
	}
	return append(out, locks...)
}

// Coming is a wanted package's part in a run: it goes, to be Published, or How says
// how it stands although something of it is to come, "" where nothing is.
type Coming struct {
	Want *Want
	Goes bool
	How  string
	// Offer is what one that goes will be there, nil where that is not known.
	Offer *resolver.Package
}

// How a package stands of which something is to come.
const (
	fails     = "fails"
	waits     = "waits"
	undecided = "waits for approval"
	withheld  = "is not published either"
)

// Comes says how a ruling about a revision leaves its package.
func Comes(w *Want, r Ruling, open bool) Coming {
	c := Coming{Want: w, Goes: r.Publish && r.Err == nil}
	switch r.Decision.(type) {
	case Fail:
		c.How = fails
	case Wait:
		c.How = waits
	case Draft:
		c.How = undecided
	case Nothing, Record:
		if open {
			c.How = undecided
		}
	}
	if r.Err != nil {
		c.How = fails
	}
	if c.Goes {
		c.How = ""
	}
	return c
}

// Answered adds what a candidate's target was answered.
func (l Locks) Answered(c *Candidate, w *Want) {
	if u := c.Unit(); l[u] == nil && w.Target != nil && w.Target.Answer != nil && w.Target.Answer.Lock != nil {
		l[u] = NewLockGraph(&w.Target.Answer.Lock.Spec)
	}
}

// Without says of each package that goes why it waits, "" for one that does not: what
// it needs by its target's answer does not come, or a package that stands there would
// lose what it needs; a lock waits for what it names. Of one that waits for approval it
// says what it needs that fails.
func Without(list []Coming, stands Standing) []string {
	list = slices.Clone(list)
	out := make([]string, len(list))
	for again := true; again; {
		again = false
		for i, why := range without(list, stands) {
			if again = again || why != "" && list[i].Goes; why != "" {
				list[i].Goes, list[i].How, out[i] = false, withheld, why
			}
		}
	}
	return out
}

// Awaits says of open revisions what they need that has gates which are not met: who
// approves either is refused. proofs are those of wants in turn, nil of all else.
func Awaits(wants []*Want, proofs []*Proof) []string {
	stops, ready, locks := map[Unit]Stops{}, map[Unit]map[string]bool{}, Locks{}
	for i, p := range proofs {
		u, ok := Coming{Want: wants[i]}.unit()
		if !ok || p == nil {
			continue
		}
		if stops[u] == nil {
			stops[u], ready[u] = Stops{}, map[string]bool{}
			locks.Answers([]*Target{wants[i].Target})
		}
		if p.Gated && len(p.Unmet) > 0 {
			stops[u][wants[i].Ref] = Stop{How: "has gates that are not met: " + GateTypes(p.Unmet)}
		} else {
			ready[u][wants[i].Ref] = true
		}
	}
	for u, refs := range ready {
		maps.DeleteFunc(stops[u], func(ref string, _ Stop) bool { return refs[ref] }) // of several Drafts one is enough
	}
	out := make([]string, len(proofs))
	for i, p := range proofs {
		u, ok := Coming{Want: wants[i]}.unit()
		if !ok || p == nil {
			continue
		}
		if d := locks[u].cause(wants[i].Ref, stops[u]); d != "" {
			out[i] = stops[u][d].refusal("it needs %s, which %s", u, d).Error()
		}
	}
	return out
}

// unit is the target's, false where there is none.
func (c Coming) unit() (Unit, bool) {
	t := c.Want.Target
	if t == nil {
		return Unit{}, false
	}
	return Unit{t.Repo, t.Directory}, true
}

func without(list []Coming, stands Standing) []string {
	stops, after, locks := map[Unit]Stops{}, Standing{}, Locks{}
	for _, c := range list {
		u, ok := c.unit()
		if !ok {
			continue
		}
		if stops[u] == nil {
			stops[u], after[u] = Stops{}, maps.Clone(stands[u])
			locks.Answers([]*Target{c.Want.Target})
		}
		there := stands[u][c.Want.Ref]
		asWanted := c.How == waits && there != nil && SameNumber(there.Version, locks[u][c.Want.Ref].Version)
		if c.How != "" && c.Want.Lock() == nil && !asWanted {
			stops[u][c.Want.Ref] = Stop{How: c.How}
		}
	}
	failing := map[Unit]Stops{}
	for u, all := range stops {
		failing[u] = maps.Clone(all)
		maps.DeleteFunc(failing[u], func(_ string, s Stop) bool { return s.How != fails })
	}
	for _, c := range list {
		if u, ok := c.unit(); ok && c.Goes {
			delete(stops[u], c.Want.Ref) // of several Drafts one is enough
			if c.Offer != nil && after[u] != nil {
				after[u][c.Want.Ref] = c.Offer
			}
		}
	}
	out := make([]string, len(list))
	for i, c := range list {
		u, ok := c.unit()
		ref := c.Want.Ref
		if ok && c.How == undecided && c.Want.Lock() == nil {
			if d := locks[u].cause(ref, failing[u]); d != "" {
				out[i] = failing[u][d].refusal("it needs %s, which %s", u, d).Error()
			}
		}
		if !c.Goes || !ok {
			continue
		}
		if d, needs := locks[u].stopped(ref, c.Want.Lock() != nil, c.Want.names(), stops[u], stands[u]); d != "" {
			out[i] = stops[u][d].refusal(needs, u, d).Error()
		} else if was := stands[u][ref]; was != nil && after[u][ref] != was {
			if err := taken(u, ref, was, after[u]); err != nil {
				out[i] = err.Error()
			}
		}
	}
	return out
}
