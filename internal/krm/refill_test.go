package krm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// refillTexts are documents in which values are changed; their values are of each kind
// that a place may be of.
var refillTexts = append([]string{
	cm + "spec:\n  a: one\n  b: 'two'\n  c: \"three\" # said\n  d: four # said\n  e:\n    five\n  f:\n  g: ~\n  h: 8\n  i: two words\n  j: over\n    lines\n",
	cm + "spec:\n  list:\n  - name: a\n    value: x\n  - name: b\n    value: y\n  map: {a: one, b: two}\n  seq: [one, two]\n  deep:\n  - - a\n    - b\n",
	cm + "1: a\n\"1\": a\ntrue: a\n\"true\": a\n",
	cm + "a: |\n  text\nb: >-\n  text\nc: !!str x\nd: !own x\ne: &e x\n",
	cm + "k: \u00e9 # \u00e9\nm: a\n\u00e9: aa\nn: aa # \u00e9\n",
	"apiVersion: v1\nkind: A\nmetadata: {name: a}\n",
	strings.TrimSuffix(cm, "\n"),
	"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n? k\n: v\n? l # c\n: w\nx: y\n",
}, seeds...)

var refillWords = []string{
	"a", "b", "one", "web-1.example.com/x", "two words", "a: b", "a #b", "true", "1", "1e3", "", " a", "a ", "- a", "-", "?", "'q'", "é", "a\nb", "null", "over lines",
	"a,b", "[a]", "a:", "x:y", "0x1", "2001-01-01", "@a", "a@b",
}

// sameRefilled holds a text that is made from another to what is written without it.
func sameRefilled(t *testing.T, data []byte, edit func(root *yaml.Node), change func(values []*yaml.Node)) (filled bool) {
	t.Helper()
	p, err := Parse([]File{{Path: "f.yaml", Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Resources()) == 0 {
		return false
	}
	r, nl := p.Resources()[0], lineBreak(data)
	first := yamltree.Copy(r.doc.root)
	edit(yamltree.Deref(first))
	if !readable(first) {
		return false
	}
	text, kept, err := r.encodeEdited(first, nl)
	if err != nil || !kept {
		return false
	}
	from, ok := newRefillable(r.doc.root, first, nl, text)
	if !ok {
		return false
	}
	before := string(text)
	second := yamltree.Copy(first)
	var values []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			values = append(values, n)
		}
		for i, c := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				walk(c)
			}
		}
	}
	walk(yamltree.Deref(second))
	change(values)
	got, ok := from.fill(second, nl)
	if !ok {
		return false
	}
	want, kept, err := r.encodeEdited(second, nl)
	if err != nil || !kept || string(got) != string(want) {
		t.Errorf("%q, first written as %q, is\n%q\nwant (%t, %v)\n%q", data, before, got, kept, err, want)
	}
	if cap(got) != len(got) && string(got) != before {
		t.Errorf("%q has room for %d bytes: what is appended to it is in others", got, cap(got)-len(got))
	}
	if string(text) != before {
		t.Errorf("the text that others are made from was changed:\n%q\n%q", before, text)
	}
	return string(got) != before
}

// TestRefill makes texts of others that differ in some values, after edits of all kinds.
func TestRefill(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 3))
	word := func() string {
		if rnd.IntN(2) == 0 { // mostly fits
			return refillWords[rnd.IntN(4)]
		}
		return refillWords[rnd.IntN(len(refillWords))]
	}
	filled := map[int]int{}
	for round := range 300 {
		for i, text := range refillTexts {
			edits := rnd.IntN(3)
			ok := sameRefilled(t, []byte(text), func(root *yaml.Node) {
				for range edits {
					mutate(root, rnd.IntN(64), rnd.IntN(8), word())
				}
				if round%2 == 0 {
					spec := yamltree.Ensure(root, nil, "added")
					if spec != nil {
						yamltree.SetString(spec, nil, "first", word())
						yamltree.Set(spec, nil, "conditions", yamltree.Seq(yamltree.StringMap(map[string]string{"type": word(), "message": word()})))
					}
				}
			}, func(values []*yaml.Node) {
				for range 1 + rnd.IntN(3) {
					n := values[rnd.IntN(len(values))]
					n.Value = word()
					if rnd.IntN(8) == 0 {
						*n = *yamltree.String(n.Value)
					}
				}
			})
			if ok {
				filled[i]++
			}
		}
	}
	total := 0
	for i := range refillTexts {
		total += filled[i]
	}
	if total < 300 || filled[0] < 10 || filled[1] < 10 {
		t.Errorf("%d texts were made of others, of each document %v: the test shows little", total, filled)
	}
}

// FuzzRefill holds the same for any document, edit and values.
func FuzzRefill(f *testing.F) {
	for i, text := range refillTexts {
		f.Add([]byte(text), uint8(i), uint8(i), "x", uint8(2*i), refillWords[i], uint8(3*i), "y")
	}
	f.Fuzz(func(t *testing.T, data []byte, at, op uint8, value string, first uint8, one string, second uint8, two string) {
		if !isText(value) || !isText(one) || !isText(two) {
			return
		}
		sameRefilled(t, data, func(root *yaml.Node) { mutate(root, int(at), int(op), value) }, func(values []*yaml.Node) {
			if len(values) > 0 {
				values[int(first)%len(values)].Value = one
				values[int(second)%len(values)].Value = two
			}
		})
	})
}

// TestRefillsWhatIsAlike holds what is made from another text, and what is not: that a value
// which others take over by what it says, or which is written otherwise, is not.
func TestRefillsWhatIsAlike(t *testing.T) {
	const text = "apiVersion: v1\nkind: A\nmetadata:\n  name: a # kept\n  labels: {l: x}\n  next:\n    five\n  ? own\n  : x\nspec:\n  q: 'x'\n  tagged: !!str x\n  anchored: &x x\n  items:\n  - x\n  - y\n"
	set := func(keys ...string) func(root *yaml.Node, value string) {
		return func(root *yaml.Node, value string) {
			yamltree.SetString(yamltree.Path(root, keys[:len(keys)-1]...), nil, keys[len(keys)-1], value)
		}
	}
	below := func(root *yaml.Node, key string, n yaml.Node) {
		n.Kind, n.Tag = yaml.ScalarNode, yaml.NodeTagString
		*yamltree.Path(root, "metadata", key) = n
	}
	items := func(root *yaml.Node, value string) { yamltree.Items(root, "spec", "items")[1].Value = value }
	conditions := func(root *yaml.Node, value string) {
		yamltree.Set(root, nil, "status", yamltree.Seq(yamltree.StringMap(map[string]string{"message": value})))
	}
	for name, c := range map[string]struct {
		set  func(root *yaml.Node, value string)
		a, b string
		want bool
	}{
		"a name":                     {set("metadata", "name"), "one", "two", true},
		"what it was, as it stood":   {set("metadata", "name"), "one", "a", false}, // has kept its place
		"several words for one":      {set("metadata", "name"), "one", "a b", false},
		"a number, which is quoted":  {set("metadata", "name"), "one", "1", false},
		"a number before":            {set("metadata", "name"), "1", "one", false},
		"a flow map":                 {set("metadata", "labels", "l"), "one", "two", false},
		"a quoted value":             {set("spec", "q"), "one", "two", false},
		"a new key":                  {set("spec", "new"), "one", "two", true},
		"several words of a new key": {set("spec", "new"), "one two", "two", true},
		"an item, which is aligned":  {items, "one", "two", false},
		"an item of a new list":      {conditions, "one two", "three", true},
		"a text of lines":            {conditions, "one", "a\nb", false},
		"an annotation of a new map": {func(root *yaml.Node, v string) {
			yamltree.SetString(yamltree.Ensure(yamltree.Child(root, "metadata"), nil, "annotations"), nil, "k", v)
		}, "x", "z", true},
		"what reads as a comment":      {conditions, "one", "a #b", false},
		"what reads as a key":          {conditions, "one", "a: b", false},
		"a date, which others take up": {conditions, "one", "2001-01-01", false},
		"a key with a line of its own": {func(root *yaml.Node, v string) {
			yamltree.SetString(yamltree.Child(root, "spec"), nil, "new", "z")
			yamltree.Path(root, "metadata", "own").Value = v
		}, "x", "two", false},
		"a flow map that is new": {func(root *yaml.Node, v string) {
			m := yamltree.StringMap(map[string]string{"k": v})
			m.Style = yaml.FlowStyle
			yamltree.Set(root, nil, "new", m)
		}, "one", "a, b", false},
		"a tagged value": {func(root *yaml.Node, v string) {
			yamltree.Set(yamltree.Child(root, "spec"), nil, "tagged", yamltree.String(v))
		}, "one", "x", false},
		"an anchor": {func(root *yaml.Node, v string) {
			yamltree.Set(yamltree.Child(root, "spec"), nil, "anchored", &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: v})
		}, "one", "x", false},
		"a new anchor": {func(root *yaml.Node, v string) { below(root, "name", yaml.Node{Value: v, Anchor: "n"}) }, "a", "one", false},
		"new quotes": {func(root *yaml.Node, v string) {
			below(root, "name", yaml.Node{Value: v, Style: yaml.DoubleQuotedStyle})
		}, "a", "one", false},
		"a new comment":   {func(root *yaml.Node, v string) { below(root, "next", yaml.Node{Value: v, LineComment: "# new"}) }, "one", "five", false},
		"the next line":   {func(root *yaml.Node, v string) { below(root, "next", yaml.Node{Value: v}) }, "one", "five", true},
		"more than ASCII": {conditions, "one", "a \u00e9", false},
	} {
		got := sameRefilled(t, []byte(text), func(root *yaml.Node) { c.set(root, c.a) }, func([]*yaml.Node) {})
		if got {
			t.Errorf("%s: what is the same is another", name)
		}
		edit, _ := Parse([]File{{Path: "f.yaml", Data: []byte(text)}})
		r := edit.Resources()[0]
		first, second := yamltree.Copy(r.doc.root), yamltree.Copy(r.doc.root)
		c.set(yamltree.Deref(first), c.a)
		c.set(yamltree.Deref(second), c.b)
		out, kept, err := r.encodeEdited(first, "\n")
		if err != nil || !kept {
			t.Fatal(name, kept, err)
		}
		ok := false
		if from, some := newRefillable(r.doc.root, first, "\n", out); some {
			var filled []byte
			if filled, ok = from.fill(second, "\n"); ok {
				if want, _, _ := r.encodeEdited(second, "\n"); string(filled) != string(want) {
					t.Errorf("%s: %q, want %q", name, filled, want)
				}
			}
			if _, windows := from.fill(second, "\r\n"); windows {
				t.Errorf("%s: made with other line breaks", name)
			}
		}
		if ok != c.want {
			t.Errorf("%s: made from the other %t, want %t", name, ok, c.want)
		}
	}
}

// TestMemoRefills holds that variants which differ in a name are made from the text of the
// first, that nothing is learnt of a document that is written once, and that what never
// fits is soon learnt no more.
func TestMemoRefills(t *testing.T) {
	p, err := Parse([]File{{Path: "cm.yaml", Data: []byte(cm)}})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Resources()[0].doc.memo
	write := func(key, value string) {
		t.Helper()
		c := p.Clone()
		err := c.Resources()[0].SetLabel(key, value)
		files, ferr := c.Files()
		want := strings.Replace(cm, "  name: ", fmt.Sprintf("  labels:\n    %s: %s\n  name: ", key, value), 1)
		if err != nil || ferr != nil || !strings.Contains(string(files[0].Data), key+": "+value+"\n") {
			t.Fatalf("%v %v\n%s\nwant\n%s", err, ferr, files[0].Data, want)
		}
	}
	if write("l", "v"); m.learnt != 0 {
		t.Errorf("%d texts learnt of the first that is written", m.learnt)
	}
	for i := range 100 {
		write("l", fmt.Sprint("v", i))
	}
	if m.learnt != 1 || m.filled != 99 {
		t.Errorf("%d texts learnt, %d made from them", m.learnt, m.filled)
	}
	for i := range 100 {
		write(fmt.Sprint("k", i), "v")
	}
	if most := memoTries + 1 + m.filled/memoTries; m.learnt != most || len(m.fills) != memoTexts {
		t.Errorf("%d texts learnt, want %d, %d kept, want %d", m.learnt, most, len(m.fills), memoTexts)
	}
}

// TestAliasesAreNotRefilled: an alias stays where it means the same.
func TestAliasesAreNotRefilled(t *testing.T) {
	const text = "apiVersion: v1\nkind: A\na: &x v\nb: *x\n"
	p, err := Parse([]File{{Path: "f.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Resources()[0]
	tree := func(value string) *yaml.Node {
		tree := yamltree.Copy(r.doc.root)
		yamltree.Deref(tree).Content[7] = yamltree.String(value)
		return tree
	}
	out, kept, err := r.encodeEdited(tree("one"), "\n")
	if err != nil || !kept {
		t.Fatal(kept, err)
	}
	if from, ok := newRefillable(r.doc.root, tree("one"), "\n", out); ok {
		got, ok := from.fill(tree("v"), "\n")
		t.Errorf("%t, %q", ok, got)
	}
	if same, _, err := r.encodeEdited(tree("v"), "\n"); err != nil || string(same) != text {
		t.Errorf("%q, %v: the test shows nothing", same, err)
	}
}

// TestMemoLearnsWhatItWrote holds that nothing is made from a text that the YAML library
// laid out, or that was written anew as a whole.
func TestMemoLearnsWhatItWrote(t *testing.T) {
	var c Cache
	p := parseWith(t, &c, File{Path: "f.yaml", Data: []byte(cm + "? [a]\n: b\n")})
	for i := range 4 {
		q := p.Clone()
		yamltree.SetString(q.Resources()[0].Edit().YNode(), nil, "l", fmt.Sprint("v", i))
		added := yaml.MustParse("apiVersion: v1\nkind: A\nmetadata: {name: a}\n? [a]\n: b\n")
		yamltree.SetString(yamltree.Child(added.YNode(), "metadata"), nil, "name", fmt.Sprint("n", i))
		q.Add("new.yaml", added)
		if got := texts(t, q); !strings.Contains(got["f.yaml"], fmt.Sprint("l: v", i)) || !strings.Contains(got["new.yaml"], fmt.Sprint("name: n", i)) {
			t.Errorf("%d: %v", i, got)
		}
	}
	if m := p.Resources()[0].doc.memo; m.learnt != 0 || c.added["new.yaml"].learnt != 0 {
		t.Errorf("%d and %d texts learnt", m.learnt, c.added["new.yaml"].learnt)
	}
}

// TestMemoOfAdded holds that what was added to a package is made from what was added to
// another, and that a change of a tree that was written does not change what is remembered.
func TestMemoOfAdded(t *testing.T) {
	var c Cache
	p := parseWith(t, &c, File{Path: "f.yaml", Data: []byte(cm)})
	want := func(i int) string {
		return fmt.Sprintf("apiVersion: v1\nkind: A\nmetadata:\n  name: n%d\n  namespace: ns\n", i)
	}
	for i := range 8 {
		q := p.Clone()
		r := q.Add("new.yaml", yaml.MustParse(want(i)))
		if got := texts(t, q)["new.yaml"]; got != want(i) {
			t.Errorf("%d: %q, want %q", i, got, want(i))
		}
		yamltree.SetString(yamltree.Child(r.Edit().YNode(), "metadata"), nil, "namespace", "other") // it is its own
		if got := texts(t, q)["new.yaml"]; got != strings.Replace(want(i), "ns", "other", 1) {
			t.Errorf("%d, edited: %q", i, got)
		}
		yamltree.SetString(yamltree.Child(r.Edit().YNode(), "metadata"), nil, "namespace", "later-than-it-was-written")
	}
	if m := c.added["new.yaml"]; m.learnt == 0 || m.filled == 0 {
		t.Errorf("%d learnt, %d filled: the test shows nothing", m.learnt, m.filled)
	}
	for i := range 2 * maxAdded {
		p.Clone().Add(fmt.Sprint(i, ".yaml"), yaml.MustParse(want(i)))
		if got := c.memoOfAdded(fmt.Sprint(i, ".yaml")); (got == nil) != (i >= maxAdded-1) {
			t.Errorf("path %d has a memo: %t", i, got != nil)
		}
	}
}

// TestMemoRefillsConcurrently writes edits of more shapes than are kept, side by side; the race
// detector watches.
func TestMemoRefillsConcurrently(t *testing.T) {
	p, err := Parse([]File{{Path: "cm.yaml", Data: []byte(cm)}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 400 {
				key, value := fmt.Sprint("k", i%(2*memoTexts)), fmt.Sprintf("v%d-%d", g, i)
				c := p.Clone()
				err := c.Resources()[0].SetLabel(key, value)
				files, ferr := c.Files()
				if err != nil || ferr != nil || !strings.Contains(string(files[0].Data), "    "+key+": "+value+"\n") {
					t.Errorf("%v %v\n%s", err, ferr, files[0].Data)
				}
			}
		})
	}
	wg.Wait()
}
