package krm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

var seeds = []string{
	cm,
	"---\n" + cm + "--- # x\n" + cm + "...\n---\n",
	"# license\n\n---\n" + cm + "data: {a: b, c: [1, 2]}\n",
	bom + strings.ReplaceAll(cm, "\n", "\r\n"),
	cm + "a: &x\n- b: |+\n    t\n\n- *x\n",
	cm + "a: &x {b: c}\nd: *x\ne:\n  <<: *x\n",
	"{\"apiVersion\": \"v1\",\n \"kind\": \"A\", \"l\": [1, {\"a\": null}]}",
	"%YAML 1.1\n---\n" + cm + "a: >-\n  x\n   y\nb: 'it''s'\nc: \"\\u00e9\\\n  z\"\nd: p q\n  r\n",
	cm + "l:\n- - a\n  - b\n-\n- # c\n  d: !!str 1\n- ? e\n  : f\n",
	cm + "a:\u2028b: c\u0085",
}

// FuzzParse shows that no input panics, that its pieces are the input, and
// that writing what nothing edited gives the input.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b, *c]\n"))
	f.Add([]byte{0xff, 0xfe, 'a', 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var joined []byte
		for _, c := range cut(data) {
			joined = append(joined, data[c.start:c.end]...)
		}
		if !bytes.Equal(joined, data) {
			t.Fatalf("pieces: %q", joined)
		}
		p, err := Parse([]File{{Path: "f.yaml", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		files, err := p.Files()
		if err != nil || len(files) != 1 || !bytes.Equal(files[0].Data, data) {
			t.Fatalf("files: %v %v", files, err)
		}
		if file := p.files[0]; file.problem == nil {
			w := fileWriter{nl: lineBreak(data)}
			if err := w.originals(file); err != nil || !bytes.Equal(w.out, data) {
				t.Fatalf("made anew: %q %v", w.out, err)
			}
		}
		for _, r := range p.Resources() {
			_ = r.Edit()
			if r.Changed() {
				t.Fatal("a copy differs from its original")
			}
		}
	})
}

// FuzzEdit makes one edit of the first resource and reads the result back;
// other documents keep their bytes.
func FuzzEdit(f *testing.F) {
	for _, s := range seeds {
		for op := range uint8(8) {
			f.Add([]byte(s), uint16(op)*3, op, "value")
		}
	}
	f.Add([]byte(cm), uint16(3), uint8(0), "1_000")
	f.Add([]byte(cm), uint16(3), uint8(0), "a\n b\n\n")
	f.Fuzz(func(t *testing.T, data []byte, at uint16, op uint8, value string) {
		p, err := Parse([]File{{Path: "f.yaml", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		rs := p.Resources()
		if len(rs) == 0 || !isText(value) {
			return
		}
		r := rs[0]
		mutate(r.Edit().YNode(), int(at), int(op), value)
		if metaOf(r.node.YNode()) == (meta{}) {
			return // no resource any more
		}
		if !readable(r.node.YNode()) {
			return
		}
		files, err := p.Files()
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		again, err := Parse(files)
		if err != nil || len(again.Problems()) > 0 {
			t.Fatalf("does not parse: %v %v\n%q", err, again.Problems(), files[0].Data)
		}
		back := again.Resources()
		if len(back) != len(rs) {
			t.Fatalf("%d resources became %d", len(rs), len(back))
		}
		if !yamltree.SameValue(back[0].Node().YNode(), r.Node().YNode()) {
			t.Fatalf("reads back as something else:\n%q\n%q", data, files[0].Data)
		}
		for i := range back[1:] {
			a, b := rs[i+1], back[i+1]
			if !bytes.Equal(a.from.Data[a.doc.start:a.doc.end], b.from.Data[b.doc.start:b.doc.end]) {
				t.Fatalf("document %d changed", i+1)
			}
		}
	})
}

// FuzzJSON makes one edit of a resource in a JSON file: what was JSON stays
// JSON, and means what the tree says.
func FuzzJSON(f *testing.F) {
	for op := range uint8(8) {
		f.Add([]byte(jsonMap), uint16(op)*3, op, "value")
		f.Add([]byte(`{"apiVersion":"v1","kind":"A","l":[1,{"a":null},2e3],"u":"\u00e9\n\ud83d\ude00"}`), uint16(op)*5, op, "1_000\n\t\"\u2028")
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, op uint8, value string) {
		p, err := Parse([]File{{Path: "f.json", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		if files, err := p.Files(); err != nil || !bytes.Equal(files[0].Data, data) {
			t.Fatalf("unedited: %v %v", files, err)
		}
		rs := p.Resources()
		if len(rs) != 1 || !json.Valid(data) || !isText(value) || len(value) > 1000 { // YAML reads no longer keys
			return
		}
		mutate(rs[0].Edit().YNode(), int(at), int(op), value)
		if metaOf(rs[0].node.YNode()) == (meta{}) || !readable(rs[0].node.YNode()) {
			return
		}
		files, err := p.Files()
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if !json.Valid(files[0].Data) {
			t.Fatalf("no JSON any more:\n%q\n%q", data, files[0].Data)
		}
		again, err := Parse(files)
		if err != nil || len(again.Problems()) > 0 || len(again.Resources()) != 1 {
			t.Fatalf("does not parse: %v %v\n%q", err, again.Problems(), files[0].Data)
		}
		if !yamltree.SameValue(again.Resources()[0].Node().YNode(), rs[0].Node().YNode()) {
			t.Fatalf("reads back as something else:\n%q\n%q", data, files[0].Data)
		}
	})
}

func isText(s string) bool { _, why := validText([]byte(s)); return why == "" }

// readable reports whether a tree is one that limits and YAML allow.
func readable(n *yaml.Node) bool {
	_, err := Limits{}.withDefaults().check(yamltree.Copy(n))
	return err == nil
}

// mutate changes one node of a tree.
func mutate(root *yaml.Node, at, op int, value string) {
	var all []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		all = append(all, n)
		for i, c := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				walk(c)
			}
		}
	}
	walk(root)
	n := all[at%len(all)]
	switch op % 8 {
	case 0:
		if n.Kind == yaml.ScalarNode {
			n.Value, n.Tag, n.Style = value, yaml.NodeTagString, n.Style&^yaml.TaggedStyle
		}
	case 1, 2:
		insertAt(n, at, op%8 == 1, &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value})
	case 3:
		step := 1
		if n.Kind == yaml.MappingNode {
			step = 2
		}
		if k := len(n.Content) / step; k > 0 {
			i := at % k * step
			n.Content = append(n.Content[:i:i], n.Content[i+step:]...)
		}
	case 4:
		if n != root {
			*n = yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yamltree.String("k" + value), yamltree.String(value)}}
		}
	case 5:
		if n != root {
			*n = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{yamltree.String(value), {Kind: yaml.SequenceNode, Content: []*yaml.Node{yamltree.String(value)}}}}
		}
	case 6:
		if n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
			n.Content[0], n.Content[1] = n.Content[1], n.Content[0]
		}
	case 7:
		if n != root {
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}
		}
	}
}

func insertAt(n *yaml.Node, at int, front bool, v *yaml.Node) {
	var added []*yaml.Node
	switch n.Kind {
	case yaml.MappingNode:
		if yamltree.Index(n, "new-"+v.Value) >= 0 {
			return
		}
		added = []*yaml.Node{yamltree.String("new-" + v.Value), v}
	case yaml.SequenceNode:
		added = []*yaml.Node{v}
	default:
		return
	}
	if front {
		n.Content = append(added, n.Content...)
		return
	}
	n.Content = append(n.Content[:len(n.Content):len(n.Content)], added...)
}
