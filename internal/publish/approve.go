package publish

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/resolver"
)

// Verdict is what became of one revision that a person decided about.
type Verdict struct {
	*decide.Candidate
	Repo   *observe.Repo
	To     lifecycle.Phase // "" where a package was removed
	Number int             // N of vN, once published
	Commit string
	// Carried is what a Rollout publishes instead of the Draft: the same change upon a hotfix,
	// which is the tree Upon of the branch. nil publishes the Draft.
	Carried []krm.File
	Upon    decide.Hash
}

// ErrMoved says that a revision is not what the person saw.
var ErrMoved = errors.New("changed since it was shown")

// Approver carries out decisions of people: propose, approve, reject. Each
// repository's revisions move in one atomic push.
type Approver struct {
	Read *observe.Reader
	Verb decide.Verb
	// Needs governs what is approved.
	Needs decide.Needs
	// Lock, where not nil, has locks written with what they name.
	Lock Locker
	// Signature is the person's; without a time, Variform's own for commits that
	// take theirs from what they join.
	Signature gitrepo.Signature
}

// Lock is the package of a lock that goes with a publication of what it names.
type Lock struct {
	Repo    *observe.Repo
	Package *decide.Package
	// From is the revision that a run would draft of it, in no branch.
	From *decide.Revision
	// Files are the package's, Machine those of the package without people's edits, nil where
	// that is not known.
	Files, Machine []krm.File
}

// Locker returns the lock of a target after some revisions are published or removed, or nil if
// the lock does not change. stands are the packages on the registered branch.
type Locker func(ctx context.Context, u decide.Unit, stands map[string]*resolver.Package, goes []*decide.Candidate) (*Lock, error)

// Machine approves what is published without a person.
func Machine(read *observe.Reader, needs decide.Needs) *Approver {
	return &Approver{Read: read, Verb: decide.Approve, Needs: needs, Signature: machine(time.Time{})}
}

// Decide decides one repository's revisions, again where the registered branch
// was moved by another in between, and without what the server refuses.
func (a *Approver) Decide(ctx context.Context, git observe.Repository, list []*Verdict) {
	own := *a // what stands is read anew after a lost race
	a = &own
	a.fetch(ctx, git, list)
	for attempt := 1; ; attempt++ {
		m := a.merge(ctx, git, list)
		err := m.finish()
		if err == nil && len(m.moves) > 0 {
			_, err = m.batch.Push(ctx, gitrepo.PushOptions{RequireAtomic: true, Record: RecordOf(a.Read, git)})
		}
		_ = m.batch.Close() // only a temporary file
		if err == nil {
			return
		}
		if a.Verb == decide.Approve && m.blame(list, err) {
			attempt--
			continue
		}
		if attempt == attempts || ctx.Err() != nil || !again(ctx, err, attempt) {
			fail(list, err)
			return
		}
		if err := a.reread(ctx, git, list); err != nil {
			fail(list, err)
			return
		}
	}
}

// Check finds out which of one repository's revisions approve would refuse, were they
// approved together and nothing else; it moves nothing.
func Check(ctx context.Context, read *observe.Reader, needs func([]*decide.Candidate) decide.Needs, list []*Verdict) {
	a, git := Machine(read, needs(candidatesOf(list))), list[0].Repo.Git
	a.fetch(ctx, git, list)
	_ = a.merge(ctx, git, list).batch.Close()
}

// merge collects what is not refused, dependencies before what needs them and locks
// last; anew where one is found out to be refused, without what needs that.
func (a *Approver) merge(ctx context.Context, git observe.Repository, list []*Verdict) *merger {
	candidates, of := candidatesOf(list), map[*decide.Candidate]*Verdict{}
	for _, v := range list {
		of[v.Candidate] = v
	}
	for {
		if a.Verb == decide.Approve {
			a.Needs.Refuse(candidates)
		}
		m, refused := &merger{batch: git.NewBatch(), signature: a.Signature, heads: map[string]branchHead{}, refs: map[*Verdict][]string{}}, false
		for _, c := range a.Needs.Order(candidates) {
			if c.Err == nil {
				v, before := of[c], len(m.moves)
				c.Err = m.add(ctx, v, a.Verb)
				refused = refused || c.Err != nil
				for _, move := range m.moves[before:] {
					m.refs[v] = append(m.refs[v], move.Name)
				}
			}
		}
		if !refused && a.Verb == decide.Approve {
			refused = a.lock(ctx, m, candidates, of)
		}
		if !refused {
			return m
		}
		_ = m.batch.Close()
	}
}

// lock writes the locks that are true after the publication, each in the push that
// publishes what it names (docs/design/dependencies.md#the-lock). A target whose lock cannot
// be written is refused; it then returns true.
func (a *Approver) lock(ctx context.Context, m *merger, list []*decide.Candidate, of map[*decide.Candidate]*Verdict) (refused bool) {
	if a.Lock == nil {
		return false
	}
	units, stands := decide.Units(list), a.Needs.Stands
	if stands == nil {
		stands = a.Read.ReadStanding(ctx, units)
	}
	published, drafts := map[decide.Unit][]*decide.Candidate{}, map[decide.Unit]*Verdict{}
	for _, c := range list {
		switch u := c.Unit(); {
		case c.IsLock():
			drafts[u] = of[c]
		case c.Err == nil:
			published[u] = append(published[u], c)
		}
	}
	for _, u := range units {
		goes, asked := published[u], drafts[u] // asked is the lock's Draft, if a person decides about it
		if asked == nil && len(goes) == 0 || asked != nil && asked.Err == nil {
			continue
		}
		lock, err := a.Lock(ctx, u, stands[u], goes)
		if err == nil && lock != nil {
			err = m.relock(ctx, lock, asked, len(goes) == 0)
		}
		for _, c := range goes {
			if err != nil {
				c.Err, refused = fmt.Errorf("the lock of its target cannot be written: %w", err), true
			}
		}
	}
	return refused
}

// relock publishes a lock, as its open Draft where that holds the same: what was asked of
// that is then done. Where the Draft alone is asked for, nothing else is published.
func (m *merger) relock(ctx context.Context, l *Lock, asked *Verdict, draftOnly bool) error {
	tree, err := m.batch.PackageTree(l.Files)
	if err != nil {
		return err
	}
	h, err := m.head(ctx, l.Repo, l.Package.Path)
	if err != nil {
		return err
	}
	from := *l.From
	if draft := l.Package.Open(); draft != nil {
		if there, err := l.Repo.TreeAt(ctx, draft.Ref.Commit, l.Package.Path); err == nil && gitrepo.Hash(there) == tree {
			from.Ref, from.Workspace = draft.Ref, draft.Workspace
		}
	}
	if draftOnly && from.Ref.Name == "" {
		return nil
	}
	if l.Machine != nil {
		hydrated, err := m.batch.PackageTree(l.Machine)
		if err != nil {
			return err
		}
		from.Machine.Hydrated = decide.Hash(hydrated)
	}
	if err := l.Repo.ReadNumbers(ctx, l.Package); err != nil {
		return err
	}
	n := l.Package.Next()
	commit, err := m.put(ctx, l.Repo, l.Package, h, &from, decide.Hash(tree), trailers(&from))
	if asked != nil && err == nil && from.Ref == asked.Head.Ref {
		asked.Err, asked.To, asked.Number, asked.Commit = nil, lifecycle.Published, n, commit.String()
	}
	return err
}

func candidatesOf(list []*Verdict) []*decide.Candidate {
	out := make([]*decide.Candidate, len(list))
	for i, v := range list {
		out[i] = v.Candidate
	}
	return out
}

// blame refuses what the server refused of a push, where that is some of it: the
// rest is planned once more, without what needs that.
func (m *merger) blame(list []*Verdict, err error) bool {
	var refused *gitrepo.RejectedError
	if !errors.As(err, &refused) || refused.Held() || errors.Is(err, gitrepo.ErrStale) {
		return false
	}
	var blamed []*Verdict
	tried := 0
	for _, v := range list {
		if v.Err != nil {
			continue
		}
		tried++
		if refused.Blames(append(m.refs[v], lifecycle.BranchRef(v.Repo.Branch))...) {
			blamed = append(blamed, v)
		}
	}
	if len(blamed) == 0 || len(blamed) == tried {
		return false
	}
	fail(blamed, err)
	return true
}

// fetch brings what publishing reads in one request, or two where people changed more than
// packages. A failure is not reported here: whoever needs the objects asks again and fails
// by name.
func (a *Approver) fetch(ctx context.Context, git observe.Trees, list []*Verdict) {
	if a.Verb != decide.Approve {
		return
	}
	var places []gitrepo.Place
	for _, v := range list {
		if v.Err != nil {
			continue
		}
		if !v.Repo.Head.IsZero() {
			places = append(places, gitrepo.Place{Commit: gitrepo.Hash(v.Repo.Head), Path: v.Package.Path, Way: true})
		}
		places = append(places, observe.PlacesOf(v.Head, v.Package.Path)...)
	}
	_ = git.FetchPlaces(ctx, places...)
	places = nil
	for _, v := range list {
		if v.Err == nil {
			places = append(places, v.Repo.PlacesBefore(v.Head, v.Package.Path)...)
		}
	}
	_ = git.FetchPlaces(ctx, places...)
}

func fail(list []*Verdict, err error) {
	for _, v := range list {
		if v.Err == nil {
			v.Err = err
		}
	}
}

// reread finds the same revisions after a lost race. One whose own content moved
// is not decided: the person has not seen it.
func (a *Approver) reread(ctx context.Context, git observe.Repository, list []*Verdict) error {
	if err := a.Read.Reread(ctx, git); err != nil {
		return err
	}
	if a.Needs.Stands != nil {
		a.Needs.Stands = a.Read.ReadStanding(ctx, decide.Units(candidatesOf(list)))
	}
	for _, v := range list {
		if v.Err != nil {
			continue
		}
		p := v.Repo.Package(v.Package.Path)
		h := p.At(v.Head.Ref.Name)
		if h == nil || h.Ref.Hash != v.Head.Ref.Hash || !a.Verb.Applies(h.Phase) {
			v.Err = fmt.Errorf("%s %w: look at it again", v.Head.Ref.Name, ErrMoved)
			continue
		}
		v.Package, v.Head = p, h
	}
	return nil
}

// branchHead is where a registered branch is, and will be.
type branchHead struct {
	was, commit, tree gitrepo.Hash
	when              time.Time // of commit
}

// merger collects the ref updates of one repository's verdicts; approvals on one
// branch follow each other.
type merger struct {
	batch     *gitrepo.Batch
	signature gitrepo.Signature
	heads     map[string]branchHead // by branch
	moves     []decide.Move
	edits     []record.Edit
	refs      map[*Verdict][]string // that are a verdict's own
}

func (m *merger) add(ctx context.Context, v *Verdict, verb decide.Verb) error {
	path, ref := v.Package.Path, v.Head.Ref
	switch {
	case verb == decide.Propose:
		v.To = lifecycle.Proposed
		m.rename(ref, lifecycle.ProposedRef(path, v.Workspace))
	case verb == decide.Reject && v.From == lifecycle.Proposed:
		v.To = lifecycle.Draft
		m.rename(ref, lifecycle.DraftRef(path, v.Workspace))
	case verb == decide.Reject:
		v.To, v.Number = lifecycle.Published, v.Revision
		m.moves = append(m.moves, decide.Restore{Tags: v.Package.Deletions()}.Moves(decide.Hash{})...)
	case v.From == lifecycle.DeletionProposed:
		return m.remove(ctx, v)
	default:
		return m.publish(ctx, v)
	}
	return nil
}

func (m *merger) rename(from decide.Ref, to string) {
	m.moves = append(m.moves, decide.Move{Name: to, New: from.Commit}, decide.Move{Name: from.Name, Old: from.Hash})
}

// head reads the registered branch once, and what leads to a package there.
func (m *merger) head(ctx context.Context, r *observe.Repo, path string) (branchHead, error) {
	commit := gitrepo.Hash(r.Head)
	if !commit.IsZero() {
		if err := r.Git.FetchPlaces(ctx, gitrepo.Place{Commit: commit, Path: path, Way: true}); err != nil {
			return branchHead{}, err
		}
	}
	if h, ok := m.heads[r.Branch]; ok {
		return h, nil
	}
	var h branchHead
	if !commit.IsZero() {
		commits, err := r.Git.Commits(ctx, commit)
		if err != nil {
			return h, err
		}
		h = branchHead{was: commit, commit: commit, tree: commits[0].Tree, when: commits[0].Committer.When}
	}
	m.heads[r.Branch] = h
	return h, nil
}

// publish merges a Draft into the registered branch and tags it.
func (m *merger) publish(ctx context.Context, v *Verdict) error {
	r, path := v.Repo, v.Package.Path
	tree, pkg, err := r.ReadKptfile(ctx, v.Head.Ref.Commit, path)
	if err != nil {
		return err
	}
	if err := r.OnlyPackage(ctx, v.Head, path); err != nil {
		return err
	}
	kptfile, err := mutate.Read(pkg, "")
	if err != nil {
		return err
	}
	if unmet := observe.Unmet(kptfile); len(unmet) > 0 && r.Deployment {
		return decide.GatesError(unmet)
	}
	h, err := m.head(ctx, r, path)
	if err != nil {
		return err
	}
	says := trailers(v.Judged())
	if v.Carried != nil {
		says.Carried = tree.String()
		tree, err = m.carry(ctx, v, h)
	} else if err = r.ReadStart(ctx, v.Candidate, decide.Hash(h.was)); err == nil {
		err = decide.Unmoved(v.Candidate, decide.Hash(h.was), tree)
	}
	if err != nil {
		return err
	}
	if err := r.ReadNumbers(ctx, v.Package); err != nil {
		return err
	}
	n := v.Package.Next()
	says.Class, says.Exempt = v.Class, v.Exempt
	if v.Unprovable != nil {
		says.Unproved, _, _ = strings.Cut(v.Unprovable.Error(), "\n")
	}
	commit, err := m.put(ctx, r, v.Package, h, v.Judged(), tree, says)
	if err != nil {
		return err
	}
	v.To, v.Number, v.Commit = lifecycle.Published, n, commit.String()
	return nil
}

// carry returns the tree of what is published instead of a Draft, if the branch holds what that
// was made upon.
func (m *merger) carry(ctx context.Context, v *Verdict, h branchHead) (decide.Hash, error) {
	there, err := v.Repo.TreeAt(ctx, decide.Hash(h.was), v.Package.Path)
	if err == nil && there != v.Upon {
		err = fmt.Errorf("branch %s %w in %s", v.Repo.Branch, ErrMoved, v.Package.Path)
	}
	if err != nil {
		return decide.Hash{}, err
	}
	tree, err := m.batch.PackageTree(v.Carried)
	return decide.Hash(tree), err
}

// put commits a package's tree to the registered branch and tags it as the package's next
// revision. Its Draft, where from has a branch, is joined and goes.
func (m *merger) put(ctx context.Context, r *observe.Repo, p *decide.Package, h branchHead, from *decide.Revision, tree decide.Hash, says gitrepo.Trailers) (gitrepo.Hash, error) {
	n := p.Next()
	message, err := gitrepo.FormatMessage(fmt.Sprintf("Approve %s/v%d", p.Path, n),
		&gitrepo.Annotation{Package: p.Path, WorkspaceName: from.Workspace, Revision: fmt.Sprint(n)}, says)
	if err != nil {
		return gitrepo.Hash{}, err
	}
	var parents []gitrepo.Hash
	for _, parent := range []gitrepo.Hash{h.commit, gitrepo.Hash(from.Ref.Commit)} {
		if !parent.IsZero() {
			parents = append(parents, parent)
		}
	}
	c, err := m.commit(ctx, r, h, gitrepo.CommitSpec{
		Path: p.Path, PackageTree: gitrepo.Hash(tree), Parents: parents, Author: m.signed(h, from), Message: message,
	})
	if err != nil {
		return gitrepo.Hash{}, err
	}
	m.moves = append(m.moves, decide.Move{Name: lifecycle.PublishedRef(p.Path, n), New: decide.Hash(c.Hash)})
	if from.Ref.Name != "" {
		m.moves = append(m.moves, decide.Move{Name: from.Ref.Name, Old: from.Ref.Hash})
	}
	m.edits = append(m.edits, published(p.Path, from, n, c.Hash.String(), tree))
	return c.Hash, nil
}

// signed is the signature of a merge; Variform's own has the time of the newest
// of what it joins.
func (m *merger) signed(h branchHead, head *decide.Revision) gitrepo.Signature {
	sig := m.signature
	if sig.When.IsZero() {
		sig.When = h.when
		if head.When.After(sig.When) {
			sig.When = head.When
		}
	}
	return sig
}

func trailers(h *decide.Revision) gitrepo.Trailers {
	if h.Machine == nil {
		return gitrepo.Trailers{}
	}
	t := gitrepo.Trailers{Variant: h.Machine.Variant, Inputs: h.Machine.Inputs, Review: h.Machine.Review, Reverts: h.Machine.Reverts}
	if !h.Machine.Hydrated.IsZero() {
		t.Hydrated = h.Machine.Hydrated.String()
	}
	return t
}

// commit makes a commit on top of the branch.
func (m *merger) commit(ctx context.Context, r *observe.Repo, h branchHead, spec gitrepo.CommitSpec) (*gitrepo.Commit, error) {
	spec.Root = h.tree
	c, err := m.batch.Commit(ctx, spec)
	if err != nil {
		return nil, err
	}
	m.heads[r.Branch] = branchHead{was: h.was, commit: c.Hash, tree: c.Tree, when: c.Committer.When}
	return c, nil
}

// remove carries out a proposed deletion: the package leaves the registered
// branch, its tags and the proposals go.
func (m *merger) remove(ctx context.Context, v *Verdict) error {
	r, path := v.Repo, v.Package.Path
	h, err := m.head(ctx, r, path)
	if err != nil {
		return err
	}
	there, err := r.TreeAt(ctx, decide.Hash(h.was), path)
	if err != nil {
		return err
	}
	if !there.IsZero() {
		message, err := gitrepo.FormatMessage("Delete "+path, &gitrepo.Annotation{Package: path}, gitrepo.Trailers{Variant: observe.Released})
		if err != nil {
			return err
		}
		c, err := m.commit(ctx, r, h, gitrepo.CommitSpec{Path: path, Parents: []gitrepo.Hash{h.commit}, Author: m.signature, Message: message})
		if err != nil {
			return err
		}
		v.Commit = c.Hash.String()
	}
	for _, t := range v.Package.Deletions() {
		m.moves = append(m.moves,
			decide.Move{Name: t.Deletion.Name, Old: t.Deletion.Hash},
			decide.Move{Name: t.Ref.Name, Old: t.Ref.Hash})
	}
	m.edits = append(m.edits, forgotten(v.Package))
	v.To, v.Number = "", 0
	return nil
}

// finish adds the branches' own moves and hands everything to the batch as one.
func (m *merger) finish() error {
	for branch, h := range m.heads {
		if h.commit != h.was {
			m.moves = append(m.moves, decide.Move{Name: lifecycle.BranchRef(branch), Old: decide.Hash(h.was), New: decide.Hash(h.commit)})
		}
	}
	sort.Slice(m.moves, func(i, j int) bool { return m.moves[i].Name < m.moves[j].Name })
	return together(m.batch, m.edits, m.moves)
}
