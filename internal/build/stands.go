package build

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
)

// Stands says why the package that stands on the registered branch may not be
// published as it is: its gates are not met, rendering it fails, or gives
// something else.
func (b *Builder) Stands(ctx context.Context, repo *observe.Repo, p *decide.Package) error {
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
	if restless, err := b.restlessly(ctx, repo, p); err != nil || restless {
		return err
	}
	return fmt.Errorf("rendering what is on %s changes %s: correct that there, or have a Draft of it made with apply --rerender", repo.Branch, strings.Join(decide.Limit(differs, 5), ", "))
}

// restlessly says whether rendering changes also what the machine itself made:
// then it tells nothing of what others committed.
func (b *Builder) restlessly(ctx context.Context, repo *observe.Repo, p *decide.Package) (bool, error) {
	made, err := repo.Hydrated(ctx, p.Path, p.Latest)
	if err != nil || made == nil {
		return false, err
	}
	differs, err := b.rendersTo(ctx, made)
	return len(differs) > 0, err
}

// rendersTo are the files that rendering a package changes.
func (b *Builder) rendersTo(ctx context.Context, p *krm.Package) ([]string, error) {
	res, err := b.Renderer.Render(ctx, p)
	if err != nil {
		return nil, err
	}
	again, err := merge.KeepIdentities(p, res.Package)
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
