package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/wire"
)

// known is what the last run of a shard came to, so that an event is decided for what
// depends on it and told of the whole. Losing it costs a run of the whole.
type known struct {
	generation int64     // of the Fleet
	looked     time.Time // at the whole
	ground     *fleet.Ground
	// done is what was done and surveyed how it stands since, of all variants.
	done, surveyed *reconcile.Plan
	// asking are the repositories of targets whose dependencies were asked for.
	asking map[decide.Identity]bool
	out    outcome
}

// due says that the whole is to be looked at.
func (k *known) due(f *variformv1alpha1.Fleet, now time.Time) bool {
	return k == nil || k.generation != f.Generation || !now.Before(k.looked.Add(interval(f)))
}

// knowledge is what is known of shards.
type knowledge struct {
	mu   sync.Mutex
	of   map[Request]*known
	slow map[client.ObjectKey]*wire.Slow // servers, by the Fleet that asked them
	apps map[client.ObjectKey]*forge.App // by the Fleet whose Secret describes it
}

// appOf returns the App that was kept for a Fleet where that is the same, and else keeps this one.
func (k *knowledge) appOf(fleet client.ObjectKey, app *forge.App) *forge.App {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.apps == nil {
		k.apps = map[client.ObjectKey]*forge.App{}
	}
	if !k.apps[fleet].Same(app) {
		k.apps[fleet] = app
	}
	return k.apps[fleet]
}

// slowOf returns what a Fleet's servers were too slow for, which no other Fleet pays for.
func (k *knowledge) slowOf(fleet client.ObjectKey) *wire.Slow {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.slow == nil {
		k.slow = map[client.ObjectKey]*wire.Slow{}
	}
	if k.slow[fleet] == nil {
		k.slow[fleet] = &wire.Slow{}
	}
	return k.slow[fleet]
}

func (k *knowledge) get(r Request) *known {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[r]
}

func (k *knowledge) put(r Request, now *known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[Request]*known{}
	}
	if k.of[r] = now; now == nil {
		delete(k.of, r)
	}
}

func (k *knowledge) forget(r Request) { k.put(r, nil) }

func (k *knowledge) forgetFleet(fleet client.ObjectKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.of, func(r Request, _ *known) bool { return r.NamespacedName == fleet })
	delete(k.slow, fleet)
	delete(k.apps, fleet)
}

// keep forgets shards and Fleets other than these.
func (k *knowledge) keep(live map[Request]*unstructured.Unstructured) {
	fleets := map[client.ObjectKey]bool{}
	for r := range live {
		fleets[r.NamespacedName] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.of, func(r Request, _ *known) bool { return live[r] == nil })
	maps.DeleteFunc(k.slow, func(fleet client.ObjectKey, _ *wire.Slow) bool { return !fleets[fleet] })
}

// rest is the time until the whole is to be looked at.
func (k *knowledge) rest(r Request, interval time.Duration, now time.Time) time.Duration {
	if known := k.get(r); known != nil {
		return max(known.looked.Add(interval).Sub(now), time.Millisecond)
	}
	return interval
}

// learn keeps what a run of the whole came to, unless something is wrong that belongs to
// no variant: that is told by the whole alone.
func (r *Reconciler) learn(req Request, f *variformv1alpha1.Fleet, ground *fleet.Ground, plan, surveyed *reconcile.Plan, pulled []fleet.Pulled, out outcome) {
	if req.Shard.Index == 1 && !req.Shard.Whole() {
		return // it tells of the whole fleet, which it reads for that
	}
	if len(plan.Problems)+len(surveyed.Problems)+len(plan.Braked) > 0 || plan.SetsFail() || fleet.Refused(pulled) {
		return
	}
	k := &known{generation: f.Generation, looked: r.Now(), ground: ground, done: plan.Rest(), surveyed: surveyed.Rest(), asking: map[decide.Identity]bool{}, out: out}
	k.asks(plan)
	r.knows.put(req, k)
}

func (k *known) asks(plan *reconcile.Plan) {
	for _, t := range plan.Targets {
		k.asking[decide.Identity{Namespace: t.Namespace, Repository: t.Repository}] = true
	}
}

// event decides what differs from what is known, for the repositories that it concerns
// alone. ok is false where that is for the whole: nothing was told then, and what was
// pushed is what the whole would have.
func (r *Reconciler) event(ctx context.Context, req Request, at place, read *source.Fleet, found *objects, k *known, ground *fleet.Ground, moved []string) (out outcome, ok bool, err error) {
	part, ok := ground.Since(k.ground, repositoriesMoved(read, moved), asking(read, k))
	if !ok {
		return out, false, nil
	}
	part = slices.DeleteFunc(part, func(key string) bool { return !at.shard.Has(key) })
	if len(part) == 0 {
		k.ground = ground
		return k.out, true, nil
	}
	within := map[string]bool{}
	for _, key := range part {
		within[key] = true
	}
	s, done, err := r.open(read, at, within)
	defer done()
	if err != nil {
		return out, false, nil // the whole tells it
	}
	plan, pulled, err := apply(ctx, s, at.logins)
	if err != nil {
		return out, false, err
	}
	now := plan
	if found != nil {
		if now, err = after(ctx, s, found, plan, at.logins); err != nil {
			return out, false, err
		}
	}
	if !plan.Alone() || !now.Alone() || fleet.Refused(pulled) {
		return out, false, nil
	}
	k.ground, k.done, k.surveyed = ground, plan.Into(k.done), now.Into(k.surveyed)
	k.asks(plan)
	r.follow(req, ground, plan)
	if found != nil {
		t := r.teller(ctx, at.fleet, found)
		t.variants(now)
		if at.shard.Whole() {
			t.rest(read, k.surveyed)
		}
		if err := t.err(); err != nil {
			return out, false, err
		}
	}
	k.out = summary(k.done, nil)
	k.out.states = statesOf(k.done)
	return k.out, true, nil
}

// follow has run what follows from what a run moved: what comes from there, and the first
// shard, which may have told of sets before.
func (r *Reconciler) follow(req Request, ground *fleet.Ground, plan *reconcile.Plan) {
	moved := plan.Moved()
	r.wakes.again(req, ground.Upstreams(moved))
	if len(moved) > 0 && req.Shard.Index > 1 {
		r.Wake([]string{othersKey(req)})
	}
}

// repositoriesMoved are the fleet's repositories that these keys stand for.
func repositoriesMoved(read *source.Fleet, keys []string) (out []string) {
	for _, repo := range read.Repositories {
		if g := repo.Spec.Git; g != nil && slices.Contains(keys, wakeKey(g.Repo)) {
			out = append(out, observe.ShardKey(repo))
		}
	}
	return out
}

func asking(read *source.Fleet, k *known) (out []string) {
	for _, repo := range read.Repositories {
		if k.asking[decide.Identity{Namespace: repo.Namespace, Repository: repo.Name}] {
			out = append(out, observe.ShardKey(repo))
		}
	}
	return out
}
