package yamltree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestListKey(t *testing.T) {
	for text, want := range map[string]string{
		"[{name: a, image: x}, {name: b, image: x}]": "name",
		"[{image: x}, {image: y}]":                   "image",
		"[{image: x:v1}, {image: x:v2}]":             "",
		"[{name: a}, {name: a}]":                     "",
		"[{name: a}, {other: b}]":                    "",
		"[a, b]":                                     "",
		"[]":                                         "",
	} {
		if got := ListKey(yaml.MustParse(text).YNode()); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := ItemID(yaml.MustParse("{image: r.io:5000/x:v1}").YNode(), "image"); got != "r.io:5000/x" {
		t.Error(got)
	}
	if got := JoinField(JoinField("", "metadata"), "a.b/c"); got != "metadata[a.b/c]" {
		t.Error(got)
	}
}

func TestNearest(t *testing.T) {
	root := yaml.MustParse("a:\n  b.c: 1\n  list:\n  - name: x\n    v: 2\n  - name: y\n    v: 3\none: {k: 4}\n").YNode()
	for field, want := range map[string]struct {
		value string
		line  int
	}{
		"a[b.c]":           {"1", 2},
		"a.list[1].v":      {"3", 7},
		"a.list[name=x].v": {"2", 5},
		"a.list[9].v":      {"", 3},
		"one[0].k":         {"4", 8},
		"a.none.deeper":    {"", 1},
	} {
		n, line := Nearest(root, field)
		value := ""
		if n != nil {
			value = n.Value
		}
		if value != want.value || line != want.line {
			t.Errorf("%s: %q in line %d, want %q in %d", field, value, line, want.value, want.line)
		}
	}
}
