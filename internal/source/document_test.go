package source

import (
	"bytes"
	"encoding/json"
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

// TestSimpleTexts holds that a file is read alike whether its shapes are simple, as those
// of most are, or the YAML library's, and that what was read of one stays when others are
// read with the same nodes.
func TestSimpleTexts(t *testing.T) {
	texts := []string{
		configMap("a"), repository("r"), "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  namespace: n\n  labels: {a: b, c: 'd'}\n  annotations:\n    e: f\ndata: {g: h}\n",
		"---\n# of two\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: v1\nkind: B\nmetadata: {name: b, labels: {c: 1}}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: X\n  metadata: {name: x, labels: {y: z}}\n- kind: Y\n",
		"apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: one}\n- metadata: {name: two}\n",
		"apiVersion: v1\nkind: X\nmetadata: {name: x}\nname: y\nname: z\n", "apiVersion: v1\nkind: X\nmetadata: {labels: {a: b}}\n", "apiVersion: v1\nkind: X\nmetadata: {name: x, labels: [a]}\n",
		"apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSets\nmetadata: {name: s}\n", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {none: true}\n",
		"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: k}\n", "a: b\n", "- a\n",
	}
	for i := range 40 {
		texts = append(texts, strings.ReplaceAll(texts[2], "name: s", fmt.Sprintf("name: s-%d", i)))
	}
	limits := Limits{Nodes: 2000, Depth: 50}.withDefaults()
	simple := make([]fileResult, len(texts))
	for i, text := range texts {
		simple[i] = parseFile("f.yaml", []byte(text), limits)
	}
	for i, text := range texts {
		library := parseFile("f.yaml", []byte(text+"# end\n"), limits) // which is no simple shape
		if got, want := tell(simple[i]), tell(library); got != want {
			t.Errorf("%s\nis read as\n%s\nand by the library as\n%s", text, got, want)
		}
	}
}

// tell writes out all that was read of a file.
func tell(r fileResult) string {
	var b strings.Builder
	for _, it := range r.items {
		fmt.Fprintf(&b, "%v %v %v %+v\n", it.key, it.origin, it.fields, it.report)
		if o, ok := it.obj.(*Object); ok {
			fmt.Fprintf(&b, "%v %v %q %q %v\n%s", o.Key, o.APIVersion, o.Labels, o.Annotations, o.Origin, strings.TrimSuffix(o.Node().MustString(), "# end\n"))
		} else {
			text, err := json.Marshal(it.obj)
			fmt.Fprintf(&b, "%T %s %v\n", it.obj, text, err)
		}
	}
	fmt.Fprintf(&b, "%v %v %v", r.foreign, r.problems, r.warnings)
	return b.String()
}
