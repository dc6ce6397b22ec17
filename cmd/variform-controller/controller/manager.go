package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/variform/variform/api"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/shard"
)

// Setup adds the reconciler to a manager, with its watches: Fleets, what makes fleets, and
// what they select and inject, each by metadata alone; the content is read when a fleet runs.
func Setup(m manager.Manager, r *Reconciler) error {
	w := &watches{manager: m, running: map[watched]*watch{}}
	r.As = func(account client.ObjectKey) (client.Reader, error) {
		return client.New(impersonating(m.GetConfig(), account), client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()})
	}
	r.lanes = newLanes(max(1, r.Concurrency))
	fleet := &unstructured.Unstructured{}
	fleet.SetGroupVersionKind(fleetKind)
	b := builder.TypedControllerManagedBy[Request](m).Named("fleet").
		WithOptions(controller.TypedOptions[Request]{MaxConcurrentReconciles: r.lanes.workers(), RateLimiter: again()}).
		WithLogConstructor(func(req *Request) logr.Logger {
			log := m.GetLogger().WithValues("controller", "fleet")
			if req != nil {
				log = log.WithValues("namespace", req.Namespace, "name", req.Name, "shard", req.Shard.String())
			}
			return log
		}).
		Watches(fleet, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []Request {
			return eachShard(requestOf(o.(*unstructured.Unstructured)))
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(fleet, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []Request {
			return eachShard(requestOf(o.(*unstructured.Unstructured)))[:1] // it tells of what belongs to all
		}), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
			UpdateFunc: func(e event.UpdateEvent) bool { return othersTold(e.ObjectOld, e.ObjectNew) },
		}))
	if r.Leases != nil {
		if err := m.Add(r.Leases); err != nil {
			return err
		}
		r.Leases.Woken, r.Leases.Taken = r.wakes.wake, r.knows.forget
	}
	r.Metrics.watch(r)
	if err := errors.Join(m.Add(&keeper{r, m.GetCache()}), m.AddReadyzCheck("work", r.ready), m.AddHealthzCheck("work", r.alive)); err != nil {
		return err
	}
	b = b.WatchesRawSource(ctrlsource.TypedFunc[Request](func(_ context.Context, q workqueue.TypedRateLimitingInterface[Request]) error {
		r.wakes.mu.Lock()
		r.wakes.queue = q
		r.wakes.mu.Unlock()
		if r.Leases != nil {
			r.Leases.QueueTo(q)
		}
		return nil
	}))
	w.wake = handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []Request {
		// From the cache: each object of a namespace is an event when this program starts.
		return fleetsOf(ctx, m.GetCache(), o.GetNamespace())
	})
	for _, k := range []schema.GroupVersionKind{repositoryKind, setKind, variantKind} {
		if _, err := m.GetRESTMapper().RESTMapping(k.GroupKind(), k.Version); err != nil {
			continue // a Fleet in Git needs none of them
		}
		// Our own status is no news, of these kinds.
		b = b.WatchesMetadata(partial(k), w.wake, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})))
	}
	for _, k := range asked {
		if _, err := m.GetRESTMapper().RESTMapping(k.GroupKind(), k.Version); err == nil {
			b = b.WatchesMetadata(partial(k), w.wake, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
		}
	}
	events := m.GetEventRecorder(FieldManager)
	r.Watched = w.watch
	r.Said = func(f *unstructured.Unstructured, ready bool, reason, message string) {
		kind := corev1.EventTypeNormal
		if !ready && reason != reasonSuspended {
			kind = corev1.EventTypeWarning
		}
		events.Eventf(f, nil, kind, reason, "Reconcile", "%s", cut(message))
	}
	var err error
	if w.controller, err = b.Build(r); err != nil {
		return fmt.Errorf("the controller of Fleets: %w", err)
	}
	return nil
}

// again is when what failed is tried again: at once, then later and later, but no later than
// a Fleet is looked at that says nothing of it. What was away for hours is not waited for
// longer once it is back.
func again() workqueue.TypedRateLimiter[Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[Request](5*time.Millisecond, defaultInterval)
}

// Wake has those run, on any replica, that a repository concerns.
func (r *Reconciler) Wake(keys []string) {
	r.wakes.wake(keys)
	if r.Leases != nil {
		r.Leases.Tell(keys)
	}
}

// cut keeps a message within what an Event may hold.
func cut(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

// othersTold says that a shard of a Fleet other than the first told something new.
func othersTold(before, now client.Object) bool {
	of := ShardsOf(now.(*unstructured.Unstructured).Object)
	told := func(o client.Object) []variformv1alpha1.FleetShardStatus {
		return slices.DeleteFunc(shardsTold(o.(*unstructured.Unstructured), of), func(s variformv1alpha1.FleetShardStatus) bool { return strings.HasPrefix(s.Shard, "1/") })
	}
	return !slices.Equal(told(before), told(now))
}

// ShardsOf is how many shards a Fleet has.
func ShardsOf(fleet map[string]any) int {
	n, _, _ := unstructured.NestedInt64(fleet, "spec", "shards")
	return int(max(1, min(n, api.MostShards)))
}

// requestOf is a Fleet's, of no shard yet.
func requestOf(fleet *unstructured.Unstructured) Request {
	return Request{client.ObjectKeyFromObject(fleet), fleet.GetUID(), shard.Shard{Of: ShardsOf(fleet.Object)}}
}

func eachShard(fleet Request) (out []Request) {
	for n := range fleet.Shard.Of {
		fleet.Shard.Index = n + 1
		out = append(out, fleet)
	}
	return out
}

func listFleets(ctx context.Context, c client.Reader, options ...client.ListOption) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(fleetKind.GroupVersion().WithKind(fleetKind.Kind + "List"))
	if err := c.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing Fleets: %w", err)
	}
	return list, nil
}

// fleetsOf are the Fleets of a namespace that are made of its objects.
func fleetsOf(ctx context.Context, c client.Reader, namespace string) (out []Request) {
	list, err := listFleets(ctx, c, client.InNamespace(namespace))
	if err != nil {
		return nil // they look by themselves after their interval
	}
	for n := range list.Items {
		if _, found, _ := unstructured.NestedMap(list.Items[n].Object, "spec", "source", "objects"); found {
			out = append(out, eachShard(requestOf(&list.Items[n]))...)
		}
	}
	return out
}

func partial(k schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{}
	p.SetGroupVersionKind(k)
	return p
}

// watches start and stop with those that use them.
type watches struct {
	manager    manager.Manager
	controller controller.TypedController[Request]
	wake       handler.TypedEventHandler[client.Object, Request]

	mu      sync.Mutex
	running map[watched]*watch
}

// watched is what is watched, and with whose rights: those of an account see what it may
// see, and the zero value is the controller, whose watches all Fleets share.
type watched struct {
	account client.ObjectKey
	kind    schema.GroupVersionKind
}

type watch struct {
	users map[client.ObjectKey]bool
	stop  func() error
}

// watch has a Fleet woken by the objects of some kinds and no others.
func (w *watches) watch(ctx context.Context, fleet, account client.ObjectKey, kinds []schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := ctrl.LoggerFrom(ctx)
	wanted := map[watched]bool{}
	for _, kind := range kinds {
		k := watched{account, kind}
		wanted[k] = true
		if w.running[k] == nil {
			stop, err := w.start(k)
			if err != nil {
				log.Error(err, "a kind is not watched: its changes are seen after the interval", "kind", kind.String())
				continue
			}
			w.running[k] = &watch{users: map[client.ObjectKey]bool{}, stop: stop}
		}
		w.running[k].users[fleet] = true
	}
	for k, one := range w.running {
		if wanted[k] {
			continue
		}
		delete(one.users, fleet)
		if len(one.users) == 0 {
			delete(w.running, k)
			if err := one.stop(); err != nil {
				log.Error(err, "a watch that nobody uses goes on", "kind", k.kind.String())
			}
		}
	}
}

func (w *watches) start(k watched) (stop func() error, err error) {
	if k.account.Name == "" {
		source := ctrlsource.TypedKind[client.Object, Request](w.manager.GetCache(), partial(k.kind), w.wake)
		return func() error { return w.manager.GetCache().RemoveInformer(context.Background(), partial(k.kind)) }, w.controller.Watch(source)
	}
	own, err := cache.New(impersonating(w.manager.GetConfig(), k.account), cache.Options{
		Scheme: w.manager.GetScheme(), Mapper: w.manager.GetRESTMapper(),
		DefaultNamespaces: map[string]cache.Config{k.account.Namespace: {}}, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("watching as ServiceAccount %s: %w", k.account, err)
	}
	stopped := make(chan struct{})
	source := ctrlsource.TypedFunc[Request](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[Request]) error {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer cancel()
			select {
			case <-stopped:
			case <-ctx.Done():
			}
		}()
		go func() { _ = own.Start(ctx) }() // it ends with ctx, and has no other error
		return ctrlsource.TypedKind[client.Object, Request](own, partial(k.kind), w.wake).Start(ctx, q)
	})
	return func() error { close(stopped); return nil }, w.controller.Watch(source)
}
