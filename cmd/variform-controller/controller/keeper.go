package controller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/internal/shard"
)

// beats records for each shard when its last run began and ended, and when the next is due.
type beats struct {
	mu sync.Mutex
	of map[Request]*beat
}

type beat struct {
	ended time.Time // when the last run ended, or the shard was first seen
	due   time.Time
	began time.Time // of the run under way; zero is none
	// crowded reports that the Fleet is slow and waits for a place in the slow lane.
	crowded bool
}

const (
	// lateGrace is how long a run may be overdue before the Fleet's status reports it.
	lateGrace = 30 * time.Second
	// stuckGrace is how long a run may be overdue before the liveness probe fails.
	stuckGrace = 5 * time.Minute
)

// get returns a shard's beat; the lock is held.
func (b *beats) get(r Request, now time.Time) *beat {
	if b.of == nil {
		b.of = map[Request]*beat{}
	}
	if b.of[r] == nil {
		b.of[r] = &beat{ended: now, due: now}
	}
	return b.of[r]
}

func (b *beats) begin(r Request, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(r, now)
	one.began, one.crowded = now, false
}

// end notes that the next run is due after a while.
func (b *beats) end(r Request, now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(r, now)
	one.ended, one.due, one.began = now, now.Add(after), time.Time{}
}

// wait notes that a shard had no place.
func (b *beats) wait(r Request, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.get(r, now).crowded = true
}

// keep drops all shards that this replica does not hold, and adds those that it does.
func (b *beats) keep(held sets.Set[Request], now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.of, func(r Request, one *beat) bool { return !held.Has(r) && one.began.IsZero() })
	for r := range held {
		b.get(r, now)
	}
}

// late returns the shards whose last run ended too long ago for their status to be true.
func (b *beats) late(now time.Time) map[Request]beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[Request]beat{}
	for r, one := range b.of {
		if one.began.IsZero() && now.Sub(one.due) > lateGrace || !one.began.IsZero() && now.Sub(one.began) > stuckGrace {
			out[r] = *one
		}
	}
	return out
}

// waiting returns an error if shards have been due for longer than grace and no run of them
// began: nobody serves the queue.
func (b *beats) waiting(now time.Time, grace time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, oldest, whose := 0, now, Request{}
	for r, one := range b.of {
		if !one.began.IsZero() || one.crowded || now.Sub(one.due) <= grace {
			continue
		}
		if n++; one.due.Before(oldest) {
			oldest, whose = one.due, r
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d runs are overdue and do not begin, that of Fleet %s since %s", n, whose.NamespacedName, oldest.UTC().Format(time.RFC3339))
}

func (b *beats) running(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r, one := range b.of {
		if r.UID == uid && !one.began.IsZero() {
			return true
		}
	}
	return false
}

// keeper corrects the status of Fleets whose runs do not end, and deletes caches and metrics
// of Fleets and shards that no longer exist.
type keeper struct {
	*Reconciler
	fleets client.Reader // from a cache
}

const keepEvery = 5 * time.Second

// NeedLeaderElection implements manager.LeaderElectionRunnable: all replicas work.
func (k *keeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (k *keeper) Start(ctx context.Context) error {
	log := ctrl.Log.WithName("keeper")
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		if err := k.round(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "looking after Fleets failed, and is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k *keeper) round(ctx context.Context) error {
	list, err := listFleets(ctx, k.fleets)
	if err != nil {
		return err
	}
	live, held := map[Request]*unstructured.Unstructured{}, sets.New[Request]()
	for n := range list.Items {
		f := &list.Items[n]
		for _, r := range eachShard(requestOf(f)) {
			live[r] = f
			if suspended, _, _ := unstructured.NestedBool(f.Object, "spec", "suspend"); !suspended && (k.Leases == nil || k.Leases.holding(r)) {
				held.Insert(r)
			}
		}
	}
	now := k.Now()
	k.beats.keep(held, now)
	k.knows.keep(live)
	k.wakes.keep(live)
	k.Metrics.keep(held)
	k.sweep(live)
	late := k.beats.late(now)
	k.Metrics.late(len(late))
	for r, b := range late {
		if live[r] == nil {
			continue
		}
		if err := k.tellLate(ctx, live[r], r.Shard, b.outcome()); err != nil {
			return err
		}
	}
	return nil
}

// outcome returns what the status reports of a shard whose last run ended too long ago.
func (b beat) outcome() outcome {
	since := b.ended.UTC().Format(time.RFC3339)
	switch {
	case !b.began.IsZero():
		return outcome{reason: reasonRunning, message: "a run is under way since " + b.began.UTC().Format(time.RFC3339) + ", and none has ended since " + since}
	case b.crowded:
		return outcome{reason: reasonLate, message: "no run has ended since " + since + ": its servers were slow, and it waits for other slow Fleets"}
	}
	return outcome{reason: reasonLate, message: "no run has ended since " + since + ": the controller does not get to it"}
}

// sweep deletes the caches of Fleets and shards that no longer exist. It leaves folders that
// the controller did not name.
func (k *keeper) sweep(live map[Request]*unstructured.Unstructured) {
	shards := map[string]sets.Set[string]{}
	for r := range live {
		if shards[string(r.UID)] == nil {
			shards[string(r.UID)] = sets.New[string]()
		}
		shards[string(r.UID)].Insert(shardFolder(r.Shard))
	}
	fleets, _ := os.ReadDir(k.Cache)
	for _, f := range fleets {
		if !f.IsDir() || !isUID(f.Name()) || k.beats.running(types.UID(f.Name())) {
			continue
		}
		dir := filepath.Join(k.Cache, f.Name())
		if shards[f.Name()] == nil {
			_ = os.RemoveAll(dir) // else the next round does
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), shardPrefix) && !shards[f.Name()].Has(e.Name()) {
				_ = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}
}

const shardPrefix = "shard-"

// shardFolder returns a shard's folder in the cache of its Fleet, "" for a whole Fleet.
func shardFolder(part shard.Shard) string {
	if part.Whole() {
		return ""
	}
	return fmt.Sprintf("%s%d-of-%d", shardPrefix, part.Index, part.Of)
}

// isUID reports whether a folder is named as Kubernetes names objects.
func isUID(name string) bool {
	return len(name) == 36 && strings.Count(name, "-") == 4 && strings.Trim(name, "0123456789abcdef-") == ""
}
