package depend

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

func TestKept(t *testing.T) {
	p := func(name, version string, dependencies ...string) resolver.LockedPackage {
		out := resolver.LockedPackage{Name: name, Version: version}
		for _, d := range dependencies {
			ns, base := path.Split(d)
			out.Dependencies = append(out.Dependencies, v1alpha1.LockedEdge{Namespace: strings.TrimSuffix(ns, "/"), Name: base})
		}
		return out
	}
	in := func(ns string, p resolver.LockedPackage) resolver.LockedPackage {
		p.Namespace = ns
		return p
	}
	old := &resolver.Lock{
		Packages:                  []resolver.LockedPackage{p("app", "1.0.0", "cm"), p("cm", "1.0.0"), p("log", "1.0.0"), p("web", "1.0.0", "log")},
		CustomResourceDefinitions: map[string]string{"Cert.x": "cm", "Log.x": "log"},
		Plan:                      [][]string{{"cm", "log"}, {"app", "web"}},
	}
	now := &resolver.Lock{
		Target:                    "c1",
		Packages:                  []resolver.LockedPackage{p("app", "2.0.0", "bad"), p("bad", "1.0.0"), p("log", "2.0.0"), p("web", "2.0.0", "log")},
		CustomResourceDefinitions: map[string]string{"Bad.x": "bad", "Log.x": "log", "Log2.x": "log"},
		Plan:                      [][]string{{"bad", "log"}, {"app", "web"}},
	}
	for name, tt := range map[string]struct {
		reason   string
		now, old *resolver.Lock
		failed   []string
		want     *resolver.Lock // nil for now itself
		unmade   []string
	}{
		"all is made":        {"", now, old, nil, nil, nil},
		"nothing failed new": {"a failure of what stays as it is holds nothing", old, old, []string{"cm"}, nil, nil},
		"a new one": {
			"who needs it stays as well, with what that needed, and the rest is of now", now, old,
			[]string{"bad"},
			&resolver.Lock{
				Target:                    "c1",
				Packages:                  []resolver.LockedPackage{p("app", "1.0.0", "cm"), p("cm", "1.0.0"), p("log", "2.0.0"), p("web", "2.0.0", "log")},
				CustomResourceDefinitions: map[string]string{"Cert.x": "cm", "Log.x": "log", "Log2.x": "log"},
				Plan:                      [][]string{{"cm"}, {"log"}, {"app", "web"}},
			},
			[]string{"bad"},
		},
		"a first lock": {
			"what stands nowhere is left out", now, nil,
			[]string{"bad"},
			&resolver.Lock{
				Target:                    "c1",
				Packages:                  []resolver.LockedPackage{p("log", "2.0.0"), p("web", "2.0.0", "log")},
				CustomResourceDefinitions: map[string]string{"Log.x": "log", "Log2.x": "log"},
				Plan:                      [][]string{{"log"}, {"web"}},
			},
			[]string{"bad"},
		},
		"of two": {
			"what both need is there for one of them",
			&resolver.Lock{Packages: []resolver.LockedPackage{
				{Name: "lib", Version: "1.0.0", Why: "asked for, and needed by a as l, b as l", Requested: true, NeededBy: []v1alpha1.LockedEdge{{Alias: "l", Name: "a"}, {Alias: "l", Name: "b"}}, Wiring: []v1alpha1.LockedWiring{{Field: "x", Parent: "a"}, {Field: "x", Parent: "b"}}},
				p("a", "1.0.0", "lib"), p("b", "1.0.0", "lib"),
			}, Plan: [][]string{{"lib"}, {"a", "b"}}}, nil,
			[]string{"b"},
			&resolver.Lock{Packages: []resolver.LockedPackage{
				p("a", "1.0.0", "lib"),
				{Name: "lib", Version: "1.0.0", Why: "asked for, and needed by a as l", Requested: true, NeededBy: []v1alpha1.LockedEdge{{Alias: "l", Name: "a"}}, Wiring: []v1alpha1.LockedWiring{{Field: "x", Parent: "a"}}},
			}, Plan: [][]string{{"lib"}, {"a"}}},
			[]string{"b"},
		},
		"an update": {
			"nothing is other than it was, the plan neither",
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "2.0.0"), p("web", "1.0.0", "log")}, Plan: [][]string{{"log", "web"}}},
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "1.0.0"), p("web", "1.0.0", "log")}, Plan: [][]string{{"log"}, {"web"}}},
			[]string{"log"},
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "1.0.0"), p("web", "1.0.0", "log")}, Plan: [][]string{{"log"}, {"web"}}},
			[]string{"log"},
		},
		"gone": {
			"what is there yet stays, with who owns its APIs",
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "2.0.0")}, Plan: [][]string{{"log"}}},
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "1.0.0"), p("old", "1.0.0", "log"), p("off", "1.0.0")}, CustomResourceDefinitions: map[string]string{"O.x": "old", "F.x": "off"}},
			[]string{"old"},
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "2.0.0"), p("old", "1.0.0", "log")}, CustomResourceDefinitions: map[string]string{"O.x": "old"}, Plan: [][]string{{"old"}, {"log"}}},
			[]string{"old"},
		},
		"beside it": {
			"each is named with its folder",
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "1.0.0"), in("a", p("log", "2.0.0")), in("a", p("web", "2.0.0", "a/log")), in("b", p("web", "2.0.0", "log"))}},
			&resolver.Lock{Packages: []resolver.LockedPackage{p("log", "1.0.0"), in("a", p("log", "1.0.0")), in("a", p("web", "1.0.0", "a/log")), in("b", p("web", "1.0.0", "log"))}},
			[]string{"a/log"},
			&resolver.Lock{
				Packages: []resolver.LockedPackage{p("log", "1.0.0"), in("a", p("log", "1.0.0")), in("a", p("web", "1.0.0", "a/log")), in("b", p("web", "2.0.0", "log"))},
				Plan:     [][]string{{"log", "a/log", "a/web", "b/web"}},
			},
			[]string{"a/log"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, unmade := Kept(tt.now, tt.old, func(ref string) bool { return slices.Contains(tt.failed, ref) })
			if d := cmp.Diff(tt.unmade, unmade); d != "" {
				t.Errorf("unmade: %s: -want +got:\n%s", tt.reason, d)
			}
			if tt.want == nil {
				if got != tt.now {
					t.Errorf("%s: %+v", tt.reason, got)
				}
				return
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", tt.reason, d)
			}
		})
	}
}
