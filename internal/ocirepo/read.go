package ocirepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/krm"
)

// The files that make a package.
const (
	kptfile     = "Kptfile"
	packageFile = "package.yaml" // PackageManifest of Variform, or the stream of a Crossplane xpkg
)

// Crossplane marks the layer that holds package.yaml.
const (
	xpkgAnnotation = "io.crossplane.xpkg"
	xpkgBase       = "base"
	xpkgGroup      = "meta.pkg.crossplane.io/"
)

// packageMeta is what the catalogue wants of a revision.
type packageMeta struct {
	manifest, kptfile []byte
	definitions       []krm.File
	crossplane        bool
}

// ReadPackage reads the package with a digest ("sha256:…", as Resolve gives it)
// of a repository. A kpt package has all its files, at the root or in one folder
// of tar layers, flattened as container images are; a Crossplane xpkg has
// package.yaml alone. Every byte is compared with the digest. The caller owns the
// result.
//
// Errors: ErrPackage for content that is no package or not a safe one (absolute
// paths, "..", links that lead out, devices), ErrLimit, ErrDigest, and those of the
// registry.
func (r *Repo) ReadPackage(ctx context.Context, pkg, digest string) (*krm.Package, error) {
	repo, err := r.repository(pkg)
	if err != nil {
		return nil, err
	}
	if err := checkDigest(repo, digest); err != nil {
		return nil, err
	}
	got, err := r.packages.get(ctx, repo.Name()+"@"+digest, func() (*krm.Package, error) {
		files, _, err := r.content(ctx, repo, digest)
		if err != nil {
			return nil, err
		}
		p, err := krm.Parse(files)
		if err != nil {
			return nil, badContent(ErrPackage, "%v", err)
		}
		return p, nil
	})
	if err != nil {
		return nil, r.store.fail(at("reading the package", repo, digest), err)
	}
	return got.Clone(), nil
}

func checkDigest(repo name.Repository, digest string) error {
	if !isDigest(digest) {
		return badContent(ErrAddress, "%s@%s: a digest is written sha256: and 64 hexadecimal digits, in lower case", repo.Name(), digest)
	}
	return nil
}

// content reads the files of a package; xpkg says that it is Crossplane's.
func (r *Repo) content(ctx context.Context, repo name.Repository, digest string) (files []krm.File, xpkg bool, err error) {
	m, err := r.image(ctx, repo, digest)
	if err != nil {
		return nil, false, err
	}
	if n, most := len(m.Layers), r.store.opts.Limits.Layers; n > most {
		return nil, false, badContent(ErrLimit, "it has %d layers, more than %d", n, most)
	}
	base, err := m.base()
	if err != nil {
		return nil, false, err
	}
	layers := m.Layers
	if base != nil {
		layers = []v1.Descriptor{*base}
	}
	t := newTree(r.store.opts.Limits)
	t.skip = func(name string) {
		r.store.opts.Warn("%s: skipped %s: Git submodules are not read", repo.Name(), path.Clean(name))
	}
	for _, desc := range layers {
		data, err := r.store.blob(ctx, repo, desc)
		if err != nil {
			return nil, false, err
		}
		if err := t.add(ctx, desc, data); err != nil {
			return nil, false, err
		}
	}
	if base == nil {
		files, err = t.kptPackage()
		if files != nil || err != nil {
			return files, false, err
		}
	}
	files, err = t.xpkg(base != nil)
	return files, true, err
}

// base is the layer that Crossplane marked, nil where none is.
func (m *imageManifest) base() (*v1.Descriptor, error) {
	var found *v1.Descriptor
	for i, l := range m.Layers {
		if l.Annotations[xpkgAnnotation] != xpkgBase {
			continue
		}
		if found != nil {
			return nil, badContent(ErrPackage, "two of its layers are annotated %s: %s", xpkgAnnotation, xpkgBase)
		}
		found = &m.Layers[i]
	}
	return found, nil
}

// xpkg is package.yaml of the content. marked says that Crossplane marked it;
// otherwise it has to read like Crossplane's.
func (t *tree) xpkg(marked bool) ([]krm.File, error) {
	f, ok := t.files[packageFile]
	switch {
	case ok && f.Mode != krm.Symlink && (marked || bytes.Contains(f.Data, []byte(xpkgGroup))):
		return []krm.File{{Path: packageFile, Data: f.Data}}, nil
	case t.refusal != nil:
		return nil, t.refusal
	case marked:
		return nil, badContent(ErrPackage, "the layer that is annotated %s: %s has no %s", xpkgAnnotation, xpkgBase, packageFile)
	}
	return nil, badContent(ErrPackage, "it has neither a %s at its root or in its one folder, as a kpt package has, nor a Crossplane %s; it holds: %s", kptfile, packageFile, t.some())
}

func (t *tree) some() string {
	names := make([]string, 0, len(t.files))
	for p := range t.files {
		names = append(names, p)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "nothing"
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// RevisionManifest is what a catalogue reads of one revision.
type RevisionManifest struct {
	Resolved
	// Data is package.yaml: a PackageManifest of variform.dev or, of a Crossplane
	// package, its whole stream. Nil where a kpt package has none.
	Data       []byte
	Crossplane bool
	// Kptfile is the root Kptfile; nil for a Crossplane package.
	Kptfile []byte
	// Definitions are the files of a kpt package that can hold definitions of APIs.
	Definitions []krm.File
	// Err is why this revision cannot be read: ErrPackage, ErrLimit, ErrDigest,
	// ErrNotFound. Digest and Name are empty where that is not known either.
	Err error
}

// Manifests reads package.yaml of each Published revision: tags vN and semantic
// versions, and what Porch numbered; by number, then by version, ascending. Each
// content is read once, Options.Jobs at a time. A revision that is no package has
// Err and does not stop the others; what concerns the registry (ErrAuth,
// ErrRateLimited, ErrUnavailable, the context) stops all.
func (r *Repo) Manifests(ctx context.Context, pkg string) ([]RevisionManifest, error) {
	repo, err := r.repository(pkg)
	if err != nil {
		return nil, err
	}
	revisions, err := r.revisions(ctx, repo)
	if err != nil {
		return nil, err
	}
	s := &resolver{repo: r, image: repo, q: Query{Package: strings.Trim(pkg, "/")}}
	found := make([]RevisionManifest, len(revisions))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.store.opts.Jobs)
	for i := range revisions {
		g.Go(func() error { return s.manifest(gctx, &revisions[i], &found[i]) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	order := make([]int, 0, len(found))
	for i, rev := range revisions {
		if rev.rank() < unranked && (found[i].Err != nil || found[i].Lifecycle.Approved()) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return revisions[order[a]].before(revisions[order[b]]) })
	out := make([]RevisionManifest, 0, len(order))
	for _, i := range order {
		out = append(out, found[i])
	}
	return out, nil
}

// manifest reads one revision, and notes the number that Porch gave it.
func (s *resolver) manifest(ctx context.Context, rev *Revision, m *RevisionManifest) error {
	res, _, err := s.read(ctx, *rev)
	if err == nil {
		m.Resolved, rev.Number = res, res.Number
		if rev.rank() == unranked || !res.Lifecycle.Approved() {
			return nil
		}
		var meta packageMeta
		meta, err = s.repo.meta(ctx, s.image, res.Digest)
		m.Data, m.Kptfile, m.Definitions, m.Crossplane = meta.manifest, meta.kptfile, meta.definitions, meta.crossplane
	}
	for _, own := range []error{ErrPackage, ErrLimit, ErrDigest, ErrNotFound} {
		if errors.Is(err, own) {
			m.Package, m.Tag, m.Number, m.Version, m.Err = s.q.Package, rev.Tag, rev.Number, rev.Version, err
			return nil
		}
	}
	return err
}

func (r *Repo) meta(ctx context.Context, repo name.Repository, digest string) (packageMeta, error) {
	meta, err := r.metas.get(ctx, repo.Name()+"@"+digest, func() (packageMeta, error) {
		files, xpkg, err := r.content(ctx, repo, digest)
		meta := packageMeta{crossplane: xpkg}
		for _, f := range files {
			switch {
			case f.Mode == krm.Symlink:
			case f.Path == packageFile:
				meta.manifest = f.Data
			case f.Path == kptfile:
				meta.kptfile = f.Data
			case !xpkg && krm.IsYAML(f) && contents.Defines(f.Data):
				meta.definitions = append(meta.definitions, f)
			}
		}
		return meta, err
	})
	return meta, r.store.fail(at("reading the package", repo, digest), err)
}
