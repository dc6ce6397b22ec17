package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

const ingress = "https://example.com/interfaces/ingress"

// release is one version of a package of the catalogue; spec is its manifest's.
type release struct{ name, version, spec string }

// releases are three levels: shop, portal and batch are asked for; they need
// what stands in the middle, and that needs certs, storage and operator.
var releases = []release{
	{"shop", "1.0.0", `
  requires:
  - {alias: ingress, interface: {id: ` + ingress + `}}
  - {alias: cache, package: cache, version: ">=1.0.0 <2.0.0"}
  - {alias: db, package: db, version: "^1.0.0"}`},
	{"portal", "1.0.0", `
  requires:
  - {alias: db, package: db, version: ">=1.0.0 <3.0.0"}
  - {alias: certs, package: certs, version: "*"}
  - {alias: kubernetes, platform: {name: kubernetes, version: ">=1.27.0"}}`},
	{"batch", "1.0.0", `
  requires:
  - {alias: queue, package: queue, version: ">=2.0.0"}
  - alias: databases
    anyOf:
    - {platform: {name: kubernetes, version: ">=1.30.0"}}
    - {gvk: {apiVersion: databases.example.com/v1, kind: Database}}`},

	{"nginx", "1.0.0", provider + needs("certs", "^1.1.0")},
	{"nginx", "1.1.0", provider + needs("certs", ">=1.2.0 <2.0.0")},
	{"traefik", "2.0.0", provider + needs("certs", "^1.1.0")},
	{"cache", "1.0.0", "\n  scope: Namespace" + needs("storage", "^1.0.0")},
	{"cache", "1.1.0", "\n  scope: Namespace" + needs("storage", "^1.0.0")},
	{"cache", "2.0.0", "\n  scope: Namespace" + needs("storage", "^1.1.0")},
	{"db", "1.0.0", needs("operator", "<2.0.0", "storage", "^1.0.0")},
	{"db", "1.1.0", needs("operator", "^1.0.0", "storage", "^1.0.0")},
	{"db", "1.2.0", needs("operator", "^1.0.0", "storage", "^1.0.0")},
	{"db", "2.0.0", needs("operator", "^2.0.0", "storage", "^1.1.0")},
	{"queue", "2.0.0", needs("storage", "^1.0.0")},
	{"queue", "2.1.0", needs("storage", "^1.0.0", "certs", "^1.2.0")},

	{"certs", "1.1.0", "\n  scope: Cluster"},
	{"certs", "1.2.0", "\n  scope: Cluster"},
	{"certs", "1.3.0", newCerts},
	{"storage", "1.0.0", ""},
	{"storage", "1.1.0", ""},
	{"operator", "0.9.0", databases},
	{"operator", "1.0.0", databases},
	{"operator", "1.1.0", databases},
	{"operator", "2.0.0", databases},
}

const (
	provider  = "\n  provides:\n  - {interface: {id: " + ingress + ", version: 1.0.0}}"
	databases = "\n  scope: Cluster\n  provides:\n  - {gvk: {apiVersion: databases.example.com/v1, kind: Database}}"
	newCerts  = "\n  scope: Cluster\n  requires:\n  - {alias: kubernetes, platform: {name: kubernetes, version: \">=1.29.0\"}}"
)

func needs(pairs ...string) string {
	out := "\n  requires:"
	for i := 0; i < len(pairs); i += 2 {
		out += fmt.Sprintf("\n  - {alias: %s, package: %[1]s, version: %q}", pairs[i], pairs[i+1])
	}
	return out
}

// apis are those that packages bring as CustomResourceDefinitions.
var apis = map[string][2]string{"certs": {"certs.example.com", "Certificate"}, "operator": {"databases.example.com", "Database"}}

// files are those of a package version, below dir.
func (r release) files(dir string) gittest.Text {
	spec := r.spec
	if spec == "" {
		spec = " {}"
	}
	out := gittest.Text{
		path.Join(dir, "Kptfile"):      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + r.name + "\n",
		path.Join(dir, "package.yaml"): "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + r.name + "\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nspec:" + spec + "\n",
		path.Join(dir, "config.yaml"):  fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %q\n", r.name, r.version),
	}
	if api, ok := apis[r.name]; ok {
		out[path.Join(dir, "crd.yaml")] = fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[3]ss.%[1]s
spec:
  group: %[1]s
  names: {kind: %[2]s, plural: %[3]ss}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true}
`, api[0], api[1], strings.ToLower(api[1]))
	}
	return out
}

// cluster is one target of the generated fleet.
type cluster struct {
	repo, dir  string // dir is "" where the target is the whole repository
	kubernetes string
	// has are the versions of packages that others put there, by package.
	has map[string]string
	// asks are ranges that an Installation asks for, by package.
	asks map[string]string
	// traefik says that an Installation chooses it for shop's ingress.
	traefik bool
}

func (c *cluster) name() string { return path.Join(c.repo, c.dir) }

// wants are the paths below the target at which sets place packages.
var wants = map[string]string{"shop": "shop", "portal": "portal", "batch": "jobs/batch"}

// clusters are n targets: every tenth is a folder of one repository, the others
// have one each.
func clusters(n int) []*cluster {
	var out []*cluster
	for i := range n {
		c := &cluster{repo: fmt.Sprintf("c-%03d", i), kubernetes: []string{"1.27.5", "1.28.0", "1.30.1"}[i%3], has: map[string]string{}, asks: map[string]string{}, traefik: i%7 == 2}
		if i%10 == 9 {
			c.repo, c.dir, c.kubernetes = "edge", fmt.Sprintf("clusters/e-%03d", i), "1.30.1"
		}
		switch {
		case i%10 == 3:
			c.has["certs"] = "1.2.0"
		case i%9 == 4:
			c.asks["certs"] = "~1.2.0"
		}
		if i%10 == 6 {
			c.has["storage"] = "1.0.0"
		}
		if i%8 == 5 {
			c.asks["db"] = "<1.2.0"
		}
		out = append(out, c)
	}
	return out
}

// generated is a fleet behind a Git server, and a management directory.
type generated struct {
	t          testing.TB
	git        *gittest.Server
	dir, cache string
	prefix     string // of the target repositories on the server
	clusters   []*cluster
	catalog    *gittest.Repo
	repos      map[string]*gittest.Repo // of targets
}

func newGenerated(t testing.TB, n int) *generated {
	t.Helper()
	g := &generated{t: t, git: gittest.NewServer(t), clusters: clusters(n)}
	g.catalog = g.git.NewRepo(t, "catalog")
	for _, r := range releases {
		g.release(r)
	}
	g.fresh("first", nil)
	return g
}

// release publishes a version in the catalogue.
func (g *generated) release(r release) {
	g.t.Helper()
	g.catalog.Tag(g.t, r.name+"/v"+r.version, g.catalog.Commit(g.t, "main", r.name+" "+r.version, r.files(r.name)))
}

// fresh makes empty target repositories, an empty cache, and a management
// directory whose documents stand in the order that shuffle gives them.
func (g *generated) fresh(prefix string, shuffle *rand.Rand) {
	g.t.Helper()
	g.prefix, g.dir, g.cache, g.repos = prefix, g.t.TempDir(), g.t.TempDir(), map[string]*gittest.Repo{}
	names := map[string]bool{}
	for _, c := range g.clusters {
		names[c.repo] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		g.repos[name] = g.git.NewRepo(g.t, prefix+"/"+name)
	}
	for _, c := range g.clusters {
		for _, name := range slices.Sorted(maps.Keys(c.has)) {
			pkg := path.Join(c.dir, name)
			files, tag := find(name, c.has[name]).files(pkg), name+"/v"+c.has[name]
			files[pkg+"/Kptfile"] += fmt.Sprintf("upstreamLock:\n  type: git\n  git: {repo: %s, directory: /%s, ref: %s, commit: %s}\n",
				g.git.RepoURL("catalog"), name, tag, g.catalog.Git(g.t, "rev-parse", tag))
			r := g.repos[c.repo]
			r.Tag(g.t, pkg+"/v1", r.Commit(g.t, "main", "install "+name, files))
		}
	}
	docs := g.documents()
	if shuffle != nil {
		shuffle.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	}
	g.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: prod\n")
	for i, part := range slices.Collect(slices.Chunk(docs, 37)) {
		g.write(fmt.Sprintf("part-%02d.yaml", i), strings.Join(part, "---\n"))
	}
}

func find(name, version string) release {
	i := slices.IndexFunc(releases, func(r release) bool { return r.name == name && r.version == version })
	return releases[i]
}

func (g *generated) write(name, content string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(content), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// documents are those of the management directory.
func (g *generated) documents() []string {
	docs := []string{
		fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: catalog\nspec:\n  type: git\n  git:\n    repo: %s\n", g.git.RepoURL("catalog")),
		fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: main\nspec:\n  sources:\n  - git:\n      repo: %s\n  defaults:\n    %s: nginx\n", g.git.RepoURL("catalog"), ingress),
	}
	platform := map[string]string{}
	for _, c := range g.clusters {
		platform[c.repo] = c.kubernetes
	}
	for _, name := range slices.Sorted(maps.Keys(g.repos)) {
		label, targets := "whole", ""
		if name == "edge" {
			label, targets = "shared", "\n    variform.dev/targets: clusters/*"
		}
		docs = append(docs, fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: %s\n  labels: {kind: %s}\n  annotations:\n    variform.dev/platform: kubernetes=%s%s\nspec:\n  type: git\n  deployment: true\n  git:\n    repo: %s\n",
			name, label, platform[name], targets, g.git.RepoURL(g.prefix+"/"+name)))
	}
	for _, app := range slices.Sorted(maps.Keys(wants)) {
		set := fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata:\n  name: %s\nspec:\n  upstream: {repo: catalog, package: %[1]s, revision: v1.0.0}\n  targets:\n  - repositorySelector: {matchLabels: {kind: whole}}\n    packageNames: [%[2]s]\n", app, wants[app])
		var folders string
		for _, c := range g.clusters {
			if c.dir != "" {
				folders += "      - " + path.Join(c.dir, wants[app]) + "\n"
			}
		}
		docs = append(docs, set+"  - repositories:\n    - name: edge\n      packageNames:\n"+folders)
	}
	for _, c := range g.clusters {
		for _, name := range slices.Sorted(maps.Keys(c.asks)) {
			docs = append(docs, installation(c, name, "constraints: \""+c.asks[name]+"\""))
		}
		if c.traefik {
			docs = append(docs, installation(c, "shop", "dependencies:\n    overrides:\n    - {alias: ingress, reference: traefik}"))
		}
	}
	return docs
}

func installation(c *cluster, pkg, spec string) string {
	return fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata:\n  name: %s-%s\nspec:\n  target: %s\n  package: %[2]s\n  %[4]s\n", strings.ReplaceAll(c.name(), "/", "-"), pkg, c.name(), spec)
}

// run runs variform and returns what it printed; another exit status is fatal.
func (g *generated) run(status int, args ...string) string {
	g.t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "--fleet", g.dir, "--cache-dir", g.cache)
	if have := cli.Main(context.Background(), args, cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs}); have != status {
		g.t.Fatalf("variform %s: status %d, want %d\n%s\n%s", strings.Join(args, " "), have, status, tail(out.String()), tail(errs.String()))
	}
	return out.String()
}

// tail is the end of a long text.
func tail(s string) string { return s[max(0, len(s)-6000):] }

// changes runs variform and returns the actions that are more than none, by
// variant.
func (g *generated) changes(status int, args ...string) map[string]string {
	g.t.Helper()
	var plan struct {
		Variants []struct{ Variant, Action string }
	}
	if err := json.Unmarshal([]byte(g.run(status, append(args, "-o", "json")...)), &plan); err != nil {
		g.t.Fatal(err)
	}
	out := map[string]string{}
	for _, v := range plan.Variants {
		if v.Action != "none" {
			out[v.Variant] = v.Action
		}
	}
	return out
}

// refs are those of all target repositories, "repository ref" to commit.
func (g *generated) refs() map[string]string {
	g.t.Helper()
	out := map[string]string{}
	var mu sync.Mutex
	each(slices.Sorted(maps.Keys(g.repos)), func(name string) {
		refs := g.repos[name].Refs(g.t)
		mu.Lock()
		defer mu.Unlock()
		for ref, commit := range refs {
			out[name+" "+ref] = commit
		}
	})
	return out
}

// each calls f for all of a list, a few at a time.
func each[T any](list []T, f func(T)) {
	var wg sync.WaitGroup
	limit := make(chan struct{}, 2*runtime.NumCPU())
	for _, x := range list {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			f(x)
		})
	}
	wg.Wait()
}

// same fails unless a run with these arguments finds nothing to do and writes
// nothing.
func (g *generated) same(args ...string) {
	g.t.Helper()
	before, pushes := g.refs(), g.git.Count(gittest.Push)
	if have := g.changes(0, args...); len(have) > 0 {
		g.t.Fatalf("%s has something to do: %v", strings.Join(args, " "), have)
	}
	if n := g.git.Count(gittest.Push) - pushes; n > 0 {
		g.t.Errorf("%s pushed %d times", strings.Join(args, " "), n)
	}
	if diff := cmp.Diff(before, g.refs()); diff != "" {
		g.t.Errorf("%s changed refs (-before +after):\n%s", strings.Join(args, " "), diff)
	}
}

// size is the number of targets.
func size() int {
	if testing.Short() {
		return 30
	}
	return 200
}

// TestFleet brings what three applications need to every target of a fleet, and
// takes it through a release of one package of the lowest level.
func TestFleet(t *testing.T) {
	g := newGenerated(t, size())

	created := g.changes(0, "apply")
	locks := g.check("drafts")
	count := 0
	for _, l := range locks {
		count += len(l.Spec.Packages)
	}
	if count < 9*len(g.clusters) {
		t.Errorf("%d packages are locked for %d targets: the fleet is too small to show anything", count, len(g.clusters))
	}
	if len(created) < count {
		t.Errorf("%d packages were drafted, and %d are locked", len(created), count)
	}
	g.same("plan", "--exit-code")
	g.same("apply")

	g.run(0, "approve", "--all")
	g.check("main")
	g.same("plan", "--exit-code")
	g.same("apply")

	// What is locked stays, whatever there is by now; --upgrade takes it where
	// the platform, what is there and the Installations let it.
	g.release(release{"certs", "1.4.0", newCerts})
	g.same("plan", "--exit-code")
	want := map[string]string{}
	for _, c := range g.clusters {
		if c.kubernetes == "1.30.1" && c.has["certs"] == "" && c.asks["certs"] == "" {
			want[c.name()+"/certs"], want[c.name()+"/variform-lock"] = "redraft", "redraft"
		}
	}
	if len(want) == 0 || len(want) == 2*len(g.clusters) {
		t.Fatalf("%d of %d targets may take the new version", len(want)/2, len(g.clusters))
	}
	before := g.refs()
	if diff := cmp.Diff(want, g.changes(0, "apply", "--upgrade", "certs")); diff != "" {
		t.Errorf("changes by a new version (-want +got):\n%s", diff)
	}
	after := g.refs()
	for ref := range before {
		if after[ref] == "" {
			t.Errorf("%s is gone", ref)
		}
	}
	maps.DeleteFunc(after, func(ref, commit string) bool { return before[ref] == commit })
	if len(after) != len(want) {
		t.Errorf("%d refs changed, want one for each of %d changes: %v", len(after), len(want), slices.Sorted(maps.Keys(after)))
	}
	for _, c := range g.clusters {
		for _, p := range g.check1(c, "drafts").Spec.Packages {
			if took := p.Version == "1.4.0"; p.pkg() == "certs" && took != (want[c.name()+"/certs"] != "") {
				t.Errorf("%s has certs %s locked", c.name(), p.Version)
			}
		}
	}
	g.same("apply")
	g.run(0, "approve", "--all")
	g.check("main")
	g.same("plan", "--exit-code", "--upgrade", "certs")
}

// TestSameCommits writes one fleet twice, from documents in two orders into
// repositories at two places.
func TestSameCommits(t *testing.T) {
	g := newGenerated(t, 40)
	g.run(0, "apply")
	first := g.refs()
	g.fresh("second", rand.New(rand.NewPCG(1, 2)))
	g.run(0, "apply")
	if diff := cmp.Diff(first, g.refs()); diff != "" {
		t.Errorf("another order of documents makes other commits (-first +second):\n%s", diff)
	}
}
