// Package publish is the last room of a run: it applies decisions
// (internal/decide) to Git, and nothing else. Each repository gets one pack and
// one atomic push, conditional on the refs that were read when deciding; a lost
// race is read and decided again, never forced. See docs/design/heart.md.
package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/internal/wire"
)

// attempts bounds how often a repository is decided about again after a lost race.
const attempts = 5

// heldPause is half of how long another push that holds refs is waited for at first.
const heldPause = 50 * time.Millisecond

// machine signs the commits that Variform makes by itself: a fixed identity, so
// that the same inputs give the same commit.
func machine(when time.Time) gitrepo.Signature {
	return gitrepo.Signature{Name: "Variform", Email: observe.MachineEmail, When: when}
}

// Change is one decision to apply, and what became of it.
type Change struct {
	Repo     *observe.Repo
	Package  *decide.Package // as it was when deciding
	Decision decide.Decision
	// Commit is what the decision commits; nil where it makes none.
	Commit *Commit
	// Built is what the record is to say of a build that gave no commit; with a
	// Commit, of that.
	Built record.Edit
	// Said is what the record is to say of the package itself; nil leaves that.
	Said *record.Entry
	// Says is what the fleet says of what is tagged: the record's where that knows
	// nothing of the Draft. nil is nothing.
	Says *record.Entry
	// Unsaid says that what people said of the package is over.
	Unsaid bool

	// Hash is the commit made, once pushed. Err is why nothing moved.
	Hash decide.Hash
	Err  error

	moves []decide.Move // of the last attempt to push
	// of is the change that makes a tag whose deletion this one proposes: it moves
	// with that or after it, never without, as far as the server's pushes are atomic.
	of *Change
}

// Untagged says that the change failed with the tag whose deletion it proposes.
func (c *Change) Untagged() bool { return c.of != nil && c.of.Err != nil }

// Commit is a commit to make: the package put into the tree of Root, zero for an
// empty one.
type Commit struct {
	Tree decide.Hash // of the stage, or of the repository
	// Hydrated is the package as the machine made it, before the edits that Tree
	// has: what the next update takes for its base. Zero where that is not known,
	// and of a commit that is no build.
	Hydrated decide.Hash
	Root     decide.Hash
	Parents  []decide.Hash
	When     time.Time
	Message  string
	// Entry is what the record is to say: at first set, purpose, deletion policy and
	// labels; of what it holds once it is made.
	Entry record.Entry
}

// Pusher applies changes. It is safe for concurrent use with different
// repositories.
type Pusher struct {
	// Read says where records stand; nil keeps none.
	Read *observe.Reader
	// Stage has the packages of the changes' commits.
	Stage *gitrepo.Stage
	// MaxRefs splits pushes; 0 is one push for a repository.
	MaxRefs int
	// Again reads a repository anew and decides once more about what a race
	// undid. It takes the lost changes over, and returns what is to be pushed now.
	Again func(ctx context.Context, git observe.Repository, lost []*Change) ([]*Change, error)
}

// Push applies one repository's changes.
func (p *Pusher) Push(ctx context.Context, git observe.Repository, changes []*Change) {
	for attempt := 1; len(changes) > 0; attempt++ {
		changes = tagsFirst(changes)
		left, err := p.push(ctx, git, changes)
		if err == nil {
			return
		}
		changes = left
		last := attempt == attempts || ctx.Err() != nil
		if last || !again(ctx, err, attempt) {
			p.pushApart(ctx, git, changes, err)
			if changes, err = lostApart(changes); last || len(changes) == 0 {
				return
			}
		}
		now, aerr := p.Again(ctx, git, changes)
		if aerr != nil {
			failAll(changes, errors.Join(err, aerr))
			return
		}
		changes = now
	}
}

// tagsFirst is changes with those that make tags before the others, and those that
// propose the deletion of such a tag knowing which it is.
func tagsFirst(changes []*Change) []*Change {
	var tags, others []*Change
	made := map[string]*Change{}
	for _, c := range changes {
		if t, ok := c.Decision.(decide.Tag); ok {
			tags, made[t.Ref] = append(tags, c), c
		} else {
			others = append(others, c)
		}
	}
	for _, c := range others {
		if d, ok := c.Decision.(decide.Retire); ok {
			for _, t := range d.Tags {
				c.of = cmp.Or(made[t.Ref.Name], c.of)
			}
		}
	}
	return append(tags, others...)
}

// again says that a push is worth another: something moved in between, or its
// answer was lost. A server that kept it waiting is not waited for again. Another push that
// holds refs is given some time, the more the later the attempt.
func again(ctx context.Context, err error, attempt int) bool {
	var rejected *gitrepo.RejectedError
	if errors.As(err, &rejected) && rejected.Held() {
		return wire.Sleep(ctx, heldPause<<attempt) == nil
	}
	return errors.Is(err, gitrepo.ErrStale) || errors.Is(err, gitrepo.ErrUnknownOutcome) && !wire.IsSlow(err)
}

// lostApart are those of changes, pushed apart, whose refs had moved, as those of others that
// were refused had not: they can be decided about again.
func lostApart(changes []*Change) (lost []*Change, err error) {
	for _, c := range changes {
		if errors.Is(c.Err, gitrepo.ErrStale) {
			lost, err = append(lost, c), c.Err
		}
	}
	return lost, err
}

func failAll(changes []*Change, err error) {
	for _, c := range changes {
		c.Err = err
	}
}

// Lost says that nothing moves with a change but what the record was to have already.
func (c *Change) Lost() bool {
	r, ok := c.Decision.(decide.Record)
	return ok && r.Lost
}

// pushApart isolates the changes that a server refuses: an atomic push fails as
// one, and one bad variant must not stop the others. What is about the record alone it
// refuses as one.
func (p *Pusher) pushApart(ctx context.Context, git observe.Repository, changes []*Change, err error) {
	moves := func(c *Change) bool { return len(c.moves) > 0 }
	rejected, stale := errors.Is(err, gitrepo.ErrRejected) && slices.ContainsFunc(changes, moves), errors.Is(err, gitrepo.ErrStale)
	if len(changes) <= 1 || !rejected && !stale {
		failAll(changes, err)
		return
	}
	half := len(changes) / 2
	for _, part := range [][]*Change{changes[:half], changes[half:]} {
		if left, err := p.push(ctx, git, part); err != nil {
			p.pushApart(ctx, git, left, err)
		}
	}
}

// without is changes less those that are left, in order.
func without(changes, left []*Change) []*Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool { return slices.Contains(left, c) })
}

// push commits and pushes changes in one batch. With an error it returns those
// that did not land, or were taken back.
func (p *Pusher) push(ctx context.Context, git observe.Repository, changes []*Change) ([]*Change, error) {
	b := p.Stage.NewBatch()
	failed := func(c *Change, err error) {
		if err != nil && c.Err == nil { // only this one: what it added to the batch is not referred to
			c.Err = fmt.Errorf("committing: %w", err)
		}
	}
	var ways []gitrepo.Place // what is committed keeps all that is beside its folder
	for _, c := range changes {
		if c.Err == nil && c.Commit != nil && !c.Commit.Root.IsZero() {
			ways = append(ways, gitrepo.Place{Commit: gitrepo.Hash(c.Commit.Root), Path: c.Package.Path, Way: true})
		}
	}
	_ = git.FetchPlaces(ctx, ways...) // who misses one fails by name
	_ = cores.Each(context.WithoutCancel(ctx), 0, len(changes), func(i int) error {
		if c := changes[i]; c.Err == nil && c.Commit != nil {
			failed(c, c.commit(ctx, b))
		}
		return nil
	})
	here, with := map[*Change]bool{}, map[*Change][]*Change{}
	for _, c := range changes {
		if here[c] = true; here[c.of] {
			with[c.of] = append(with[c.of], c)
		}
	}
	for _, c := range changes {
		switch {
		case c.Untagged():
			c.Err = c.of.Err
		case here[c.of]: // with its tag
		case c.Err == nil:
			failed(c, c.add(ctx, b, with[c]...))
		}
	}
	if b.Empty() {
		return nil, nil
	}
	report, err := b.Push(ctx, gitrepo.PushOptions{MaxRefsPerPush: p.MaxRefs, Record: RecordOf(p.Read, git)})
	var left []*Change
	for _, c := range changes {
		if err != nil && c.Err == nil && !c.landed(report) {
			left = append(left, c)
		}
	}
	back, overtaken := p.overtaken(ctx, git, without(changes, left))
	return append(left, back...), errors.Join(err, overtaken)
}

// add puts a change's ref updates into a batch that has its commit, together with
// those of the changes with.
func (c *Change) add(ctx context.Context, b *gitrepo.Batch, with ...*Change) error {
	c.moves = c.Decision.Moves(c.Hash)
	edits, moves := c.edits(ctx), slices.Clone(c.moves)
	for _, w := range with {
		w.moves = w.Decision.Moves(w.Hash)
		edits, moves = append(w.edits(ctx), edits...), append(moves, w.moves...) // what is unsaid before what is said
	}
	return together(b, edits, moves)
}

// together adds moves that belong in one push, with what the record says of them.
func together(b *gitrepo.Batch, edits []record.Edit, moves []decide.Move) error {
	updates := make([]gitrepo.RefUpdate, len(moves))
	for i, m := range moves {
		updates[i] = gitrepo.RefUpdate{Name: m.Name, Old: gitrepo.Hash(m.Old), New: gitrepo.Hash(m.New)}
	}
	return b.Recorded(edits, updates...)
}

// commit puts a change's commit into a batch; others may at the same time.
func (c *Change) commit(ctx context.Context, b *gitrepo.Batch) error {
	root, err := rootTree(ctx, c.Repo.Git, c.Commit.Root)
	if err != nil {
		return err
	}
	made, err := b.Commit(ctx, gitrepo.CommitSpec{
		Root: root, Path: c.Package.Path, PackageTree: gitrepo.Hash(c.Commit.Tree), Parents: gitHashes(c.Commit.Parents),
		Author: machine(c.Commit.When), Message: c.Commit.Message,
	})
	if err != nil {
		return err
	}
	c.Hash = decide.Hash(made.Hash)
	c.made(made)
	return nil
}

func gitHashes(list []decide.Hash) []gitrepo.Hash {
	out := make([]gitrepo.Hash, len(list))
	for i, h := range list {
		out[i] = gitrepo.Hash(h)
	}
	return out
}

func rootTree(ctx context.Context, git observe.History, commit decide.Hash) (gitrepo.Hash, error) {
	if commit.IsZero() {
		return gitrepo.Hash{}, nil
	}
	commits, err := git.Commits(ctx, gitrepo.Hash(commit))
	if err != nil {
		return gitrepo.Hash{}, err
	}
	return commits[0].Tree, nil
}

// landed says whether a push that failed in part moved all of the change's refs.
func (c *Change) landed(report *gitrepo.PushReport) bool {
	if len(c.moves) == 0 {
		return false
	}
	moved := map[string]bool{}
	for _, r := range report.Refs {
		moved[r.Name] = r.Outcome == gitrepo.Moved
	}
	for _, m := range c.moves {
		if !moved[m.Name] && m.Old != m.New {
			return false
		}
	}
	return true
}

// overtaken withdraws the Drafts just made whose package was taken on by others
// meanwhile (see decide.Package.Surplus), but none that has moved since. It
// returns their changes, to be decided again, and a *gitrepo.StaleError that
// names what had come.
func (p *Pusher) overtaken(ctx context.Context, git observe.Repository, changes []*Change) ([]*Change, error) {
	made := slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool {
		d, ok := c.Decision.(decide.Draft)
		return !ok || !d.New() || c.Err != nil
	})
	if len(made) == 0 {
		return nil, nil
	}
	if err := git.Refresh(ctx); err != nil {
		return nil, nil //nolint:nilerr // the push is done: what cannot be seen now, the next run sees
	}
	var back []*Change
	stale := &gitrepo.StaleError{URL: git.URL()}
	for _, c := range made {
		ref := c.Decision.(decide.Draft).Ref
		came := came(c.Package, git.Index("").Package(c.Package.Path), ref)
		if len(came) == 0 {
			continue
		}
		b := git.NewBatch()
		drop := record.Drop{Path: c.Package.Path, Workspace: workspaceOf(ref)}
		err := together(b, []record.Edit{drop}, []decide.Move{{Name: ref, Old: c.Hash}})
		if err == nil {
			_, err = b.Push(ctx, gitrepo.PushOptions{Record: RecordOf(p.Read, git)})
		}
		_ = b.Close() // only a temporary file
		if err == nil {
			back, stale.Refs = append(back, c), append(stale.Refs, came...)
		}
	}
	if len(back) == 0 {
		return nil, nil
	}
	slices.SortFunc(stale.Refs, func(a, b gitrepo.StaleRef) int { return strings.Compare(a.Name, b.Name) })
	return back, fmt.Errorf("withdrawing Drafts: %w", stale)
}

// came lists the open revisions and the publications of a package that were not
// there when it was decided about, but for the Draft that was made.
func came(then *decide.Package, now *gitrepo.PackageRefs, made string) []gitrepo.StaleRef {
	known := map[string]bool{made: true}
	for _, r := range then.Heads() {
		known[r.Ref.Name] = true
	}
	for _, t := range then.Tags {
		known[t.Ref.Name] = true
	}
	var out []gitrepo.StaleRef
	for _, r := range slices.Concat(now.Drafts, now.Proposed, now.Published) {
		if !known[r.Ref.Name] {
			out = append(out, gitrepo.StaleRef{Name: r.Ref.Name, Actual: r.Ref.Hash})
		}
	}
	return out
}

// ReleaseCommit is the commit that gives an open revision up.
func ReleaseCommit(ctx context.Context, repo *observe.Repo, h *decide.Revision, path string, tree decide.Hash) (*Commit, error) {
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(h.Ref.Commit))
	if err != nil {
		return nil, err
	}
	message, err := gitrepo.FormatMessage("Release "+path+"\n\nIts variant has gone; deletionPolicy orphan leaves the package.",
		&gitrepo.Annotation{Package: path, WorkspaceName: h.Workspace, Task: &gitrepo.Task{Type: "edit", Edit: &gitrepo.EditTask{}}},
		gitrepo.Trailers{Variant: observe.Released})
	if err != nil {
		return nil, err
	}
	return &Commit{Tree: tree, Root: h.Ref.Commit, Parents: []decide.Hash{h.Ref.Commit}, When: commits[0].Committer.When, Message: message}, nil
}
