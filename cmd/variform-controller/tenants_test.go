package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/test/gittest"
)

// visited is a server that asks everybody for a login, and notes who came where: a
// repository is its owner's, whose name it begins with.
type visited struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]map[string]bool // users by owner
}

func newVisited(t testing.TB, inner http.Handler) *visited {
	t.Helper()
	v := &visited{seen: map[string]map[string]bool{}}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || password != user+"-word" {
			w.Header().Set("WWW-Authenticate", `Basic realm="tenants"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		owner, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/"), "-")
		v.mu.Lock()
		if v.seen[owner] == nil {
			v.seen[owner] = map[string]bool{}
		}
		v.seen[owner][user] = true
		v.mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *visited) host() string { return strings.TrimPrefix(v.URL, "http://") }

// strangers are who came to repositories of others, and the owners that came themselves.
func (v *visited) strangers() (strangers, owners []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for owner, users := range v.seen {
		for user := range users {
			switch {
			case owner == "" || user == publisher: // the registry itself is everybody's
			case user != owner:
				strangers = append(strangers, user+" at "+owner)
			default:
				owners = append(owners, owner)
			}
		}
	}
	slices.Sort(owners)
	return strangers, owners
}

// publisher is who fills the registry.
const publisher = "publisher"

// dockerConfig has logins of a user, by host.
func dockerConfig(user string, hosts ...string) string {
	auths := map[string]any{}
	for _, h := range hosts {
		auths[h] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + user + "-word"))}
	}
	text, _ := json.Marshal(map[string]any{"auths": auths})
	return string(text)
}

type passwordOf string

func (p passwordOf) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: string(p), Password: string(p) + "-word"}, nil
}

// tenants are Fleets of namespaces in one cluster, on one Git server and one registry.
type tenants struct {
	*cluster
	git      *gittest.Server
	seen     *visited // in front of it
	images   *visited
	stopping chan struct{}
}

func (w *tenants) url(repo string) string { return w.seen.URL + "/" + repo + ".git" }

// tenant is a namespace with a Secret, an upstream in Git, and a downstream.
func (w *tenants) tenant(name string, upstream gittest.Text) {
	w.Helper()
	catalog, down := w.git.NewRepo(w, name+"-catalog"), w.git.NewRepo(w, name+"-c1")
	commit := catalog.Commit(w, "main", "publish", upstream)
	catalog.Tag(w, "web/v1", commit)
	down.Commit(w, "main", "begin", gittest.Text{"README.md": name + "\n"})
	w.apply("", fmt.Sprintf(namespaceOf, name))
	w.apply(name, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: logins}\nstringData:\n  credentials: 'http://%[1]s:%[1]s-word@%s'\n  .dockerconfigjson: '%s'\n", name, w.seen.host(), dockerConfig(name, w.images.host())),
		strings.Replace(secretRole, "NAMESPACE", name, 1), strings.Replace(secretBinding, "NAMESPACE", name, 1),
		repositoryOf("catalog", w.url(name+"-catalog")), repositoryOf("c1", w.url(name+"-c1")))
}

const (
	secretRole    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: logins}\nrules: [{apiGroups: [\"\"], resources: [secrets], resourceNames: [logins], verbs: [get]}]\n"
	secretBinding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: logins}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: logins}\nsubjects: [{kind: ServiceAccount, name: " + account + ", namespace: " + system + "}]\n"
	tenantFleet   = "apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: own}\nspec: {source: {objects: {}}, manager: tenant, secretRef: {name: logins}, interval: 10s}\n"
	tenantSet     = "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: v1}\n  targets:\n  - repositories: [{name: c1, packageNames: [%s]}]\n"
	tenantKptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n"
	tenantConfig  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {v: '%d'}\n"
	// greedyScript takes nearly all the memory that a script may have, and its time.
	greedyScript = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: s}\nsource: |\n  def f():\n    l = []\n    for i in range(110):\n      l.append('x' * (2000000 + i))\n    for j in range(3000):\n      y = [k for k in range(300)]\n  f()\n"
)

// silent is a server that does not answer, or drips, until the test ends; asked is closed
// when somebody waits for it.
func (w *tenants) silent(drips bool) (url string, asked chan struct{}) {
	w.Helper()
	asked = make(chan struct{})
	first := sync.OnceFunc(func() { close(asked) })
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		first()
		if drips {
			out.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = out.Write([]byte("001e# service=git-upload-pack\n0000"))
			line := fmt.Sprintf("%040x refs/heads/a\x00ofs-delta\n", 1)
			_, _ = fmt.Fprintf(out, "%04x%s", len(line)+4, line)
		}
		for n := 0; ; n++ {
			if drips {
				for range 18 { // 1,100 bytes: enough for no server to be called silent
					_, _ = fmt.Fprintf(out, "0040%040x refs/heads/b%06d\n", n+1, n)
					n++
				}
				out.(http.Flusher).Flush()
			}
			select {
			case <-w.stopping:
				return
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Second):
			}
		}
	}))
	w.Cleanup(s.Close)
	return s.URL, asked
}

// packages are so many names.
func packages(prefix string, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%04d", prefix, i))
	}
	return strings.Join(out, ", ")
}

// TestTenants: one controller has six Fleets. One's server hangs, one's drips, one's scripts
// use all that they may, one's objects change all the time, one's are hostile. The sixth
// does not notice, nobody sees another's login, and the memory is enough that config/ gives.
func TestTenants(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs /proc, to see how much memory processes have")
	}
	w := &tenants{cluster: newCluster(t), git: gittest.NewServer(t), stopping: make(chan struct{})}
	w.patience = 3 * time.Minute
	w.seen = newVisited(t, w.git)
	w.images = newVisited(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	w.install("porch")
	w.install("")
	w.apply("", contextRole)
	w.aggregate()

	own := t.TempDir() // the controller's logins, for the same servers
	if err := os.WriteFile(filepath.Join(own, "config.json"), []byte(dockerConfig("controller", w.images.host())), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "credentials"), []byte("http://controller:controller-word@"+w.seen.host()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", own)

	plain := gittest.Text{"web/Kptfile": tenantKptfile, "web/app.yaml": fmt.Sprintf(tenantConfig, 1)}
	for _, name := range []string{"hangs", "drips", "flood", "hostile", "healthy"} {
		w.tenant(name, plain)
	}
	w.tenant("greedy", gittest.Text{
		"web/Kptfile":  tenantKptfile + "pipeline:\n  mutators:\n  - image: ghcr.io/kptdev/krm-functions-catalog/starlark:v0.5\n    configPath: s.yaml\n",
		"web/app.yaml": fmt.Sprintf(tenantConfig, 1), "web/s.yaml": greedyScript,
	})
	var waited []chan struct{}
	for name, drips := range map[string]bool{"hangs": false, "drips": true} {
		url, asked := w.silent(drips)
		waited = append(waited, asked)
		w.apply(name, repositoryOf("c1", url+"/"+name+"-c1.git"), fmt.Sprintf(tenantSet, "web"))
	}
	w.apply("greedy", fmt.Sprintf(tenantSet, packages("g", 12)))
	w.apply("flood", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {n: '0'}\n",
		fmt.Sprintf(tenantSet, "web")+"    template:\n      injectors: [{group: \"\", version: v1, kind: ConfigMap, name: site}]\n")
	w.apply("hostile", fmt.Sprintf(tenantSet, packages("no-such-", 2000)+`, "\e[31m<script>", ../../etc`),
		repositoryOf("r1", "/etc"), repositoryOf("r2", "http://169.254.169.254/latest"), repositoryOf("r3", `"ext::sh -c true"`), repositoryOf("c1", "ssh://git@"+w.seen.host()+"/hostile-c1"),
		strings.NewReplacer("name: own", "name: bad", "upstream", "upstrem", "catalog", "c1").Replace(variant))
	w.healthyVersion(1)
	w.apply("healthy", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: catalog}\nspec: {type: oci, oci: {registry: %q}}\n", w.images.host()+"/healthy-packages"), fmt.Sprintf(tenantSet, "web"))

	limit := w.memoryLimit()
	t.Setenv("GOMEMLIMIT", strconv.FormatInt(limit, 10))
	// Two Fleets whose servers are slow would take all places.
	w.start("-git-credentials="+filepath.Join(own, "credentials"), "-max-concurrent-reconciles=2")
	peak := w.watchMemory()
	defer close(w.stopping)
	go w.flood()
	for _, name := range []string{"hangs", "drips", "greedy", "flood", "hostile"} {
		w.apply(name, tenantFleet)
	}
	for _, asked := range waited { // both places are taken
		<-asked
	}
	w.apply("healthy", tenantFleet)
	for version := 1; version <= 4; version++ {
		if version > 1 {
			w.healthyVersion(version)
		}
		began := time.Now()
		for w.healthyDraft() != version {
			if time.Since(began) > 20*time.Second { // its interval, and ten seconds
				t.Fatalf("version %d of the healthy Fleet is not there %s after it was published", version, time.Since(began))
			}
			time.Sleep(50 * time.Millisecond)
		}
		w.waitFor("healthy", tenantFleet, "Ready", "True Reconciled")
	}
	w.waitFor("hostile", tenantFleet, "Ready", "False Error")
	w.waitFor("flood", tenantFleet, "Ready", "True Reconciled")
	w.waitFor("hangs", tenantFleet, "Ready", "False Error")
	w.waitFor("greedy", tenantFleet, "Ready", "True Reconciled")
	for name, ready := range map[string]string{"hangs": "False Error", "drips": ""} {
		u := w.get(name, tenantFleet)
		if got := says(u, "Ready"); got == "True Reconciled" || ready != "" && got != ready {
			t.Errorf("%s: Ready is %q", name, got)
		}
		if got := says(u, "Stalled"); strings.HasPrefix(got, "True") {
			t.Errorf("%s is Stalled, though a server is slow: %q", name, got)
		}
	}
	if got := peak(); got == 0 || got > limit {
		t.Errorf("the controller and its workers took %d MiB, of %d", got>>20, limit>>20)
	} else {
		t.Logf("the controller and its workers took %d MiB, of %d", got>>20, limit>>20)
	}
	for what, v := range map[string]*visited{"the Git server": w.seen, "the registry": w.images} {
		strangers, owners := v.strangers()
		if len(strangers) > 0 || len(owners) == 0 {
			t.Errorf("%s saw %v where they have nothing, and its own %v", what, strangers, owners)
		}
	}
}

// healthyVersion publishes a version of the healthy Fleet's package, by a tag that moves: no
// event reports it.
func (w *tenants) healthyVersion(n int) {
	w.Helper()
	p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte(tenantKptfile)}, {Path: "app.yaml", Data: fmt.Appendf(nil, tenantConfig, n)}})
	if err != nil {
		w.Fatal(err)
	}
	s := ocirepo.NewStore(ocirepo.Options{Keychain: passwordOf(publisher)})
	if _, err := s.Push(context.Background(), w.images.host()+"/healthy-packages/web:v1", p, ocirepo.PushOptions{Force: true}); err != nil {
		w.Fatal(err)
	}
}

// healthyDraft is the version that the healthy Fleet's Draft has, 0 for none.
func (w *tenants) healthyDraft() int {
	w.Helper()
	r := w.git.Repo("healthy-c1")
	for name := range r.Refs(w) {
		if strings.Contains(name, "drafts/") {
			_, after, _ := strings.Cut(r.Show(w, name, "web/app.yaml"), "v: '")
			text, _, _ := strings.Cut(after, "'")
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 0
}

// flood changes an object that a Fleet injects, fifty times a second.
func (w *tenants) flood() {
	for n := 0; ; n++ {
		select {
		case <-w.stopping:
			return
		case <-time.After(20 * time.Millisecond):
		}
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("v1")
		u.SetKind("ConfigMap")
		u.SetNamespace("flood")
		u.SetName("site")
		_ = w.api.Patch(context.Background(), u, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data": {"n": "%d"}}`, n)))
	}
}

// memoryLimit is that of the Deployment in config/.
func (w *tenants) memoryLimit() int64 {
	w.Helper()
	for _, u := range built(w, "") {
		if u.GetKind() == "Deployment" {
			containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			text, _, _ := unstructured.NestedString(containers[0].(map[string]any), "resources", "limits", "memory")
			q := resource.MustParse(text)
			return q.Value()
		}
	}
	w.Fatal("no Deployment")
	return 0
}

// watchMemory looks what the controller and its workers take together, until it is asked for
// the most that it saw.
func (w *tenants) watchMemory() (peak func() int64) {
	var mu sync.Mutex
	most := int64(0)
	go func() {
		for {
			select {
			case <-w.stopping:
				return
			case <-time.After(50 * time.Millisecond):
			}
			mu.Lock()
			most = max(most, residentTree(w.pid))
			mu.Unlock()
		}
	}()
	return func() int64 { mu.Lock(); defer mu.Unlock(); return most }
}

// residentTree is the memory of a process and its children, in bytes.
func residentTree(pid int) (sum int64) {
	list, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range list {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(after)
		if of := filepath.Base(filepath.Dir(file)); len(fields) > 21 && (of == strconv.Itoa(pid) || fields[1] == strconv.Itoa(pid)) {
			pages, _ := strconv.ParseInt(fields[21], 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
