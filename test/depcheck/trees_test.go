package depcheck

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestTreesAllowedAreThere holds that what the list allows is still done: an
// entry that nothing needs would hide the next one of that name.
func TestTreesAllowedAreThere(t *testing.T) {
	pkgs, err := Load(os.DirFS(filepath.Join("..", "..")), module)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, p := range pkgs {
		for _, u := range p.Trees {
			used[p.Path+"."+u.Func] = true
		}
	}
	for name := range TreeAllowed {
		if !used[name] {
			t.Errorf("TreeAllowed: %s needs no leave any more: take it out", name)
		}
	}
}

func TestTreeUses(t *testing.T) {
	const head = "package merge\n\nimport \"sigs.k8s.io/kustomize/kyaml/yaml\"\n\n"
	cases := map[string]struct {
		code string
		want []string
	}{
		"a lookup": {
			code: "func get(m *yaml.Node, k string) *yaml.Node {\n\tfor j := 0; j+1 < len(m.Content); j += 2 {\n\t\tif m.Content[j].Value == k {\n\t\t\treturn m.Content[j+1]\n\t\t}\n\t}\n\treturn nil\n}\n",
			want: []string{"internal/merge: a.go:5: get " + walksPairs + " of internal/yamltree"},
		},
		"a lookup over a variable": {
			code: "func get(m *yaml.Node) (n int) {\n\tfor c, i := m.Content, 0; i < len(c); i += 2 {\n\t\tn++\n\t}\n\treturn n\n}\n",
			want: []string{"internal/merge: a.go:5: get " + walksPairs + " of internal/yamltree"},
		},
		"pairs of something else": {
			code: "func odd(kv []string) (out []string) {\n\tfor i := 0; i < len(kv); i += 2 {\n\t\tout = append(out, kv[i])\n\t}\n\treturn out\n}\n",
		},
		"every node": {
			code: "func walk(n *yaml.Node) {\n\tfor i := 0; i < len(n.Content); i++ {\n\t\twalk(n.Content[i])\n\t}\n}\n",
		},
		"an equality": {
			code: "func alike(a, b *yaml.Node) bool { return a.Value == b.Value }\n",
			want: []string{"internal/merge: a.go:5: alike " + comparesTwo + " of internal/yamltree"},
		},
		"an equality of a type": {
			code: "type w struct{}\n\nfunc (w) eq(a *yaml.RNode, b *yaml.RNode, depth int) bool { return a == b }\n",
			want: []string{"internal/merge: a.go:7: eq " + comparesTwo + " of internal/yamltree"},
		},
		"a question about one": {
			code: "func is(n *yaml.Node, key string) bool { return n.Value == key }\n\nfunc two(a, b *yaml.Node) (bool, error) { return false, nil }\n\nfunc three(a, b, c *yaml.Node) bool { return false }\n",
		},
		"an alias": {
			code: "type v struct{ n *yaml.Node }\n\nfunc (x v) follow() {\n\tfor x.n.Kind == yaml.AliasNode {\n\t\tx.n = x.n.Alias\n\t}\n}\n",
			want: []string{"internal/merge: a.go:7: follow " + followsAlias + " of internal/yamltree"},
		},
		"an alias that is set": {
			code: "func to(a, n *yaml.Node) { a.Alias = n.Alias }\n",
		},
		"all at once, at an allowed place": {
			code: "func equal(a, b *yaml.Node) bool {\n\ta = a.Alias\n\tfor i := 0; i < len(a.Content); i += 2 {\n\t}\n\treturn true\n}\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pkgs, err := Load(fstest.MapFS{"internal/merge/a.go": {Data: []byte(head + tc.code)}}, module)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range Check(pkgs, Placement) {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
