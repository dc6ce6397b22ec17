package yamltree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// the names of the equalities, the strictest first; each implies the ones after it.
var equalities = []struct {
	name string
	same func(a, b *yaml.Node) bool
}{
	{"Identical", Identical},
	{"SameText", SameText},
	{"SameValue", SameValue},
	{"SameData", SameData},
}

// The answers that a pair can have.
const (
	differ    = ""
	data      = "SameData"
	value     = "SameValue"
	written   = "SameText"
	identical = "Identical"
)

// TestEqualities is the table of pairs: the strictest equality that calls two
// texts the same.
func TestEqualities(t *testing.T) {
	cases := map[string]struct{ a, b, want string }{
		"the same":               {"a: 1 # c\n", "a: 1 # c\n", identical},
		"another place":          {"a: [b]", "\na:   [b]", written},
		"names of anchors":       {"a: &x 1\nb: *x", "a: &y 1\nb: *y", written},
		"an anchor":              {"a: &x 1", "a: 1", written},
		"a comment":              {"a: 1 # c", "a: 1", value},
		"another comment":        {"# x\na: 1", "# y\na: 1", value},
		"quotes":                 {"a: b", "a: 'b'", value},
		"flow and block":         {"a: {b: [c]}", "a:\n  b:\n  - c\n", value},
		"order of keys":          {"a: 1\nb: 2", "b: 2\na: 1", value},
		"an alias written out":   {"a: &x {b: c}\nd: *x", "a: &x {b: c}\nd: {b: c}", value},
		"aliases of two":         {"[&x 1, &y 2, *x]", "[&x 1, &y 2, *y]", differ},
		"anchors of one name":    {"[&x 1, &y 2, *x]", "[&x 1, &x 2, *x]", differ},
		"nulls":                  {"a: null", "a: ~", value},
		"nothing and null":       {"a:", "a: null", value},
		"hexadecimal":            {"0x10", "16", value},
		"octal of YAML 1.1":      {"010", "8", value},
		"octal of YAML 1.2":      {"0o10", "8", value},
		"binary":                 {"0b11", "3", value},
		"underscores":            {"1_000", "1000", value},
		"a sign":                 {"+1", "1", value},
		"case of a boolean":      {"True", "true", value},
		"zeros behind":           {"1.50", "1.5", value},
		"an exponent":            {"1.5e3", "1500.0", value},
		"case of infinity":       {"+.Inf", ".inf", value},
		"keys written apart":     {"{0x10: a, b: c}", "{b: c, 16: a}", value},
		"integer and float":      {"1", "1.0", data},
		"an exponent is float":   {"1e3", "1000", data},
		"integer and string":     {"a: 1", "a: '1'", differ},
		"boolean and string":     {"true", "'true'", differ},
		"yes is a boolean":       {"yes", "true", value},
		"a date and its text":    {"2001-01-01", "'2001-01-01'", data},
		"a version":              {"1.10", "'1.10'", differ},
		"null and absent":        {"a: 1\nb: null", "a: 1", differ},
		"null and empty":         {"a: ~", "a: ''", differ},
		"empty collections":      {"a: {}", "a: []", differ},
		"empty and absent":       {"a: 1\nb: {}", "a: 1", differ},
		"order of items":         {"[a, b]", "[b, a]", differ},
		"one item more":          {"[a]", "[a, a]", differ},
		"another key":            {"{a: 1, b: 2}", "{a: 1, c: 2}", differ},
		"key and string key":     {"{1: a, b: c}", "{b: c, '1': a}", data},
		"values changed places":  {"{a: 1, b: 2}", "{a: 2, b: 1}", differ},
		"a merge key":            {"{<<: {a: 1}}", "{a: 1}", data},
		"a merge of two":         {"{<<: [{a: 1}, {a: 2, b: 3}], c: 4}", "{c: 4.0, b: 3, a: 1}", data},
		"a field before a merge": {"{<<: {a: 1}, a: 2}", "{a: 2}", data},
		"a date, another text":   {"2001-01-01", "'2001-01-02'", differ},
		"large numbers":          {"9007199254740993", "9007199254740992.0", differ},
		"a tag":                  {"a: !x {}", "a: {}", data},
		"a tag of a scalar":      {"a: !x b", "a: b", differ},
		"a tag spelt out":        {"a: !!str b", "a: b", value},
		"a key twice":            {"{a: 1, a: 2}", "{a: 2, a: 1}", differ},
		"a map as key":           {"? {a: 1}\n: b", "? {a: 0x1}\n: b", value},
		"maps as keys, moved":    {"? {a: 1}\n: b\n? c\n: d", "? c\n: d\n? {a: 1}\n: b", differ},
		"white space in text":    {"a: 'b '", "a: 'b'", differ},
		"case of a string":       {"a: B", "a: b", differ},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checkPair(t, node(t, c.a), node(t, c.b), c.want)
		})
	}
}

// checkPair holds that want and what it implies call two trees the same, from both
// sides, and nothing else does.
func checkPair(t *testing.T, a, b *yaml.Node, want string) {
	t.Helper()
	same := false
	for _, e := range equalities {
		same = same || e.name == want
		if ab, ba := e.same(a, b), e.same(b, a); ab != same || ba != same {
			t.Errorf("%s is %v, and %v the other way round; want %v", e.name, ab, ba, same)
		}
	}
	if SameValue(a, b) && Hash(a) != Hash(b) {
		t.Error("one value has two hashes")
	}
}

// TestHash holds that what has another value has another Hash, as far as it
// tells: it does not where keys that stand twice, or are no scalars, moved.
func TestHash(t *testing.T) {
	texts := []string{"a", "'1'", "1", "1.0", "~", "[]", "{}", "[a]", "[[a]]", "{a: 1}", "{1: a}", "{a: 2, b: 1}", "{a: 1, b: 2}", "[1, 2]", "[2, 1]", "!x {}", "!x a"}
	for i, x := range texts {
		for j, y := range texts {
			if (Hash(node(t, x)) == Hash(node(t, y))) != (i == j) {
				t.Errorf("%s and %s: equal hashes are %v", x, y, i != j)
			}
		}
	}
	if Hash(node(t, "{a: 1, a: 2}")) != Hash(node(t, "{a: 2, a: 1}")) {
		t.Error("the order of keys has a part in the hash")
	}
}

func TestEqualitiesOfMissing(t *testing.T) {
	null, empty := node(t, "~"), &yaml.Node{Kind: yaml.DocumentNode}
	for name, c := range map[string]struct {
		a, b        *yaml.Node
		text, value bool
	}{
		"both missing":         {nil, nil, true, true},
		"missing and null":     {nil, null, false, true},
		"missing and empty":    {nil, empty, false, true},
		"zero and null":        {&yaml.Node{}, null, false, true},
		"missing and a string": {nil, String("null"), false, false},
		"a missing item":       {Seq(nil), Seq(null), false, true},
		"a document":           {&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{String("a")}}, String("a"), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameText(c.a, c.b); got != c.text {
				t.Errorf("SameText is %v", got)
			}
			if got := SameValue(c.a, c.b); got != c.value {
				t.Errorf("SameValue is %v", got)
			}
		})
	}
}

// TestIdenticalIsExact changes one part of a node after the other.
func TestIdenticalIsExact(t *testing.T) {
	for part, change := range map[string]func(*yaml.Node){
		"kind":         func(n *yaml.Node) { n.Kind = yaml.SequenceNode },
		"style":        func(n *yaml.Node) { n.Style = yaml.DoubleQuotedStyle },
		"tag":          func(n *yaml.Node) { n.Tag = "!x" },
		"value":        func(n *yaml.Node) { n.Value = "y" },
		"anchor":       func(n *yaml.Node) { n.Anchor = "y" },
		"head comment": func(n *yaml.Node) { n.HeadComment = "# y" },
		"line comment": func(n *yaml.Node) { n.LineComment = "# y" },
		"foot comment": func(n *yaml.Node) { n.FootComment = "# y" },
		"line":         func(n *yaml.Node) { n.Line++ },
		"column":       func(n *yaml.Node) { n.Column++ },
		"content":      func(n *yaml.Node) { n.Content = append(n.Content, String("y")) },
	} {
		a := node(t, "a: [x]")
		b := Copy(a)
		if !Identical(a, b) {
			t.Fatal("a copy is not identical")
		}
		change(b.Content[1].Content[0])
		if Identical(a, b) {
			t.Errorf("the %s does not count", part)
		}
	}
	if n := node(t, "[&x 1, *x]"); Identical(n, n) || Identical(nil, nil) {
		t.Error("a tree with an alias, or none, is identical")
	}
}

// TestEqualitiesEnd holds that trees that contain themselves are compared in
// finite time, and are the same as themselves only.
func TestEqualitiesEnd(t *testing.T) {
	a, b := cyclic(), cyclic()
	if !SameText(a, a) || !SameValue(a, a) || SameText(a, b) || SameValue(a, b) {
		t.Error("a tree is the same as itself, and as no other that goes on for ever")
	}
	_ = Hash(a)
}

func TestKeys(t *testing.T) {
	text := "{b: 1, 0x10: 2, '16': 3, &k c: 4"
	for _, more := range []string{"}", ", d: 5, e: 6, f: 7, g: 8, h: 9, i: 10, j: 11, k: 12, l: 13, m: 14, o: 15, p: 16, q: 17}"} {
		find, ok := Keys(node(t, text+more))
		if !ok {
			t.Fatalf("%s%s has no keys", text, more)
		}
		for k, want := range map[Key]int{{"!!str", "b"}: 0, {"!!int", "16"}: 2, {"!!str", "16"}: 4, {"!!str", "c"}: 6} {
			if at, ok := find(k); at != want || !ok {
				t.Errorf("%s%s: %v is at %d, %v, want %d", text, more, k, at, ok, want)
			}
		}
		if _, ok := find(Key{"!!int", "b"}); ok {
			t.Errorf("%s%s: a key of another type is found", text, more)
		}
	}
	for _, text := range []string{"{a: 1, a: 2}", "{16: 1, 0x10: 2}", "? [a]\n: b"} {
		if _, ok := Keys(node(t, text)); ok {
			t.Errorf("%s has keys", text)
		}
	}
	if _, ok := Keys(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{String("a")}}); ok {
		t.Error("a key without a value has a place")
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"~": "null", "True": "true", "0x1F": "31", "-0b11": "-3", "1_0": "10", "1.50": "1.5", "+.INF": ".inf", ".NaN": ".nan",
		"'0x1F'": "0x1F", "2001-01-01": "2001-01-01", "99999999999999999999": "1e+20", "18446744073709551615": "18446744073709551615",
	} {
		if got := Canonical(node(t, text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzEqualities holds the laws: each equality is reflexive (Identical but for
// aliases) and symmetric, each implies the next, and one value has one Hash.
func FuzzEqualities(f *testing.F) {
	for _, s := range [][2]string{
		{"a: 1 # c", "a: 0x1"},
		{"[&x {a: 1}, *x]", "[{a: 1}, {a: 1}]"},
		{"{a: ~, b: .NaN}", "{b: .nan, a: }"},
		{"&a [*a]", "&b [*b]"},
		{"{<<: {a: 1}}", "a: !!int '1'"},
		{"? {a: b}\n: c", "? [a]\n: |\n  c"},
		{"!x {1: 2}", "1e400"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		a, okA := parsed(x)
		b, okB := parsed(y)
		if !okA || !okB {
			return
		}
		for _, e := range equalities {
			if !e.same(a, Copy(a)) && (e.name != identical || !HasAlias(a)) {
				t.Errorf("%s: %q is not the same as itself", e.name, x)
			}
			if e.same(a, b) != e.same(b, a) {
				t.Errorf("%s: %q and %q are the same one way only", e.name, x, y)
			}
		}
		if SameValue(a, b) && Hash(a) != Hash(b) {
			t.Errorf("%q and %q have one value and two hashes", x, y)
		}
		for i, e := range equalities[1:] {
			if strict := equalities[i]; strict.same(a, b) && !e.same(a, b) {
				t.Errorf("%q and %q: %s does not imply %s", x, y, strict.name, e.name)
			}
		}
	})
}

func parsed(s string) (*yaml.Node, bool) {
	n, err := yaml.Parse(s)
	if err != nil || n.YNode() == nil || Check(n.YNode()) != nil {
		return nil, false
	}
	return n.YNode(), true
}
