package build

import (
	"context"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
)

// revert makes the package what a Published revision held, to the byte, but for
// whose it is: that is as it is now. The next update starts from what the machine
// had made of it then, where that is known.
func (m *maker) revert(ctx context.Context) (err error) {
	at, path := m.Revert.Ref, m.Package.Path
	if _, m.pkg, err = m.Job.Repo.ReadPackage(ctx, at.Commit, path); err != nil {
		return fmt.Errorf("reading %s: %w", at.Name, err)
	}
	if m.machine, err = m.Job.Repo.Hydrated(ctx, path, m.Revert); err != nil {
		return err
	}
	if _, m.Base, err = m.published(ctx); err != nil {
		return err
	}
	k, err := mutate.Read(m.pkg, "")
	if err != nil {
		return err
	}
	if owner, ok := mutate.OwnerOf(k); ok && m.Manager.Signed(owner.Variant, m.Namespace) {
		return nil
	}
	m.pkg = m.pkg.Clone()
	return mutate.SetOwner(m.pkg, m.owner())
}

// reverts is the trailer that says so, and who asked for it.
func (m *maker) reverts() string { return decide.RevisionName(m.Revert.Number) + " by " + m.By }

// RevertDiffers returns the paths in which an open revision does not hold what the Published
// revision held that its commit says it sets the package back to. Anybody who may push to its
// branch can write that commit. based reports that the commit also names what the machine had
// made of that revision.
func RevertDiffers(ctx context.Context, repo *observe.Repo, p *decide.Package, r *decide.Revision) (differs []string, based bool, err error) {
	name, _, _ := strings.Cut(r.Reverts(), " ")
	to := p.Tagged(name)
	if to == nil {
		return nil, false, fmt.Errorf("it says that it sets the package back to %s, which has no tag: discard it", name)
	}
	old, _, err := repo.ReadPublished(ctx, p, *to)
	if err != nil {
		return nil, false, err
	}
	_, then, err := repo.ReadPackage(ctx, to.Ref.Commit, p.Path)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", to.Ref.Name, err)
	}
	_, is, err := repo.ReadPackage(ctx, r.Ref.Commit, p.Path)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", r.Ref.Short(), err)
	}
	differs, err = otherContent(then, is)
	made := old.Machine
	return differs, len(differs) == 0 && made != nil && made.Hydrated == r.Machine.Hydrated, err
}
