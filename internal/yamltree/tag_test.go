package yamltree

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// plainScalars are texts that some reader takes for something else than a string.
var plainScalars = []string{
	"yes", "Yes", "YES", "yEs", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "oFF", "y", "Y", "n", "N", "true", "True", "TRUE", "tRue", "false",
	"~", "null", "Null", "NULL", "0o7", "0o17", "010", "08", "0x1F", "0b101", "1_000", "1_0.5", "+1", "-1", "1e3", "1.0", ".5", "1.", ".inf", "-.INF", ".nan",
	"12:30:45", "1:30", "2001-01-02", "2001-01-02T03:04:05Z", "2001-1-2", "=", "a", "yesterday", "one two",
}

// TestTag compares the type of plain scalars with the API server's own reader.
func TestTag(t *testing.T) {
	for _, s := range plainScalars {
		n := yaml.MustParse("v: " + s + "\n").YNode().Content[1]
		var read struct{ V any }
		if err := k8syaml.Unmarshal([]byte("v: "+s+"\n"), &read); err != nil {
			if !strings.Contains(strings.ToLower(s), "inf") && !strings.Contains(strings.ToLower(s), "nan") { // JSON has none
				t.Errorf("%s: %v", s, err)
			}
			continue
		}
		want := map[string]bool{}
		switch read.V.(type) {
		case nil:
			want[yaml.NodeTagNull] = true
		case bool:
			want[yaml.NodeTagBool] = true
		case float64:
			want[yaml.NodeTagInt], want[yaml.NodeTagFloat] = true, true
		case string:
			want[yaml.NodeTagString], want["!!timestamp"] = true, true
		}
		if got := Tag(n); !want[got] {
			t.Errorf("%s is %s, and %T to the API server", s, got, read.V)
		}
		if b, ok := read.V.(bool); ok {
			if got, is := Bool(n); got != b || !is {
				t.Errorf("%s is %v, and %v to the API server", s, got, b)
			}
		}
	}
}

// A word of YAML 1.1 is a boolean only where nothing makes it a string.
func TestTagOfQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"yes": yaml.NodeTagBool, `"yes"`: yaml.NodeTagString, "'yes'": yaml.NodeTagString, "!!str yes": yaml.NodeTagString,
		"|-\n  yes": yaml.NodeTagString, "&a yes": yaml.NodeTagBool,
	} {
		n := yaml.MustParse("v: " + text + "\n").YNode().Content[1]
		if got := Tag(n); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
		p, err := Plain(n)
		if err != nil {
			t.Fatal(err)
		}
		if Tag(p) != want {
			t.Errorf("the copy of %s is %s, want %s", text, Tag(p), want)
		}
	}
	if n := String("yes"); Tag(n) != yaml.NodeTagString {
		t.Errorf("String makes %s", Tag(n))
	}
	for _, tc := range []struct {
		a, b string
		same bool
	}{{"yes", "true", true}, {"off", "false", true}, {"yes", `"yes"`, false}, {"y", "on", true}, {"yes", "no", false}, {"yEs", `"yEs"`, true}} {
		a, b := yaml.MustParse("v: "+tc.a).YNode(), yaml.MustParse("v: "+tc.b).YNode()
		if SameValue(a, b) != tc.same || (Hash(a) == Hash(b)) != tc.same {
			t.Errorf("SameValue(%s, %s) = %v", tc.a, tc.b, !tc.same)
		}
		if !SameData(a, b) && strings.EqualFold(tc.a, strings.Trim(tc.b, `"`)) {
			t.Errorf("SameData(%s, %s) = false: a function that keeps values writes one for the other", tc.a, tc.b)
		}
	}
}
