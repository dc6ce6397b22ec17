package reconcile

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/injector"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
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

// upstreamResult is an upstream package at the revision that a variant names.
type upstreamResult struct {
	err       error
	repo      *repository
	at        gitrepo.Resolved
	tree      gitrepo.Hash
	commit    *gitrepo.Commit
	pkg       *krm.Package // shared: Clone before changing
	points    []injector.Point
	functions []string
}

// String names the upstream for people: repo/package@ref.
func (u *upstreamResult) String() string {
	return u.repo.obj.Name + "/" + u.at.Path + "@" + u.at.Ref
}

// name is Porch's name of the upstream's package revision.
func (u *upstreamResult) name(pkg string) string {
	workspace := u.at.Workspace
	if workspace == "" {
		workspace = u.at.Ref
		if u.at.Number > 0 {
			workspace = fmt.Sprintf("v%d", u.at.Number)
		}
	}
	return RevisionName(u.repo.obj.Name, pkg, workspace)
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
	res.at, err = res.repo.git.Resolve(ctx, gitrepo.Query{
		Directory: res.repo.dir, Package: u.Package,
		Revision: string(u.Revision), Workspace: u.WorkspaceName, Branch: res.repo.branch,
	})
	if err != nil {
		return res, err
	}
	if res.tree, res.pkg, err = res.repo.readPackage(ctx, res.at.Commit, res.at.Path); err != nil {
		return res, err
	}
	commits, err := res.repo.git.Commits(ctx, res.at.Commit)
	if err != nil {
		return res, err
	}
	res.commit = commits[0]
	res.points = injector.Find(res.pkg)
	if e.cfg.Renderer != nil {
		res.functions = e.cfg.Renderer.Versions(res.pkg)
	}
	return res, nil
}

// repository finds a Repository of a namespace that could be read.
func (e *Engine) repository(namespace, name string) (*repository, error) {
	r := e.repos[repoKey{namespace, name}]
	if r == nil {
		return nil, fmt.Errorf("no Repository %q in namespace %q: add one, or correct the name", name, namespace)
	}
	return r, r.err
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
