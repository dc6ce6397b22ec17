package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/observe"
)

// Edited is what people committed to a head, upon Variform's own commit.
type Edited struct {
	// Base is that commit, nil where there is none; its Drafts are Members.
	Base    *gitrepo.Commit
	Members []HeadDraft
	// Commits are theirs, the oldest first.
	Commits []*gitrepo.Commit
	// Changed are the Members whose packages are neither as they were made nor as they
	// stand on the registered branch; Beyond is what changed outside of packages.
	Changed []HeadDraft
	Beyond  []string
}

// By is who committed last what the Drafts and the registered branch have not, ""
// for nobody.
func (e *Edited) By() string {
	if len(e.Commits) == 0 || e.Base != nil && len(e.Changed)+len(e.Beyond) == 0 {
		return ""
	}
	c := e.Commits[len(e.Commits)-1]
	return c.Author.Name + " (" + c.Hash.String()[:7] + ")"
}

// maxEdits is how many commits of people are looked behind on a head.
const maxEdits = 50

// ReadHead finds what people committed to a head.
func ReadHead(ctx context.Context, repo *observe.Repo, tip decide.Hash) (*Edited, error) {
	e := &Edited{}
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(tip))
	if err == nil && commits[0].Committer.Email != observe.MachineEmail {
		commits, err = repo.Git.FirstParents(ctx, gitrepo.Hash(tip), maxEdits)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		if c.Committer.Email == observe.MachineEmail {
			e.Base, e.Members = c, headDrafts(c.Message)
			break
		}
		e.Commits = append(e.Commits, c)
	}
	slices.Reverse(e.Commits)
	if e.Base == nil || len(e.Commits) == 0 {
		return e, nil
	}
	var paths []string
	for _, m := range e.Members {
		paths = append(paths, m.Path)
	}
	if e.Beyond, err = repo.Beyond(ctx, e.Base.Hash, gitrepo.Hash(tip), paths...); err != nil {
		return nil, err
	}
	for _, m := range e.Members {
		was, now, err := trees(ctx, repo, m.Path, decide.Hash(e.Base.Hash), tip)
		if err != nil {
			return nil, err
		}
		if was == now {
			continue
		}
		main := decide.Hash{}
		if !repo.Head.IsZero() {
			if main, err = repo.TreeAt(ctx, repo.Head, m.Path); err != nil {
				return nil, err
			}
		}
		if main != now {
			e.Changed = append(e.Changed, m)
		}
	}
	return e, nil
}

func trees(ctx context.Context, repo *observe.Repo, path string, a, b decide.Hash) (x, y decide.Hash, err error) {
	if x, err = repo.TreeAt(ctx, a, path); err == nil {
		y, err = repo.TreeAt(ctx, b, path)
	}
	return x, y, err
}

// Taken is what became of people's commits on a head.
type Taken struct {
	Branch string
	By     string
	// Drafts have the commits now, and the head is made of them.
	Drafts []string
	// Err is why the head is let be.
	Err error
}

// TakeEdits brings what people committed to a head onto the branches of its Drafts,
// as their own commits, and makes the head anew from these: in one push, from where
// they all were read, so that either all of a person's work is on the Drafts or the
// head stays. It returns nil where nobody committed.
func TakeEdits(ctx context.Context, repo *observe.Repo, head gitrepo.Ref) (*Taken, error) {
	e, err := ReadHead(ctx, repo, decide.Hash(head.Commit))
	if err != nil || e.By() == "" {
		return nil, err
	}
	t := &Taken{Branch: strings.TrimPrefix(head.Name, lifecycle.BranchRef("")), By: e.By()}
	k := &taking{repo: repo, edited: e, batch: repo.Git.NewBatch()}
	defer func() { _ = k.batch.Close() }()
	h, err := k.take(ctx, head)
	switch let := (*letBeError)(nil); {
	case errors.As(err, &let):
		t.Err = err
		return t, nil
	case err != nil:
		return nil, err
	}
	for _, m := range h.Drafts {
		if m.made != nil {
			t.Drafts = append(t.Drafts, m.Path)
		}
	}
	_, t.Err = k.batch.Push(ctx, gitrepo.PushOptions{RequireAtomic: true})
	return t, nil
}

// letBeError is why people's commits are left on a head.
type letBeError struct{ text string }

func (e *letBeError) Error() string { return e.text }

func letBe(format string, args ...any) error { return &letBeError{fmt.Sprintf(format, args...)} }

type taking struct {
	repo   *observe.Repo
	edited *Edited
	batch  *gitrepo.Batch
}

// take adds to the batch what moves.
func (k *taking) take(ctx context.Context, head gitrepo.Ref) (*Head, error) {
	e := k.edited
	switch {
	case e.Base == nil:
		return nil, letBe("none of the last %d commits is Variform's", len(e.Commits))
	case len(e.Beyond) > 0:
		return nil, letBe("%s is outside of its packages: undo that there, or move it to a branch of its own", strings.Join(decide.Limit(e.Beyond, 5), ", "))
	}
	for _, c := range e.Commits {
		if len(c.Annotations) > 0 || c.Trailers != (gitrepo.Trailers{}) {
			return nil, letBe("the message of %s is that of a commit of Variform's: bring its change onto the Drafts by hand", c.Hash.String()[:7])
		}
	}
	if err := k.fetch(ctx); err != nil {
		return nil, err
	}
	h := &Head{Ref: head.Name, Old: decide.Hash(head.Hash)}
	var moved []gitrepo.RefUpdate
	for _, m := range e.Members {
		draft, err := k.draft(m)
		if err != nil {
			return nil, err
		}
		if draft == nil { // published or discarded since, and nobody changed it here
			continue
		}
		now := HeadDraft{Path: m.Path, Commit: decide.Hash(draft.Commit)}
		if slices.Contains(e.Changed, m) {
			if now, err = k.upon(ctx, m, draft); err != nil {
				return nil, err
			}
			if now.made != nil {
				moved = append(moved, gitrepo.RefUpdate{Name: draft.Name, Old: draft.Hash, New: now.made.Hash})
			}
		}
		h.Drafts = append(h.Drafts, now)
	}
	title, _, _ := strings.Cut(e.Base.Message, "\n")
	h.Message = HeadMessage(title, h.Drafts)
	if err := h.build(ctx, k.repo, k.batch); err != nil {
		return nil, fmt.Errorf("making %s: %w", h.Ref, err)
	}
	return h, k.batch.Together(append(moved, gitrepo.RefUpdate{Name: h.Ref, Old: gitrepo.Hash(h.Old), New: gitrepo.Hash(h.Commit)})...)
}

// fetch brings what is read, in one request.
func (k *taking) fetch(ctx context.Context) error {
	commits := []gitrepo.Hash{gitrepo.Hash(k.repo.Head), k.edited.Base.Hash}
	for _, c := range k.edited.Commits {
		commits = append(commits, c.Hash)
	}
	for _, m := range k.edited.Members {
		for _, draft := range k.repo.Git.Index("").Package(m.Path).Drafts {
			commits = append(commits, draft.Ref.Commit)
		}
	}
	return k.repo.Git.Fetch(ctx, slices.DeleteFunc(commits, gitrepo.Hash.IsZero)...)
}

// draft is where the Draft of a member is now, nil for one that nobody changed and
// that is open no more.
func (k *taking) draft(m HeadDraft) (*gitrepo.Ref, error) {
	open := k.repo.Git.Index("").Package(m.Path).Drafts
	for i := range open {
		if open[i].Ref.Commit == gitrepo.Hash(m.Commit) {
			return &open[i].Ref, nil
		}
	}
	switch {
	case len(open) == 1:
		return &open[0].Ref, nil
	case !slices.Contains(k.edited.Changed, m):
		return nil, nil
	case len(open) == 0:
		return nil, letBe("%s has no Draft any more: commit the change to the branch that it is to be on, and remove it here", m.Path)
	}
	return nil, letBe("%s has %d Drafts: commit the change to the one that is meant, and undo it here", m.Path, len(open))
}

// upon puts people's changes of one package upon its Draft. Where that moved too, the
// changes are merged into it.
func (k *taking) upon(ctx context.Context, m HeadDraft, draft *gitrepo.Ref) (HeadDraft, error) {
	at := HeadDraft{Path: m.Path, Commit: decide.Hash(draft.Commit)}
	root, err := rootTree(ctx, k.repo.Git, at.Commit)
	if err != nil {
		return at, err
	}
	if at.tree, err = k.repo.TreeAt(ctx, at.Commit, m.Path); err != nil {
		return at, err
	}
	before := k.edited.Base
	for _, c := range k.edited.Commits {
		was, now, err := trees(ctx, k.repo, m.Path, decide.Hash(before.Hash), decide.Hash(c.Hash))
		if err != nil {
			return at, err
		}
		if before = c; was == now {
			continue
		}
		if len(c.Parents) > 1 {
			return at, letBe("the merge %s changes %s: bring its change onto %s by hand", c.Hash.String()[:7], m.Path, shortName(draft))
		}
		tree, err := k.merged(ctx, m.Path, was, now, at.tree, draft, c)
		if err != nil {
			return at, err
		}
		if tree == at.tree {
			continue
		}
		at.made, err = k.batch.Commit(ctx, gitrepo.CommitSpec{
			Root: root, Path: m.Path, PackageTree: gitrepo.Hash(tree), Parents: []gitrepo.Hash{gitrepo.Hash(at.Commit)},
			Author: c.Author, Committer: c.Committer, Message: c.Message,
		})
		if err != nil {
			return at, err
		}
		at.tree, at.Commit, root = tree, decide.Hash(at.made.Hash), at.made.Tree
	}
	return at, nil
}

func shortName(ref *gitrepo.Ref) string { return strings.TrimPrefix(ref.Name, lifecycle.BranchRef("")) }

// merged is a Draft's package with one commit's change in it.
func (k *taking) merged(ctx context.Context, path string, was, now, draft decide.Hash, ref *gitrepo.Ref, c *gitrepo.Commit) (decide.Hash, error) {
	switch draft {
	case was:
		return now, nil
	case now:
		return draft, nil
	}
	base, err := k.repo.Git.ReadPackage(ctx, gitrepo.Hash(was))
	if err != nil {
		return draft, err
	}
	theirs, err := k.repo.Git.ReadPackage(ctx, gitrepo.Hash(now))
	if err != nil {
		return draft, err
	}
	ours, err := k.repo.Git.ReadPackage(ctx, gitrepo.Hash(draft))
	if err != nil {
		return draft, err
	}
	both := func(why string) error {
		return letBe("%s of %s changes %s, and so did its Draft %s since (%s): bring it there by hand, and undo it here", c.Hash.String()[:7], c.Author.Name, path, shortName(ref), why)
	}
	res, err := merge.Packages(base, ours, theirs, merge.Options{})
	if err != nil {
		return draft, both(err.Error())
	}
	if len(res.Conflicts) > 0 {
		return draft, both(res.Conflicts[0].String())
	}
	files, err := res.Package.Files()
	if err != nil {
		return draft, err
	}
	tree, err := k.batch.PackageTree(files)
	return decide.Hash(tree), err
}
