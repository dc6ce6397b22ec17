package catalogfn

import (
	"context"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// TestSpellingIsNoChange holds that a resource which is only written another
// way is not said to be replaced: its file stays as it is.
func TestSpellingIsNoChange(t *testing.T) {
	const text = "apiVersion: x.io/v1\nkind: X\nmetadata:\n  name: a\nspec:\n  mode: 0x10 # octets\n  none: ~\n"
	for config, said := range map[string]int{
		"{kind: X, apiVersion: x.io/v1, metadata: {name: a}, spec: {none: null, mode: 16}}": 0,
		"{kind: X, apiVersion: x.io/v1, metadata: {name: a}, spec: {none: null, mode: 17}}": 1,
	} {
		p, err := krm.Parse([]krm.File{{Path: "a.yaml", Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		call := &function.Call{Package: p, Config: yaml.MustParse(config)}
		if err := UpsertResource(context.Background(), call); err != nil {
			t.Fatal(err)
		}
		if len(call.Results) != said || p.Changed() != (said > 0) {
			t.Errorf("%s: changed %v, and said %v", config, p.Changed(), call.Results)
		}
	}
}
