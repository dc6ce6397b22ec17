package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/version"
)

// worker stands for a replica: it runs what comes to it for random times, and is cut off
// from the API server at will.
type worker struct {
	*controller.Leases
	cut  atomic.Bool
	stop context.CancelFunc
	gone chan struct{}
}

// lines are what runs at present, by the shard of a number of shards.
type lines struct {
	mu   sync.Mutex
	runs map[controller.Request]string
	did  map[controller.Request]int
	bad  []string
}

// enter notes a run. Shards of different numbers have repositories in common.
func (l *lines) enter(r controller.Request, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, by := range l.runs {
		if other.UID == r.UID && (other == r || other.Shard.Of != r.Shard.Of) {
			l.bad = append(l.bad, fmt.Sprintf("%s runs %s while %s runs %s", who, r.Shard, by, other.Shard))
		}
	}
	l.runs[r] = who
	l.did[r]++
}

func (l *lines) leave(r controller.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, r)
}

// ran says that each shard of a Fleet was run since the last time this was asked.
func (l *lines) ran(of int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for r := range l.did {
		if r.Shard.Of == of {
			n++
		}
	}
	return n == of
}

func (l *lines) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.did)
}

func (w *world) worker(l *lines, name string) *worker {
	w.Helper()
	k := &worker{gone: make(chan struct{})}
	cfg := rest.CopyConfig(apiServer)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if k.cut.Load() {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(r)
		})
	})
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	k.Leases = controller.NewLeases(c, c, client.NewNamespacedClient(c, w.namespace), w.namespace, time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[controller.Request]())
	k.QueueTo(queue)
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = func() { cancel(); <-k.gone }
	w.Cleanup(k.stop)
	go func() {
		defer close(k.gone)
		_ = k.Start(ctx)
		queue.ShutDown()
	}()
	for range 4 {
		go func() {
			for {
				r, end := queue.Get()
				if end {
					return
				}
				// As Reconcile does: the Fleet is read after the shard is had.
				if run, done, ok := k.Begin(ctx, r); ok {
					u := &unstructured.Unstructured{}
					u.SetGroupVersionKind(w.object("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: x}\n").GroupVersionKind())
					if c.Get(run, r.NamespacedName, u) == nil && controller.ShardsOf(u.Object) == r.Shard.Of {
						l.enter(r, name)
						select {
						case <-run.Done():
						case <-time.After(time.Duration(rand.Int63n(int64(300 * time.Millisecond)))):
						}
						l.leave(r)
					}
					done()
				}
				queue.Done(r)
				queue.AddAfter(r, time.Duration(rand.Int63n(int64(50*time.Millisecond))))
			}
		}()
	}
	return k
}

// TestLeases: whatever becomes of replicas and of the number of shards, no shard runs
// twice at once, and each goes on running somewhere.
func TestLeases(t *testing.T) {
	w := newWorld(t)
	fleet := func(shards int) string {
		return fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {objects: {}}, manager: me, shards: %d}\n", shards)
	}
	w.apply(fleet(6))
	l := &lines{runs: map[controller.Request]string{}, did: map[controller.Request]int{}}
	all := func(of int) {
		t.Helper()
		l.again()
		w.until(fmt.Sprintf("ran all %d shards", of), func() bool { return l.ran(of) })
	}
	a := w.worker(l, "a")
	all(6)
	b := w.worker(l, "b")
	balanced := func(want ...int) {
		t.Helper()
		var got []int
		w.until(fmt.Sprintf("shared as %v", want), func() bool {
			got = w.share("-of-6")
			return slices.Equal(got, want)
		})
	}
	balanced(3, 3)
	c := w.worker(l, "c")
	balanced(2, 2, 2)
	all(6)
	c.cut.Store(true) // it knows by itself that it is to stop
	balanced(0, 3, 3)
	all(6)
	c.cut.Store(false) // it comes back under another name
	balanced(2, 2, 2)
	a.stop() // in order: nobody waits
	balanced(3, 3)
	w.apply(fleet(4))
	all(4)
	w.apply(fleet(1))
	all(1)
	b.cut.Store(true)
	c.cut.Store(true)
	time.Sleep(2 * time.Second)
	b.cut.Store(false)
	c.cut.Store(false)
	all(1)
	if err := w.api.Delete(context.Background(), w.object(fleet(1))); err != nil {
		t.Fatal(err)
	}
	w.until("swept", func() bool { return len(w.leases("shard")) == 0 })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, bad := range l.bad {
		t.Error(bad)
	}
}

func (w *world) leases(kind string) []coordinationv1.Lease {
	w.Helper()
	c, err := client.New(apiServer, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	list := &coordinationv1.LeaseList{}
	if err := c.List(context.Background(), list, client.InNamespace(w.namespace), client.MatchingLabels{"variform.dev/lease": kind}); err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// share is how many shards each replica has that has a Lease, the fewest first.
func (w *world) share(of string) (out []int) {
	by := map[string]int{}
	for _, l := range w.leases("replica") {
		by[*l.Spec.HolderIdentity] = 0
	}
	for _, l := range w.leases("shard") {
		if strings.HasSuffix(l.Name, of) {
			by[*l.Spec.HolderIdentity]++
		}
	}
	for _, n := range by {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// replicaMain is a controller in a process of its own, which can be killed.
func replicaMain(args string) {
	words := strings.SplitN(args, ",", 4)
	file, namespace, as, cacheDir := words[0], words[1], words[2], words[3]
	if as != "" {
		version.Version = as
	}
	log.SetLogger(zap.New())
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err == nil {
		var m interface{ Start(context.Context) error }
		if m, _, err = newController(cfg, namespace, cacheDir, 2*time.Second, prometheus.NewRegistry()); err == nil {
			err = m.Start(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process starts a replica that can be killed, of a version or of this.
func (w *world) process(as string) *exec.Cmd {
	w.Helper()
	file := filepath.Join(w.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		w.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), "VARIFORM_TEST_REPLICA="+strings.Join([]string{file, w.namespace, as, w.TempDir()}, ","))
	c.Stdout, c.Stderr = logs, logs
	if err := c.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// TestShardedFleet: replicas that are killed at random moments lose nothing; each shard
// tells of itself, and the sum is right, of sets whose variants several shards have too.
// What they come to is what a command comes to, commit for commit.
func TestShardedFleet(t *testing.T) {
	random := moments(t)
	w := newWide(t, 6, 4)
	fleet, set := w.fleet, w.set
	want := w.byCommand(1+*kills, nil)
	replicas := []*exec.Cmd{w.process(""), w.process("")}
	w.says(fleet, "Ready", "True Reconciled")
	w.says(set, "Ready", "True")
	if diff := cmp.Diff(want[0], w.refs()); diff != "" {
		t.Fatalf("Ready before all shards ran: -command +controller\n%s", diff)
	}
	for n := 1; n <= *kills; n++ {
		w.apply(siteOf(n))
		after := time.Duration(random.Int63n(int64(1500 * time.Millisecond)))
		k := random.Intn(len(replicas))
		time.Sleep(after)
		_ = replicas[k].Process.Kill()
		_ = replicas[k].Wait()
		w.comesTo(want[n])
		replicas[k] = w.process("")
	}
	w.says(fleet, "Ready", "True Reconciled")
	told, _, _ := unstructured.NestedSlice(w.get(fleet).Object, "status", "shards")
	if len(told) != 4 {
		t.Errorf("%d shards told", len(told))
	}

	// The set's status is of all shards, whoever runs them.
	bad := strings.Replace(set, "{name: c0}", "{name: c0}, {name: nowhere}", 1)
	w.apply(bad)
	w.says(set, "Ready", "False")
	w.says(fleet, "Ready", "False Error")
	w.apply(strings.Replace(set, "{name: c0}, ", "", 1))
	w.until("pruned", func() bool { return len(branches(w.repos["c0"], t)) == 0 })
	w.says(fleet, "Ready", "True Reconciled")

	// Fewer shards: what shards told that are no more goes.
	w.apply(strings.Replace(fleet, "shards: 4", "shards: 1", 1))
	w.says(fleet, "Ready", "True Reconciled: 5 package variants")
	if told, _, _ := unstructured.NestedSlice(w.get(fleet).Object, "status", "shards"); len(told) != 0 {
		t.Errorf("%v", told)
	}
}
