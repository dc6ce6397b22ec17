// Package catalog is the use case around the resolver: it reads the versions
// that Catalogs name, from Git and OCI registries, and answers for each target
// of a fleet what its Installations need (docs/design/dependencies.md).
//
//	entries, problems := catalog.Reader{Git: git, OCI: oci}.Read(ctx, fleet.Catalogs)
//	wanted := &catalog.Wanted{Documents: …, Catalogs: …, Entries: entries}
//	targets, err := wanted.Resolve(ctx, limit, wanted.Targets()...)
//
// Whatever cannot be read is a problem that names the source, and the rest is
// still read.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/resolver"
)

// ManifestFile is where a package's PackageManifest stands.
const ManifestFile = "package.yaml"

// Entry is one version of a package in a catalogue.
type Entry struct {
	resolver.Package
	// Catalog is the name of the Catalog that has it.
	Catalog string
	// Labels are the manifest's; Keywords and Description the Kptfile's.
	Labels      map[string]string
	Keywords    []string
	Description string
}

// Reader reads catalogues. Git is required; without OCI, sources in registries
// are problems.
type Reader struct {
	Git *gitrepo.Store
	OCI *ocirepo.Store
}

// ioLimit bounds how many repositories are talked to at once.
const ioLimit = 8

// Read reads all versions of all sources, sorted by package and then in the
// order of their tags. Problems are what could not be read.
func (r Reader) Read(ctx context.Context, catalogs []*v1alpha1.Catalog) ([]Entry, []error) {
	type source struct {
		catalog string
		v1alpha1.CatalogSource
		entries  []Entry
		problems []error
	}
	var sources []*source
	for _, c := range catalogs {
		for i := range c.Spec.Sources {
			sources = append(sources, &source{catalog: c.Name, CatalogSource: c.Spec.Sources[i]})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(ioLimit)
	for _, s := range sources {
		g.Go(func() error {
			s.entries, s.problems = r.source(ctx, &s.CatalogSource)
			for i := range s.entries {
				s.entries[i].Catalog = s.catalog
			}
			return nil
		})
	}
	_ = g.Wait()
	var entries []Entry
	var problems []error
	for _, s := range sources {
		entries = append(entries, s.entries...)
		for _, p := range s.problems {
			problems = append(problems, fmt.Errorf("Catalog %s: %w", s.catalog, p))
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Package.Package, b.Package.Package) })
	return entries, problems
}

func (r Reader) source(ctx context.Context, s *v1alpha1.CatalogSource) ([]Entry, []error) {
	if s.Git == nil {
		return r.oci(ctx, s)
	}
	repo, err := r.Git.Open(ctx, s.Git.Repo)
	if err != nil {
		return nil, []error{fmt.Errorf("source %s: %w", gitrepo.Display(s.Git.Repo), err)}
	}
	dir := strings.Trim(s.Git.Directory, "/")
	found := versionsIn(repo, dir, s.Packages)
	commits := make([]gitrepo.Hash, len(found))
	for i, v := range found {
		commits[i] = v.commit
	}
	if err := repo.Fetch(ctx, commits...); err != nil {
		return nil, []error{fmt.Errorf("source %s: %w", repo.URL(), err)}
	}
	var entries []Entry
	var problems []error
	for _, v := range found {
		e, err := v.read(ctx, repo)
		if err != nil {
			problems = append(problems, &VersionError{repo.URL(), v.tag, err})
			continue
		}
		entries = append(entries, *e)
	}
	for _, name := range s.Packages {
		if !slices.ContainsFunc(found, func(v tagged) bool { return v.name == name }) {
			problems = append(problems, fmt.Errorf("source %s: package %q has no tag %s/v1 or %s/v1.0.0", repo.URL(), name, path.Join(dir, name), path.Join(dir, name)))
		}
	}
	return entries, problems
}

// VersionError is one version that cannot be used; the others of its source can.
type VersionError struct {
	Source, Tag string
	Err         error
}

// Error names the source and the tag.
func (e *VersionError) Error() string {
	return fmt.Sprintf("source %s: tag %s: %v", e.Source, e.Tag, e.Err)
}

// Unwrap is the cause.
func (e *VersionError) Unwrap() error { return e.Err }

// BrokenVersion is the tag.
func (e *VersionError) BrokenVersion() string { return e.Tag }

// tagged is one version of a package by its tag.
type tagged struct {
	name    string // of the package, below the source's directory
	path    string // in the repository
	version string // full semantic version
	tag     string // as a person writes it: web/v1
	commit  gitrepo.Hash
}

// versionsIn lists the tags that are versions: <package>/vN as N.0.0, and
// <package>/v<semver>. Others, such as floating ones, are none.
func versionsIn(repo *gitrepo.Repo, dir string, only []string) []tagged {
	index := repo.Index(dir)
	var out []tagged
	for _, p := range index.Tagged() {
		name := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		refs := index.Package(p)
		for _, r := range refs.Published {
			out = append(out, tagged{name, p, fmt.Sprintf("%d.0.0", r.Number), fmt.Sprintf("%s/v%d", p, r.Number), r.Ref.Commit})
		}
		for _, ref := range refs.Tags {
			tag := strings.TrimPrefix(ref.Name, "refs/tags/")
			if version, ok := depend.TagVersion(tag); ok {
				out = append(out, tagged{name, p, version, tag, ref.Commit})
			}
		}
	}
	return out
}

// read reads the manifest of a version, and its Kptfile for what it says about
// the package. A package without a manifest has no needs.
func (v tagged) read(ctx context.Context, repo *gitrepo.Repo) (*Entry, error) {
	tree, ok, err := repo.TreeAt(ctx, v.commit, v.path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("its commit has no folder %q", v.path)
	}
	e := &Entry{Package: resolver.Package{Package: v.name, Version: v.version}}
	if err := v.manifest(repo, tree, e); err != nil {
		return nil, err
	}
	e.Tag, e.Source, e.Digest = v.tag, repo.URL(), "git:"+v.commit.String()
	data, _, err := repo.ReadFile(tree, kptfilev1.KptFileName)
	if err != nil {
		return nil, err
	}
	return e, e.kptfile(data)
}

func (v tagged) manifest(repo *gitrepo.Repo, tree gitrepo.Hash, e *Entry) error {
	data, ok, err := repo.ReadFile(tree, ManifestFile)
	if err != nil || !ok {
		return err
	}
	return e.manifest(data, path.Join(v.path, ManifestFile))
}

// manifest takes over what a package's manifest says; the version of its tag
// stands in for one that it does not give.
func (e *Entry) manifest(data []byte, file string) error {
	obj, report := api.Parse(data, api.WithFile(file))
	if err := report.Err(); err != nil {
		return err
	}
	m, ok := obj.(*v1alpha1.PackageManifest)
	if !ok {
		return fmt.Errorf("%s holds no PackageManifest", ManifestFile)
	}
	name, version := e.Package.Package, e.Version
	if m.Name != name {
		return fmt.Errorf("%s: metadata.name is %q and the tag's package %q: name both alike, or nothing could tell which is needed", ManifestFile, m.Name, name)
	}
	e.Package = resolver.FromManifest(m)
	e.Version, e.Labels = cmp.Or(e.Version, version), m.Labels
	return nil
}

// kptfile takes over what a Kptfile says about the package; nil says nothing.
func (e *Entry) kptfile(data []byte) error {
	var k kptfilev1.KptFile
	if err := yaml.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("%s: %w", kptfilev1.KptFileName, err)
	}
	if k.Info != nil {
		e.Keywords, e.Description = k.Info.Keywords, k.Info.Description
	}
	return nil
}

// Wanted is what to resolve. It must not change once it is used.
type Wanted struct {
	depend.Documents
	Catalogs []*v1alpha1.Catalog
	Entries  []Entry

	once    sync.Once
	pool    *depend.Pool
	poolErr error
}

// Target is one target and its answer, or why there is none.
type Target struct {
	Name       string
	Input      resolver.Input
	Resolution *resolver.Resolution  // nil with Err
	Lock       *v1alpha1.PackageLock // the same as a document
	Err        error

	answer *depend.Answer
}

// ErrNoTarget says that nothing is wanted of a target.
var ErrNoTarget = errors.New("no Installation names the target")

// Alone is the same with one Installation alone.
func (w *Wanted) Alone(i *v1alpha1.Installation) *Wanted {
	out := &Wanted{Documents: w.Documents, Catalogs: w.Catalogs, Entries: w.Entries}
	out.Installations = []*v1alpha1.Installation{i}
	return out
}

// Select checks names of targets and returns those of the documents that have
// them, or all for none.
func (w *Wanted) Select(only ...string) ([]*depend.Target, error) {
	all := w.Targets()
	if err := missing(only, namesOf(all)); err != nil || len(only) == 0 {
		return all, err
	}
	return slices.DeleteFunc(all, func(t *depend.Target) bool { return !slices.Contains(only, t.Name()) }), nil
}

func namesOf(targets []*depend.Target) []string {
	out := make([]string, len(targets))
	for i, t := range targets {
		out[i] = t.Name()
	}
	return out
}

// missing is ErrNoTarget for the first of some names that is not among all.
func missing(names, all []string) error {
	for _, n := range names {
		if !slices.Contains(all, n) {
			return fmt.Errorf("%w %q: there are %q", ErrNoTarget, n, slices.Compact(slices.Sorted(slices.Values(all))))
		}
	}
	return nil
}

// Resolve answers for targets of the documents, side by side. One target's
// conflict is its own.
func (w *Wanted) Resolve(ctx context.Context, limit int, targets ...*depend.Target) ([]Target, error) {
	w.once.Do(func() { w.pool, w.poolErr = depend.NewPool(Packages(w.Entries), w.Catalogs, nil) })
	out := make([]Target, len(targets))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, limit))
	for i, t := range targets {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if w.poolErr != nil {
				out[i] = FromAnswer(t.Name(), nil, w.poolErr)
			} else {
				out[i] = FromAnswer(t.Name(), t.Resolve(ctx, w.pool), nil)
			}
			return nil
		})
	}
	return out, g.Wait()
}

// Packages are the entries as the resolver knows them.
func Packages(entries []Entry) []resolver.Package {
	out := make([]resolver.Package, len(entries))
	for i := range entries {
		out[i] = entries[i].Package
	}
	return out
}

// Solve answers once more for a target whose input a person changed.
func (t *Target) Solve(ctx context.Context) {
	t.answer.Input = t.Input
	t.answer.Solve(ctx)
	*t = FromAnswer(t.Name, t.answer, nil)
}
