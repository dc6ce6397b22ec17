package krm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

func TestParseRefusesPaths(t *testing.T) {
	_, err := Parse([]File{{Path: "../a"}, {Path: "/b"}, {Path: ""}, {Path: "c/../d"}, {Path: "e"}, {Path: "e"}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"../a"`, `"/b"`, `""`, `"c/../d"`, `two files have the path "e"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}

func TestWhatIsAResource(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string // kind:name:index:line
	}{
		"resources":          {"# c\n\n" + cm + "---\n\n" + cm, []string{"ConfigMap:a:0:3", "ConfigMap:a:1:9"}},
		"without apiVersion": {"kind: A\n---\n" + cm, []string{"ConfigMap:a:1:3"}},
		"number as kind":     {"apiVersion: v1\nkind: 1\n", nil},
		"a list":             {"- " + strings.ReplaceAll(cm, "\n", "\n  "), nil},
		"kind List":          {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n", []string{"List::0:1"}},
		"empty documents":    {"---\n---\n# c\n---\n" + cm, []string{"ConfigMap:a:0:5"}},
		"aliases":            {"apiVersion: &v v1\nkind: A\nmetadata: {name: *v}\n", []string{"A:v1:0:1"}},
		"empty":              {"", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]File{{Path: "Kptfile", Data: []byte(c.text)}, {Path: "x.txt", Data: []byte(cm)}, {Path: "l.yaml", Mode: Symlink, Data: []byte(cm)}})
			if err != nil || len(p.Problems()) > 0 {
				t.Fatal(err, p.Problems())
			}
			var got []string
			for _, r := range p.Resources() {
				got = append(got, fmt.Sprintf("%s:%s:%d:%d", r.Kind(), r.Name(), r.Index(), r.Line()))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	cases := map[string]struct {
		data   string
		limits Limits
		want   string
		line   int
	}{
		"alias bomb":      {data: cm + bomb, want: "aliases stand for more than 100000 nodes", line: 9},
		"alias in itself": {data: cm + "a: &a\n- *a\n", want: "inside of its own anchor", line: 6},
		"alias depth":     {data: cm + "a: &a [[[x]]]\nb: &b [[[*a]]]\nc: [[[*b]]]\n", limits: Limits{Depth: 8}, want: "nested deeper than 8"},
		"depth":           {data: cm + "a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), want: "nested deeper than 200 levels"},
		"many values":     {data: cm + "spec: [" + strings.Repeat("a,", 1_000_000) + "]\n", want: "values, more than 1000000"},
		"very deep":       {data: strings.Repeat("[", 900_000), want: "depth"},
		"size":            {data: cm, limits: Limits{FileSize: 10}, want: "more than 10"},
		"documents":       {data: "---\n---\n---\n", limits: Limits{Documents: 2}, want: "more than 2 documents"},
		"not UTF-8":       {data: "a: \xff", want: "not UTF-8"},
		"NUL":             {data: "a: \x00", want: "NUL"},
		"UTF-16":          {data: "\xff\xfea\x00", want: "UTF-16"},
		"syntax":          {data: cm + "---\na: b: c\n", want: "not valid YAML", line: 6},
		"unknown anchor":  {data: "a: *b\n", want: "unknown anchor"},
		"two in one":      {data: "a: b\n...\nc: d\n", want: "not valid YAML"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]File{{Path: "a.yaml", Data: []byte(c.data)}}, WithLimits(c.limits))
			if err != nil {
				t.Fatal(err)
			}
			ps := p.Problems()
			if len(ps) != 1 || !strings.Contains(ps[0].Error(), c.want) || !strings.HasPrefix(ps[0].Error(), "a.yaml:") {
				t.Fatalf("got %v", ps)
			}
			if c.line > 0 && ps[0].Line != c.line {
				t.Errorf("line %d", ps[0].Line)
			}
			if len(p.Resources()) > 0 {
				t.Error("a file with a problem has resources")
			}
			files, err := p.Files()
			if err != nil || len(files) != 1 || string(files[0].Data) != c.data {
				t.Errorf("bytes changed: %v", err)
			}
		})
	}
}

func TestCloneIsIndependent(t *testing.T) {
	p, r := parseOne(t, cm+"a: &x {b: 1}\nc: *x\n")
	if err := r.SetLabel("l", "1"); err != nil {
		t.Fatal(err)
	}
	before := written(t, p)
	c := p.Clone()
	cr := c.Resources()[0]
	if err := cr.SetLabel("l", "2"); err != nil {
		t.Fatal(err)
	}
	yamltree.Path(cr.Edit().YNode(), "c", "b").Value = "2" // through the alias
	c.Add("f.yaml", yaml.MustParse(cm))
	c.Write(File{Path: "g.yaml", Data: []byte(cm)})
	c.Clone().Remove("f.yaml")
	if got := written(t, p); got != before {
		t.Error(cmp.Diff(before, got))
	}
	want := cm + "  labels:\n    l: \"2\"\na: &x {b: 2}\nc: *x\n---\n" + cm
	if got := written(t, c); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestConcurrentClones(t *testing.T) {
	var files []File
	for i := range 20 {
		files = append(files, File{Path: fmt.Sprintf("f%02d.yaml", i), Data: []byte(cm + "a: &x {b: 1}\nc: *x\n---\n" + cm)})
	}
	base, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make([]string, 8)
	for g := range results {
		wg.Go(func() {
			c := base.Clone()
			for _, r := range c.Resources() {
				_, _ = r.Node().GetMeta()
				_, _ = r.Node().MarshalJSON()
				if err := r.SetAnnotation("k", "v"); err != nil {
					t.Error(err)
				}
			}
			for _, r := range base.Resources() {
				_, _ = r.Node().Pipe(yaml.Lookup("metadata", "name"))
				_ = r.ID()
			}
			out, err := c.Files()
			if err != nil {
				t.Error(err)
			}
			for _, f := range out {
				results[g] += string(f.Data)
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		if r != results[0] || strings.Count(r, "k: v") != 40 {
			t.Fatal("clones differ")
		}
	}
	if base.Dirty() {
		t.Error("the base was changed")
	}
}

func TestMetadata(t *testing.T) {
	p, r := parseOne(t, "apiVersion: apps/v1\nkind: D\nmetadata:\n  name: a\n  namespace: n\n  annotations: {x: 'y'}\n  labels:\n    b: true\n")
	if r.ID() != (ID{"apps", "D", "n", "a"}) || r.ID().String() != "D.apps/n/a" || r.Version() != "v1" {
		t.Errorf("%+v", r.ID())
	}
	if err := r.SetAnnotation("x", "y"); err != nil || r.Dirty() {
		t.Errorf("setting what is there edits: %v", err)
	}
	r.RemoveLabel("none")
	if r.Dirty() || p.Dirty() || p.Changed() {
		t.Error("removing nothing edits")
	}
	_ = r.Edit()
	if !r.Dirty() || r.Changed() || p.Changed() {
		t.Error("opening is no change")
	}
	if err := r.SetLabel("b", "true"); err != nil || !r.Changed() {
		t.Errorf("a bool is no string: %v", err)
	}
	r.RemoveAnnotation("x")
	want := "apiVersion: apps/v1\nkind: D\nmetadata:\n  name: a\n  namespace: n\n  labels:\n    b: \"true\"\n"
	if got := written(t, p); got != want {
		t.Error(cmp.Diff(want, got))
	}
	_, bad := parseOne(t, "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  labels: [x]\n")
	if err := bad.SetLabel("a", "b"); err == nil || !strings.Contains(err.Error(), "metadata.labels") {
		t.Errorf("got %v", err)
	}
}

func TestSubpackages(t *testing.T) {
	p, err := Parse([]File{{Path: "Kptfile"}, {Path: "b/Kptfile"}, {Path: "a/c/Kptfile"}, {Path: "a/x.yaml"}, {Path: "d/notKptfile"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a/c", "b"}, p.Subpackages()); d != "" {
		t.Error(d)
	}
}

func TestFromItems(t *testing.T) {
	item := func(name, path, index string) *yaml.RNode {
		text := "apiVersion: v1\nkind: A\nmetadata:\n  name: " + name + " # c\n"
		if path != "" {
			text += "  annotations:\n    internal.config.kubernetes.io/path: " + path + "\n    internal.config.kubernetes.io/index: '" + index + "'\n    internal.config.kubernetes.io/odd: x\n"
		}
		return yaml.MustParse(text)
	}
	nodes := []*yaml.RNode{item("z", "f.yaml", "1"), item("y", "f.yaml", "0"), item("x", "", "")}
	pathOf := func(n *yaml.RNode) string {
		if p := n.GetAnnotations()[PathAnnotation]; p != "" {
			return p
		}
		return "a_" + n.GetName() + ".yaml"
	}
	p, err := FromItems(nodes, pathOf)
	if err != nil {
		t.Fatal(err)
	}
	if p.Dirty() || p.Changed() {
		t.Error("a new package is dirty")
	}
	c := p.Clone()
	c.Resources()[1].Delete()
	if err := c.Resources()[0].SetAnnotation("k", "v"); err != nil {
		t.Fatal(err)
	}
	c.Add("g.yaml", item("w", "", ""))
	var got []string
	for _, n := range c.Nodes() {
		a := n.GetAnnotations()
		got = append(got, strings.Join([]string{n.GetName(), a[PathAnnotation], a[IndexAnnotation], a["internal.config.kubernetes.io/odd"], a["k"]}, ","))
	}
	want := []string{"z,f.yaml,1,x,v", "x,,,,", "w,g.yaml,0,,"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if nodes[0].GetAnnotations()["k"] != "" || len(p.Resources()) != 3 {
		t.Error("the clone changed what it came from")
	}
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Path] = string(f.Data)
	}
	one := func(n string) string { return "apiVersion: v1\nkind: A\nmetadata:\n  name: " + n + " # c\n" }
	if d := cmp.Diff(map[string]string{"f.yaml": one("y") + "---\n" + one("z"), "a_x.yaml": one("x")}, texts); d != "" {
		t.Error(d)
	}
	if _, err := FromItems([]*yaml.RNode{item("z", "../f.yaml", "1"), nil}, pathOf); err == nil || !strings.Contains(err.Error(), "item 1 is empty") {
		t.Errorf("got %v", err)
	}
}

// TestModify holds that a change is made where it gives another value, once, and that
// an error or a change of style alone leaves the resource as it was.
func TestModify(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		change  func(root *yaml.Node) error
		changed bool
		err     error
		want    string
	}{
		"an error":            {change: func(root *yaml.Node) error { yamltree.SetString(root, nil, "a", "x"); return boom }, err: boom},
		"nothing":             {change: func(root *yaml.Node) error { yamltree.Remove(root, "absent"); return nil }},
		"another value":       {change: func(root *yaml.Node) error { yamltree.SetString(root, nil, "b", "x"); return nil }, changed: true, want: "b: x\n"},
		"another spelling":    {change: func(root *yaml.Node) error { yamltree.Child(root, "a").Value = "16"; return nil }},
		"the null's spelling": {change: func(root *yaml.Node) error { yamltree.Child(root, "n").Value = "~"; return nil }},
		"a copy of an alias": {change: func(root *yaml.Node) error {
			yamltree.SetString(yamltree.Ensure(root, nil, "d"), nil, "k", "own")
			return nil
		}, changed: true, want: "c: &x {k: v}\nd:\n  k: own\n"},
	}
	const text = "apiVersion: v1\nkind: X\nmetadata: {name: n}\n\na:   0x10 # hex\nn: null\nc: &x {k: v}\nd: *x\n"
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, r := parseOne(t, text)
			calls := 0
			changed, err := r.Modify(func(root *yaml.Node) error {
				calls++
				return c.change(root)
			})
			if changed != c.changed || !errors.Is(err, c.err) || r.Dirty() != c.changed || calls != 1 {
				t.Errorf("changed %v, dirty %v, %d calls, %v", changed, r.Dirty(), calls, err)
			}
			if got := written(t, p); c.changed && !strings.Contains(got, c.want) || !c.changed && got != text {
				t.Errorf("wrote\n%s", got)
			}
		})
	}
}

// TestModifyFields holds that a change of some fields does what Modify does, whatever tree
// the resource has, and leaves the tree that it had as it was.
func TestModifyFields(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]func(root *yaml.Node) error{
		"an error":         func(root *yaml.Node) error { yamltree.SetString(yamltree.Child(root, "c"), nil, "k", "x"); return boom },
		"nothing":          func(root *yaml.Node) error { yamltree.Remove(root, "absent"); return nil },
		"another value":    func(root *yaml.Node) error { yamltree.SetString(yamltree.Child(root, "c"), nil, "k", "x"); return nil },
		"another spelling": func(root *yaml.Node) error { yamltree.Path(root, "c", "n").Value = "16"; return nil },
		"a field goes":     func(root *yaml.Node) error { yamltree.Remove(root, "c"); return nil },
		"one comes":        func(root *yaml.Node) error { yamltree.SetString(root, []string{"a", "b", "c"}, "b", "x"); return nil },
		"the next of one that goes": func(root *yaml.Node) error {
			yamltree.Remove(root, "c")
			if next := yamltree.Child(root, "c"); next != nil {
				yamltree.SetString(next, nil, "k", "x")
			}
			return boom
		},
	}
	const text = "# head\n\napiVersion: v1\nkind: X\nmetadata: {name: n}\n\na: 1\nc: {k: v, n: 0x10} # c\n%s\n# foot\n"
	for name, change := range cases {
		for _, tail := range []string{"", "e: &x {l: w}\nf: *x\n", "c: {k: w, n: 1}\n"} {
			for _, edited := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s edited=%v %q", name, edited, tail), func(t *testing.T) {
					open := func() (*Package, *Resource) {
						p, r := parseOne(t, fmt.Sprintf(text, tail))
						if edited {
							yamltree.SetString(r.Edit().YNode(), nil, "e", "edited")
						}
						return p, r
					}
					p, r := open()
					q, o := open()
					before := r.Node().Document()
					was := yamltree.Copy(before)
					changed, err := r.ModifyFields(change, "b", "c")
					want, failed := o.Modify(change)
					if changed != want || !errors.Is(err, failed) {
						t.Errorf("changed %v, %v; Modify: %v, %v", changed, err, want, failed)
					}
					if d := cmp.Diff(written(t, q), written(t, p)); d != "" {
						t.Error(d)
					}
					if !yamltree.SameText(was, before) {
						t.Error("the tree that it had was changed")
					}
				})
			}
		}
	}
	_, r := parseOne(t, "apiVersion: v1\nkind: X\nmetadata: {name: n}\nc: &x {k: v}\nd: *x\n")
	r.Edit()
	if _, err := r.ModifyFields(func(root *yaml.Node) error {
		yamltree.SetString(yamltree.Child(root, "c"), nil, "k", "x")
		return nil
	}, "c"); err != nil || yamltree.Text(r.Node().YNode(), "d", "k") != "x" {
		t.Errorf("an alias of what changes stands for what it was: %v", err)
	}
}

// TestModifyFieldsShares holds which trees are shared: a settled one's fields with what comes
// of it, which is settled, too, and none of a tree that somebody may still change.
func TestModifyFieldsShares(t *testing.T) {
	const text = "apiVersion: v1\nkind: X\nmetadata: {name: n}\na: {k: v}\nc: {k: v}\n"
	set := func(root *yaml.Node) error { yamltree.SetString(yamltree.Child(root, "c"), nil, "k", "x"); return nil }
	p, r := parseOne(t, text)
	parsed := r.Node().YNode()
	if changed, err := r.ModifyFields(set, "c"); !changed || err != nil {
		t.Fatal(changed, err)
	}
	now := r.Node().YNode()
	if !r.Settled() || yamltree.Child(now, "a") != yamltree.Child(parsed, "a") || yamltree.Child(now, "c") == yamltree.Child(parsed, "c") {
		t.Error("what was parsed is not shared, or not settled")
	}
	before := written(t, p)
	twin := p.Clone().Resources()[0]
	yamltree.SetString(yamltree.Child(twin.Edit().YNode(), "a"), nil, "k", "twin")
	yamltree.SetString(yamltree.Child(twin.Edit().YNode(), "c"), nil, "k", "twin")
	if d := cmp.Diff(before, written(t, p)); d != "" || yamltree.Text(parsed, "c", "k") != "v" {
		t.Errorf("an edit of a clone changed what it was cloned from: %s", d)
	}

	_, own := parseOne(t, text)
	own.Edit()
	if _, err := own.ModifyFields(set, "c"); err != nil || own.Settled() {
		t.Errorf("its own tree is settled: %v", err)
	}

	node := yaml.MustParse(text)
	given, err := FromItems([]*yaml.RNode{node}, func(*yaml.RNode) string { return "x.yaml" })
	if err != nil {
		t.Fatal(err)
	}
	g := given.Resources()[0]
	if _, err := g.ModifyFields(set, "c"); err != nil {
		t.Fatal(err)
	}
	yamltree.SetString(yamltree.Child(node.YNode(), "a"), nil, "k", "later")
	if got := yamltree.Text(g.Node().YNode(), "a", "k"); got != "v" {
		t.Errorf("a change of the node that it was given is in it: %s", got)
	}
}

// TestModifyKeepsTheDocument: comments above and below all that a document holds stay
// where its text has to be written anew.
func TestModifyKeepsTheDocument(t *testing.T) {
	_, r := parseOne(t, "# head\n\n{apiVersion: v1, kind: X, metadata: {name: a}}\n\n# foot\n")
	set := func(key string) func(*yaml.Node) error {
		return func(root *yaml.Node) error { yamltree.SetString(root, nil, key, "x"); return nil }
	}
	_, first := r.Modify(set("b"))
	if _, err := r.ModifyFields(set("c"), "c"); first != nil || err != nil {
		t.Fatal(first, err)
	}
	got, err := encodeOver(r.text(), "\n", r.doc.root, r.edited())
	if d := cmp.Diff("# head\n\n{apiVersion: v1, kind: X, metadata: {name: a}, b: x, c: x}\n\n# foot\n", string(got)); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

// TestMetadataOfItsOwn holds that setting and removing metadata that is shared
// with an alias changes one of the two places.
func TestMetadataOfItsOwn(t *testing.T) {
	const head = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  labels: &x {k: v, l: w}\n"
	p, r := parseOne(t, head+"  annotations: *x\n")
	if err := r.SetAnnotation("k", "new"); err != nil {
		t.Fatal(err)
	}
	r.RemoveAnnotation("l")
	if d := cmp.Diff(head+"  annotations:\n    k: new\n", written(t, p)); d != "" {
		t.Error(d)
	}
}

// TestScalarsReadBack writes awkward strings in every style and place.
func TestScalarsReadBack(t *testing.T) {
	values := []string{
		"", " ", "a ", " a", "a: b", "a #b", "#a", "- a", "-", "?", ": a", "a:", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "'a'", "\"a\"", "a'b\"c",
		"{a}", "[a]", "a,b", "---", "--- a", "...", "a\tb", "\ta", "a\n", "a\nb", "a\n\nb\n", "\na", " a\nb", "a \nb", "a\n\n", "\n", "\n\n", "a\r\nb", "a\u0085b", "a\u2028b",
		"\ufeffa", "é", "日本", "\U0001f600", "\x01", "\x7f", "\u00a0", "\\", "a\\nb", "yes", "1", "null", "<<", "a\n#b", "a\n---\nb", "a\n\tb", "  ", "a\n  \nb", "\ufffd", "\ue000",
	}
	for _, v := range values {
		for _, style := range []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle} {
			for _, in := range []string{"data: {k: old, l: [old]}\n", "data:\n  k: old # c\n  l:\n  - old\n", "data:\n  k: |\n    old\n  l:\n  - 'old'\n"} {
				p, r := parseOne(t, cm+in)
				n := r.Edit().YNode()
				for _, at := range [][]string{{"data", "k"}, {"data", "l", "0"}} {
					s := step(step(n, at[0]), at[1])
					if len(at) > 2 {
						s = step(s, at[2])
					}
					*s = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: v, Style: style}
				}
				_, kept, err := r.encode("\n")
				if err != nil || !kept {
					t.Errorf("%q style %d in %q: kept %v, %v:\n%s", v, style, in, kept, err, r)
					continue
				}
				again, err := Parse([]File{{Path: "f.yaml", Data: []byte(written(t, p))}})
				if err != nil || len(again.Problems()) > 0 || !yamltree.SameValue(again.Resources()[0].Node().YNode(), r.Node().YNode()) {
					t.Errorf("%q style %d in %q: reads back as\n%s", v, style, in, written(t, p))
				}
			}
		}
	}
}

// No text holds more values than as many bytes can.
func TestValuesAtMost(t *testing.T) {
	for _, text := range []string{"", "a", ":", "?", "::::", "a: b\n", "{a: [b, c]}", "- - -\n-\t-\r", strings.Repeat("?:", 50), cm} {
		if got, most := Values([]byte(text)), ValuesAtMost(1, int64(len(text))); int64(got) > most {
			t.Errorf("%q: %d values, at most %d", text, got, most)
		}
	}
	if got := ValuesAtMost(3, 10); got != 3*ValuesAtMost(1, 0)+ValuesAtMost(0, 10) || int64(Values([]byte("::::")))*2 > ValuesAtMost(2, 8) {
		t.Errorf("of several texts %d", got)
	}
}

// TestAddReachesNoOtherFile adds to each file of a package that was parsed, and cloned.
func TestAddReachesNoOtherFile(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n"
	var files []File
	for _, name := range []string{"a", "b", "c"} {
		files = append(files, File{Path: name + ".yaml", Data: fmt.Appendf(nil, text, name)})
	}
	parsed, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	for of, p := range map[string]*Package{"parsed": parsed, "cloned": parsed.Clone()} {
		for _, name := range []string{"a", "b", "c"} {
			p.Add(name+".yaml", yaml.MustParse(fmt.Sprintf(text, name+"2")))
		}
		var got []string
		for _, r := range p.Resources() {
			got = append(got, r.Path()+" "+r.Name())
		}
		if want := []string{"a.yaml a", "a.yaml a2", "b.yaml b", "b.yaml b2", "c.yaml c", "c.yaml c2"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", of, got, want)
		}
	}
}

// What git-crypt has encrypted is no YAML by any name, and keeps its bytes.
func TestGitCryptIsNoYAML(t *testing.T) {
	data := []byte("\x00GITCRYPT\x00\x01\xffa: b\n")
	for _, name := range []string{"a.yaml", "a.yml", "Kptfile", "apiVersion.json"} {
		p, err := Parse([]File{{Path: name, Data: data}})
		if err != nil || len(p.Problems())+len(p.Resources()) != 0 {
			t.Errorf("%s: %v, %v", name, err, p.Problems())
		}
		files, err := p.Files()
		if err != nil || len(files) != 1 || string(files[0].Data) != string(data) {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
	if p, err := Parse([]File{{Path: "a.yaml", Data: []byte("a: \x00GITCRYPT\x00")}}); err != nil || len(p.Problems()) != 1 {
		t.Error("a NUL byte elsewhere is no problem any more", err)
	}
}
