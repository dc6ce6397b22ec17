package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/test/gittest"
)

var (
	scaleSet          = flag.Int("scale.set", 0, "how many variants of a set TestScale has: its bound of 150 MB is for 1000 over 100 repositories")
	scaleObjects      = flag.Int("scale.objects", 0, "how many variants that are objects TestScale has: its bound of 400 MB is for 10000, which take minutes")
	scaleRepositories = flag.Int("scale.repositories", 100, "over how many repositories -scale.set and -scale.objects spread")
	scaleArgs         = flag.String("scale.args", "", "arguments of TestScale's controller beside those of its Deployment, with spaces between: -pprof-bind-address=:6060 say")
)

// scale is a fleet of many package variants: of one set, or each an object.
type scale struct {
	repositories, packages int // packages of each repository
	objects                bool
	interval, patience     time.Duration
	most                   int64 // bytes of resident memory at any time; 0 is no bound
}

func (s scale) String() string {
	if s.objects {
		return fmt.Sprintf("%d objects over %d repositories", s.repositories*s.packages, s.repositories)
	}
	return fmt.Sprintf("a set of %d over %d repositories", s.repositories*s.packages, s.repositories)
}

// TestScale runs a Fleet in a process of its own, as it is installed, with real servers. With
// nothing to do it asks each repository for its refs once an interval, and nothing else of
// Git, and writes nothing to the API but the Lease by which it lives. When it starts it does
// not ask for Fleets once an object.
func TestScale(t *testing.T) {
	of := []scale{
		{repositories: 6, packages: 4, interval: 2 * time.Second, patience: 90 * time.Second},
		{repositories: 3, packages: 8, objects: true, interval: 2 * time.Second, patience: 90 * time.Second},
	}
	if *scaleSet+*scaleObjects > 0 {
		of = nil
	}
	if n := *scaleSet; n > 0 {
		of = append(of, scale{repositories: *scaleRepositories, packages: n / *scaleRepositories, interval: 15 * time.Second, patience: 20 * time.Minute, most: 150e6})
	}
	if n := *scaleObjects; n > 0 {
		of = append(of, scale{repositories: *scaleRepositories, packages: n / *scaleRepositories, objects: true, interval: 30 * time.Second, patience: 20 * time.Minute, most: 400e6})
	}
	for _, s := range of {
		t.Run(strings.ReplaceAll(s.String(), " ", "-"), func(t *testing.T) {
			c := newCluster(t)
			c.patience = s.patience
			c.install("")
			c.install("porch")
			c.apply("", contextRole, fmt.Sprintf(namespaceOf, "scale"))
			c.aggregate()
			w := &scaled{cluster: c, scale: s, git: gittest.NewServer(t), polls: map[string]int{}}
			w.lay()
			stop, _ := c.start(strings.Fields(*scaleArgs)...)
			w.measure("the first apply", w.ready)
			if got, want := w.drafts(), s.repositories*s.packages; got != want {
				t.Fatalf("%d Drafts, want %d", got, want)
			}
			w.measure("nothing to do", func() { w.idle(3) })
			stop()
			if !s.objects && s.most == 0 {
				return // the other one starts again
			}
			// What has nothing in its cache folder, as a new pod.
			w.begin()
			before := len(w.requests())
			stop, _ = c.start(strings.Fields(*scaleArgs)...)
			w.measure("a start with nothing to do", func() { w.poll(1) })
			// Each object is an event then, which must not ask whose it is.
			if n := w.lists("fleets", before); n > 1 {
				t.Errorf("a start with nothing to do: Fleets were listed %d times, want once at most", n)
			}
			w.measure("nothing to do", func() { w.idle(2) })
			stop()
		})
	}
}

// scaled is such a fleet on a cluster.
type scaled struct {
	*cluster
	scale
	git   *gittest.Server
	repos []*gittest.Repo

	mu    sync.Mutex
	polls map[string]int // times that refs were read, by repository
	last  time.Time      // of a request of Git
}

// scalePackage is an application of 20 files, two of which a variant changes.
func scalePackage() gittest.Text {
	p := gittest.Text{
		"app/Kptfile":   "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n",
		"app/README.md": "# app\n\n" + strings.Repeat("How this application is run, and by whom.\n", 20),
		"app/site.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  region: none\n",
	}
	for n := len(p); n < 20; n++ {
		p[fmt.Sprintf("app/part-%02d.yaml", n)] = fmt.Sprintf("# One part of the application.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: part-%[1]d\n  labels: {app: part-%[1]d}\nspec:\n  replicas: 2 # two zones\n  selector:\n    matchLabels: {app: part-%[1]d}\n  template:\n    metadata:\n      labels: {app: part-%[1]d}\n    spec:\n      containers:\n      - name: main\n        image: registry.example.com/part-%[1]d:v1.0.0\n        args: [--listen, ':8080']\n        resources:\n          requests: {cpu: 100m, memory: 128Mi}\n", n)
	}
	return p
}

const (
	scaleSite     = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: north}\n"
	scaleTemplate = "{labels: {env: prod}, packageContext: {data: {tier: one}}, injectors: [{group: '', version: v1, kind: ConfigMap, name: site}]"
)

// lay makes the repositories, and the objects.
func (w *scaled) lay() {
	w.Helper()
	catalog := w.git.NewRepo(w, "catalog")
	catalog.Tag(w, "app/v1", catalog.Commit(w, "main", "publish app", scalePackage()))
	w.apply("scale", repositoryOf("catalog", w.git.RepoURL("catalog")), scaleSite)
	var set strings.Builder
	set.WriteString("apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: apps}\nspec:\n  upstream: {repo: catalog, package: app, revision: 1}\n  targets:\n  - template: " + scaleTemplate + "}\n    repositories:\n")
	var many errgroup.Group
	many.SetLimit(8)
	for n := range w.repositories {
		name := fmt.Sprintf("cluster-%03d", n)
		r := w.git.NewRepo(w, name)
		r.Commit(w, "main", "begin", gittest.Text{"README.md": name + "\n"})
		w.repos = append(w.repos, r)
		w.apply("scale", repositoryOf(name, w.git.RepoURL(name)))
		set.WriteString("    - name: " + name + "\n      packageNames:\n")
		for p := range w.packages {
			pkg := fmt.Sprintf("app-%04d", p)
			if !w.objects {
				set.WriteString("      - " + pkg + "\n")
				continue
			}
			doc := fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: %[1]s-%[2]s}\nspec:\n  upstream: {repo: catalog, package: app, revision: 1}\n  downstream: {repo: %[1]s, package: %[2]s}\n  labels: {env: prod}\n  packageContext: {data: {tier: one}}\n  injectors: [{group: '', version: v1, kind: ConfigMap, name: site}]\n", name, pkg)
			u := w.object("scale", doc)
			many.Go(func() error { return w.api.Create(context.Background(), u) })
		}
	}
	if err := many.Wait(); err != nil {
		w.Fatal(err)
	}
	if !w.objects {
		w.apply("scale", set.String())
	}
	w.git.Before(func(kind, repo string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.last = time.Now()
		if kind == gittest.ReadRefs {
			w.polls[repo]++
		}
	})
	w.apply("scale", w.fleet())
}

func (w *scaled) fleet() string {
	return fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: all}\nspec: {source: {objects: {}}, manager: me, interval: %s, prune: true}\n", w.interval)
}

func (w *scaled) ready() { w.waitFor("scale", w.fleet(), "Ready", "True Reconciled: ") }

func (w *scaled) drafts() int {
	w.Helper()
	byName := map[string]*gittest.Repo{}
	for n, r := range w.repos {
		byName[strconv.Itoa(n)] = r
	}
	return drafts(w, byName)
}

// begin counts from here on.
func (w *scaled) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls = map[string]int{}
	w.git.ResetCounts()
}

// poll waits until each repository has been asked for its refs so many times, by the end of
// a run.
func (w *scaled) poll(times int) {
	w.Helper()
	w.until(fmt.Sprintf("polled %d times", times), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.polls) == w.repositories+1 && slices.Min(slices.Collect(maps.Values(w.polls))) >= times
	})
}

// quiet waits until a run has ended.
func (w *scaled) quiet() {
	w.Helper()
	w.until("quiet", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return time.Since(w.last) > w.interval/2
	})
}

// idle counts what is asked for, from one quiet time to another.
func (w *scaled) idle(times int) {
	w.Helper()
	w.begin()
	w.poll(1) // what is left of the run before
	w.quiet()
	before := w.requests()
	w.begin()
	w.poll(times)
	w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	for repo, n := range w.polls {
		if n != times {
			w.Errorf("nothing to do: the refs of %s were read %d times in %d intervals", repo, n, times)
		}
	}
	for _, kind := range []string{gittest.Fetch, gittest.WriteRefs, gittest.Push, "other"} {
		if n := w.git.Count(kind); n != 0 {
			w.Errorf("nothing to do: %d Git requests of kind %s", n, kind)
		}
	}
	read := 0
	for _, r := range w.requests()[len(before):] {
		switch {
		case slices.Contains([]string{"get", "list", "watch"}, r.verb):
			read++
		case r != (request{group: "coordination.k8s.io", resource: "leases", verb: "update", namespace: system}):
			w.Errorf("nothing to do: it wrote: %+v", r)
		}
	}
	w.Logf("%s: in %d intervals %d requests of refs, %d to read the API", w.scale, times, w.git.Count(gittest.ReadRefs), read)
}

// lists are the times that a resource was listed, after so many requests.
func (w *scaled) lists(resource string, after int) (n int) {
	w.Helper()
	for _, r := range w.requests()[after:] {
		if r.verb == "list" && r.resource == resource {
			n++
		}
	}
	return n
}

// measure has what is done measured: its time, and the most memory that the controller had
// meanwhile.
func (w *scaled) measure(what string, do func()) {
	w.Helper()
	// From here on the system counts the peak anew.
	_ = os.WriteFile(filepath.Join("/proc", strconv.Itoa(w.pid), "clear_refs"), []byte("5"), 0)
	began := time.Now()
	do()
	took := time.Since(began)
	peak, now := w.resident("VmHWM"), w.resident("VmRSS")
	load, _ := os.ReadFile("/proc/loadavg")
	w.Logf("%s: %s: %.1f s, at most %d MB resident, %d at the end (load average %s)", w.scale, what, took.Seconds(), peak/1e6, now/1e6, strings.Fields(string(load))[0])
	if w.most > 0 && peak > w.most {
		w.Errorf("%s: %s: %d MB resident, want at most %d", w.scale, what, peak/1e6, w.most/1e6)
	}
}

// resident is a line of what the system says of the controller's memory, in bytes.
func (w *scaled) resident(key string) int64 {
	w.Helper()
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(w.pid), "status"))
	if err != nil {
		w.Skip("skipped: needs /proc, to see how much memory a process has")
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == key+":" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				w.Fatal(err)
			}
			return kib << 10
		}
	}
	w.Fatalf("no %s of the controller", key)
	return 0
}
