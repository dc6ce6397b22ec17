package depend

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/api"
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

func TestTagVersion(t *testing.T) {
	for tag, want := range map[string]string{
		"v3": "3.0.0", "web/v3": "3.0.0", "a/b/v1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3+b": "1.2.3+b",
		"2024.01.15": "", "v1.02.3": "", "1.0.0-01": "", "v1.0.0-": "", "v1.0.99999999999999999999": "", "v99999999999999999999": "",
		"v0": "", "v01": "", "stable": "", "main": "", "1": "", "v1.2": "", "": "",
	} {
		if got, ok := TagVersion(tag); ok && got != want || ok != (want != "") {
			t.Errorf("TagVersion(%q) = %q, %v; want %q", tag, got, ok, want)
		}
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct{ patterns, pkg, want string }{
		{"clusters/*", "clusters/c1/web", "clusters/c1"},
		{"clusters/*", "clusters/c1/team-a/web", "clusters/c1"},
		{"clusters/*", "clusters/c1", ""},
		{"clusters/*", "shared/web", ""},
		{"", "web", ""},
		{" edge/*/* , clusters/* ", "edge/eu/1/web", "edge/eu/1"},
		{"[", "a/b", ""},
	} {
		if got := In(c.patterns, c.pkg); got != c.want {
			t.Errorf("In(%q, %q) = %q, want %q", c.patterns, c.pkg, got, c.want)
		}
	}
}

// A version of the catalogue and an upstream of the same number and other
// content are two versions; of the same content they are one.
func TestNewPoolTellsContentApart(t *testing.T) {
	entry := resolver.Package{Package: "web", Version: "1.0.0", Digest: "git:aaaaaaaaaaaaaaaa"}
	same := entry
	other := resolver.Package{Package: "web", Version: "1.0.0", Digest: "git:bbbbbbbbbbbbbbbb"}
	if _, err := NewPool([]resolver.Package{entry}, nil, []*resolver.Package{&same, &other}); err != nil {
		t.Fatal(err)
	}
	if same.Version != "1.0.0" || other.Version != "1.0.0+gbbbbbbbbbbbb" {
		t.Errorf("versions %q and %q", same.Version, other.Version)
	}
}

func variantOf(set, name, ref, pkg string) *Variant {
	pv := &configv1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", name
	pv.Spec.Downstream = &configv1alpha1.Downstream{Repo: "c1", Package: ref}
	return &Variant{PackageVariant: pv, Set: set, Ref: ref, Upstream: &resolver.Package{Package: pkg, Version: "1.0.0"}}
}

func installation(target, pkg, name string) *v1alpha1.Installation {
	i := &v1alpha1.Installation{}
	i.Name, i.Spec.Target, i.Spec.Package = name, target, pkg
	return i
}

// The nearest Installation decides about a variant: of its target before of all,
// by its path before by its package.
func TestDecision(t *testing.T) {
	v := variantOf("apps", "apps-c1-web", "team-a/web", "web")
	all := []*v1alpha1.Installation{
		installation("", "web", "1"),
		installation("", "team-a/web", "2"),
		installation("c1", "web", "3"),
		installation("c1/team-a", "web", "4"),
		installation("c2", "web", "other target"),
		installation("c1/team-b", "web", "other folder"),
		installation("c1", "db", "other package"),
	}
	want := []string{"4", "3", "2", "1", ""}
	for n, w := range want {
		tg := &Target{Namespace: "default", Repository: "c1", Variants: []*Variant{v}}
		for _, i := range all {
			if !slices.Contains(want[:n], i.Name) {
				tg.Installations = append(tg.Installations, i)
			}
		}
		got := ""
		if i := tg.decision(v); i != nil {
			got = i.Name
		}
		if got != w {
			t.Errorf("without %v: %q decides, want %q", want[:n], got, w)
		}
	}
}

func TestTwoOfOnePlace(t *testing.T) {
	a, b := variantOf("", "a", "ingress", "ingress"), variantOf("", "b", "edge/ingress", "ingress")
	a.Upstream.Scope, b.Upstream = resolver.ScopeCluster, a.Upstream
	tg := &Target{Namespace: "default", Repository: "c1", Variants: []*Variant{a, b}}
	pool, err := NewPool(nil, nil, []*resolver.Package{a.Upstream})
	if err != nil {
		t.Fatal(err)
	}
	ans := tg.Resolve(t.Context(), pool)
	if ans.Err == nil || !strings.Contains(ans.Err.Error(), "default/a and default/b") {
		t.Errorf("error %v does not name both", ans.Err)
	}
	a.Upstream.Scope = resolver.ScopeAny
	if pool, err = NewPool(nil, nil, []*resolver.Package{a.Upstream}); err != nil {
		t.Fatal(err)
	}
	if ans = tg.Resolve(t.Context(), pool); ans.Err != nil {
		t.Errorf("scope any: %v", ans.Err)
	}
}

func TestChanged(t *testing.T) {
	old := &resolver.Lock{Packages: []resolver.LockedPackage{
		{Name: "web", Version: "1.0.0", Why: "asked for"}, {Name: "db", Namespace: "team", Version: "1.0.0"}, {Name: "gone", Version: "1.0.0"},
	}}
	now := &resolver.Lock{Packages: []resolver.LockedPackage{
		{Name: "web", Version: "1.0.0", Why: "asked for"}, {Name: "db", Namespace: "team", Version: "1.1.0"}, {Name: "new", Version: "2.0.0", Why: "needed by web as n"},
	}}
	want := []string{"team/db: db 1.1.0 instead of 1.0.0", "new comes: new 2.0.0, needed by web as n", "gone goes"}
	var got []string
	for _, c := range Changed(old, now) {
		got = append(got, c.String())
		if c.Gone != (c.Ref == "gone") {
			t.Errorf("%s: gone is %v", c, c.Gone)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Changed(now, now); len(got) > 0 {
		t.Errorf("the same lock: %q", got)
	}
}

// Locks are compared by their data, whatever they say to people.
func TestChangedByData(t *testing.T) {
	edge := func(alias, namespace, name string) []v1alpha1.LockedEdge {
		return []v1alpha1.LockedEdge{{Alias: alias, Namespace: namespace, Name: name}}
	}
	base := resolver.LockedPackage{Name: "db", Version: "1.0.0", Why: "needed by web as db", NeededBy: edge("db", "", "web"), Dependencies: edge("disk", "", "disk")}
	for name, c := range map[string]struct {
		old, now func(*resolver.LockedPackage)
		want     string
	}{
		"other words":             {now: func(p *resolver.LockedPackage) { p.Why = "web needs it" }},
		"who needs it":            {now: func(p *resolver.LockedPackage) { p.NeededBy, p.Why = edge("db", "a", "web"), "needed by a/web as db" }, want: "db: needed by a/web as db"},
		"one name, another place": {now: func(p *resolver.LockedPackage) { p.NeededBy = edge("db", "a", "web") }, want: "db: needed by web as db"},
		"nobody":                  {now: func(p *resolver.LockedPackage) { p.NeededBy, p.Why = nil, "" }, want: "db: nothing needs it"},
		"asked for, too":          {now: func(p *resolver.LockedPackage) { p.Requested = true }, want: "db: needed by web as db"},
		"what it needs":           {now: func(p *resolver.LockedPackage) { p.Dependencies = edge("disk", "a", "disk") }, want: "db: it needs other instances"},
		"its values": {
			now: func(p *resolver.LockedPackage) {
				p.Wiring = []v1alpha1.LockedWiring{{Field: "parameters.a", Template: "b"}}
			},
			want: "db: its values come from elsewhere",
		},
		"its group":        {now: func(p *resolver.LockedPackage) { p.Share = &resolver.Share{Mode: resolver.ModeNone} }, want: "db: it is shared otherwise"},
		"its first":        {now: func(p *resolver.LockedPackage) { p.Owner = "web" }, want: "db: it is shared otherwise"},
		"an earlier lock":  {old: func(p *resolver.LockedPackage) { p.NeededBy, p.Dependencies = nil, edge("", "", "disk") }},
		"nothing is other": {},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := base, base
			if c.old != nil {
				c.old(&old)
			}
			if c.now != nil {
				c.now(&now)
			}
			var got string
			for _, o := range Changed(&resolver.Lock{Packages: []resolver.LockedPackage{old}}, &resolver.Lock{Packages: []resolver.LockedPackage{now}}) {
				got += o.String()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Causes tells each cause once, also where causes are lists of faults, which Go cannot compare.
func TestCauses(t *testing.T) {
	faults := func(text string) error { return api.Issues{{Message: text}} }
	one := errors.New("one")
	a := &Answer{Failed: map[string]error{"a": faults("x"), "b": faults("x"), "c": faults("y"), "d": one, "e": one}}
	var got []string
	for _, err := range a.Causes() {
		got = append(got, err.Error())
	}
	if want := []string{faults("x").Error(), faults("y").Error(), "one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
