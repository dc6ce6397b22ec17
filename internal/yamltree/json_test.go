package yamltree

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestJSON holds that JSON gives the strings that encoding/json gives.
func TestJSON(t *testing.T) {
	long := strings.Repeat("k", 3000)
	for name, text := range map[string]string{
		"slash":        `{"a": "x\/y"}`,
		"surrogates":   `{"a": "\ud83d\ude00", "\ud83d\ude00": 1}`,
		"lone":         `{"a": "\ud83d"}`,
		"tabs":         "\t{\n\t\t\"a\"\t:\t[\t1\t,\t2\t]\t}\t\n",
		"long key":     `{"` + long + `": {"` + long + `": "v"}}`,
		"breaks":       "{\"a\": \"x\u0085y\u2028z\u2029\", \"b\": \"\ufeff\x7f\"}",
		"break in key": "{\"a\u2028b\": \"c\"}",
		"control":      `{"a": "\u0000\u001f\b\f"}`,
		"no blanks":    `{"a":true,"b":false,"c":null,"d":[],"e":{},"f":-1.5E+10}`,
		"CR":           "{\r\n\"a\":\r1\r\n}\r\n",
		"merge key":    `{"<<": {"a": 1}, "b": "*x"}`,
		"mark":         "\ufeff{\"a\": 1}",
		"scalar":       ` "a" `,
	} {
		root, ok := JSON([]byte(text))
		if !ok {
			t.Errorf("%s: not read", name)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, jsonValue(t, root.Content[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, text := range []string{"", "{", "a: b", "{a: b}", `{"a": 1} # c`, `{"a": 1}{}`, "---\n{}", "{\"a\": 1,}", "{\"a\": \"\xff\"}"} {
		if _, ok := JSON([]byte(text)); ok {
			t.Errorf("%q was read as JSON", text)
		}
	}
}

// jsonValue is a tree as encoding/json has it.
func jsonValue(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for k, v := range Fields(n) {
			out[k.Value] = jsonValue(t, v)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, 0)
		for _, c := range n.Content {
			out = append(out, jsonValue(t, c))
		}
		return out
	}
	if n.Style == yaml.DoubleQuotedStyle {
		return n.Value
	}
	var out any
	if err := json.Unmarshal([]byte(n.Value), &out); err != nil {
		t.Errorf("%q: %v", n.Value, err)
	}
	return out
}

// TestJSONIsTheLibrarys holds that a text which both read gives the library's tree.
func TestJSONIsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"a", " ", "é", "😀", `\"`, `\\`, `\n`, `\t`, `\u00e9`, "#", ": ", "- ", "{", "]", "'", "&a", "null"}
	blanks := func() string { return []string{"", " ", "\n", "\t", "\r\n", "\n  ", " \n\t"}[rng.IntN(7)] }
	text := func() string {
		var b strings.Builder
		for range rng.IntN(5) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return `"` + b.String() + `"`
	}
	var value func(depth int) string
	value = func(depth int) string {
		kind := rng.IntN(8)
		if depth > 4 {
			kind = 2 + rng.IntN(6)
		}
		if kind > 1 {
			return []string{"true", "false", "null", "-12", "1.50", "1e5"}[kind-2]
		}
		var parts []string
		for range rng.IntN(4) {
			v := blanks() + value(depth+1) + blanks()
			if rng.IntN(3) == 0 {
				v = blanks() + text() + blanks()
			}
			if kind == 0 {
				v = blanks() + text() + ":" + " " + v
			}
			parts = append(parts, v)
		}
		if kind == 0 {
			return "{" + strings.Join(parts, ",") + "}"
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	read := 0
	for range 5_000 {
		in := "{\"k\": " + value(0) + "}\n"
		got, ok := JSON([]byte(in))
		if !ok {
			t.Fatalf("%q is not read", in)
		}
		var want yaml.Node
		if err := yaml.Unmarshal([]byte(in), &want); err != nil {
			continue // tabs, and what else the library refuses
		}
		read++
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatalf("%q (-library +got):\n%s", in, diff)
		}
	}
	if read < 1000 {
		t.Errorf("the library read %d texts", read)
	}
}
