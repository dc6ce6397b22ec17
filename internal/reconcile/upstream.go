package reconcile

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/injector"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/ocirepo"
)

// memo computes a value once for each key, whoever asks first.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*memoEntry[V]
}

type memoEntry[V any] struct {
	once  sync.Once
	value V
}

func (m *memo[K, V]) get(k K, compute func() V) V {
	m.mu.Lock()
	if m.entries == nil {
		m.entries = map[K]*memoEntry[V]{}
	}
	e := m.entries[k]
	if e == nil {
		e = &memoEntry[V]{}
		m.entries[k] = e
	}
	m.mu.Unlock()
	e.once.Do(func() { e.value = compute() })
	return e.value
}

type upstreamKey struct {
	namespace string
	v1alpha1.Upstream
}

// upstreamResult is an upstream package at the revision that a variant names,
// in Git or in a registry.
type upstreamResult struct {
	err       error
	repo      *repository
	path      string             // folder of the Git repository; package of the registry
	workspace string             // the last part of Porch's name of the revision
	lock      *kptfilev1.Locator // as Kptfiles record it; read only
	content   string             // what it holds: a Git tree, or the image's digest
	when      time.Time          // the commit's time, or when the image says that it was made
	pkg       *krm.Package       // shared: Clone before changing
	points    []injector.Point
	functions []string
	offer     *offer
}

// ref is the tag, branch or commit, or the image's tag or digest.
func (u *upstreamResult) ref() string { return u.lock.Git.Ref }

// String names the upstream for people: repo/package@ref.
func (u *upstreamResult) String() string {
	return u.repo.obj.Name + "/" + u.path + "@" + u.ref()
}

// name is Porch's name of the upstream's package revision.
func (u *upstreamResult) name(pkg string) string {
	return RevisionName(u.repo.obj.Name, pkg, u.workspace)
}

// upstream is what a Kptfile says about it; old is what it said so far.
func (u *upstreamResult) upstream(old *kptfilev1.Upstream) *kptfilev1.Upstream {
	git := u.lock.Git
	out := &kptfilev1.Upstream{Type: u.lock.Type, Git: &kptfilev1.Git{Repo: git.Repo, Directory: git.Directory, Ref: git.Ref}}
	if old != nil {
		out.UpdateStrategy = old.UpdateStrategy
	}
	return out
}

// resolveUpstream finds, fetches and reads an upstream, once for all variants
// that name it.
func (e *Engine) resolveUpstream(ctx context.Context, namespace string, u v1alpha1.Upstream) upstreamResult {
	return e.upstream.get(upstreamKey{namespace, u}, func() upstreamResult {
		r, err := e.readUpstream(ctx, namespace, u)
		if err != nil {
			r.err = fmt.Errorf("upstream %s/%s: %w", u.Repo, u.Package, err)
		}
		return r
	})
}

func (e *Engine) readUpstream(ctx context.Context, namespace string, u v1alpha1.Upstream) (res upstreamResult, err error) {
	if res.repo, err = e.repository(namespace, u.Repo); err != nil {
		return res, err
	}
	if res.repo.oci != nil {
		err = res.fromRegistry(ctx, u)
	} else {
		err = res.fromGit(ctx, u)
	}
	if err != nil {
		return res, err
	}
	digest := res.lock.Git.Commit
	if res.repo.git != nil {
		digest = "git:" + digest
	}
	o := readOffer(res.pkg, u.Package, res.ref(), digest)
	res.offer = &o
	res.points = injector.Find(res.pkg)
	if e.cfg.Renderer != nil {
		res.functions = e.cfg.Renderer.Versions(res.pkg)
	}
	return res, nil
}

func (u *upstreamResult) fromGit(ctx context.Context, want v1alpha1.Upstream) error {
	at, err := u.repo.git.Resolve(ctx, gitrepo.Query{
		Directory: u.repo.dir, Package: want.Package,
		Revision: string(want.Revision), Workspace: want.WorkspaceName, Branch: u.repo.branch,
	})
	if err != nil {
		return err
	}
	tree, pkg, err := u.repo.readPackage(ctx, at.Commit, at.Path)
	if err != nil {
		return err
	}
	commits, err := u.repo.git.Commits(ctx, at.Commit)
	if err != nil {
		return err
	}
	u.path, u.workspace = at.Path, cmp.Or(at.Workspace, revisionName(at.Number), at.Ref)
	u.pkg, u.content, u.when = pkg, tree.String(), commits[0].Committer.When
	u.lock = &kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: &kptfilev1.GitLock{
		Repo: u.repo.address(), Directory: "/" + at.Path, Ref: at.Ref, Commit: at.Commit.String(),
	}}
	return nil
}

// fromRegistry pulls by digest, once for each digest that the cache does not have.
func (u *upstreamResult) fromRegistry(ctx context.Context, want v1alpha1.Upstream) error {
	at, err := u.repo.oci.Resolve(ctx, ocirepo.Query{
		Package: want.Package, Revision: string(want.Revision), Workspace: want.WorkspaceName,
	})
	if err != nil {
		return needsPerson(err)
	}
	if u.pkg, err = u.repo.oci.ReadPackage(ctx, at.Package, at.Digest); err != nil {
		return needsPerson(err)
	}
	if u.pkg.Kptfile("") == nil {
		return stalled("%s holds no Kptfile: a variant comes from a kpt package, as \"variform push\" publishes one", at.Name)
	}
	image, _, _ := strings.Cut(at.Name, "@")
	u.path, u.content, u.when = at.Package, at.Digest, at.Created
	if u.when.Unix() < 0 {
		u.when = time.Unix(0, 0).UTC() // unknown, or before Git's time begins
	}
	u.workspace = cmp.Or(revisionName(at.Number), at.Tag, strings.ReplaceAll(at.Digest, ":", "-"))
	u.lock = mutate.ImageLock(image, cmp.Or(at.Tag, at.Digest), at.Digest)
	return nil
}

// needsPerson marks failures of a registry that another run alone does not mend.
func needsPerson(err error) error {
	for _, kind := range []error{ocirepo.ErrNotFound, ocirepo.ErrAuth, ocirepo.ErrAddress, ocirepo.ErrPackage, ocirepo.ErrLimit} {
		if errors.Is(err, kind) {
			return stalledError{err}
		}
	}
	return err
}

// repository finds a Repository of a namespace that could be read.
func (e *Engine) repository(namespace, name string) (*repository, error) {
	r := e.repos[repoKey{namespace, name}]
	if r == nil {
		return nil, fmt.Errorf("no Repository %q in namespace %q: add one, or correct the name", name, namespace)
	}
	return r, r.err
}

// downstream finds the Repository that a variant is written to.
func (e *Engine) downstream(namespace, name string) (*repository, error) {
	r, err := e.repository(namespace, name)
	if err == nil && r.git == nil {
		return nil, fmt.Errorf("Repository %s is an OCI registry (spec.type: oci), which serves upstreams only: a Draft is a branch, so name a Repository of type git, and publish from there with \"variform push\"", name)
	}
	return r, err
}

// locked finds the registered Repository that an upstreamLock names, and the
// package there: a folder of the Git repository, or a package of the registry.
// prefer wins where several fit. Nil where none does.
func (e *Engine) locked(namespace string, lock *kptfilev1.GitLock, prefer *repository) (*repository, string) {
	folder := strings.Trim(lock.Directory, "/")
	image, ok := mutate.Image(lock)
	switch {
	case ok:
		return e.registryOf(namespace, image, prefer)
	case prefer != nil && prefer.git != nil && sameAddress(prefer.address(), lock.Repo):
		return prefer, folder
	}
	return e.at(namespace, lock.Repo), folder
}

// registryOf finds the registry that holds an image, and the package there.
func (e *Engine) registryOf(namespace, image string, prefer *repository) (*repository, string) {
	var found *repository
	var pkg string
	for _, r := range e.sortedRepos() {
		if r.oci == nil || r.obj.Namespace != namespace {
			continue
		}
		below, ok := strings.CutPrefix(image+"/", r.oci.Address()+"/")
		if ok && (found == nil || r == prefer) {
			found, pkg = r, strings.TrimSuffix(below, "/")
		}
	}
	return found, pkg
}

// readLocked reads the package at the commit or digest of an upstreamLock.
func (r *repository) readLocked(ctx context.Context, pkg string, lock *kptfilev1.GitLock) (content string, p *krm.Package, err error) {
	if r.oci != nil {
		p, err = r.oci.ReadPackage(ctx, pkg, lock.Commit)
		return lock.Commit, p, err
	}
	tree, p, err := r.readPackage(ctx, parseHash(lock.Commit), pkg)
	return tree.String(), p, err
}

// readPackage reads the package at a path of a commit.
func (r *repository) readPackage(ctx context.Context, commit gitrepo.Hash, path string) (gitrepo.Hash, *krm.Package, error) {
	if err := r.git.Fetch(ctx, commit); err != nil {
		return gitrepo.Hash{}, nil, err
	}
	tree, ok, err := r.git.TreeAt(ctx, commit, path)
	if err != nil {
		return gitrepo.Hash{}, nil, err
	}
	if !ok {
		return gitrepo.Hash{}, nil, fmt.Errorf("commit %s has no folder %q", commit, path)
	}
	p, err := r.git.ReadPackage(ctx, tree)
	return tree, p, err
}

// parseHash reads a commit's name; anything else gives the zero Hash.
func parseHash(s string) (h gitrepo.Hash) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}
