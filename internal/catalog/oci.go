package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/resolver"
)

// oci reads a source in a registry: the packages named, else all below it, else
// the repository itself as the one package.
func (r Reader) oci(ctx context.Context, s *v1alpha1.CatalogSource) Content {
	if r.OCI == nil {
		return Content{Problems: []error{fmt.Errorf("source %s: no registries are read here", s.OCI.Repository)}}
	}
	repo, err := r.OCI.Open(s.OCI.Repository)
	if err != nil {
		return Content{Problems: []error{fmt.Errorf("source %s: %w", s.OCI.Repository, err)}}
	}
	packages := s.Packages
	if len(packages) == 0 {
		packages, err = repo.Packages(ctx)
		if errors.Is(err, ocirepo.ErrNoCatalog) || err == nil && len(packages) == 0 {
			packages, err = []string{""}, nil
		}
		if err != nil {
			return Content{Problems: []error{fmt.Errorf("source %s: %w", repo.Address(), err)}}
		}
	}
	var out Content
	for _, name := range packages {
		manifests, err := repo.Manifests(ctx, name)
		if err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("source %s: package %q: %w", repo.Address(), name, err))
			continue
		}
		for i := range manifests {
			called := cmp.Or(name, path.Base(repo.Address()))
			if manifests[i].Crossplane { // as dependsOn has it
				called = foreign.Reference(path.Join(repo.Address(), name), s.OCI)
			}
			e, err := imageEntry(called, &manifests[i])
			if err != nil {
				out.Unusable = append(out.Unusable, &resolver.VersionError{
					Package: called, Version: imageVersion(&manifests[i]), Source: path.Join(repo.Address(), name), Tag: manifests[i].Tag, Why: err.Error(),
				})
				continue
			}
			e.Tag, e.Source, e.Digest = manifests[i].Tag, path.Join(repo.Address(), name), manifests[i].Digest
			out.Entries = append(out.Entries, *e)
		}
	}
	return out
}

func imageEntry(name string, m *ocirepo.RevisionManifest) (*Entry, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	e := &Entry{Package: resolver.Package{Package: name, Version: imageVersion(m)}}
	switch {
	case m.Crossplane:
		p, err := foreign.One(ManifestFile, m.Data)
		if p == nil || err != nil {
			return nil, cmp.Or(err, errors.New("its package.yaml holds no package of Crossplane's"))
		}
		version := e.Version
		e.Package = *p
		e.Package.Package, e.Version, e.Foreign = name, version, "" // an image is a kpt package that installs it
	case m.Data != nil:
		if err := e.manifest(m.Data, ManifestFile, m.Version == ""); err != nil {
			return nil, err
		}
	}
	e.defines = func(groups []string) ([]resolver.GVK, error) {
		var out []resolver.GVK
		for _, f := range m.Definitions {
			out = append(out, defined(f, groups)...)
		}
		return out, nil
	}
	return e, e.kptfile(m.Kptfile)
}

func imageVersion(m *ocirepo.RevisionManifest) string {
	if m.Version != "" {
		return m.Version
	}
	return fmt.Sprintf("%d.0.0", m.Number)
}
