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
func (r *Repo) Hydrated(ctx context.Context, path string, h *decide.Revision) (*krm.Package, error) {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		return r.squashed(ctx, path, h)
	}
	// The record is one request for all packages, history is one or more for each. What
	// it holds is named by the machine's commit, so that it need not be believed.
	for _, at := range []func() (*krm.Package, error){
		func() (*krm.Package, error) { return r.unedited(ctx, path, h) },
		func() (*krm.Package, error) { return r.recorded(ctx, h.Machine.Hydrated) },
		func() (*krm.Package, error) { return r.behind(ctx, path, h) },
	} {
		p, err := at()
		if err != nil && !errors.Is(err, gitrepo.ErrMissingObject) || p != nil {
			return p, err
		}
	}
	return nil, nil
}

// unedited is the package at a revision, or at the machine's commit, where people
// changed nothing of what that names; nil otherwise.
func (r *Repo) unedited(ctx context.Context, path string, h *decide.Revision) (*krm.Package, error) {
	for _, commit := range []decide.Hash{h.Ref.Commit, h.Machine.Commit} {
		if p, err := r.readTree(ctx, commit, path, h.Machine.Hydrated); err != nil || p != nil {
			return p, err
		}
	}
	return nil, nil
}

// behind is what a machine's commit names, where a commit behind it holds that.
func (r *Repo) behind(ctx context.Context, path string, h *decide.Revision) (*krm.Package, error) {
	want := h.Machine.Hydrated
	n := len(h.Machine.Parents)
	if n == 0 {
		return nil, nil
	}
	draft := gitrepo.Hash(h.Machine.Parents[n-1]) // of a merge, what was approved
	found, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{draft}, walkLimit, func(_ int, c *gitrepo.Commit) bool {
		return decide.ParseHash(c.Trailers.Hydrated) == want
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || found[0] == nil {
		return nil, nil
	}
	return r.readTree(ctx, decide.Hash(found[0].Hash), path, want)
}

// squashed is what the record says of a package that stands where no commit of
// the machine's leads to. It is believed as far as record.Entry.Proved goes.
func (r *Repo) squashed(ctx context.Context, path string, h *decide.Revision) (*krm.Package, error) {
	rec, err := r.Git.Record(ctx, r.record)
	if err != nil || rec == nil {
		return nil, nil //nolint:nilerr // not known, then: who writes the record says what is wrong with it
	}
	tree, err := r.TreeAt(ctx, h.Ref.Commit, path)
	if err != nil || tree.IsZero() {
		return nil, err
	}
	for _, e := range rec.Package(path) {
		if e.Tree != tree.String() {
			continue
		}
		commits, err := r.Git.Commits(ctx, gitrepo.Hash(decide.ParseHash(e.Commit)))
		// A commit that went with its branch, or that a forge made, says nothing:
		// that the entry is about this very tree has to do.
		silent := errors.Is(err, gitrepo.ErrMissingObject) || err == nil && commits[0].Trailers.Hydrated == ""
		if silent || err == nil && e.Proved(commits[0].Trailers.Hydrated, false, tree.String()) {
			return r.recorded(ctx, decide.ParseHash(e.Hydrated))
		}
	}
	return nil, nil
}

// recorded is a package whose tree the manager's record holds, or another
// manager's; nil where none does.
func (r *Repo) recorded(ctx context.Context, tree decide.Hash) (*krm.Package, error) {
	ok, err := r.Git.FetchRecorded(ctx, r.record, gitrepo.Hash(tree))
	if err != nil || !ok {
		return nil, err
	}
	return r.Git.ReadPackage(ctx, gitrepo.Hash(tree))
}

// Keep takes over whose record is read.
func (r *Repo) Keep(reader *Reader) { r.record = reader.RecordOf(r.Git) }

// readTree reads a package at a commit where it has a tree, nil where it has
// another.
func (r *Repo) readTree(ctx context.Context, commit decide.Hash, path string, want decide.Hash) (*krm.Package, error) {
	if tree, err := r.TreeAt(ctx, commit, path); err != nil || tree != want {
		return nil, err
	}
	_, p, err := r.ReadPackage(ctx, commit, path)
	return p, err
}
