package source

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{
		configMap("a"), repository("r"), "---\n---\n", "a: &x [*x]\n", "\xef\xbb\xbf---\r\na: b\r\n...\n", "key: [1\n---\n" + configMap("b"),
		"apiVersion: v1\nkind: List\nitems:\n- 1\n- {apiVersion: v1, kind: X, metadata: {name: 1}}\n", "? {a: b}\n: c\n", "apiVersion: v1\nkind: X\nmetadata: []\n",
		"apiVersion: v1\nkind: X\nmetadata: {name: x, labels: {a: ~}}\n<<: {b: c}\n",
	} {
		f.Add([]byte(s))
	}
	limits := Limits{Nodes: 2000, Depth: 50}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		chunks := split(data)
		var joined []byte
		for _, c := range chunks {
			joined = append(joined, c.data...)
		}
		if !bytes.Equal(joined, bytes.TrimPrefix(data, bom)) {
			t.Fatal("split loses bytes")
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		r := parseFile("f.yaml", data, limits)
		for _, it := range r.items {
			if it.origin.Line < 1 || it.origin.Line > lines {
				t.Errorf("object at line %d of %d", it.origin.Line, lines)
			}
			if o, ok := it.obj.(*Object); ok {
				if o.Name == "" || o.Kind == "" || o.APIVersion == "" || o.Namespace == "" {
					t.Errorf("an object without identity: %+v", o.Key)
				}
				noAliases(t, o.Node().YNode())
			}
		}
		for _, p := range r.problems {
			if p.File != "f.yaml" || p.Message == "" {
				t.Errorf("a problem without place or text: %+v", p)
			}
		}
	})
}

func noAliases(t *testing.T, n *yaml.Node) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		t.Errorf("line %d holds an alias or anchor", n.Line)
	}
	for _, c := range n.Content {
		noAliases(t, c)
	}
}

// BenchmarkParseFile reads a file of 1,000 Repositories.
func BenchmarkParseFile(b *testing.B) {
	var docs []string
	for i := range 1000 {
		docs = append(docs, repository(fmt.Sprintf("cluster-%04d", i)))
	}
	data := []byte(strings.Join(docs, "---\n"))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if r := parseFile("f.yaml", data, DefaultLimits); len(r.items) != 1000 || len(r.problems) > 0 {
			b.Fatal(len(r.items), r.problems)
		}
	}
}
