package controller_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// moved has the controller told by a forge that a repository moved.
func (w *world) moved(name string) {
	w.Helper()
	push(w, w.replicas[0], w.git.RepoURL(name))
}

// push has a controller told of a push by a forge.
func push(t testing.TB, to *controller.Reconciler, address string) {
	t.Helper()
	hooks := &controller.Webhooks{Wake: to.Wake, Secret: func() ([]byte, error) { return []byte(hookSecret), nil }}
	out := httptest.NewRecorder()
	hooks.ServeHTTP(out, hook("X-Hub-Signature-256", `{"repository": {"clone_url": "`+address+`"}}`))
	if out.Code/100 != 2 {
		t.Fatal(out.Code, out.Body)
	}
}

// ownVariant stands in a repository, and site is what is injected into it alone.
const ownVariant = `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: %[1]s}
spec:
  upstream: {repo: catalog, package: web, revision: %[3]d}
  downstream: {repo: %[2]s, package: %[1]s}
  deletionPolicy: delete
  pipeline: {mutators: [{image: "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2", configMap: {tier: "%[4]s"}}]}
  injectors: [{group: "", version: v1, kind: ConfigMap, name: %[1]s}]
`

func ownSite(name, region string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {region: \"" + region + "\"}\n"
}

// TestEventCostsWhatDependsOnIt: of 40 variants in 10 repositories a changed object is one
// package built, the requests of its repository and its upstream's, and the status of its
// variant; a push is the requests of the repository that moved.
func TestEventCostsWhatDependsOnIt(t *testing.T) {
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	w.apply(repository("catalog", w.git.RepoURL("catalog"), false))
	for r := range 10 {
		repo := fmt.Sprintf("c%d", r)
		w.repo(repo)
		w.apply(repository(repo, w.git.RepoURL(repo), true))
		for v := range 4 {
			name := fmt.Sprintf("v%d-%d", r, v)
			w.apply(ownSite(name, "north"), fmt.Sprintf(ownVariant, name, repo, 1, "a"))
		}
	}
	var mu sync.Mutex
	asked := map[string]int{} // requests by repository
	w.git.Before(func(_, repo string) {
		mu.Lock()
		defer mu.Unlock()
		asked[path.Base(strings.TrimSuffix(repo, ".git"))]++
	})
	fleet := fmt.Sprintf(objectsFleet, "1h")
	w.apply(fleet)
	w.start()
	w.says(fleet, "Ready", "True Reconciled: 40 package variants")
	const runs, builds = "variform_fleet_runs_total", "variform_fleet_packages_built_total"
	calm := func() { // what woke it while it began is done
		t.Helper()
		was := w.metric(runs)
		for quiet := time.Now(); time.Since(quiet) < time.Second; time.Sleep(50 * time.Millisecond) {
			if now := w.metric(runs); now != was {
				was, quiet = now, time.Now()
			}
		}
	}
	event := func(what string, do func()) (map[string]int, float64, []string) {
		t.Helper()
		calm()
		mu.Lock()
		clear(asked)
		mu.Unlock()
		w.status.Clear()
		ran, made := w.metric(runs), w.metric(builds)
		do()
		w.until(what, func() bool { return w.metric(runs) > ran })
		calm()
		var wrote []string
		w.status.Range(func(k, _ any) bool {
			wrote = append(wrote, path.Base(path.Dir(k.(string))))
			return true
		})
		mu.Lock()
		defer mu.Unlock()
		t.Logf("%s: requests %v, %v packages built, status of %v", what, asked, w.metric(builds)-made, wrote)
		return maps.Clone(asked), w.metric(builds) - made, wrote
	}
	only := func(what string, asked map[string]int, repos ...string) {
		t.Helper()
		for repo := range asked {
			if !slices.Contains(repos, repo) {
				t.Errorf("%s: %d requests to %s", what, asked[repo], repo)
			}
		}
	}

	others := func(name string, wrote []string) []string {
		return slices.DeleteFunc(wrote, func(n string) bool { return n == name })
	}
	requests, made, wrote := event("an injected object", func() { w.apply(ownSite("v3-1", "south")) })
	only("an injected object", requests, "c3", "catalog")
	if got := w.repos["c3"].Show(t, "drafts/v3-1/packagevariant-1", "v3-1/site.yaml"); !strings.Contains(got, "south") {
		t.Errorf("%v\n%s", branches(w.repos["c3"], t), got)
	}
	if made != 1 {
		t.Errorf("%v packages are built for one injected object", made)
	}
	if wrote = others("v3-1", wrote); len(wrote) > 0 {
		t.Errorf("status is written of %v, too", wrote)
	}

	requests, made, wrote = event("a variant", func() { w.apply(fmt.Sprintf(ownVariant, "v5-0", "c5", 1, "b")) })
	only("a variant", requests, "c5", "catalog")
	if made != 1 || !slices.Equal(wrote, []string{"v5-0"}) {
		t.Errorf("%v packages are built for one variant, and status is written of %v", made, wrote)
	}

	requests, made, wrote = event("a push", func() { w.moved("c7") })
	only("a push", requests, "c7", "catalog")
	if made != 0 || requests["c7"] == 0 || len(wrote) > 0 {
		t.Errorf("a push: %v packages are built, requests %v, status of %v", made, requests, wrote)
	}
	requests, made, wrote = event("an object that nobody names", func() { w.apply(ownSite("nobody", "south")) })
	only("an object that nobody names", requests)
	if made != 0 || len(wrote) > 0 {
		t.Errorf("%v packages are built, and status is written of %v", made, wrote)
	}
	w.says(fleet, "Ready", "True Reconciled: 40 package variants")

	// The whole run of the command has nothing to add.
	was := w.refs()
	files := gittest.Text{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n", "catalog.yaml": w.text(repository("catalog", w.git.RepoURL("catalog"), false))}
	for r := range 10 {
		repo := fmt.Sprintf("c%d", r)
		files[repo+".yaml"] = w.text(repository(repo, w.git.RepoURL(repo), true))
		for v := range 4 {
			name := fmt.Sprintf("v%d-%d", r, v)
			region, tier := "north", "a"
			if name == "v3-1" {
				region = "south"
			}
			if name == "v5-0" {
				tier = "b"
			}
			files[name+".yaml"] = w.text(ownSite(name, region)) + "---\n" + w.text(fmt.Sprintf(ownVariant, name, repo, 1, tier))
		}
	}
	w.git.NewRepo(t, "management").Commit(t, "main", "fleet", files)
	var out bytes.Buffer
	if code := cli.Main(context.Background(), []string{"apply", "--prune", "-f", w.git.RepoURL("management"), "--cache-dir", t.TempDir()}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code != 0 {
		t.Errorf("%d\n%s", code, out.String())
	}
	if diff := cmp.Diff(was, w.refs()); diff != "" {
		t.Errorf("-controller +command after it\n%s", diff)
	}
}

// text is an object as it stands in a file: with the namespace.
func (w *world) text(doc string) string {
	w.Helper()
	text, err := yaml.Marshal(w.object(doc).Object)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

var eventful = flag.Int("histories", 3, "random histories of events that are compared with the command")

// TestEventsAsCommand: after each event of a random history the controller, which decides
// it for what depends on it, has the refs that the command's whole run has, commit for
// commit; and in the end its status.
func TestEventsAsCommand(t *testing.T) {
	for seed := range int64(*eventful) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { eventsAsCommand(t, seed) })
	}
}

// history is a fleet that things happen to.
type history struct {
	*world
	random *rand.Rand
	docs   map[string]string // by kind and name
	moved  string            // the repository that the last step pushed to
	tags   int
}

const historyRepos = 4

func (h *history) begin() {
	h.docs, h.tags = map[string]string{"catalog": repository("catalog", h.git.RepoURL("catalog"), false)}, 1
	var targets []string
	for r := range historyRepos {
		repo := fmt.Sprintf("c%d", r)
		h.docs[repo] = repository(repo, h.git.RepoURL(repo), true)
		if r > 0 {
			targets = append(targets, "{name: "+repo+"}")
		}
		for v := range 2 {
			name := fmt.Sprintf("v%d-%d", r, v)
			h.docs["site "+name], h.docs[name] = ownSite(name, "0"), fmt.Sprintf(ownVariant, name, repo, 1, "0")
		}
	}
	h.docs["set"] = fmt.Sprintf(webSet, strings.Join(targets, ", "))
	h.docs["site"] = ownSite("site", "0")
	// One comes from what another gives.
	h.docs["chained"] = strings.NewReplacer("repo: catalog, package: web, revision: 1", "repo: c0, package: v0-0").Replace(fmt.Sprintf(ownVariant, "chained", "c1", 1, "0"))
}

// step is one event; it says what it is.
func (h *history) step(n int) string {
	h.moved = ""
	repo := fmt.Sprintf("c%d", h.random.Intn(historyRepos))
	r := h.repos[repo]
	name := fmt.Sprintf("v%s-%d", repo[1:], h.random.Intn(2))
	switch k := h.random.Intn(9); k {
	case 0, 1:
		h.docs["site "+name] = ownSite(name, fmt.Sprint(n))
		return "site of " + name
	case 2:
		h.docs[name] = fmt.Sprintf(ownVariant, name, repo, 1+h.random.Intn(h.tags), fmt.Sprint(n))
		return "variant " + name
	case 3:
		if h.docs[name] == "" {
			return ""
		}
		delete(h.docs, name)
		return "delete variant " + name
	case 4:
		h.docs["site"] = ownSite("site", fmt.Sprint(n))
		return "site of the set"
	case 5:
		if h.random.Intn(2) == 0 {
			h.docs["set"] = fmt.Sprintf(webSet, "{name: c1}, {name: c2}")
		} else {
			h.docs["set"] = fmt.Sprintf(webSet, "{name: c1}, {name: c2}, {name: c3}")
		}
		return "set"
	case 6: // a new version: of the catalogue
		h.tags++
		c := h.repos["catalog"].Commit(h, "main", "publish again", gittest.Text{"web/app.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  a: \"%d\"\n", n)})
		h.repos["catalog"].Tag(h, fmt.Sprintf("web/v%d", h.tags), c)
		h.moved = "catalog"
		return "a version of web"
	case 7: // a person works on a Draft
		open := branches(r, h)
		slices.Sort(open)
		if len(open) == 0 {
			return ""
		}
		branch := open[h.random.Intn(len(open))]
		pkg := strings.Split(branch, "/")[3]
		r.Commit(h, strings.TrimPrefix(branch, "refs/heads/"), "by hand", gittest.Text{pkg + "/hand.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hand\ndata:\n  n: \"%d\"\n", n)})
		h.moved = repo
		return "an edit on " + branch
	default: // a person merges one
		open := branches(r, h)
		slices.Sort(open)
		for _, branch := range open {
			if strings.TrimSpace(r.Git(h, "merge-base", "main", branch)) == strings.TrimSpace(r.Git(h, "rev-parse", "main")) {
				r.Git(h, "update-ref", "refs/heads/main", r.Refs(h)[branch])
				h.moved = repo
				return "merge " + branch
			}
		}
		return ""
	}
}

// allRefs are those of all repositories of variants.
func (h *history) allRefs() map[string]map[string]string {
	out := h.refs()
	delete(out, "catalog")
	return out
}

func eventsAsCommand(t *testing.T, seed int64) {
	const steps = 12
	w := newWorld(t)
	w.pkg(w.repo("catalog"), "web")
	for r := range historyRepos {
		w.repo(fmt.Sprintf("c%d", r))
	}
	was, structs := map[string]string{}, map[string]gittest.Repo{}
	for name, r := range w.repos {
		was[name], structs[name] = filepath.Join(t.TempDir(), name), *r
		copyDir(t, r.Dir, was[name])
	}

	// The command first: a whole run after each event.
	management, cache, state := w.git.NewRepo(t, "management"), t.TempDir(), t.TempDir()
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		cli.Main(context.Background(), append(args, "-f", w.git.RepoURL("management"), "--cache-dir", cache), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: state})
		return out.String()
	}
	h := &history{world: w, random: rand.New(rand.NewSource(seed))}
	h.begin()
	write := func() {
		text := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: me\n"
		var all strings.Builder
		for _, k := range slices.Sorted(maps.Keys(h.docs)) {
			all.WriteString("---\n" + w.text(h.docs[k]))
		}
		management.Commit(t, "main", "fleet", gittest.Text{"Kptfile": text, "all.yaml": all.String()})
		for was := h.refs(); ; was = h.refs() { // what a run publishes another is made from
			run("apply", "--prune", "--max-delete=9")
			if cmp.Equal(was, h.refs()) {
				break
			}
		}
	}
	write()
	want := []map[string]map[string]string{h.allRefs()}
	var said []string
	for n := range steps {
		said = append(said, h.step(n+1))
		write()
		want = append(want, h.allRefs())
	}
	told := saidByCommand(t, run("status", "-o", "json"))

	for name, r := range w.repos {
		if err := os.RemoveAll(r.Dir); err != nil {
			t.Fatal(err)
		}
		copyDir(t, was[name], r.Dir)
		*r = structs[name]
	}
	h.random = rand.New(rand.NewSource(seed))
	h.begin()
	fleet := strings.Replace(fmt.Sprintf(objectsFleet, "1h"), "prune: true", "prune: true, maxDeletions: 9", 1)
	live := map[string]string{}
	bring := func() {
		for _, k := range slices.Sorted(maps.Keys(h.docs)) {
			if live[k] != h.docs[k] {
				w.apply(h.docs[k])
			}
		}
		for k, doc := range live {
			if h.docs[k] == "" {
				if err := w.api.Delete(context.Background(), w.object(doc)); err != nil {
					t.Fatal(err)
				}
			}
		}
		live = maps.Clone(h.docs)
	}
	same := func(n int, what string) {
		t.Helper()
		diff := "not looked at"
		defer func() {
			if t.Failed() {
				t.Logf("seed %d, step %d of %q: -command +controller\n%s\n%s", seed, n, said, diff, condition(w.get(fleet), "Ready"))
			}
		}()
		w.until(what, func() bool { diff = cmp.Diff(want[n], h.allRefs()); return diff == "" })
	}
	bring()
	w.apply(fleet)
	w.start()
	same(0, "begun")
	w.says(fleet, "Ready", "")
	for n, what := range said {
		if now := h.step(n + 1); now != what {
			t.Fatalf("step %d is %q, and was %q", n+1, now, what)
		}
		bring()
		if h.moved != "" {
			w.moved(h.moved)
		}
		same(n+1, what)
	}
	t.Logf("seed %d: %q, %v runs, %v packages built", seed, said, w.metric("variform_fleet_runs_total"), w.metric("variform_fleet_packages_built_total"))
	w.saysAs(told)
}
