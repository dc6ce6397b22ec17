package depend

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// asked is an Installation: namespace/name is in a target, "" for none.
func asked(ref, target, pkg string) *v1alpha1.Installation {
	i := &v1alpha1.Installation{}
	i.Namespace, i.Name, _ = strings.Cut(ref, "/")
	i.Spec.Target, i.Spec.Package = target, pkg
	return i
}

func repository(ref, targets string) *configv1alpha1.Repository {
	r := &configv1alpha1.Repository{}
	r.Namespace, r.Name, _ = strings.Cut(ref, "/")
	r.Annotations = map[string]string{v1alpha1.TargetsAnnotation: targets}
	return r
}

// TestTargetsOfDocuments finds targets as the fleet's are found.
func TestTargetsOfDocuments(t *testing.T) {
	tests := map[string]struct {
		repositories  []*configv1alpha1.Repository
		installations []*v1alpha1.Installation
		want          map[string]string // by target, the Installations that are about it
	}{
		"nothing":                  {nil, nil, map[string]string{}},
		"no target is named":       {nil, []*v1alpha1.Installation{asked("/a", "", "p"), asked("n/b", "", "p")}, map[string]string{"default/": "a b"}},
		"one for all":              {nil, []*v1alpha1.Installation{asked("/a", "c2", "p"), asked("/b", "c1", "p"), asked("default/all", "", "p")}, map[string]string{"default/c1": "b all", "default/c2": "a all"}},
		"of its namespace":         {nil, []*v1alpha1.Installation{asked("n/a", "c1", "p"), asked("m/all", "", "p")}, map[string]string{"n/c1": "a"}},
		"a folder is a namespace":  {nil, []*v1alpha1.Installation{asked("/a", "c1/team", "p"), asked("/b", "/c1/", "p")}, map[string]string{"default/c1": "a b"}},
		"a folder that is one":     {[]*configv1alpha1.Repository{repository("/c1", "clusters/*")}, []*v1alpha1.Installation{asked("/a", "c1/clusters/x/team", "p"), asked("/b", "c1/other", "p")}, map[string]string{"default/c1/clusters/x": "a", "default/c1": "a b"}},
		"another's Repository":     {[]*configv1alpha1.Repository{repository("n/c1", "clusters/*")}, []*v1alpha1.Installation{asked("/a", "c1/clusters/x", "p")}, map[string]string{"default/c1": "a"}},
		"one name, two namespaces": {nil, []*v1alpha1.Installation{asked("n/a", "c1", "p"), asked("m/b", "c1", "p")}, map[string]string{"n/c1": "a", "m/c1": "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Documents{Repositories: tt.repositories, Installations: tt.installations, Platform: map[string]string{"k": "1"}}
			got := map[string]string{}
			for _, tg := range d.Targets() {
				var names []string
				for _, i := range tg.Installations {
					names = append(names, i.Name)
				}
				got[tg.ID()] = strings.Join(names, " ")
				if tg.Platform["k"] != "1" || (d.Repository(tg) != nil) != strings.HasPrefix(name, "a folder that") {
					t.Errorf("%s: %+v", tg.ID(), tg)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnswersOfDocuments holds what an Installation asks for, and where.
func TestAnswersOfDocuments(t *testing.T) {
	installed := asked("/db", "c1", "db")
	installed.Status.CurrentRevision = "sha256:two"
	locked := func(name, target, version string) *v1alpha1.PackageLock {
		l := &v1alpha1.PackageLock{Spec: resolver.Lock{Target: target, Packages: []resolver.LockedPackage{{Name: "db", Package: "db", Version: version}}}}
		l.Name = name
		return l
	}
	entries := []resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "d", Package: "db"}}},
		{Package: "old", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "d", Package: "db", Version: "^1"}}},
		{Package: "db", Version: "1.0.0"},
		{Package: "db", Version: "2.0.0", Digest: "sha256:two"},
		{Package: "db", Version: "3.0.0"},
	}
	tests := map[string]struct {
		installations []*v1alpha1.Installation
		locks         []*v1alpha1.PackageLock
		want, err     string
	}{
		"at the top":              {[]*v1alpha1.Installation{asked("n/app", "c1", "app")}, nil, "app 1.0.0 db 3.0.0", ""},
		"in a folder":             {[]*v1alpha1.Installation{asked("n/app", "c1/team", "app")}, nil, "team/app 1.0.0 team/db 3.0.0", ""},
		"without a target's name": {[]*v1alpha1.Installation{asked("n/app", "", "app")}, nil, "app 1.0.0 db 3.0.0", ""},
		"one that is about all":   {[]*v1alpha1.Installation{asked("/app", "c1", "app"), asked("/db", "", "db")}, nil, "app 1.0.0 db 3.0.0", ""},
		"what is installed":       {[]*v1alpha1.Installation{asked("/app", "c1", "app"), installed}, nil, "app 1.0.0 db 2.0.0", ""},
		"what is locked":          {[]*v1alpha1.Installation{asked("/app", "c1", "app")}, []*v1alpha1.PackageLock{locked("l", "c1", "1.0.0"), locked("m", "c2", "2.0.0")}, "app 1.0.0 db 1.0.0", ""},
		"what is locked is newer": {[]*v1alpha1.Installation{asked("/old", "c1", "old")}, []*v1alpha1.PackageLock{locked("l", "c1", "2.0.0")}, "", "db 2.0.0 is in place as db; a downgrade is not allowed"},
		"two locks":               {[]*v1alpha1.Installation{asked("/app", "c1", "app")}, []*v1alpha1.PackageLock{locked("l", "c1", "1.0.0"), locked("m", "c1", "2.0.0")}, "", "2 PackageLocks (l, m)"},
		"two namespaces":          {[]*v1alpha1.Installation{asked("n/app", "c1", "app"), asked("m/db", "c1", "db")}, nil, "", "namespaces m and n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pool, err := NewPool(entries, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			d := Documents{Installations: tt.installations, Locks: tt.locks}
			for _, tg := range d.Targets() {
				a := tg.Resolve(t.Context(), pool)
				if tt.err != "" {
					if a.Err == nil || !strings.Contains(a.Err.Error(), tt.err) {
						t.Errorf("got %v, want %s", a.Err, tt.err)
					}
					continue
				}
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				var got []string
				for _, p := range a.Lock.Spec.Packages {
					got = append(got, strings.TrimPrefix(p.Namespace+"/"+p.Name, "/"), p.Version)
				}
				if line := strings.Join(got, " "); line != tt.want {
					t.Errorf("got %s, want %s", line, tt.want)
				}
			}
		})
	}
}

// TestSolveAgain answers for an input that a person changed by the same rules.
func TestSolveAgain(t *testing.T) {
	pool, err := NewPool([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "w", Interface: &resolver.Interface{ID: "web"}}}},
		{Package: "nginx", Version: "1.0.0", Provides: []resolver.Provide{{Interface: "web"}}},
		{Package: "apache", Version: "1.0.0", Provides: []resolver.Provide{{Interface: "web"}}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Documents{Installations: []*v1alpha1.Installation{asked("/app", "c1", "app")}}
	a := d.Targets()[0].Resolve(t.Context(), pool)
	if a.Err == nil || a.Lock != nil {
		t.Fatal("nobody chose")
	}
	a.Input.Want[0].Overrides = []resolver.Override{{Alias: "w", Reference: "apache"}}
	if a.Solve(t.Context()); a.Err != nil {
		t.Fatal(a.Err)
	}
	if p := a.Lock.Spec.Packages[0]; p.Name != "apache" || p.Owner != "app" {
		t.Errorf("%+v", p)
	}
}
