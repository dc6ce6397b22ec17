package yamltree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestSpellNulls(t *testing.T) {
	for in, want := range map[string]string{
		"{a, b: , c: ''}\n":        "{a: null, b: null, c: ''}\n",
		"a: {b: {c}}\n":            "a: {b: {c: null}}\n",
		"a: [b, ~, {c: }]\n":       "a: [b, ~, {c: null}]\n",
		"a:\nb:\n-\n- {c: \"\"}\n": "a:\nb:\n-\n- {c: \"\"}\n",
	} {
		got, err := yaml.String(SpellNulls(yaml.MustParse(in).YNode()))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}
