package tree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
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

func TestSet(t *testing.T) {
	order := []string{"a", "b", "c"}
	cases := map[string]struct {
		reason, in, key, want string
		order                 []string
	}{
		"after its predecessor": {"a new key stands where readers look for it", "a: 1\nc: 3\nz: 9\n", "b", "a: 1\nb: x\nc: 3\nz: 9\n", order},
		"before its successor":  {"with no predecessor there", "z: 9\nc: 3\n", "a", "z: 9\na: x\nc: 3\n", order},
		"unknown to the order":  {"at the end", "a: 1\n", "q", "a: 1\nq: x\n", order},
		"into an empty map":     {"flow style opens", "{}\n", "b", "b: x\n", order},
		"existing":              {"place and comment stay", "b: 1 # why\na: 2\n", "b", "b: x # why\na: 2\n", order},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(t, c.in)
			Set(n, c.order, c.key, String("x"))
			if diff := cmp.Diff(c.want, text(t, n)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

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

func TestAssign(t *testing.T) {
	have := node(t, "keep: same # why\nchange: 1\ngo: away\nmap:\n  # deep\n  in: 1\n  out: 2\n")
	Assign(have, node(t, "new: {a: b}\nmap: {in: 1}\nchange: 2\nkeep: same\n"), []string{"new", "keep"})
	want := "new: {a: b}\nkeep: same # why\nchange: 2\nmap:\n  # deep\n  in: 1\n"
	if diff := cmp.Diff(want, text(t, have)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAssignItems holds that items of lists keep their nodes, and comments with them, when others come, go or move.
func TestAssignItems(t *testing.T) {
	const before = `# all
list:
# of a
- name: a # first
  size: 1
# of b
- name: b
  # the size of b
  size: 2
- name: c # third
words: [x, y] # flow
waves:
- - a # in a wave
- - b
`
	for name, c := range map[string]struct{ want, after string }{
		"one comes first": {
			"list: [{name: 0}, {name: a, size: 1}, {name: b, size: 2}, {name: c}]\nwords: [x, y]\nwaves: [[a], [b]]",
			strings.Replace(before, "list:\n", "list:\n- {name: 0}\n", 1),
		},
		"one goes, one changes": {
			"list: [{name: b, color: red, size: 3}, {name: c}]\nwords: [x, y]\nwaves: [[a], [b]]",
			strings.NewReplacer("# of a\n- name: a # first\n  size: 1\n", "", "- name: b\n  # the size of b\n  size: 2", "- name: b\n  color: red\n  # the size of b\n  size: 3").Replace(before),
		},
		"they move": {
			"list: [{name: c}, {name: b, size: 2}, {name: a, size: 1}]\nwords: [y, z]\nwaves: [[a, c], [b]]",
			"# all\nlist:\n- name: c # third\n# of b\n- name: b\n  # the size of b\n  size: 2\n# of a\n- name: a # first\n  size: 1\nwords: [y, z] # flow\nwaves:\n- - a # in a wave\n  - c\n- - b\n",
		},
		"a word where a map was": {
			"list: [{name: a, size: 1}, b, {size: 1}]\nwords: {}\nwaves: []",
			"# all\nlist:\n# of a\n- name: a # first\n  size: 1\n- b\n- {size: 1}\nwords: {}\nwaves: []\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			have, want := node(t, before), node(t, c.want)
			Assign(have, want, []string{"list", "words", "waves"})
			if !Equal(have, want) {
				t.Error("it does not mean what it should")
			}
			if diff := cmp.Diff(c.after, text(t, have)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"order of keys and style":   {"{a: 1, b: [x]}", "b:\n- \"x\"\na: 1", true},
		"order of lists":            {"[1, 2]", "[2, 1]", false},
		"type":                      {"a: 1", "a: \"1\"", false},
		"nulls":                     {"a: null", "a: ~", true},
		"more keys":                 {"a: 1", "a: 1\nb: 2", false},
		"other key of the same map": {"a: 1\nb: 2", "a: 1\nc: 2", false},
		"aliases":                   {"a: &x {k: v}\nb: *x", "a: {k: v}\nb: {k: v}", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Equal(node(t, c.a), node(t, c.b)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	n := node(t, "base: &b {x: 1, z: [p, q]} # c\nuse:\n  <<: *b\n  x: 2\n  s: |\n    text\nempty: {}\n")
	got, err := Plain(n)
	if err != nil {
		t.Fatal(err)
	}
	want := "base:\n  x: 1\n  z:\n  - p\n  - q\nuse:\n  x: 2\n  s: |\n    text\n  z:\n  - p\n  - q\nempty: {}\n"
	if diff := cmp.Diff(want, text(t, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlainIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 20; i++ {
		b.WriteString("a" + string(rune('a'+i)) + ": &a" + string(rune('a'+i)) + " [" + strings.Repeat("*a"+prev(i)+", ", 9) + "x]\n")
	}
	if _, err := Plain(node(t, b.String())); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := Plain(node(t, strings.Repeat("[", MaxDepth+5)+strings.Repeat("]", MaxDepth+5))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("deep: got %v, want ErrTooLarge", err)
	}
}

func TestCheck(t *testing.T) {
	if err := Check(node(t, "a: &x {b: [1, 2]}\nc: [*x, *x]\n")); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]string{"itself": "&a\nb: *a\n", "deep": strings.Repeat("[", MaxDepth+5) + strings.Repeat("]", MaxDepth+5)} {
		if err := Check(node(t, s)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func prev(i int) string {
	if i == 1 {
		return "0"
	}
	return string(rune('a' + i - 1))
}

func TestCanonicalAgreesWithEqual(t *testing.T) {
	texts := []string{"{a: 1, b: [x]}", "b: [\"x\"]\na: 1", "a: 1\nb: []", "a: \"1\"", "a: 1", "a: null", "a: ~", "a: {}", "a: []", "[]", "{}", "a: [[x], y]", "a: [[x, y]]"}
	for _, x := range texts {
		for _, y := range texts {
			a, b := node(t, x), node(t, y)
			var wa, wb strings.Builder
			if err := errors.Join(WriteCanonical(&wa, a), WriteCanonical(&wb, b)); err != nil {
				t.Fatal(err)
			}
			if (wa.String() == wb.String()) != Equal(a, b) {
				t.Errorf("%q and %q: canonical forms and Equal disagree", x, y)
			}
		}
	}
}

func TestEnsureDoesNotWriteThroughAliases(t *testing.T) {
	n := node(t, "a: &x {k: v}\nb: *x\n")
	SetString(Ensure(n, nil, "b"), nil, "k", "changed")
	if got := Text(n, "a", "k"); got != "v" {
		t.Errorf("a.k became %q", got)
	}
	if got := Text(n, "b", "k"); got != "changed" {
		t.Errorf("b.k is %q", got)
	}
	if Ensure(n, nil, "a") == nil || EnsureSeq(n, nil, "a") != nil {
		t.Error("Ensure and EnsureSeq must return nil for other kinds alone")
	}
}

func TestEdit(t *testing.T) {
	p, err := krm.Parse([]krm.File{{Path: "a.yaml", Data: []byte("apiVersion: v1\nkind: X\nmetadata: {name: n}\n\na:   1\n")}})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Resources()[0]
	boom := errors.New("boom")
	changed, err := Edit(r, func(root *yaml.Node) error { Set(root, nil, "a", String("2")); return boom })
	if changed || !errors.Is(err, boom) || Text(r.Node().YNode(), "a") != "1" {
		t.Errorf("after an error: changed %v, %v, a is %q", changed, err, Text(r.Node().YNode(), "a"))
	}
	changed, err = Edit(r, func(root *yaml.Node) error { Remove(root, "absent"); return nil })
	if changed || err != nil {
		t.Errorf("without a change: %v, %v", changed, err)
	}
	changed, err = Edit(r, func(root *yaml.Node) error { SetString(root, nil, "b", "x"); return nil })
	if !changed || err != nil {
		t.Errorf("with a change: %v, %v", changed, err)
	}
	f, _ := p.Read("a.yaml")
	if !strings.Contains(string(f.Data), "a:   1\n") {
		t.Errorf("other lines changed: %q", f.Data)
	}
}

func TestSortBy(t *testing.T) {
	n := node(t, "- {k: b} # second\n- {k: a}\n- {k: b, v: 2}\n")
	SortBy(n, func(c *yaml.Node) string { return Text(c, "k") })
	if diff := cmp.Diff("- {k: a}\n- {k: b} # second\n- {k: b, v: 2}\n", text(t, n)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a: &x [1, *x]", "a: &x {b: c}\nd: {<<: *x}", "{}", "- |\n  x\n", "a: !!binary aGk=", "? {a: b}\n: c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := yaml.Parse(s)
		if err != nil || n.YNode() == nil {
			return
		}
		once, err := Plain(n.YNode())
		if err != nil {
			return
		}
		again, err := Plain(once)
		if err != nil || !Equal(once, again) {
			t.Fatalf("Plain is not stable: %v", err)
		}
		var a, b strings.Builder
		if err := errors.Join(WriteCanonical(&a, once), WriteCanonical(&b, again)); err != nil || a.String() != b.String() {
			t.Fatalf("canonical form is not stable: %v", err)
		}
	})
}
