package yamltree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestListKey(t *testing.T) {
	for text, want := range map[string]string{
		"[{name: a, image: x}, {name: b, image: x}]": "name",
		"[{image: x}, {image: y}]":                   "image",
		"[{name: a}, {name: a}]":                     "",
		"[{name: a}, {other: b}]":                    "",
		"[a, b]":                                     "",
		"[]":                                         "",
	} {
		if got := ListKey(yaml.MustParse(text).YNode()); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := JoinField(JoinField("", "metadata"), "a.b/c"); got != "metadata[a.b/c]" {
		t.Error(got)
	}
}
