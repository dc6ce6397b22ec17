// Package reconcile is the use case: from what a fleet wants and what its Git
// repositories hold to Draft branches, and from there through review to
// Published packages (design sections 1, 5 and 7; seed 002).
//
// Plan and Apply run the same code; Plan stops before the push.
//
//	e := reconcile.New(reconcile.Config{Fleet: fleet, Git: store, Manager: "fleet"})
//	plan, err := e.Plan(ctx)
//	report, err := e.Apply(ctx, plan)
//
// One variant that fails never stops the others: its Item carries the error.
// Everything is kept in Git; nothing else remembers anything, save caches that
// may be lost.
package reconcile

import (
	"context"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/injector"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/wiring"
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
	Context *injector.Context
	// ContextObjects are those of Context, for outputs that are known at run time.
	ContextObjects []injector.Object
	// Installations say how the revisions of packages become active, and how
	// many are kept.
	Installations []*variformv1alpha1.Installation
	// Hidden says that one of the Problems may hide an Installation or a Catalog:
	// what they say of versions and values is not known.
	Hidden bool
	// Problems lists inputs that could not be read. Nothing is deleted while
	// there is one.
	Problems []error
}

// Renderer runs a package's pipelines; *render.Renderer is one.
type Renderer interface {
	Render(ctx context.Context, p *krm.Package) (*render.Result, error)
	// Versions names what would run in each of the package's pipelines, and
	// Version for one function that a variant adds.
	Versions(p *krm.Package) []string
	Version(image, exec, tag string) string
}

// Memo remembers across runs which work came to nothing. Losing it costs time,
// never correctness. Implementations are safe for concurrent use.
type Memo interface {
	Has(key string) bool
	Put(key string)
}

// Config says what to do. Fleet, Git and Manager are required.
type Config struct {
	Fleet Fleet
	Git   *gitrepo.Store
	// OCI reads upstreams from registries; nil is a Store without a cache.
	OCI *ocirepo.Store
	// Manager tells this management root's packages from another's.
	Manager string
	// Renderer renders packages; nil leaves pipelines unrun.
	Renderer Renderer
	// Dependencies brings what packages need; nil leaves dependencies alone, and
	// what was brought before.
	Dependencies *Dependencies
	// Only restricts the run to variants, sets, repositories or packages of
	// these names; nil is all. Nothing is deleted under it.
	Only []string
	// Invoke names variants, as Only does, whose packages are rendered again though
	// nothing that goes into them has changed.
	Invoke []string
	// Prune allows deletions; MaxDelete lifts the brake to that many for each
	// set, below zero leaves it on.
	Prune     bool
	MaxDelete int
	// Concurrency bounds how many variants are built at once; 0 is one per CPU.
	Concurrency int
	// StopOnConflict fails a variant whose update meets a true conflict.
	StopOnConflict bool
	// MaxRefsPerPush splits pushes; 0 is one push per repository.
	MaxRefsPerPush int
	// AllowKinds names kinds that are injected only by leave: "Secret".
	AllowKinds []string
	// Memo may be nil.
	Memo Memo
	// Progress, where set, is told what is done; calls are serialised.
	Progress func(Progress)
	// Now stamps what a person does: propose, approve, reject. Variform's own
	// commits take their time from their inputs.
	Now func() time.Time
}

// Progress is one step of a run.
type Progress struct {
	Stage string // "repositories", "variants", "push"
	Done  int
	Total int
	Item  string // what was just done
}

// Engine runs plans for one Config. An Engine may plan and apply many times;
// it is not safe for concurrent use.
type Engine struct {
	cfg         Config
	repos       map[repoKey]*repository
	sorted      []*repository              // the same, by namespace and name
	byURL       map[addressKey]*repository // the first of each address, by sorted
	upstream    memo[upstreamKey, upstreamResult]
	versions    memo[functionKey, string]
	policies    map[Identity]policy
	objects     *wiring.Objects
	wiring      *wiring.Compiler
	untouchable map[place]string // packages that no run may delete now, and why
}

// New returns an Engine.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OCI == nil {
		cfg.OCI = ocirepo.NewStore(ocirepo.Options{})
	}
	return &Engine{cfg: cfg, objects: wiring.NewObjects(cfg.Fleet.ContextObjects), wiring: wiring.NewCompiler()}
}

func (e *Engine) progress(p Progress) {
	if e.cfg.Progress != nil {
		e.cfg.Progress(p)
	}
}
