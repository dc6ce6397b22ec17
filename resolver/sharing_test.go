package resolver

import (
	"errors"
	"strings"
	"testing"
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
		"nobody else":             {ScopeCluster, Requirement{}, Requirement{Share: Share{Mode: ModeNone}}, "requires[l].share.mode is none, but a needs lib, too, and there is one lib per cluster", ""},
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
			says := func(want string, err error) {
				t.Helper()
				var d *DisputeError
				if errors.As(err, &d) != (want != "") || want != "" && !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			none := func(OutputRef) (string, error) { return "", nil }
			if notes, err := res.Sharing("a", none); err != nil {
				t.Errorf("it was made for a: %v, %q", err, notes)
			}
			notes, err := res.Sharing("b", none)
			says(c.refused, err)
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
	_, err = r.Sharing("b", func(o OutputRef) (string, error) { return "value-of-" + o.Instance, nil })
	if err == nil || strings.Contains(err.Error(), "value-of-") || !strings.Contains(err.Error(), "${bundle.dependencies.in.outputs.size}") {
		t.Errorf("got %v", err)
	}
}
