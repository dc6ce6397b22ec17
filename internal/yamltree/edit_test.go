package yamltree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// editCase is one change of a tree, and what it gives.
type editCase struct {
	reason, in string
	edit       func(n *yaml.Node) bool
	want       string
	ok         bool
}

func runEdits(t *testing.T, cases map[string]editCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(t, c.in)
			if ok := c.edit(n); ok != c.ok {
				t.Errorf("%s: got %v", c.reason, ok)
			}
			if diff := cmp.Diff(c.want, text(t, n)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestSetString(t *testing.T) {
	set := func(key, value string) func(*yaml.Node) bool {
		return func(n *yaml.Node) bool {
			before := Child(n, key)
			SetString(n, nil, key, value)
			return Child(n, key) != before
		}
	}
	runEdits(t, map[string]editCase{
		"there already":       {"its quotes and its node stay", "a: 'x' # why\n", set("a", "x"), "a: 'x' # why\n", false},
		"another value":       {"the comment stays", "a: 'x' # why\n", set("a", "w"), "a: w # why\n", true},
		"a number like it":    {"the type changes", "a: 1 # why\n", set("a", "1"), "a: \"1\" # why\n", true},
		"a null like it":      {"the type changes", "a: null\n", set("a", "null"), "a: \"null\"\n", true},
		"a map was there":     {"it goes as a whole", "a:\n  b: c\n", set("a", "x"), "a: x\n", true},
		"an alias like it":    {"what it stands for is that already", "a: &x v\nb: *x\n", set("b", "v"), "a: &x v\nb: *x\n", false},
		"an alias":            {"the other place keeps its value", "a: &x v\nb: *x\n", set("b", "w"), "a: &x v\nb: w\n", true},
		"several lines":       {"as a literal", "a: x\n", set("a", "b\nc\n"), "a: |\n  b\n  c\n", true},
		"a new key in quotes": {"a key is a string too", "a: x\n", set("yes", "no"), "a: x\n\"yes\": \"no\"\n", true},
	})
}

func TestEnsure(t *testing.T) {
	maps := func(key string) func(*yaml.Node) bool {
		return func(n *yaml.Node) bool {
			m := Ensure(n, []string{"a", "b"}, key)
			if m != nil {
				SetString(m, nil, "k", "v")
			}
			return m != nil
		}
	}
	seqs := func(key string) func(*yaml.Node) bool {
		return func(n *yaml.Node) bool {
			s := EnsureSeq(n, nil, key)
			if s != nil {
				s.Content = append(s.Content, String("v"))
			}
			return s != nil
		}
	}
	runEdits(t, map[string]editCase{
		"missing":           {"made where the order wants it", "b: 1\n", maps("a"), "a:\n  k: v\nb: 1\n", true},
		"null":              {"made", "a:\nb: 1\n", maps("a"), "a:\n  k: v\nb: 1\n", true},
		"empty":             {"opened", "a: {}\n", maps("a"), "a:\n  k: v\n", true},
		"in flow style":     {"kept", "a: {x: y}\n", maps("a"), "a: {x: y, k: v}\n", true},
		"something else":    {"left alone", "a: [x]\n", maps("a"), "a: [x]\n", false},
		"an alias":          {"copied", "a: &x\n  p: z # why\nb: *x\n", maps("b"), "a: &x\n  p: z # why\nb:\n  p: z\n  k: v\n", true},
		"list missing":      {"made", "b: 1\n", seqs("a"), "b: 1\na:\n- v\n", true},
		"list empty":        {"opened", "a: []\n", seqs("a"), "a:\n- v\n", true},
		"list, but a map":   {"left alone", "a: {x: y}\n", seqs("a"), "a: {x: y}\n", false},
		"list, but a value": {"left alone", "a: x\n", seqs("a"), "a: x\n", false},
	})
}

func TestOwn(t *testing.T) {
	n := node(t, "a: &x {b: [1]}\nc: *x\n")
	direct, err := Own(n, 1)
	if err != nil || direct != n.Content[1] {
		t.Errorf("a value is its own already: %v", err)
	}
	own, err := Own(n, 3)
	if err != nil || own == direct || own != n.Content[3] || !SameValue(own, direct) {
		t.Errorf("an alias becomes a copy, in its place: %v", err)
	}
	deep := node(t, "a: &x "+strings.Repeat("[", MaxDepth+5)+strings.Repeat("]", MaxDepth+5)+"\nb: *x\n")
	if _, err := Own(deep, 3); !errors.Is(err, ErrTooLarge) || deep.Content[3].Kind != yaml.AliasNode {
		t.Errorf("what is too large stays an alias: %v", err)
	}
	if Ensure(deep, nil, "b") != nil {
		t.Error("what cannot be copied cannot be had for changing")
	}
}

func TestRemove(t *testing.T) {
	remove := func(key string) func(*yaml.Node) bool { return func(n *yaml.Node) bool { return Remove(n, key) } }
	empty := func(key string) func(*yaml.Node) bool {
		return func(n *yaml.Node) bool {
			before := len(n.Content)
			RemoveEmpty(n, key)
			return len(n.Content) < before
		}
	}
	runEdits(t, map[string]editCase{
		"a key":               {"with its value", "a: {b: c}\nd: e\n", remove("a"), "d: e\n", true},
		"the last":            {"the map stays", "a: b\n", remove("a"), "{}\n", true},
		"none":                {"nothing happens", "a: b\n", remove("b"), "a: b\n", false},
		"of a list":           {"nothing happens", "- a\n- b\n", remove("a"), "- a\n- b\n", false},
		"empty: a map":        {"goes", "a: {}\nd: e\n", empty("a"), "d: e\n", true},
		"empty: a list":       {"goes", "a: []\nd: e\n", empty("a"), "d: e\n", true},
		"empty: a null":       {"goes", "a: ~\nd: e\n", empty("a"), "d: e\n", true},
		"empty: a text":       {"is a value", "a: ''\nd: e\n", empty("a"), "a: ''\nd: e\n", false},
		"empty: with content": {"stays", "a: [~]\nd: e\n", empty("a"), "a: [~]\nd: e\n", false},
		"empty: none":         {"nothing happens", "d: e\n", empty("a"), "d: e\n", false},
	})
}

func TestDeleteFunc(t *testing.T) {
	n := node(t, "- a\n- b # why\n- a\n")
	if got := DeleteFunc(n, func(c *yaml.Node) bool { return c.Value == "a" }); got != 2 || text(t, n) != "- b # why\n" {
		t.Errorf("%d went, left is\n%s", got, text(t, n))
	}
	if got := DeleteFunc(n, func(*yaml.Node) bool { return false }); got != 0 {
		t.Errorf("%d went", got)
	}
}

// TestEditsThroughAlias holds that a mapping which was reached by an alias can
// be read and changed like any other.
func TestEditsThroughAlias(t *testing.T) {
	n := node(t, "a: &x {b: c}\nd: *x\n")
	alias := n.Content[3]
	SetString(alias, nil, "e", "f")
	if !Remove(alias, "b") || Text(n, "a", "e") != "f" || Child(n, "a") != Child(n, "d") || Text(alias, "b") != "" {
		t.Errorf("got\n%s", text(t, n))
	}
}
