package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/ocirepo"
)

// defaultBranch is the registered branch where a Repository names none.
const defaultBranch = "main"

type repoKey struct{ namespace, name string }

// repository is one Repository object and the Git repository or the registry
// behind it; both are nil where it could not be read.
type repository struct {
	obj    *v1alpha1.Repository
	git    *gitrepo.Repo
	oci    *ocirepo.Repo
	err    error
	url    string // see address
	dir    string
	branch string
	// states by package path, filled by readHeads.
	mu     sync.Mutex
	states map[string]*state
	// wanted are the paths that a variant is to stand at.
	wanted map[string]bool
}

// state is what a repository holds of one package.
type state struct {
	path      string
	refs      *gitrepo.PackageRefs
	heads     map[string]*head // by full ref name
	revisions []lifecycle.Revision
	latest    *head   // highest Published
	surplus   []*head // Drafts that are no revisions any more: see isSurplus
}

// head is one revision's commit and the newest commit below it that Variform
// made for the same package.
type head struct {
	gitrepo.Revision
	commit  *gitrepo.Commit
	machine *gitrepo.Commit // nil: none found
	inputs  inputs          // as recorded in machine
	owner   string          // "" where nobody's
	// since names the Published revision that an open one started from, "" for
	// none: what machine was built on, or what machine itself published.
	since string
	// workspace of a Published revision, from its commit.
	workspace string
	// shallow heads are looked at without their history: Published packages
	// that no variant wants, of which a catalogue may have thousands. What
	// Variform published says so in the commit itself.
	shallow bool
}

func (e *Engine) limit() int {
	if e.cfg.Concurrency > 0 {
		return e.cfg.Concurrency
	}
	return runtime.NumCPU()
}

// ioLimit bounds how many repositories are talked to at once.
func (e *Engine) ioLimit() int { return max(8, e.limit()) }

// openRepositories reads the refs of every registered Git repository, anew
// where the Engine has run before. A repository that cannot be read keeps its
// error; the rest go on.
func (e *Engine) openRepositories(ctx context.Context) []error {
	again := e.repos != nil
	e.repos = map[repoKey]*repository{}
	e.upstream = memo[upstreamKey, upstreamResult]{}
	list := make([]*repository, 0, len(e.cfg.Fleet.Repositories))
	for _, obj := range e.cfg.Fleet.Repositories {
		r := &repository{obj: obj, branch: defaultBranch}
		if obj.Spec.Git != nil {
			r.url = gitrepo.Display(obj.Spec.Git.Repo)
			r.dir = strings.Trim(obj.Spec.Git.Directory, "/")
			if obj.Spec.Git.Branch != "" {
				r.branch = obj.Spec.Git.Branch
			}
		}
		e.repos[repoKey{obj.Namespace, obj.Name}] = r
		list = append(list, r)
	}
	var refreshed memo[*gitrepo.Repo, error]
	refresh := func(ctx context.Context, r *repository) error {
		switch {
		case !again:
			return nil
		case r.oci != nil:
			r.oci.Refresh()
			return nil
		}
		return refreshed.get(r.git, func() error { return r.git.Refresh(ctx) })
	}
	var mu sync.Mutex
	done := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.ioLimit())
	for _, r := range list {
		g.Go(func() error {
			e.openRepository(ctx, r, refresh)
			mu.Lock()
			defer mu.Unlock()
			done++
			e.progress(Progress{Stage: "repositories", Done: done, Total: len(list), Item: r.obj.Name})
			return nil
		})
	}
	_ = g.Wait()
	e.sortRepos(list)
	var problems []error
	for _, r := range list {
		if r.err != nil {
			problems = append(problems, r.err)
		}
	}
	return problems
}

// RepositoryError is a registered Repository that could not be read.
type RepositoryError struct {
	Namespace, Name string
	Err             error
}

// Error names the Repository and the cause.
func (e *RepositoryError) Error() string {
	return fmt.Sprintf("Repository %s/%s: %v", e.Namespace, e.Name, e.Err)
}

// Unwrap is the cause.
func (e *RepositoryError) Unwrap() error { return e.Err }

// openRepository finds what is behind a Repository. Of a registry nothing is
// asked yet.
func (e *Engine) openRepository(ctx context.Context, r *repository, refresh func(context.Context, *repository) error) {
	var err error
	switch spec := r.obj.Spec; {
	case spec.Git != nil:
		r.git, err = e.cfg.Git.Open(ctx, spec.Git.Repo)
	case spec.OCI != nil:
		if r.oci, err = e.cfg.OCI.Open(spec.OCI.Registry); err == nil {
			r.url = mutate.ImageScheme + r.oci.Address()
		}
	default:
		err = errors.New("it has neither a git nor an oci section")
	}
	if err == nil {
		err = refresh(ctx, r)
	}
	if err != nil {
		r.git, r.oci, r.err = nil, nil, &RepositoryError{r.obj.Namespace, r.obj.Name, err}
	}
}

// address is the Repository's own spelling: another Repository of the same Git
// repository, read first, must not change what is written into packages.
func (r *repository) address() string { return r.url }

func (r *repository) path(pkg string) string { return gitrepo.PackagePath(r.dir, pkg) }

// head is the registered branch's commit; zero where the branch is not there.
func (r *repository) head() gitrepo.Hash {
	ref, ok := r.git.Refs().Branch(r.branch)
	if !ok {
		return gitrepo.Hash{}
	}
	return ref.Commit
}

// readHeads reads, in one go for each repository, the commits at the tips of
// every package revision that matters: all open ones and the latest Published.
func (e *Engine) readHeads(ctx context.Context) []error {
	var mu sync.Mutex
	var problems []error
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.ioLimit())
	for _, r := range e.sortedRepos() {
		if r.git == nil {
			continue
		}
		g.Go(func() error {
			if err := r.readHeads(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				r.err = &RepositoryError{r.obj.Namespace, r.obj.Name, fmt.Errorf("reading the tips of its packages: %w", err)}
				problems = append(problems, r.err)
			}
			return nil
		})
	}
	_ = g.Wait()
	sort.Slice(problems, func(i, j int) bool { return problems[i].Error() < problems[j].Error() })
	return problems
}

// sortedRepos lists the repositories by namespace and name. Read only.
func (e *Engine) sortedRepos() []*repository { return e.sorted }

type addressKey struct{ namespace, address string }

// at finds a registered repository by address, nil where there is none.
func (e *Engine) at(namespace, url string) *repository {
	return e.byURL[addressKey{namespace, plainAddress(url)}]
}

func (e *Engine) sortRepos(list []*repository) {
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i].obj, list[j].obj
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		return a.Name < b.Name
	})
	e.sorted, e.byURL = list, map[addressKey]*repository{}
	for _, r := range list {
		if r.git == nil {
			continue
		}
		for _, url := range []string{r.git.URL(), r.address()} {
			k := addressKey{r.obj.Namespace, plainAddress(url)}
			if e.byURL[k] == nil {
				e.byURL[k] = r
			}
		}
	}
}

func (r *repository) readHeads(ctx context.Context) error {
	r.states = map[string]*state{}
	index := r.git.Index(r.dir)
	var all []*head
	for _, path := range index.Packages() {
		s := &state{path: path, refs: index.Package(path), heads: map[string]*head{}}
		for _, list := range [][]gitrepo.Revision{s.refs.Drafts, s.refs.Proposed} {
			for _, rev := range list {
				s.add(rev)
			}
		}
		if latest := s.refs.Latest(); latest != nil {
			s.latest = s.add(*latest)
			s.latest.shallow = !r.wanted[path]
		}
		for _, h := range s.heads {
			all = append(all, h)
		}
		r.states[path] = s
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Ref.Name < all[j].Ref.Name })
	if err := r.walk(ctx, all); err != nil {
		return err
	}
	for _, s := range r.states {
		s.list(r.obj.Name, r.dir)
	}
	return nil
}

func (s *state) add(rev gitrepo.Revision) *head {
	h := &head{Revision: rev, workspace: rev.Workspace}
	s.heads[rev.Ref.Name] = h
	return h
}

// walkLimit bounds how many hand-made commits on a Draft are looked behind.
const walkLimit = 256

// walk finds for each head the newest commit that Variform made for its
// package: the head itself, or one behind commits that people added. One
// request for each step serves all heads.
func (r *repository) walk(ctx context.Context, heads []*head) error {
	at := make(map[*head]gitrepo.Hash, len(heads))
	tips := make([]gitrepo.Hash, len(heads))
	for i, h := range heads {
		at[h], tips[i] = h.Ref.Commit, h.Ref.Commit
	}
	// The tips in one request, then history in a few, deeper each time: a
	// server gives out what its refs name, and seldom what lies behind.
	if _, err := r.git.Commits(ctx, tips...); err != nil {
		return err
	}
	_, err := r.git.FindAncestors(ctx, tips, walkLimit, func(i int, c *gitrepo.Commit) bool {
		probe := head{Revision: heads[i].Revision}
		return probe.visit(c) || heads[i].shallow
	})
	if err != nil {
		return err
	}
	for step := 0; len(at) > 0 && step < walkLimit; step++ {
		var pending []*head
		var hashes []gitrepo.Hash
		for _, h := range heads {
			if hash, ok := at[h]; ok {
				pending = append(pending, h)
				hashes = append(hashes, hash)
			}
		}
		commits, err := r.git.Commits(ctx, hashes...)
		if err != nil {
			return err
		}
		for i, h := range pending {
			if h.visit(commits[i]) || h.shallow || len(commits[i].Parents) == 0 {
				delete(at, h)
				continue
			}
			at[h] = h.next(commits[i])
		}
	}
	return nil
}

// next is the parent to look at after c: of an approval through Porch, which
// merges into the registered branch without Variform's trailers, the Draft's.
func (h *head) next(c *gitrepo.Commit) gitrepo.Hash {
	ofPackage := func(a gitrepo.Annotation) bool { return a.Package == h.Package }
	if len(c.Parents) > 1 && slices.ContainsFunc(c.Annotations, ofPackage) {
		return c.Parents[1]
	}
	return c.Parents[0]
}

// visit looks at one commit on the way down and reports whether to stop: at
// Variform's own commit for the package, or where the branch began.
func (h *head) visit(c *gitrepo.Commit) bool {
	if h.commit == nil {
		h.commit = c
	}
	mine, published := false, ""
	for _, a := range c.Annotations {
		if a.Package == h.Package {
			mine = true
			if h.workspace == "" {
				h.workspace = a.WorkspaceName
			}
			if n, err := strconv.Atoi(a.Revision); err == nil {
				published = revisionName(n)
			}
		}
	}
	if mine && h.since == "" {
		h.since = published
	}
	if !mine || c.Trailers.Inputs == "" && c.Trailers.Variant == "" {
		return false
	}
	h.machine = c
	h.inputs = parseInputs(c.Trailers.Inputs)
	if h.since == "" {
		h.since = h.inputs.Published
	}
	if c.Trailers.Variant != released {
		h.owner = c.Trailers.Variant
	}
	return true
}

// list puts the package's revisions into lifecycle's terms.
func (s *state) list(repo, dir string) {
	pkg := strings.TrimPrefix(strings.TrimPrefix(s.path, dir), "/")
	names := make([]string, 0, len(s.heads))
	for name := range s.heads {
		names = append(names, name)
	}
	sort.Strings(names)
	s.revisions, s.surplus = nil, nil
	for _, name := range names {
		h := s.heads[name]
		if s.isSurplus(h) {
			s.surplus = append(s.surplus, h)
			continue
		}
		rev := lifecycle.Revision{
			Name: RevisionName(repo, pkg, h.workspace), Repository: repo, Package: pkg,
			Workspace: h.workspace, Revision: h.Number, Phase: lifecycle.Phase(h.Lifecycle),
		}
		if h.owner != "" {
			rev.Owners = []string{h.owner}
		}
		s.revisions = append(s.revisions, rev)
	}
}

// stateOf returns what the repository holds of a package; never nil.
func (r *repository) stateOf(path string) *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.states[path]; s != nil {
		return s
	}
	return &state{path: path, refs: r.git.Index(r.dir).Package(path), heads: map[string]*head{}}
}
