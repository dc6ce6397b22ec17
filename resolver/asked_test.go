package resolver

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A conflict names the requests that take part in it, and no others.
func TestAsked(t *testing.T) {
	pkg := func(name, version string, requires ...Requirement) Package {
		return Package{Package: name, Version: version, Requires: requires}
	}
	needs := func(name, within string) Requirement { return Requirement{Alias: name, Package: name, Version: within} }
	cat, err := NewCatalog([]Package{
		{Package: "cm", Version: "1.0.0", Scope: ScopeCluster},
		{Package: "cm", Version: "2.0.0", Scope: ScopeCluster},
		pkg("old", "1.0.0", needs("cm", "^1")), pkg("new", "1.0.0", needs("cm", "^2")), pkg("other", "1.0.0"), pkg("lost", "1.0.0", needs("nowhere", "")),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := func(names ...string) (out []Request) {
		for _, n := range names {
			out = append(out, Request{Package: n, Version: "1.0.0", Namespace: "ns"})
		}
		return out
	}
	for name, tt := range map[string]struct {
		in      []Request
		asked   []string
		summary string
	}{
		"two of three":        {want("new", "old", "other"), []string{"ns/new", "ns/old"}, "cannot resolve new 1.0.0 in ns, old 1.0.0 in ns:"},
		"one of two":          {want("lost", "other"), []string{"ns/lost"}, "cannot resolve lost 1.0.0 in ns:"},
		"what nobody has":     {want("nosuch", "other"), []string{"ns/nosuch"}, "cannot resolve nosuch 1.0.0 in ns:"},
		"no such version":     {append(want("other"), Request{Package: "cm", Version: "^7"}), []string{"cm"}, "cannot resolve cm ^7:"},
		"no range":            {append(want("other"), Request{Package: "cm", Version: "a b"}), []string{"cm"}, "cannot resolve cm a b:"},
		"two in one place":    {append(want("other"), Request{Name: "a", Package: "cm"}, Request{Name: "b", Package: "cm"}), []string{"a", "b"}, "cannot resolve cm, cm:"},
		"one name twice":      {append(want("other"), Request{Name: "a", Package: "old"}, Request{Name: "a", Package: "cm"}), []string{"a", "a"}, ""},
		"a choice of nothing": {append(want("other"), Request{Package: "old", Overrides: []Override{{Alias: "x", Package: "cm"}}}), []string{"old"}, "cannot resolve old:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve(t.Context(), Input{Catalog: cat, Want: tt.in})
			e, ok := errors.AsType[*ConflictError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(tt.asked, e.Asked); d != "" {
				t.Errorf("-want +got:\n%s\n%v", d, e)
			}
			if tt.summary != "" && e.Summary != tt.summary {
				t.Errorf("got %q, want %q", e.Summary, tt.summary)
			}
		})
	}
}
