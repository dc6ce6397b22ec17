package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/version"
)

// fleetFlags say where the fleet is described and how it is built.
type fleetFlags struct {
	location    string
	manager     string
	cacheDir    string
	only        []string
	labels      string
	since       string
	noRender    bool
	allowExec   bool
	allowKinds  []string
	images      []string
	containers  containerFlags
	concurrency int
	onConflict  string
	onFailure   bool
	prune       bool
	maxDelete   int
	maxRefs     int
	maxWrites   int
	page        string
	shard       string
	named       bool // what is decided is named

	dependencies bool
	upgrade      []string
	invoke       []string
	rehydrate    bool
	recreate     []string
	retry        []string
	platform     map[string]string

	packages bool // the command shows packages
	blame    bool // the command shows where values come from
	preview  bool // the command applies nothing
	heads    bool // the command looks what people committed to heads of pull requests
}

// addFleet adds the flags of every command that reads a fleet.
func (a *app) addFleet(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&a.fleet.location, "fleet", "f", os.Getenv("VARIFORM_FLEET"), "fleet: a folder, or Git as URL[//dir][@ref] (default: this folder, if it has a Kptfile)")
	f.StringVar(&a.fleet.manager, "manager", "", "owner of the packages that this fleet creates (default: the name in its Kptfile, else \"variform\")")
	a.addCache(c)
	_ = c.MarkFlagDirname("fleet")
}

// addSelection adds the flags that show a part of a fleet, by what is not a name.
func (a *app) addSelection(c *cobra.Command) {
	a.addLabels(c)
	c.Flags().StringVar(&a.fleet.since, "since", "", "only packages that changed since this `TIME`: a day, a time, or an age (24h, 7d); pending changes count as now")
}

func (a *app) addLabels(c *cobra.Command) {
	c.Flags().StringVarP(&a.fleet.labels, "selector", "l", "", "only variants whose package, or Repository, has these labels, such as region=eu,env!=dev")
}

// addShard adds the flag of the commands that split a fleet over machines.
func (a *app) addShard(c *cobra.Command) {
	c.Flags().StringVar(&a.fleet.shard, "shard", "", "only the repositories of shard `I/N`: the I-th, from 1, of N machines that share the fleet")
}

// selection is what names and the flags of addSelection mean.
func (a *app) selection(names []string) (decide.Selection, error) {
	out := decide.Selection{Names: names}
	var err error
	if out.Labels, err = decide.ParseLabels(a.fleet.labels); err == nil {
		out.Since, err = decide.ParseSince(a.fleet.since, time.Now())
	}
	return out, err
}

// addBuild adds the flags of the commands that build packages.
func (a *app) addBuild(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&a.fleet.only, "only", nil, "only these variants, sets, repositories or packages; deletes nothing")
	f.IntVar(&a.fleet.concurrency, "concurrency", 0, "number of variants to build at once (default: one per CPU)")
	f.StringVar(&a.fleet.onConflict, "on-conflict", "upstream", "if an update and a local edit change one field differently: upstream (it wins; the lost edit is reported) or stop (the variant fails)")
	f.BoolVar(&a.fleet.onFailure, "draft-on-failure", false, "create a new Draft even if its pipeline fails; it is unrendered, and approve refuses it")
	f.BoolVar(&a.fleet.prune, "prune", false, "propose packages without a variant for deletion, or release them, by their deletionPolicy")
	f.IntVar(&a.fleet.maxDelete, "max-delete", -1, "allow a set to lose up to `N` packages in one run")
	f.Lookup("max-delete").DefValue = "0" // help names no default
	f.StringSliceVar(&a.fleet.invoke, "rerender", nil, "build these variants, sets, repositories, targets or packages, and what they manage, even if no input changed")
	f.BoolVar(&a.fleet.rehydrate, "rehydrate", false, "rebuild packages that an earlier version of variform built differently (default: with their next change)")
	f.StringSliceVar(&a.fleet.recreate, "recreate", nil, "create these packages again after somebody deleted them on the registered branch")
	f.StringSliceVar(&a.fleet.retry, "retry", nil, "draft these packages again after somebody discarded their Draft or reverted them")
	a.addNeeds(c)
	f.StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "also inject objects of this kind: Secret")
	_ = c.RegisterFlagCompletionFunc("on-conflict", cobra.FixedCompletions([]string{"upstream", "stop"}, cobra.ShellCompDirectiveNoFileComp))
	a.addRenderFlags(c)
}

// addNeeds adds the flags of the commands that resolve what packages need.
func (a *app) addNeeds(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&a.fleet.upgrade, "upgrade", nil, "upgrade these `packages`' dependencies to the newest allowed version; NAME@VERSION pins one, * upgrades all (default: keep locked versions)")
	f.StringToStringVar(&a.fleet.platform, "platform", nil, "platform of targets whose Repository states none, such as kubernetes=1.31.0")
	a.addDependencies(c)
}

// addDependencies adds the flag of every action on packages (Porter PEP003,
// provisional: "--dependencies").
func (a *app) addDependencies(c *cobra.Command) {
	c.Flags().BoolVar(&a.fleet.dependencies, "dependencies", true, "include dependencies; =false ignores dependencies and locks")
}

// passedOver says which folders were not looked into.
func passedOver(packages []string) string {
	if len(packages) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: not looked into, as a folder with a Kptfile below is a package of its own)", folded(packages))
}

func (a *app) addRenderFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&a.fleet.allowExec, "allow-exec", false, "run exec functions of pipelines on this machine")
	f.StringSliceVar(&a.fleet.images, "allow-image", nil, "also run container images that match this `pattern`, without network: an image, an image without a tag, or prefix/* (default: variform's and kpt's functions)")
	a.fleet.containers.add(c)
	if c.Name() != "render" {
		f.BoolVar(&a.fleet.noRender, "no-render", false, "do not run pipelines")
	}
}

// here takes the present folder where none is named, and it says that it is a package:
// a home folder, or all of a disk, is no fleet because there are sets below it.
func (f *fleetFlags) here() error {
	if f.location != "" {
		return nil
	}
	if _, err := os.Stat(kptfilev1.KptFileName); err != nil {
		return errors.New("this folder has no Kptfile that says that it is a fleet: name the management directory with --fleet (-f . for this one)")
	}
	f.location = "."
	return nil
}

// inputs are a management directory's files, and where more is read from.
type inputs struct {
	files *source.Directory
	store *gitrepo.Store
	cache string // the folder for what is kept between runs
}

func (a *app) load(ctx context.Context) (in inputs, err error) {
	if err := a.fleet.here(); err != nil {
		return in, err
	}
	if in.cache, err = a.fleet.cache(); err != nil {
		return in, err
	}
	at, err := source.ParseLocation(a.fleet.location)
	if err != nil {
		return in, err
	}
	in.store = gitStoreOf(a, in.cache, at.Folder)
	in.files, err = source.Open(ctx, a.fleet.location, source.Options{Git: session.GitTree{Store: in.store}, Manager: a.fleet.manager})
	return in, err
}

// read parses the management directory.
func (a *app) read(ctx context.Context, in inputs) (*source.Fleet, error) {
	fleet, err := in.files.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	a.warnOf(fleet)
	return fleet, nil
}

func (a *app) warnOf(fleet *source.Fleet) {
	for _, w := range fleet.Warnings {
		a.note("warning: %v", w)
	}
}

// opening is a fleet, read, the engine for it, and what the command did with it.
type opening struct {
	*session.Session
	store  *gitrepo.Store
	files  *source.Directory
	fleet  *source.Fleet
	engine *reconcile.Engine
	cfg    reconcile.Config
	// progress is to stop before anything is printed.
	progress *progress
	// pulled is what became of the pull requests that apply keeps.
	pulled []fleet.Pulled
	// from returns the fleet, at its commit, that a screen names first.
	from func() review.Source
}

// open reads the fleet.
func (a *app) open(ctx context.Context, p *progress) (*opening, error) {
	if err := a.checkFlags(); err != nil {
		return nil, err
	}
	in, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	return a.session(ctx, in, p)
}

func (a *app) checkFlags() error {
	f := &a.fleet
	if f.onConflict != "" && f.onConflict != "upstream" && f.onConflict != "stop" {
		return fmt.Errorf("--on-conflict %q: choose upstream or stop", f.onConflict)
	}
	if n := f.maxWrites; n != 0 && n < pulls.LeastWrites {
		return fmt.Errorf("--max-writes %d: give %d or more, for opening one pull request takes so many, or 0 for no bound", n, pulls.LeastWrites)
	}
	if _, err := shard.Parse(f.shard); err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	if f.concurrency < 0 {
		return fmt.Errorf("--concurrency %d: give 1 or more, or 0 for one per CPU", f.concurrency)
	}
	return nil
}

// session parses a fleet and makes the engine for it.
func (a *app) session(ctx context.Context, in inputs, p *progress) (*opening, error) {
	f := &a.fleet
	fleet, err := a.read(ctx, in)
	if err != nil {
		return nil, err
	}
	places := newPlaces(in.files, fleet)
	registries := a.registries(in.cache)
	o, err := a.options(in.store, registries)
	if err != nil {
		return nil, err
	}
	o.Cache, o.State, o.Config.Progress = in.cache, a.State, p.report
	// Reports and diffs show packages; for all else they are let go once compared. Origins
	// are asked for while packages are made.
	o.Config.Preview, o.Config.TakeHeads = f.preview, f.heads
	if f.blame {
		o.Config.Blame, o.Config.Places = true, places
	}
	o.Config.Packages = !f.blame && (f.packages || a.output == "json" || a.output == "yaml" || slices.Contains(reportFormats, a.output))
	opened, err := session.Open(fleet, o)
	if errors.Is(err, session.ErrNothing) {
		for _, p := range fleet.Problems { // which may be why
			a.fail("error: %v", p)
		}
		return nil, fmt.Errorf("%w: give the management directory with --fleet%s", err, passedOver(fleet.Packages))
	}
	if err != nil {
		return nil, err
	}
	from := sync.OnceValue(func() review.Source { return sourceOf(ctx, in, fleet.Manager) })
	return &opening{Session: opened, store: in.store, files: in.files, fleet: fleet, engine: opened.Engine, cfg: opened.Config, progress: p, from: from}, nil
}

// gitStore reaches Git repositories, and keeps what it fetches below the cache folder.
func (a *app) gitStore(cache string) *gitrepo.Store { return gitStoreOf(a, cache, "") }

// gitStoreOf takes relative paths of repositories from a fleet's folder.
func gitStoreOf(a *app, cache, folder string) *gitrepo.Store {
	o := gitrepo.Options{CacheDir: filepath.Join(cache, "git"), Folder: folder, Key: reconcile.MachineKey(a.State), Log: a.log(), Warn: a.warn, Budget: a.budget(), App: a.app}
	if a.gitCredentials != "" {
		o.Credentials = gitrepo.StoredCredentials(a.gitCredentials)
	}
	store := gitrepo.NewStore(o)
	a.stores = append(a.stores, store)
	return store
}

// warn is where adapters say what a person should know.
func (a *app) warn(format string, args ...any) { a.note("warning: "+format, args...) }

// log is where adapters note what they do; nil unless --verbose asks for it.
func (a *app) log() func(format string, args ...any) {
	if !a.verbose {
		return nil
	}
	return a.note
}

func (a *app) addCache(c *cobra.Command) {
	c.Flags().StringVar(&a.fleet.cacheDir, "cache-dir", os.Getenv("VARIFORM_CACHE_DIR"), "folder for fetched objects (default: variform in your cache folder)")
	_ = c.MarkFlagDirname("cache-dir")
}

func (f *fleetFlags) cache() (string, error) {
	if f.cacheDir != "" {
		return f.cacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the cache: %w: give one with --cache-dir", err)
	}
	return filepath.Join(dir, "variform"), nil
}

// StateDir returns the user's folder for what this machine states, "" where there is none.
// It is not in the cache folder, which CI restores from elsewhere.
func StateDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "variform")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "variform")
}

// options are what the flags say.
func (a *app) options(store *gitrepo.Store, registries *ocirepo.Store) (o session.Options, err error) {
	f := &a.fleet
	o = session.Options{
		Git: store, OCI: registries, Dependencies: f.dependencies, Upgrade: f.upgrade, Platform: f.platform,
		Config: reconcile.Config{
			Now:    a.Now,
			Invoke: f.invoke, Rehydrate: f.rehydrate, Recreate: f.recreate, Retry: f.retry, Prune: f.prune, MaxDelete: f.maxDelete, Named: f.named,
			Concurrency: f.concurrency, Repositories: a.repositories, StopOnConflict: f.onConflict == "stop", DraftOnFailure: f.onFailure, MaxRefsPerPush: f.maxRefs, AllowKinds: f.allowKinds,
		},
	}
	if o.Config.Shard, err = shard.Parse(f.shard); err != nil {
		return o, fmt.Errorf("--shard: %w", err)
	}
	if o.Config.Only, err = a.selection(f.only); err != nil {
		return o, err
	}
	if !f.noRender {
		o.Functions, err = a.renderer()
	}
	return o, err
}

func (a *app) renderer() (*render.Renderer, error) {
	opts := render.Options{
		Builtins: function.Builtin, BuiltinVersion: version.Version, Worker: a.Program,
		AllowExec: a.fleet.allowExec, AllowedImages: session.AllowedImages(a.fleet.images...),
	}
	if err := a.fleet.containers.apply(&opts); err != nil {
		return nil, err
	}
	r := render.New(opts)
	a.atEnd(r.Close)
	return r, nil
}
