package yamltree

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// What is set as a string must be read as that string, by readers of YAML 1.1 too.
func TestStringQuotes(t *testing.T) {
	for _, s := range []string{"plain", "", "yes", "No", "on", "1", "1.0", "1e3", "0x1F", "null", "~", "true", " lead", "trail ", "a: b", "# no", "two\nlines\n", "- x", "12:30:45", "é", "'q'", `"q"`} {
		m := Map()
		SetString(m, nil, "k", s)
		out := text(t, m)
		var back struct{ K any }
		if err := yaml.Unmarshal([]byte(out), &back); err != nil || back.K != s {
			t.Errorf("%q was written as %q and read as %v (%v)", s, out, back.K, err)
		}
		if yaml.IsValueNonString(s) && !strings.ContainsAny(out, `"'`) {
			t.Errorf("%q is not quoted: %q", s, out)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	for _, s := range []string{"", "yes", "No", "ON", "off", "y", "N", "true", "1e3", "0x1", "0o7", "0b1", "017", "null", "~", "Null", "1_000", "2001-01-01", "2001-1-1 10:00:00", "12:30:45", "1:30", "1.5", ".5", "-1", "+.inf", ".NaN", "<<", "=", "1,000", "2_000", "9:30", "+9_1", "-2:30"} {
		if !Ambiguous(s) {
			t.Errorf("%q is taken for a string by all", s)
		}
	}
	for _, s := range []string{"a", "yesterday", "one", "10.0.0.1", "v1", "1.2.3", "nginx:1.2", "1Gi", "100m", "-a", "n1", "2001-01", "e3"} {
		if Ambiguous(s) {
			t.Errorf("%q is taken for another type", s)
		}
	}
}
