package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/krm"
)

// TestOverlaps: one object in two packages of a cluster.
func TestOverlaps(t *testing.T) {
	object := func(kind, place string) contents.Object {
		group, kind, _ := strings.Cut(kind, "/")
		ns, name, _ := strings.Cut(place, "/")
		return contents.Object{ID: krm.ID{Group: group, Kind: kind, Namespace: ns, Name: name}, Path: "s.yaml", Line: 3}
	}
	list := func(o ...contents.Object) []contents.Object { return o }
	svc, bare := list(object("/Service", "db/mysql")), list(object("/Service", "/mysql"))
	two := list(object("/Service", "db/mysql"), object("/Service", "db/more"))
	class, composition := list(object("storage.k8s.io/StorageClass", "/fast")), list(object("apiextensions.crossplane.io/Composition", "/db"))
	declared := list(object("ops.x.io/Policy", "/db"))
	declared[0].Declared = true
	common := list(object("/Namespace", "/db"), object("apiextensions.k8s.io/CustomResourceDefinition", "/foos"))
	for name, tc := range map[string]struct {
		parties []Party
		refused []string
		warned  string
	}{
		"no two": {parties: []Party{{Ref: "a", Objects: svc, New: true, Takes: true}, {Ref: "b", Objects: list(object("/Service", "other/mysql"), object("x.io/Service", "db/mysql")), New: true}}},
		"of a dependency and what was asked for": {
			parties: []Party{{Ref: "a", Objects: svc, New: true, Derived: true, Takes: true}, {Ref: "b", Objects: svc, New: true}}, refused: []string{"a"},
		},
		"of two dependencies, by path": {
			parties: []Party{{Ref: "b", Objects: svc, New: true, Derived: true, Takes: true}, {Ref: "a", Objects: svc, New: true, Derived: true, Takes: true}}, refused: []string{"b"},
		},
		"what is there stays": {
			parties: []Party{{Ref: "a", Objects: svc, New: true, Takes: true}, {Ref: "b", Objects: svc, There: true}}, refused: []string{"a"},
		},
		"a new one yields to an update": {
			parties: []Party{{Ref: "a", Objects: svc, New: true, Takes: true}, {Ref: "b", Objects: svc, New: true, There: true}}, refused: []string{"a"},
		},
		"three": {
			parties: []Party{{Ref: "a", Objects: svc, New: true, Takes: true}, {Ref: "b", Objects: svc, New: true}, {Ref: "c", Objects: svc, New: true}}, refused: []string{"b", "c"},
		},
		"of those that take no part in dependencies": {
			parties: []Party{{Ref: "a", Objects: two, New: true}, {Ref: "b", Objects: two, New: true}},
			warned:  "packages a and b both bring Service/db/mysql (a/s.yaml:3, b/s.yaml:3) and 1 object more: in one cluster each overwrites the other",
		},
		"of two that are there": {parties: []Party{{Ref: "a", Objects: svc, There: true, Takes: true}, {Ref: "b", Objects: svc, There: true}}, warned: "packages a and b both bring"},
		"that what is Published has already": {
			parties: []Party{{Ref: "a", Objects: svc, There: true, Takes: true}, {Ref: "b", Objects: svc, New: true, There: true, Published: svc}}, warned: "packages a and b both bring",
		},
		"where the deployer gives the namespace": {parties: []Party{{Ref: "a", Objects: bare, New: true, Takes: true}, {Ref: "b", Objects: bare, New: true, Takes: true}}},
		"of one package, where the deployer gives the namespace": {
			parties: []Party{{Ref: "a", Objects: bare, New: true, Takes: true, Package: "p"}, {Ref: "b", Objects: bare, New: true, Takes: true, Package: "p"}}, warned: "packages a and b both bring Service/mysql",
		},
		"of one package in two folders":     {parties: []Party{{Ref: "x/a", Objects: bare, New: true, Takes: true, Package: "p"}, {Ref: "y/a", Objects: bare, New: true, Takes: true, Package: "p"}}},
		"of the cluster":                    {parties: []Party{{Ref: "a", Objects: class, New: true, Takes: true}, {Ref: "b", Objects: class, New: true}}, refused: []string{"b"}},
		"a Composition":                     {parties: []Party{{Ref: "a", Objects: composition, New: true, Takes: true}, {Ref: "b", Objects: composition, New: true}}, refused: []string{"b"}},
		"what packages may have in common":  {parties: []Party{{Ref: "a", Objects: common, New: true, Takes: true}, {Ref: "b", Objects: common, New: true}}},
		"twice in one package":              {parties: []Party{{Ref: "a", Objects: append(svc[:1:1], svc...), New: true, Takes: true}}},
		"that is named when it comes to be": {parties: []Party{{Ref: "a", Objects: list(object("/Pod", "db/")), New: true, Takes: true}, {Ref: "b", Objects: list(object("/Pod", "db/")), New: true}}},
		"that a controller creates":         {parties: []Party{{Ref: "a", Objects: declared, New: true, Takes: true}, {Ref: "b", Objects: declared, New: true}}, refused: []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused, warnings := Overlaps(tc.parties)
			var got []string
			for _, p := range tc.parties {
				if err := refused[p.Ref]; err != nil {
					if got = append(got, p.Ref); !strings.Contains(err.Error(), "both bring") || !IsStalled(err) {
						t.Error(err)
					}
				}
			}
			if d := cmp.Diff(tc.refused, got); d != "" {
				t.Errorf("refused: -want +got:\n%s", d)
			}
			if said := strings.Join(warnings, "\n"); !strings.Contains(said, tc.warned) || (said == "") != (tc.warned == "") || len(warnings) > 1 {
				t.Errorf("warned: %q", warnings)
			}
		})
	}
}

// TestAlike: a warning is told once, with the targets that have it.
func TestAlike(t *testing.T) {
	got := Alike(map[string][]string{"c2": {"b", "a"}, "c1": {"a"}, "c3": {"a"}, "c4": {"a"}, "c5": nil})
	if d := cmp.Diff([]string{"target c1, c2, c3, and 1 more: a", "target c2: b"}, got); d != "" {
		t.Error(d)
	}
}

// TestUnserved: objects of an API that nothing serves, each API once.
func TestUnserved(t *testing.T) {
	of := func(version, name string) contents.Object {
		return contents.Object{ID: krm.ID{Group: "x.io", Kind: "Foo", Name: name}, APIVersion: "x.io/" + version, Path: "f.yaml", Line: 7}
	}
	deployment := contents.Object{ID: krm.ID{Group: "apps", Kind: "Deployment", Name: "d"}, APIVersion: "apps/v1"}
	parties := []Party{
		{Ref: "a", New: true, Objects: []contents.Object{of("v1", "good"), of("v1beta1", "old"), of("v1beta1", "older"), deployment, {ID: krm.ID{Group: "y.io", Kind: "Bar", Name: "b"}, Declared: true}}},
		{Ref: "b", Objects: []contents.Object{of("v1beta1", "there")}},
	}
	served := []contents.GVK{{APIVersion: "x.io/v2", Kind: "Foo"}, {APIVersion: "x.io/v1", Kind: "Foo"}, {APIVersion: "x.io/v1", Kind: "Foo"}}
	const old = "package a: Foo.x.io/old (a/f.yaml:7) is of the API x.io/v1beta1 Foo, and v1, v2 is served here: take a version of either that suits the other"
	if d := cmp.Diff([]string{old}, Unserved(parties, served)); d != "" {
		t.Error(d)
	}
	got := Unserved(parties[:1], served[:0])
	if len(got) != 2 || !strings.Contains(got[0], "Foo.x.io/good (a/f.yaml:7) is of the API x.io/v1 Foo, which nothing here serves: bring a package that does, or say in annotation variform.dev/") {
		t.Errorf("got %q", got)
	}
}

// TestUnmade: objects in a namespace that nothing makes, each namespace once, where
// the target is known to make its own.
func TestUnmade(t *testing.T) {
	in := func(ns string) contents.Object {
		return contents.Object{ID: krm.ID{Kind: "ConfigMap", Namespace: ns, Name: "c"}, APIVersion: "v1", Path: "f.yaml", Line: 7}
	}
	namespace := func(name string) contents.Object {
		return contents.Object{ID: krm.ID{Kind: "Namespace", Name: name}, APIVersion: "v1"}
	}
	app := Party{Ref: "a", New: true, Objects: []contents.Object{in("n"), in("n"), in("default"), in("kube-system"), in("")}}
	there := Party{Ref: "b", Objects: []contents.Object{in("old"), namespace("m")}}
	with := func(p Party, o ...contents.Object) Party {
		p.Objects = append(p.Objects[:len(p.Objects):len(p.Objects)], o...)
		return p
	}
	for name, tc := range map[string]struct {
		parties []Party
		there   []string
		want    bool
	}{
		"another is made":       {parties: []Party{app, there}, want: true},
		"nobody makes any":      {parties: []Party{app}},
		"it makes its own":      {parties: []Party{with(app, namespace("n")), there}},
		"another makes it":      {parties: []Party{app, with(there, namespace("n"))}},
		"others are said":       {parties: []Party{app}, there: []string{"m"}, want: true},
		"it is said":            {parties: []Party{app, there}, there: []string{"n"}},
		"all are said":          {parties: []Party{app, there}, there: []string{"*"}},
		"nothing of it changes": {parties: []Party{{Ref: "a", Objects: app.Objects}, there}},
	} {
		var want []string
		if tc.want {
			want = []string{"package a: ConfigMap/n/c (a/f.yaml:7) is in namespace n, which nothing here makes: bring a package that does, or say in annotation variform.dev/namespaces of the Repository that the cluster has it (* for all)"}
		}
		if d := cmp.Diff(want, Unmade(tc.parties, tc.there)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}
