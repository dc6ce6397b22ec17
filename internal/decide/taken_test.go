package decide

import (
	"testing"

	"github.com/variform/variform/resolver"
)

// A package is left without what it needs where another of that name stands in a folder that it does not see.
func TestTakenByNamespace(t *testing.T) {
	db := func(version string) *resolver.Package { return &resolver.Package{Package: "db", Version: version} }
	one := db("3.0.0")
	one.Scope = resolver.ScopeCluster
	own, top, other := "${installation.namespace}", "", "b"
	for name, c := range map[string]struct {
		at        string // of the package that needs db ^3
		namespace *string
		after     map[string]*resolver.Package // db goes from 3.0.0 to 2.0.0 at the top
		taken     bool
	}{
		"nothing else":                      {at: "app", taken: true},
		"one in a folder":                   {at: "app", after: map[string]*resolver.Package{"b/db": db("3.0.0")}, taken: true},
		"one in a folder, told apart":       {at: "app", namespace: &own, after: map[string]*resolver.Package{"b/db": db("3.0.0")}, taken: true},
		"one in its own folder":             {at: "b/app", after: map[string]*resolver.Package{"b/db": db("3.0.0")}},
		"another one at the top":            {at: "b/app", namespace: &top, after: map[string]*resolver.Package{"db-2": db("3.0.0")}},
		"one where it is to be":             {at: "a/app", namespace: &other, after: map[string]*resolver.Package{"b/db": db("3.0.0")}},
		"the one of the cluster":            {at: "app", after: map[string]*resolver.Package{"b/db": one}},
		"one in a folder of its own, older": {at: "b/app", after: map[string]*resolver.Package{"b/db": db("1.0.0")}, taken: true},
	} {
		t.Run(name, func(t *testing.T) {
			after := map[string]*resolver.Package{"db": db("2.0.0"), c.at: {Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "^3", Namespace: c.namespace}}}}
			for ref, p := range c.after {
				after[ref] = p
			}
			if err := taken(Unit{Repo: &Repository{}}, "db", db("3.0.0"), after); (err != nil) != c.taken {
				t.Errorf("%v", err)
			}
		})
	}
	away := map[string]*resolver.Package{"app": {Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "^3"}}}}
	if err := taken(Unit{Repo: &Repository{}}, "b/db", db("3.0.0"), away); err != nil {
		t.Errorf("what it never saw is taken: %v", err)
	}
}
