// Package reconcile is the use case: from what a fleet wants and what its Git
// repositories hold to Draft branches, and from there through review to
// Published packages. It leads a run through its rooms (docs/design/heart.md) and
// has no rule of its own: it reads (internal/observe), asks what is to become of
// each revision (internal/decide), builds (internal/build) and publishes
// (internal/publish).
//
// Plan and Apply run the same code; Plan stops before the push.
//
// One variant that fails never stops the others: its Item carries the error.
// Everything is kept in Git; nothing else remembers anything, save caches that
// may be lost.
package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/wiring"
)

// Fleet is what the user wants, as read from a management directory.
type Fleet = observe.Fleet

// Dependencies says where what packages need comes from.
type Dependencies = observe.Dependencies

// Renderer renders a package's pipelines; *render.Renderer is one.
type Renderer interface {
	build.Renderer
	observe.Functions
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
	Git   observe.Repositories
	// OCI reads upstreams from registries; nil is a Store without a cache.
	OCI observe.Registries
	// Manager tells this management root's packages from another's.
	Manager string
	// Origin is where the fleet comes from, "" where that is not known. Unnamed says
	// that it has no name of its own.
	Origin  string
	Unnamed bool
	// Claimed says that a person gave the manager's name for this run: the packages that
	// it signed are this fleet's.
	Claimed bool
	// Renderer renders packages; nil leaves pipelines unrun.
	Renderer Renderer
	// Dependencies brings what packages need; nil leaves dependencies alone, and
	// what was brought before.
	Dependencies *Dependencies
	// Only restricts the run to a part of the fleet. Nothing is deleted under it. What
	// has not moved since its time is read all the same, and left out of plans: they
	// are to be shown, not applied.
	Only decide.Selection
	// Invoke names variants, as Only does, whose packages are rendered again though
	// nothing that goes into them has changed.
	Invoke []string
	// Rehydrate makes anew what an earlier version of the program made.
	Rehydrate bool
	// Recreate and Retry name variants likewise: a package that a person deleted
	// on the registered branch is made again; one that was set back to an earlier
	// revision there is drafted anew.
	Recreate, Retry []string
	// Prune allows deletions; MaxDelete lifts the brake to that many for each
	// set, below zero leaves it on.
	Prune     bool
	MaxDelete int
	// Shard is the part of the Git repositories that the run is about: of the others it
	// reads what this part is made from, and with Prune or a restriction by name all, for
	// those are judged by the whole fleet.
	Shard shard.Shard
	// Within, where it is not nil, restricts the run to some of the shard's Git repositories,
	// by observe.ShardKey: what must be decided together is in one of them. What needs the
	// whole set, as pruning does, is not for such a run.
	Within map[string]bool
	// Named says that what is decided is named, whichever shard it is of.
	Named bool
	// Concurrency bounds how many variants are built at once; 0 is one per CPU.
	Concurrency int
	// Repositories are talked to at once; 0 is wire.Repositories.
	Repositories int
	// DraftOnFailure makes new Drafts also where rendering fails, unrendered.
	DraftOnFailure bool
	// StopOnConflict fails a variant whose update meets a true conflict.
	StopOnConflict bool
	// MaxRefsPerPush splits pushes; 0 is one push per repository.
	MaxRefsPerPush int
	// AllowKinds names kinds that are injected only by leave: "Secret".
	AllowKinds []string
	// Packages leaves what was built, and what it is compared with, in Items, for
	// who shows them. Without it a package is let go once it was compared.
	Packages bool
	// Blame has all read that Blame tells of packages; Places says where their values are
	// written, nil names no file.
	Blame  bool
	Places build.Places
	// TakeHeads brings what people committed to the heads of pull requests onto their
	// Drafts before anything else is looked at: see Engine.Taken.
	TakeHeads bool
	// Preview says that plans are shown and never applied: what files are to hold
	// is forgotten once it was compared.
	Preview bool
	// Memo may be nil.
	Memo Memo
	// Statements is what this machine built before; nil knows of nothing.
	Statements build.Statements
	// Known is what earlier runs knew as Published; nil forgets.
	Known *Known
	// drop names edits that are to go: see Engine.PlanWithout.
	drop map[decide.Identity][]string
	// keep names the variants whose edits by hand stand: see PlanKeeping.
	keep []string
	// invokeAll renders all again: see Blame.
	invokeAll bool
	// lenient leaves out names that mean nothing: see Explain.
	lenient bool
	// take is given each package with its origins, many at once, and gives what is kept of
	// it: see Blame. A plan with it is one that nobody carries out: what is held is made, too.
	take func(*krm.Package, *provenance.Origins) any
	// Progress, where set, is told what is done; calls are serialised.
	Progress func(Progress)
	// Now stamps what a person does: propose, approve, reject. Variform's own
	// commits take their time from their inputs.
	Now func() time.Time
}

// readsAll says that one shard must know of all: how much of a set goes, or whether a
// name means nothing, no part can tell.
func (c *Config) readsAll() bool {
	named := len(c.Invoke) + len(c.Recreate) + len(c.Retry)
	if d := c.Dependencies; d != nil && len(d.Catalogs) > 0 {
		named += len(slices.DeleteFunc(slices.Clone(d.Refresh), func(p string) bool { return p == "*" }))
	}
	return c.Prune || c.Named || named > 0 || !c.Only.All()
}

// mine says that an item, or what is wanted, is of the run's shard.
func (e *Engine) mine(id decide.Identity) bool { return e.read.Mine(id.Namespace, id.Repository) }

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
	cfg     Config
	manager decide.Manager
	read    *observe.Reader
	builder *build.Builder
	wirer   *build.Wirer
	taken   []Taken
	opened  *observe.Snapshot // by Open, last
}

// New returns an Engine.
func New(cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OCI == nil {
		cfg.OCI = observe.OCI(ocirepo.NewStore(ocirepo.Options{}))
	}
	e := &Engine{cfg: cfg, manager: decide.Manager(cfg.Manager)}
	sources := observe.Config{
		Fleet: cfg.Fleet, Git: cfg.Git, OCI: cfg.OCI, Manager: e.manager, Origin: cfg.Origin, Unnamed: cfg.Unnamed,
		Dependencies: cfg.Dependencies, Concurrency: cfg.Concurrency, Repositories: cfg.Repositories, Blame: cfg.Blame,
		Shard: cfg.Shard, ReadAll: cfg.readsAll(), Within: cfg.Within,
		Progress: func(done, total int, item string) { e.progress(Progress{"repositories", done, total, item}) },
	}
	e.builder = &build.Builder{
		Manager: e.manager, Context: cfg.Fleet.Context, AllowKinds: cfg.AllowKinds, Places: cfg.Places, StopOnConflict: cfg.StopOnConflict, DraftOnFailure: cfg.DraftOnFailure, Keep: cfg.Packages,
		Statements: cfg.Statements, Validator: decide.Validator{Checks: cfg.Fleet.Checks},
	}
	if cfg.Renderer != nil { // an interface that holds nothing is none
		sources.Functions, e.builder.Renderer = cfg.Renderer, cfg.Renderer
	}
	e.read = observe.New(sources)
	e.builder.Read = e.read
	e.wirer = &build.Wirer{
		Read: e.read, Objects: wiring.NewObjects(cfg.Fleet.ContextObjects), Compiler: wiring.NewCompiler(), AllowKinds: cfg.AllowKinds,
	}
	return e
}

func (e *Engine) progress(p Progress) {
	if e.cfg.Progress != nil {
		e.cfg.Progress(p)
	}
}

// Resolve answers what every target needs, and looks no further: the plan has no
// items. Its problems are inputs that could not be read, those of sets among them.
func (e *Engine) Resolve(ctx context.Context) (*Plan, error) {
	s := e.read.Read(ctx)
	return &Plan{Targets: targetPlans(s), Problems: s.Failures(), Warnings: s.Warnings}, ctx.Err()
}
