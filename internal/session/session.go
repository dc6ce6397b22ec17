// Package session makes the engine for a fleet that was read, for every door alike: a
// command gives it what its flags say, a controller what a Fleet says.
//
//	s, err := session.Open(read, session.Options{Config: reconcile.Config{Prune: true}, Cache: dir, Git: store})
//	if err != nil {
//		return err // it cannot be run at all
//	}
//	plan, pulled, err := s.Apply(ctx, requests, nil)
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/variform/variform/internal/catalog"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/version"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/resolver"
)

// Options are what a door decides.
type Options struct {
	// Config is what to do; what follows from the fleet is filled in.
	Config reconcile.Config
	// Cache is the folder for what is kept between runs.
	Cache string
	// State is the folder for what this machine states, which nobody else writes; "" is none.
	State string
	Git   *gitrepo.Store
	OCI   *ocirepo.Store
	// Functions renders packages; nil leaves pipelines unrun.
	Functions *render.Renderer
	// Dependencies brings what packages need; Upgrade and Platform are about that.
	Dependencies bool
	Upgrade      []string
	Platform     map[string]string
}

// Session is a fleet that was read and the engine for it.
type Session struct {
	Fleet  *source.Fleet
	Engine *reconcile.Engine
	Config reconcile.Config

	options Options
}

// Whole is an engine for all shards of a fleet whose session is about one: to look, not
// to write.
func (s *Session) Whole() *reconcile.Engine {
	cfg := s.Config
	cfg.Shard, cfg.Within, cfg.Known, cfg.TakeHeads, cfg.Preview = shard.Shard{}, nil, nil, false, true
	return reconcile.New(cfg)
}

// ErrNothing is that a fleet asks for nothing.
var ErrNothing = errors.New("no Repository, PackageVariantSet or PackageVariant")

// Open makes the engine. Of a fleet that asks for nothing the error is ErrNothing.
func Open(read *source.Fleet, o Options) (*Session, error) {
	if len(read.Repositories)+len(read.Sets)+len(read.Variants)+len(read.Rejected) == 0 {
		return nil, fmt.Errorf("%s holds %w", read.Location, ErrNothing)
	}
	cfg, err := Config(read, o)
	if err != nil {
		return nil, err
	}
	if key := reconcile.MachineKey(o.State); key != nil {
		cfg.Memo = reconcile.OpenMemo(filepath.Join(o.Cache, "unchanged"), version.Program(), key)
	}
	if o.State != "" {
		cfg.Statements = reconcile.OpenStatements(o.State)
	}
	cfg.Known = reconcile.OpenKnown(o.State, cfg.Manager, read.Location)
	cfg.OCI = observe.OCI(o.OCI, read.Catalogs...)
	if o.Dependencies {
		cfg.Dependencies = Dependencies(read, o, func(ctx context.Context) catalog.Content {
			return catalog.Reader{Git: o.Git, OCI: o.OCI, Offered: read.Offered, Repositories: cfg.Repositories}.Read(ctx, read.Catalogs)
		})
	}
	return &Session{Fleet: read, Engine: reconcile.New(cfg), Config: cfg, options: o}, nil
}

// Config is what an engine of any use takes of a fleet: who signs, where it comes from,
// what is wanted.
func Config(read *source.Fleet, o Options) (cfg reconcile.Config, err error) {
	cfg = o.Config
	cfg.Git = observe.Git(o.Git)
	if cfg.Manager, err = fleet.Manager(read, cfg.Prune); err != nil {
		return cfg, err
	}
	cfg.Origin, cfg.Unnamed = fleet.ComesFrom(read, gitrepo.CloneOf), read.Manager == ""
	cfg.Claimed = read.Claimed
	if cfg.Fleet, err = fleet.Wanted(read); err != nil {
		return cfg, err
	}
	if o.Functions != nil { // an interface that holds nothing is none
		cfg.Renderer = o.Functions
	}
	return cfg, nil
}

// Dependencies says where what packages need comes from.
func Dependencies(read *source.Fleet, o Options, content func(context.Context) catalog.Content) *reconcile.Dependencies {
	return &reconcile.Dependencies{
		Catalogs: read.Catalogs, Refresh: o.Upgrade, Platform: o.Platform,
		Read: func(ctx context.Context, needed []resolver.GVK) ([]resolver.Package, []*resolver.VersionError, []error) {
			c := content(ctx).Serve(needed)
			return catalog.Packages(c.Entries), c.Unusable, c.Problems
		},
	}
}

// AllowedImages are the patterns of images that may run: ours and kpt's, and more.
func AllowedImages(more ...string) []string {
	return append([]string{render.OwnRegistry + "/*", render.DefaultRegistry + "/*", "gcr.io/kpt-fn/*"}, more...)
}

// OnlyRefs says that all that was read is the management directory and refs.
func (s *Session) OnlyRefs() bool {
	return s.options.OCI.Opened() == 0 && (s.options.Functions == nil || !s.options.Functions.Outside())
}

// Apply brings the fleet up to date, and after that the pull requests in line that it
// keeps: of all that is open, for one asks for more than what a run was restricted to.
// planned, where set, hears of the plan before anything is written.
func (s *Session) Apply(ctx context.Context, requests func(context.Context) ([]fleet.Pulled, error), planned func()) (*reconcile.Plan, []fleet.Pulled, error) {
	plan, err := s.Engine.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	if planned != nil {
		planned()
	}
	if err := s.Engine.Apply(ctx, plan); err != nil || !fleet.Kept(s.Fleet) {
		return plan, nil, err
	}
	list, err := requests(ctx)
	if err != nil { // what was pushed is there all the same
		list = append(list, fleet.Pulled{Repository: "pull requests", Err: err})
	}
	return plan, list, nil
}

// GitTree reads a management directory out of Git.
type GitTree struct{ Store *gitrepo.Store }

// ReadTree implements source.TreeReader.
func (g GitTree) ReadTree(ctx context.Context, url, ref, dir string) ([]krm.File, error) {
	repo, err := g.Store.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return repo.FilesAt(ctx, ref, dir)
}

// Forges reaches the forges of Repositories. Without a login those count that the
// environment and git's credential helpers know. The App logs in at its server; nil is none.
func Forges(budget wire.Budget, login forge.Login, app *forge.App) func(address, annotation string) (pulls.Forge, error) {
	if login == nil {
		login = Login(os.Getenv, nil)
	}
	servers := forge.NewServers(login, budget)
	servers.App = app
	return func(address, annotation string) (pulls.Forge, error) {
		place, err := forge.Locate(address, annotation)
		if err != nil {
			return nil, err
		}
		return servers.At(place), nil
	}
}

// App is a GitHub App that logs in for Git and for pull requests.
type App = forge.App

// AppOf returns the App that an environment describes, nil for none.
func AppOf(env func(string) string, budget wire.Budget) (*App, error) {
	return forge.NewApp(forge.AppVariables, env, budget, time.Now)
}

// Login signs in at forges with the tokens of an environment, or with what has Git's
// logins, where nil is git's credential helpers.
func Login(env func(string) string, git gitrepo.CredentialFunc) forge.Login {
	if git == nil {
		git = gitrepo.HelperCredentials
	}
	return func(ctx context.Context, address string) (user, password string, err error) {
		if token := forge.TokenOf(address, env); token != "" {
			return "", token, nil
		}
		return git(ctx, address)
	}
}
