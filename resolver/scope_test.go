package resolver

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScopeOfTheChosen: how many of a package there can be say the versions that are chosen, and what was answered once
// is answered again.
func TestScopeOfTheChosen(t *testing.T) {
	const one, many = ScopeCluster, ScopeAny
	needs := func(version string, mode string) []Requirement {
		return []Requirement{{Alias: "l", Package: "lib", Version: version, Share: Share{Mode: mode}}}
	}
	lib := func(version string, scope Scope) Package {
		return Package{Package: "lib", Version: version, Scope: scope}
	}
	for name, c := range map[string]struct {
		libs []Package
		x, y []Requirement
		want []string // instances of lib; or the start of what is refused
	}{
		"a later one that nobody takes":       {[]Package{lib("1.0.0", many), lib("2.0.0", one)}, needs("^1", ModeNone), needs("^1", ModeNone), []string{"lib 1.0.0", "y-l 1.0.0"}},
		"an older one that nobody takes":      {[]Package{lib("1.0.0", one), lib("2.0.0", many)}, needs("", ModeNone), needs("", ModeNone), []string{"lib 2.0.0", "y-l 2.0.0"}},
		"apart for their ranges":              {[]Package{lib("1.0.0", many), lib("1.5.0", many), lib("2.0.0", one)}, needs("1.0.0", ""), needs("1.5.0", ""), []string{"lib 1.0.0", "y-l 1.5.0"}},
		"a later one that both take":          {[]Package{lib("1.0.0", many), lib("2.0.0", one)}, needs("", ""), needs("", ""), []string{"lib 2.0.0"}},
		"a later one that one takes":          {[]Package{lib("1.0.0", many), lib("2.0.0", one)}, needs("^1", ""), needs("^2", ""), []string{"cannot resolve x, y"}},
		"one for all, for which many were":    {[]Package{lib("1.0.0", many), lib("2.0.0", one)}, needs("^1", ""), needs("", ""), []string{"lib 1.0.0"}},
		"one for all, and nobody's but one's": {[]Package{lib("1.0.0", many), lib("2.0.0", one)}, needs("^1", ""), needs("", ModeNone), []string{"requires[l] of y 1.0.0 has share.mode none"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Catalog: mustCatalog(t, append(c.libs, Package{Package: "x", Version: "1.0.0", Requires: c.x}, Package{Package: "y", Version: "1.0.0", Requires: c.y})),
				Want:    []Request{{Package: "x"}, {Package: "y"}},
			}
			for range 2 {
				res, err := Resolve(t.Context(), in)
				if err == nil && len(res.Disputes) > 0 {
					err = res.Disputes[0]
				}
				if err != nil {
					if !strings.HasPrefix(err.Error(), c.want[0]) {
						t.Fatal(err)
					}
					return
				}
				if diff := cmp.Diff(c.want, instancesOf(res, "lib")); diff != "" {
					t.Fatalf("locked %v: (-want +got)\n%s", in.Lock != nil, diff)
				}
				in.Lock = res.Lock
			}
		})
	}
}

func instancesOf(r *Resolution, pkg string) (out []string) {
	for _, i := range r.Instances {
		if i.Package == pkg {
			out = append(out, i.Name+" "+i.Version)
		}
	}
	slices.Sort(out)
	return out
}

// TestWhyNotOfAnotherScope: a version is asked about with its own scope.
func TestWhyNotOfAnotherScope(t *testing.T) {
	in := Input{
		Catalog: mustCatalog(t, []Package{
			{Package: "lib", Version: "1.0.0"},
			{Package: "lib", Version: "2.0.0", Scope: ScopeCluster},
			{Package: "x", Version: "1.0.0", Requires: []Requirement{{Alias: "l", Package: "lib", Version: "^1", Share: Share{Mode: ModeNone}}}},
		}),
		Want: []Request{{Package: "x"}},
	}
	got, err := WhyNot(t.Context(), in, "lib", "2.0.0")
	if want := []string{"x 1.0.0 needs lib ^1 (only 1.0.0)"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
