package observe

import (
	"context"
	"errors"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
)

// maxOrigins bounds the commits of a Draft that are compared with what was published of it.
const maxOrigins = 16

// trace finds out what wanted packages' latest revisions were made from where another
// tool published them: decide.Package.Trace decides, this reads what it compares.
func (r *Repo) trace(ctx context.Context) error {
	var places []gitrepo.Place
	for path, p := range r.Packages {
		if draft := p.Approved(); draft != nil && r.Wanted[path] {
			for _, c := range []decide.Hash{draft.Ref.Commit, p.Latest.Ref.Commit} {
				places = append(places, gitrepo.Place{Commit: gitrepo.Hash(c), Path: path})
			}
		}
	}
	if len(places) > 0 {
		if err := r.Git.FetchPlaces(ctx, places...); err != nil && !errors.Is(err, gitrepo.ErrMissingObject) {
			return err
		}
	}
	for path, p := range r.Packages {
		if !r.Wanted[path] || !p.Elsewhere() {
			continue
		}
		origins, err := r.origins(ctx, p, p.Approved())
		if err != nil {
			return err
		}
		p.Trace(origins)
	}
	return nil
}

// origins returns what the machine made of an open revision, the newest first, each compared
// with what was published. If nothing is open, it starts from the tip that the published merge
// names; it returns nil if there is none.
func (r *Repo) origins(ctx context.Context, p *decide.Package, draft *decide.Revision) (out []decide.Origin, err error) {
	if draft == nil {
		// Where the Draft's branch is gone, the merge that published it has its tip.
		l := p.Latest
		if len(l.Parents) < 2 || l.Workspace == "" {
			return nil, nil
		}
		tip := &head{path: p.Path, Revision: &decide.Revision{Ref: decide.Ref{Hash: l.Parents[1], Commit: l.Parents[1]}, Workspace: l.Workspace}}
		if err := r.walk(ctx, []*head{tip}); err != nil {
			return nil, err
		}
		if tip.Machine == nil {
			return nil, nil
		}
		draft = tip.Revision
		draft.Ref.Hash, draft.Ref.Commit = tip.Machine.Commit, tip.Machine.Commit
	}
	at := []decide.Hash{draft.Ref.Commit}
	machines := map[decide.Hash]*decide.Machine{draft.Ref.Commit: draft.Machine}
	b := &behind{path: p.Path, Revision: draft}
	if err := r.walkBehind(ctx, []*behind{b}); err != nil {
		return nil, err
	}
	for _, c := range b.commits[:min(b.own, maxOrigins)] {
		h := &head{path: p.Path, Revision: &decide.Revision{Ref: decide.Ref{Hash: decide.Hash(c), Commit: decide.Hash(c)}, Workspace: draft.Workspace}}
		if err := r.walk(ctx, []*head{h}); err != nil {
			return nil, err
		}
		if h.Machine != nil && h.Machine.Commit == decide.Hash(c) && machines[decide.Hash(c)] == nil {
			at, machines[decide.Hash(c)] = append(at, decide.Hash(c)), h.Machine
		}
	}
	for _, c := range at {
		if m := machines[c]; m != nil && m.Ours {
			same, err := r.SameAt(ctx, p.Path, c, p.Latest.Ref.Commit)
			if err != nil && !errors.Is(err, gitrepo.ErrMissingObject) {
				return nil, err
			}
			out = append(out, decide.Origin{At: c, Machine: m, Same: same})
		}
		if n := len(out); n > 0 && out[n-1].Same {
			break
		}
	}
	return out, nil
}

// learnSame notes that a commit holds the tree of another where both have the same
// package, apart from bookkeeping, and reports whether they do: to every rule they hold
// one tree then.
func (r *Repo) learnSame(ctx context.Context, p *decide.Package, commit, other decide.Hash) (bool, error) {
	same, err := r.SameAt(ctx, p.Path, other, commit)
	if err == nil && same {
		tree, _ := p.Tree(other)
		p.Learn(commit, tree)
	}
	return same, err
}

// SameAt reports whether commit b holds the package of commit a, apart from bookkeeping:
// see krm.SameContent.
func (r *Repo) SameAt(ctx context.Context, path string, a, b decide.Hash) (bool, error) {
	x, err := r.TreeAt(ctx, a, path)
	if err != nil {
		return false, err
	}
	y, err := r.TreeAt(ctx, b, path)
	if err != nil || x == y || x.IsZero() || y.IsZero() {
		return err == nil && x == y, err
	}
	_, p, err := r.ReadPackage(ctx, a, path)
	if err != nil {
		return false, err
	}
	_, q, err := r.ReadPackage(ctx, b, path)
	if err != nil {
		return false, err
	}
	return krm.SameContent(p, q)
}
