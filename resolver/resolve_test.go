package resolver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gvk(kind string) *GVK { return &GVK{APIVersion: "x.org/v1", Kind: kind} }

func ptr[T any](v T) *T { return &v }

// TestResolve covers what the conformance cases leave out. versions are "instance package version" in the order
// of the walk; plan is the waves.
func TestResolve(t *testing.T) {
	tests := map[string]struct {
		reason   string
		catalog  []Package
		in       Input
		want     Request
		versions []string
		plan     [][]string
		kind     Kind
		mentions []string
	}{
		"gvk from a sibling": {
			reason: "an API that another dependency brings in is there, and that one runs first",
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "crd", GVK: gvk("X")}, {Alias: "op", Package: "operator", Version: ">=1"}}},
				{Package: "operator", Version: "1.0.0", Provides: []Provide{{GVK: gvk("X")}}},
				{Package: "operator", Version: "2.0.0"},
			},
			want:     Request{Package: "app"},
			versions: []string{"app app 1.0.0", "operator operator 1.0.0"},
			plan:     [][]string{{"operator"}, {"app"}},
		},
		"gvk brings nothing in": {
			reason: "what provides an API is not installed for that alone, even where some package names it",
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "crd", GVK: gvk("X")}}},
				{Package: "other", Version: "1.0.0", Requires: []Requirement{{Alias: "op", Package: "operator"}}},
				{Package: "operator", Version: "1.0.0", Provides: []Provide{{GVK: gvk("X")}}},
			},
			want: Request{Package: "app"}, kind: MissingProvider, mentions: []string{"operator", "x.org/v1 X"},
		},
		"one owner of an API": {
			reason: "two packages of the graph may not own one API; another version is taken",
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}, {Alias: "b", Package: "b"}}},
				{Package: "a", Version: "1.0.0", Provides: []Provide{{GVK: gvk("X")}}},
				{Package: "b", Version: "2.0.0", Provides: []Provide{{GVK: gvk("X")}}},
				{Package: "b", Version: "1.0.0"},
			},
			want:     Request{Package: "app"},
			versions: []string{"app app 1.0.0", "a a 1.0.0", "b b 1.0.0"},
			plan:     [][]string{{"a", "b"}, {"app"}},
		},
		"two owners of an API": {
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}}},
				{Package: "a", Version: "1.0.0", Provides: []Provide{{GVK: gvk("X")}}},
				{Package: "z", Version: "1.0.0", Provides: []Provide{{GVK: gvk("X")}}},
			},
			in:   Input{Installations: []Installation{{Name: "zed", Package: "z", Version: "1.0.0"}}},
			want: Request{Package: "app"}, kind: OwnershipConflict, mentions: []string{"zed", "a", "x.org/X"},
		},
		"one owner of an object": {
			reason: "two packages of the graph may not bring one Composition or other object; another version is taken",
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}, {Alias: "b", Package: "b"}, {Alias: "c", Package: "c"}}},
				{Package: "a", Version: "1.0.0", Compositions: []string{"db"}, Provides: []Provide{{Object: &Object{Group: "x.org", Kind: "Policy", Name: "p"}}}},
				{Package: "b", Version: "2.0.0", Compositions: []string{"db"}},
				{Package: "b", Version: "1.0.0", Compositions: []string{"own"}},
				{Package: "c", Version: "2.0.0", Provides: []Provide{{Object: &Object{Group: "x.org", Kind: "Policy", Name: "p"}}}},
				{Package: "c", Version: "1.0.0", Provides: []Provide{{Object: &Object{Group: "x.org", Kind: "Policy", Name: "q"}}}},
			},
			want:     Request{Package: "app"},
			versions: []string{"app app 1.0.0", "a a 1.0.0", "b b 1.0.0", "c c 1.0.0"},
			plan:     [][]string{{"a", "b", "c"}, {"app"}},
		},
		"two owners of a Composition": {
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}}},
				{Package: "a", Version: "1.0.0", Compositions: []string{"db"}},
				{Package: "z", Version: "1.0.0", Compositions: []string{"db"}},
			},
			in:   Input{Installations: []Installation{{Name: "zed", Package: "z", Version: "1.0.0"}}},
			want: Request{Package: "app"}, kind: OwnershipConflict, mentions: []string{"zed", "a", "Composition.apiextensions.crossplane.io/db"},
		},
		"wiring orders": {
			reason: "a dependency that reads another's output runs after it",
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{
					{Alias: "a", Package: "a", Parameters: map[string]string{"c": "${ bundle.dependencies.b.outputs.o }"}}, {Alias: "b", Package: "b"},
				}},
				{Package: "a", Version: "1.0.0", Parameters: []Field{{Name: "c"}}},
				{Package: "b", Version: "1.0.0", Outputs: []Field{{Name: "o"}}},
			},
			want:     Request{Package: "app"},
			versions: []string{"app app 1.0.0", "a a 1.0.0", "b b 1.0.0"},
			plan:     [][]string{{"b"}, {"a"}, {"app"}},
		},
		"wiring cycle": {
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{
					{Alias: "a", Package: "a", Parameters: map[string]string{"c": "${bundle.dependencies.b.outputs.o}"}},
					{Alias: "b", Package: "b", Parameters: map[string]string{"c": "${bundle.dependencies.a.outputs.o}"}},
				}},
				{Package: "a", Version: "1.0.0", Parameters: []Field{{Name: "c"}}, Outputs: []Field{{Name: "o"}}},
				{Package: "b", Version: "1.0.0", Parameters: []Field{{Name: "c"}}, Outputs: []Field{{Name: "o"}}},
			},
			want: Request{Package: "app"}, kind: Cycle, mentions: []string{"a", "b"},
		},
		"a cycle is avoided": {
			reason: "an older version without the cycle is found",
			catalog: []Package{
				{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "b", Package: "b"}}},
				{Package: "b", Version: "2.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}}},
				{Package: "b", Version: "1.0.0"},
			},
			want:     Request{Package: "a"},
			versions: []string{"a a 1.0.0", "b b 1.0.0"},
			plan:     [][]string{{"b"}, {"a"}},
		},
		"ranges that meet share": {
			reason: "one instance for two ranges where one version is in both",
			catalog: []Package{
				{Package: "top", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}, {Alias: "b", Package: "b"}}},
				{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: ">=1"}}},
				{Package: "b", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: "<2"}}},
				{Package: "lib", Version: "1.0.0"},
				{Package: "lib", Version: "2.0.0"},
			},
			want:     Request{Package: "top"},
			versions: []string{"top top 1.0.0", "a a 1.0.0", "b b 1.0.0", "lib lib 1.0.0"},
			plan:     [][]string{{"lib"}, {"a", "b"}, {"top"}},
		},
		"ranges that do not meet split": {
			reason: "scope any: an unfit version is joined",
			catalog: []Package{
				{Package: "top", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}, {Alias: "b", Package: "b"}}},
				{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: ">=2"}}},
				{Package: "b", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: "<2"}}},
				{Package: "lib", Version: "1.0.0"},
				{Package: "lib", Version: "2.0.0"},
			},
			want:     Request{Package: "top"},
			versions: []string{"top top 1.0.0", "a a 1.0.0", "b b 1.0.0", "lib lib 2.0.0", "b-l lib 1.0.0"},
			plan:     [][]string{{"b-l", "lib"}, {"a", "b"}, {"top"}},
		},
		"dependents move along": {
			reason: "an upgrade of a shared dependency takes a dependent with it that no longer accepts it",
			catalog: []Package{
				{Package: "y", Version: "1.0.0", Requires: []Requirement{{Alias: "x", Package: "x", Version: ">=2"}}},
				{Package: "d", Version: "1.0.0", Scope: ScopeCluster, Requires: []Requirement{{Alias: "x", Package: "x", Version: "1.x"}}},
				{Package: "d", Version: "2.0.0", Scope: ScopeCluster, Requires: []Requirement{{Alias: "x", Package: "x", Version: "2.x"}}},
				{Package: "x", Version: "1.0.0", Scope: ScopeCluster},
				{Package: "x", Version: "2.0.0", Scope: ScopeCluster},
			},
			in: Input{Installations: []Installation{
				{Name: "x", Package: "x", Version: "1.0.0"}, {Name: "d", Package: "d", Version: "1.0.0", Bindings: map[string]string{"x": "x"}},
			}},
			want:     Request{Package: "y", Allow: Changes{Upgrade: true}},
			versions: []string{"y y 1.0.0", "x x 2.0.0", "d d 2.0.0"},
		},
		"the user chooses an implementation": {
			catalog: []Package{
				{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Interface: &Interface{ID: "i", Outputs: []Field{{Name: "o"}}}}}},
				{Package: "one", Version: "1.0.0", Outputs: []Field{{Name: "o"}}},
				{Package: "two", Version: "1.0.0", Outputs: []Field{{Name: "o"}}},
			},
			want:     Request{Package: "app", Overrides: []Override{{Alias: "db", Reference: "two:1.0.0"}}},
			versions: []string{"app app 1.0.0", "two two 1.0.0"},
			plan:     [][]string{{"two"}, {"app"}},
		},
		"unknown package": {want: Request{Package: "ghost"}, kind: NoSolution, mentions: []string{"ghost"}},
		"bad range":       {catalog: []Package{{Package: "a", Version: "1.0.0"}}, want: Request{Package: "a", Version: "=>>1"}, kind: InvalidDeclaration, mentions: []string{"=>>1"}},
		"nothing to upgrade": {
			want: Request{Name: "gone", Upgrade: true}, kind: MissingInstallation, mentions: []string{"gone"},
		},
		"declined but required": {
			catalog: []Package{{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "b", Package: "b"}}}, {Package: "b", Version: "1.0.0"}},
			want:    Request{Package: "a", Overrides: []Override{{Package: "b", Install: ptr(false)}}}, kind: MissingDependency, mentions: []string{"a", "b"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := tc.in
			in.Catalog, in.Want = mustCatalog(t, tc.catalog), []Request{tc.want}
			res, err := Resolve(t.Context(), in)
			if tc.kind != "" {
				var c *ConflictError
				if !errors.As(err, &c) || c.Kind != tc.kind {
					t.Fatalf("%s: got %v, want %s", tc.reason, err, tc.kind)
				}
				for _, m := range tc.mentions {
					if !strings.Contains(err.Error(), m) {
						t.Errorf("%q is not mentioned in %v", m, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			var got []string
			for _, i := range res.Instances {
				got = append(got, fmt.Sprintf("%s %s %s", i.Ref(), i.Package, i.Version))
			}
			if diff := cmp.Diff(tc.versions, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.plan, res.Plan); tc.plan != nil && diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestWhy(t *testing.T) {
	cat := mustCatalog(t, []Package{
		{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "a", Package: "a"}, {Alias: "b", Package: "b"}}},
		{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: ">=1"}}},
		{Package: "b", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: "<2"}}},
		{Package: "lib", Version: "1.0.0", Scope: ScopeCluster},
		{Package: "lib", Version: "1.1.0", Scope: ScopeCluster},
		{Package: "lib", Version: "2.0.0", Scope: ScopeCluster},
	})
	in := Input{Catalog: cat, Want: []Request{{Package: "app"}}}
	res, err := Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"app 1.0.0 needs a, and got a 1.0.0",
		"a 1.0.0 needs lib >=1, and got lib 1.1.0",
		"b 1.0.0 needs lib <2, and got lib 1.1.0",
		"1.1.0 is the newest version in <2 of b 1.0.0",
	}
	if diff := cmp.Diff(want, res.Why("lib")); diff != "" {
		t.Error(diff)
	}
	not := map[string]string{
		"2.0.0": "b 1.0.0 needs lib <2",
		"1.0.0": "possible, but 1.1.0 comes first",
		"1.1.0": "is in the resolution",
		"9.0.0": "the versions of lib are 2.0.0, 1.1.0, 1.0.0",
	}
	for version, want := range not {
		got, err := WhyNot(t.Context(), in, "lib", version)
		if err != nil || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("why not %s: got %q, %v, want %q", version, got, err, want)
		}
	}
}

// TestWhyNotOfMany holds that a reason of one version is not given as that of all: the versions that are set
// aside fall away for a reason of their own, which is not told.
// TestResolveIsCancelled holds that a context which has ended ends a resolution.
func TestResolveIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := Resolve(ctx, Input{Catalog: mustCatalog(t, nil), Want: wantR()}); res != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestWhyNotOfMany(t *testing.T) {
	kubernetes := func(v string) []Requirement {
		return []Requirement{{Alias: "k8s", Platform: "kubernetes", Version: v}}
	}
	shop := Package{Package: "shop", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Package: "postgres", Version: ">=14"}}}
	postgres := func(version string, requires ...Requirement) Package {
		return Package{Package: "postgres", Version: version, Requires: requires}
	}
	needsShop := "shop 1.0.0 needs postgres >=14"
	tests := map[string]struct {
		reason   string
		postgres []Package
		version  string
		want     []string
	}{
		"with one out of range": {
			postgres: []Package{postgres("13.9.0"), postgres("14.9.0"), postgres("15.4.0"), postgres("16.0.0", kubernetes(">=1.30")...)},
			version:  "16.0.0",
			want:     []string{needsShop + " (16.0.0, 15.4.0, 14.9.0)", "postgres 16.0.0 needs kubernetes >=1.30, but the platform here is kubernetes 1.29.0"},
		},
		"all in range": {
			postgres: []Package{postgres("14.9.0"), postgres("15.4.0"), postgres("16.0.0", kubernetes(">=1.30")...)},
			version:  "16.0.0",
			want:     []string{needsShop, "postgres 16.0.0 needs kubernetes >=1.30, but the platform here is kubernetes 1.29.0"},
		},
		"the oldest": {
			reason:   "neither the order of versions nor what another one fails for matters",
			postgres: []Package{postgres("14.9.0", kubernetes("<1.25")...), postgres("15.4.0"), postgres("16.0.0", kubernetes(">=1.30")...)},
			version:  "14.9.0",
			want:     []string{needsShop, "postgres 14.9.0 needs kubernetes <1.25, but the platform here is kubernetes 1.29.0"},
		},
		"by range": {
			postgres: []Package{postgres("13.9.0"), postgres("14.9.0")},
			version:  "13.9.0",
			want:     []string{needsShop + " (only 14.9.0)"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, scope := range []Scope{ScopeAny, ScopeCluster} {
				cat := []Package{shop}
				for _, p := range tt.postgres {
					p.Scope = scope
					cat = append(cat, p)
				}
				in := Input{Catalog: mustCatalog(t, cat), Want: []Request{{Package: "shop"}}, Platform: map[string]string{"kubernetes": "1.29.0"}}
				got, err := WhyNot(t.Context(), in, "postgres", tt.version)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s; scope %q: -want +got\n%s", tt.reason, scope, diff)
				}
			}
		})
	}
}

// TestConflictOfMany holds that versions which fail for the same reason are one sentence, others one each.
func TestConflictOfMany(t *testing.T) {
	kubernetes := func(v string) []Requirement {
		return []Requirement{{Alias: "k8s", Platform: "kubernetes", Version: v}}
	}
	cat := mustCatalog(t, []Package{
		{Package: "shop", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Package: "postgres"}}},
		{Package: "postgres", Version: "14.0.0", Requires: kubernetes("<1.20")},
		{Package: "postgres", Version: "15.0.0", Requires: kubernetes(">=1.30")},
		{Package: "postgres", Version: "16.0.0", Requires: kubernetes(">=1.30")},
	})
	_, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "shop"}}, Platform: map[string]string{"kubernetes": "1.29.0"}})
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	want := []string{
		"shop 1.0.0 needs postgres",
		"postgres 16.0.0, 15.0.0 needs kubernetes >=1.30, but the platform here is kubernetes 1.29.0",
		"postgres 14.0.0 needs kubernetes <1.20, but the platform here is kubernetes 1.29.0",
	}
	if diff := cmp.Diff(want, conflict.Reasons); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// If a source of the catalogue could not be read, no error claims that a package does not exist.
func TestUnreadSources(t *testing.T) {
	cat, err := NewCatalog([]Package{{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "x", Package: "bb"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cat.Unread = 2
	_, err = Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "a"}}})
	if err == nil || !strings.Contains(err.Error(), "package bb is in no source of the catalogue that could be read; 2 could not: see the errors about catalogs") || strings.Contains(err.Error(), "is in the catalogue") {
		t.Error(err)
	}
}

// TestUnusable: what nobody can have is named, stops nothing else, and explains why a range has no version.
func TestUnusable(t *testing.T) {
	needs := func(pkg, version string) Package {
		return Package{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "d", Package: pkg, Version: version}}}
	}
	broken := &VersionError{Package: "d", Version: "3.0.0", Source: "https://git.example/p", Tag: "d/v3.0.0", Why: "package.yaml:4: no such field\npackage.yaml:5: another"}
	passed := []*VersionError{{Package: "chart", Source: "s", Tag: "chart-4.11.3"}, {Package: "chart", Source: "s", Tag: "chart/v1.2"}}
	d := Package{Package: "d", Version: "1.0.0", Digest: "x"}
	with := func(ps ...Package) []Package { return append(ps, d) }
	reads := func(p Package) Package {
		p.Requires[0].Uses.Outputs = []string{"u"}
		return p
	}
	cases := map[string]struct {
		packages []Package
		unusable string // "" for nothing
		why      string // of the conflict, "" for an answer
	}{
		"no version":              {with(needs("d", "^1"), Package{Package: "a", Version: "one"}), `package a one: version "one" of package a is not a semantic version`, ""},
		"no number":               {with(needs("d", "^1"), Package{Package: "a", Version: "2024.01.15", Tag: "a/2024.01.15", Source: "s"}), "source s: tag a/2024.01.15: ", ""},
		"no name":                 {with(needs("d", "^1"), Package{Version: "1.0.0"}), "the package has no name", ""},
		"no scope":                {with(needs("d", "^1"), Package{Package: "b", Version: "1.0.0", Scope: "world"}), `scope "world" of package b 1.0.0`, ""},
		"twice":                   {with(needs("d", "^1"), Package{Package: "d", Version: "1.0.0", Digest: "y", Tag: "d/v1", Source: "s"}), `version 1.0.0 of package d is there twice, as tag d/v1 of s (y) and as "x"`, "nobody can have tag d/v1 (version 1.0.0 of package d is there twice"},
		"twice, another":          {with(needs("c", "^1"), Package{Package: "d", Version: "1.0.0", Digest: "y"}, Package{Package: "c", Version: "1.0.0"}), "there twice", ""},
		"a mirror":                {with(needs("d", "^1"), Package{Package: "d", Version: "1.0.0", Digest: "x", Source: "mirror"}), "", ""},
		"broken, in range":        {with(needs("d", "^3")), "d/v3.0.0", "the versions of d are 1.0.0, and nobody can have tag d/v3.0.0 (package.yaml:4: no such field; package.yaml:5: another)"},
		"broken, not in it":       {with(needs("d", "^2")), "d/v3.0.0", "needs d ^2, but the versions of d are 1.0.0"},
		"broken, all of it":       {[]Package{needs("d", "")}, "d/v3.0.0", "no package d is in the catalogue, and nobody can have tag d/v3.0.0 ("},
		"broken, with the output": {with(reads(needs("d", ""))), "d/v3.0.0", "needs d, but d 1.0.0 has no output u, and nobody can have tag d/v3.0.0 ("},
		"tags passed over":        {with(needs("chart", "")), "", "no package chart is in the catalogue, and its tags chart-4.11.3, chart/v1.2 are no version"},
		"a slip of the pen":       {append(with(needs("postgers", "")), Package{Package: "postgres", Version: "1.0.0"}), "", `no package postgers is in the catalogue: did you mean "postgres"?`},
		"nothing near":            {with(needs("nosuch", "")), "", "no package nosuch is in the catalogue"},
		"prereleases":             {with(needs("pre", ""), Package{Package: "pre", Version: "0.9.0-alpha.1"}), "", `the versions of pre are 0.9.0-alpha.1; 0.9.0-alpha.1 is a prerelease, which a range leaves out unless it names one, as ">=0.9.0-0" does`},
		"one in the range":        {with(needs("pre", ">=1.2 <2"), Package{Package: "pre", Version: "1.3.0-rc.1"}), "", `as ">=1.2 <2-0" does`},
		"one that no -0 admits":   {with(needs("pre", "^1 || ^2"), Package{Package: "pre", Version: "1.3.0-rc.1"}), "", `as "1.3.0-rc.1" does`},
		"one of another":          {with(needs("pre", "^2"), Package{Package: "pre", Version: "1.3.0-rc.1"}), "", "the versions of pre are 1.3.0-rc.1"},
		"private, not shown":      {with(needs("d", "^2"), Package{Package: "d", Version: "1.0.0+g1", Digest: "z", Private: true}), "d/v3.0.0", "the versions of d are 1.0.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list := passed
			if strings.Contains(tc.unusable, "d/v3") {
				list = append([]*VersionError{broken}, passed...)
			}
			c, err := NewCatalog(tc.packages, WithUnusable(list...))
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, e := range c.Unusable() {
				if e.Why != "" {
					said = append(said, e.Error())
				}
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, tc.unusable) || (got == "") != (tc.unusable == "") || len(said) > 1 {
				t.Errorf("unusable: %q, want %q", got, tc.unusable)
			}
			_, err = Resolve(context.Background(), Input{Catalog: c, Want: []Request{{Package: "app"}}})
			if tc.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var conflict *ConflictError
			if !errors.As(err, &conflict) || !strings.Contains(conflict.Reasons[0], tc.why) || strings.Contains(tc.why, "are 1") && !strings.HasSuffix(conflict.Reasons[0], tc.why) && !strings.Contains(tc.why, "; ") {
				t.Errorf("got %v, want %q", err, tc.why)
			}
		})
	}
}

// TestGone: a version that only the lock has stays for who has it locked, with its content, and is nobody else's.
func TestGone(t *testing.T) {
	app := Package{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "d", Package: "d", Version: "^1"}}}
	gone := Package{Package: "d", Version: "1.0.0", Digest: "old", Gone: true}
	newer, moved := Package{Package: "d", Version: "1.1.0", Digest: "new"}, Package{Package: "d", Version: "1.0.0", Digest: "moved"}
	locked := func(digest string) *Lock {
		return &Lock{Packages: []LockedPackage{{Name: "d", Version: "1.0.0", Digest: digest}}}
	}
	one := newer
	if one.Scope = ScopeCluster; mustCatalog(t, []Package{gone, one}).lax("d") != ScopeCluster {
		t.Error("what has gone says how many others there may be")
	}
	cases := map[string]struct {
		packages []Package
		lock     *Lock
		refresh  []string
		want     string // version and digest
	}{
		"locked":           {[]Package{app, gone, newer}, locked("old"), nil, "1.0.0 old"},
		"its tag moved":    {[]Package{app, gone, newer, moved}, locked("old"), nil, "1.0.0 old"},
		"accepted":         {[]Package{app, gone, newer, moved}, locked(""), nil, "1.0.0 moved"},
		"upgraded":         {[]Package{app, gone, newer}, locked("old"), []string{"d"}, "1.1.0 new"},
		"another's":        {[]Package{app, gone, newer}, nil, nil, "1.1.0 new"},
		"locked otherwise": {[]Package{app, gone, newer}, locked("third"), nil, "1.1.0 new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := Resolve(context.Background(), Input{Catalog: mustCatalog(t, tc.packages), Want: []Request{{Package: "app"}}, Lock: tc.lock, Refresh: tc.refresh})
			if err != nil {
				t.Fatal(err)
			}
			d := r.Find("d")
			if got := d.Version + " " + d.Digest; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if said := strings.Join(r.Why("d"), "\n"); strings.Contains(said, "which no source has any more") != (d.Digest == "old") {
				t.Error(said)
			}
		})
	}
}

// TestWhyOfDigests holds that why and why-not take a digest for the version that has it, and name it readably.
func TestWhyOfDigests(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	in := Input{Catalog: mustCatalog(t, []Package{
		{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Package: "db", Version: digest}}},
		{Package: "db", Version: "1.0.0", Digest: digest},
		{Package: "db", Version: "2.0.0", Digest: "sha256:two"},
	}), Want: []Request{{Package: "app"}}}
	res, err := Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"app 1.0.0 needs db@sha256:0123456789ab…, and got db 1.0.0",
		"1.0.0 is the newest version in @sha256:0123456789ab… of app 1.0.0",
	}
	if diff := cmp.Diff(want, res.Why("db")); diff != "" {
		t.Error(diff)
	}
	for version, want := range map[string]string{
		"sha256:two":  "app 1.0.0 needs db@sha256:0123456789ab… (only 1.0.0)",
		"2.0.0":       "app 1.0.0 needs db@sha256:0123456789ab… (only 1.0.0)",
		digest:        "db 1.0.0 is in the resolution",
		"sha256:none": "no version of db has that digest: 2.0.0 is sha256:two, 1.0.0 is sha256:0123456789ab…",
	} {
		got, err := WhyNot(t.Context(), in, "db", version)
		if err != nil || !slices.Contains(got, want) {
			t.Errorf("%s: got %q, %v, want %q", version, got, err, want)
		}
	}
	in.Lock = res.Lock
	in.Lock.Packages[1].Digest = "sha256:other"
	var c *ConflictError
	if _, err := Resolve(t.Context(), in); !errors.As(err, &c) || c.Kind != DigestMismatch {
		t.Errorf("a lock with another digest: %v", err)
	}
}

// TestPrereleasesOfAnInterface holds that what is remembered of one requirement's versions is not taken for those of
// another that admits more of them.
func TestPrereleasesOfAnInterface(t *testing.T) {
	offer := []Provide{{Interface: "example.org/db"}}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		cat, err := NewCatalog([]Package{
			{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Interface: &Interface{ID: "example.org/db"}}}},
			{Package: "b", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Interface: &Interface{ID: "example.org/db"}, Prereleases: &Prereleases{}}}},
			{Package: "db", Version: "1.0.0", Provides: offer},
			{Package: "db", Version: "1.1.0-rc.1", Provides: offer},
		}, WithDefaults(map[string]string{"example.org/db": "db"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, pkg := range order {
			want := map[string]string{"a": "1.0.0", "b": "1.1.0-rc.1"}[pkg]
			if res, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: pkg}}}); err != nil || res.Binding("db").Version != want {
				t.Errorf("%s after %v: want %s: %v", pkg, order, want, err)
			}
		}
	}
}

// TestInvalidRequests holds that what contradicts itself, or names what is not there, is an error: nothing of what was
// asked for is passed over.
func TestInvalidRequests(t *testing.T) {
	cat := mustCatalog(t, []Package{
		{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "db", Package: "db"}, {Alias: "any", AnyOf: []Requirement{{Alias: "inner", Package: "db"}}}}},
		{Package: "db", Version: "1.0.0"},
		{Package: "only", Version: "1.0.0", Scope: ScopeCluster},
	})
	app := func(change func(*Request)) []Request {
		r := Request{Package: "app", Namespace: "n"}
		change(&r)
		return []Request{r}
	}
	for name, tt := range map[string]struct {
		in   Input
		want string
	}{
		"one name for two packages": {
			Input{Want: []Request{{Name: "x", Namespace: "n", Package: "db"}, {Name: "x", Namespace: "n", Package: "app"}}},
			"n/x is asked for as db and as app; give one of them another name",
		},
		"two names for one place": {
			Input{Want: []Request{{Name: "x", Namespace: "n", Package: "only"}, {Name: "y", Namespace: "m", Package: "only"}}},
			"only is asked for as m/y and as n/x, and there is one per cluster; leave one of them",
		},
		"one name for two installations": {
			Input{Want: app(func(*Request) {}), Installations: []Installation{{Name: "i", Package: "db", Version: "1.0.0"}, {Name: "i", Package: "db", Version: "2.0.0"}}},
			"i is installed twice, as db 1.0.0 and as db 2.0.0; leave one of them",
		},
		"a choice for nothing": {
			Input{Want: app(func(r *Request) { r.Overrides = []Override{{Alias: "bd", Reference: "db:1.0.0"}} })},
			"a choice was made for bd of app 1.0.0, but the dependencies are any, db, inner",
		},
		"a choice that is no range": {
			Input{Want: app(func(r *Request) { r.Overrides = []Override{{Package: "db", Constraints: "newest"}} })},
			`app 1.0.0 was given "newest" for db, which is neither a range of versions nor a digest`,
		},
		"a choice that is no version": {
			Input{Want: app(func(r *Request) { r.Overrides = []Override{{Alias: "db", Reference: "db:latest"}} })},
			`app 1.0.0 was given db:latest for db, of which "latest" is neither a version nor a digest`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.Catalog = cat
			var c *ConflictError
			if _, err := Resolve(t.Context(), tt.in); !errors.As(err, &c) || c.Kind != InvalidRequest || !slices.Contains(c.Reasons, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	for name, change := range map[string]func(*Request){
		"of an alternative":    func(r *Request) { r.Overrides = []Override{{Alias: "inner", Reference: "db:1.0.0"}} },
		"of any package":       func(r *Request) { r.Overrides = []Override{{Package: "elsewhere", Constraints: ">1"}} },
		"without dependencies": func(r *Request) { r.SkipDependencies, r.Overrides = true, []Override{{Alias: "bd"}} },
	} {
		if _, err := Resolve(t.Context(), Input{Catalog: cat, Want: app(change)}); err != nil {
			t.Errorf("a choice %s: %v", name, err)
		}
	}
}

// TestLockedDigestStays holds that a catalogue which has lost a digest does not take it out of the lock.
func TestLockedDigestStays(t *testing.T) {
	in := Input{Catalog: mustCatalog(t, []Package{{Package: "app", Version: "1.0.0", Digest: "sha256:a"}}), Want: []Request{{Package: "app"}}}
	res, err := Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.Catalog, in.Lock = mustCatalog(t, []Package{{Package: "app", Version: "1.0.0"}, {Package: "app", Version: "2.0.0"}}), res.Lock
	if res, err = Resolve(t.Context(), in); err != nil || res.Lock.Packages[0].Digest != "sha256:a" {
		t.Errorf("the lock became %+v: %v", res.Lock, err)
	}
	in.Want[0].Upgrade, in.Want[0].Version = true, ">1"
	if res, err = Resolve(t.Context(), in); err != nil || res.Lock.Packages[0].Digest != "" {
		t.Errorf("another version has the digest: %+v: %v", res.Lock, err)
	}
}
