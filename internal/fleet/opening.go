package fleet

import (
	"context"
	"fmt"
	"path"

	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
)

// openings are what requests get when they are opened: annotations of a Repository,
// and of a Draft's set and variant, say it.
type openings struct {
	sets, variants map[string]map[string]string // annotations by namespace/name
}

func openingsOf(f *source.Fleet) openings {
	o := openings{map[string]map[string]string{}, map[string]map[string]string{}}
	if f == nil {
		return o
	}
	for _, s := range f.Sets {
		o.sets[s.Namespace+"/"+s.Name] = s.Annotations
	}
	for _, v := range f.Variants {
		o.variants[v.Namespace+"/"+v.Name] = v.Annotations
	}
	return o
}

func (o *openings) of(repo *observe.Repo, r *reconcile.Shown) pulls.Opening {
	return pulls.OpeningOf(repo.Annotations, o.sets[r.Identity.Namespace+"/"+r.Set], o.variants[r.Identity.Namespace+"/"+r.Name])
}

// owners are those of a package on the branch that Drafts go to.
func (d *drafts) owners(ctx context.Context, pkg string) []string {
	if !d.ruled {
		d.ruled = true
		rules, err := codeOwners(ctx, d.repo)
		if d.rules = rules; err != nil && d.err == nil {
			d.err = fmt.Errorf("reading its code owners: %w", err)
		}
	}
	return d.rules.Of(path.Join(pkg, "Kptfile")) // which every Draft changes
}

// codeOwners reads the rules of the branch that Drafts go to.
func codeOwners(ctx context.Context, repo *observe.Repo) (*forge.Owners, error) {
	if repo.Head.IsZero() {
		return nil, nil
	}
	return forge.CodeOwners(repo.Address, repo.Annotations[forge.Annotation], func(file string) ([]byte, bool, error) {
		if err := repo.Git.Fetch(ctx, gitrepo.Hash(repo.Head)); err != nil {
			return nil, false, err
		}
		dir := path.Dir(file)
		if dir == "." {
			dir = ""
		}
		tree, err := repo.TreeAt(ctx, repo.Head, dir)
		if err != nil || tree.IsZero() {
			return nil, false, err
		}
		return repo.Git.ReadFile(gitrepo.Hash(tree), path.Base(file))
	})
}
