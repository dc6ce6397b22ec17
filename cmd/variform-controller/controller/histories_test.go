package controller_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/test/histories"
)

var people = histories.Flags("people.")

// TestHistories plays the histories of test/histories by the controller: all that they
// promise holds, and each of its runs, unless something happens meanwhile, comes to the
// refs of the command, commit for commit, to its pull requests and its status. Fleets are objects or in Git,
// whole or in shards; runs are by events and by time, and of a program that began anew.
func TestHistories(t *testing.T) {
	c := *people
	if c.Histories == 0 {
		c.Histories = 12
	}
	byController(t, c)
}

// TestHistoriesFound plays those in which something was wrong once.
func TestHistoriesFound(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no histories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { byController(t, histories.Choice{Script: file}) })
	}
}

func byController(t *testing.T, c histories.Choice) {
	t.Helper()
	if apiServer == nil {
		t.Skip("skipped: TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD name no API server and etcd: run make controller")
	}
	api, err := client.New(apiServer, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	histories.PlayBy(t, c, func(seed uint64) (histories.Twin, func()) { return newTwin(t, api, seed) })
}

// twin is a controller whose queue is worked off here, so that nothing of it goes on while
// people and the command work.
type twin struct {
	world
	*controller.Reconciler
	queue workqueue.TypedRateLimitingInterface[controller.Request]
	docs  map[string]string // those of the API, by their files' names
	of    int               // shards
	now   time.Time
	runs  int
}

// newTwin is that of a seed. The namespace is the one that documents have which name none.
func newTwin(t *testing.T, api client.Client, seed uint64) (histories.Twin, func()) {
	w := &twin{world: world{TB: t, api: api, namespace: "default"}, docs: map[string]string{}, of: 1, now: time.Now()}
	if seed%4 == 0 {
		w.of = 2
	}
	w.caches = []string{t.TempDir()}
	w.begin()
	return w, func() {
		w.queue.ShutDown()
		w.bring(context.Background(), map[string]string{})
		if err := os.RemoveAll(w.caches[0]); err != nil {
			t.Error(err)
		}
	}
}

// begin is what a program knows that has just begun, beside what is kept in its cache.
func (w *twin) begin() {
	cfg := rest.CopyConfig(apiServer)
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		w.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, client)
	if err != nil {
		w.Fatal(err)
	}
	w.Reconciler = &controller.Reconciler{Client: w.api, Reader: w.api, Mapper: mapper, Cache: w.caches[0], Now: func() time.Time { return w.now }}
	if w.queue != nil {
		w.queue.ShutDown()
	}
	w.queue = workqueue.NewTypedRateLimitingQueue(controller.Again())
	w.QueueTo(w.queue)
}

// Apply implements histories.Twin.
func (w *twin) Apply(ctx context.Context, run histories.Run) (bool, error) {
	docs := map[string]string{}
	if !inGit(run) {
		docs = read(w, run.Fleet)
	}
	docs["fleet"] = w.fleet(run)
	w.bring(context.Background(), docs)
	w.runs++
	told := run.Asked // where no ref moves nobody finds it out
	switch {
	case w.runs%7 == 0 && len(told) == 0:
		w.begin()
	case w.runs%3 == 0:
		w.now = w.now.Add(2 * time.Hour) // past the interval: nobody needs to tell
	default:
		told = slices.Concat(told, run.Moved)
	}
	for _, address := range told {
		push(w, w.Reconciler, address)
	}
	live := w.get(docs["fleet"])
	for n := range w.of {
		w.queue.Add(controller.Request{NamespacedName: client.ObjectKeyFromObject(live), UID: live.GetUID(), Shard: shard.Shard{Index: n + 1, Of: w.of}})
	}
	if err := w.work(ctx); err != nil {
		return false, err
	}
	return strings.HasPrefix(condition(w.get(docs["fleet"]), "Ready"), "True "), nil
}

func inGit(run histories.Run) bool { return strings.Contains(run.Fleet, "://") }

// work runs what is in the queue, and again what fails.
func (w *twin) work(ctx context.Context) error {
	for tries := 0; w.queue.Len() > 0 && ctx.Err() == nil; {
		req, _ := w.queue.Get()
		_, err := w.Reconcile(ctx, req)
		w.queue.Done(req)
		if err == nil {
			continue
		}
		if tries++; tries > 3 {
			return err
		}
		w.queue.Add(req)
	}
	return ctx.Err()
}

func (w *twin) fleet(run histories.Run) string {
	source := "{objects: {}}, manager: histories"
	if inGit(run) {
		source = "{git: {repo: '" + run.Fleet + "'}}"
	}
	more := ""
	if run.MaxDelete >= 0 {
		more = fmt.Sprintf(", maxDeletions: %d", run.MaxDelete)
	}
	return fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: %s, interval: 1h, shards: %d, prune: %t%s}\n", source, w.of, run.Prune, more)
}

// read are the documents of a management directory, by their files.
func read(t testing.TB, folder string) map[string]string {
	out := map[string]string{}
	list, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = string(data)
	}
	return out
}

// bring makes the documents all that there are in the API.
func (w *twin) bring(ctx context.Context, docs map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(w.docs)) {
		was := w.object(w.docs[name])
		if docs[name] != "" && w.object(docs[name]).GetName() == was.GetName() {
			continue
		}
		if err := w.api.Delete(ctx, was); err != nil {
			w.Fatal(err)
		}
		delete(w.docs, name)
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if w.docs[name] != docs[name] {
			w.apply(docs[name])
		}
	}
	w.docs = docs
}

// Differs implements histories.Twin.
func (w *twin) Differs(status string) string {
	if len(w.docs) == 1 {
		return "" // it is in Git, and variform status says it
	}
	told := map[string]any{}
	for _, u := range saidByCommand(w, status) {
		told[u.GetKind()+" "+u.GetName()] = timeless(u.Object["status"])
	}
	var out strings.Builder
	for _, doc := range w.docs {
		u := w.get(doc)
		name := u.GetKind() + " " + u.GetName()
		if want := told[name]; u.GetKind() == "PackageVariantSet" || u.GetKind() == "PackageVariant" {
			if d := cmp.Diff(want, timeless(u.Object["status"])); d != "" {
				fmt.Fprintf(&out, "%s: %s", name, d)
			}
		}
	}
	return out.String()
}

// timeless is a status without what the engine cannot know, or the command has no use for.
func timeless(status any) any {
	m, _ := status.(map[string]any)
	list, _ := m["conditions"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			delete(c, "lastTransitionTime")
			delete(c, "observedGeneration")
		}
	}
	return status
}
