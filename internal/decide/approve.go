package decide

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/resolver"
)

// Verb is what a person decides about a package revision.
type Verb string

// The verbs. Approve publishes a Draft or a Proposed revision and carries out a
// proposed deletion; Reject returns a Proposed one to Draft and takes a proposed
// deletion back.
const (
	Propose Verb = "propose"
	Approve Verb = "approve"
	Reject  Verb = "reject"
)

// Applies says whether a verb can be said of a revision of a phase; every phase
// has the empty verb.
func (v Verb) Applies(p lifecycle.Phase) bool {
	switch v {
	case Propose:
		return p == lifecycle.Draft
	case Approve:
		return p.Open() || p == lifecycle.DeletionProposed
	case Reject:
		return p == lifecycle.Proposed || p == lifecycle.DeletionProposed
	case "":
		return true
	default:
		return false
	}
}

// Candidate is one revision that a person may decide about.
type Candidate struct {
	Identity
	Workspace string
	From      lifecycle.Phase
	Revision  int // N of vN, once Published
	Head      *Revision
	Package   *Package
	Repo      *Repository
	Set       string            // of the variant that wants it, "" for none
	Labels    map[string]string // that the variant gives it
	Class     string            // the key of the class as which a person saw it, "" for none
	// Lost are the edits by hand that publishing it loses, where that was read.
	Lost []LostEdit
	// Edits are the files of an open one that are not what building it again makes, and
	// Unprovable is why that cannot be found out here; both are empty of one that is proved.
	Edits      []string
	Unprovable error
	// Findings are what Kubernetes would refuse of an open one, weighed, where that was read.
	Findings []Finding
	// Exempt names the checks that found something and that a person exempts it from, and why.
	Exempt string
	// Built is what the machine makes of it, where it had to be built again.
	Built *krm.Package
	// Unbased reports that its commit does not name what the machine makes of it: its approval
	// names nothing then.
	Unbased bool
	// Offer is what an open one holds, where that was read.
	Offer *resolver.Package
	// Err is why it is refused.
	Err error
}

// RevisionID names one open revision of a variant.
type RevisionID struct {
	Identity
	Workspace string
}

// Seen is what a person saw of a revision: its commit, and the key of its class.
type Seen struct{ Commit, Class string }

// Judged is the candidate's revision as its approval has it.
func (c *Candidate) Judged() *Revision {
	if !c.Unbased || c.Head.Machine == nil {
		return c.Head
	}
	h, m := *c.Head, *c.Head.Machine
	m.Hydrated, h.Machine = Hash{}, &m
	return &h
}

// ID names the candidate's revision.
func (c *Candidate) ID() RevisionID { return RevisionID{c.Identity, c.Workspace} }

// Candidates lists this manager's revisions that a verb applies to, each once
// and sorted: where several Repositories show one, as the one that a variant
// wants it in, else as the innermost.
func Candidates(m Manager, repos []*Repository, verb Verb) []*Candidate {
	var out []*Candidate
	at := map[Place]int{}
	for _, r := range repos {
		if r.Git == "" {
			continue
		}
		for _, p := range r.Paths() {
			s := r.Packages[p]
			for _, h := range s.Revisions {
				if !m.Signed(h.Owner, r.Namespace) || !verb.Applies(h.Phase) {
					continue
				}
				c := &Candidate{
					Identity:  Identity{r.Namespace, r.Name, r.Below(p)},
					Workspace: h.Workspace, From: h.Phase, Revision: h.Number, Head: h, Package: s, Repo: r,
				}
				k, seen := at[r.Place(h.Ref.Name)]
				switch {
				case !seen:
					at[r.Place(h.Ref.Name)] = len(out)
					out = append(out, c)
				case r.closer(out[k].Repo, p):
					out[k] = c
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Candidate) int { return a.Identity.Compare(b.Identity) })
	return out
}

// Names are all that mean the candidate.
func (c *Candidate) Names() []string {
	target := path.Join(c.Repository, In(c.Repo, c.Identity.Package))
	return given(OwnerName(c.Head.Owner), target, c.Identity.String(), c.Set, c.Repository, c.Identity.Package, c.Head.PorchName(c.Repository, c.Identity.Package))
}

// Selectable is what a Selection is asked about the candidate.
func (c *Candidate) Selectable() Selectable {
	return Selectable{Names: c.Names, Labels: LabelsOf(c.Repo.Labels, c.Labels), When: c.Head.When}
}

// OneEach refuses to publish or delete one package twice at once: which of its
// revisions is meant is for a person to say.
func OneEach(list []*Candidate) {
	by := map[Place][]*Candidate{}
	for _, c := range list {
		k := c.Repo.Place(c.Package.Path)
		by[k] = append(by[k], c)
	}
	for _, same := range by {
		if len(same) < 2 {
			continue
		}
		names := make([]string, len(same))
		for i, c := range same {
			names[i] = fmt.Sprintf("%s (%s)", c.Head.PorchName(c.Repository, c.Identity.Package), c.From)
		}
		for _, c := range same {
			c.Err = fmt.Errorf("%s has several revisions to decide: %s: approve one by that name, or reject or delete the others", c.Identity, joined(names))
		}
	}
}

// RefuseWanted refuses to carry out the deletion of a package that is wanted: by
// a variant, or by its target's newest lock. unread says that not all inputs
// could be read, so that nothing may be deleted.
func RefuseWanted(list []*Candidate, locks Locks, unread bool) {
	for _, c := range list {
		switch {
		case c.From != lifecycle.DeletionProposed || c.Err != nil:
		case c.Repo.Wanted[c.Package.Path], c.Unit().locked() && locks[c.Unit()].has(c.ref()):
			c.Err = errors.New("it is proposed for deletion, and wanted again: run apply, which takes the proposal back, or remove what wants it")
		case unread:
			c.Err = errors.New("not all inputs could be read, so that it cannot be told that nothing wants it: correct them, and approve again")
		}
	}
}

// RefuseHeld refuses to publish or delete what a person holds, and what a Rollout publishes.
// The Rollout called replaces does not count.
func RefuseHeld(list []*Candidate, replaces string) {
	for _, c := range list {
		switch h, r := c.Package.Hold(), c.Package.Rollout; {
		case c.Err != nil:
		case h != nil:
			c.Err = heldError(h, c.Identity)
		case r != "" && r != replaces:
			c.Err = fmt.Errorf("it is %s, which publishes it: to approve it by itself, run variform rollout stop %s %s, and apply", inRollout(c.Package), r, c.Unit().target())
		}
	}
}

// Unneeded refuses a lock, and what was drafted for others, where its target has no
// use for it by now, or it cannot be told. targets are those that were resolved.
func (c *Candidate) Unneeded(targets []*Target) error {
	u := c.Unit()
	i := slices.IndexFunc(targets, func(t *Target) bool { return t.Repo == u.Repo && t.Directory == u.Dir })
	switch {
	case i < 0:
		return nil
	case targets[i].Err != nil:
		return fmt.Errorf("it cannot be told whether it is still needed: %w", targets[i].Err)
	case targets[i].Answer != nil && slices.Contains(targets[i].Answer.Stands, c.ref()):
		return fmt.Errorf("it cannot be told whether it is still needed: %w", errors.Join(targets[i].Answer.Causes()...))
	}
	return errors.New("nothing needs it any more: run apply --prune, or approve it with --dependencies=false")
}

// RefuseAutomatic refuses to return a revision to Draft where the next run would
// publish it all the same.
func RefuseAutomatic(list []*Candidate, policies Policies) {
	for _, c := range list {
		if c.From == lifecycle.Proposed && policies.Of(c.Identity).Automatic && !c.Head.NeedsReview() {
			c.Err = errors.New("its Installation has activation Automatic, so that the next run would publish the Draft: set activation Manual first, or correct the revision")
		}
	}
}

// Unit is what a decision is about in one target: its lock and the packages that
// it names are one unit of review.
type Unit struct {
	Repo *Repository
	Dir  string // below the Repository
}

// LockPath is the path of the unit's lock.
func (u Unit) LockPath() string { return u.Repo.Path(path.Join(u.Dir, depend.LockPackage)) }

// locked says whether the unit has a lock that is to stay.
func (u Unit) locked() bool {
	p := u.Repo.Package(u.LockPath())
	return p.IsPublished() || p.Open() != nil
}

// Below is a path's package below the unit; false for one of another.
func (u Unit) Below(p string) (ref string, ok bool) {
	pkg := u.Repo.Below(p)
	return strings.TrimPrefix(strings.TrimPrefix(pkg, u.Dir), "/"), In(u.Repo, pkg) == u.Dir
}

func (u Unit) target() string { return path.Join(u.Repo.Name, u.Dir) }

// Unit returns the target that the candidate is in.
func (c *Candidate) Unit() Unit { return Unit{c.Repo, In(c.Repo, c.Identity.Package)} }

// ref is the package's path below its target.
func (c *Candidate) ref() string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Identity.Package, c.Unit().Dir), "/")
}

// IsLock reports whether the candidate is a target's lock.
func (c *Candidate) IsLock() bool { return path.Base(c.Identity.Package) == depend.LockPackage }

// Units are the targets of candidates, each once, in their order.
func Units(list []*Candidate) []Unit {
	var out []Unit
	seen := map[Unit]bool{}
	for _, c := range list {
		if u := c.Unit(); !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	return out
}

// PathsIn are the paths of the packages that stand in units; those of a repository are
// sorted into its units once, for each of many has few of them.
func PathsIn(units []Unit) map[Unit][]string {
	paths, seen := map[Unit][]string{}, map[*Repository]bool{}
	for _, u := range units {
		if r := u.Repo; !seen[r] {
			seen[r] = true
			for _, p := range r.Paths() {
				at := Unit{r, In(r, r.Below(p))}
				paths[at] = append(paths[at], p)
			}
		}
	}
	return paths
}

// Locked is a package as a lock has it: its version, what it needs directly, and its
// wave in the lock's plan.
type Locked struct {
	Version string
	Needs   []string
	Wave    int
}

// LockGraph has the packages of a lock, by ref.
type LockGraph map[string]Locked

// Locks are the newest locks of targets; a target without one is not in it.
type Locks map[Unit]LockGraph

// NewLockGraph reads the graph out of a lock.
func NewLockGraph(lock *resolver.Lock) LockGraph {
	out := LockGraph{}
	for _, p := range lock.Packages {
		l := Locked{Version: p.Version}
		for _, d := range p.Dependencies {
			l.Needs = append(l.Needs, d.Ref())
		}
		out[path.Join(p.Namespace, p.Name)] = l
	}
	for wave, refs := range lock.Plan {
		for _, ref := range refs {
			if l, ok := out[ref]; ok {
				l.Wave = wave
				out[ref] = l
			}
		}
	}
	return out
}

func (g LockGraph) has(ref string) bool {
	_, ok := g[ref]
	return ok
}

// below are the refs of all that a package needs.
func (g LockGraph) below(ref string) map[string]bool {
	out := map[string]bool{}
	list := []string{ref}
	for at := 0; at < len(list); at++ {
		for _, d := range g[list[at]].Needs {
			if !out[d] {
				out[d] = true
				list = append(list, d)
			}
		}
	}
	return out
}

func byUnit(list []*Candidate) map[Unit][]*Candidate {
	out := map[Unit][]*Candidate{}
	for _, c := range list {
		out[c.Unit()] = append(out[c.Unit()], c)
	}
	return out
}

// WithNeeds adds to what a person named what that needs, by the targets' newest
// locks, and the lock where nothing else of the target is left open.
func WithNeeds(chosen, all []*Candidate, locks Locks) []*Candidate {
	in := map[*Candidate]bool{}
	for _, c := range chosen {
		in[c] = true
	}
	here := byUnit(all)
	for _, c := range chosen {
		need := locks[c.Unit()].below(c.ref())
		for _, o := range here[c.Unit()] {
			in[o] = in[o] || o.From.Open() && need[o.ref()]
		}
	}
	for _, u := range Units(chosen) {
		left := slices.ContainsFunc(here[u], func(c *Candidate) bool { return !in[c] && c.From.Open() && !c.IsLock() })
		for _, c := range here[u] {
			in[c] = in[c] || len(locks[u]) > 0 && !left && c.IsLock() && c.From.Open()
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *Candidate) bool { return !in[c] })
}

// Unmoved checks that the registered branch holds what a Draft started from, so
// that publishing takes nothing back that another put there. branch is where the
// registered branch is, zero where it is not there, and draft the Draft's folder.
func Unmoved(c *Candidate, branch, draft Hash) error {
	p := c.Package
	since := p.Tagged(c.Head.Since)
	if newest := p.Newest(); newest != nil && (since == nil || since.Number != newest.Number) {
		return Behind("%s was published since this Draft began: run apply to bring it in, review, and approve again", RevisionName(newest.Number))
	}
	if p.Spent(c.Head) {
		return Behind("workspace %s is %s already, and is one revision for ever: run apply, which goes on in another, review, and approve again", c.Workspace, RevisionName(p.Latest.Number))
	}
	if branch.IsZero() {
		return nil
	}
	there, known := p.Tree(branch)
	main := c.Head.Inputs.Main // what others had committed there when it was made
	var started Hash
	if since != nil && main == "" {
		var ok bool
		started, ok = p.Tree(since.Ref.Commit)
		known = known && ok
	}
	switch {
	case !known:
		return fmt.Errorf("what branch %s holds in %s was not read", c.Repo.Branch, p.Path)
	case main != "" && main != (&Branch{Tree: there}).Main() && there != draft:
		return Behind("branch %s moved in %s since this Draft was made: run apply to bring that in, review, and approve again", c.Repo.Branch, p.Path)
	case main != "":
		return nil
	}
	switch {
	case there == started || there == draft:
		return nil
	case p.Newest() == nil:
		return fmt.Errorf("branch %s has %s already, with another content than this first Draft, which would replace it: remove it there, or have it adopted (spec.adoptionPolicy: adoptExisting) by apply, and approve again", c.Repo.Branch, p.Path)
	default:
		return Behind("branch %s holds changes in %s that are in no published revision, and publishing the Draft would take them back: run apply to bring them in, review, and approve again", c.Repo.Branch, p.Path)
	}
}
