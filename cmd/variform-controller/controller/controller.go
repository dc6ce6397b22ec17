// Package controller is Variform's door on Kubernetes: it keeps what Fleets name up to
// date, by the same engine as the command (internal/session), and writes what became of
// it into the status of what was read. It has no rule of its own about packages.
package controller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/session"
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
	// Worker is this program, which runs scripts of packages within bounds.
	Worker string
	Now    func() time.Time
	// Watched, where set, is told of the kinds whose objects a Fleet selects and injects.
	Watched func(ctx context.Context, fleet client.ObjectKey, kinds []schema.GroupVersionKind)
	// Said, where set, is told what became of a Fleet where that is new: for Events.
	Said func(fleet *unstructured.Unstructured, ready bool, reason, message string)
}

// The reasons of a Fleet's condition Ready, beside those of sets.
const (
	reasonInvalid   = "Invalid"
	reasonSuspended = "Suspended"
	reasonOwned     = "OwnedByAnother"
	reasonError     = "Error"
	reasonDone      = "Reconciled"
)

// defaultInterval is the time between two looks.
const defaultInterval = time.Minute

// outcome is what a Fleet's status says.
type outcome struct {
	stalled, ready  bool
	reason, message string
}

// stalled is what waits for a person.
func stalled(reason string, err error) outcome {
	return outcome{stalled: true, reason: reason, message: err.Error()}
}

// Reconcile implements controller-runtime's Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(fleetKind)
	if err := r.Reader.Get(ctx, req.NamespacedName, live); err != nil {
		if apierrors.IsNotFound(err) && r.Watched != nil {
			r.Watched(ctx, req.NamespacedName, nil)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f, err := parse(live)
	if err != nil {
		return ctrl.Result{}, r.tell(ctx, live, stalled(reasonInvalid, err)) // a change of it is an event
	}
	if f.Spec.Suspend {
		return ctrl.Result{}, r.tell(ctx, live, outcome{reason: reasonSuspended, message: "spec.suspend is true: nothing is read or written"})
	}
	out, err := r.run(ctx, f)
	if err != nil {
		// What failed of the whole is tried again, later and later; what was told is told.
		return ctrl.Result{}, errors.Join(err, r.tell(ctx, live, outcome{reason: reasonError, message: err.Error()}))
	}
	if out != nil {
		if err := r.tell(ctx, live, *out); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: interval(f)}, nil
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

// run is one run of a fleet; nil is that nothing changed since the last.
func (r *Reconciler) run(ctx context.Context, f *variformv1alpha1.Fleet) (*outcome, error) {
	cache := filepath.Join(r.Cache, string(f.UID))
	store := gitrepo.NewStore(gitrepo.Options{CacheDir: filepath.Join(cache, "git")})
	files, found, err := r.directory(ctx, f, store)
	if err != nil {
		return nil, err
	}
	if found != nil && len(found.other) > 0 {
		out := stalled(reasonOwned, fmt.Errorf("another controller drives %s: stop it and set spec.source.objects.takeOver, or take them out of the selector; nothing was done", strings.Join(decide.Limit(found.other, 3), ", ")))
		return &out, nil
	}
	settled := r.settled(f, files, cache)
	if _, ok := settled.Again(ctx, store); ok {
		return nil, nil
	}
	read, err := files.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	s, done, err := r.open(read, f, store, cache)
	defer done()
	if errors.Is(err, session.ErrNothing) {
		return &outcome{ready: true, reason: reasonDone, message: err.Error()}, nil
	}
	if err != nil {
		out := stalled(reasonInvalid, err)
		return &out, nil
	}
	plan, pulled, err := s.Apply(ctx, func(ctx context.Context) ([]fleet.Pulled, error) {
		list, _, err := fleet.Propose(ctx, s.Engine, fleet.PullRequests{Forge: session.Forges(wire.Budget{}), Fleet: read, Concurrency: 8})
		return list, err
	}, nil)
	if err != nil {
		return nil, err
	}
	fleet.Locate(read, plan)
	if found != nil {
		now := plan
		if !plan.Settled() { // it says what was to be done, and that is done
			if now, err = s.Engine.Survey(ctx); err != nil {
				return nil, err
			}
			fleet.Locate(read, now)
		}
		if err := r.tellObjects(ctx, f, found, read, now); err != nil {
			return nil, err
		}
	}
	if plan.Settled() && s.OnlyRefs() && fleet.Quiet(pulled) {
		settled.Put(store, reconcile.Printed{})
	}
	out := summary(plan, pulled)
	return &out, nil
}

// directory is what the Fleet names, in Git or in the API.
func (r *Reconciler) directory(ctx context.Context, f *variformv1alpha1.Fleet, store *gitrepo.Store) (*source.Directory, *objects, error) {
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
	found, err := r.read(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if r.Watched != nil {
		r.Watched(ctx, client.ObjectKey{Namespace: f.Namespace, Name: f.Name}, found.kinds)
	}
	return source.OfObjects("the objects of Fleet "+f.Namespace+"/"+f.Name, found.all(), source.Options{Manager: f.Spec.Manager}), found, nil
}

// settled remembers a run that had nothing to do, and whose status is written.
func (r *Reconciler) settled(f *variformv1alpha1.Fleet, files *source.Directory, cache string) *reconcile.Settled {
	s := &reconcile.Settled{File: filepath.Join(cache, "settled.json")}
	if digest := files.Digest(); digest != "" {
		s.Inputs = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", version.Program(), f.UID, f.Generation, digest)))
	}
	return s
}

// open makes the engine; done ends what it started.
func (r *Reconciler) open(read *source.Fleet, f *variformv1alpha1.Fleet, store *gitrepo.Store, cache string) (s *session.Session, done func(), err error) {
	functions := render.New(render.Options{
		Builtins: function.Builtin, BuiltinVersion: version.Version, Worker: r.Worker, AllowedImages: session.AllowedImages(),
	})
	spec := &f.Spec
	cfg := reconcile.Config{Prune: spec.Prune, MaxDelete: -1, TakeHeads: true}
	if spec.MaxDeletions != nil {
		cfg.MaxDelete = *spec.MaxDeletions
	}
	s, err = session.Open(read, session.Options{
		Config: cfg, Cache: cache, Git: store, OCI: ocirepo.NewStore(ocirepo.Options{CacheDir: cache}), Functions: functions, Dependencies: true,
	})
	return s, functions.Close, err
}

// tellObjects writes the status of sets, variants and Repositories.
func (r *Reconciler) tellObjects(ctx context.Context, f *variformv1alpha1.Fleet, found *objects, read *source.Fleet, plan *reconcile.Plan) error {
	live := map[source.Key]*unstructured.Unstructured{}
	for n := range found.fleet {
		u := &found.fleet[n]
		live[keyOf(u.GroupVersionKind().Group, u.GetKind(), u.GetNamespace(), u.GetName())] = u
	}
	var failed []error
	put := func(k source.Key, status any) {
		if u := live[k]; u != nil { // a generated variant is no object
			_, err := r.put(ctx, u, status, f.Spec.Source.Objects.TakeOver)
			failed = append(failed, err)
		}
	}
	for _, o := range fleet.StatusObjects(read, plan) {
		switch o := o.(type) {
		case *v1alpha2.PackageVariantSet:
			put(keyOf(v1alpha1.Group, v1alpha2.KindPackageVariantSet, o.Namespace, o.Name), o.Status)
		case *v1alpha1.PackageVariant:
			put(keyOf(v1alpha1.Group, v1alpha1.KindPackageVariant, o.Namespace, o.Name), o.Status)
		}
	}
	for _, rejected := range read.Rejected {
		if rejected.Kind == v1alpha2.KindPackageVariantSet || rejected.Kind == v1alpha1.KindPackageVariant {
			message := rejected.Issues.Error()
			put(rejected.Key, v1alpha1.PackageVariantStatus{Conditions: []metav1.Condition{
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
		if live[k] != nil && writer(live[k]) == "" { // Porch's says what Porch sees of it
			put(k, v1alpha1.PackageVariantStatus{Conditions: []metav1.Condition{c}})
		}
	}
	return errors.Join(failed...)
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
			stalledItems++
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

// tell writes a Fleet's status.
func (r *Reconciler) tell(ctx context.Context, live *unstructured.Unstructured, o outcome) error {
	text := "all validation checks passed"
	stalledReason := "Valid"
	if o.stalled {
		text, stalledReason = o.message, o.reason
	}
	wrote, err := r.put(ctx, live, variformv1alpha1.FleetStatus{ObservedGeneration: live.GetGeneration(), Conditions: []metav1.Condition{
		condition("Stalled", o.stalled, stalledReason, text), condition("Ready", o.ready, o.reason, o.message),
	}}, false)
	if wrote && r.Said != nil {
		r.Said(live, o.ready, o.reason, o.message)
	}
	return err
}
