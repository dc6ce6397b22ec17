package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/lifecycle"
)

// SetSize is how many variants a set has, and whether it can be trusted.
type SetSize struct {
	Namespace, Name string
	Variants        int
	// Empty is set where a target of the set selects nothing: more often a
	// mistake than a wish.
	Empty bool
	// Failed counts targets that failed.
	Failed int
}

// Pruning says what a run may delete.
type Pruning struct {
	// Prune allows deletions; MaxDelete lifts the brake to that many packages of
	// each set, below zero leaves it on.
	Prune     bool
	MaxDelete int
	// Blocked says why nothing is deleted though Prune is set; see Blocks.
	Blocked []string
}

// Blocks lists what forbids deletions: a run that is restricted, inputs that
// could not be read, variants that name no Repository (what they were may be what
// nothing wants now), sets with targets that failed.
func Blocks(restricted bool, unread, nowhere int, sets []SetSize) []string {
	var out []string
	if restricted {
		out = append(out, "--only restricts the run")
	}
	if unread > 0 {
		out = append(out, count.Of(unread, "input")+" could not be read")
	}
	if nowhere > 0 {
		out = append(out, count.Of(nowhere, "variant")+" of a Repository that is not there")
	}
	for _, s := range sets {
		if s.Failed > 0 {
			out = append(out, fmt.Sprintf("set %s/%s has %s that failed", s.Namespace, s.Name, count.Of(s.Failed, "target")))
		}
	}
	return out
}

// Allowed reports whether anything may be deleted at all.
func (p Pruning) Allowed() bool { return p.Prune && len(p.Blocked) == 0 }

// Removed is the removal of one revision of an orphan.
type Removed struct {
	*Orphan
	Removal
}

// Settle holds back what may not go in this run: everything, where deletions are
// off or blocked; else the packages of sets that would lose too many. It returns
// a warning for each set that was braked, sorted.
func (p Pruning) Settle(list []*Removed, wanted []*Want, sets []SetSize) (warnings []string) {
	if p.Allowed() {
		return p.brake(list, wanted, sets)
	}
	for _, r := range list {
		switch {
		case !r.Goes():
		case len(p.Blocked) > 0:
			r.keep(gone + ", and nothing is deleted: " + strings.Join(p.Blocked, "; "))
		default:
			r.keep(gone + "; run with --prune to act on that")
		}
	}
	return nil
}

// Moving leaves out the tags of merged Drafts whose package stays as it is: they
// are made by the run that acts on it.
func Moving(list []*Removed) []*Removed {
	going := map[*Orphan]bool{}
	for _, r := range list {
		going[r.Orphan] = going[r.Orphan] || r.Goes()
	}
	return slices.DeleteFunc(list, func(r *Removed) bool { return r.Decision.Action() == ActionTag && !going[r.Orphan] })
}

// KeepLocked holds back removals of packages at places that others need: whoever has
// one as its upstream needs its revisions for the next update.
func KeepLocked(list []*Removed, locked func(Place) bool) {
	for _, r := range list {
		if r.Goes() && locked(r.Repo.Place(r.Package.Path)) {
			r.keep(gone + ", but a package has it as its upstream, by its upstreamLock")
		}
	}
}

func (r *Removed) keep(reason string) { r.Ruling = ruled(Keep{}, reason) }

// brake keeps the packages of sets that would lose too many.
func (p Pruning) brake(list []*Removed, wanted []*Want, sets []SetSize) (warnings []string) {
	type key struct{ namespace, set string }
	going, staying, empty := map[key]map[Identity]bool{}, map[key]int{}, map[key]bool{}
	for _, r := range list {
		if k := (key{r.Namespace, r.Set}); r.Goes() {
			if going[k] == nil {
				going[k] = map[Identity]bool{}
			}
			going[k][r.Identity] = true
		}
	}
	for _, w := range wanted {
		staying[key{w.Namespace, w.Set}]++
	}
	for _, s := range sets {
		empty[key{s.Namespace, s.Name}] = s.Empty || s.Variants == 0
	}
	braked := func(k key) bool {
		n := len(going[k])
		return n > 0 && p.MaxDelete < n && (empty[k] || lifecycle.Braked(n, n+staying[k]))
	}
	for _, r := range list {
		k := key{r.Namespace, r.Set}
		if !r.Goes() || !braked(k) {
			continue
		}
		name := "what no set makes"
		if k.set != "" {
			name = "set " + k.namespace + "/" + k.set
		}
		n := len(going[k])
		r.keep(fmt.Sprintf("%s, but %s would lose %d of %d packages at once: if that is meant, run with --max-delete=%d", gone, name, n, n+staying[k], n))
	}
	for k, ids := range going {
		if braked(k) {
			warnings = append(warnings, fmt.Sprintf("deletions braked: %d of %d packages of %s", len(ids), len(ids)+staying[k], cmp.Or(k.set, "what no set makes")))
		}
	}
	slices.Sort(warnings)
	return warnings
}
