package resolver_test

import (
	"strings"
	"testing"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/proposaltest"
)

// The version that a dependency names needs the outputs that its parent reads, and no interface. Other versions need the
// interface too.
func TestInterfaceOfTheNamedVersion(t *testing.T) {
	const id = "https://example.org/interfaces#mysql"
	typed := &resolver.Interface{ID: id, Document: &resolver.Document{Outputs: []resolver.Field{{Name: "connstr", ID: "#conn"}}}}
	reads := map[string]string{"db": "${bundle.dependencies.db.outputs.connstr}"}
	named, other := []resolver.Field{{Name: "connstr"}}, []resolver.Field{{Name: "dsn", ID: "#conn"}}
	for name, c := range map[string]struct {
		why  string
		r    resolver.Requirement
		has  []resolver.Field
		says string // of the conflict, "" for none
	}{
		"named":                   {"it provides no interface, and is what was named", resolver.Requirement{Default: "1.0.0", Interface: typed}, named, ""},
		"named, by identifier":    {"its output is read under the interface's name", resolver.Requirement{Default: "1.0.0", Interface: typed}, other, ""},
		"named, without the read": {"nothing would give the value", resolver.Requirement{Default: "1.0.0", Interface: typed}, nil, "output connstr"},
		"in a range":              {"another may be chosen", resolver.Requirement{Version: "^1.0.0", Interface: typed}, named, "interface"},
		"named beside a range":    {"the range's version is the named one", resolver.Requirement{Version: "^1.0.0", Default: "1.0.0", Interface: typed}, named, ""},
		"another than the named":  {"the range has a newer one alone", resolver.Requirement{Version: "^1.0.0", Default: "0.9.0", Interface: typed}, named, "interface"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.r
			r.Alias, r.Package = "db", "org/mysql"
			catalog := []resolver.Package{
				{Package: "org/app", Version: "1.0.0", Requires: []resolver.Requirement{r, {Alias: "sink", Package: "org/sink", Parameters: reads}}},
				{Package: "org/sink", Version: "1.0.0", Parameters: []resolver.Field{{Name: "db"}}},
				{Package: "org/mysql", Version: "1.0.0", Outputs: c.has},
			}
			_, err := proposaltest.Resolve(t, resolver.Input{}, catalog, resolver.Request{Package: "org/app"})
			switch {
			case c.says == "" && err != nil:
				t.Errorf("%s: %v", c.why, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s: %v, want %q", c.why, err, c.says)
			}
		})
	}
}
