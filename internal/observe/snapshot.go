package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
)

// Fleet is what the user wants, as read from a management directory.
type Fleet struct {
	Repositories []*v1alpha1.Repository
	Sets         []*v1alpha2.PackageVariantSet
	Variants     []*v1alpha1.PackageVariant
	// Objects are the targets that object selectors choose from.
	Objects []variantgen.Object
	// Context are the same and all other objects, with their content, for
	// injection.
	Context *injection.Context
	// ContextObjects are those of Context, for outputs that are known at run time.
	ContextObjects []injection.Object
	// Installations say how the revisions of packages become active, and how
	// many are kept.
	Installations []*variformv1alpha1.Installation
	// Rollouts are approvals that are published in waves: the Drafts that they name stay as they are.
	Rollouts []*variformv1alpha1.Rollout
	// Checks are the severities of checks that the fleet gives.
	Checks map[string]string
	// Hidden says that one of the Problems may hide an Installation or a Catalog:
	// what they say of versions and values is not known.
	Hidden bool
	// Problems lists inputs that could not be read. Nothing is deleted while
	// there is one.
	Problems []error
}

// Functions tells the versions of what renders packages.
type Functions interface {
	// Versions names what would run in each of the package's pipelines, and
	// Version one function that a variant adds: as inputs, and with the versions
	// of built-in functions.
	Versions(p *krm.Package) (inputs, versions []string)
	Version(image, exec, tag string) (input, version string)
}

// Dependencies says where what packages need comes from.
type Dependencies struct {
	// Catalogs are the fleet's. Without one nothing is brought.
	Catalogs []*variformv1alpha1.Catalog
	// Read reads all versions that the Catalogs have, and those that nobody can
	// have; needed are APIs that are looked for in their files. Of what has problems
	// nothing is known. It is called once, where a target needs something.
	Read func(ctx context.Context, needed []resolver.GVK) (versions []resolver.Package, unusable []*resolver.VersionError, problems []error)
	// Refresh are packages, "*" for all, that take the newest version that they
	// may, or with name@version that one, whatever is locked.
	Refresh []string
	// Platform is what targets run on whose Repository does not say so.
	Platform map[string]string
}

// Config says what to read. Fleet, Git and Manager are required.
type Config struct {
	Fleet   Fleet
	Git     Repositories
	OCI     Registries
	Manager decide.Manager
	// Origin is where the fleet comes from, which tells those apart that are Unnamed,
	// without a name of their own.
	Origin  string
	Unnamed bool
	// Functions is nil where pipelines are left unrun.
	Functions Functions
	// Dependencies is nil where they are left alone.
	Dependencies *Dependencies
	// Shard is the part of the Git repositories that is worked on. Of the others
	// nothing is read but upstreams, unless ReadAll says so: for what is to be judged
	// by all of the fleet.
	Shard   shard.Shard
	ReadAll bool
	// Within, where it is not nil, are the Git repositories of the shard that are worked
	// on, by ShardKey: the others are as those of another shard.
	Within map[string]bool
	// Blame keeps what tells where fields of variants are written.
	Blame bool
	// Concurrency bounds how much is read at once; 0 is one for each CPU.
	Concurrency int
	// Repositories are talked to at once; 0 is wire.Repositories.
	Repositories int
	// Progress, where set, is told of each repository.
	Progress func(done, total int, item string)
}

// Reader reads what a run needs. It may read many times, anew each time; it is
// not safe for concurrent use but where a method says so.
type Reader struct {
	// OpenWhole reads the open revisions of what is wanted with all their files, for who
	// shows or compares them all: a request less where nothing is in the cache.
	OpenWhole bool
	// TreesAhead brings what FetchTrees does for all that sets and variants want, of each
	// repository as soon as its tips are read; not where targets may need something besides.
	TreesAhead bool

	cfg      Config
	repos    map[repoKey]*Repo
	sorted   []*Repo              // the same, by namespace and name
	byURL    map[addressKey]*Repo // the first of each address, by sorted
	apart    memo[*Repo, *Repo]   // of closed ones, for upstreams
	refresh  func(context.Context, *Repo) error
	slots    chan struct{} // one for each repository that may be talked to at once
	upstream memo[upstreamKey, *decide.Upstream]
	versions memo[functionKey, [2]string]
	locks    depend.Locks
}

// New returns a Reader.
func New(cfg Config) *Reader { return &Reader{cfg: cfg} }

// Snapshot is what a fleet wants and what is there.
type Snapshot struct {
	Wants   []*decide.Want
	Sets    []*Set
	Targets []*decide.Target // those whose dependencies were asked for, sorted
	// Policies are what Installations say of publication.
	Policies decide.Policies
	// Unanswered is what was asked for and is no variant, and why it has no answer.
	Unanswered []error
	// Problems lists what could not be read; Warnings are about no one variant.
	Problems []error
	Warnings []string
	// Untouchable are packages that no run may delete now, and why; the name ""
	// is a whole repository.
	Untouchable map[decide.Place]string
}

// Set is what became of one PackageVariantSet.
type Set struct {
	Namespace, Name string
	Variants        int
	// Empty is set where a target of the set selects nothing.
	Empty    bool
	Failures []error
	Warnings []string
}

// warn adds warnings that are not there yet.
func (s *Snapshot) warn(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(s.Warnings, text) {
			s.Warnings = append(s.Warnings, text)
		}
	}
}

// Sizes are the sets in the terms of decisions.
func (s *Snapshot) Sizes() []decide.SetSize {
	out := make([]decide.SetSize, len(s.Sets))
	for i, set := range s.Sets {
		out[i] = decide.SetSize{Namespace: set.Namespace, Name: set.Name, Variants: set.Variants, Empty: set.Empty, Failed: len(set.Failures)}
	}
	return out
}

// Failures are the problems, and those of sets.
func (s *Snapshot) Failures() []error {
	out := slices.Clone(s.Problems)
	for _, set := range s.Sets {
		out = append(out, set.Failures...)
	}
	return out
}

// Read reads the fleet: repositories, wanted packages, the tips of their
// revisions, and what their targets need.
func (r *Reader) Read(ctx context.Context) *Snapshot {
	s := r.ReadOpen(ctx)
	s.Problems = slices.Concat(r.cfg.Fleet.Problems, s.Problems)
	r.ReadNeeds(ctx, s)
	return s
}

// ReadNeeds adds to what ReadOpen read what targets need besides, and their locks.
func (r *Reader) ReadNeeds(ctx context.Context, s *Snapshot) {
	s.Wants = r.dependencies(ctx, s, s.Wants)
	s.Problems = append(s.Problems, r.deepen(ctx, s.Wants)...)
	decide.Collide(s.Wants, r.place)
	s.warn(decide.Confusable(s.Wants, r.place)...)
}

// ReadOpen reads as much as a person's decision needs: what is wanted by sets and
// by hand, and the tips of revisions. What targets need besides is left out, and
// so are the fleet's own problems.
func (r *Reader) ReadOpen(ctx context.Context) *Snapshot {
	s := &Snapshot{Untouchable: map[decide.Place]string{}}
	var ofPolicies []error
	s.Policies, ofPolicies = decide.NewPolicies(r.cfg.Fleet.Installations)
	unopened, unread := r.readRepositories(ctx, func() []*decide.Want {
		r.expand(ctx, s)
		return s.Wants
	})
	s.Problems = slices.Concat(ofPolicies, unopened, s.Problems, unread)
	r.keepNames(s.Wants)
	for _, repo := range r.sorted {
		if says := repo.Annotations[variformv1alpha1.TagMainAnnotation]; says != "" && !repo.TagsMain() {
			s.Warnings = append(s.Warnings, fmt.Sprintf("Repository %s: annotation %s is %q, and means nothing but as %q", repo.Name, variformv1alpha1.TagMainAnnotation, says, variformv1alpha1.TagMainAlways))
		}
	}
	for _, repo := range r.GitRepositories() {
		if rec := repo.Recorded; rec != nil && rec.Origin != "" && r.cfg.Origin != "" && rec.Origin != r.cfg.Origin {
			s.Warnings = append(s.Warnings, fmt.Sprintf("Repository %s: manager %s of %s wrote the record there last, and this fleet is of %s: two of one name change what the other owns, so give one another name; if the fleet has moved, this ends with its next push", repo.Name, rec.Manager, rec.Origin, r.cfg.Origin))
		}
		if repo.foreign != nil {
			s.Warnings = append(s.Warnings, fmt.Sprintf("Repository %s: the record is of another fleet: %v. What people said there of packages counts, and nothing of this run is recorded; if it is this very fleet, say so with --manager %s", repo.Name, repo.foreign, repo.record.Manager))
		}
	}
	return s
}

// Presence is what the repositories tell of whose the manager's packages are.
func (r *Reader) Presence(s *Snapshot) decide.Presence {
	p := decide.Presence{Manager: r.cfg.Manager, Doubt: len(s.Problems) > 0}
	for _, set := range s.Sets {
		p.Doubt = p.Doubt || len(set.Failures) > 0
	}
	for _, w := range s.Wants {
		p.Wanted = append(p.Wanted, w.Identity)
	}
	for _, repo := range r.sorted {
		if repo.Git == nil || repo.Err != nil {
			p.Doubt = p.Doubt || repo.Err != nil
			continue
		}
		p.SameOrigin = p.SameOrigin || repo.Recorded != nil && r.cfg.Origin != "" && repo.Recorded.Origin == r.cfg.Origin
		owned := map[string]bool{}
		for path, pkg := range repo.Packages {
			owned[path] = r.cfg.Manager.Signed(pkg.NewestOwner(), repo.Namespace)
		}
		for e := range repo.Recorded.All() { // a Draft that a forge merged, whose branch has gone, has no revision yet
			owned[e.Path] = owned[e.Path] || repo.Shows(e.Path) && r.cfg.Manager.Signed(e.Owner, repo.Namespace)
		}
		for path, ours := range owned {
			if ours {
				p.Owned = append(p.Owned, decide.Identity{Namespace: repo.Namespace, Repository: repo.Name, Package: repo.Below(path)})
			}
		}
	}
	return p
}

// place is where a wanted package stands; false where its repository is not there.
func (r *Reader) place(w *decide.Want) (decide.Place, bool) {
	repo := r.RepoOf(w)
	if repo == nil || repo.Git == nil {
		return decide.Place{}, false
	}
	return repo.Place(repo.Path(w.Package)), true
}

func (r *Reader) limit() int {
	if r.cfg.Concurrency > 0 {
		return r.cfg.Concurrency
	}
	return runtime.NumCPU()
}

// Repositories is how many are talked to at once.
func (r *Reader) Repositories() int { return cmp.Or(r.cfg.Repositories, wire.Repositories) }

// Parallel maps a list, at most limit at once, and keeps its order. It stops
// early only where the context ends.
func Parallel[T, R any](ctx context.Context, limit int, list []T, f func(context.Context, T) R) ([]R, error) {
	out := make([]R, len(list))
	return out, cores.Each(ctx, limit, len(list), func(i int) error {
		out[i] = f(ctx, list[i])
		return nil
	})
}

// SideBySide calls f with each of a list where it may wait for servers: for as many
// repositories at once as are talked to, and for up to limit of one's. repo is nil where
// there is none. An error ends what is left of its repository, so that a server which
// fails is not asked for each package. What f holds is held as many times.
func SideBySide[T any](ctx context.Context, r *Reader, list []T, repo func(T) *Repo, f func(context.Context, T) error) error {
	type part struct {
		todo    []T
		running int
	}
	var parts []*part
	of := map[Repository]*part{}
	for _, t := range list {
		var git Repository
		if at := repo(t); at != nil {
			git = at.Git
		}
		if of[git] == nil {
			of[git] = &part{}
			parts = append(parts, of[git])
		}
		of[git].todo = append(of[git].todo, t)
	}
	var mu sync.Mutex
	take := func() (next *part, t T) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range parts {
			if len(p.todo) > 0 && p.running < r.limit() && (next == nil || p.running < next.running) {
				next = p
			}
		}
		if next != nil {
			t, next.todo = next.todo[0], next.todo[1:]
			next.running++
		}
		return next, t
	}
	var g errgroup.Group
	for range min(len(list), max(r.limit(), min(len(parts), r.Repositories()))) {
		g.Go(func() error {
			for ctx.Err() == nil {
				p, t := take()
				if p == nil { // who works at what is left takes it
					return nil
				}
				err := f(ctx, t)
				mu.Lock()
				if p.running--; err != nil {
					p.todo = nil
				}
				mu.Unlock()
			}
			return ctx.Err()
		})
	}
	return g.Wait()
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

// Passing reports whether its server could not be reached, or was too busy: another run may
// read it.
func (e *RepositoryError) Passing() bool {
	return gitrepo.IsPassing(e.Err) || errors.Is(e.Err, ocirepo.ErrUnavailable) || errors.Is(e.Err, ocirepo.ErrRateLimited)
}
