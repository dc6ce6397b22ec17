package fleet

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/source"
)

// Since finds out of origins in the management directory which commits their lines came
// with. Of other origins, and of lines that are older than what is looked at, nothing is
// said. It is an error where the directory is not in Git.
func Since(ctx context.Context, open func(context.Context, string) (*gitrepo.Repo, error), d *source.Directory, origins []*provenance.Origin) error {
	at, ok := d.InGit()
	if !ok {
		return fmt.Errorf("the management directory is in no Git repository: who wrote its lines is not known")
	}
	repo, err := open(ctx, at.URL)
	if err != nil {
		return fmt.Errorf("who wrote the lines of the management directory: %w", err)
	}
	files := map[string]map[int][]*provenance.Origin{}
	for _, o := range origins {
		if o != nil && o.Managed() {
			if files[o.File] == nil {
				files[o.File] = map[int][]*provenance.Origin{}
			}
			files[o.File][o.Line] = append(files[o.File][o.Line], o)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		lines := files[file]
		text, ok := d.Text(file)
		if !ok {
			continue
		}
		commits, err := repo.Since(ctx, at.Ref, path.Join(at.Dir, file), text, slices.Sorted(maps.Keys(lines)))
		if err != nil {
			return err
		}
		for line, c := range commits {
			since := &provenance.Since{}
			if c != nil {
				since = &provenance.Since{Commit: c.Hash.String(), Author: c.Author.Name, Time: c.Author.When.UTC(), Committed: c.Committer.When}
			}
			for _, o := range lines[line] {
				o.Since = since
			}
		}
	}
	return nil
}
