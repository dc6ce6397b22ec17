package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// documentsAt reads a source whose documents say their versions themselves, as
// those of a Carvel PackageRepository do: all below its folder at a branch or tag.
func documentsAt(ctx context.Context, repo *gitrepo.Repo, s *v1alpha1.CatalogSource) (out Content) {
	problem := func(err error) Content {
		out.Problems = append(out.Problems, fmt.Errorf("source %s at %s: %w", repo.URL(), s.Git.Ref, err))
		return out
	}
	files, err := repo.FilesAt(ctx, s.Git.Ref, s.Git.Directory)
	if err != nil {
		return problem(err)
	}
	for _, f := range files {
		if f.Mode == krm.Symlink || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(f.Path)) {
			continue
		}
		docs, err := foreign.Whole(f.Path, f.Data)
		if err != nil {
			out.Unusable = append(out.Unusable, &resolver.VersionError{Source: repo.URL(), Tag: s.Git.Ref, Why: err.Error()})
			continue
		}
		if docs == nil {
			continue
		}
		for n := range docs.Packages {
			p := &docs.Packages[n]
			if len(s.Packages) > 0 && !slices.Contains(s.Packages, p.Package) {
				continue
			}
			tag := s.Git.Ref
			if !strings.Contains(tag, "/") && foreign.Installable(p) { // its tag is a revision's of a package
				tag = path.Join(s.Git.Directory, f.Path, foreign.Document(p), tag)
			}
			p.Tag, p.Source = tag, repo.URL()
			out.Entries = append(out.Entries, Entry{Package: *p})
		}
	}
	if len(out.Entries)+len(out.Unusable) == 0 {
		return problem(errors.New("no document of Carvel or Porter is there: correct spec.sources of the Catalog, or leave ref out where tags are versions"))
	}
	return out
}
