package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
)

// Head is a branch for a pull request: one commit upon the registered branch that
// has several Drafts' packages (docs/design/pull-requests.md).
type Head struct {
	Ref string
	// Old is where the branch is, zero for one that is to be made. With no Drafts it
	// goes.
	Old     decide.Hash
	Drafts  []HeadDraft
	Message string
	// Commit is what was made.
	Commit decide.Hash
}

// HeadDraft is a Draft's commit and its package's folder.
type HeadDraft struct {
	Path   string
	Commit decide.Hash

	made *gitrepo.Commit // of the same batch, nil for one that is there
	tree decide.Hash     // of made's package
}

// PushHeads makes and removes branches of one repository, in one push, conditional
// on where they were. The same Drafts on the same branch give the same commit.
func PushHeads(ctx context.Context, repo *observe.Repo, heads []*Head) error {
	if len(heads) == 0 {
		return nil
	}
	var ways []gitrepo.Place
	for _, h := range heads {
		ways = append(ways, h.ways(repo)...)
	}
	_ = repo.Git.FetchPlaces(ctx, ways...) // in one request: what does not come is said of its head
	b := repo.Git.NewBatch()
	defer func() { _ = b.Close() }()
	for _, h := range heads {
		if len(h.Drafts) > 0 {
			if err := h.build(ctx, repo, b); err != nil {
				return fmt.Errorf("making %s: %w", h.Ref, err)
			}
		}
		if h.Commit == h.Old {
			continue
		}
		if err := b.Update(h.Ref, gitrepo.Hash(h.Old), gitrepo.Hash(h.Commit)); err != nil {
			return err
		}
	}
	if b.Empty() {
		return nil
	}
	_, err := b.Push(ctx, gitrepo.PushOptions{RequireAtomic: true})
	return err
}

// ways are what build reads.
func (h *Head) ways(repo *observe.Repo) (ways []gitrepo.Place) {
	for _, d := range h.Drafts {
		if !repo.Head.IsZero() {
			ways = append(ways, gitrepo.Place{Commit: gitrepo.Hash(repo.Head), Path: d.Path, Way: true})
		}
		if d.made == nil {
			ways = append(ways, gitrepo.Place{Commit: gitrepo.Hash(d.Commit), Path: d.Path, Way: true})
		}
	}
	return ways
}

func (h *Head) build(ctx context.Context, repo *observe.Repo, b *gitrepo.Batch) error {
	if err := repo.Git.FetchPlaces(ctx, h.ways(repo)...); err != nil {
		return err
	}
	root, err := rootTree(ctx, repo.Git, repo.Head)
	if err != nil {
		return err
	}
	at := []gitrepo.Hash{gitrepo.Hash(repo.Head)}
	var packages []gitrepo.PackageAt
	var made []*gitrepo.Commit
	for _, d := range h.Drafts {
		tree := d.tree
		if d.made != nil {
			made = append(made, d.made)
		} else if tree, err = repo.TreeAt(ctx, d.Commit, d.Path); err != nil {
			return err
		} else {
			at = append(at, gitrepo.Hash(d.Commit))
		}
		packages = append(packages, gitrepo.PackageAt{Path: d.Path, Tree: gitrepo.Hash(tree)})
	}
	commits, err := repo.Git.Commits(ctx, at...)
	if err != nil {
		return err
	}
	commits = append(commits, made...)
	var when time.Time
	for _, c := range commits {
		if c.Committer.When.After(when) {
			when = c.Committer.When
		}
	}
	c, err := b.Commit(ctx, gitrepo.CommitSpec{
		Root: root, Path: packages[0].Path, PackageTree: packages[0].Tree, More: packages[1:], Parents: at[:1],
		Author: machine(when), Message: h.Message,
	})
	if err != nil {
		return err
	}
	h.Commit = decide.Hash(c.Hash)
	return nil
}

// Is reports whether tip is one commit on the registered branch that contains the packages of
// h's Drafts and nothing else. The name of its committer proves nothing.
func (h *Head) Is(ctx context.Context, repo *observe.Repo, tip decide.Hash) (bool, error) {
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(tip))
	if err != nil || len(commits[0].Parents) != 1 {
		return false, err
	}
	upon := commits[0].Parents[0]
	if upon != gitrepo.Hash(repo.Head) {
		found, err := repo.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(repo.Head)}, maxBehind, func(_ int, c *gitrepo.Commit) bool { return c.Hash == upon })
		if err != nil || found[0] == nil {
			return false, err
		}
	}
	var ways []gitrepo.Place
	var dirs []string
	for _, d := range h.Drafts {
		dirs = append(dirs, d.Path)
		for _, c := range []gitrepo.Hash{upon, gitrepo.Hash(tip), gitrepo.Hash(d.Commit)} {
			ways = append(ways, gitrepo.Place{Commit: c, Path: d.Path, Way: true})
		}
	}
	if err := repo.Git.FetchPlaces(ctx, ways...); err != nil {
		return false, err
	}
	for _, d := range h.Drafts {
		have, want, err := trees(ctx, repo, d.Path, tip, d.Commit)
		if err == nil && have != want {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	beside, err := repo.Git.Beside(ctx, upon, gitrepo.Hash(tip), dirs...)
	return err == nil && len(beside) == 0, err
}

// maxBehind bounds how many commits the base of a head may be behind the registered branch.
// PushHeads creates an older head again.
const maxBehind = 256

// HeadMessage is the message of a head: what it asks for, and the Drafts in it.
func HeadMessage(title string, drafts []HeadDraft) string {
	places := make([]gitrepo.Place, len(drafts))
	for i, d := range drafts {
		places[i] = gitrepo.Place{Commit: gitrepo.Hash(d.Commit), Path: d.Path}
	}
	return gitrepo.FormatHead(title, places)
}

// headDrafts are the Drafts that a head's message names.
func headDrafts(message string) (out []HeadDraft) {
	for _, at := range gitrepo.ParseHead(message) {
		out = append(out, HeadDraft{Path: at.Path, Commit: decide.Hash(at.Commit)})
	}
	return out
}
