package intern

import (
	"maps"
	"testing"
)

func TestMaps(t *testing.T) {
	same := func(a, b map[string]string) bool {
		if len(a) == 0 || len(b) == 0 {
			return a == nil && b == nil
		}
		a["probe"] = "x"
		defer delete(a, "probe")
		return b["probe"] == "x"
	}
	for name, c := range map[string]struct {
		a, b map[string]string
		want bool
	}{
		"equal":            {map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "2", "a": "1"}, true},
		"another value":    {map[string]string{"a": "1"}, map[string]string{"a": "2"}, false},
		"another key":      {map[string]string{"a": "1"}, map[string]string{"b": "1"}, false},
		"one more":         {map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}, false},
		"empty and nil":    {map[string]string{}, nil, true},
		"zeros in a value": {map[string]string{"a": "1\x00b\x002"}, map[string]string{"a": "1", "b": "2"}, false},
		"cut elsewhere":    {map[string]string{"ab": "c"}, map[string]string{"a": "bc"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s Maps
			wantA, wantB := maps.Clone(c.a), maps.Clone(c.b)
			a := s.Of(c.a)
			b := s.Of(c.b)
			if !maps.Equal(a, wantA) || !maps.Equal(b, wantB) {
				t.Errorf("%v and %v became %v and %v", wantA, wantB, a, b)
			}
			if got := same(a, b); got != c.want {
				t.Errorf("one map: %t, want %t", got, c.want)
			}
		})
	}
}
