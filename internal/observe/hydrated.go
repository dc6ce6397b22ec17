package observe

import (
	"context"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
)

// Hydrated is a revision's package as the machine made it, before people's edits
// (docs/design/hydration-and-update.md#hi), nil where it is not to be had. The
// machine's commit names its tree. Where nothing was edited in that commit it is
// the package's own; of what was approved with edits it is that of a commit
// behind it.
func (r *Repo) Hydrated(ctx context.Context, path string, h *decide.Revision) (*krm.Package, error) {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		return nil, nil
	}
	want := h.Machine.Hydrated
	for _, commit := range []decide.Hash{h.Ref.Commit, h.Machine.Commit} {
		if p, err := r.readTree(ctx, commit, path, want); err != nil || p != nil {
			return p, err
		}
	}
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

// readTree reads a package at a commit where it has a tree, nil where it has
// another.
func (r *Repo) readTree(ctx context.Context, commit decide.Hash, path string, want decide.Hash) (*krm.Package, error) {
	if tree, err := r.TreeAt(ctx, commit, path); err != nil || tree != want {
		return nil, err
	}
	_, p, err := r.ReadPackage(ctx, commit, path)
	return p, err
}
