package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// catalogue: shop reads the URL of db, whose actions follow its own; db reads
// the name of disk; log is beside them.
func catalogue() map[string]*resolver.Package {
	manages := resolver.Lifecycle{Managed: true}
	list := []*resolver.Package{
		{Package: "shop", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "^1", Lifecycle: manages}}, Parameters: []resolver.Field{{Name: "url", Default: new("${bundle.dependencies.db.outputs.url}")}}},
		{Package: "db", Requires: []resolver.Requirement{{Alias: "disk", Package: "disk", Version: "^1"}}, Parameters: []resolver.Field{{Name: "disk", Default: new("${bundle.dependencies.disk.outputs.name}")}}, Outputs: []resolver.Field{{Name: "url"}}},
		{Package: "disk", Outputs: []resolver.Field{{Name: "name"}}},
		{Package: "log"},
	}
	out := map[string]*resolver.Package{}
	for _, p := range list {
		p.Version, p.Digest, p.Tag = "1.0.0", "git:"+strings.Repeat(p.Package[:1], 16), "v1.0.0"
		out[p.Package] = p
	}
	return out
}

// resolved is target c1 with variants of packages of the catalogue, answered and
// with what they need.
func resolved(t *testing.T, have map[string]*resolver.Package, variants ...string) *Target {
	t.Helper()
	tg := NewTarget(repository(), "")
	for _, name := range variants {
		w := wanted()
		w.Identity.Package, w.Name, w.Ref, w.Target = name, name, name, tg
		w.Variant().Name = name
		tg.Wants[name] = w
		tg.Variants = append(tg.Variants, &depend.Variant{PackageVariant: w.Variant(), Ref: name, Upstream: have[name]})
	}
	var all []resolver.Package
	for _, p := range have {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b resolver.Package) int { return strings.Compare(a.Package, b.Package) })
	pool, err := depend.NewPool(all, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tg.Answer = tg.Target.Resolve(t.Context(), pool); tg.Answer.Err != nil {
		t.Fatal(tg.Answer.Err)
	}
	if _, err := tg.Derive(fromCatalogue); err != nil {
		t.Fatal(err)
	}
	return tg
}

func fromCatalogue(i *resolver.Instance) (*v1alpha1.Upstream, error) {
	return &v1alpha1.Upstream{Repo: "catalog", Package: i.Package}, nil
}

// upstreams are what the wants' upstreams hold, read at a time each.
func upstreams(have map[string]*resolver.Package) func(*Want) *Upstream {
	return func(w *Want) *Upstream {
		p := have[w.Ref]
		return &Upstream{When: time.Unix(int64(len(p.Package)), 0), Offer: &Offer{Package: p}}
	}
}

func TestDerive(t *testing.T) {
	tg := resolved(t, catalogue(), "shop")
	db := tg.Wants["db"]
	if db == nil || !db.Derived || db.MadeFor != "default/shop" || db.Target != tg || db.Identity != (Identity{"default", "c1", "db"}) || !slices.Equal(db.Needs, []string{"shop"}) || db.Upstream().Package != "db" {
		t.Fatalf("%+v", db)
	}
	if len(tg.Wants) != 3 || tg.Wants["shop"].Derived {
		t.Errorf("%d wants", len(tg.Wants))
	}
	gone := errors.New("no such repository")
	again, failed := tg.Derive(func(*resolver.Instance) (*v1alpha1.Upstream, error) { return nil, gone })
	if len(failed) != 2 || !errors.Is(failed[0].Err, gone) || len(again) != 0 || len(tg.Wants) != 1 {
		t.Errorf("%v, with wants %v and %v", failed, again, tg.Wants)
	}
}

// The order of wiring, whom an action reaches, and what one package takes along.
func TestWiring(t *testing.T) {
	have := catalogue()
	tg := resolved(t, have, "shop", "log")
	lock, _, err := tg.Conclude(upstreams(have))
	if err != nil {
		t.Fatal(err)
	}
	all := []*Want{tg.Wants["shop"], tg.Wants["log"], tg.Wants["db"], tg.Wants["disk"], lock}
	var waves [][]string
	for _, w := range Waves(all) {
		waves = append(waves, refs(w))
	}
	if d := cmp.Diff([][]string{{"log", "disk", depend.LockPackage}, {"db"}, {"shop"}}, waves); d != "" {
		t.Errorf("waves: -want +got:\n%s", d)
	}
	for ref, read := range map[string]bool{"shop": false, "db": true, "disk": true, "log": false} {
		if tg.Wants[ref].Read != read {
			t.Errorf("%s is read: %t", ref, !read)
		}
	}
	for name, c := range map[string][2][]string{
		"a root":   {{"shop"}, {"shop", "db", "disk", depend.LockPackage}},
		"a middle": {{"db"}, {"db", "disk", depend.LockPackage}},
		"a leaf":   {{"log"}, {"log", depend.LockPackage}},
		"none":     {nil, nil},
	} {
		var selected []*Want
		for _, ref := range c[0] {
			selected = append(selected, tg.Wants[ref])
		}
		if d := cmp.Diff(c[1], refs(Needed(selected, all))); d != "" {
			t.Errorf("%s: needed: -want +got:\n%s", name, d)
		}
	}
	other := wanted()
	if got := Needed([]*Want{other}, append(all, other)); len(got) != 1 || got[0] != other {
		t.Errorf("what is in no target needs %v", refs(got))
	}
	if got := refs(tg.Wants["shop"].Managed()); !slices.Equal(got, []string{"db"}) {
		t.Errorf("shop manages %v", got)
	}
	if tg.Wants["db"].Managed() != nil || other.Managed() != nil {
		t.Error("an action reaches what is not managed")
	}
}

func refs(list []*Want) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Ref)
	}
	return out
}

func TestConclude(t *testing.T) {
	crd := resolver.GVK{APIVersion: "example.com/v1", Kind: "Database"}
	cases := map[string]struct {
		reason string
		change func(*Target)
		up     func(*Want, *Upstream)
		err    string
	}{
		"all is well":      {"", nil, nil, ""},
		"unread":           {"an upstream", nil, func(w *Want, u *Upstream) { u.Err = errors.New("cannot read " + w.Ref) }, "cannot read db"},
		"a broken package": {"its manifest", nil, func(_ *Want, u *Upstream) { u.Offer.Err = errors.New("no manifest") }, "no manifest"},
		"its tag moved": {
			"what was resolved is not what is there", nil, func(_ *Want, u *Upstream) { u.Offer.Package = &resolver.Package{Digest: "git:other"} },
			"db 1.0.0 was read as git:dddddddddddddddd, and is git:other in Repository catalog: its tag has moved",
		},
		"in doubt": {
			"nothing changes on a guess", func(tg *Target) { tg.Doubt = Doubt{Why: "1 part of the catalogue could not be read"} }, nil,
			"1 part of the catalogue could not be read, so that this change is not trusted: db comes: db 1.0.0, needed by shop as db; disk comes",
		},
		"only losses in doubt": {"nothing goes", func(tg *Target) { tg.Doubt = Doubt{"1 input could not be read", true} }, nil, ""},
		"a loss in doubt": {
			"a requirement may be missing", func(tg *Target) {
				old := lockOf("gone", "1.0.0")
				tg.Doubt, tg.Lock = Doubt{"1 input could not be read", true}, &old
			}, nil, "1 input could not be read, so that this change is not trusted: gone goes",
		},
		"an API twice": {
			"a cluster has one of it", func(tg *Target) {
				tg.Repo.Deployment = true
				tg.There["there"] = Present{APIs: []resolver.GVK{crd}}
			}, func(_ *Want, u *Upstream) { u.Offer.Package.Provides = []resolver.Provide{{GVK: &crd}} },
			"packages there and db both bring the API",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			have := catalogue()
			tg := resolved(t, have, "shop")
			if c.change != nil {
				c.change(tg)
			}
			lock, failed, err := tg.Conclude(func(w *Want) *Upstream {
				u := upstreams(have)(w)
				if w.Ref == "db" && c.up != nil {
					c.up(w, u)
				}
				return u
			})
			for _, f := range failed { // each names the package that has it
				if err = errors.Join(err, f.Err); !slices.Contains(f.Refs, "db") || lock != nil {
					t.Errorf("%s: %v fails, and there is lock %v", c.reason, f.Refs, lock)
				}
			}
			if bad := saying(err, c.err); bad != "" {
				t.Fatalf("%s: %s", c.reason, bad)
			}
			if err == nil && (lock.Lock() == nil || lock.MadeFor != "default/c1" || lock.Identity != (Identity{"default", "c1", depend.LockPackage}) || !lock.Lock().When.Equal(time.Unix(4, 0))) {
				t.Errorf("%+v", lock)
			}
		})
	}
}

// A lock names who brings an API, what others put there as well.
func TestConcludeOwners(t *testing.T) {
	have := catalogue()
	tg := resolved(t, have, "shop", "log")
	tg.There["log"] = Present{APIs: []resolver.GVK{{APIVersion: "example.com/v1", Kind: "Log"}}}
	lock, _, err := tg.Conclude(func(w *Want) *Upstream {
		u := upstreams(have)(w)
		if w.Ref == "db" {
			u.Offer.APIs = []resolver.GVK{{APIVersion: "example.com/v1", Kind: "Database"}}
		}
		return u
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for ref, kind := range map[string]string{"db": "Database", "log": "Log"} {
		want[(&resolver.GVK{APIVersion: "example.com/v1", Kind: kind}).GroupKind()] = ref
	}
	if d := cmp.Diff(want, lock.Lock().Document.Spec.CustomResourceDefinitions); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestClashes(t *testing.T) {
	api := resolver.GVK{APIVersion: "example.com/v1", Kind: "Database"}
	provides := func(name string) *resolver.Package {
		return &resolver.Package{Package: name, Provides: []resolver.Provide{{GVK: &api}, {Interface: "db"}}}
	}
	tg := NewTarget(repository(), "")
	for _, ref := range []string{"a", "b"} {
		w := wanted()
		w.Ref = ref
		tg.Wants[ref] = w
	}
	tg.Wants[depend.LockPackage] = webLock(lockOf(), nil, nil)
	tg.There["z"] = Present{APIs: []resolver.GVK{api, {APIVersion: "example.com/v2", Kind: "Database"}}}
	up := func(w *Want) *Upstream {
		u := &Upstream{Offer: &Offer{Package: provides(w.Ref)}}
		if w.Ref == "b" {
			u.Err = errors.New("unread")
		}
		return u
	}
	if got := tg.Clashes(up); got != nil {
		t.Errorf("in no cluster: %v", got)
	}
	tg.Repo.Deployment = true
	if d := cmp.Diff([]Clash{{api.GroupKind(), "z", "a"}}, tg.Clashes(up)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	tg.Variants = []*depend.Variant{{Upstream: &resolver.Package{Provides: []resolver.Provide{{Interface: "db"}}}}}
	if tg.BringsAPIs() {
		t.Error("an interface is no API")
	}
	if tg.Variants[0].Upstream = provides("a"); !tg.BringsAPIs() {
		t.Error("an API is not seen")
	}
}

func TestDoubt(t *testing.T) {
	changes := []depend.Change{{Ref: "web", What: ": x"}, {Ref: "db", What: " goes", Gone: true}}
	for name, c := range map[string]struct {
		d      Doubt
		values string
		about  []string
	}{
		"none": {Doubt{}, "", nil}, "all": {Doubt{Why: "y"}, "y", []string{"web: x", "db goes"}}, "losses": {Doubt{"y", true}, "", []string{"db goes"}},
	} {
		if d := cmp.Diff(c.about, c.d.about(changes)); d != "" || c.d.Values() != c.values {
			t.Errorf("%s: values %q, -want +got:\n%s", name, c.d.Values(), d)
		}
	}
}

func TestUncertain(t *testing.T) {
	sets := []SetSize{{Namespace: "default", Name: "ok"}, {Namespace: "default", Name: "web", Failed: 2}}
	for name, c := range map[string]struct {
		catalogue int
		hidden    bool
		unread    int
		sets      []SetSize
		want      Doubt
	}{
		"nothing":   {0, false, 0, sets[:1], Doubt{}},
		"a part":    {1, true, 1, sets, Doubt{Why: "1 part of the catalogue could not be read"}},
		"two parts": {2, false, 0, nil, Doubt{Why: "2 parts of the catalogue could not be read"}},
		"hidden":    {0, true, 1, sets, Doubt{Why: "an Installation or a Catalog may be among what could not be read"}},
		"unread":    {0, false, 1, sets, Doubt{"1 input could not be read", true}},
		"a set":     {0, false, 0, sets, Doubt{"set default/web has 2 targets that failed", true}},
	} {
		if d := cmp.Diff(c.want, Uncertain(c.catalogue, c.hidden, c.unread, c.sets)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestAnnotate(t *testing.T) {
	r := repository()
	r.Annotations = map[string]string{
		variformv1alpha1.PlatformAnnotation:   "kubernetes=1.31.2, os=linux\nbad =x y=",
		variformv1alpha1.APIsAnnotation:       "cert-manager.io/v1/Issuer,v1/Pod Pod /Pod v1/",
		variformv1alpha1.NamespacesAnnotation: "a, b",
	}
	tg := NewTarget(r, "")
	err := tg.Annotate()
	for _, word := range []string{`"bad"`, `"=x"`, `"y="`, `"Pod"`, `"/Pod"`, `"v1/"`} {
		if bad := saying(err, word+" must be <"); bad != "" {
			t.Error(bad)
		}
	}
	if d := cmp.Diff(map[string]string{"kubernetes": "1.31.2", "os": "linux"}, tg.Platform); d != "" {
		t.Errorf("platform: -want +got:\n%s", d)
	}
	if d := cmp.Diff([]resolver.GVK{{APIVersion: "cert-manager.io/v1", Kind: "Issuer"}, {APIVersion: "v1", Kind: "Pod"}}, tg.APIs); d != "" {
		t.Errorf("APIs: -want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{"a", "b"}, tg.Namespaces); d != "" {
		t.Errorf("namespaces: -want +got:\n%s", d)
	}
}

func TestOneLock(t *testing.T) {
	a, again, b := NewTarget(repository(), ""), NewTarget(repository(), ""), NewTarget(repository(), "b")
	again.Repo.Name, again.Repository = "c2", "c2"
	third := NewTarget(again.Repo, "")
	OneLock([]*Target{a, again, b, third})
	const text = "targets default/c1 and default/c2 are one folder of https://git/c1: a folder has one lock"
	for _, tg := range []*Target{a, again, third} {
		if bad := saying(tg.Err, text); bad != "" {
			t.Error(bad)
		}
	}
	if b.Err != nil || strings.Count(a.Err.Error(), text) != 1 {
		t.Errorf("%v; %v", b.Err, a.Err)
	}
}

// standing is a target of the folder clusters/a that has web, db and a lock.
func standing(revisions map[string]*Revision) *Target {
	r, _, _ := fleetOf(revisions)
	r.Annotations = map[string]string{TargetsAnnotation: "clusters/*"}
	return NewTarget(r, "clusters/a")
}

func TestForeignAndDropped(t *testing.T) {
	theirs := by("other/default/web")
	cases := map[string]struct {
		reason           string
		pkg              string
		r                *Revision
		wanted           bool
		lock             []resolver.LockedPackage
		asked            *variformv1alpha1.Installation
		foreign, dropped bool
	}{
		"another's":                {"it stands there", "clusters/a/web", publishedOf(1, 1, theirs), false, nil, nil, true, false},
		"another's Draft":          {"it does not stand there", "clusters/a/web", draftOf(1, 1, theirs), false, nil, nil, false, false},
		"another's, to be deleted": {"it goes", "clusters/a/web", doomedOf(1, 1, theirs), false, nil, nil, false, false},
		"another's, wanted":        {"it is taken over, or fails", "clusters/a/web", publishedOf(1, 1, theirs), true, nil, nil, false, false},
		"another target's":         {"", "clusters/b/web", publishedOf(1, 1, theirs), false, nil, nil, false, false},
		"another's lock":           {"it is no package of the target", "clusters/a/variform-lock", publishedOf(1, 1, theirs), false, nil, nil, false, false},
		"its own":                  {"nothing asks for it", "clusters/a/web", publishedOf(1, 1), false, nil, nil, false, true},
		"its own, wanted":          {"", "clusters/a/web", publishedOf(1, 1), true, nil, nil, false, false},
		"its own, another target":  {"", "clusters/b/web", publishedOf(1, 1), false, nil, nil, false, false},
		"its own lock":             {"", "clusters/a/variform-lock", publishedOf(1, 1), false, nil, nil, false, false},
		"its own Draft":            {"it does not stand there", "clusters/a/web", draftOf(1, 1), false, nil, nil, false, false},
		"its own, needed":          {"the last answer has a use for it", "clusters/a/web", publishedOf(1, 1), false, []resolver.LockedPackage{{Name: "web", Owner: "shop"}}, nil, false, false},
		"its own, there":           {"the last answer found it", "clusters/a/web", publishedOf(1, 1), false, []resolver.LockedPackage{{Name: "web"}}, nil, false, true},
		"its own, another needed":  {"", "clusters/a/web", publishedOf(1, 1), false, []resolver.LockedPackage{{Name: "db", Owner: "shop"}}, nil, false, true},
		"its own, asked for":       {"an Installation of that name", "clusters/a/web", publishedOf(1, 1), false, nil, installation("web", "c1/clusters/a", "nginx", false, -1), false, false},
		"its own, a policy":        {"for every target: it asks for nothing", "clusters/a/web", publishedOf(1, 1), false, nil, installation("web", "", "nginx", false, -1), false, true},
		"its own, asked elsewhere": {"", "clusters/a/web", publishedOf(1, 1), false, nil, installation("web", "c1/clusters/b", "nginx", false, -1), false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tg := standing(map[string]*Revision{c.pkg: c.r})
			if p := tg.Repo.Packages["apps/"+c.pkg]; c.wanted {
				tg.Wants[strings.TrimPrefix(p.Path, "apps/clusters/a/")] = wanted()
			}
			if c.lock != nil {
				tg.Lock = &resolver.Lock{Packages: c.lock}
			}
			if c.asked != nil {
				tg.Installations = []*variformv1alpha1.Installation{c.asked}
			}
			ref, foreign := tg.Foreign(fleet, "apps/"+c.pkg)
			if foreign != c.foreign || foreign && ref != "web" {
				t.Errorf("foreign %t, %q: %s", foreign, ref, c.reason)
			}
			if ref, dropped := tg.Dropped(fleet, "apps/"+c.pkg); dropped != c.dropped || dropped && ref != "web" {
				t.Errorf("dropped %t, %q: %s", dropped, ref, c.reason)
			}
		})
	}
}

func TestSetPaths(t *testing.T) {
	a := standing(map[string]*Revision{"clusters/a/web": draftOf(1, 1), "clusters/a/db": draftOf(1, 1), "clusters/b/web": draftOf(1, 1), "rest": draftOf(1, 1)})
	b, rest := NewTarget(a.Repo, "clusters/b"), NewTarget(a.Repo, "")
	SetPaths([]*Target{a, b, rest})
	got := map[string][]string{"a": a.Paths, "b": b.Paths, "rest": rest.Paths}
	want := map[string][]string{"a": {"apps/clusters/a/db", "apps/clusters/a/web"}, "b": {"apps/clusters/b/web"}, "rest": {"apps/rest"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if a.LockPath != "apps/clusters/a/variform-lock" || a.ID() != "default/c1/clusters/a" {
		t.Errorf("%s, %s", a.LockPath, a.ID())
	}
}

func TestLeaves(t *testing.T) {
	answered := &resolver.Lock{Packages: []resolver.LockedPackage{{Name: "shop", Version: "1.0.0"}}}
	cases := map[string]struct {
		reason  string
		policy  string
		variant string // version of the variant that it was made for
		there   *Revision
		lock    *resolver.Lock
		want    bool
	}{
		"delete":                     {"it goes", "", "", nil, nil, false},
		"what it was for has gone":   {"nothing can want it", "orphan", "", nil, nil, true},
		"the answer does without":    {"", "orphan", "1.0.0", nil, answered, true},
		"no answer yet":              {"it may want it", "orphan", "1.0.0", nil, nil, false},
		"the answer is another's":    {"the variant has another version by now", "orphan", "2.0.0", nil, answered, false},
		"its package stands":         {"and the answer does without", "orphan", "", publishedOf(1, 1, by("fleet/default/shop")), answered, true},
		"its package, no answer":     {"it may want it", "orphan", "", publishedOf(1, 1, by("fleet/default/shop")), nil, false},
		"its Draft, no answer":       {"it may want it", "orphan", "", draftOf(1, 1, by("fleet/default/shop")), nil, false},
		"its package goes":           {"nothing can want it", "orphan", "", doomedOf(1, 1, by("fleet/default/shop")), nil, true},
		"a package of another owner": {"nothing can want it", "orphan", "", publishedOf(1, 1), nil, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			revisions := map[string]*Revision{}
			if c.there != nil {
				revisions["clusters/a/shop"] = c.there
			}
			tg := standing(revisions)
			SetPaths([]*Target{tg})
			tg.Lock = c.lock
			if c.variant != "" {
				pv := wanted().Variant()
				pv.Name = "shop"
				tg.Variants = []*depend.Variant{{PackageVariant: pv, Ref: "shop", Upstream: &resolver.Package{Version: c.variant}}}
			}
			if got := tg.Leaves(fleet, c.policy, "default/shop"); got != c.want {
				t.Errorf("%t: %s", got, c.reason)
			}
		})
	}
}

// What is left of a target's packages is told from them all together, not from each anew.
func TestLeavesOfMany(t *testing.T) {
	const packages = 200
	revisions := map[string]*Revision{}
	for i := range packages {
		revisions[fmt.Sprintf("clusters/a/p%03d", i)] = publishedOf(1, 1, by(fmt.Sprintf("fleet/default/p%03d", i)))
	}
	tg := standing(revisions)
	SetPaths([]*Target{tg})
	tg.Lock = &resolver.Lock{Packages: []resolver.LockedPackage{{Name: "p150"}}}
	if !tg.Leaves(fleet, "orphan", "default/p150") || tg.Leaves(fleet, "orphan", "default/p151") || !tg.Leaves(fleet, "orphan", "default/gone") {
		t.Error("other packages are left")
	}
	if n := testing.AllocsPerRun(10, func() { tg.Leaves(fleet, "orphan", "default/p150") }); n > 10 {
		t.Errorf("%.0f allocations for each of %d packages, want those of one", n, packages)
	}
}

func TestTold(t *testing.T) {
	in := installation("db", "c1/team", "postgres", false, -1)
	in.Spec.Parameters = map[string]string{"url": "u"}
	tg := NewTarget(repository(), "")
	tg.Installations = []*variformv1alpha1.Installation{installation("x", "c1", "y", false, -1), in}
	for ref, want := range map[resolver.OutputRef]string{{Instance: "team/db", Output: "url"}: "u", {Instance: "team/db", Output: "x"}: "", {Instance: "db", Output: "url"}: ""} {
		if got, ok := tg.Told(ref); got != want || ok != (want != "") {
			t.Errorf("%v: %q, %t", ref, got, ok)
		}
	}
	in.Spec.Target = "c2/team"
	if _, ok := tg.Told(resolver.OutputRef{Instance: "team/db", Output: "url"}); ok {
		t.Error("another target's is told")
	}
}

func TestFail(t *testing.T) {
	own, target := errors.New("own"), errors.New("target")
	tg := NewTarget(repository(), "")
	tg.Err = target
	tg.Wants["a"], tg.Wants["b"] = &Want{Err: own}, &Want{}
	if tg.Fail(); !errors.Is(tg.Wants["a"].Err, own) || !errors.Is(tg.Wants["b"].Err, target) {
		t.Errorf("%v, %v", tg.Wants["a"].Err, tg.Wants["b"].Err)
	}
}

func TestCollide(t *testing.T) {
	one := func(name, pkg string) *Want {
		return &Want{Identity: Identity{"default", "c1", pkg}, Name: name}
	}
	where := func(w *Want) (Place, bool) { return Place{"https://git/c1", w.Package}, w.Name != "lost" }
	cases := map[string]struct {
		reason string
		wants  []*Want
		errs   []string
	}{
		"apart":         {"", []*Want{one("a", "a"), one("b", "b"), one("ab", "ab")}, []string{"", "", ""}},
		"one folder":    {"both are told", []*Want{one("a", "x"), one("b", "x")}, []string{`PackageVariant default/b (Repository c1) makes the same folder "x" of https://git/c1`, "PackageVariant default/a (Repository c1)"}},
		"inside":        {"both are told", []*Want{one("a", "x/y/z"), one("b", "x")}, []string{`folder "x/y/z" lies inside "x", and PackageVariant default/b makes the outer one`, "PackageVariant default/a makes the inner one"}},
		"not there":     {"its Repository is not", []*Want{one("lost", "x"), one("b", "x"), one("lost", "x/y")}, []string{"", "", ""}},
		"failed before": {"the outer's first reason stays", []*Want{{Identity: Identity{"default", "c1", "x"}, Name: "a", Err: errors.New("before")}, one("b", "x/y")}, []string{"before", "the outer one"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			Collide(c.wants, where)
			for n, w := range c.wants {
				if bad := saying(w.Err, c.errs[n]); bad != "" {
					t.Errorf("%s: %s: %s", c.reason, w.Name, bad)
				}
			}
		})
	}
}

// Folders that some file systems take for one are told, once a pair, whatever stands in them.
func TestConfusable(t *testing.T) {
	const git = "https://git/c1"
	many := []string{"k"}
	for i := range 7 {
		many = append(many, fmt.Sprintf("a%d", i), fmt.Sprintf("A%d", i))
	}
	var elsewhere []string
	for _, name := range many {
		elsewhere = append(elsewhere, "elsewhere:"+name)
	}
	saysOf := func(repo, a, b string) string {
		return fmt.Sprintf("folders %q and %q of https://git/%s differ only in case or Unicode form: on systems that do not tell these apart (macOS, Windows) a checkout has one of them, so give packages there other names", a, b, repo)
	}
	says := func(a, b string) string { return saysOf("c1", a, b) }
	for name, c := range map[string]struct{ paths, want []string }{
		"plain":                     {[]string{"app", "app-2", "a/b"}, nil},
		"one with capitals":         {[]string{"App", "app-2", "Team/b", "Team/c"}, nil},
		"case":                      {[]string{"app", "b", "App"}, []string{says("App", "app")}},
		"form":                      {[]string{"caf\u00e9", "cafe\u0301"}, []string{says("cafe\u0301", "caf\u00e9")}},
		"folders above":             {[]string{"team/a", "Team/b", "Team/c"}, []string{says("Team", "team")}},
		"folders between":           {[]string{"x/team/a", "x/Team/b"}, []string{says("x/Team", "x/team")}},
		"three":                     {[]string{"app", "App", "APP"}, []string{says("APP", "App"), says("APP", "app")}},
		"a package beside a folder": {[]string{"App", "app/b"}, []string{says("App", "app")}},
		"in two repositories":       {[]string{"App", "elsewhere:app"}, nil},
		"of no repository":          {[]string{"App", "nowhere:app"}, nil},
		"many": {many, []string{
			says("A0", "a0"), says("A1", "a1"), says("A2", "a2"), says("A3", "a3"), says("A4", "a4"),
			"https://git/c1 has 2 more pairs of folders that differ only in case or Unicode form",
		}},
		"many of two repositories": {slices.Concat(many[:13], elsewhere), []string{ // each as a shard by itself says it
			says("A0", "a0"), says("A1", "a1"), says("A2", "a2"), says("A3", "a3"), says("A4", "a4"),
			saysOf("c2", "A0", "a0"), saysOf("c2", "A1", "a1"), saysOf("c2", "A2", "a2"), saysOf("c2", "A3", "a3"), saysOf("c2", "A4", "a4"),
			"https://git/c1 has 1 more pair of folders that differ only in case or Unicode form",
			"https://git/c2 has 2 more pairs of folders that differ only in case or Unicode form",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var wants []*Want
			for _, p := range c.paths {
				wants = append(wants, &Want{Identity: Identity{"default", "c1", p}})
			}
			got := Confusable(wants, func(w *Want) (Place, bool) {
				if at, ok := strings.CutPrefix(w.Package, "elsewhere:"); ok {
					return Place{"https://git/c2", at}, true
				}
				return Place{git, w.Package}, !strings.HasPrefix(w.Package, "nowhere:")
			})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func parse(t *testing.T, files ...krm.File) *krm.Package {
	t.Helper()
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What has no answer and no variant that tells it is told by itself, once a cause.
func TestUnasked(t *testing.T) {
	gone, doubt := errors.New("no such package"), errors.New("the catalogue could not be read")
	target := func(name string, err error, failed map[string]error, wants ...*Want) *Target {
		tg := NewTarget(repository(), name)
		tg.Err = err
		if failed != nil {
			tg.Answer = &depend.Answer{Failed: failed}
		}
		for _, w := range wants {
			tg.Wants[w.Ref] = w
		}
		return tg
	}
	web, db := &Want{Ref: "web"}, &Want{Ref: "db", Derived: true}
	one := map[string]error{"web": gone}
	for name, tt := range map[string]struct {
		targets []*Target
		want    []string
	}{
		"nothing fails":               {[]*Target{target("a", nil, map[string]error{})}, nil},
		"its variant tells":           {[]*Target{target("a", nil, one, web), target("b", gone, one, web)}, nil},
		"an Installation's":           {[]*Target{target("a", nil, one), target("b", nil, one)}, []string{"target c1/a, c1/b: Installation of web: dependencies: no such package"}},
		"another's":                   {[]*Target{target("a", nil, one, &Want{Ref: "log"})}, []string{"target c1/a: Installation of web: dependencies: no such package"}},
		"it was derived":              {[]*Target{target("a", nil, map[string]error{"db": gone}, db)}, []string{"target c1/a: Installation of db: dependencies: no such package"}},
		"a target's":                  {[]*Target{target("a", doubt, nil)}, []string{"target c1/a: the catalogue could not be read"}},
		"a target's, what it derived": {[]*Target{target("a", doubt, map[string]error{}, db)}, []string{"target c1/a: the catalogue could not be read"}},
		"a target's, a variant tells": {[]*Target{target("a", doubt, nil, web)}, nil},
	} {
		var got []string
		for _, err := range Unasked(tt.targets) {
			got = append(got, err.Error())
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// What was Published of an answer without a lock counts as locked.
func TestRelock(t *testing.T) {
	good := &depend.Variant{PackageVariant: &v1alpha1.PackageVariant{}, Ref: "team/good"}
	good.PackageVariant.Namespace, good.PackageVariant.Name = "default", "good"
	target := func() *Target { return &Target{Target: depend.Target{Variants: []*depend.Variant{good}}} }
	tg := target()
	if tg.Relock(); tg.Lock != nil {
		t.Error("a lock of nothing")
	}
	tg.Brought("lib", "default/good", &resolver.Package{Package: "lib", Version: "1.0.0"})
	tg.Brought("team/good-lib", "default/other", &resolver.Package{Package: "lib", Version: "2.0.0"})
	tg.Relock()
	want := []resolver.LockedPackage{{Name: "lib", Version: "1.0.0", Owner: "team/good"}, {Namespace: "team", Name: "good-lib", Package: "lib", Version: "2.0.0"}}
	if d := cmp.Diff(want, tg.Lock.Packages); d != "" {
		t.Error(d)
	}
	there := target()
	there.Lock = &resolver.Lock{}
	there.Brought("lib", "default/good", &resolver.Package{Package: "lib", Version: "1.0.0"})
	if there.Relock(); len(there.Lock.Packages) > 0 {
		t.Error("a lock that is there was changed")
	}
}
