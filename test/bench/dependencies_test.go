package bench

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/gittest"
)

// A shop needs nine packages in two levels below it, each of which has
// dependencyVersions versions.
const dependencyVersions = 6

// dependency is a package of the catalogue, with what it needs.
type dependency struct {
	name  string
	needs []string
}

// dependencies are shop and the packages below it.
var dependencies = []dependency{
	{"shop", []string{"ingress", "db", "cache", "queue", "mail"}},
	{"ingress", []string{"certs", "dns"}},
	{"db", []string{"operator", "storage"}},
	{"cache", []string{"storage"}},
	{"queue", []string{"storage", "certs"}},
	{"mail", []string{"dns", "certs"}},
	{"certs", nil},
	{"dns", nil},
	{"operator", nil},
	{"storage", nil},
}

// lower says which packages a cluster has one of.
var lower = map[string]bool{"certs": true, "dns": true, "operator": true, "storage": true}

// newDependencyWorld has one repository of n targets, each of which wants shop,
// behind a Git server.
func newDependencyWorld(b testing.TB, n int) *world {
	b.Helper()
	return newWorld(b, scenario{variants: n, http: true, needs: dependencies})
}

// publishAll makes the versions of packages, and what wants the first of them.
func (w *world) publishAll(b testing.TB, packages []dependency) {
	b.Helper()
	w.write(b, "Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bench\n")
	w.write(b, "dependencies.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: main\nspec:\n  sources:\n  - git: {repo: "+w.url(w.catalog)+"}\n")
	for v := range dependencyVersions {
		for _, p := range packages {
			w.catalog.Tag(b, fmt.Sprintf("%s/v1.%d.0", p.name, v), w.catalog.Commit(b, "main", p.name, dependencyFiles(p.name, p.needs, v)))
		}
	}
	w.write(b, "set.yaml", fmt.Sprintf(shopSet, packages[0].name))
}

const shopSet = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: %[1]s
spec:
  upstream: {repo: catalog, package: %[1]s, revision: v1.5.0}
  targets:
    - objectSelector:
        apiVersion: platform.example.com/v1
        kind: Cluster
        matchLabels: {env: prod}
      template:
        downstream:
          repo: fleet
          packageExpr: "'clusters/' + target.name + '/%[1]s'"
`

func dependencyFiles(name string, needs []string, version int) gittest.Text {
	spec := "\nspec:\n  scope: Any\n"
	if lower[name] {
		spec = "\nspec:\n  scope: Cluster\n"
	}
	for i, n := range needs {
		if i == 0 {
			spec += "  requires:\n"
		}
		spec += fmt.Sprintf("  - {alias: %s, package: %[1]s, version: \">=1.%d.0 <2.0.0\"}\n", n, version/2)
	}
	return gittest.Text{
		name + "/Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n",
		name + "/package.yaml": "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + name + "\n  annotations: {config.kubernetes.io/local-config: \"true\"}" + spec,
		name + "/config.yaml":  fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: 1.%d.0\n", name, version),
	}
}

// settle applies a fleet of n targets with dependencies, and lets one run fill the cache.
func (w *world) settle(b testing.TB, n int) {
	b.Helper()
	w.run(b, "apply")
	if have, want := len(w.drafts(b)), n*(len(dependencies)+1); have != want {
		b.Fatalf("%d Drafts for %d targets, want %d: shop, what it needs and a lock each", have, n, want)
	}
	w.run(b, "plan", "--exit-code")
}

// TestDependenciesReadNothing shows that a run with nothing to do asks each
// repository for its refs, once, and for no object.
func TestDependenciesReadNothing(t *testing.T) {
	w := newDependencyWorld(t, 3)
	w.settle(t, 3)
	before := w.fleet.Refs(t)
	w.srv.ResetCounts()
	w.run(t, "apply")
	for kind, want := range map[string]int{gittest.ReadRefs: 2, gittest.Fetch: 0, gittest.WriteRefs: 0, gittest.Push: 0} {
		if n := w.srv.Count(kind); n != want {
			t.Errorf("%d requests to %s, want %d", n, kind, want)
		}
	}
	if !maps.Equal(before, w.fleet.Refs(t)) {
		t.Error("a run with nothing to do wrote something")
	}
}

// TestDependenciesCost counts what a plan allocates for each more package of a fleet whose
// targets are alike: what a package has alike with others is made once.
func TestDependenciesCost(t *testing.T) {
	const few, many, most = 20, 80, 52_000
	allocates := func(n int) int64 {
		w := newDependencyWorld(t, n)
		w.run(t, "plan")              // with an empty cache
		least := int64(math.MaxInt64) // pools that the collector empties add some
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w.run(t, "plan")
			runtime.ReadMemStats(&after)
			least = min(least, int64(after.TotalAlloc-before.TotalAlloc))
		}
		return least
	}
	each := int64(math.MaxInt64)
	for range 6 { // one of two amounts from run to run, 1,500 apart
		if each = min(each, (allocates(many)-allocates(few))/((many-few)*int64(len(dependencies)+1))); each <= most {
			break
		}
	}
	t.Logf("%d bytes a package", each)
	if each > most {
		t.Errorf("%d bytes a package, want at most %d", each, most)
	}
}

// shopPool is the same catalogue for the package that resolves.
func shopPool(b testing.TB) (*depend.Pool, *resolver.Package) {
	b.Helper()
	var all []resolver.Package
	var shop resolver.Package
	for v := range dependencyVersions {
		for _, p := range dependencies {
			k := resolver.Package{Package: p.name, Version: fmt.Sprintf("1.%d.0", v), Digest: fmt.Sprintf("git:%s%d", p.name, v), Source: "https://example.com/catalog"}
			if lower[p.name] {
				k.Scope = resolver.ScopeCluster
			}
			for _, n := range p.needs {
				k.Requires = append(k.Requires, resolver.Requirement{Alias: n, Package: n, Version: fmt.Sprintf(">=1.%d.0 <2.0.0", v/2)})
			}
			all = append(all, k)
			if p.name == "shop" {
				shop = k
			}
		}
	}
	pool, err := depend.NewPool(all, []*variformv1alpha1.Catalog{{}}, []*resolver.Package{&shop})
	if err != nil {
		b.Fatal(err)
	}
	return pool, &shop
}

// resolveShops answers for n targets from a new catalogue; with is what it took
// with the catalogue, and bare without. Unlike ones run on platforms of their own,
// so that no answer is another's too.
func resolveShops(b testing.TB, n int, unlike bool) (with, bare time.Duration) {
	b.Helper()
	start := time.Now()
	pool, shop := shopPool(b)
	indexed := time.Now()
	for i := range n {
		pv := &v1alpha1.PackageVariant{}
		pv.Namespace, pv.Name = "default", "shop"
		pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "fleet", Package: fmt.Sprintf("clusters/c-%d/shop", i)}
		t := &depend.Target{Namespace: "default", Repository: "fleet", Directory: fmt.Sprintf("clusters/c-%d", i)}
		t.Variants = []*depend.Variant{{PackageVariant: pv, Ref: "shop", Upstream: shop}}
		if unlike {
			t.Platform = map[string]string{"kubernetes": fmt.Sprintf("1.%d.0", i)}
		}
		a := t.Resolve(b.Context(), pool)
		if a.Err != nil {
			b.Fatal(a.Err)
		}
		if len(a.Lock.Spec.Packages) != len(dependencies) {
			b.Fatalf("%d packages are locked, want %d", len(a.Lock.Spec.Packages), len(dependencies))
		}
	}
	return time.Since(start), time.Since(indexed)
}

// BenchmarkResolveTargets answers for 200 targets and for one, in turn, each
// from a catalogue that was just indexed.
//
//	×one         time for 200 targets over that for one
//	×one-bare    the same without the catalogue
//	×one-unlike  as ×one, of targets of which no two ask the same
func BenchmarkResolveTargets(b *testing.B) {
	var with, bare, unlike []float64
	for b.Loop() {
		oneWith, oneBare := resolveShops(b, 1, false)
		allWith, allBare := resolveShops(b, 200, false)
		allUnlike, _ := resolveShops(b, 200, true)
		unlike = append(unlike, float64(allUnlike)/float64(oneWith))
		with = append(with, float64(allWith)/float64(oneWith))
		bare = append(bare, float64(allBare)/float64(oneBare))
	}
	b.ReportMetric(0, "ns/op") // the loop holds both sides: its time says nothing
	b.ReportMetric(median(with), "×one")
	b.ReportMetric(median(bare), "×one-bare")
	b.ReportMetric(median(unlike), "×one-unlike")
}

// BenchmarkDependenciesNothingToDo plans fleets of 1, 200 and 800 targets that
// are up to date, in one repository behind a Git server, with and without their
// dependencies, in turn.
//
//	×alone     time with dependencies over that with --dependencies=false
//	×one       time for all targets over that for one, both with dependencies
//	µs/target  what dependencies add for each target
func BenchmarkDependenciesNothingToDo(b *testing.B) {
	one := newDependencyWorld(b, 1)
	one.settle(b, 1)
	for _, n := range []int{200, 800} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newDependencyWorld(b, n)
			w.settle(b, n)
			var alone, ones, each []float64
			for b.Loop() {
				single := one.timed(b, "plan", "--exit-code")
				with := w.timed(b, "plan", "--exit-code")
				without := w.timed(b, "plan", "--exit-code", "--dependencies=false")
				alone = append(alone, float64(with)/float64(without))
				ones = append(ones, float64(with)/float64(single))
				each = append(each, float64((with-without).Microseconds())/float64(n))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(alone), "×alone")
			b.ReportMetric(median(ones), "×one")
			b.ReportMetric(median(each), "µs/target")
		})
	}
}

// Approving on a machine that has read nothing yet asks for the locks of all targets at
// once.
func TestLocksAreReadAtOnce(t *testing.T) {
	fetches := map[int]int{}
	for _, targets := range []int{2, 6} {
		w := newDependencyWorld(t, targets)
		w.settle(t, targets)
		w.cache = t.TempDir()
		w.srv.ResetCounts()
		w.run(t, "approve", "--all")
		fetches[targets] = w.srv.Count(gittest.Fetch)
	}
	if fetches[6] > fetches[2] {
		t.Errorf("%d requests for objects for 6 targets, %d for 2", fetches[6], fetches[2])
	}
	t.Log(fetches)
}

// TestRequestsOfDependencies counts what a fleet whose targets need packages asks its
// repository for on a machine that has read nothing: what is brought is asked for together
// with what is wanted.
func TestRequestsOfDependencies(t *testing.T) {
	for n, most := range map[int]struct{ plan, status, published int }{4: {4, 6, 4}, 14: {5, 6, 5}} {
		w := newDependencyWorld(t, n)
		ask := func(what, command string, most int) {
			if got := w.requestsAnew(t, command); got > most {
				t.Errorf("%d targets, %s: %s makes %d requests, want %d", n, what, command, got, most)
			}
		}
		w.settle(t, n)
		ask("with Drafts", "plan", most.plan)
		ask("with Drafts", "status", most.status)
		w.run(t, "approve", "--all")
		for _, command := range []string{"apply", "plan", "status"} {
			ask("Published", command, most.published)
		}
	}
}
