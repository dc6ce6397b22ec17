package depend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// needs is a package version that needs others, each as "package range".
func needs(name, version string, others ...string) resolver.Package {
	p := resolver.Package{Package: name, Version: version, Digest: "git:" + strings.Repeat(name[:1], 16)}
	for _, o := range others {
		pkg, within, _ := strings.Cut(o, " ")
		p.Requires = append(p.Requires, resolver.Requirement{Alias: pkg, Package: pkg, Version: within})
	}
	return p
}

// target is c1 with variants of some packages of a catalogue, at their own names.
func target(catalogue []resolver.Package, variants ...string) *Target {
	t := &Target{Namespace: "default", Repository: "c1", Published: map[string]bool{}}
	for _, name := range variants {
		v := variantOf("set", "set-c1-"+name, name, name)
		for i := range catalogue {
			if catalogue[i].Package == name {
				own := catalogue[i]
				v.Upstream = &own
			}
		}
		t.Variants = append(t.Variants, v)
	}
	return t
}

func pool(t *testing.T, catalogue []resolver.Package) *Pool {
	t.Helper()
	p, err := NewPool(catalogue, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upstreamOf names an instance's package in the catalogue.
func upstreamOf(i *resolver.Instance) (*configv1alpha1.Upstream, error) {
	return &configv1alpha1.Upstream{Repo: "cat", Package: i.Package}, nil
}

// TestAnswers: what a target is to have, and for whom.
func TestAnswers(t *testing.T) {
	catalogue := []resolver.Package{
		needs("app", "1.0.0", "db ^1", "log"), needs("web", "1.0.0", "log"), needs("lonely", "1.0.0"),
		needs("db", "1.0.0", "disk"), needs("db", "1.1.0", "disk"), needs("db", "2.0.0"), needs("disk", "1.0.0"), needs("log", "1.0.0"),
	}
	cases := map[string]struct {
		variants, published []string
		lock                []resolver.LockedPackage
		refresh             []string
		want                []string // of the lock: ref version owner
		derived             []string // ref, owner
	}{
		"nothing is needed":           {variants: []string{"lonely"}, want: []string{"lonely 1.0.0 "}},
		"a chain":                     {variants: []string{"app"}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 app"}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
		"shared":                      {variants: []string{"app", "web"}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 app", "web 1.0.0 "}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
		"a variant of it":             {variants: []string{"app", "log"}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 "}, derived: []string{"db default/set-c1-app", "disk default/dependency-c1-db"}},
		"locked":                      {variants: []string{"app"}, lock: []resolver.LockedPackage{{Name: "db", Package: "db", Version: "1.0.0"}}, want: []string{"app 1.0.0 ", "db 1.0.0 app", "disk 1.0.0 db", "log 1.0.0 app"}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
		"locked, refreshed":           {variants: []string{"app"}, lock: []resolver.LockedPackage{{Name: "db", Package: "db", Version: "1.0.0"}}, refresh: []string{"db"}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 app"}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
		"locked, all refreshed":       {variants: []string{"app"}, lock: []resolver.LockedPackage{{Name: "db", Package: "db", Version: "1.0.0", Digest: "git:old"}}, refresh: []string{"*"}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 app"}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
		"who it was made for stays":   {variants: []string{"app", "web"}, lock: []resolver.LockedPackage{{Name: "log", Package: "log", Version: "1.0.0", Owner: "web"}}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 web", "web 1.0.0 "}, derived: []string{"db default/set-c1-app", "log default/set-c1-web", "disk default/dependency-c1-db"}},
		"who it was made for is gone": {variants: []string{"app"}, lock: []resolver.LockedPackage{{Name: "log", Package: "log", Version: "1.0.0", Owner: "web"}}, want: []string{"app 1.0.0 ", "db 1.1.0 app", "disk 1.0.0 db", "log 1.0.0 app"}, derived: []string{"db default/set-c1-app", "log default/set-c1-app", "disk default/dependency-c1-db"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tg := target(catalogue, tc.variants...)
			tg.Refresh = tc.refresh
			if tc.lock != nil {
				tg.Lock = &resolver.Lock{Target: "c1", Packages: tc.lock}
			}
			a := tg.Resolve(t.Context(), pool(t, catalogue))
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			var locked []string
			for _, p := range a.Lock.Spec.Packages {
				locked = append(locked, p.Name+" "+p.Version+" "+p.Owner)
			}
			slices.Sort(locked)
			if diff := cmp.Diff(tc.want, locked); diff != "" {
				t.Errorf("lock (-want +got):\n%s", diff)
			}
			ds, err := a.Derive(upstreamOf)
			if err != nil {
				t.Fatal(err)
			}
			var derived []string
			for _, d := range ds {
				derived = append(derived, d.Ref+" "+d.Owner)
				if d.PackageVariant.Annotations[v1alpha1.OwnerAnnotation] != d.Owner {
					t.Errorf("%s: annotations %v", d.Ref, d.PackageVariant.Annotations)
				}
			}
			if diff := cmp.Diff(tc.derived, derived); diff != "" {
				t.Errorf("derived (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDerivedVariants: what one takes over from the variant that needs it.
func TestDerivedVariants(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0", "db"), needs("db", "1.0.0")}
	tg := target(catalogue, "app")
	tg.Directory = "team"
	spec := &tg.Variants[0].PackageVariant.Spec
	spec.PackageContext = &configv1alpha1.PackageContext{Data: map[string]string{"region": "eu"}}
	spec.Injectors = []configv1alpha1.InjectionSelector{{Name: "eu"}}
	spec.Labels, spec.Annotations = map[string]string{"l": "1"}, map[string]string{"a": "2"}
	a := tg.Resolve(t.Context(), pool(t, catalogue))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	ds, failed := a.Derive(upstreamOf)
	if failed != nil || len(ds) != 1 {
		t.Fatalf("got %v, %v", ds, failed)
	}
	want := &configv1alpha1.PackageVariant{}
	want.APIVersion, want.Kind, want.Namespace, want.Name = configv1alpha1.APIVersion, "PackageVariant", "default", "dependency-c1-team-db-"
	want.Annotations = map[string]string{v1alpha1.OwnerAnnotation: "default/set-c1-app"}
	want.Spec = configv1alpha1.PackageVariantSpec{
		Upstream: &configv1alpha1.Upstream{Repo: "cat", Package: "db"}, Downstream: &configv1alpha1.Downstream{Repo: "c1", Package: "team/db"},
		PackageContext: spec.PackageContext, Injectors: spec.Injectors, Labels: spec.Labels, Annotations: spec.Annotations,
		DeletionPolicy: configv1alpha1.DeletionOrphan,
	}
	got := ds[0].PackageVariant
	if !strings.HasPrefix(got.Name, want.Name) {
		t.Errorf("name %q", got.Name)
	}
	want.Name = got.Name
	if diff := cmp.Diff(want, got); diff != "" || ds[0].Set != "set" || ds[0].Ref != "db" || ds[0].Upstream == nil {
		t.Errorf("%+v (-want +got):\n%s", ds[0], diff)
	}
	gone := errors.New("no such repository")
	ds, failed = a.Derive(func(*resolver.Instance) (*configv1alpha1.Upstream, error) { return nil, gone })
	if len(ds) != 0 || len(failed) != 1 || !slices.Equal(failed[0].Refs, []string{"db"}) || !errors.Is(failed[0].Err, gone) || !strings.Contains(failed[0].Err.Error(), "db 1.0.0") {
		t.Errorf("without an upstream: %v, %v", ds, failed)
	}
}

// TestManagedDependencies: one that is managed goes with what needs it, and is
// acted on with it.
func TestManagedDependencies(t *testing.T) {
	app := needs("app", "1.0.0", "db", "log")
	app.Requires[0].Lifecycle = v1alpha1.Lifecycle{Managed: true}
	catalogue := []resolver.Package{app, needs("db", "1.0.0"), needs("log", "1.0.0")}
	a := target(catalogue, "app").Resolve(t.Context(), pool(t, catalogue))
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	ds, err := a.Derive(upstreamOf)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]configv1alpha1.DeletionPolicy{}
	for _, d := range ds {
		got[d.Ref] = d.PackageVariant.Spec.DeletionPolicy
	}
	want := map[string]configv1alpha1.DeletionPolicy{"db": configv1alpha1.DeletionDelete, "log": configv1alpha1.DeletionOrphan}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := a.Invokes("nosuch"); got != nil {
		t.Errorf("Invokes of what is not there: %v", got)
	}
	if diff := cmp.Diff([]string{"app"}, a.Requirers("db")); diff != "" || a.Requirers("app") != nil {
		t.Errorf("Requirers: %s", diff)
	}
}

// TestNeedsAndWants: whether there is anything to resolve.
func TestNeedsAndWants(t *testing.T) {
	cases := map[string]struct {
		change       func(*Target)
		needs, wants bool
	}{
		"nothing":                     {func(*Target) {}, false, false},
		"a variant needs something":   {func(t *Target) { t.Variants[0].Upstream.Requires = []resolver.Requirement{{Alias: "d", Package: "d"}} }, true, true},
		"a variant takes values":      {func(t *Target) { t.Variants[0].Upstream.Parameters = []resolver.Field{{Name: "p"}} }, false, true},
		"a variant takes credentials": {func(t *Target) { t.Variants[0].Upstream.Credentials = []resolver.Field{{Name: "p"}} }, false, true},
		"an Installation asks":        {func(t *Target) { t.Installations = []*v1alpha1.Installation{installation("c1", "db", "i")} }, true, true},
		"one of another target":       {func(t *Target) { t.Installations = []*v1alpha1.Installation{installation("c2", "db", "i")} }, false, false},
		"one for every target":        {func(t *Target) { t.Installations = []*v1alpha1.Installation{installation("", "db", "i")} }, false, false},
		"one about the variant":       {func(t *Target) { t.Installations = []*v1alpha1.Installation{installation("c1", "lonely", "i")} }, false, false},
		"one about the lock":          {func(t *Target) { t.Installations = []*v1alpha1.Installation{installation("c1", LockPackage, "i")} }, false, false},
		"one that is there": {func(t *Target) {
			i := installation("c1", "db", "i")
			i.Status.CurrentRevision = "1.0.0"
			t.Installations = []*v1alpha1.Installation{i}
		}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tg := target([]resolver.Package{needs("lonely", "1.0.0")}, "lonely")
			tc.change(tg)
			if got := tg.Needs(); got != tc.needs {
				t.Errorf("Needs() = %v", got)
			}
			if got := tg.Wants(); got != tc.wants {
				t.Errorf("Wants() = %v", got)
			}
		})
	}
}

// TestInstallationsAreAsked: what no variant makes and an Installation asks for.
func TestInstallationsAreAsked(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0"), needs("db", "1.0.0"), needs("db", "2.0.0")}
	cases := map[string]struct {
		add  *v1alpha1.Installation
		want []string
	}{
		"of the target":      {installation("c1", "db", "mine"), []string{"app 1.0.0", "mine 2.0.0"}},
		"in a folder of it":  {installation("c1/team", "db", "mine"), []string{"app 1.0.0", "team/mine 2.0.0"}},
		"of another":         {installation("c2", "db", "mine"), []string{"app 1.0.0"}},
		"of one named alike": {installation("c11", "db", "mine"), []string{"app 1.0.0"}},
		"of all":             {installation("", "db", "mine"), []string{"app 1.0.0"}},
		"of the lock":        {installation("c1", LockPackage, "mine"), []string{"app 1.0.0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tg := target(catalogue, "app")
			tg.Installations = []*v1alpha1.Installation{tc.add}
			a := tg.Resolve(t.Context(), pool(t, catalogue))
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			var got []string
			for _, i := range a.Resolution.Instances {
				got = append(got, i.Ref()+" "+i.Version)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsThere: packages of others, and what of an approved lock is Published.
func TestWhatIsThere(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0", "db ^1"), needs("db", "1.0.0"), needs("db", "1.1.0")}
	placed := &resolver.Lock{Target: "c1", Packages: []resolver.LockedPackage{{Name: "db", Package: "db", Version: "1.0.0", Digest: "git:" + strings.Repeat("d", 16)}}}
	cases := map[string]struct {
		change func(*Target)
		want   string // of db: version, from, whether it is there
	}{
		"nothing":                 {func(*Target) {}, "1.1.0  false"},
		"another's":               {func(t *Target) { t.Existing = []resolver.Installation{{Name: "db", Package: "db", Version: "1.0.0"}} }, "1.0.0 1.0.0 true"},
		"approved, Published":     {func(t *Target) { t.Placed, t.Lock = placed, placed; t.Published["db"] = true }, "1.0.0 1.0.0 false"},
		"approved, not Published": {func(t *Target) { t.Placed, t.Lock = placed, placed }, "1.0.0  false"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tg := target(catalogue, "app")
			tc.change(tg)
			a := tg.Resolve(t.Context(), pool(t, catalogue))
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			i := a.Resolution.Find("db")
			if got := fmt.Sprintf("%s %s %v", i.Version, i.From, i.Existing); got != tc.want {
				t.Errorf("db is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestParameters: a variant's own context gives values, an Installation's go first.
func TestParameters(t *testing.T) {
	v := variantOf("", "v", "app", "app")
	v.Upstream.ContextKeys = map[string]string{"size": "db-size", "zone": "zone", "none": "not there"}
	v.PackageVariant.Spec.PackageContext = &configv1alpha1.PackageContext{Data: map[string]string{"db-size": "10", "zone": "a"}}
	tg := &Target{Namespace: "default", Repository: "c1", Variants: []*Variant{v}}
	got := tg.parameters(v, map[string]string{"zone": "b", "more": "c"})
	if diff := cmp.Diff(map[string]string{"size": "10", "zone": "b", "more": "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v.PackageVariant.Spec.PackageContext = nil
	if diff := cmp.Diff(map[string]string{"zone": "b"}, tg.parameters(v, map[string]string{"zone": "b"})); diff != "" {
		t.Errorf("without a context (-want +got):\n%s", diff)
	}
}

// TestNamesOfTargets: a Repository, and a folder of one.
func TestNamesOfTargets(t *testing.T) {
	for dir, want := range map[string][2]string{"": {"c1", "ns/c1"}, "team/a": {"c1/team/a", "ns/c1/team/a"}} {
		tg := &Target{Namespace: "ns", Repository: "c1", Directory: dir}
		if tg.Name() != want[0] || tg.ID() != want[1] {
			t.Errorf("%q: %q, %q", dir, tg.Name(), tg.ID())
		}
	}
}

// TestVersions: what an upstream's version is taken from.
func TestVersions(t *testing.T) {
	const digest = "git:0123456789abcdef"
	for name, tc := range map[string]struct{ manifest, tag, want string }{
		"its manifest": {"1.2.3", "web/v9", "1.2.3"}, "its tag": {"", "web/v9", "9.0.0"}, "its tag's version": {"", "web/v1.2.3-rc.1", "1.2.3-rc.1"},
		"neither": {"", "web/main", "0.0.0-g0123456789ab"},
	} {
		if got := Version(tc.manifest, tc.tag, digest); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := Version("", "main", "git:0123"); got != "0.0.0-g0123" {
		t.Errorf("a short digest: %q", got)
	}
}

// TestPoolsAnswerOnce: the same question has the same answer, with a lock of its
// own for each who asks, whose packages are held once.
func TestPoolsAnswerOnce(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0", "db"), needs("db", "1.0.0")}
	p := pool(t, catalogue)
	first, second := target(catalogue, "app").Resolve(t.Context(), p), target(catalogue, "app").Resolve(t.Context(), p)
	if first.Err != nil || second.Err != nil || len(p.answers) != 1 {
		t.Fatalf("%v, %v, %d answers", first.Err, second.Err, len(p.answers))
	}
	first.Lock.Spec.CustomResourceDefinitions["a"] = "changed"
	if first.Lock == second.Lock || len(second.Lock.Spec.CustomResourceDefinitions) > 0 {
		t.Error("two answers share a lock")
	}
	for _, l := range []*resolver.Lock{&second.Lock.Spec, first.Resolution.Lock, second.Resolution.Lock} {
		if &l.Packages[0] != &first.Lock.Spec.Packages[0] {
			t.Error("the packages of equal locks are held twice")
		}
	}
	other := target(catalogue, "db").Resolve(t.Context(), p)
	if other.Err != nil || len(p.answers) != 2 {
		t.Errorf("another question: %v, %d answers", other.Err, len(p.answers))
	}
	for i := range maxAnswers + 5 {
		tg := target(catalogue, "app")
		tg.Platform = map[string]string{"p": fmt.Sprint(i)}
		tg.Resolve(t.Context(), p)
	}
	if len(p.answers) != maxAnswers {
		t.Errorf("%d answers are kept", len(p.answers))
	}
}

// TestMovedDigest: one version with other content is an error that says how to
// go on.
func TestMovedDigest(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0", "db"), needs("db", "1.0.0")}
	tg := target(catalogue, "app")
	tg.Lock = &resolver.Lock{Packages: []resolver.LockedPackage{{Name: "db", Package: "db", Version: "1.0.0", Digest: "git:another"}}}
	a := tg.Resolve(t.Context(), pool(t, catalogue))
	if a.Err == nil || !strings.Contains(a.Err.Error(), "--upgrade") || a.Lock != nil {
		t.Errorf("got %v", a.Err)
	}
}
