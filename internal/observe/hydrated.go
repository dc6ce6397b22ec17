package observe

import (
	"context"
	"errors"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
)

// Hydrated is a revision's package as the machine made it, before people's edits
// (docs/design/hydration-and-update.md#hi), nil where it is not to be had. The
// machine's commit names its tree. Where nothing was edited in that commit it is
// the package's own; of what was approved with edits it is that of a commit
// behind it, and where there is none such, the record's: of a merge with edits,
// and of a Draft that was squashed.
func (r *Repo) Hydrated(ctx context.Context, path string, h *decide.Revision) (p *krm.Package, err error) {
	err = r.findHydrated(ctx, path, h, func(at hydratedAt) (err error) {
		if at.commit.IsZero() {
			p, err = r.Git.ReadPackage(ctx, gitrepo.Hash(at.tree))
		} else {
			_, p, err = r.ReadPackage(ctx, at.commit, path)
		}
		return err
	})
	return p, err
}

// hydratedAt is where Hydrated is read: in a commit, or, without one, in a record. Without
// a tree it is nowhere.
type hydratedAt struct{ commit, tree decide.Hash }

// findHydrated brings what Hydrated reads, and calls read with where that is. What is
// missing there may be elsewhere; read is not called where it is nowhere.
func (r *Repo) findHydrated(ctx context.Context, path string, h *decide.Revision, read func(hydratedAt) error) error {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		at, err := r.squashed(ctx, path, h)
		if err != nil || at.tree.IsZero() {
			return err
		}
		return read(at)
	}
	// The record is one request for all packages, history is one or more for each. What
	// it holds is named by the machine's commit, so that it need not be believed.
	type find = func(context.Context, string, *decide.Revision) (hydratedAt, error)
	for _, find := range []find{r.unedited, r.recordedOf, r.behind} {
		at, err := find(ctx, path, h)
		if err == nil && !at.tree.IsZero() {
			if err = read(at); err == nil {
				return nil
			}
		}
		if err != nil && !errors.Is(err, gitrepo.ErrMissingObject) {
			return err
		}
	}
	return nil
}

// recordedOf is the record's tree that a machine's commit names.
func (r *Repo) recordedOf(ctx context.Context, _ string, h *decide.Revision) (hydratedAt, error) {
	return r.recorded(ctx, h.Machine.Hydrated)
}

// unedited is a revision's commit, or the machine's, where people changed nothing of what
// that names.
func (r *Repo) unedited(ctx context.Context, path string, h *decide.Revision) (hydratedAt, error) {
	for _, commit := range []decide.Hash{h.Ref.Commit, h.Machine.Commit} {
		if at, err := r.treeIn(ctx, commit, path, h.Machine.Hydrated); err != nil || !at.tree.IsZero() {
			return at, err
		}
	}
	return hydratedAt{}, nil
}

// behind is a commit behind a machine's that has what that names.
func (r *Repo) behind(ctx context.Context, path string, h *decide.Revision) (hydratedAt, error) {
	want := h.Machine.Hydrated
	n := len(h.Machine.Parents)
	if n == 0 {
		return hydratedAt{}, nil
	}
	draft := gitrepo.Hash(h.Machine.Parents[n-1]) // of a merge, what was approved
	found, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{draft}, walkLimit, func(_ int, c *gitrepo.Commit) bool {
		names := func(a gitrepo.Annotation) bool { return decide.ParseHash(a.Trailers.Hydrated) == want }
		return decide.ParseHash(c.TrailersOf(names).Hydrated) == want
	})
	if err != nil || len(found) == 0 || found[0] == nil {
		return hydratedAt{}, err
	}
	return r.treeIn(ctx, decide.Hash(found[0].Hash), path, want)
}

// squashed is what the record says of a package that stands where no commit of
// the machine's leads to. It is believed as far as record.Entry.Proved goes.
func (r *Repo) squashed(ctx context.Context, path string, h *decide.Revision) (hydratedAt, error) {
	rec, err := r.Git.Record(ctx, r.record)
	if err != nil || rec == nil {
		return hydratedAt{}, nil //nolint:nilerr // not known, then: who writes the record says what is wrong with it
	}
	tree, err := r.TreeAt(ctx, h.Ref.Commit, path)
	if err != nil || tree.IsZero() {
		return hydratedAt{}, err
	}
	for _, e := range rec.Package(path) {
		if e.Tree != tree.String() {
			continue
		}
		commits, err := r.Git.Commits(ctx, gitrepo.Hash(decide.ParseHash(e.Commit)))
		// A commit that went with its branch, or that a forge made, says nothing:
		// that the entry is about this very tree has to do.
		named := ""
		if err == nil {
			named = trailersOf(commits[0], e).Hydrated
		}
		silent := errors.Is(err, gitrepo.ErrMissingObject) || err == nil && named == ""
		if silent || err == nil && e.Proved(named, false, tree.String()) {
			return r.recorded(ctx, decide.ParseHash(e.Hydrated))
		}
	}
	return hydratedAt{}, nil
}

// recorded is a tree that the manager's record holds, or another manager's.
func (r *Repo) recorded(ctx context.Context, tree decide.Hash) (hydratedAt, error) {
	ok, err := r.Git.FetchRecorded(ctx, r.record, gitrepo.Hash(tree))
	if err != nil || !ok {
		return hydratedAt{}, err
	}
	return hydratedAt{tree: tree}, nil
}

// Keep takes over whose record is read.
func (r *Repo) Keep(of gitrepo.RecordOf) { r.record = of }

// treeIn is a commit where that has a tree at a path, which is brought.
func (r *Repo) treeIn(ctx context.Context, commit decide.Hash, path string, want decide.Hash) (hydratedAt, error) {
	tree, err := r.TreeAt(ctx, commit, path)
	if err != nil || tree.IsZero() || tree != want {
		return hydratedAt{}, err
	}
	if !r.Git.HasTree(gitrepo.Hash(tree)) {
		err = r.Git.FetchPlaces(ctx, gitrepo.Place{Commit: gitrepo.Hash(commit), Path: path})
	}
	return hydratedAt{commit, tree}, err
}

// placed is a revision of a package in a repository.
type placed struct {
	repo *Repo
	path string
	*decide.Revision
}

// fetchHydrated brings what Hydrated reads of revisions, in few requests a repository.
// What cannot be had is asked for again by who needs it.
func (r *Reader) fetchHydrated(ctx context.Context, list []placed) {
	ways, set := fetchSet{}, fetchSet{}
	for _, h := range list {
		if h.Machine == nil || h.Machine.Hydrated.IsZero() {
			continue
		}
		for _, commit := range []decide.Hash{h.Ref.Commit, h.Machine.Commit} { // as unedited asks for them
			if tree, known := h.repo.knownTreeAt(gitrepo.Hash(commit), h.path); !known {
				ways.way(h.repo, commit, h.path)
			} else if decide.Hash(tree) == h.Machine.Hydrated {
				break
			}
		}
	}
	ways.run(ctx, r.Repositories())
	for _, h := range list {
		if h.Machine == nil {
			continue
		}
		for _, commit := range []decide.Hash{h.Ref.Commit, h.Machine.Commit} {
			tree, known := h.repo.knownTreeAt(gitrepo.Hash(commit), h.path)
			if known && decide.Hash(tree) == h.Machine.Hydrated {
				if !h.repo.Git.HasTree(tree) {
					set.place(h.repo, commit, h.path)
				}
				break
			}
		}
	}
	set.run(ctx, r.Repositories())
	_ = SideBySide(ctx, r, list, func(h placed) *Repo { return h.repo }, func(ctx context.Context, h placed) error {
		return h.repo.findHydrated(ctx, h.path, h.Revision, func(hydratedAt) error { return nil })
	})
}
