package observe

import (
	"context"
	"path"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/record"
)

// Repositories opens Git repositories. Two addresses of one repository give the
// same Repository. Safe for concurrent use.
type Repositories interface {
	Open(ctx context.Context, url string) (Repository, error)
}

// Repository is a Git repository as it was when its refs were read: what it
// answers does not change until Refresh. Safe for concurrent use.
// *gitrepo.Repo is one.
type Repository interface {
	Refs
	History
	Trees
	Records
	Resolve(ctx context.Context, q gitrepo.Query) (gitrepo.Resolved, error)
	// FetchResolved brings in one request what Resolve reads.
	FetchResolved(ctx context.Context, queries ...gitrepo.Query) error
	// NewBatch begins a push, NewStage what is to be in one. PackageTree is the
	// hash of what is not pushed.
	NewBatch() *gitrepo.Batch
	NewStage() *gitrepo.Stage
	PackageTree(files []krm.File) (gitrepo.Hash, error)
}

// Refs are a repository's refs.
type Refs interface {
	// URL is its address, without credentials.
	URL() string
	Key() string
	Refs() *gitrepo.Refs
	Index(directory string) *gitrepo.Index
	Refresh(ctx context.Context) error
}

// History reads commits.
type History interface {
	Commits(ctx context.Context, hashes ...gitrepo.Hash) ([]*gitrepo.Commit, error)
	FindAncestors(ctx context.Context, tips []gitrepo.Hash, limit int, match func(tip int, c *gitrepo.Commit) bool) ([]*gitrepo.Commit, error)
	FirstParents(ctx context.Context, tip gitrepo.Hash, n int) ([]*gitrepo.Commit, error)
	PublishedWorkspaces(ctx context.Context, p *gitrepo.PackageRefs) (map[string]string, error)
	// LetGo says that few of the commits that were read are asked for again.
	LetGo()
}

// Trees reads what commits hold. Fetch brings commits with all that they hold, FetchPlaces
// some of their folders at least, in one request; the others need what they brought.
type Trees interface {
	Fetch(ctx context.Context, commits ...gitrepo.Hash) error
	FetchPlaces(ctx context.Context, places ...gitrepo.Place) error
	TreeAt(ctx context.Context, commit gitrepo.Hash, dir string) (tree gitrepo.Hash, ok bool, err error)
	KnownTreeAt(commit gitrepo.Hash, dir string) (tree gitrepo.Hash, known bool)
	// Many says that there are so many packages that what leads to few of them is read
	// instead of whole commits.
	Many() bool
	// HasTree reports whether a tree is at hand with all below it.
	HasTree(tree gitrepo.Hash) bool
	ReadPackage(ctx context.Context, tree gitrepo.Hash) (*krm.Package, error)
	ReadFiles(ctx context.Context, tree gitrepo.Hash) ([]krm.File, error)
	Packages(ctx context.Context, commit gitrepo.Hash, dir string) ([]gitrepo.PackageAt, error)
	ReadFile(tree gitrepo.Hash, name string) (data []byte, ok bool, err error)
	Beside(ctx context.Context, a, b gitrepo.Hash, dirs ...string) ([]string, error)
	// OnlyAt says that tip differs from base in no more than a folder, of which base has that
	// tree, by what is at hand of tip.
	OnlyAt(base, tip gitrepo.Hash, dir string, tree gitrepo.Hash) bool
	// FetchOutline brings commits with their folders, and without files where the server can.
	FetchOutline(ctx context.Context, commits ...gitrepo.Hash) error
	// Outlined reports whether a commit's folders can be read, and not its files.
	Outlined(commit gitrepo.Hash) bool
	// Along compares commits that follow each other by their folders, which it brings.
	Along(ctx context.Context, commits []*gitrepo.Commit) (*gitrepo.Along, error)
}

// Records reads what managers remember of what they made (docs/design/record.md).
type Records interface {
	// Record is nil where there is none.
	Record(ctx context.Context, of gitrepo.RecordOf) (*record.Record, error)
	// FetchRecorded makes a tree readable that some manager's record holds.
	FetchRecorded(ctx context.Context, of gitrepo.RecordOf, tree gitrepo.Hash) (bool, error)
}

// Registries opens the registries behind Repositories of type oci.
type Registries interface {
	Open(registry string) (Registry, error)
}

// Registry holds packages as images. *ocirepo.Repo is one.
type Registry interface {
	Address() string
	Refresh()
	Resolve(ctx context.Context, q ocirepo.Query) (ocirepo.Resolved, error)
	ReadPackage(ctx context.Context, pkg, digest string) (*krm.Package, error)
}

// Git are the Git repositories of a store.
func Git(s *gitrepo.Store) Repositories { return gitStore{s} }

type gitStore struct{ store *gitrepo.Store }

// Open implements Repositories.
func (g gitStore) Open(ctx context.Context, url string) (Repository, error) {
	r, err := g.store.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// OCI are the registries of a store. Catalogs say of what they are mirrors.
func OCI(s *ocirepo.Store, catalogs ...*variformv1alpha1.Catalog) Registries {
	o := ociStore{store: s}
	for _, c := range catalogs {
		for n := range c.Spec.Sources {
			if oci := c.Spec.Sources[n].OCI; oci != nil {
				o.sources = append(o.sources, oci)
			}
		}
	}
	return o
}

type ociStore struct {
	store   *ocirepo.Store
	sources []*variformv1alpha1.OCISource
}

// Open implements Registries.
func (o ociStore) Open(registry string) (Registry, error) {
	r, err := o.store.Open(registry)
	if err != nil {
		return nil, err
	}
	return kptRegistry{r, o.sources}, nil
}

// kptRegistry gives Crossplane's packages as kpt packages that install them.
type kptRegistry struct {
	*ocirepo.Repo
	sources []*variformv1alpha1.OCISource
}

// ReadPackage implements Registry.
func (k kptRegistry) ReadPackage(ctx context.Context, pkg, digest string) (*krm.Package, error) {
	p, err := k.Repo.ReadPackage(ctx, pkg, digest)
	if err != nil || p.Kptfile("") != nil {
		return p, err
	}
	stream, _ := p.Read(decide.ManifestFile)
	image := path.Join(k.Address(), pkg)
	files, err := foreign.Xpkg(stream.Data, image, digest, foreign.Reference(image, k.sources...))
	if err != nil {
		return nil, decide.Stall(err)
	}
	return krm.Parse(files)
}
