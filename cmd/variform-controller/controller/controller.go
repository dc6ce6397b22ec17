// Package controller is Variform's door on Kubernetes: it keeps what Fleets name up to
// date, by the same engine as the command (internal/session), and writes what became of
// it into the status of what was read. It has no rule of its own about packages.
package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/version"
	"github.com/variform/variform/internal/wire"
)

// Reconciler brings one Fleet up to date. Different Fleets may run side by side.
type Reconciler struct {
	Client client.Client
	// Reader asks the API server itself: a fleet that is read in part looks as if the
	// rest had gone.
	Reader client.Reader
	Mapper meta.RESTMapper
	// Cache is a folder for what is kept between runs; losing it costs time.
	Cache string
	// Worker is this program, which runs scripts of packages within bounds, and Workers its
	// processes for all runs.
	Worker  string
	Workers *render.WorkerPool
	// ServerTimeout is how long a server may be silent, RunDeadline how long a run may take;
	// 0 is half a minute, and no end.
	ServerTimeout, RunDeadline time.Duration
	// Credentials has the logins of Git servers; nil asks Git's helpers.
	Credentials gitrepo.CredentialFunc
	// Concurrency is how many runs there may be at once that others wait for, beside those
	// whose servers are slow; 0 is one.
	Concurrency int
	// Leases share the work with other replicas; nil is that there are none.
	Leases *Leases
	// As reads the API as a ServiceAccount, with its rights alone; Setup sets it.
	As func(account client.ObjectKey) (client.Reader, error)
	// DefaultServiceAccount is that of Fleets that name none, each of its own namespace;
	// "" is the controller's own rights.
	DefaultServiceAccount string
	// Metrics are told of runs; nil is that nobody asks.
	Metrics *Metrics
	Now     func() time.Time
	// Watched, where set, is told of the kinds whose objects a Fleet selects and injects, and
	// of the account that reads them; the zero value is the controller.
	Watched func(ctx context.Context, fleet, account client.ObjectKey, kinds []schema.GroupVersionKind)
	// Said, where set, is told what became of a Fleet where that is new: for Events.
	Said func(fleet *unstructured.Unstructured, ready bool, reason, message string)

	lanes *lanes // nil before Setup
	beats beats
	wakes wakes
	knows knowledge
}

// The reasons of a Fleet's condition Ready, beside those of sets.
const (
	reasonInvalid   = "Invalid"
	reasonSuspended = "Suspended"
	reasonOwned     = "OwnedByAnother"
	reasonError     = "Error"
	reasonDone      = "Reconciled"
	reasonRunning   = "Running"
	reasonEnded     = "RunEnded"
	reasonLate      = "Late"
)

// budget bounds how long a run waits for servers. One request takes at most half of the run,
// and a run does not ask servers that were too slow in recent runs.
func (r *Reconciler) budget(fleet client.ObjectKey) wire.Budget {
	var b wire.Budget
	if r.ServerTimeout > 0 {
		b = wire.Patience(r.ServerTimeout)
	}
	b.Slow, b.Notice = r.knows.slowOf(fleet), r.Metrics.trouble
	if b = b.WithDefaults(); r.RunDeadline > 0 {
		b.Request = min(b.Request, r.RunDeadline/2)
	}
	return b
}

// defaultInterval is the time between two looks.
const defaultInterval = time.Minute

// outcome is what a Fleet's status says.
type outcome struct {
	stalled, ready  bool
	reason, message string
	states          map[string]int // of variants; nil where nothing was read
	guarded         bool           // write it only if nobody changed the status since it was read
}

// stalled is what waits for a person.
func stalled(reason string, err error) outcome {
	return outcome{stalled: true, reason: reason, message: err.Error()}
}

// Reconcile implements controller-runtime's Reconciler. A shard that another replica has
// is that one's; it is run again when it comes here.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	if r.Leases != nil {
		run, done, ok := r.Leases.Begin(ctx, req)
		if !ok {
			if !r.Leases.Has(req.NamespacedName) {
				r.forget(ctx, req.NamespacedName)
			}
			return ctrl.Result{}, nil
		}
		defer done()
		ctx = run
	}
	run, done, ok, err := r.lanes.begin(ctx, req.NamespacedName)
	defer done()
	if err != nil || !ok {
		r.beats.wait(req, r.Now())
		return ctrl.Result{RequeueAfter: crowdedPause}, err
	}
	r.beats.begin(req, r.Now())
	result, err := r.reconcile(ctx, run, req)
	next := result.RequeueAfter
	switch {
	case err != nil:
		next = defaultInterval
	case next == 0: // a change of it is an event
		next = 100 * 365 * 24 * time.Hour
	}
	r.beats.end(req, r.Now(), next)
	return result, err
}

// ready is a probe. It passes while runs begin when they are due.
func (r *Reconciler) ready(*http.Request) error {
	if r.Leases != nil {
		if err := r.Leases.renewed(); err != nil {
			return err
		}
	}
	return r.beats.waiting(r.Now(), lateGrace)
}

// alive is a probe. It fails only if a restart helps, which is not the case if the API
// server does not answer.
func (r *Reconciler) alive(*http.Request) error {
	if r.Leases != nil {
		if err := r.Leases.alive(); err != nil || r.Leases.renewed() != nil {
			return err
		}
	}
	return r.beats.waiting(r.Now(), stuckGrace)
}

// crowdedPause is the time until a slow Fleet asks again for a place among slow runs.
const crowdedPause = 10 * time.Second

// reconcile runs a shard within run, and writes its status within ctx.
func (r *Reconciler) reconcile(ctx, run context.Context, req Request) (ctrl.Result, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(fleetKind)
	if err := r.Reader.Get(run, req.NamespacedName, live); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(ctx, req.NamespacedName)
			r.wakes.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if live.GetUID() != req.UID || ShardsOf(live.Object) != req.Shard.Of {
		return ctrl.Result{}, nil // of another Fleet of this name, or of when it had other shards
	}
	tell := func(o outcome) error { return r.tell(ctx, live, req.Shard, o) }
	f, err := parse(live)
	if err != nil {
		return ctrl.Result{}, tell(stalled(reasonInvalid, err)) // a change of it is an event
	}
	if f.Spec.Suspend {
		return ctrl.Result{}, tell(outcome{reason: reasonSuspended, message: "spec.suspend is true: nothing is read or written"})
	}
	if r.RunDeadline > 0 {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeoutCause(run, r.RunDeadline, fmt.Errorf("it took longer than %s (-run-deadline): see which server is slow, or give the Fleet more spec.shards", r.RunDeadline))
		defer cancel()
	}
	began := r.Now()
	out, err := r.run(run, f, req)
	if cause := context.Cause(run); ctx.Err() == nil && cause != nil { // what came of it is of a part
		out = outcome{reason: reasonEnded, message: "the run was ended: " + cause.Error()}
		r.knows.forget(req)
		r.Metrics.measure(req, began, out, cause)
		return ctrl.Result{RequeueAfter: max(interval(f), defaultInterval)}, tell(out)
	}
	if err != nil {
		r.knows.forget(req)
	}
	r.Metrics.measure(req, began, out, err)
	if err != nil {
		// What failed of the whole is tried again, later and later; what was told is told.
		return ctrl.Result{}, errors.Join(err, tell(outcome{reason: reasonError, message: err.Error()}))
	}
	if err := tell(out); err != nil {
		r.knows.forget(req)
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.knows.rest(req, interval(f), r.Now())}, nil
}

// forget lets go what is kept of a Fleet that is not run here.
func (r *Reconciler) forget(ctx context.Context, fleet client.ObjectKey) {
	r.watched(ctx, fleet, client.ObjectKey{}, nil)
	r.knows.forgetFleet(fleet)
	r.lanes.forget(fleet)
	r.Metrics.forget(fleet)
}

func (r *Reconciler) watched(ctx context.Context, fleet, account client.ObjectKey, kinds []schema.GroupVersionKind) {
	if r.Watched != nil {
		r.Watched(ctx, fleet, account, kinds)
	}
}

func interval(f *variformv1alpha1.Fleet) time.Duration {
	if d, err := time.ParseDuration(f.Spec.Interval); err == nil && d >= api.LeastInterval {
		return d
	}
	return defaultInterval
}

// parse reads a Fleet as strictly as a file.
func parse(live *unstructured.Unstructured) (*variformv1alpha1.Fleet, error) {
	u := live.DeepCopy()
	u.SetManagedFields(nil)
	delete(u.Object, "status")
	data, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("Fleet %s: %w", live.GetName(), err)
	}
	obj, report := api.Parse(data)
	for n := range report.Errors {
		report.Errors[n].Line = 0
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return obj.(*variformv1alpha1.Fleet), nil
}

// run is one run of a fleet, or of a shard of it: of what an event concerns where that can
// be told, and else of the whole. Where nothing changed since the last, it
// comes to the same: what stands in the status may be older, or an error of another run.
func (r *Reconciler) run(ctx context.Context, f *variformv1alpha1.Fleet, req Request) (none outcome, err error) {
	part := req.Shard
	cache := filepath.Join(r.Cache, string(f.UID))
	from, err := r.reader(f)
	if err != nil {
		return none, err
	}
	logins, err := r.logins(ctx, f, from)
	if err != nil {
		return none, err
	}
	store := gitrepo.NewStore(gitrepo.Options{CacheDir: filepath.Join(cache, "git"), Key: reconcile.MachineKey(cache), Credentials: logins.git, App: logins.app, NoSSH: logins.from != "", Budget: logins.budget})
	defer store.Close()                             // a run a minute, for months
	cache = filepath.Join(cache, shardFolder(part)) // what it remembers is of its own repositories
	files, found, err := r.directory(ctx, f, from, store)
	if err != nil {
		return none, err
	}
	if found != nil && len(found.other) > 0 {
		return stalled(reasonOwned, fmt.Errorf("another controller drives %s: stop it and set spec.source.objects.takeOver, or take them out of the selector; nothing was done", strings.Join(decide.Limit(found.other, 3), ", "))), nil
	}
	// What moves from here on is the next run's.
	moved := r.wakes.taken(req)
	at := place{f, part, store, cache, logins}
	known := r.knows.get(req)
	due := known.due(f, r.Now())
	settled := r.settled(f, files, cache)
	if due && len(moved) == 0 { // else somebody knows of more than refs: of a pull request, say
		if said, ok := settled.Again(ctx, store); ok {
			out := outcome{ready: true, reason: reasonDone, message: said.Out}
			_ = json.Unmarshal([]byte(said.Err), &out.states) // else the metrics wait for a change
			if known != nil {
				known.looked = r.Now()
			}
			return out, nil
		}
	}
	read, err := files.Fleet(ctx)
	if err != nil {
		return none, err
	}
	ground := fleet.GroundOf(read)
	if !due {
		if out, ok, err := r.event(ctx, req, at, read, found, known, ground, moved); ok || err != nil {
			return out, err
		}
	}
	r.knows.forget(req)
	r.wakes.note(req, f, read)
	s, done, err := r.open(read, at, nil)
	defer done()
	if errors.Is(err, session.ErrNothing) {
		return outcome{ready: true, reason: reasonDone, message: err.Error()}, nil
	}
	if err != nil {
		return stalled(reasonInvalid, err), nil
	}
	plan, pulled, err := apply(ctx, s, at.logins)
	if err != nil {
		return none, err
	}
	plan = plan.Rest() // a survey makes one of its own
	surveyed := plan
	if found != nil {
		if surveyed, err = r.survey(ctx, at, found, s, plan); err != nil {
			return none, err
		}
	}
	out := summary(plan, pulled)
	out.states = statesOf(plan)
	if out.ready && plan.Settled() && s.OnlyRefs() && fleet.Quiet(pulled) {
		states, _ := json.Marshal(out.states)
		settled.Put(store, reconcile.Printed{Out: out.message, Err: string(states)})
	}
	r.follow(req, ground, plan)
	r.learn(req, f, ground, plan, surveyed, pulled, out)
	return out, nil
}

// apply brings a fleet up to date, and its pull requests.
func apply(ctx context.Context, s *session.Session, login logins) (*reconcile.Plan, []fleet.Pulled, error) {
	plan, pulled, err := s.Apply(ctx, func(ctx context.Context) ([]fleet.Pulled, error) {
		list, _, err := fleet.Propose(ctx, s.Engine, requests(s, login))
		return list, err
	}, nil)
	if err == nil {
		fleet.Locate(s.Fleet, plan)
	}
	return plan, pulled, err
}

func requests(s *session.Session, login logins) fleet.PullRequests {
	return fleet.PullRequests{Forge: session.Forges(login.budget, login.forges(), login.app), Fleet: s.Fleet, Concurrency: 8}
}

// survey writes the status of objects, as they are after a run, and returns what it tells.
// A shard tells of its own variants; the first tells of what belongs to all, which the
// whole fleet is read for.
func (r *Reconciler) survey(ctx context.Context, at place, found *objects, s *session.Session, plan *reconcile.Plan) (*reconcile.Plan, error) {
	now, err := after(ctx, s, found, plan, at.logins)
	if err != nil {
		return nil, err
	}
	t := r.teller(ctx, at.fleet, found)
	t.variants(now)
	if at.shard.Index > 1 {
		return now, t.err()
	}
	all := now
	if !at.shard.Whole() {
		if all, err = stands(ctx, s.Whole(), s, at.logins); err != nil {
			return nil, err
		}
	}
	t.rest(s.Fleet, all)
	return now, t.err()
}

// after is how what a plan is about stands once it was applied.
func after(ctx context.Context, s *session.Session, found *objects, plan *reconcile.Plan, login logins) (*reconcile.Plan, error) {
	if plan.Settled() && !found.variants() && !fleet.Kept(s.Fleet) { // sets are told of no proof
		return plan, nil
	}
	return stands(ctx, s.Engine, s, login) // a plan says what was to be done, and not what is proved
}

// stands is how all that an engine looks at stands, pull requests too: of a forge that gives
// none the run has told.
func stands(ctx context.Context, e *reconcile.Engine, s *session.Session, login logins) (*reconcile.Plan, error) {
	now, err := e.Survey(ctx)
	if err == nil {
		fleet.Locate(s.Fleet, now)
		fleet.TellRequests(ctx, e, now, requests(s, login))
	}
	return now, err
}

// directory is what the Fleet names, in Git or in the API.
func (r *Reconciler) directory(ctx context.Context, f *variformv1alpha1.Fleet, from *reader, store *gitrepo.Store) (*source.Directory, *objects, error) {
	if g := f.Spec.Source.Git; g != nil {
		location := g.Repo
		if g.Directory != "" {
			location += "//" + g.Directory
		}
		if g.Ref != "" {
			location += "@" + g.Ref
		}
		files, err := source.Open(ctx, location, source.Options{Git: session.GitTree{Store: store}, Manager: f.Spec.Manager})
		return files, nil, err
	}
	found, err := from.read(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	r.watched(ctx, client.ObjectKey{Namespace: f.Namespace, Name: f.Name}, from.account, found.kinds)
	files := source.OfObjects("the objects of Fleet "+f.Namespace+"/"+f.Name, found.texts, source.Options{Manager: f.Spec.Manager})
	found.texts = nil
	return files, found, nil
}

// settled remembers a run that had nothing to do, and whose status is written.
func (r *Reconciler) settled(f *variformv1alpha1.Fleet, files *source.Directory, cache string) *reconcile.Settled {
	s := &reconcile.Settled{File: filepath.Join(cache, "settled.json")}
	if digest := files.Digest(); digest != "" {
		s.Inputs = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", version.Program(), f.UID, f.Generation, digest)))
	}
	return s
}

// place is what a run is of, and where it keeps what it knows.
type place struct {
	fleet *variformv1alpha1.Fleet
	shard shard.Shard
	store *gitrepo.Store
	cache string
	logins
}

// open makes the engine, for some of the repositories where within is not nil: pruning is
// for the whole. done ends what it started.
func (r *Reconciler) open(read *source.Fleet, at place, within map[string]bool) (s *session.Session, done func(), err error) {
	functions := render.New(render.Options{
		Builtins: function.Builtin, BuiltinVersion: version.Version, Worker: r.Worker, Workers: r.Workers, AllowedImages: session.AllowedImages(),
		NoContainers: at.from != "", // an engine pulls with logins of its own
	})
	spec := &at.fleet.Spec
	cfg := reconcile.Config{Prune: spec.Prune && within == nil, MaxDelete: -1, TakeHeads: true, Shard: at.shard, Within: within, Progress: r.Metrics.built(at.fleet, at.shard)}
	if spec.MaxDeletions != nil {
		cfg.MaxDelete = *spec.MaxDeletions
	}
	s, err = session.Open(read, session.Options{
		Config: cfg, Cache: at.cache, State: filepath.Join(at.cache, "state"), Git: at.store, OCI: at.registries(at.cache), Functions: functions, Dependencies: true,
	})
	return s, functions.Close, err
}

// statusWrites is how many statuses are written at once.
const statusWrites = 8

// teller writes the status of a fleet's objects.
type teller struct {
	ctx    context.Context
	r      *Reconciler
	force  bool
	live   map[source.Key]*live
	failed []error
}

func (r *Reconciler) teller(ctx context.Context, f *variformv1alpha1.Fleet, found *objects) *teller {
	t := &teller{ctx: ctx, r: r, force: f.Spec.Source.Objects.TakeOver, live: map[source.Key]*live{}}
	for n := range found.told {
		t.live[found.told[n].key()] = &found.told[n]
	}
	return t
}

func (t *teller) err() error { return errors.Join(t.failed...) }

func (t *teller) put(k source.Key, status any) { t.failed = append(t.failed, t.one(k, status)) }

func (t *teller) one(k source.Key, status any) error {
	l := t.live[k]
	if l == nil { // a generated variant is no object
		return nil
	}
	u, err := l.object()
	if err == nil {
		_, err = t.r.put(t.ctx, u, status, t.force, false)
	}
	return err
}

// variants are those of a plan, several at once: a write waits for the server's disk.
func (t *teller) variants(plan *reconcile.Plan) {
	all := fleet.ByVariant(plan.Items)
	failed := make([]error, len(all))
	var writes errgroup.Group
	writes.SetLimit(statusWrites)
	for n, items := range all {
		o := reconcile.VariantStatus(items...)
		if o == nil {
			continue
		}
		writes.Go(func() error {
			failed[n] = t.one(keyOf(v1alpha1.Group, v1alpha1.KindPackageVariant, o.Namespace, o.Name), o.Status)
			return nil
		})
	}
	_ = writes.Wait()
	t.failed = append(t.failed, failed...)
}

// rest are the sets, what was rejected, and Repositories.
func (t *teller) rest(read *source.Fleet, plan *reconcile.Plan) {
	for _, o := range fleet.StatusObjects(read, plan) {
		if o, ok := o.(*v1alpha2.PackageVariantSet); ok {
			t.put(keyOf(v1alpha1.Group, v1alpha2.KindPackageVariantSet, o.Namespace, o.Name), o.Status)
		}
	}
	for _, rejected := range read.Rejected {
		if rejected.Kind == v1alpha2.KindPackageVariantSet || rejected.Kind == v1alpha1.KindPackageVariant {
			message := rejected.Issues.Error()
			t.put(rejected.Key, v1alpha1.PackageVariantStatus{Conditions: []metav1.Condition{
				condition("Stalled", true, "ValidationError", message), condition("Ready", false, reasonError, message),
			}})
		}
	}
	unread := map[string]string{}
	for _, p := range plan.Problems {
		var e *observe.RepositoryError
		if errors.As(p, &e) {
			unread[e.Namespace+"/"+e.Name] = e.Error()
		}
	}
	for _, repo := range read.Repositories {
		c := condition("Ready", true, "Read", "its refs were read")
		if why := unread[repo.Namespace+"/"+repo.Name]; why != "" {
			c = condition("Ready", false, reasonError, why)
		}
		k := keyOf(v1alpha1.Group, v1alpha1.KindRepository, repo.Namespace, repo.Name)
		if l := t.live[k]; l != nil && l.writer == "" { // Porch's says what Porch sees of it
			t.put(k, v1alpha1.PackageVariantStatus{Conditions: []metav1.Condition{c}})
		}
	}
}

func keyOf(group, kind, namespace, name string) source.Key {
	return source.Key{Group: group, Kind: kind, Namespace: api.NamespaceOr(namespace), Name: name}
}

// summary is a plan in one line; what failed is told first.
func summary(plan *reconcile.Plan, pulled []fleet.Pulled) outcome {
	var texts []string
	for _, p := range plan.Problems {
		texts = append(texts, p.Error())
	}
	stalledItems, variants := 0, 0
	for _, of := range fleet.ByVariant(plan.Items) {
		if of[0].Variant != nil { // else it has gone
			variants++
		}
	}
	for _, i := range plan.Items {
		if i.Err != nil {
			texts = append(texts, i.Err.Error())
		}
		if i.Stalled {
			stalledItems++
		}
	}
	for _, s := range plan.Sets {
		for _, err := range s.Failures {
			texts = append(texts, err.Error())
			if !decide.IsPassing(err) {
				stalledItems++
			}
		}
	}
	for _, p := range pulled {
		if p.Err != nil {
			texts = append(texts, p.Repository+": "+p.Err.Error())
		}
	}
	if len(plan.Braked) > 0 {
		texts = append(texts, fmt.Sprintf("deletions are braked in %d sets: nothing of them went; spec.maxDeletions lifts the brake", len(plan.Braked)))
	}
	if len(texts) > 0 {
		return outcome{stalled: stalledItems > 0, reason: reasonError, message: fmt.Sprintf("%d problems with %d package variants: %s", len(texts), variants, strings.Join(decide.Limit(texts, 5), "; "))}
	}
	return outcome{ready: true, reason: reasonDone, message: fmt.Sprintf("%d package variants are as the fleet says, or wait for a person", variants)}
}

// tell writes what became of a Fleet, or of a shard of it, into the Fleet's status, and
// says it by an Event where it is new.
func (r *Reconciler) tell(ctx context.Context, live *unstructured.Unstructured, part shard.Shard, o outcome) error {
	if part.Whole() {
		return r.told(ctx, live, o, variformv1alpha1.FleetStatus{})
	}
	// What other shards told stays: the status is written as it was read, or read anew.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		u := live.DeepCopy()
		if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(live), u); err != nil || u.GetUID() != live.GetUID() {
			return client.IgnoreNotFound(err)
		}
		status := withShard(u, part, live.GetGeneration(), o)
		return r.told(ctx, u, joined(status.Shards, part.Of, u.GetGeneration()), status)
	})
}

// withShard is the status of a Fleet where a shard of it told something new.
func withShard(u *unstructured.Unstructured, part shard.Shard, generation int64, o outcome) variformv1alpha1.FleetStatus {
	status := variformv1alpha1.FleetStatus{Shards: shardsTold(u, part.Of)}
	status.Shards = slices.DeleteFunc(status.Shards, func(s variformv1alpha1.FleetShardStatus) bool { return s.Shard == part.String() })
	status.Shards = append(status.Shards, variformv1alpha1.FleetShardStatus{
		Shard: part.String(), ObservedGeneration: generation, Ready: o.ready, Stalled: o.stalled, Reason: o.reason, Message: o.message,
	})
	slices.SortFunc(status.Shards, func(a, b variformv1alpha1.FleetShardStatus) int {
		return cmp.Or(len(a.Shard)-len(b.Shard), strings.Compare(a.Shard, b.Shard))
	})
	return status
}

// tellLate writes of a Fleet, or of a shard of it, that what its status says is not known any
// more, unless that says of a failure already, or was written since live was read.
func (r *Reconciler) tellLate(ctx context.Context, live *unstructured.Unstructured, part shard.Shard, o outcome) error {
	var status variformv1alpha1.FleetStatus
	if part.Whole() {
		for _, c := range conditionsOf(statusOf(live)) {
			if c["type"] == "Ready" && c["status"] != "True" {
				return nil
			}
		}
	} else {
		for _, s := range shardsTold(live, part.Of) {
			if s.Shard == part.String() && !s.Ready {
				return nil
			}
		}
		status = withShard(live, part, live.GetGeneration(), o)
		o = joined(status.Shards, part.Of, live.GetGeneration())
	}
	o.guarded = true
	if err := r.told(ctx, live, o, status); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// shardsTold are what shards told of themselves, of a Fleet that has so many.
func shardsTold(u *unstructured.Unstructured, of int) []variformv1alpha1.FleetShardStatus {
	var f struct {
		Status variformv1alpha1.FleetStatus `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &f); err != nil {
		return nil // all of it is told anew
	}
	return slices.DeleteFunc(f.Status.Shards, func(s variformv1alpha1.FleetShardStatus) bool {
		part, err := shard.Parse(s.Shard)
		return err != nil || part.Of != of
	})
}

// joined is what became of all shards: what failed is told first.
func joined(list []variformv1alpha1.FleetShardStatus, of int, generation int64) outcome {
	out := outcome{ready: true, reason: reasonDone}
	var bad, good []string
	told := 0
	for _, s := range list {
		if s.ObservedGeneration != generation {
			continue
		}
		told++
		text := "shard " + s.Shard + ": " + s.Message
		if s.Ready {
			good = append(good, text)
			continue
		}
		if bad = append(bad, text); out.ready || s.Stalled && !out.stalled {
			out.reason = s.Reason
		}
		out.ready, out.stalled = false, out.stalled || s.Stalled
	}
	if told < of {
		bad = append(bad, fmt.Sprintf("%d of %d shards have not run yet", of-told, of))
		if out.ready {
			out.ready, out.reason = false, reasonRunning
		}
	}
	out.message = strings.Join(decide.Limit(append(bad, good...), 5), "; ")
	return out
}

func (r *Reconciler) told(ctx context.Context, live *unstructured.Unstructured, o outcome, status variformv1alpha1.FleetStatus) error {
	text := "all validation checks passed"
	stalledReason := "Valid"
	if o.stalled {
		text, stalledReason = o.message, o.reason
	}
	status.ObservedGeneration = live.GetGeneration()
	status.Conditions = []metav1.Condition{
		condition("Stalled", o.stalled, stalledReason, text), condition("Ready", o.ready, o.reason, o.message),
	}
	wrote, err := r.put(ctx, live, status, false, o.guarded)
	if wrote && r.Said != nil {
		r.Said(live, o.ready, o.reason, o.message)
	}
	return err
}
