package resolver

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
)

const manifest = `
apiVersion: variform.dev/v1alpha1
kind: PackageManifest
metadata: {name: app}
spec:
  version: 1.0.0
  scope: Cluster
  parameters: [{name: size, required: false, to: {setter: size}}]
  outputs: [{name: url, id: web, valueFrom: status.url}]
  provides: [{gvk: {apiVersion: x.org/v1, kind: X}}, {interface: {id: web, version: 1.0.0}}]
  requires:
  - {alias: db, package: db, version: ">=1", share: {mode: group, group: g}, lifecycle: {managed: true}}
  - {alias: host, platform: {name: kubernetes, version: ">=1.30"}}
  - {alias: any, anyOf: [{gvk: {apiVersion: y/v1, kind: Yak}}, {package: z}]}
`

func TestFromManifest(t *testing.T) {
	obj, report := api.Parse([]byte(manifest))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	want := Package{
		Package: "app", Version: "1.0.0", Scope: ScopeCluster,
		Parameters: []Field{{Name: "size", Required: ptr(false)}},
		Outputs:    []Field{{Name: "url", ID: "web"}},
		Provides:   []Provide{{GVK: gvk("X")}, {Interface: "web", Version: "1.0.0"}},
		Requires: []Requirement{
			{Alias: "db", Package: "db", Version: ">=1", Share: Share{Mode: ModeGroup, Group: "g"}, Lifecycle: Lifecycle{Managed: true}},
			{Alias: "host", Platform: "kubernetes", Version: ">=1.30"},
			{Alias: "any", AnyOf: []Requirement{{GVK: &GVK{APIVersion: "y/v1", Kind: "Yak"}}, {Package: "z"}}},
		},
	}
	if diff := cmp.Diff(want, FromManifest(obj.(*v1alpha1.PackageManifest))); diff != "" {
		t.Error(diff)
	}
}

// unused are the fields of the kinds that are of no use to the engine, and why.
var unused = map[string]string{
	"Spec.Parameters.To":          "where a value goes is for those who render",
	"Spec.Credentials.To":         "where a value goes is for those who render",
	"Spec.Outputs.ValueFrom":      "where an output comes from is for those who render",
	"Spec.Target":                 "selects which installations are asked for",
	"Spec.Requires.AnyOf.Version": "has the platform's in its place in this test",
	"Status.Conditions":           "are for people",
	"Status.Dependencies.Created": "can be told from the owner",
	"Status.Dependencies.Package": "is of the installation that is named",
	"Status.Dependencies.Version": "is of the installation that is named",
	"Status.Dependencies.GVK":     "is of the manifest",
}

// TestConversionIsWhole changes every single field of the kinds, one at a time, and holds that each reaches the
// engine, but for those that are of no use to it.
func TestConversionIsWhole(t *testing.T) {
	m, i := &v1alpha1.PackageManifest{}, &v1alpha1.Installation{}
	m.Name, i.Name = "m", "i"
	fill(reflect.ValueOf(&m.Spec).Elem(), 2)
	m.Spec.Requires[0].Platform = nil // which has a version of its own; the alternative keeps it
	fill(reflect.ValueOf(&i.Spec).Elem(), 3)
	fill(reflect.ValueOf(&i.Status).Elem(), 3)
	i.Status.CurrentRevision, i.Spec.Dependencies.AllowChanges = "1.0.0", []string{"Upgrade"}
	manifest := func() string { return canonical(FromManifest(m)) }
	installation := func() string {
		r := FromInstallation(i)
		e, ok := Existing(i, mustCatalog(t, nil), nil)
		return canonical([]any{r, r.SkipDependencies, r.ValidateOnly, r.Allow, e, e.Manifest, ok, i.Spec.Activation, i.Spec.HistoryLimit}) // revisions are none of the engine's
	}
	for _, c := range []struct {
		root    any
		path    string
		convert func() string
	}{{&m.Name, "Name", manifest}, {&m.Spec, "Spec", manifest}, {&i.Name, "Name", installation}, {&i.Namespace, "Namespace", installation}, {&i.Spec, "Spec", installation}, {&i.Status, "Status", installation}} {
		each(reflect.ValueOf(c.root).Elem(), c.path, func(path string, v reflect.Value) {
			before, old := c.convert(), reflect.New(v.Type()).Elem()
			old.Set(v)
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.Int:
				v.SetInt(v.Int() + 1)
			case reflect.Map:
				changed := reflect.MakeMap(v.Type())
				for _, k := range v.MapKeys() {
					changed.SetMapIndex(reflect.ValueOf("other"), v.MapIndex(k))
				}
				v.Set(changed)
			default:
				t.Fatalf("%s is a %s: teach the test to change it", path, v.Kind())
			}
			if c.convert() == before {
				t.Errorf("%s does not reach the engine", path)
			}
			v.Set(old)
		})
	}
}

// fill gives every field a value, lists and maps one entry.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() {
				fill(v.Field(n), depth)
			}
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(one, depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), one)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	}
}

// each visits the fields that hold a value, but for those that are unused.
func each(v reflect.Value, path string, visit func(string, reflect.Value)) {
	if _, ok := unused[path]; ok {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			each(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for n := range v.NumField() {
			f := v.Type().Field(n)
			at := path + "." + f.Name
			if f.Anonymous {
				at = path
			}
			each(v.Field(n), at, visit)
		}
	case reflect.Slice:
		for n := range v.Len() {
			each(v.Index(n), path, visit)
		}
	default:
		visit(path, v)
	}
}

// TestDefaults joins the defaults of all Catalogs; two that disagree are an error.
func TestDefaults(t *testing.T) {
	catalog := func(name, pkg string) *v1alpha1.Catalog {
		c := &v1alpha1.Catalog{}
		c.Name, c.Spec.Defaults = name, map[string]string{"web": pkg}
		return c
	}
	if got, err := Defaults([]*v1alpha1.Catalog{catalog("a", "nginx"), catalog("b", "nginx")}); err != nil || got["web"] != "nginx" {
		t.Error(got, err)
	}
	if _, err := Defaults([]*v1alpha1.Catalog{catalog("a", "nginx"), catalog("b", "apache")}); err == nil || !strings.Contains(err.Error(), "nginx in Catalog a and apache in Catalog b") {
		t.Error(err)
	}
}

// TestRequestedPrereleases holds that an Installation admits prereleases of its own package.
func TestRequestedPrereleases(t *testing.T) {
	cat := mustCatalog(t, []Package{{Package: "app", Version: "1.0.0"}, {Package: "app", Version: "1.1.0-rc.1"}, {Package: "app", Version: "1.2.0-beta.1"}})
	for version, pre := range map[string]*Prereleases{"1.0.0": nil, "1.1.0-rc.1": {Identifiers: []string{"rc"}}, "1.2.0-beta.1": {}} {
		res, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "app", Version: ">=1", Prereleases: pre}}})
		if err != nil || res.Root().Version != version {
			t.Errorf("want %s: %v", version, err)
		}
	}
}

// TestLockDocument holds that a lock is read back as it was written, that writing is stable, and that one changed
// dependency changes its own lines only.
func TestLockDocument(t *testing.T) {
	render := func(version string, have []Installation) string {
		cat := mustCatalog(t, []Package{
			{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a", Parameters: map[string]string{"p": "1"}}, {Alias: "b", Package: "b"}}},
			{Package: "a", Version: version, Digest: "sha256:" + version, Parameters: []Field{{Name: "p"}}},
			{Package: "b", Version: "1.0.0", Digest: "sha256:b", Provides: []Provide{{GVK: gvk("B")}}},
		})
		res, err := Resolve(t.Context(), Input{Catalog: cat, Installations: have, Want: []Request{{Package: "app", Namespace: "n"}}})
		if err != nil {
			t.Fatal(err)
		}
		doc := res.Document("edge-1")
		data, err := new(LockWriter).Update(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseLock(data)
		if diff := cmp.Diff(&doc.Spec, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		return string(data)
	}
	before, after := render("1.0.0", nil), render("1.1.0", nil)
	var changed []string
	for n, l := range strings.Split(after, "\n") {
		if old := strings.Split(before, "\n"); n >= len(old) || old[n] != l {
			changed = append(changed, strings.TrimSpace(l))
		}
	}
	if diff := cmp.Diff([]string{"version: 1.1.0", "digest: sha256:1.1.0"}, changed); diff != "" || strings.Count(before, "\n") != strings.Count(after, "\n") {
		t.Errorf("%s\n%s", diff, after)
	}
	if again := render("1.0.0", nil); again != before {
		t.Error(cmp.Diff(before, again))
	}
	for _, want := range []string{"why: needed by n/app as a", "why: asked for", "x.org/B: n/b", "- - n/a\n    - n/b\n  - - n/app"} {
		if !strings.Contains(before, want) {
			t.Errorf("%q is not in\n%s", want, before)
		}
	}
}

// TestLockStays holds that resolving again what is there already writes the same lock, and that a change of what
// was asked for changes nothing of what stays.
func TestLockStays(t *testing.T) {
	app := func(version string, params map[string]string, outputs map[string]string, more ...Requirement) Package {
		return Package{Package: "app", Version: version, Requires: append([]Requirement{{Alias: "a", Package: "a", Parameters: params, Outputs: outputs}, {Alias: "b", Package: "b"}}, more...)}
	}
	rest := []Package{
		{Package: "a", Version: "1.0.0", Parameters: []Field{{Name: "p"}, {Name: "q"}}, Outputs: []Field{{Name: "o"}}},
		{Package: "b", Version: "1.0.0", Provides: []Provide{{GVK: gvk("B")}}, Requires: []Requirement{
			{Alias: "c", Package: "c", Outputs: map[string]string{"all": "${outputs.o}"}},
			{Alias: "d", Package: "d", Parameters: map[string]string{"p": "${bundle.dependencies.c.outputs.o}"}},
		}},
		{Package: "c", Version: "1.0.0", Provides: []Provide{{GVK: gvk("C")}}, Compositions: []string{"comp"}, Outputs: []Field{{Name: "o"}}},
		{Package: "d", Version: "1.0.0", Parameters: []Field{{Name: "p"}}},
	}
	resolve := func(catalog []Package, have []Installation, lock *Lock) *Resolution {
		res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, append(catalog, rest...)), Installations: have, Lock: lock, Want: []Request{{Package: "app", Namespace: "n", Upgrade: lock != nil}}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	text := func(r *Resolution) string {
		data, err := new(LockWriter).Update(nil, r.Document("t"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseLock(data); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
		return string(data)
	}
	one := []Package{app("1.0.0", map[string]string{"p": "1", "q": "2"}, map[string]string{"x": "${outputs.o}"})}
	first := resolve(one, nil, nil)
	have := first.Installations(nil)
	if diff := cmp.Diff(text(first), text(resolve(one, have, first.Lock))); diff != "" {
		t.Errorf("resolved again:\n%s", diff)
	}
	// The new version maps q no more, promotes nothing, and needs e beside, and d that b has already.
	two := append(one, app("2.0.0", map[string]string{"p": "1"}, nil, Requirement{Alias: "e", Package: "e"}, Requirement{Alias: "d", Package: "d"}), Package{Package: "e", Version: "1.0.0"})
	second := text(resolve(two, have, first.Lock))
	var gone, came []string
	for _, l := range strings.Split(text(first), "\n") {
		if !strings.Contains(second, l+"\n") {
			gone = append(gone, strings.TrimSpace(l))
		}
	}
	for _, l := range strings.Split(second, "\n") {
		if !strings.Contains(text(first)+"\n", l+"\n") {
			came = append(came, strings.TrimSpace(l))
		}
	}
	if diff := cmp.Diff([]string{"- field: parameters.q", `template: "2"`, "- field: outputs.x", "why: needed by n/b as d"}, gone); diff != "" {
		t.Errorf("gone:\n%s\n%s", diff, second)
	}
	if diff := cmp.Diff([]string{"version: 2.0.0", "- alias: e", "name: e", "why: needed by n/app as d, n/b as d", "- name: e", "why: needed by n/app as e", "- alias: e", "- n/e"}, came); diff != "" {
		t.Errorf("came:\n%s\n%s", diff, second)
	}
	// With the app gone, another one uses a: nothing of the app is left.
	web := append(slices.Clone(rest), Package{Package: "web", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}}})
	without := slices.DeleteFunc(slices.Clone(have), func(i Installation) bool { return i.Name == "app" })
	res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, web), Installations: without, Lock: first.Lock, Want: []Request{{Package: "web", Namespace: "n"}}})
	if err != nil || strings.Contains(text(res), "app") {
		t.Errorf("%v\n%s", err, text(res))
	}
}

// TestLockOrder holds that wiring and plan of a lock keep their order, also where the previous lock is of no help.
func TestLockOrder(t *testing.T) {
	field := []Field{{Name: "p"}}
	flow := func(version, from, to string) Package { // an app that passes an output of one dependency to the other
		p := Package{Package: "app", Version: version}
		for _, alias := range []string{"x", "y"} {
			r := Requirement{Alias: alias, Package: alias}
			if alias == to {
				r.Parameters = map[string]string{"p": "${bundle.dependencies." + from + ".outputs.p}"}
			}
			p.Requires = append(p.Requires, r)
		}
		return p
	}
	catalog := []Package{
		flow("1.0.0", "x", "y"),
		{Package: "x", Version: "1.0.0", Parameters: field, Outputs: field},
		{Package: "y", Version: "1.0.0", Parameters: field, Outputs: field, Requires: []Requirement{
			{Alias: "1", Package: "zeta", Outputs: map[string]string{"q": "${outputs.p}"}}, {Alias: "2", Package: "alpha"},
		}},
		{Package: "zeta", Version: "1.0.0", Outputs: field, Requires: []Requirement{{Alias: "c", Package: "common"}}},
		{Package: "alpha", Version: "1.0.0", Requires: []Requirement{{Alias: "c", Package: "common"}}},
		{Package: "common", Version: "1.0.0"},
	}
	want := []Request{{Package: "app"}, {Package: "y"}}
	resolve := func(catalog []Package, have []Installation, lock *Lock, want ...Request) *Resolution {
		res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, catalog), Installations: have, Lock: lock, Want: want})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := resolve(catalog, nil, nil, want...)
	have := first.Installations(nil)
	if diff := cmp.Diff(first.Lock, resolve(catalog, have, first.Lock, want...).Lock); diff != "" {
		t.Error(diff)
	}
	for _, p := range first.Lock.Packages {
		if p.Name == "common" && p.Why != "needed by alpha as c, zeta as c" {
			t.Error(p.Why)
		}
	}
	if diff := cmp.Diff([][]string{{"common", "x"}, {"alpha", "zeta"}, {"y"}, {"app"}}, first.Lock.Plan); diff != "" {
		t.Error(diff)
	}
	bare := *first.Lock
	bare.Plan = nil
	if diff := cmp.Diff(first.Lock.Plan, resolve(catalog, have, &bare, want...).Lock.Plan); diff != "" {
		t.Errorf("from a lock without a plan:\n%s", diff)
	}
	turned := resolve(append(catalog, flow("2.0.0", "y", "x")), have, first.Lock, Request{Package: "app", Upgrade: true})
	if diff := cmp.Diff([][]string{{"common"}, {"alpha", "zeta"}, {"y"}, {"x"}, {"app"}}, turned.Lock.Plan); diff != "" {
		t.Errorf("with the flow turned round:\n%s", diff)
	}
}

// TestLockNames holds that the lock of any target can be read back.
func TestLockNames(t *testing.T) {
	for target, want := range map[string]string{"edge-1": "edge-1", "": "lock", "Clusters/EU_1": "clusters-eu-1", "../": "lock", strings.Repeat("a", 300): strings.Repeat("a", 253)} {
		doc := (&Resolution{Lock: &Lock{}}).Document(target)
		data, err := new(LockWriter).Update(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseLock(data)
		if err != nil || doc.Name != want || l.Target != target {
			t.Errorf("%q is called %q: %v", target, doc.Name, err)
		}
	}
}

func TestParseLockErrors(t *testing.T) {
	head := "apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: t}\nspec:\n  packages:\n"
	for doc, want := range map[string]string{
		"kind: Pod\napiVersion: v1": `kind "Pod" of apiVersion v1 is not known`,
		"kind: Catalog\napiVersion: variform.dev/v1alpha1\nmetadata: {name: c}\nspec: {}": "not a variform.dev/v1alpha1 PackageLock",
		head + "  - {name: a, version: 1.0.0}\n  - {name: a, version: 1.0.0}":             "line 7: spec.packages[1].name",
		head + "  - {name: a, version: one}":                                              "line 6: spec.packages[0].version",
		head + "  - {name: a, version: 1.0.0, digset: x}":                                 `did you mean "digest"?`,
		head + "  - {name: a, version: 1.0.0, dependencies: [b]}":                         "hint: resolve again",
	} {
		if _, err := ParseLock([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte("apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: t}\nspec: {packages: [{name: a, version: 1.0.0}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLock(data)
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
	})
}

// TestExisting: what a document says of an installation that others manage is used, also where no catalogue has its
// version or its package.
func TestExisting(t *testing.T) {
	conn := Field{Name: "conn", Type: "string", ID: "example.org/conn"}
	cat := mustCatalog(t, []Package{
		{Package: "sql", Version: "1.0.0", Digest: "sha256:a", Outputs: []Field{{Name: "old"}}},
		{Package: "sql", Version: "2.0.0", Scope: ScopeCluster, Outputs: []Field{conn}, Provides: []Provide{{Interface: "sql"}, {GVK: &GVK{APIVersion: "x.org/v1", Kind: "DB"}}}},
	})
	parameters := map[string]string{"conn": "jdbc", "size": "9"}
	status := func(revision string) v1alpha1.InstallationStatus {
		return v1alpha1.InstallationStatus{CurrentRevision: revision}
	}
	told := status("prod")
	told.Outputs = []v1alpha1.ManifestField{{Name: "conn", ID: "own"}}
	told.Provides = []v1alpha1.Provide{{Interface: &v1alpha1.ProvidedInterface{ID: "db"}}}
	of := func(pkg, version string, scope Scope, provides []Provide, outputs ...Field) *Package {
		return &Package{Package: pkg, Version: version, Scope: scope, Provides: provides, Outputs: outputs}
	}
	for name, c := range map[string]struct {
		pkg    string
		status v1alpha1.InstallationStatus
		want   Installation
		none   bool
	}{
		"nothing is there":                 {pkg: "sql", none: true},
		"a version of the catalogue":       {pkg: "sql", status: status("1.0.0"), want: Installation{Version: "1.0.0"}},
		"a digest of the catalogue":        {pkg: "sql", status: status("sha256:a"), want: Installation{Version: "1.0.0", Digest: "sha256:a"}},
		"another version of its package":   {pkg: "sql", status: status("1.5.0"), want: Installation{Version: "1.5.0", Manifest: of("sql", "1.5.0", ScopeAny, []Provide{{Interface: "sql"}}, conn, Field{Name: "size"})}},
		"another digest of its package":    {pkg: "sql", status: status("sha256:b"), want: Installation{Version: unknownVersion, Digest: "sha256:b", Unversioned: true, Manifest: of("sql", unknownVersion, ScopeAny, []Provide{{Interface: "sql"}}, conn, Field{Name: "size"})}},
		"of no catalogue":                  {pkg: "server", status: status("0.9.0"), want: Installation{Version: "0.9.0", Manifest: of("server", "0.9.0", ScopeAny, nil, Field{Name: "conn"}, Field{Name: "size"})}},
		"what it says counts, not a guess": {pkg: "sql", status: told, want: Installation{Version: unknownVersion, Unversioned: true, Manifest: of("sql", unknownVersion, ScopeAny, []Provide{{Interface: "db"}}, Field{Name: "conn", ID: "own"}, Field{Name: "size"})}},
	} {
		t.Run(name, func(t *testing.T) {
			i := &v1alpha1.Installation{Spec: v1alpha1.InstallationSpec{Package: c.pkg, Parameters: parameters}, Status: c.status}
			i.Name = "closet"
			got, ok := Existing(i, cat, nil)
			if !c.none {
				c.want.Name, c.want.Package, c.want.Unmanaged = "closet", c.pkg, true
			}
			if d := cmp.Diff(c.want, got); d != "" || ok == c.none {
				t.Errorf("%v: %s", ok, d)
			}
		})
	}
}

// TestPassedOver: of each installation that could stand in the place of what is made it is said why it does not.
func TestPassedOver(t *testing.T) {
	there := func(version string, change func(*Installation)) Installation {
		i := Installation{Name: "closet", Package: "sql", Version: version, Fixed: true, Unmanaged: true}
		if change != nil {
			change(&i)
		}
		return i
	}
	server := func(outputs ...Field) func(*Installation) {
		return func(i *Installation) {
			i.Package, i.Manifest = "server", &Package{Package: "server", Version: i.Version, Outputs: outputs}
		}
	}
	outputs := &Interface{Document: &Document{Outputs: []Field{{Name: "c", ID: "example.org/conn"}}}}
	for name, c := range map[string]struct {
		there Installation
		req   Requirement
		want  string // "" where it is used, or is none to be said of
		used  bool
	}{
		"it is used":            {there("1.0.0", nil), Requirement{}, "", true},
		"its version":           {there("1.0.0", nil), Requirement{Version: ">=2"}, "sql 1.0.0 is there as closet, but >=2 is needed", false},
		"nothing tells it":      {there(unknownVersion, func(i *Installation) { i.Unversioned = true }), Requirement{Version: ">=2"}, "sql is there as closet, but nothing tells its version, and >=2 is needed", false},
		"its group":             {there("2.0.0", func(i *Installation) { i.Group = "g" }), Requirement{}, `sql 2.0.0 is there as closet, but is shared with group "g", and group "" needs it`, false},
		"nobody":                {there("2.0.0", func(i *Installation) { i.Mode = ModeNone }), Requirement{}, "sql 2.0.0 is there as closet, but is shared with nobody", false},
		"its labels":            {there("2.0.0", nil), Requirement{Labels: map[string]string{"tier": "gold"}}, "sql 2.0.0 is there as closet, but has no label tier: gold", false},
		"an own one is wanted":  {there("2.0.0", nil), Requirement{Share: Share{Mode: ModeNone}}, "", false},
		"an output of another":  {there("0.9.0", server(Field{Name: "conn"})), Requirement{Interface: outputs}, "server 0.9.0 is there as closet, but is not known to have output c (id example.org/conn): if it does, list it in status.outputs of Installation closet", false},
		"the output of another": {there("0.9.0", server(Field{Name: "conn", ID: "example.org/conn"})), Requirement{Interface: outputs}, "", true},
		"an interface":          {there("0.9.0", server()), Requirement{Interface: &Interface{ID: "db", Version: "1.x"}}, "server 0.9.0 is there as closet, but is not known to provide interface db 1.x: if it does, list it in status.provides of Installation closet", false},
		"another package":       {there("0.9.0", server()), Requirement{}, "", false},
		"an output that the catalogue knows it lacks": {there("1.0.0", nil), Requirement{Interface: outputs}, "sql 1.0.0 is there as closet, but has no output c (id example.org/conn)", false},
	} {
		t.Run(name, func(t *testing.T) {
			c.req.Alias, c.req.Package = "s", "sql"
			res, err := Resolve(t.Context(), Input{
				Catalog: mustCatalog(t, []Package{
					{Package: "app", Version: "1.0.0", Requires: []Requirement{c.req}},
					{Package: "sql", Version: "1.0.0"},
					{Package: "sql", Version: "2.0.0", Outputs: []Field{{Name: "o", ID: "example.org/conn"}}, Provides: []Provide{{Interface: "db", Version: "1.0.0"}}},
				}),
				Installations: []Installation{c.there}, Want: []Request{{Package: "app"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			notes, _ := res.Sharing("app", func(OutputRef) (string, error) { return "", nil })
			got := strings.Join(notes, "\n")
			if c.want != "" {
				c.want = "requires[s]: " + c.want + "; " + res.Find("app").Bindings[0].Installation + " is made beside it"
			}
			if used := res.Find("app").Bindings[0].Use == UseExisting; got != c.want || used != c.used {
				t.Errorf("used %v, noted %q, want %q", used, got, c.want)
			}
		})
	}
}
