package build

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/review"
)

// Stands says why the package that stands on the registered branch may not be
// published as it is: its gates are not met, what is the machine's was edited,
// rendering it fails, or gives something else.
func (b *Builder) Stands(ctx context.Context, repo *observe.Repo, w *decide.Want, p *decide.Package) error {
	_, there, err := repo.ReadPackage(ctx, repo.Head, p.Path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", repo.Branch, err)
	}
	k, err := mutate.Read(there, "")
	if err != nil {
		return err
	}
	if unmet := observe.Unmet(k); len(unmet) > 0 && repo.Deployment {
		return decide.GatesError(unmet)
	}
	made, err := repo.Hydrated(ctx, p.Path, p.Latest)
	if err != nil {
		return err
	}
	switch gone, err := gatesGone(k, made); {
	case err != nil:
		return err
	case len(gone) > 0:
		return fmt.Errorf("readiness gates are the machine's, and on %s somebody took out %s: put them back there", repo.Branch, strings.Join(gone, ", "))
	}
	if err := metBefore(ctx, repo, p, made, there); err != nil {
		return err
	}
	owned, err := b.ownedEdits(w, made, there)
	switch {
	case err != nil:
		return err
	case len(owned) > 0:
		return fmt.Errorf("what the variant gives is the machine's, and on %s somebody changed %s: put that back there, and change the variant", repo.Branch, strings.Join(decide.Limit(owned, 5), ", "))
	}
	if b.Renderer == nil {
		return errors.New("it was committed by hand, and pipelines are left unrun: approve it where they run")
	}
	differs, err := b.rendersTo(ctx, there)
	if err != nil {
		return fmt.Errorf("rendering what is on %s: %w", repo.Branch, err)
	}
	if len(differs) == 0 {
		return nil
	}
	if made != nil { // a function may change also what the machine itself made, which tells nothing then
		if moved, err := b.rendersTo(ctx, made); err != nil || len(moved) > 0 {
			return err
		}
	}
	return fmt.Errorf("rendering what is on %s changes %s: correct that there, or have a Draft of it made with apply --rerender", repo.Branch, strings.Join(decide.Limit(differs, 5), ", "))
}

// gatesGone are the readiness gates of what the machine made that a Kptfile lacks.
func gatesGone(k *kptfilev1.KptFile, made *krm.Package) ([]string, error) {
	if made == nil {
		return nil, nil
	}
	was, err := mutate.Read(made, "")
	if err != nil {
		return nil, err
	}
	have := mutate.Gates(k)
	return slices.DeleteFunc(mutate.Gates(was), func(t string) bool { return slices.Contains(have, t) }), nil
}

// ownedEdits are the places of what stands there that are the variant's, and not as
// the machine made them: where it comes from, its functions, context and injected
// values. What the variant gives otherwise since is none.
func (b *Builder) ownedEdits(w *decide.Want, made, there *krm.Package) (owned []string, err error) {
	if made == nil || w.Variant() == nil {
		return nil, nil
	}
	was, err := mutate.Read(made, "")
	if err != nil {
		return nil, err
	}
	is, err := mutate.Read(there, "")
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(was.Upstream, is.Upstream) || !reflect.DeepEqual(was.UpstreamLock, is.UpstreamLock) {
		owned = append(owned, "upstream or upstreamLock of the Kptfile")
	}
	laid := func(p *krm.Package) ([]review.Edit, error) {
		over := p.Clone()
		if _, err := mutate.Apply(over, w.Variant(), mutate.Options{Context: b.Context, AllowKinds: b.AllowKinds, DropStale: true}); err != nil {
			return nil, err
		}
		return review.Edits(p, over)
	}
	pending, err := laid(made)
	if err != nil {
		return nil, err
	}
	edits, err := laid(there)
	for _, e := range edits {
		if !slices.ContainsFunc(pending, func(o review.Edit) bool { return o.File == e.File && o.ID == e.ID && o.Field == e.Field }) {
			owned = append(owned, strings.TrimSpace(e.File+" "+e.Field))
		}
	}
	return slices.Compact(owned), err
}

// rendersTo are the files that rendering a package changes.
func (b *Builder) rendersTo(ctx context.Context, p *krm.Package) ([]string, error) {
	again, err := b.renderAlone(ctx, p)
	if err != nil {
		return nil, err
	}
	before, err := p.Files()
	if err != nil {
		return nil, err
	}
	after, err := again.Files()
	return changed(before, after), err
}

// renderAlone renders a package and keeps its identities, with nothing of a
// variant's.
func (b *Builder) renderAlone(ctx context.Context, p *krm.Package) (*krm.Package, error) {
	res, err := b.Renderer.Render(ctx, p)
	if err != nil {
		return nil, err
	}
	return merge.KeepIdentities(p, res.Package)
}
