package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// spellings are pairs of texts for one value.
var spellings = map[string][2]string{
	"hexadecimal": {"0x10", "16"},
	"octal":       {"010", "8"},
	"underscores": {"1_000", "1000"},
	"a boolean":   {"True", "true"},
	"zeros":       {"1.50", "1.5"},
	"null":        {"~", "null"},
	"quotes":      {"a", "'a'"},
	"a map":       {"{a: 0x1, b: ~}", "{b: null, a: 1}"},
	"a list":      {"[0x1, ~]", "[1, null]"},
}

// TestSpelling: a value that upstream only writes another way takes nothing from
// what local has there and is no conflict. Where local left it alone it is
// written as upstream does, and the file counts as changed; else it does not.
func TestSpelling(t *testing.T) {
	object := func(v, w string) string {
		return "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\nspec:\n  v: " + v + "\n  w: " + w + "\n"
	}
	for name, v := range spellings {
		removed := "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\nspec:\n  w: 1\n"
		for what, texts := range map[string]struct{ local, want string }{
			"local changed the value":    {object("local", "1"), object("local", "1")},
			"local changed another":      {object(v[0], "2"), object(v[1], "2")},
			"local removed the value":    {removed, removed},
			"local writes it upstream's": {object(v[1], "2"), object(v[1], "2")},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				res, err := Packages(pkg(t, "-- r.yaml --\n"+object(v[0], "1")), pkg(t, "-- r.yaml --\n"+object(v[1], "1")), pkg(t, "-- r.yaml --\n"+texts.local), Options{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff("-- r.yaml --\n"+texts.want, textOf(t, res.Package)); diff != "" {
					t.Errorf("merged (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string(nil), conflictLines(res)); diff != "" {
					t.Errorf("conflicts (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSpellingOfItems holds that an item of a list is found again where one
// side writes it another way.
func TestSpellingOfItems(t *testing.T) {
	list := func(items string) string {
		return "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\nspec:\n  l:" + items + "\n"
	}
	runCases(t, map[string]mergeCase{
		"upstream writes one another way, local adds one": {
			base: list("\n  - 0x10\n  - b"), upstream: list("\n  - 16\n  - b"), local: list("\n  - 0x10\n  - b\n  - c"), want: list("\n  - 16\n  - b\n  - c"),
		},
		"both do what the other did": {
			base: list("\n  - 1_000\n  - b"), upstream: list("\n  - 1000\n  - b\n  - c"), local: list("\n  - 1e3\n  - b"), want: list("\n  - 1e3\n  - b\n  - c"),
		},
		"upstream removes it, local writes it another way": {
			base: list("\n  - a\n  - 0x10\n  - b"), upstream: list("\n  - a\n  - b"), local: list("\n  - a\n  - 16\n  - b"), want: list("\n  - a\n  - b"),
		},
	})
}
