package yamltree

import (
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestPortable(t *testing.T) {
	for in, want := range map[string]string{
		"{a, b: , c: ''}\n":        "{a: null, b: null, c: ''}\n",
		"a: {b: {c}}\n":            "a: {b: {c: null}}\n",
		"a: [b, ~, {c: }]\n":       "a: [b, ~, {c: null}]\n",
		"a:\nb:\n-\n- {c: \"\"}\n": "a:\nb:\n-\n- {c: \"\"}\n",
		"a: \"\\tx\\ny\\n\"\n":     "a: \"\\tx\\ny\\n\"\n",
		"a: |\n  x\n  y\n":         "a: |\n  x\n  y\n",
		"a: |\n  x\n  \ty\n":       "a: \"x\\n\\ty\\n\"\n",
		"a: !x |2\n   x\n":         "a: !x \" x\\n\"\n",
		"a: 'b' # c\n":             "a: 'b' # c\n",
	} {
		got, err := yaml.String(Portable(yaml.MustParse(in).YNode()))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

// hostile are the pieces of strings that some style, reader or writer of YAML mistakes.
var hostile = []string{
	"\t", " ", "  ", "\n", "\n\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\ufffd", "\x00", "\x07", "\x1b", "\x7f", "\u009f",
	"---", "--- ", "...", "- ", "? ", ": ", " #", "# ", "|", ">", "'", "\"", "\\", "\\n", "{", "}", "[", "]", ",", "&a", "*a", "!x", "%", "@", "`",
	"<<", "null", "true", "1_0", "0x1", "é", "日本", "😀", "\U000e0001", "\ue000", "word", "a b", strings.Repeat("long ", 300),
}

// TestPortableStrings writes random strings as keys and values in every style and place,
// and reads them by two libraries.
func TestPortableStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	for range 5_000 {
		var b strings.Builder
		for range 1 + rng.IntN(6) {
			b.WriteString(hostile[rng.IntN(len(hostile))])
		}
		s := b.String()
		scalar := func() *yaml.Node {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s, Style: styles[rng.IntN(len(styles))]}
		}
		seq, flow := Seq(scalar(), Seq(scalar())), Map()
		flow.Style = yaml.FlowStyle
		flow.Content = []*yaml.Node{scalar(), scalar()}
		tree := Map()
		Set(tree, nil, "value", scalar())
		Set(tree, nil, "seq", seq)
		Set(tree, nil, "flow", flow)
		inner := Map()
		inner.Content = []*yaml.Node{scalar(), Seq(flow, inner2(scalar(), scalar()))}
		Set(tree, nil, "map", inner)
		text, err := yaml.String(Portable(Copy(tree)))
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		got, err := yaml.Parse(text)
		if err != nil || !SameData(tree, got.YNode()) {
			t.Fatalf("%q reads back as something else: %v\n%s", s, err, text)
		}
		var data struct {
			Value string            `json:"value"`
			Flow  map[string]string `json:"flow"`
			Map   map[string]any    `json:"map"`
			Seq   []any             `json:"seq"`
		}
		if err := sigsyaml.Unmarshal([]byte(text), &data); err != nil || data.Value != s || data.Flow[s] != s || data.Map[s] == nil || data.Seq[0] != s {
			t.Fatalf("%q reads back as something else by go-yaml 2: %v\n%s", s, err, text)
		}
	}
}

func inner2(k, v *yaml.Node) *yaml.Node {
	m := Map()
	m.Content = []*yaml.Node{k, v}
	return m
}
