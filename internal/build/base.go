package build

import (
	"context"
	"errors"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
)

// Statements stores what this machine built, in a place that nobody else can write. A
// statement is a list of words and never becomes false. It is safe for concurrent use.
type Statements interface {
	Has(words ...string) bool
	Put(words ...string)
}

// hydrated returns the package that Variform built for a revision, before edits, if that is
// known (decide.Base): an approval names it, this machine built it, or building the
// revision's own upstream gives it. Otherwise base is nil, and guess is the nearest build,
// nil if there is none.
func (m *maker) hydrated(ctx context.Context, h *decide.Revision, there *krm.Package, k *kptfilev1.KptFile) (base, guess *krm.Package, err error) {
	if m.unwired() {
		return nil, nil, nil // its values cannot be made again in this run
	}
	claimed, err := m.Job.Repo.Hydrated(ctx, m.Package.Path, h)
	if err != nil {
		return nil, nil, err
	}
	matches := claimed != nil && sameLock(claimed, k)
	var known decide.Base
	var tree decide.Hash
	if matches {
		if tree, err = treeOf(m, h, claimed); err != nil {
			return nil, nil, err
		}
		known = decide.Base{Approved: h.Machine != nil && h.Machine.Approval && !h.Machine.Hydrated.IsZero(), Stated: stated(m, tree)}
	}
	if known.Trusted() {
		return claimed, nil, nil
	}
	if !matches && h == m.From && h.Number == 0 {
		m.otherwise = claimed
	}
	_, old, err := m.lockedUpstream(ctx, mutate.Lock(k))
	if err != nil {
		return nil, nil, err
	}
	taken := origin{old, k.Upstream, k.UpstreamLock, !mutate.HasPackagePath(there)}
	if _, owned := mutate.OwnerOf(k); !owned && claimed == nil {
		return m.asTaken(ctx, taken, there)
	}
	warnings := m.Warnings
	guess, failed := m.hydrate(ctx, taken, k)
	m.Warnings = warnings
	if failed != nil {
		return nil, nil, nil //nolint:nilerr // the package as it was cannot be made any more
	}
	if same, err := krm.SameContent(guess, there); err != nil || same {
		return guess, nil, err
	}
	if matches {
		if known.Rebuilt, err = krm.SameContent(claimed, guess); err == nil && !known.Rebuilt {
			known.Restored, err = restores(ctx, m, claimed, guess, k)
		}
	}
	if err != nil || !known.Known() {
		return nil, guess, err
	}
	state(m, tree)
	return claimed, nil, nil
}

// restores reports whether applying the current inputs to a package that was built from other
// inputs gives the build of the current inputs.
func restores(ctx context.Context, m *maker, built, now *krm.Package, k *kptfilev1.KptFile) (bool, error) {
	again, made := *m, *m.Made
	again.Made, again.trace, again.ordered, again.pkg = &made, nil, k, built.Clone()
	err := errors.Join(again.dropRenamed(k), mutate.SetOwner(again.pkg, m.owner()))
	if err == nil {
		if built, err = again.mutate(ctx, again.pkg); err == nil {
			return krm.SameContent(built, now)
		}
	}
	return false, nil // it is not known, then
}

// treeOf returns the tree of the package that a revision claims as its build.
func treeOf(m *maker, h *decide.Revision, p *krm.Package) (decide.Hash, error) {
	if h.Machine != nil && !h.Machine.Hydrated.IsZero() {
		return h.Machine.Hydrated, nil // it was read by that name
	}
	files, err := p.Files()
	if err != nil {
		return decide.Hash{}, err
	}
	tree, err := m.Job.Repo.Git.PackageTree(files)
	return decide.Hash(tree), err
}

// stated reports whether this machine built a tree as this package, without edits.
func stated(m *maker, tree decide.Hash) bool {
	return m.Statements != nil && m.Statements.Has(statement(m, tree)...)
}

// state stores that this machine built a tree as this package.
func state(m *maker, tree decide.Hash) {
	if m.Statements != nil && !tree.IsZero() {
		m.Statements.Put(statement(m, tree)...)
	}
}

func statement(m *maker, tree decide.Hash) []string {
	return []string{"built", decide.PlainAddress(m.Job.Repo.Repository.Git), m.Package.Path, tree.String()}
}
