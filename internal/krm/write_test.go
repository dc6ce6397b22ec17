package krm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

func parseOne(t *testing.T, text string) (*Package, *Resource) {
	t.Helper()
	p, err := Parse([]File{{Path: "f.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	rs := p.Resources()
	if len(rs) == 0 {
		t.Fatalf("no resources; problems: %v", p.Problems())
	}
	return p, rs[0]
}

func written(t *testing.T, p *Package) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		return "(no files)"
	}
	return string(files[0].Data)
}

// set puts value, YAML text, at a path; numbers are indexes of sequences.
func set(t *testing.T, r *Resource, value string, path ...string) {
	t.Helper()
	v := yaml.MustParse(value).YNode()
	n := r.Edit().YNode()
	for _, k := range path[:len(path)-1] {
		n = step(n, k)
	}
	last := path[len(path)-1]
	if n.Kind == yaml.SequenceNode {
		*step(n, last) = *v
		return
	}
	setKey(n, last, v)
}

func step(n *yaml.Node, k string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content[k[0]-'0']
	}
	return yamltree.Child(n, k)
}

func drop(t *testing.T, r *Resource, path ...string) {
	t.Helper()
	n := r.Edit().YNode()
	for _, k := range path[:len(path)-1] {
		n = step(n, k)
	}
	last := path[len(path)-1]
	if n.Kind == yaml.SequenceNode {
		i := int(last[0] - '0')
		n.Content = append(n.Content[:i:i], n.Content[i+1:]...)
		return
	}
	i := yamltree.Index(n, last)
	n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
}

func TestEdits(t *testing.T) {
	annotate := func(t *testing.T, _ *Package, r *Resource) {
		if err := r.SetAnnotation("a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	const added = "  annotations:\n    a: b\n"
	cases := map[string]struct {
		reason   string
		in, want string
		do       func(t *testing.T, p *Package, r *Resource)
	}{
		"blank lines": {
			in:   "\n\napiVersion: v1\n\nkind: A\n\nmetadata:\n\n  name: x\n\n\ndata:\n\n  a: b\n\n",
			want: "\n\napiVersion: v1\n\nkind: A\n\nmetadata:\n\n  name: x\n" + added + "\n\ndata:\n\n  a: b\n\n",
			do:   annotate,
		},
		"leading and trailing separators": {
			in:   "---\n" + cm + "---\n",
			want: "---\n" + cm + added + "---\n",
			do:   annotate,
		},
		"separator with a comment": {
			in:   "--- # one\n" + cm + "--- # two\n" + cm + "...\n",
			want: "--- # one\n" + cm + added + "--- # two\n" + cm + "...\n",
			do:   annotate,
		},
		"comment-only document": {
			in:   "# license\n---\n# head\n" + cm + "---\n# nothing\n---\n",
			want: "# license\n---\n# head\n" + cm + added + "---\n# nothing\n---\n",
			do:   annotate,
		},
		"separator in a block scalar": {
			in:   cm + "data:\n  a: |\n    ---\n    x\n  b: >-\n    ---\n     y\n",
			want: cm + added + "data:\n  a: |\n    ---\n    x\n  b: >-\n    ---\n     y\n",
			do:   annotate,
		},
		"missing final newline": {
			in:   strings.TrimSuffix(cm, "\n"),
			want: strings.TrimSuffix(cm+added, "\n"),
			do:   annotate,
		},
		"missing final newline, last entry removed": {
			in:   cm + "  labels:\n    x: y",
			want: strings.TrimSuffix(cm, "\n"),
			do:   func(t *testing.T, _ *Package, r *Resource) { r.RemoveLabel("x") },
		},
		"missing final newline after a literal": {
			reason: "the literal's value must not gain a line break",
			in:     cm + "data:\n  a: |\n    x",
			want:   cm + "data:\n  a: |-\n    x\n  b: c",
			do:     func(t *testing.T, _ *Package, r *Resource) { set(t, r, "c", "data", "b") },
		},
		"CRLF": {
			in:   strings.ReplaceAll(cm+"# c\ndata: {}\n", "\n", "\r\n"),
			want: strings.ReplaceAll(cm+added+"# c\ndata:\n  a: |\n    1\n    2\n", "\n", "\r\n"),
			do: func(t *testing.T, p *Package, r *Resource) {
				annotate(t, p, r)
				set(t, r, "a: |\n  1\n  2\n", "data")
			},
		},
		"byte order mark": {
			in:   bom + cm,
			want: bom + cm + added,
			do:   annotate,
		},
		"mixed sequence indents": {
			in:   cm + "a:\n- x\n- y\nb:\n    - x\n    - y\n",
			want: cm + "a:\n- x\n- z\n- y\nb:\n    - z\n    - x\n    - y\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "[x, z, y]", "a")
				set(t, r, "[z, x, y]", "b")
			},
		},
		"4-space maps": {
			in:   "apiVersion: v1\nkind: A\nmetadata:\n    name: a\nspec:\n    x:\n        y: 1\n",
			want: "apiVersion: v1\nkind: A\nmetadata:\n    name: a\n    annotations:\n        a: b\nspec:\n    x:\n        y: 1\n",
			do:   annotate,
		},
		"flow spacing": {
			in:   cm + "spec: { a: 1,b: [ 1,2,  3 ] , c: 'x' }\n",
			want: cm + "spec: { a: 2,b: [ 1,2,  4,5 ] , c: y }\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "2", "spec", "a")
				set(t, r, "[1, 2, 4, 5]", "spec", "b")
				set(t, r, "y", "spec", "c")
			},
		},
		"flow entries removed and added": {
			in:   cm + "spec: {a: 1, b: 2, c: 3}\n",
			want: cm + "spec: {b: 2, d: yes}\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				drop(t, r, "spec", "a")
				drop(t, r, "spec", "c")
				set(t, r, "'yes'", "spec", "d")
				yamltree.Path(r.Edit().YNode(), "spec", "d").Style = 0
			},
		},
		"flow entry added before all": {
			in:   cm + "spec: [b, c]\n",
			want: cm + "spec: [a, b, c]\n",
			do:   func(t *testing.T, _ *Package, r *Resource) { set(t, r, "[a, b, c]", "spec") },
		},
		"aligned comments": {
			in:   cm + "data:\n  a: b      # first\n  ccc: d    # second\n  e: f      # third\n",
			want: cm + "data:\n  a: bb      # first\n  ccc: d    # second\n  g: h\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "bb", "data", "a")
				drop(t, r, "data", "e")
				set(t, r, "h", "data", "g")
			},
		},
		"folded scalars": {
			in:   cm + "data:\n  a: >-\n    one\n    two\n\n    three\n  b: x\n",
			want: cm + "data:\n  a: >-\n    one\n    two\n\n    three\n  b: w\n",
			do:   func(t *testing.T, _ *Package, r *Resource) { set(t, r, "w", "data", "b") },
		},
		"escapes": {
			in:   cm + "data:\n  a: \"\\u00e9\\t\\x41\"\n  b: \"x\\ny\"\n",
			want: cm + "data:\n  a: \"\\u00e9\\t\\x41\"\n  b: \"x\\nz\"\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				yamltree.Path(r.Edit().YNode(), "data", "b").Value = "x\nz"
			},
		},
		"merge keys and anchors": {
			in:   cm + "base: &b # base\n  x: 1\nspec:\n  <<: *b\n  y: 2\n",
			want: cm + "base: &b # base\n  x: 2\nspec:\n  <<: *b\n  y: 3\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "2", "base", "x")
				set(t, r, "3", "spec", "y")
			},
		},
		"removed anchor": {
			reason: "the alias gets what the anchor stood for",
			in:     cm + "base: &b\n  x: 1\nspec:\n  y: *b # here\n  z: 2  # z\n",
			want:   cm + "spec:\n  y: # here\n    x: 1\n  z: 2  # z\n",
			do:     func(t *testing.T, _ *Package, r *Resource) { drop(t, r, "base") },
		},
		"JSON document": {
			in:   "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"A\",\n  \"metadata\": {\"name\": \"a\"}\n}\n",
			want: "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"A\",\n  \"metadata\": {\"name\": \"b\", \"annotations\": {\"a\": \"b\"}},\n  \"data\": {\"x\": [1, true]}\n}\n",
			do: func(t *testing.T, p *Package, r *Resource) {
				set(t, r, "b", "metadata", "name")
				annotate(t, p, r)
				set(t, r, "x: [1, y]", "data")
			},
		},
		"comments of removed entries": {
			in:   cm + "data:\n  # of a\n  a: 1 # a\n\n  # stays\n\n  # of b\n  # b too\n  b: 2 # b\n  # foot\n\n  c: 3\n",
			want: cm + "data:\n  # of a\n  a: 1 # a\n\n  # stays\n\n  # foot\n\n  c: 3\n",
			do:   func(t *testing.T, _ *Package, r *Resource) { drop(t, r, "data", "b") },
		},
		"item edits": {
			in:   cm + "l:\n  # first\n  - name: a\n    image: x:1 # img\n  # second\n  - name: b\n    image: y:1\n  -   name: c\n      image: z:1\n",
			want: cm + "l:\n  # first\n  - name: a\n    image: x:2 # img\n  -   name: c\n      image: z:1\n      tag: t\n  - name: d\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "x:2", "l", "0", "image")
				drop(t, r, "l", "1")
				set(t, r, "t", "l", "1", "tag")
				l := yamltree.Child(r.Edit().YNode(), "l")
				l.Content = append(l.Content, yaml.MustParse("name: d").YNode())
			},
		},
		"first key of an item": {
			in:   cm + "l:\n- a: 1\n  # of b\n  b: 2\n- a: 1\n",
			want: cm + "l:\n- # of b\n  b: 2\n- z: 1\n  a: 1\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				drop(t, r, "l", "0", "a")
				i := step(yamltree.Child(r.Edit().YNode(), "l"), "1")
				i.Content = append([]*yaml.Node{yamltree.String("z"), {Kind: yaml.ScalarNode, Value: "1"}}, i.Content...)
			},
		},
		"reordered items keep their comments": {
			in:   cm + "l:\n# one\n- a: 1 # 1\n# two\n- a: 2 # 2\n",
			want: cm + "l:\n# two\n- a: 2 # 2\n# one\n- a: 1 # 1\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				l := yamltree.Child(r.Edit().YNode(), "l")
				l.Content[0], l.Content[1] = l.Content[1], l.Content[0]
			},
		},
		"kinds of values change": {
			in:   cm + "a: 1 # n\nb: # m\n  x: y\nc: |\n  t\nd:\n- 1\ne: {}\nf:\n",
			want: cm + "a: # n\n  x: 1\nb: 2 # m\nc:\n- 1\nd: []\ne:\n  x: w\nf: null-ish\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "x: 1", "a")
				set(t, r, "2", "b")
				set(t, r, "- 1", "c")
				set(t, r, "[]", "d")
				set(t, r, "x: w", "e")
				set(t, r, "null-ish", "f")
			},
		},
		"literals change line by line": {
			in:   cm + "data:\n  x: |  # c\n      one\n      two\n\n  y: z\n",
			want: cm + "data:\n  x: |  # c\n      one\n      2\n      three\n\n  y: z\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				yamltree.Path(r.Edit().YNode(), "data", "x").Value = "one\n2\nthree\n"
			},
		},
		"types stay apart": {
			in:   cm + "data:\n  a: '1'\n  b: 1\n  c: \"x\"\n  d: yes\n",
			want: cm + "data:\n  a: '2'\n  b: 2\n  c: 3\n  d: yes\n  e: \"no\"\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				m := yamltree.Child(r.Edit().YNode(), "data")
				yamltree.Child(m, "a").Value = "2"
				yamltree.Child(m, "b").Value = "2"
				*yamltree.Child(m, "c") = yaml.Node{Kind: yaml.ScalarNode, Value: "3"}
				m.Content = append(m.Content, yamltree.String("e"), &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "no"})
			},
		},
		"line comment": {
			in:   cm + "data:\n  a: b\n  c: d # old\n  e: f # stays\n",
			want: cm + "data:\n  a: b # kpt-set: ${a}\n  c: dd # new\n  e: ff # stays\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				m := yamltree.Child(r.Edit().YNode(), "data")
				yamltree.Child(m, "a").LineComment = "# kpt-set: ${a}"
				*yamltree.Child(m, "c") = yaml.Node{Kind: yaml.ScalarNode, Value: "dd", LineComment: "# new"}
				*yamltree.Child(m, "e") = yaml.Node{Kind: yaml.ScalarNode, Value: "ff"}
			},
		},
		"unicode before the edit": {
			in:   cm + "data: {\"ключ\": \"значение\", b: c}\n",
			want: cm + "data: {\"ключ\": \"значение\", b: d}\n",
			do:   func(t *testing.T, _ *Package, r *Resource) { set(t, r, "d", "data", "b") },
		},
		"nothing changed": {
			reason: "an edit that is taken back leaves the bytes",
			in:     cm + "x:   ~\n",
			want:   cm + "x:   ~\n",
			do: func(t *testing.T, _ *Package, r *Resource) {
				set(t, r, "y", "x")
				set(t, r, "null", "x")
			},
		},
		"delete the first": {
			in:   cm + "---\n" + cm,
			want: cm,
			do:   func(_ *testing.T, _ *Package, r *Resource) { r.Delete() },
		},
		"delete the last": {
			in:   cm + "---\n" + strings.Replace(cm, "v1", "v2", 1),
			want: cm,
			do:   func(_ *testing.T, p *Package, _ *Resource) { p.Resources()[1].Delete() },
		},
		"delete beside other text": {
			in:   "# license\n---\n" + cm + "---\nvalues: 1\n",
			want: "# license\n---\nvalues: 1\n",
			do:   func(_ *testing.T, _ *Package, r *Resource) { r.Delete() },
		},
		"delete the only one": {
			in:   "# license\n---\n" + cm + "---\n",
			want: "(no files)",
			do:   func(_ *testing.T, _ *Package, r *Resource) { r.Delete() },
		},
		"add": {
			in:   strings.TrimSuffix(cm, "\n"),
			want: cm + "---\n" + cm + "data:\n  on: \"on\"\n",
			do: func(_ *testing.T, p *Package, _ *Resource) {
				p.Add("f.yaml", yaml.MustParse(cm+"data:\n  \"on\": 'on'\n"))
				m := yamltree.Child(p.Resources()[1].Edit().YNode(), "data")
				*m.Content[1] = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "on"}
				m.Content[0].Style = 0
				m.Content[0].Value = "on"
			},
		},
		"add behind an open document": {
			in:   cm + "---\n",
			want: cm + "---\n" + cm,
			do:   func(_ *testing.T, p *Package, _ *Resource) { p.Add("f.yaml", yaml.MustParse(cm)) },
		},
		"directives": {
			in:   "%YAML 1.1\n---\n" + cm + "...\n%YAML 1.1\n---\n" + cm,
			want: "%YAML 1.1\n---\n" + cm + added + "...\n%YAML 1.1\n---\n" + cm,
			do:   annotate,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, r := parseOne(t, c.in)
			if got := written(t, p); got != c.in {
				t.Fatalf("untouched:\n%s", cmp.Diff(c.in, got))
			}
			c.do(t, p, r)
			got := written(t, p)
			if c.want == "(no files)" || got == "(no files)" {
				if got != c.want {
					t.Fatalf("got %s", got)
				}
				return
			}
			if name == "add" { // quoted keys read the same
				got = strings.Replace(got, "\"on\": \"on\"", "on: \"on\"", 1)
			}
			if got != c.want {
				t.Errorf("%s\n%s", c.reason, cmp.Diff(c.want, got))
			}
			again, err := Parse([]File{{Path: "f.yaml", Data: []byte(got)}})
			if err != nil || len(again.Problems()) > 0 {
				t.Fatalf("does not parse again: %v %v", err, again.Problems())
			}
			a, b := p.Resources(), again.Resources()
			if len(a) != len(b) {
				t.Fatalf("%d resources became %d", len(a), len(b))
			}
			for i := range a {
				if !yamltree.SameValue(a[i].Node().YNode(), b[i].Node().YNode()) {
					t.Errorf("resource %d reads back as\n%s", i, b[i])
				}
			}
		})
	}
}

func TestFallbackStaysInItsDocument(t *testing.T) {
	odd := "apiVersion: v1\nkind: A\nmetadata:\n  name: odd\n? [a, b]\n: c\n"
	p, _ := parseOne(t, "#  keep\n"+cm+"x:   1\n---\n"+odd+"---\n"+cm+"y:   1\n")
	r := p.Resources()[1]
	n := r.Edit().YNode()
	n.Content = append(n.Content[:len(n.Content)-2], yamltree.String("z"), yamltree.String("1"))
	got := written(t, p)
	for _, want := range []string{"#  keep\n" + cm + "x:   1\n---\n", "---\n" + cm + "y:   1\n", "z: \"1\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestMove(t *testing.T) {
	p, err := Parse([]File{{Path: "a.yaml", Data: []byte("# a\n" + cm + "x:   1\n---\n" + cm)}, {Path: "b.yaml", Data: []byte(cm)}})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Resources()[0]
	r.Move("b.yaml")
	r.Move("c/d.yaml")
	if err := r.SetAnnotation("k", "true"); err != nil {
		t.Fatal(err)
	}
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Path] = string(f.Data)
	}
	want := map[string]string{
		"a.yaml":   cm,
		"b.yaml":   cm,
		"c/d.yaml": "# a\n" + cm + "  annotations:\n    k: \"true\"\nx:   1\n",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if r.Path() != "c/d.yaml" || !r.Changed() || !p.Changed() {
		t.Error("the move is not seen")
	}
}

func TestUnwritableTree(t *testing.T) {
	p, r := parseOne(t, cm)
	n := r.Edit().YNode()
	n.Content = append(n.Content, yamltree.String("odd"))
	if _, err := p.Files(); err == nil || !strings.Contains(err.Error(), "f.yaml") {
		t.Errorf("got %v", err)
	}
	loop := &yaml.Node{Kind: yaml.SequenceNode}
	loop.Content = []*yaml.Node{loop}
	if _, err := emitTreeErr(loop); err == nil {
		t.Error("a tree in itself was written")
	}
}

func emitTreeErr(n *yaml.Node) ([]byte, error) {
	if deep(n, 0) {
		return nil, errDeep
	}
	text, _, err := encodeTree(n, layoutStyle{indent: 2, nl: "\n"})
	return text, err
}

func TestTextOfOne(t *testing.T) {
	_, r := parseOne(t, "---\n"+cm)
	b, err := r.Text()
	if err != nil || !bytes.Equal(b, []byte(cm)) || r.String() != cm {
		t.Errorf("%q %v", b, err)
	}
}

func TestNewCommentsAreWritten(t *testing.T) {
	const text = cm + "spec:\n  list:\n  - name: x\n    value: 1\n  - plain\n  flow: [a, b]\n  map:\n    k: v # old\n"
	p, r := parseOne(t, text)
	spec := yamltree.Child(r.Edit().YNode(), "spec")
	for i := 0; i < len(spec.Content); i += 2 {
		switch spec.Content[i].Value {
		case "list":
			spec.Content[i].LineComment = "# kpt-set: ${list}"
			yamltree.Child(spec.Content[i+1].Content[0], "value").LineComment = "# kpt-set: ${value}"
			spec.Content[i+1].Content[1].LineComment = "# plain"
		case "flow":
			spec.Content[i+1].LineComment = "# flow"
		case "map":
			yamltree.Child(spec.Content[i+1], "k").LineComment = "# new"
		}
	}
	want := cm + "spec:\n  list: # kpt-set: ${list}\n  - name: x\n    value: 1 # kpt-set: ${value}\n  - plain # plain\n  flow: [a, b] # flow\n  map:\n    k: v # new\n"
	if diff := cmp.Diff(want, written(t, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What Parse would refuse is not written either.
func TestWritesWhatCanBeRead(t *testing.T) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	deep := strings.Repeat("{a: ", 300) + "b" + strings.Repeat("}", 300)
	for name, tc := range map[string]struct {
		limits Limits
		edit   func(p *Package)
		want   string
	}{
		"edited":    {Limits{}, func(p *Package) { p.Resources()[0].Edit().YNode().Content[1] = yaml.MustParse(deep).YNode() }, `of "a.yaml": it is nested deeper than 200 levels`},
		"added":     {Limits{}, func(p *Package) { p.Add("b.yaml", yaml.MustParse(cm+"data: "+deep+"\n")) }, `of "b.yaml": it is nested deeper`},
		"bytes":     {Limits{FileSize: 100}, func(p *Package) { p.Add("a.yaml", yaml.MustParse(cm)); p.Add("a.yaml", yaml.MustParse(cm)) }, `writing "a.yaml": it has `},
		"values":    {Limits{Values: 15}, func(p *Package) { p.Add("a.yaml", yaml.MustParse(cm)) }, `writing "a.yaml": it has up to`},
		"documents": {Limits{Documents: 2}, func(p *Package) { p.Add("a.yaml", yaml.MustParse(cm)); p.Add("a.yaml", yaml.MustParse(cm)) }, `writing "a.yaml": it has more than 2 documents`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]File{{Path: "a.yaml", Data: []byte(cm)}}, WithLimits(tc.limits))
			if err != nil || len(p.Problems()) > 0 {
				t.Fatal(err, p.Problems())
			}
			tc.edit(p)
			if _, err := p.Files(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestMeans holds that what is written is read back as itself alone, whatever was read
// before, and that reading it leaves little behind.
func TestMeans(t *testing.T) {
	text := func(i int) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap # %d\nmetadata: {name: n%d}\ndata:\n", i, i)
		for l := range 30 + 7*i {
			fmt.Fprintf(&b, "  # above\n  key-%d: \"value %d\"\n", l, i)
		}
		if i%3 == 2 {
			b.WriteString("  long: |\n    of the library\n") // no simple shape
		}
		return []byte(b.String())
	}
	const texts = 9
	trees := make([]*yaml.Node, texts)
	for i := range texts {
		root, _, err := library(text(i))
		if err != nil {
			t.Fatal(err)
		}
		trees[i] = root
	}
	for round := range 3 {
		for i, tree := range trees {
			for j := range texts {
				if got := means(text(j), tree); got != (i == j) {
					t.Errorf("round %d: text %d means tree %d: %t", round, j, i, got)
				}
			}
		}
	}
	if means([]byte("a: [b"), trees[0]) || means(nil, trees[0]) {
		t.Error("what is no document means something")
	}
}
