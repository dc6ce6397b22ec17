package krm

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// corpus reads the YAML files of the shared data; it skips where there is none.
func corpus(tb testing.TB) []File {
	tb.Helper()
	root := os.Getenv("SHARED_DIR")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	var files []File
	for _, dir := range []string{"packages", "conformance"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !IsYAML(File{Path: filepath.ToSlash(p)}) {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, p)
			files = append(files, File{Path: filepath.ToSlash(rel), Data: data})
			return err
		})
		if err != nil {
			tb.Skipf("no shared data (set SHARED_DIR): %v", err)
		}
	}
	if len(files) == 0 {
		tb.Skip("the shared data has no YAML files (set SHARED_DIR)")
	}
	return files
}

// change is one edit and the lines of the original that it may touch.
type change struct {
	name     string
	from, to int // lines, 1-based; to < from: lines are added only
	mutate   func(n *yaml.Node)
}

// lastLine is the last line that a node can have text in.
func lastLine(n *yaml.Node) int {
	last := n.Line + strings.Count(n.Value, "\n")
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		last = n.Line + strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
	}
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}

func commentCount(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// entryLines is the range of an entry's lines, comments above included.
func entryLines(m *yaml.Node, key string) (int, int) {
	i := yamltree.Index(m, key)
	return m.Content[i].Line - commentCount(m.Content[i].HeadComment), max(lastLine(m.Content[i+1]), m.Content[i].Line)
}

func setKey(m *yaml.Node, key string, v *yaml.Node) {
	if i := yamltree.Index(m, key); i >= 0 {
		m.Content[i+1] = v
		return
	}
	m.Content = append(m.Content, yamltree.String(key), v)
}

// changesOf lists edits that a document allows.
func changesOf(n *yaml.Node) []change {
	var out []change
	md := yamltree.Child(n, "metadata")
	if md != nil && md.Kind == yaml.MappingNode {
		for _, kind := range []string{"annotations", "labels"} {
			c := change{name: "set " + kind, from: 1, mutate: func(n *yaml.Node) {
				m, _ := child(n, "metadata", kind)
				setKey(m, "variform.dev/x", yamltree.String("yes"))
			}}
			if m := yamltree.Child(md, kind); m != nil && (m.Style&yaml.FlowStyle != 0 || m.Kind != yaml.MappingNode) {
				c.from, c.to = entryLines(md, kind)
			}
			out = append(out, c)
		}
		c := change{name: "set namespace", from: 1, mutate: func(n *yaml.Node) {
			setKey(yamltree.Child(n, "metadata"), "namespace", yamltree.String("prod"))
		}}
		if yamltree.Child(md, "namespace") != nil {
			c.from, c.to = entryLines(md, "namespace")
		}
		out = append(out, c)
		out = append(out, removals(md, "metadata")...)
	}
	for _, key := range []string{"spec", "data"} {
		if yamltree.Child(n, key) == nil {
			continue
		}
		from, to := entryLines(n, key)
		out = append(out, change{name: "inject " + key, from: from, to: to, mutate: func(n *yaml.Node) {
			inj := yaml.MustParse("injected:\n  hosts: [a, b]\n  ports:\n  - name: http # c\n    port: 80\ntext: |\n  a\n  b\n").YNode()
			setKey(n, key, inj)
		}}, change{name: "extend " + key, from: from, to: to, mutate: func(n *yaml.Node) {
			if m := yamltree.Child(n, key); m.Kind == yaml.MappingNode {
				setKey(m, "extra", yaml.MustParse("list:\n- a: 1\n  b:\n  - c\n").YNode())
			}
		}}, change{name: "null " + key, from: from, to: to, mutate: func(n *yaml.Node) {
			setKey(n, key, yamltree.String("on"))
		}})
		if v := yamltree.Child(n, key); v.Kind == yaml.MappingNode {
			out = append(out, removals(v, key)...)
		}
	}
	return append(out, deepChanges(n)...)
}

// removals drop each key of a mapping.
func removals(m *yaml.Node, at string) []change {
	var out []change
	for i := 0; i+1 < len(m.Content); i += 2 {
		key := m.Content[i].Value
		from, to := entryLines(m, key)
		if len(m.Content) == 2 {
			from-- // the parent's line gets {}
		}
		out = append(out, change{name: "remove " + at + "." + key, from: from, to: to, mutate: func(n *yaml.Node) {
			m := yamltree.Child(n, at)
			if i := yamltree.Index(m, key); i >= 0 {
				m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
			}
		}})
	}
	return out
}

// deepChanges changes scalars and sequences wherever they are.
func deepChanges(root *yaml.Node) []change {
	var out []change
	var walk func(n *yaml.Node, path []int)
	at := func(n *yaml.Node, path []int) *yaml.Node {
		for _, i := range path {
			n = n.Content[i]
		}
		return n
	}
	walk = func(n *yaml.Node, path []int) {
		path = append([]int{}, path...)
		switch n.Kind {
		case yaml.ScalarNode:
			if !omitted(n) {
				out = append(out, change{name: "scalar " + n.Value, from: n.Line, to: lastLine(n) + 1, mutate: func(r *yaml.Node) {
					s := at(r, path)
					*s = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "nginx:1.2 # é", Anchor: s.Anchor}
				}}, change{name: "lines " + n.Value, from: n.Line, to: lastLine(n) + 1, mutate: func(r *yaml.Node) {
					at(r, path).SetString("x\ny\n")
				}}, change{name: "mapping " + n.Value, from: n.Line, to: lastLine(n) + 1, mutate: func(r *yaml.Node) {
					*at(r, path) = *yaml.MustParse("x:\n- y: 1\n").YNode()
				}})
			}
		case yaml.SequenceNode:
			if len(n.Content) == 0 {
				return
			}
			first, last := n.Content[0], n.Content[len(n.Content)-1]
			line := first.Line - commentCount(first.HeadComment)
			flow := n.Style&yaml.FlowStyle != 0
			if len(first.Content) > 0 {
				line -= commentCount(first.Content[0].HeadComment)
			}
			pre := change{name: "prepend", from: line, to: line - 1, mutate: func(r *yaml.Node) {
				s := at(r, path)
				s.Content = append([]*yaml.Node{yaml.MustParse("zz: 1\nname: new\nl:\n- a\n").YNode()}, s.Content...)
			}}
			app := change{name: "append", from: line, to: line - 1, mutate: func(r *yaml.Node) {
				s := at(r, path)
				s.Content = append(s.Content, yamltree.String("12:30"))
			}}
			if flow {
				pre.to, app.to = lastLine(n)+1, lastLine(n)+1
			}
			drop := change{name: "drop first", from: line - 1, to: lastLine(first), mutate: func(r *yaml.Node) {
				s := at(r, path)
				s.Content = s.Content[1:]
			}}
			end := change{name: "drop last", from: last.Line - 1 - commentCount(last.HeadComment), to: lastLine(last), mutate: func(r *yaml.Node) {
				s := at(r, path)
				s.Content = s.Content[:len(s.Content)-1]
			}}
			out = append(out, pre, app, drop, end)
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				continue
			}
			walk(c, append(path, i))
		}
	}
	walk(root, nil)
	return out
}

// outside reports which lines of a text changed although they stand outside
// of from..to; lines[from..to] may differ.
func outside(before, after []byte, from, to int) string {
	// Whether the last line has a line break is another test's business.
	lines := func(b []byte) []string { return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") }
	a, b := lines(before), lines(after)
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	j := 0
	for j < min(len(a), len(b))-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	if i+j >= len(a) { // lines were only added
		return ""
	}
	from, to = max(from, 1), min(to, len(a))
	if i >= from-1 && len(b) >= len(a)-to && slices.Equal(a[to:], b[len(b)-(len(a)-to):]) {
		return ""
	}
	return strings.Join(a[i:len(a)-j], "\n")
}

func TestCorpusIdentity(t *testing.T) {
	files := corpus(t)
	p, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range p.Problems() {
		t.Logf("not parsed: %v", problem)
	}
	out, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range out {
		in, _ := p.Read(f.Path)
		if !bytes.Equal(f.Data, in.Data) {
			t.Errorf("%s changed", f.Path)
		}
		_ = i
	}
	if len(out) != len(files) {
		t.Errorf("%d files of %d came back", len(out), len(files))
	}
	// The pieces are made anew too, not only the whole shared.
	for _, f := range p.files {
		w := fileWriter{nl: lineBreak(f.Data)}
		if f.problem != nil || len(f.parsed.docs) == 0 {
			continue
		}
		if err := w.originals(f); err != nil || !bytes.Equal(w.out, f.Data) {
			t.Errorf("%s: joined pieces differ: %v", f.Path, err)
		}
	}
	t.Logf("%d files, %d resources", len(out), len(p.Resources()))
}

// TestCorpusEdits tries some edits of each real document, all with KRM_EDITS=all.
func TestCorpusEdits(t *testing.T) {
	p, err := Parse(corpus(t))
	if err != nil {
		t.Fatal(err)
	}
	edits, fallbacks, resources := 0, 0, 0
	seen := map[string]bool{}
	for _, r := range p.Resources() {
		text := r.from.Data[r.doc.start:r.doc.end]
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		resources++
		all := changesOf(yamltree.Deref(r.doc.root))
		for k, c := range all {
			// A share of the edits is enough, another one for each document.
			if os.Getenv("KRM_EDITS") != "all" && (k+resources)%(len(all)/5+1) != 0 {
				continue
			}
			twin := *r
			c.mutate(twin.Edit().YNode())
			out, kept, err := twin.encode(lineBreak(text))
			edits++
			if err != nil {
				t.Errorf("%s %s: %s: %v", r.path, r.ID(), c.name, err)
				continue
			}
			if !kept {
				fallbacks++
				if yamltree.Deref(r.doc.root).Style&yaml.FlowStyle == 0 {
					t.Errorf("%s:%d %s: %s: encoded anew", r.path, r.Line(), r.ID(), c.name)
				}
				continue
			}
			root, _, err := decode(out)
			if err != nil || !yamltree.SameValue(root, twin.node.Document()) {
				t.Errorf("%s %s: %s: result differs from the tree: %v", r.path, r.ID(), c.name, err)
			}
			if lines := outside(text, out, c.from, c.to); lines != "" {
				t.Errorf("%s:%d %s: %s: also changed (allowed %d-%d):\n%s\n--- result\n%s", r.path, r.Line(), r.ID(), c.name, c.from, c.to, lines, out)
			}
		}
	}
	t.Logf("%d edits of %d resources, %d encoded anew", edits, resources, fallbacks)
}

// TestCorpusManyEdits makes several edits at once at random, always the same.
func TestCorpusManyEdits(t *testing.T) {
	p, err := Parse(corpus(t))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	rounds, fallbacks := 0, 0
	for _, r := range p.Resources() {
		twin := *r
		root := twin.Edit().YNode()
		for i := range 1 + rnd.IntN(6) {
			mutate(root, rnd.IntN(1000), rnd.IntN(8), []string{"v", "on", "a: b", "two\nlines\n", ""}[i%5])
		}
		text := r.from.Data[r.doc.start:r.doc.end]
		out, kept, err := twin.encode(lineBreak(text))
		rounds++
		if err != nil {
			t.Errorf("%s:%d: %v", r.path, r.Line(), err)
			continue
		}
		if !kept {
			fallbacks++
			if yamltree.Deref(r.doc.root).Style&yaml.FlowStyle == 0 && len(root.Content) > 0 {
				t.Errorf("%s:%d %s: encoded anew:\n%s\n--- is\n%s", r.path, r.Line(), r.ID(), text, out)
			}
		}
		if !means(out, root) {
			t.Errorf("%s:%d: reads back as something else", r.path, r.Line())
		}
	}
	t.Logf("%d rounds, %d encoded anew", rounds, fallbacks)
}
