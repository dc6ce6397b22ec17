package yamltree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	n, err := yaml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n.YNode()
}

func text(t testing.TB, n *yaml.Node) string {
	t.Helper()
	s, err := yaml.NewRNode(n).String()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cyclic is a tree that holds itself.
func cyclic() *yaml.Node {
	n := Seq()
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.AliasNode, Value: "a", Alias: n})
	return n
}

func TestDeref(t *testing.T) {
	loop := &yaml.Node{Kind: yaml.AliasNode}
	loop.Alias = loop
	one := String("1")
	cases := map[string]struct{ n, want *yaml.Node }{
		"nothing":          {nil, nil},
		"a node":           {one, one},
		"an alias":         {&yaml.Node{Kind: yaml.AliasNode, Alias: one}, one},
		"an alias of none": {&yaml.Node{Kind: yaml.AliasNode}, nil},
		"a loop":           {loop, nil},
		"a document":       {&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{one}}, one},
		"an empty one":     {&yaml.Node{Kind: yaml.DocumentNode}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Deref(c.n); got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	n := node(t, "m: &m {}\ns: &s []\nt: &t x\nn: &n ~\na: [*m, *s, *t, *n]\n")
	type kinds struct{ null, mapping, seq, scalar bool }
	of := func(n *yaml.Node) kinds { return kinds{IsNull(n), IsMap(n), IsSeq(n), IsScalar(n)} }
	want := []kinds{{mapping: true}, {seq: true}, {scalar: true}, {null: true, scalar: true}}
	for i, alias := range Items(n, "a") {
		direct := n.Content[2*i+1]
		if d := cmp.Diff([]kinds{want[i], want[i]}, []kinds{of(direct), of(alias)}, cmp.AllowUnexported(kinds{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", n.Content[2*i].Value, d)
		}
	}
	if missing := (kinds{null: true}); of(nil) != missing || of(&yaml.Node{}) != missing {
		t.Errorf("missing: %+v, zero: %+v", of(nil), of(&yaml.Node{}))
	}
}

// TestLookup holds what a key and a path find, through aliases too, and that
// no other kind of node is mistaken for a key.
func TestLookup(t *testing.T) {
	n := node(t, `
a: &x {b: {c: deep}, n: null, i: 1}
d: *x
twice: first
twice: second
&k key: by name
? {c: map as key}
: 1
list: [one, *x]
*k : again
`)
	for path, want := range map[*[]string]string{
		{"a", "b", "c"}:      "deep",
		{"d", "b", "c"}:      "deep",
		{"d", "i"}:           "1",
		{"d", "n"}:           "",
		{"a", "b"}:           "",
		{"a", "b", "c", "d"}: "",
		{"absent"}:           "",
		{"twice"}:            "first",
		{"key"}:              "by name",
		{"k"}:                "", // the name of an anchor
		{""}:                 "", // what a mapping has for a value
		{"list", "one"}:      "",
	} {
		if got := Text(n, *path...); got != want {
			t.Errorf("%q: got %q, want %q", *path, got, want)
		}
	}
	if Child(n, "d") != Child(n, "a") || Path(n) != n || Path(n, "a", "n") == nil {
		t.Error("an alias is followed, no keys lead to the node itself, a null is there")
	}
	if i := Index(n, "d"); i != 2 || Index(n, "absent") != -1 || Index(Child(n, "list"), "one") != -1 || Index(nil, "a") != -1 {
		t.Errorf("the index of d is %d", i)
	}
	if got := len(Items(n, "list")); got != 2 || Items(n, "a") != nil || Items(nil) != nil {
		t.Errorf("the list has %d items", got)
	}
}

func TestFields(t *testing.T) {
	n := node(t, "x: &m {b: 1, a: 2}\ny: *m\nz: 3\n")
	var got []string
	for k, v := range Fields(n) {
		if got = append(got, k.Value+"="+v.Value); k.Value == "y" {
			break
		}
	}
	for k, v := range Fields(Child(n, "y")) {
		got = append(got, k.Value+"="+v.Value)
	}
	for _, none := range []*yaml.Node{nil, Seq(String("a"), String("b")), String("a")} {
		for k := range Fields(none) {
			got = append(got, k.Value)
		}
	}
	if d := cmp.Diff([]string{"x=", "y=m", "b=1", "a=2"}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestRepeated(t *testing.T) {
	var many strings.Builder
	for i := range 2 * few {
		fmt.Fprintf(&many, "k%d: 1\n", i)
	}
	for text, line := range map[string]int{
		"a: 1\nb: 1\n":                   0,
		"a: 1\nb: 1\na: 1\nb: 1\n":       3,
		"a: 1\n'a': 1\n":                 2,
		"a: {b: 1}\nb: {b: 1, c: 1}\n":   0,
		"<<: {a: 1}\n<<: {b: 1}\n":       0,
		"? {a: 1}\n: 1\n? {a: 1}\n: 1\n": 0,
		"- a\n- a\n":                     0,
		many.String():                    0,
		many.String() + "k0: 1\n":        2*few + 1,
		many.String() + "<<: {}\n":       0,
	} {
		got := 0
		if k := Repeated(node(t, text)); k != nil {
			got = k.Line
		}
		if got != line {
			t.Errorf("%s: the key of line %d, want %d", text, got, line)
		}
	}
	if Repeated(nil) != nil {
		t.Error("nothing has no keys")
	}
}
