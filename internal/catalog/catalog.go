// Package catalog is the use case around the resolver: it reads the versions
// that Catalogs name, from Git and OCI registries, and answers for each target
// of a fleet what its Installations need (docs/design/dependencies.md).
//
//	content := catalog.Reader{Git: git, OCI: oci}.Read(ctx, fleet.Catalogs)
//	wanted := &catalog.Wanted{Documents: …, Catalogs: …, Content: content}
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
	"regexp"
	"slices"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/wire"
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

	// defines are the APIs of some groups that its files define; nil where that is
	// not known.
	defines func(groups []string) ([]resolver.GVK, error)
}

// Content is what Catalogs have.
type Content struct {
	Entries []Entry
	// Unusable are versions that nobody can have, and tags that are no versions.
	Unusable []*resolver.VersionError
	// Problems are what could not be read at all: nothing is known of it.
	Problems []error
}

// Reader reads catalogues. Git is required; without OCI, sources in registries
// are problems.
type Reader struct {
	Git *gitrepo.Store
	OCI *ocirepo.Store
	// Offered are versions that stand in the management directory itself.
	Offered []resolver.Package
	// Repositories are talked to at once; 0 is wire.Repositories.
	Repositories int
}

// Read reads all versions of all sources, sorted by package and then in the
// order of their tags.
func (r Reader) Read(ctx context.Context, catalogs []*v1alpha1.Catalog) Content {
	type source struct {
		catalog string
		v1alpha1.CatalogSource
		Content
	}
	var sources []*source
	for _, c := range catalogs {
		for i := range c.Spec.Sources {
			sources = append(sources, &source{catalog: c.Name, CatalogSource: c.Spec.Sources[i]})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(r.Repositories, wire.Repositories))
	for _, s := range sources {
		g.Go(func() error {
			s.Content = r.source(ctx, &s.CatalogSource)
			for i := range s.Entries {
				s.Entries[i].Catalog = s.catalog
			}
			return nil
		})
	}
	_ = g.Wait()
	var out Content
	for i := range r.Offered {
		out.Entries = append(out.Entries, Entry{Package: r.Offered[i]})
	}
	said := map[string]bool{}
	for _, s := range sources {
		out.Entries = append(out.Entries, s.Entries...)
		for _, e := range s.Unusable {
			if text := e.Error(); !said[text] { // two Catalogs may have one source
				said[text] = true
				out.Unusable = append(out.Unusable, e)
			}
		}
		for _, p := range s.Problems {
			out.Problems = append(out.Problems, fmt.Errorf("Catalog %s: %w", s.catalog, p))
		}
	}
	out.dropDoubled()
	slices.SortStableFunc(out.Entries, func(a, b Entry) int { return cmp.Compare(a.Package.Package, b.Package.Package) })
	var needed []resolver.GVK
	for i := range out.Entries {
		needed = append(needed, out.Entries[i].APIs()...)
	}
	return out.Serve(needed)
}

// dropDoubled parts versions that two sources give differently from the others.
func (c *Content) dropDoubled() {
	_, doubled := resolver.Usable(Packages(c.Entries))
	c.Unusable = append(c.Unusable, doubled...)
	c.Entries = slices.DeleteFunc(c.Entries, func(e Entry) bool {
		return slices.ContainsFunc(doubled, func(d *resolver.VersionError) bool {
			return d.Package == e.Package.Package && strings.TrimPrefix(d.Version, "v") == strings.TrimPrefix(e.Version, "v")
		})
	})
}

func (r Reader) source(ctx context.Context, s *v1alpha1.CatalogSource) Content {
	if s.Git == nil {
		return r.oci(ctx, s)
	}
	repo, err := r.Git.Open(ctx, s.Git.Repo)
	if err != nil {
		return Content{Problems: []error{fmt.Errorf("source %s: %w", gitrepo.Display(s.Git.Repo), err)}}
	}
	if s.Git.Ref != "" {
		return documentsAt(ctx, repo, s)
	}
	dir := strings.Trim(s.Git.Directory, "/")
	found, passed := versionsIn(repo, dir, s.Packages)
	commits := make([]gitrepo.Hash, len(found))
	for i, v := range found {
		commits[i] = v.commit
	}
	if err := repo.Fetch(ctx, commits...); err != nil {
		return Content{Problems: []error{fmt.Errorf("source %s: %w", repo.URL(), err)}}
	}
	out := Content{Unusable: passed}
	files := &definitions{repo: repo}
	for _, v := range found {
		e, err := v.read(ctx, repo, files)
		if err != nil {
			out.Unusable = append(out.Unusable, &resolver.VersionError{Package: v.name, Version: v.version, Source: repo.URL(), Tag: v.tag, Why: err.Error()})
			continue
		}
		out.Entries = append(out.Entries, *e)
	}
	for _, name := range s.Packages {
		if !slices.ContainsFunc(found, func(v tagged) bool { return v.name == name }) {
			out.Unusable = append(out.Unusable, &resolver.VersionError{
				Package: name, Source: repo.URL(), Why: fmt.Sprintf("it has no tag %s/v1 or %s/v1.0.0: correct spec.sources of the Catalog, or tag a version", path.Join(dir, name), path.Join(dir, name)),
			})
		}
	}
	return out
}

// tagged is one version of a package by its tag.
type tagged struct {
	name     string // of the package, below the source's directory
	path     string // in the repository
	version  string // full semantic version
	numbered bool   // the tag is vN, and the version may be another
	tag      string // as a person writes it: web/v1
	commit   gitrepo.Hash
}

// flatTag is a tag that names a package and a version in one word.
var flatTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?)[-_@]v?\d+(\.\d+)*([-+].*)?$`) })

// versionsIn lists the tags that are versions: <package>/vN as N.0.0, and
// <package>/v<semver> or <package>/<semver>. Others of a package, such as floating ones, are passed over.
func versionsIn(repo *gitrepo.Repo, dir string, only []string) (out []tagged, passed []*resolver.VersionError) {
	index := repo.Index(dir)
	other := func(name string) bool { return len(only) > 0 && !slices.Contains(only, name) }
	pass := func(name, tag string) {
		passed = append(passed, &resolver.VersionError{Package: name, Source: repo.URL(), Tag: tag})
	}
	for _, ref := range repo.Refs().All() {
		tag, ok := strings.CutPrefix(ref.Name, "refs/tags/")
		if m := flatTag().FindStringSubmatch(tag); ok && m != nil && !strings.Contains(tag, "/") && !other(m[1]) {
			pass(m[1], tag)
		}
	}
	for _, p := range index.Tagged() {
		name := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		if other(name) {
			continue
		}
		refs := index.Package(p)
		for _, r := range refs.Published {
			out = append(out, tagged{name, p, fmt.Sprintf("%d.0.0", r.Number), true, fmt.Sprintf("%s/v%d", p, r.Number), r.Ref.Commit})
		}
		for _, ref := range refs.Tags {
			tag := strings.TrimPrefix(ref.Name, "refs/tags/")
			if version, ok := depend.TagVersion(tag); ok {
				out = append(out, tagged{name, p, version, false, tag, ref.Commit})
				continue
			}
			pass(name, tag)
		}
	}
	return out, passed
}

// read reads the manifest of a version, and its Kptfile for what it says about
// the package. A package without a manifest has no needs.
func (v tagged) read(ctx context.Context, repo *gitrepo.Repo, files *definitions) (*Entry, error) {
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
	e.defines = func(groups []string) ([]resolver.GVK, error) { return files.below(tree, groups) }
	data, isKpt, err := repo.ReadFile(tree, kptfilev1.KptFileName)
	if err != nil {
		return nil, err
	}
	if isKpt {
		e.Foreign = "" // it describes a kpt package
	}
	foreign.Installable(&e.Package)
	return e, e.kptfile(data)
}

func (v tagged) manifest(repo *gitrepo.Repo, tree gitrepo.Hash, e *Entry) error {
	return e.describe(func(name string) ([]byte, bool, error) { return repo.ReadFile(tree, name) }, v.path, v.numbered)
}

// describe takes over what the first file at a package's root says that tells what
// it needs: a manifest, or a document of another system.
func (e *Entry) describe(read func(name string) ([]byte, bool, error), dir string, numbered bool) error {
	for _, name := range foreign.Files {
		data, ok, err := read(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		file := path.Join(dir, name)
		switch p, err := foreign.One(file, data); {
		case err != nil:
			return err
		case p != nil:
			return e.foreign(p, file)
		case name == ManifestFile:
			return e.manifest(data, file, numbered)
		}
	}
	return nil
}

// foreign takes over what a document of another system says of the package; it is
// called as its tag says, by which others need it.
func (e *Entry) foreign(p *resolver.Package, file string) error {
	if v := strings.TrimPrefix(p.Version, "v"); v != "" && v != e.Version {
		return fmt.Errorf("%s says version %s and the tag says %s: nothing could tell which it is (hint: correct it, and publish a new tag)", file, v, e.Version)
	}
	name, version := e.Package.Package, e.Version
	e.Package = *p
	e.Package.Package, e.Version = name, version
	return nil
}

// manifest takes over what a package's manifest says; the version of its tag
// stands in for one that it does not give, and must be the same but where the tag
// is a number.
func (e *Entry) manifest(data []byte, file string, numbered bool) error {
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
		return api.At(data, file, "metadata.name", fmt.Sprintf("metadata.name is %q and the tag's package %q: nothing could tell which is needed", m.Name, name), "name both alike, and publish a new tag")
	}
	if v := strings.TrimPrefix(m.Spec.Version, "v"); v != "" && v != version && !numbered {
		return api.At(data, file, "spec.version", fmt.Sprintf("spec.version is %s and the tag says %s: nothing could tell which it is", v, version), "correct the manifest, or leave its version out, and publish a new tag")
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
	Content

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
	// Err is why there is no answer; Failed why some of what was asked for has none.
	Err    error
	Failed []error

	answer *depend.Answer
}

// Alone answers for each thing that is asked for by itself, in the order of the target's input: for the package of a variant at its
// path below the target, of Installations of these names, or of both. Nothing is where the target cannot be asked.
func (t *Target) Alone(ctx context.Context, each func(w resolver.Request, installations []string, res *resolver.Resolution, err error)) {
	for _, w := range t.Input.Want {
		in := t.Input
		in.Want = []resolver.Request{w}
		var names []string
		for _, i := range t.answer.Target.Asking(w.Ref()) {
			names = append(names, i.Name)
		}
		res, err := resolver.Resolve(ctx, in)
		each(w, names, res, err)
	}
}

// ErrNoTarget says that nothing is wanted of a target.
var ErrNoTarget = errors.New("no Installation names the target")

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
	w.once.Do(func() {
		w.pool, w.poolErr = depend.NewPool(Packages(w.Entries), w.Catalogs, nil, w.Unusable...)
		w.pool.Unread(len(w.Problems))
	})
	out := make([]Target, len(targets))
	var g errgroup.Group
	g.SetLimit(max(1, limit))
	for i, t := range targets {
		g.Go(func() error {
			if w.poolErr != nil {
				out[i] = FromAnswer(t.Name(), nil, w.poolErr)
			} else {
				out[i] = FromAnswer(t.Name(), t.Resolve(ctx, w.pool), nil)
			}
			return context.Cause(ctx)
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
