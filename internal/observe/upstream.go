package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/ocirepo"
)

// upstreamKey names an upstream; with a digest it is what a target has locked,
// though its tag has gone or moved.
type upstreamKey struct {
	namespace string
	v1alpha1.Upstream
	locked string
}

func keyOf(w *decide.Want) upstreamKey { return upstreamKey{w.Namespace, *w.Upstream(), w.Locked} }

type functionKey struct{ image, exec, tag string }

// ReadUpstream finds, fetches and reads an upstream, once for all variants that
// name it. It is safe for concurrent use.
func (r *Reader) ReadUpstream(ctx context.Context, namespace string, u v1alpha1.Upstream) *decide.Upstream {
	return r.readKey(ctx, upstreamKey{namespace, u, ""})
}

func (r *Reader) readKey(ctx context.Context, k upstreamKey) *decide.Upstream {
	return r.upstream.get(k, func() *decide.Upstream {
		up, err := r.readUpstream(ctx, k.namespace, k.Upstream)
		if err != nil {
			up.Err = fmt.Errorf("upstream %s/%s: %w", k.Repo, k.Package, err)
		}
		return up
	})
}

// UpstreamOf is the upstream of a wanted package that has one.
func (r *Reader) UpstreamOf(ctx context.Context, w *decide.Want) *decide.Upstream {
	return r.readKey(ctx, keyOf(w))
}

// ReadUpstreams reads the upstreams of wanted packages, each once.
func (r *Reader) ReadUpstreams(ctx context.Context, wants []*decide.Want) {
	var list []upstreamKey
	for _, w := range wants {
		if w.Upstream() != nil {
			list = append(list, keyOf(w))
		}
	}
	r.readKeys(ctx, list)
}

// ReadNewest reads the highest Published revision of each wanted package's upstream.
func ReadNewest(ctx context.Context, r *Reader, wants []*decide.Want) {
	var list []upstreamKey
	for _, w := range wants {
		if u := w.Upstream(); u != nil {
			list = append(list, upstreamKey{w.Namespace, v1alpha1.Upstream{Repo: u.Repo, Package: u.Package}, ""})
		}
	}
	r.readKeys(ctx, list)
}

// readKeys reads upstreams, each once: those of one repository in few requests, and many
// repositories at once.
func (r *Reader) readKeys(ctx context.Context, list []upstreamKey) {
	seen := map[upstreamKey]bool{}
	list = slices.DeleteFunc(slices.Clone(list), func(k upstreamKey) bool {
		skip := seen[k] || r.upstream.has(k)
		seen[k] = true
		return skip
	})
	repos, _ := Parallel(ctx, r.Repositories(), list, func(ctx context.Context, k upstreamKey) *Repo {
		if repo := r.Repo(k.namespace, k.Repo); repo != nil {
			if <-repo.open; repo.closed { // its refs are read now
				r.talk(func() { r.reach(ctx, repo) })
			}
		}
		repo, err := r.source(ctx, k.namespace, k.Repo)
		if err != nil {
			return nil
		}
		return repo
	})
	of, queries := map[upstreamKey]*Repo{}, map[*Repo][]gitrepo.Query{}
	for i, k := range list {
		repo := repos[i]
		if of[k] = repo; repo == nil || repo.Git == nil {
			continue
		}
		queries[repo] = append(queries[repo], repo.query(k.Upstream))
		if k.Revision != "" && k.WorkspaceName != "" { // which are compared
			queries[repo] = append(queries[repo], repo.query(v1alpha1.Upstream{Package: k.Package, WorkspaceName: k.WorkspaceName}))
		}
	}
	_, _ = Parallel(ctx, r.Repositories(), slices.Collect(maps.Keys(queries)), func(ctx context.Context, repo *Repo) (err error) {
		r.talk(func() { err = repo.fetchUpstreams(ctx, queries[repo]) })
		return err
	})
	_ = SideBySide(ctx, r, list, func(k upstreamKey) *Repo { return of[k] }, func(ctx context.Context, k upstreamKey) error {
		r.talk(func() { r.readKey(ctx, k) }) // what failed fails again, by name
		return nil
	})
}

// fetchUpstreams brings what fromGit reads, in two requests: the commits that tell what is
// meant, and the packages.
func (r *Repo) fetchUpstreams(ctx context.Context, queries []gitrepo.Query) error {
	if err := r.Git.FetchResolved(ctx, queries...); err != nil {
		return err
	}
	var places []gitrepo.Place
	for _, q := range queries {
		at, err := r.Git.Resolve(ctx, q)
		if err != nil {
			continue
		}
		if tree, known := r.knownTreeAt(at.Commit, at.Path); !known || !r.Git.HasTree(tree) {
			places = append(places, gitrepo.Place{Commit: at.Commit, Path: at.Path})
		}
	}
	if len(places) == 0 {
		return nil
	}
	return r.Git.FetchPlaces(ctx, places...)
}

// query asks for an upstream's revision.
func (r *Repo) query(u v1alpha1.Upstream) gitrepo.Query {
	return gitrepo.Query{Directory: r.Dir, Package: u.Package, Revision: string(u.Revision), Workspace: u.WorkspaceName, Branch: r.Branch}
}

func (r *Reader) readUpstream(ctx context.Context, namespace string, u v1alpha1.Upstream) (*decide.Upstream, error) {
	up := &decide.Upstream{}
	repo, err := r.source(ctx, namespace, u.Repo)
	if err != nil {
		return up, err
	}
	up.Repo = repo.Repository
	if repo.OCI != nil {
		err = repo.fromRegistry(ctx, up, u)
	} else {
		err = repo.fromGit(ctx, up, u)
	}
	if err != nil {
		return up, err
	}
	r.offer(up, u.Package)
	return up, nil
}

// offer adds what is known of an upstream by its content.
func (r *Reader) offer(up *decide.Upstream, pkg string) {
	o := decide.ReadOffer(up.Package, pkg, up.Ref(), up.Digest)
	up.Offer = &o
	up.Points = injection.Find(up.Package)
	if r.cfg.Functions != nil {
		up.Functions, up.Versions = r.cfg.Functions.Versions(up.Package)
	}
}

func (r *Repo) fromGit(ctx context.Context, u *decide.Upstream, want v1alpha1.Upstream) error {
	q := r.query(want)
	at, err := r.Git.Resolve(ctx, q)
	if errors.Is(err, gitrepo.ErrNotFound) {
		return decide.Stall(err)
	}
	if err != nil {
		return err
	}
	if want.Revision != "" && want.WorkspaceName != "" {
		q.Revision = ""
		if other, err := r.Git.Resolve(ctx, q); err != nil || other.Commit != at.Commit {
			u.Differs = fmt.Sprintf("upstream %s/%s: revision %s and workspaceName %s are not the same: this is made of the revision, Porch takes the workspace, so leave one out", want.Repo, want.Package, want.Revision, want.WorkspaceName)
		}
	}
	b, err := readBase(ctx, r, decide.Hash(at.Commit), at.Path)
	if err != nil {
		return err
	}
	commits, err := r.Git.Commits(ctx, at.Commit)
	if err != nil {
		return err
	}
	u.Path, u.Workspace = at.Path, cmp.Or(at.Workspace, decide.RevisionName(at.Number), at.Ref)
	b.fill(u)
	u.When = commits[0].Committer.When
	u.Lock = &kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: &kptfilev1.GitLock{
		Repo: r.Address, Directory: "/" + at.Path, Ref: at.Ref, Commit: at.Commit.String(),
	}}
	return nil
}

// fromRegistry pulls by digest, once for each digest that the cache does not have.
func (r *Repo) fromRegistry(ctx context.Context, u *decide.Upstream, want v1alpha1.Upstream) error {
	at, err := r.OCI.Resolve(ctx, ocirepo.Query{
		Package: want.Package, Revision: string(want.Revision), Workspace: want.WorkspaceName,
	})
	if err != nil {
		return NeedsPerson(err)
	}
	if u.Package, err = r.OCI.ReadPackage(ctx, at.Package, at.Digest); err != nil {
		return NeedsPerson(err)
	}
	image, _, _ := strings.Cut(at.Name, "@")
	u.Path, u.Content, u.Digest, u.When = at.Package, at.Digest, at.Digest, at.Created
	if u.When.Unix() < 0 {
		u.When = time.Unix(0, 0).UTC() // unknown, or before Git's time begins
	}
	u.Workspace = cmp.Or(decide.RevisionName(at.Number), at.Tag, strings.ReplaceAll(at.Digest, ":", "-"))
	u.Lock = mutate.ImageLock(image, cmp.Or(at.Tag, at.Digest), at.Digest)
	return nil
}

// NeedsPerson marks failures of a registry that another run alone does not mend.
func NeedsPerson(err error) error {
	for _, kind := range []error{ocirepo.ErrNotFound, ocirepo.ErrAuth, ocirepo.ErrAddress, ocirepo.ErrPackage, ocirepo.ErrLimit} {
		if errors.Is(err, kind) {
			return decide.Stall(err)
		}
	}
	return err
}

// FunctionsOf names what a wanted package is rendered with: the upstream's
// pipelines and what the variant adds to them, and with versions of built-in
// functions; up is nil for a lock.
func (r *Reader) FunctionsOf(w *decide.Want, up *decide.Upstream) (inputs, versions []string) {
	if r.cfg.Functions == nil {
		return []string{decide.NotRendered}, []string{decide.NotRendered}
	}
	pv := w.Variant()
	switch {
	case pv == nil:
		return nil, nil // a lock has no pipeline
	case pv.Spec.Pipeline == nil:
		return up.Functions, up.Versions
	}
	p := pv.Spec.Pipeline
	inputs, versions = slices.Clone(up.Functions), slices.Clone(up.Versions)
	for _, f := range slices.Concat(p.Mutators, p.Validators) {
		named := r.versions.get(functionKey{f.Image, f.Exec, f.Tag}, func() (out [2]string) {
			out[0], out[1] = r.cfg.Functions.Version(f.Image, f.Exec, f.Tag)
			return out
		})
		inputs, versions = append(inputs, "variant "+named[0]), append(versions, "variant "+named[1])
	}
	return inputs, versions
}

// Locked finds the registered Repository that an upstreamLock names, and the
// package there: a folder of the Git repository, or a package of the registry.
// prefer, which may be nil, wins where several fit. Nil where none does.
func (r *Reader) Locked(ctx context.Context, namespace string, lock *kptfilev1.GitLock, prefer *decide.Repository) (*Repo, string) {
	folder := strings.Trim(lock.Directory, "/")
	image, ok := mutate.Image(lock)
	switch {
	case ok:
		return r.registryOf(namespace, image, prefer)
	case prefer != nil && prefer.Git != "" && decide.SameAddress(prefer.Address, lock.Repo):
		return r.reach(ctx, r.repos[repoKey{prefer.Namespace, prefer.Name}]), folder
	}
	return r.reach(ctx, r.at(namespace, lock.Repo)), folder
}

// registryOf finds the registry that holds an image, and the package there.
func (r *Reader) registryOf(namespace, image string, prefer *decide.Repository) (*Repo, string) {
	var found *Repo
	var pkg string
	for _, repo := range r.sorted {
		if repo.OCI == nil || repo.Namespace != namespace {
			continue
		}
		below, ok := strings.CutPrefix(image+"/", repo.OCI.Address()+"/")
		if ok && (found == nil || repo.Repository == prefer) {
			found, pkg = repo, strings.TrimSuffix(below, "/")
		}
	}
	return found, pkg
}

// ReadLocked reads the package at the commit or digest of an upstreamLock.
func (r *Repo) ReadLocked(ctx context.Context, pkg string, lock *kptfilev1.GitLock) (content string, p *krm.Package, err error) {
	b, err := lockedBase(ctx, r, pkg, lock)
	return b.content, b.pkg, err
}

func lockedBase(ctx context.Context, r *Repo, pkg string, lock *kptfilev1.GitLock) (base, error) {
	if r.OCI != nil {
		p, err := r.OCI.ReadPackage(ctx, pkg, lock.Commit)
		return base{lock.Commit, lock.Commit, p}, err
	}
	return readBase(ctx, r, decide.ParseHash(lock.Commit), pkg)
}

// base is what an upstream has at one commit or digest.
type base struct {
	content, digest string
	pkg             *krm.Package
}

func (b base) fill(u *decide.Upstream) { u.Content, u.Digest, u.Package = b.content, b.digest, b.pkg }

// readBase is ReadPackage of an upstream. The folder of a Carvel Package, and a file of them with the name of one below it,
// are read as the kpt package that installs it.
func readBase(ctx context.Context, r *Repo, commit decide.Hash, at string) (base, error) {
	var files []krm.File
	tree, p, err := r.ReadPackage(ctx, commit, at)
	b := base{tree.String(), "git:" + commit.String(), p}
	switch {
	case errors.Is(err, ErrNoFolder):
		if data, ok, failed := fileAt(ctx, r, commit, path.Dir(at)); failed != nil {
			err = failed
		} else if ok {
			files, b.digest, err = foreign.Carvel(path.Dir(at), data, path.Base(at), "")
			err = decide.Stall(err)
		}
	case err == nil && p.Kptfile("") == nil:
		if f, ok := p.Read(decide.ManifestFile); ok && foreign.IsCarvel(f.Path, f.Data) {
			files, _, err = foreign.Carvel(path.Join(at, f.Path), f.Data, "", strings.TrimPrefix(at, r.Dir+"/"))
			err = decide.Stall(err)
		}
	}
	if files == nil || err != nil {
		return b, err
	}
	made, err := r.Git.PackageTree(files)
	if err != nil {
		return b, err
	}
	b.content = made.String()
	b.pkg, err = krm.Parse(files)
	return b, err
}

// fileAt reads a file of a commit; ok is false where it has none at the path.
func fileAt(ctx context.Context, r *Repo, commit decide.Hash, at string) (data []byte, ok bool, err error) {
	place := gitrepo.Place{Commit: gitrepo.Hash(commit), Path: strings.TrimPrefix(path.Dir(at), ".")}
	if err := r.Git.FetchPlaces(ctx, place); err != nil {
		return nil, false, err
	}
	tree, ok, err := r.Git.TreeAt(ctx, place.Commit, place.Path)
	if err != nil || !ok {
		return nil, false, err
	}
	return r.Git.ReadFile(tree, path.Base(at))
}

// ErrNoFolder says that a commit has no folder at a path.
var ErrNoFolder = errors.New("no folder")

// ReadPackage reads the package at a path of a commit. One that another commit brought
// along is there already.
func (r *Repo) ReadPackage(ctx context.Context, commit decide.Hash, path string) (decide.Hash, *krm.Package, error) {
	return readAt(ctx, r, commit, path, r.Git.ReadPackage)
}

// ReadKptfile is ReadPackage for who needs the root Kptfile alone, which is all that the
// package has: the other files are read, for they must be within the bounds of packages,
// but not parsed.
func (r *Repo) ReadKptfile(ctx context.Context, commit decide.Hash, path string) (decide.Hash, *krm.Package, error) {
	tree, files, err := readAt(ctx, r, commit, path, r.Git.ReadFiles)
	if err != nil {
		return tree, nil, err
	}
	p, err := krm.Parse(slices.DeleteFunc(files, func(f krm.File) bool { return f.Path != kptfilev1.KptFileName }))
	return tree, p, err
}

func readAt[T any](ctx context.Context, r *Repo, commit decide.Hash, path string, read func(context.Context, gitrepo.Hash) (T, error)) (at decide.Hash, there T, err error) {
	hash := gitrepo.Hash(commit)
	if tree, known := r.knownTreeAt(hash, path); known && r.Git.HasTree(tree) {
		if there, err = read(ctx, tree); err == nil {
			return decide.Hash(tree), there, nil
		} // else what is damaged there is fetched, or fails again
	}
	if err := r.Git.FetchPlaces(ctx, gitrepo.Place{Commit: hash, Path: path}); err != nil {
		return decide.Hash{}, there, err
	}
	tree, ok, err := r.Git.TreeAt(ctx, hash, path)
	if err != nil {
		return decide.Hash{}, there, err
	}
	if !ok {
		return decide.Hash{}, there, fmt.Errorf("commit %s has %w %q", commit, ErrNoFolder, path)
	}
	there, err = read(ctx, tree)
	return decide.Hash(tree), there, err
}

// knownTreeAt is KnownTreeAt, and what standsAsRecorded found.
func (r *Repo) knownTreeAt(commit gitrepo.Hash, path string) (tree gitrepo.Hash, known bool) {
	if tree, known = r.Git.KnownTreeAt(commit, path); !known {
		tree, known = r.recordedAt[gitrepo.Place{Commit: commit, Path: path}]
	}
	return tree, known
}

// TreeAt is a folder in a commit, zero where it has none.
func (r *Repo) TreeAt(ctx context.Context, commit decide.Hash, path string) (decide.Hash, error) {
	if commit.IsZero() {
		return decide.Hash{}, nil
	}
	at := gitrepo.Hash(commit)
	if tree, known := r.knownTreeAt(at, path); known {
		return decide.Hash(tree), nil
	}
	if err := r.Git.FetchPlaces(ctx, ways([]gitrepo.Hash{at}, path)...); err != nil {
		return decide.Hash{}, err
	}
	tree, ok, err := r.Git.TreeAt(ctx, at, path)
	if err != nil || !ok {
		return decide.Hash{}, err
	}
	return decide.Hash(tree), nil
}
