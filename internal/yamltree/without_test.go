package yamltree

import (
	"slices"
	"strings"
	"testing"
)

func TestWithout(t *testing.T) {
	drop := func(fields ...string) func(string) bool {
		return func(field string) bool { return slices.Contains(fields, field) }
	}
	for name, c := range map[string]struct{ text, drop, want string }{
		"a field":                 {"{a: 1, b: {c: 2, d: 3}}", "b.c", "{a: 1, b: {d: 3}}"},
		"all of a mapping":        {"{a: 1, b: {c: 2}}", "b.c", "{a: 1}"},
		"an item by its key":      {"a: [{type: x}, {type: y}]", "a[type=x]", "a: [{type: y}]"},
		"an item by its place":    {"a: [x, y]", "a[1]", "a: [x]"},
		"all of a list, and more": {"{a: {b: [{type: x}]}, c: 1}", "a.b[type=x]", "{c: 1}"},
		"a key with dots":         {"metadata: {annotations: {a.b/c: x, d: y}}", "metadata.annotations[a.b/c]", "metadata: {annotations: {d: y}}"},
		"an empty mapping stays":  {"{a: {}, b: 1}", "b", "{a: {}}"},
	} {
		t.Run(name, func(t *testing.T) {
			before := node(t, c.text)
			got := Without(before, drop(c.drop))
			if !SameValue(got, node(t, c.want)) || !SameText(before, node(t, c.text)) {
				t.Errorf("got another tree, or changed the one given")
			}
			if Without(before, drop("nothing")) != before {
				t.Error("a tree without such fields is copied")
			}
		})
	}
}

func TestComments(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":                   {"a: 1", ""},
		"those that stand alone": {"# x\n# y\na:\n  # z\n  b: 1\n", "# x|# y|# z"},
		"those of values":        {"a: 1 # x\nb: # y\n  c: [1]\nd:\n- 1 # z\n", "a # x|b # y|d[0] # z"},
		"another order":          {"b: # y\n  c: [1]\n\na: 1   # x\n", "a # x|b # y"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(Comments(node(t, c.text)), "|"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
