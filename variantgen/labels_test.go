package variantgen

import (
	"fmt"
	"testing"
)

func TestLabelsOf(t *testing.T) {
	many := map[string]string{}
	for i := range 15 {
		many[fmt.Sprintf("k%02d", i)] = "v"
	}
	labelled := func(labels ...map[string]string) (out []*object) {
		for _, l := range labels {
			out = append(out, &object{Object: Object{Labels: l}})
		}
		return out
	}
	cases := map[string]struct {
		of   []*object
		want string
	}{
		"none":      {nil, "there is none there"},
		"no labels": {labelled(nil, nil), "the 2 there have no labels"},
		"each once": {labelled(map[string]string{"b": "1"}, map[string]string{"a": "2", "b": "1"}), "the 2 there have the labels a=2, b=1"},
		"many":      {labelled(many), "the 1 there have the labels k00=v, k01=v, k02=v, k03=v, k04=v, k05=v, k06=v, k07=v, k08=v, k09=v, k10=v, k11=v, and 3 more"},
	}
	for name, tc := range cases {
		if got := labelsOf(tc.of); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
