package controller_test

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand"
	"net/http"
	"net/http/httptest"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/forgetest"
	"github.com/variform/variform/test/gittest"
)

// apiServer is a real one, with etcd, for all tests.
var apiServer *rest.Config

// kubeconfig is a file's content for it.
var kubeconfig []byte

func TestMain(m *testing.M) {
	if args := os.Getenv("VARIFORM_TEST_REPLICA"); args != "" {
		replicaMain(args)
	}
	log.SetLogger(zap.New(zap.WriteTo(logs)))
	if os.Getenv("TEST_ASSET_KUBE_APISERVER") == "" {
		os.Exit(m.Run()) // each test says what is missing
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../../config/crd", "../../../config/porch"}}
	var err error
	if apiServer, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kubeconfig = env.KubeConfig
	status := m.Run()
	if startedAgain != nil { // etcd ends after who needs it
		_ = startedAgain.Process.Kill()
		_ = startedAgain.Wait()
	}
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// logs are shown where a test asks for it.
var logs = &buffer{}

// buffer may be written by several at once.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// world is a namespace, repositories over HTTP, and a controller.
type world struct {
	testing.TB
	api       client.Client
	namespace string
	git       *gittest.Server
	repos     map[string]*gittest.Repo
	asked     atomic.Int64                        // requests of the controller to the API server
	wrote     atomic.Int64                        // those that may change something
	status    sync.Map                            // paths of status that was written
	writing   func(r *http.Request) (done func()) // called around a status that is written, where set before start
	replicas  []*controller.Reconciler
	metrics   []*prometheus.Registry // of replicas
	caches    []string               // of replicas
}

// roundTripFunc is a transport.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// counted has the requests of the controller counted.
func (w *world) counted(next http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(r *http.Request) (*http.Response, error) {
		w.asked.Add(1)
		if r.Method != http.MethodGet {
			w.wrote.Add(1)
			if strings.HasSuffix(r.URL.Path, "/status") {
				w.status.Store(r.URL.Path, true)
				if w.writing != nil {
					defer w.writing(r)()
				}
			}
		}
		return next.RoundTrip(r)
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if apiServer == nil {
		t.Skip("skipped: TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD name no API server and etcd: run make controller")
	}
	c, err := client.New(apiServer, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, api: c, git: gittest.NewServer(t), repos: map[string]*gittest.Repo{}, namespace: fmt.Sprintf("w%d", time.Now().UnixNano())}
	w.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + w.namespace + "}\n")
	return w
}

// start runs a controller until the test ends, or stop is called.
func (w *world) start() (stop func()) { return w.replica(0) }

// replica is one of several, by Leases of a duration in the world's namespace.
func (w *world) replica(lease time.Duration) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cfg := rest.CopyConfig(apiServer)
	cfg.Wrap(w.counted)
	registry, cache := prometheus.NewRegistry(), w.TempDir()
	w.caches = append(w.caches, cache)
	m, r, err := newController(cfg, w.namespace, cache, lease, registry)
	if err != nil {
		w.Fatal(err)
	}
	w.replicas, w.metrics = append(w.replicas, r), append(w.metrics, registry)
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	stop = func() {
		cancel()
		if ended != nil {
			if err := <-ended; err != nil {
				w.Error(err)
			}
			ended = nil
		}
	}
	w.Cleanup(stop)
	return stop
}

// newController is one that has a namespace's Fleets alone; without a duration there are
// no Leases.
func newController(cfg *rest.Config, namespace, cacheDir string, lease time.Duration, registry *prometheus.Registry) (ctrl.Manager, *controller.Reconciler, error) {
	skip := true
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return nil, nil, err
	}
	r := &controller.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Mapper: m.GetRESTMapper(), Cache: cacheDir, Now: time.Now, Concurrency: 4, Metrics: controller.NewMetrics(registry),
	}
	if lease > 0 {
		r.Leases = controller.NewLeases(m.GetClient(), m.GetAPIReader(), m.GetCache(), namespace, lease)
	}
	return m, r, controller.Setup(m, r)
}

func (w *world) repo(name string) *gittest.Repo {
	w.Helper()
	r := w.git.NewRepo(w, name)
	r.Commit(w, "main", "begin", gittest.Text{"README.md": name + "\n"})
	w.repos[name] = r
	return r
}

// pkg is a package of an upstream at v1.
func (w *world) pkg(r *gittest.Repo, name string) {
	w.Helper()
	commit := r.Commit(w, "main", "publish "+name, gittest.Text{
		"README.md":         "upstream\n",
		name + "/Kptfile":   "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n",
		name + "/app.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  a: b\n",
		name + "/site.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n  annotations:\n    kpt.dev/config-injection: optional\ndata:\n  region: none\n",
	})
	r.Tag(w, name+"/v1", commit)
}

func (w *world) object(doc string) *unstructured.Unstructured {
	w.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
		w.Fatalf("%v in\n%s", err, doc)
	}
	data, _ := json.Marshal(u.Object)
	if err := u.UnmarshalJSON(data); err != nil {
		w.Fatal(err)
	}
	if u.GetKind() != "Namespace" {
		u.SetNamespace(w.namespace)
	}
	return u
}

func (w *world) apply(docs ...string) {
	w.Helper()
	for _, doc := range docs {
		if err := w.api.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(w.object(doc)), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) get(doc string) *unstructured.Unstructured {
	w.Helper()
	u := w.object(doc)
	if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(u), u); err != nil {
		w.Fatal(err)
	}
	return u
}

// condition is "Status Reason: message" of an object, for its present generation.
func condition(u *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == kind && c["observedGeneration"] == u.GetGeneration() {
			return fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
		}
	}
	return ""
}

// until waits.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	for end := time.Now().Add(40 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("never %s\n%s", what, logs.String())
		}
	}
}

func (w *world) says(doc, kind, prefix string) {
	w.Helper()
	got := ""
	defer func() {
		if w.Failed() {
			w.Logf("%s is %q", kind, got)
		}
	}()
	w.until(kind+" "+prefix, func() bool { got = condition(w.get(doc), kind); return strings.HasPrefix(got, prefix) })
}

// refs are all branches and tags with their trees and messages: IDs of commits have
// the time of their inputs, which both doors share.
func (w *world) refs() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, r := range w.repos {
		out[name] = r.Refs(w)
	}
	return out
}

func repository(name, url string, deployment bool) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: %s\n  labels: {env: prod}\nspec: {type: git, deployment: %t, git: {repo: %s, branch: main}}\n", name, deployment, url)
}

const objectsFleet = "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {objects: {}}, manager: me, interval: %s, prune: true}\n"

const webSet = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: web}
spec:
  upstream: {repo: catalog, package: web, revision: 1}
  targets:
  - repositories: [%s]
    template:
      deletionPolicy: delete
      injectors: [{group: "", version: v1, kind: ConfigMap, name: site}]
`

func branches(r *gittest.Repo, t testing.TB) (out []string) {
	for name := range r.Refs(t) {
		if strings.Contains(name, "drafts/") {
			out = append(out, name)
		}
	}
	return out
}

// TestFleetOfObjects: a set in the API becomes Drafts; an injected object that changes
// changes them within seconds; a bad set is told and stops nobody; nothing to do writes
// nothing.
func TestFleetOfObjects(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1, c2 := w.repo("c1"), w.repo("c2")
	for _, name := range []string{"catalog", "c1", "c2"} {
		w.apply(repository(name, w.git.RepoURL(name), name != "catalog"))
	}
	site := func(region string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: " + region + "}\n"
	}
	fleet, set := fmt.Sprintf(objectsFleet, "5m"), fmt.Sprintf(webSet, "{name: c1}, {name: c2}")
	w.apply(site("north"), set, fleet)
	w.start()
	w.says(fleet, "Ready", "True Reconciled")
	w.says(set, "Ready", "True")
	draft := func(r *gittest.Repo) string {
		b := branches(r, t)
		if len(b) != 1 {
			return ""
		}
		return r.Show(t, b[0], "web/site.yaml")
	}
	if got := draft(c1); !strings.Contains(got, "region: north") {
		t.Fatalf("%v\n%s", c1.Refs(t), got)
	}
	w.says(repository("c1", w.git.RepoURL("c1"), true), "Ready", "True Read")

	w.apply(site("south"))
	w.until("injected again", func() bool { return strings.Contains(draft(c1), "south") && strings.Contains(draft(c2), "south") })

	bad := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: bad}\nspec: {upstrem: {}}\n"
	w.apply(bad)
	w.says(bad, "Stalled", "True ValidationError: PackageVariant.config.porch.kpt.dev "+w.namespace+"/bad: unknown field spec.upstrem")
	w.says(set, "Ready", "True")
	w.says(fleet, "Ready", "False Error")
	if err := w.api.Delete(context.Background(), w.object(bad)); err != nil {
		t.Fatal(err)
	}
	w.says(fleet, "Ready", "True Reconciled")

	// A set that shrinks gives up what it made.
	set = fmt.Sprintf(webSet, "{name: c1}")
	w.apply(set)
	w.until("pruned", func() bool { return len(branches(c2, t)) == 0 })

	w.says(set, "Ready", "True")
	time.Sleep(2 * time.Second)
	asked, wrote := w.asked.Load(), w.wrote.Load()
	if wrote == 0 {
		t.Error("the status of what ran was written uncounted")
	}
	w.apply(strings.Replace(repository("catalog", w.git.RepoURL("catalog"), false), "prod", "test", 1)) // wakes, and means nothing
	w.until("read again", func() bool { return w.asked.Load() > asked })
	time.Sleep(2 * time.Second)
	if n := w.wrote.Load() - wrote; n != 0 { // a status that is applied again changes no resourceVersion, and costs all the same
		t.Errorf("nothing to do: %d requests to write", n)
	}
}

// TestFleetThatDoesNotRun: what cannot or must not run says so and writes nothing to Git.
func TestFleetThatDoesNotRun(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("c1")
	set := fmt.Sprintf(webSet, "{name: c1}")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), repository("c1", w.git.RepoURL("c1"), true), set)
	live := w.object("apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nstatus: {conditions: [{type: Ready, status: 'True', reason: Porch, message: p, lastTransitionTime: '2026-01-01T00:00:00Z'}]}\n")
	if err := w.api.Status().Apply(context.Background(), client.ApplyConfigurationFromUnstructured(live), client.FieldOwner("porch-controllers")); err != nil {
		t.Fatal(err)
	}
	w.start()
	fleet := fmt.Sprintf(objectsFleet, "5m")
	w.apply(strings.Replace(fleet, "prune: true", "suspend: true", 1))
	w.says(fleet, "Ready", "False Suspended")
	w.apply(fleet)
	w.until("refused", func() bool {
		return strings.HasPrefix(condition(w.get(fleet), "Stalled"), "True OwnedByAnother: another controller drives PackageVariantSet web (porch-controllers)")
	})
	if got := branches(c1, t); len(got) != 0 {
		t.Fatal(got)
	}
	w.apply(strings.Replace(fleet, "{objects: {}}", "{objects: {takeOver: true}}", 1))
	w.says(fleet, "Ready", "True Reconciled")
	w.says(set, "Ready", "True")
	if got := branches(c1, t); len(got) != 1 {
		t.Fatal(got)
	}
	for spec, want := range map[string]string{
		"{source: {}}": "exactly one of git, objects", "{source: {objects: {}}}": "spec.manager is required",
	} {
		bad := w.object("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: bad}\nspec: " + spec + "\n")
		if err := w.api.Create(context.Background(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	wrong := "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: wrong}\nspec: {source: {git: {repo: x}}, interval: soon}\n"
	w.apply(wrong)
	w.says(wrong, "Stalled", "True Invalid: ")
}

// TestVariantsThatGo: a variant that is being deleted is gone, whoever else holds on to
// the object; its deletionPolicy says what becomes of its package. A password of an
// address reaches no status, Event or log.
func TestVariantsThatGo(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1, c2 := w.repo("c1"), w.repo("c2")
	fleet := strings.Replace(fmt.Sprintf(objectsFleet, "5m"), "prune: true", "prune: true, maxDeletions: 2", 1)
	const variant = `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: %[1]s, finalizers: [example.com/keep]}
spec:
  upstream: {repo: catalog, package: web, revision: 1}
  downstream: {repo: %[1]s, package: web}
  deletionPolicy: %[2]s
`
	goes, stays := fmt.Sprintf(variant, "c1", "delete"), fmt.Sprintf(variant, "c2", "orphan")
	address := func(name, password string) string {
		return strings.Replace(w.git.RepoURL(name), "://", "://me:"+password+"@", 1)
	}
	w.git.RequireLogin("me", "hunter2")
	w.apply(repository("catalog", address("catalog", "hunter2"), false), repository("c1", address("c1", "hunter3"), true), repository("c2", address("c2", "hunter2"), true), goes, stays, fleet)
	w.start()
	w.says(fleet, "Ready", "False Error")
	w.says(repository("c1", address("c1", "hunter3"), true), "Ready", "False")
	w.says(stays, "Ready", "True")
	w.apply(repository("c1", address("c1", "hunter2"), true))
	w.says(fleet, "Ready", "True Reconciled: 2 package variants")
	if len(branches(c1, t)) != 1 || len(branches(c2, t)) != 1 {
		t.Fatal(c1.Refs(t), c2.Refs(t))
	}
	for _, doc := range []string{goes, stays} {
		if err := w.api.Delete(context.Background(), w.object(doc)); err != nil {
			t.Fatal(err)
		}
	}
	w.until("gone", func() bool { return len(branches(c1, t)) == 0 })
	w.says(fleet, "Ready", "True Reconciled: 0 package variants")
	if len(branches(c2, t)) != 1 {
		t.Error("what is to be orphaned has gone")
	}
	if at := w.get(goes).GetDeletionTimestamp(); at == nil {
		t.Error("another's finalizer was taken away")
	}

	events := &unstructured.UnstructuredList{}
	events.SetAPIVersion("events.k8s.io/v1")
	events.SetKind("EventList")
	w.until("told by Events", func() bool {
		if err := w.api.List(context.Background(), events, client.InNamespace(w.namespace)); err != nil {
			t.Fatal(err)
		}
		return len(events.Items) > 0
	})
	told := []any{events.Items, logs.String()}
	for _, doc := range []string{fleet, goes, stays, repository("c1", "", true)} {
		told = append(told, w.get(doc).Object["status"])
	}
	if text := fmt.Sprint(told...); !strings.Contains(text, "c1") || strings.Contains(text, "hunter") {
		t.Errorf("a password is told in\n%s", text)
	}
}

// TestFleetWithASecret: a Fleet has logins of its own, or says what is wrong with them.
func TestFleetWithASecret(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	management := w.git.NewRepo(t, "management")
	management.Commit(t, "main", "fleet", gittest.Text{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n", "repos.yaml": repository("catalog", w.git.RepoURL("catalog"), false),
	})
	w.git.RequireLogin("me", "hunter2")
	secret := func(key, text string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {" + key + ": '" + text + "'}\n"
	}
	login := func(password string) string {
		return strings.Replace(w.git.URL, "://", "://me:"+password+"@", 1)
	}
	fleet := "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {git: {repo: " + w.git.RepoURL("management") + "}}, interval: 1s, secretRef: {name: git}}\n"
	w.apply(fleet)
	w.start()
	w.says(fleet, "Ready", "False Error: spec.secretRef: reading Secret "+w.namespace+"/git: ")
	w.apply(secret("password", "hunter2"))
	w.says(fleet, "Ready", "False Error: spec.secretRef: Secret "+w.namespace+"/git has no key credentials")
	w.apply(secret("credentials", "me hunter3"))
	w.until("told of the line", func() bool {
		return strings.Contains(condition(w.get(fleet), "Ready"), "Secret "+w.namespace+"/git:1: it is no https://USER:PASSWORD@HOST")
	})
	w.apply(secret("credentials", login("hunter3")))
	w.until("refused", func() bool { return strings.Contains(condition(w.get(fleet), "Ready"), "refuses the login") })
	w.apply(secret("credentials", login("hunter2")))
	w.says(fleet, "Ready", "True Reconciled")
	if text := fmt.Sprint(logs.String(), w.get(fleet).Object["status"]); strings.Contains(text, "hunter") {
		t.Errorf("a password is told in\n%s", text)
	}
}

// TestGitHubAppOfASecret: a Fleet logs in as a GitHub App, with one token for all runs while it
// lasts, or has what is wrong with the App.
func TestGitHubAppOfASecret(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	var tokens, reads atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v3/app/installations/42/access_tokens" {
			tokens.Add(1)
			out.WriteHeader(http.StatusCreated)
			fmt.Fprintf(out, `{"token": "ghs_hunter2", "expires_at": %q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
			return
		}
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			reads.Add(1)
		}
		w.git.ServeHTTP(out, r)
	}))
	defer front.Close()
	at := func(repo string) string { return strings.Replace(w.git.RepoURL(repo), w.git.URL, front.URL, 1) }
	management := w.git.NewRepo(t, "management")
	management.Commit(t, "main", "fleet", gittest.Text{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n", "repos.yaml": repository("catalog", at("catalog"), false),
	})
	w.git.RequireLogin("x-access-token", "ghs_hunter2")
	private, err := rsa.GenerateKey(cryptorand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	secret := func(key string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {githubAppID: '7', githubAppInstallationID: '42', githubAppBaseURL: %q, githubAppPrivateKey: %q}\n", front.URL+"/api/v3", key)
	}
	fleet := "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {git: {repo: " + at("management") + "}}, interval: 1s, secretRef: {name: git}}\n"
	w.apply(secret("hunter-key"), fleet)
	w.start()
	w.says(fleet, "Ready", "False Error: spec.secretRef: Secret "+w.namespace+"/git: githubAppPrivateKey: it is not a private key in PEM format")
	w.apply(secret(key))
	w.says(fleet, "Ready", "True Reconciled")
	seen := reads.Load()
	w.until("read again", func() bool { return reads.Load() > seen+6 })
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens for several runs", n)
	}
	if text := fmt.Sprint(logs.String(), w.get(fleet).Object["status"]); strings.Contains(text, "hunter") || strings.Contains(text, "PRIVATE") {
		t.Errorf("a token or a key is in\n%s", text)
	}
}

// TestForgeTokenOfASecret: a Fleet with a Secret signs in at forges with what stands there,
// never with the controller's own token, which is for the same server.
func TestForgeTokenOfASecret(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.repo("org/c1")
	var mu sync.Mutex
	said := map[string]bool{}
	forge := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		said[r.Header.Get("Authorization")] = true
		mu.Unlock()
		http.Error(out, "nobody may", http.StatusForbidden)
	}))
	defer forge.Close()
	heard := func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer clear(said)
		return slices.Sorted(maps.Keys(said))
	}
	t.Setenv("GITEA_TOKEN", "of-the-controller")
	t.Setenv("GITEA_SERVER_URL", forge.URL)
	c1 := strings.NewReplacer("org/c1\n", "c1\n", "  labels:", "  annotations: {variform.dev/review: variant, variform.dev/forge: gitea "+forge.URL+"}\n  labels:").Replace(repository("org/c1", w.git.RepoURL("org/c1"), true))
	secret := func(more string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: git}\nstringData: {credentials: '" + strings.Replace(w.git.URL, "://", "://me:hunter2@", 1) + "'" + more + "}\n"
	}
	fleet := strings.Replace(fmt.Sprintf(objectsFleet, "1s"), "prune: true", "secretRef: {name: git}", 1)
	w.apply(secret(", GITEA_TOKEN: of-the-fleet, GITEA_SERVER_URL: '"+forge.URL+"'"), repository("catalog", w.git.RepoURL("catalog"), false), c1, fmt.Sprintf(webSet, "{name: c1}"), fleet)
	w.start()
	w.says(fleet, "Ready", "False Error")
	if got := heard(); len(got) != 1 || got[0] != "token of-the-fleet" && got[0] != "Bearer of-the-fleet" {
		t.Errorf("with a token in the Secret the forge was told %q", got)
	}
	w.apply(strings.Replace(fleet, "secretRef: {name: git}", "prune: true", 1)) // and without, the controller's
	w.until("signed in", func() bool {
		return slices.ContainsFunc(heard(), func(s string) bool { return strings.HasSuffix(s, " of-the-controller") })
	})
	if err := w.api.Delete(context.Background(), w.object(secret(""))); err != nil {
		t.Fatal(err)
	}
	w.apply(secret(""), fleet)
	for range 2 { // a run that began before, and one that did not
		heard()
		ran := w.metric("variform_fleet_runs_total")
		w.until("run again", func() bool { return w.metric("variform_fleet_runs_total") >= ran+2 })
	}
	if got := heard(); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "of-the-") }) {
		t.Errorf("without a token in the Secret the forge was told %q", got)
	}
	if text := fmt.Sprint(logs.String(), w.get(fleet).Object["status"]); strings.Contains(text, "of-the-") || strings.Contains(text, "hunter") {
		t.Error("a token is told")
	}
}

// TestTellsOfPullRequests: the status of a variant has where its pull request stands, and of
// one that is closed while no ref moves the forge's word is enough.
func TestTellsOfPullRequests(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	c1 := w.repo("team/c1")
	forge := forgetest.NewServer(t, "gitea")
	forge.Tip = func(branch string) string {
		return strings.TrimSpace(c1.Git(t, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch))
	}
	t.Setenv("GITEA_TOKEN", forgetest.Token(forgetest.Ann))
	t.Setenv("GITEA_SERVER_URL", forge.URL)
	kept := strings.Replace(repository("c1", w.git.RepoURL("team/c1"), true), "  labels:", "  annotations: {variform.dev/review: variant, variform.dev/forge: "+forge.Annotation()+"}\n  labels:", 1)
	variant := fmt.Sprintf(ownVariant, "web", "c1", 1, "a")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false), kept, ownSite("web", "north"), variant, fmt.Sprintf(objectsFleet, "1h"))
	w.start()
	w.says(variant, "Ready", "True NoErrors: successfully ensured downstream package variant; request "+forge.URL+"/team/c1/pulls/1 waits for its review")
	forge.Change(1, func(r *forgetest.Request) { r.State = "closed" })
	w.moved("team/c1")
	w.says(variant, "Ready", "True NoErrors: successfully ensured downstream package variant; turned down: request "+forge.URL+"/team/c1/pulls/1 was closed")
}

// TestSameAsCommand: random fleets come to the same refs, commit for commit, and the
// same conditions, whether the command reads them from files or the controller from Git
// or from the API, in shards or whole.
func TestSameAsCommand(t *testing.T) {
	for seed := range int64(4) {
		for _, from := range []string{"git", "objects"} {
			t.Run(fmt.Sprintf("%s %d", from, seed), func(t *testing.T) { sameAsCommand(t, seed, from) })
		}
	}
}

func sameAsCommand(t *testing.T, seed int64, from string) {
	random := rand.New(rand.NewSource(seed))
	w := newWorld(t)
	up := w.repo("catalog")
	names := []string{"web", "db", "log"}[:1+random.Intn(3)]
	for _, n := range names {
		w.pkg(up, n)
	}
	docs := []string{repository("catalog", w.git.RepoURL("catalog"), false)}
	var clusters []string
	for n := range 1 + random.Intn(4) {
		name := fmt.Sprintf("c%d", n)
		w.repo(name)
		clusters = append(clusters, name)
		docs = append(docs, repository(name, w.git.RepoURL(name), true))
	}
	for _, n := range names {
		var targets []string
		for _, c := range clusters {
			if random.Intn(3) > 0 {
				targets = append(targets, "{name: "+c+"}")
			}
		}
		if len(targets) == 0 {
			targets = []string{"{name: " + clusters[0] + "}"}
		}
		doc := strings.NewReplacer("name: web}", "name: "+n+"}", "package: web", "package: "+n).Replace(fmt.Sprintf(webSet, strings.Join(targets, ", ")))
		if random.Intn(3) == 0 {
			doc += "      pipeline: {mutators: [{image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2, configMap: {tier: \"" + n + "\"}}]}\n"
		}
		if random.Intn(4) == 0 {
			doc = strings.Replace(doc, "revision: 1", "revision: 9", 1) // which there is not
		}
		docs = append(docs, doc)
	}
	if random.Intn(2) == 0 {
		docs = append(docs, "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: own}\nspec:\n  upstream: {repo: catalog, package: web, revision: 1}\n  downstream: {repo: "+clusters[0]+", package: own}\n  labels: {by: hand}\n")
	}
	docs = append(docs, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata:\n  region: \"on\"\n  size: \"3\"\n")
	management := w.git.NewRepo(t, "management")
	management.Commit(t, "main", "fleet", w.files(docs...))

	cache, state := t.TempDir(), t.TempDir()
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		cli.Main(context.Background(), append(args, "-f", w.git.RepoURL("management"), "--cache-dir", cache), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: state})
		return out.String()
	}
	var want map[string]map[string]string
	var conditions []*unstructured.Unstructured
	w.asBefore(func() {
		run("apply", "--prune")
		want = w.refs()
		conditions = saidByCommand(t, run("status", "-o", "json"))
	})

	fleet := fmt.Sprintf(objectsFleet, "5m")
	if from == "git" {
		fleet = "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {source: {git: {repo: " + w.git.RepoURL("management") + "}}, prune: true}\n"
	} else {
		w.apply(docs...)
	}
	if seed > 1 {
		fleet = strings.Replace(fleet, "prune: true", fmt.Sprintf("prune: true, shards: %d", seed), 1)
	}
	w.start()
	w.apply(fleet)
	w.until("run", func() bool {
		got := condition(w.get(fleet), "Ready")
		return got != "" && !strings.Contains(got, " of "+fmt.Sprint(seed)+" shards ")
	})
	if diff := cmp.Diff(want, w.refs()); diff != "" {
		t.Errorf("%s\n%s\n-command +controller:\n%s", strings.Join(docs, "---\n"), condition(w.get(fleet), "Ready"), diff)
	}
	drafts := 0
	for _, refs := range want {
		drafts += len(slices.DeleteFunc(slices.Collect(maps.Keys(refs)), func(r string) bool { return !strings.Contains(r, "drafts/") }))
	}
	t.Logf("%d Drafts; %s", drafts, condition(w.get(fleet), "Ready"))
	if from == "git" {
		return
	}
	w.saysAs(conditions)
}

// saidByCommand are the sets and variants of `variform status -o json`.
func saidByCommand(t testing.TB, text string) (out []*unstructured.Unstructured) {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(list.Items) == 0 {
		t.Fatalf("the command's status has nothing:\n%s", text)
	}
	for _, item := range list.Items {
		out = append(out, &unstructured.Unstructured{Object: item})
	}
	return out
}

// saysAs waits until those of these sets and variants that are objects have the same conditions.
func (w *world) saysAs(list []*unstructured.Unstructured) {
	w.Helper()
	compared := 0
	for _, u := range list {
		doc, _ := yaml.Marshal(map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": map[string]any{"name": u.GetName()}})
		live := w.object(string(doc))
		if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(live), live); err != nil {
			continue // generated: no object
		}
		compared++
		diff := ""
		defer func() {
			if diff != "" {
				w.Logf("%s %s: -command +controller\n%s", u.GetKind(), u.GetName(), diff)
			}
		}()
		w.until("told of "+u.GetName(), func() bool {
			diff = cmp.Diff(says(u), says(w.get(string(doc))))
			return diff == ""
		})
	}
	if compared == 0 {
		w.Fatal("no status was compared")
	}
}

// says are the conditions as type, status and reason.
func says(u *unstructured.Unstructured) (out []string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		c := c.(map[string]any)
		out = append(out, fmt.Sprint(c["type"], " ", c["status"], " ", c["reason"]))
	}
	slices.Sort(out)
	return out
}

// files are documents as a management directory of the manager me has them, in the world's
// namespace, which is part of names.
func (w *world) files(docs ...string) gittest.Text {
	w.Helper()
	out := gittest.Text{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n"}
	for n, doc := range docs {
		text, err := yaml.Marshal(w.object(doc).Object)
		if err != nil {
			w.Fatal(err)
		}
		out[fmt.Sprintf("%02d.yaml", n)] = string(text)
	}
	return out
}

// asBefore runs f, and then the repositories are as they were: another can do the same with
// the same addresses.
func (w *world) asBefore(f func()) {
	w.Helper()
	was := map[string]string{}
	for name, r := range w.repos {
		was[name] = filepath.Join(w.TempDir(), name)
		copyDir(w, r.Dir, was[name])
	}
	f()
	for name, r := range w.repos {
		if err := os.RemoveAll(r.Dir); err != nil {
			w.Fatal(err)
		}
		copyDir(w, was[name], r.Dir)
	}
}

func copyDir(t testing.TB, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
