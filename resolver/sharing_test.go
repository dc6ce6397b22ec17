package resolver

import (
	"strings"
	"testing"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// TestShared: what parents want of an instance of which there is one for all is honoured, or refused with both places.
func TestShared(t *testing.T) {
	needs := func(r Requirement) []Requirement {
		r.Alias, r.Package = "l", "lib"
		return []Requirement{r}
	}
	size := func(text string) Requirement { return Requirement{Parameters: map[string]string{"size": text}} }
	for name, c := range map[string]struct {
		scope          Scope
		a, b           Requirement
		refused, noted string
	}{
		"two values":              {ScopeCluster, size("10"), size("99"), `requires[l] of b 1.0.0 sets parameters.size of lib to "99", requires[l] of a 1.0.0 sets it to "10", and there is one lib per cluster`, ""},
		"one value":               {ScopeCluster, size("10"), size("10"), "", ""},
		"the same in other words": {ScopeCluster, size("a-1.0.0"), size("a-${bundle.version}"), "", ""},
		"one says nothing":        {ScopeCluster, size("10"), Requirement{}, "", ""},
		"one waits":               {ScopeCluster, size("10"), size("${bundle.dependencies.none.outputs.x}"), "", ""},
		"one per namespace":       {ScopeNamespace, size("10"), size("99"), "and there is one lib per namespace", ""},
		"any number":              {ScopeAny, size("10"), size("99"), "", ""},
		"nobody else":             {ScopeCluster, Requirement{}, Requirement{Share: Share{Mode: ModeNone}}, "requires[l] of b 1.0.0 has share.mode none, but a needs lib, too, and there is one lib per cluster", ""},
		"nobody else, of many":    {ScopeAny, Requirement{}, Requirement{Share: Share{Mode: ModeNone}}, "", ""},
		"groups":                  {ScopeCluster, Requirement{Share: Share{Group: "x"}}, Requirement{Share: Share{Group: "y"}}, "", `requires[l].share: lib is shared with a, which is of group "x" and not "y"`},
		"one group":               {ScopeCluster, Requirement{Share: Share{Group: "x"}}, Requirement{Share: Share{Group: "x"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Catalog: mustCatalog(t, []Package{
					{Package: "a", Version: "1.0.0", Requires: needs(c.a)},
					{Package: "b", Version: "1.0.0", Requires: needs(c.b)},
					{Package: "lib", Version: "1.0.0", Scope: c.scope, Parameters: []Field{{Name: "size"}}},
				}),
				Want: []Request{{Package: "a"}, {Package: "b"}},
			}
			if strings.Contains(c.b.Parameters["size"], "none") {
				in.Catalog = mustCatalog(t, []Package{
					{Package: "a", Version: "1.0.0", Requires: needs(c.a)},
					{Package: "b", Version: "1.0.0", Requires: append(needs(c.b), Requirement{Alias: "none", Package: "no", Optional: true})},
					{Package: "lib", Version: "1.0.0", Scope: c.scope, Parameters: []Field{{Name: "size"}}},
				})
			}
			res, err := Resolve(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			says := func(want string, disputes []*DisputeError) {
				t.Helper()
				if (len(disputes) > 0) != (want != "") || want != "" && (!strings.Contains(disputes[0].Error(), want) || disputes[0].By != "b" || disputes[0].With != "a") {
					t.Errorf("%v, want %q of b because of a", disputes, want)
				}
			}
			none := func(OutputRef) (string, error) { return "", nil }
			says(c.refused, res.Disputes)
			if notes, err := res.Sharing("a", none); err != nil {
				t.Errorf("it was made for a: %v, %q", err, notes)
			}
			notes, disputes := res.Sharing("b", none)
			says(c.refused, disputes)
			if got := strings.Join(notes, "\n"); !strings.Contains(got, c.noted) || got != "" && c.noted == "" {
				t.Errorf("notes %q, want %q", got, c.noted)
			}
		})
	}
}

// What is disputed is told as it is written: a value may come from an object that
// nobody is to read in a message, or in a record.
func TestDisputeTellsNoValue(t *testing.T) {
	app := func(name string) Package {
		return Package{
			Package: name, Version: "1.0.0",
			Requires: []Requirement{
				{Alias: "in", Package: name + "-in"},
				{Alias: "db", Package: "db", Parameters: map[string]string{"size": "${bundle.dependencies.in.outputs.size}"}},
			},
		}
	}
	in := func(name string) Package {
		return Package{Package: name, Version: "1.0.0", Outputs: []Field{{Name: "size"}}}
	}
	cat, err := NewCatalog([]Package{app("a"), app("b"), in("a-in"), in("b-in"), {Package: "db", Version: "1.0.0", Scope: ScopeCluster, Parameters: []Field{{Name: "size"}}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "a"}, {Package: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Disputes != nil {
		t.Errorf("nothing is known of the outputs, but %v", r.Disputes)
	}
	_, disputes := r.Sharing("b", func(o OutputRef) (string, error) { return "value-of-" + o.Instance, nil })
	if len(disputes) != 1 || strings.Contains(disputes[0].Error(), "value-of-") || !strings.Contains(disputes[0].Error(), "${bundle.dependencies.in.outputs.size}") {
		t.Errorf("got %v", disputes)
	}
}

// neededBy are those who need a package, "a as b" each.
func neededBy(who string) (out []v1alpha1.LockedEdge) {
	for _, w := range strings.Split(who, ", ") {
		name, alias, _ := strings.Cut(w, " as ")
		out = append(out, v1alpha1.LockedEdge{Alias: alias, Name: name})
	}
	return out
}

// TestGroupsStayApart: an instance was made for its group, or for one alone, by the lock: it serves no other in silence.
func TestGroupsStayApart(t *testing.T) {
	red, blue, alone := &Share{Group: "red"}, &Share{Group: "blue"}, &Share{Mode: ModeNone}
	db := func(name, asked string, s *Share) LockedPackage {
		p := LockedPackage{Name: name, Version: "1.0.0", Why: "needed by " + asked, NeededBy: neededBy(asked), Share: s}
		if name != "db" {
			p.Package = "db"
		}
		return p
	}
	for name, c := range map[string]struct {
		lock []LockedPackage
		asks map[string]Share
		want string // who gets what, and what is locked
	}{
		"first":                {nil, map[string]Share{"a": *red, "b": *blue, "c": {}}, "a: db red, b: b-d blue, c: c-d"},
		"nobody is left":       {[]LockedPackage{db("a-d", "a as d", blue), db("db", "b as d", red)}, map[string]Share{"c": *blue, "e": *red}, "c: a-d blue, e: db red"},
		"another group":        {[]LockedPackage{db("db", "b as d", red)}, map[string]Share{"c": *blue, "e": {}}, "c: c-d blue, e: e-d"},
		"alone":                {[]LockedPackage{db("db", "b as d", alone)}, map[string]Share{"c": *alone, "e": {}}, "c: c-d none, e: e-d"},
		"alone, as before":     {[]LockedPackage{db("db", "b as d", alone)}, map[string]Share{"a": *alone, "b": *alone}, "a: a-d none, b: db none"},
		"who stays, stays":     {[]LockedPackage{db("db", "a as d, b as d", red)}, map[string]Share{"a": *blue, "b": *red}, "a: a-d blue, b: db red"},
		"the group as a whole": {[]LockedPackage{db("db", "a as d, b as d", red)}, map[string]Share{"a": *blue, "b": *blue}, "a: db blue, b: db blue"},
		"an older lock":        {[]LockedPackage{db("db", "b as d", nil)}, map[string]Share{"a": *blue, "b": *red}, "a: a-d blue, b: db red"},
	} {
		t.Run(name, func(t *testing.T) {
			ps, in := []Package{{Package: "db", Version: "1.0.0"}}, Input{Lock: &Lock{Packages: c.lock}}
			for _, p := range sortedKeys(c.asks) {
				ps = append(ps, Package{Package: p, Version: "1.0.0", Requires: []Requirement{{Alias: "d", Package: "db", Share: c.asks[p]}}})
				in.Want = append(in.Want, Request{Package: p})
			}
			in.Catalog = mustCatalog(t, ps)
			res, err := Resolve(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range sortedKeys(c.asks) {
				i := res.Find(res.Find(p).Bindings[0].Installation)
				s := lockedAs(res.Lock, i).Share
				if s == nil {
					s = &Share{}
				}
				got = append(got, strings.TrimSpace(p+": "+i.Name+" "+s.Group+s.Mode))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	for _, s := range []Scope{ScopeCluster, ScopeNamespace} { // there is one for all
		lock := lockOf(t, []Package{
			{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "d", Package: "db", Share: *red}}}, {Package: "db", Version: "1.0.0", Scope: s},
		})
		if p := lock.Spec.Packages[1]; p.Share != nil {
			t.Errorf("scope %s: %+v", s, p)
		}
	}
}
