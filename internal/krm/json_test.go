package krm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

const jsonMap = `{
	"kind": "ConfigMap",
	"apiVersion": "v1",
	"metadata": {"name": "a"},
	"data": {"level": "<info>", "on": "yes"}
}
`

// TestJSON: resources of *.json files are read, and what is written is JSON;
// a field that can be spliced in leaves the rest as it is.
func TestJSON(t *testing.T) {
	cases := map[string]struct {
		reason, file, in, want string
		edit                   func(t *testing.T, p *Package)
	}{
		"unedited": {file: "a.json", in: jsonMap, want: jsonMap},
		"scalar": {
			reason: "a value is spliced in", file: "a.json", in: jsonMap,
			edit: func(_ *testing.T, p *Package) {
				yamltree.Child(p.Resources()[0].Edit().YNode(), "data").Content[1].Value = `a "b"`
			},
			want: "{\n\t\"kind\": \"ConfigMap\",\n\t\"apiVersion\": \"v1\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"data\": {\"level\": \"a \\\"b\\\"\", \"on\": \"yes\"}\n}\n",
		},
		"new field": {
			file: "a.json", in: jsonMap,
			edit: func(t *testing.T, p *Package) { setAnnotation(t, p.Resources()[0]) },
			want: "{\n\t\"kind\": \"ConfigMap\",\n\t\"apiVersion\": \"v1\",\n\t\"metadata\": {\"name\": \"a\", \"annotations\": {\"k\": \"v\"}},\n" +
				"\t\"data\": {\"level\": \"<info>\", \"on\": \"yes\"}\n}\n",
		},
		"spliced in it is no JSON": {
			reason: "the document is written anew, in order and with its indentation", file: "a.json", in: jsonMap,
			edit: func(_ *testing.T, p *Package) { setTilde(yamltree.Child(p.Resources()[0].Edit().YNode(), "data")) },
			want: "{\n\t\"kind\": \"ConfigMap\",\n\t\"apiVersion\": \"v1\",\n\t\"metadata\": {\n\t\t\"name\": \"a\"\n\t},\n" +
				"\t\"data\": {\n\t\t\"level\": null,\n\t\t\"on\": \"yes\"\n\t}\n}\n",
		},
		"one line": {
			file: "a.json", in: `{"apiVersion":"v1","kind":"A","data":{"a":"b"},"n":1.50}`,
			edit: func(_ *testing.T, p *Package) { setTilde(yamltree.Child(p.Resources()[0].Edit().YNode(), "data")) },
			want: `{"apiVersion": "v1", "kind": "A", "data": {"a": null}, "n": 1.50}`,
		},
		"new file": {
			file: "b.json", in: "null",
			edit: func(_ *testing.T, p *Package) {
				p.Remove("b.json")
				p.Add("b.json", yaml.MustParse("apiVersion: v1\nkind: A\nmetadata: &m {name: b}\nl: [0x10, true, ~, *m]\n"))
			},
			want: "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"A\",\n  \"metadata\": {\n    \"name\": \"b\"\n  },\n  \"l\": [\n    16,\n    true,\n    null,\n    {\n      \"name\": \"b\"\n    }\n  ]\n}\n",
		},
		"what YAML would not read": {
			reason: "JSON allows these characters as they are", file: "a.json", in: `{"apiVersion": "v1", "kind": "A", "a": "b"}`,
			edit: func(_ *testing.T, p *Package) {
				p.Resources()[0].Edit().YNode().Content[5].Value = "\x7f\u0085\u2028\ufeff\u00e9"
			},
			want: `{"apiVersion": "v1", "kind": "A", "a": "\u007f\u0085\u2028\ufeffé"}`,
		},
		"moved from YAML": {
			file: "a.yaml", in: "apiVersion: v1 # c\nkind: A\nmetadata: {name: a}\n",
			edit: func(_ *testing.T, p *Package) { p.Resources()[0].Move("b.json") },
			want: "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"A\",\n  \"metadata\": {\n    \"name\": \"a\"\n  }\n}\n",
		},
		"YAML by another name": {
			file: "a.json", in: "# text\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n",
			edit: func(t *testing.T, p *Package) { setAnnotation(t, p.Resources()[0]) },
			want: "# text\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    k: v\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]File{{Path: c.file, Data: []byte(c.in)}})
			if err != nil || len(p.Problems()) > 0 {
				t.Fatal(err, p.Problems())
			}
			if c.edit != nil {
				c.edit(t, p)
			}
			files, err := p.Files()
			if err != nil || len(files) != 1 {
				t.Fatalf("%v %v", files, err)
			}
			if diff := cmp.Diff(c.want, string(files[0].Data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// setTilde makes a mapping's first value a null that JSON does not know.
func setTilde(n *yaml.Node) {
	n.Content[1] = &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "~"}
}

func setAnnotation(t *testing.T, r *Resource) {
	t.Helper()
	if err := r.SetAnnotation("k", "v"); err != nil {
		t.Fatal(err)
	}
}

// TestJSONThatIsNoResource: other JSON is never read, so it need not be valid.
func TestJSONThatIsNoResource(t *testing.T) {
	p, err := Parse([]File{
		{Path: "dashboard.json", Data: []byte(`{"title": "x"}`)},
		{Path: "settings.json", Data: []byte("{ // comment\n")},
		{Path: "broken.json", Data: []byte(`{"apiVersion": "v1", `)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Problems(); len(p.Resources()) != 0 || len(got) != 1 || got[0].Path != "broken.json" {
		t.Errorf("%d resources, problems %v", len(p.Resources()), got)
	}
}

// TestJSONCannotHoldIt: what JSON has no word for is an error, not other data.
func TestJSONCannotHoldIt(t *testing.T) {
	for _, value := range []string{".inf", "2020-01-01", "!!binary aGk=", "{1: a}", "!mine {a: b}"} {
		p, _ := Parse(nil)
		p.Add("a.json", yaml.MustParse("apiVersion: v1\nkind: A\nx: "+value+"\n"))
		if files, err := p.Files(); err == nil {
			t.Errorf("%s was written as %s", value, files[0].Data)
		}
	}
}

// TestRewrite changes documents that are no resources; the others, and all else
// in the text, stay, but for a line comment that the tree lacks.
func TestRewrite(t *testing.T) {
	in := "# head\na:   1 # one\n\nb: 'two'\n---\n# nothing\n---\n- x\n-   y\n"
	docs := []*yaml.Node{yaml.MustParse("a: 1\nb: three\n").YNode(), yaml.MustParse("[x, y, z]").YNode()}
	got, kept, err := Rewrite(File{Path: "v.yaml", Data: []byte(in)}, docs)
	if err != nil || !kept {
		t.Fatal(kept, err)
	}
	if diff := cmp.Diff("# head\na:   1\n\nb: 'three'\n---\n# nothing\n---\n- x\n-   y\n- z\n", string(got.Data)); diff != "" {
		t.Error(diff)
	}
	got, _, err = Rewrite(File{Path: "v.json", Data: []byte(`{"a": [1]}`)}, []*yaml.Node{yaml.MustParse("a: [1]\nb: c\n").YNode()})
	if err != nil || !json.Valid(got.Data) {
		t.Errorf("%s %v", got.Data, err)
	}
	if _, _, err := Rewrite(File{Path: "v.yaml", Data: []byte(in)}, docs[:1]); err == nil {
		t.Error("a document is missing and nobody said so")
	}
	if _, _, err := Rewrite(File{Path: "v.yaml", Data: []byte("a: [")}, nil); err == nil {
		t.Error("broken text was rewritten")
	}
}

// TestJSONThatYAMLRefuses: a *.json file that is valid JSON is a resource whatever YAML
// makes of its text. It keeps its bytes, and an edit changes its own field alone.
func TestJSONThatYAMLRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"slash":      `"https:\/\/example.com"`,
		"surrogates": `"\ud83d\ude00"`,
		"breaks":     "\"a\u0085b\u2028c\u2029\"",
		"control":    "\"\x7f\ufeff\"",
		"long key":   `{"` + strings.Repeat("k", 2000) + `": 1}`,
		"tabs":       "[\t1\n\t,\t2\t]",
	} {
		for ending, nl := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
			t.Run(name+ending, func(t *testing.T) {
				in := strings.ReplaceAll("{\n\t\"apiVersion\": \"v1\", \"kind\": \"A\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"x\": "+value+",\n\t\"y\":\"old\"\n}\n", "\n", nl)
				cache := &Cache{}
				p, err := Parse([]File{{Path: "a.json", Data: []byte(in)}}, WithCache(cache))
				if err != nil || len(p.Problems()) > 0 || len(p.Resources()) != 1 {
					t.Fatal(err, p.Problems())
				}
				var want, got map[string]any
				if err := json.Unmarshal([]byte(in), &want); err != nil {
					t.Fatal(err)
				}
				for _, edit := range []string{"old", "new"} {
					if edit != "old" {
						yamltree.SetString(p.Resources()[0].Edit().YNode(), nil, "y", edit)
					}
					files, err := p.Files()
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(strings.Replace(in, "old", edit, 1), string(files[0].Data)); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
				}
				tree := p.Resources()[0].Edit().YNode()
				tree.Content = append(tree.Content, yamltree.String("z/"), yaml.MustParse("[0x10, ~, on]").YNode())
				files, err := p.Files()
				if err != nil {
					t.Fatal(err)
				}
				want["y"], want["z/"] = "new", []any{16.0, nil, true}
				if err := json.Unmarshal(files[0].Data, &got); err != nil {
					t.Fatalf("%v\n%s", err, files[0].Data)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s\n%s", diff, files[0].Data)
				}
				again, err := Parse(files, WithCache(cache))
				if err != nil || len(again.Problems()) > 0 || !yamltree.SameValue(again.Resources()[0].Node().YNode(), tree) {
					t.Errorf("what was written does not read back: %v\n%s", again.Problems(), files[0].Data)
				}
			})
		}
	}
	p, err := Parse([]File{{Path: "a.yaml", Data: []byte(`{"apiVersion": "v1", "kind": "A", "x": "\/"}`)}})
	if err != nil || len(p.Problems()) != 1 {
		t.Errorf("a *.yaml file is no JSON: %v %v", err, p.Problems())
	}
}
