package controller_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/shard"
)

// TestStatusOfWhatDoesNotRun: a status that says True does not stay so while nothing runs,
// one that says why not does, and one that was written meanwhile counts; probes see whom the
// controller does not get to.
func TestStatusOfWhatDoesNotRun(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	r := &controller.Reconciler{Client: w.api, Reader: w.api, Cache: t.TempDir(), Now: func() time.Time { return now }}
	request := func(doc string) controller.Request {
		live := w.get(doc)
		return controller.Request{NamespacedName: client.ObjectKeyFromObject(live), UID: live.GetUID(), Shard: shard.Shard{Index: 1, Of: 1}}
	}
	fleets := map[string]string{}
	for _, name := range []string{"new", "served", "waiting", "crowded", "running", "failed"} {
		fleets[name] = strings.Replace(fmt.Sprintf(objectsFleet, "10s"), "name: prod", "name: "+name, 1)
		w.apply(fleets[name])
	}
	status := func(name, ready string) {
		doc := w.object(fleets[name] + "status: {observedGeneration: 1, conditions: [{type: Ready, status: '" + ready + "', reason: Was, message: m, observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n")
		delete(doc.Object, "spec")
		if err := w.api.Status().Apply(context.Background(), client.ApplyConfigurationFromUnstructured(doc), client.FieldOwner(controller.FieldManager), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	for name := range fleets {
		if name == "new" {
			continue
		}
		status(name, map[bool]string{true: "False", false: "True"}[name == "failed"])
		r.Began(request(fleets[name]))
		if name != "running" {
			r.Ended(request(fleets[name]), 10*time.Second)
		}
	}
	keep := func() {
		t.Helper()
		if err := r.Keep(context.Background(), client.NewNamespacedClient(w.api, w.namespace)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want map[string]string) {
		t.Helper()
		for name, prefix := range want {
			if got := condition(w.get(fleets[name]), "Ready"); !strings.HasPrefix(got, prefix) || prefix == "" && got != "" {
				t.Errorf("%s: %q, want %q", name, got, prefix)
			}
		}
	}
	keep()
	if ready, alive := r.Probes(); ready != nil || alive != nil {
		t.Error(ready, alive)
	}
	now = now.Add(41 * time.Second)
	r.Began(request(fleets["served"]))
	r.Ended(request(fleets["served"]), 10*time.Second)
	r.Crowded(request(fleets["crowded"]))
	keep()
	expect(map[string]string{
		"new": "False Late: no run has ended since ", "served": "True Was", "waiting": "False Late: no run has ended since ", "failed": "False Was",
		"crowded": "False Late: no run has ended since " + now.Add(-41*time.Second).UTC().Format(time.RFC3339) + ": its servers were slow", "running": "True Was",
	})
	if ready, alive := r.Probes(); ready == nil || alive != nil || !strings.Contains(ready.Error(), "3 runs are overdue and do not begin, that of Fleet "+w.namespace+"/") {
		t.Error(ready, alive)
	}
	now = now.Add(5 * time.Minute)
	keep()
	expect(map[string]string{"running": "False Running: a run is under way since "})
	if _, alive := r.Probes(); alive == nil {
		t.Error("nothing runs for minutes, and the process is thought to be well")
	}
	for _, name := range []string{"new", "waiting", "failed", "served", "crowded"} {
		r.Began(request(fleets[name]))
		r.Ended(request(fleets[name]), time.Hour)
	}
	if ready, alive := r.Probes(); ready != nil || alive != nil { // one that runs is no fault of the queue
		t.Error(ready, alive)
	}
	typed, err := client.New(apiServer, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Leases = controller.NewLeases(typed, typed, w.api, w.namespace, time.Minute)
	if ready, alive := r.Probes(); ready == nil || !strings.Contains(ready.Error(), "the Lease of this replica in namespace "+w.namespace+" is not renewed") || alive != nil {
		t.Error(ready, alive)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- r.Leases.Start(ctx) }()
	w.until("the Lease is renewed", func() bool { ready, alive := r.Probes(); return ready == nil && alive == nil })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLateIsGuarded: what a run wrote since the Fleet was read is not overwritten.
func TestLateIsGuarded(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	r := &controller.Reconciler{Client: w.api, Reader: w.api, Cache: t.TempDir(), Now: func() time.Time { return now }}
	fleet := fmt.Sprintf(objectsFleet, "10s")
	w.apply(fleet)
	stale := &once{Client: client.NewNamespacedClient(w.api, w.namespace)}
	if err := r.Keep(context.Background(), stale); err != nil {
		t.Fatal(err)
	}
	stale.after = func() { // a run ends between reading and writing
		doc := w.object(fleet + "status: {conditions: [{type: Ready, status: 'True', reason: Ran, message: m, observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n")
		delete(doc.Object, "spec")
		if err := w.api.Status().Apply(context.Background(), client.ApplyConfigurationFromUnstructured(doc), client.FieldOwner(controller.FieldManager), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Minute)
	if err := r.Keep(context.Background(), stale); err != nil {
		t.Fatal(err)
	}
	if got := condition(w.get(fleet), "Ready"); !strings.HasPrefix(got, "True Ran") {
		t.Error(got)
	}
}

// once calls a function after a list was read.
type once struct {
	client.Client
	after func()
}

func (o *once) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := o.Client.List(ctx, list, options...)
	if o.after != nil {
		o.after()
	}
	return err
}

// TestNothingStaysOfWhatIsGone: caches and metrics of Fleets and shards that are no more go,
// and nothing else of the folder.
func TestNothingStaysOfWhatIsGone(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.repo("c1")
	w.repo("c2")
	for _, name := range []string{"catalog", "c1", "c2"} {
		w.apply(repository(name, w.git.RepoURL(name), name != "catalog"))
	}
	w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: north}\n", fmt.Sprintf(webSet, "{name: c1}, {name: c2}"))
	w.replica(2 * time.Second)
	cache := w.caches[0]
	for _, other := range []string{"git", "0f0f0f0f-0000-4000-8000-00000000000g", "00000000-0000-4000-8000-000000000000"} {
		if err := os.MkdirAll(filepath.Join(cache, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sharded := strings.Replace(fmt.Sprintf(objectsFleet, "1s"), "prune: true", "shards: 3", 1)
	w.apply(sharded)
	w.says(sharded, "Ready", "True Reconciled")
	uid := string(w.get(sharded).GetUID())
	folders := func() (out []string) {
		list, _ := os.ReadDir(filepath.Join(cache, uid))
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "shard-") {
				out = append(out, e.Name())
			}
		}
		return out
	}
	if got := folders(); !slices.Equal(got, []string{"shard-1-of-3", "shard-2-of-3", "shard-3-of-3"}) {
		t.Fatal(got)
	}
	if w.metric("variform_fleet_runs_total 3/3") == 0 || w.metric("variform_fleet_last_success_timestamp_seconds 3/3") == 0 {
		t.Fatal("the third shard has no metrics")
	}
	whole := strings.Replace(sharded, "shards: 3", "shards: 2", 1)
	w.apply(whole)
	w.says(whole, "Ready", "True Reconciled")
	w.until("the old shards' caches are gone", func() bool { return slices.Equal(folders(), []string{"shard-1-of-2", "shard-2-of-2"}) })
	w.until("the old shards' metrics are gone", func() bool {
		return w.metric("variform_fleet_runs_total 3/3")+w.metric("variform_fleet_last_success_timestamp_seconds 3/3")+w.metric("variform_fleet_package_variants 1/3") == 0
	})
	if w.metric("variform_fleet_runs_total 2/2") == 0 {
		t.Error("the new shards have no metrics")
	}
	if err := w.api.Delete(context.Background(), w.object(whole)); err != nil {
		t.Fatal(err)
	}
	w.until("the Fleet's cache is gone", func() bool {
		list, _ := os.ReadDir(cache)
		var names []string
		for _, e := range list {
			names = append(names, e.Name())
		}
		return slices.Equal(names, []string{"0f0f0f0f-0000-4000-8000-00000000000g", "git"})
	})
	w.until("its metrics are gone", func() bool {
		return w.metric("variform_fleet_runs_total")+w.metric("variform_fleet_package_variants") == 0
	})
}

// TestUnreachableIsNotStalled: a server that is away needs no person, one that is not there
// does; both are told, and one of several repositories that is away stops no other.
func TestUnreachableIsNotStalled(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.repo("c1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	away := "http://" + l.Addr().String() + "/c2.git"
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), repository("c2", away, true))
	set := strings.Replace(fmt.Sprintf(webSet, "{name: c1}, {name: c2}"), "      injectors: [{group: \"\", version: v1, kind: ConfigMap, name: site}]\n", "", 1)
	fleet := fmt.Sprintf(objectsFleet, "1s")
	w.apply(set, fleet)
	w.start()
	w.says(fleet, "Ready", "False Error")
	w.says(fleet, "Stalled", "False")
	w.says(set, "Stalled", "False")
	w.until("the other is drafted", func() bool { return len(branches(w.repos["c1"], t)) == 1 })
	w.apply(repository("c2", w.git.RepoURL("no-such"), true))
	w.says(fleet, "Stalled", "True")
	w.apply(repository("catalog", strings.Replace(away, "c2", "catalog", 1), false), repository("c2", away, true))
	w.says(fleet, "Stalled", "False")
	w.says(set, "Stalled", "False")
	w.says(fleet, "Ready", "False Error")
}
