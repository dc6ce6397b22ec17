package krm

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// What is read with the help of a file that is mostly alike is as the parser reads it.
func TestReadLike(t *testing.T) {
	const one = "---\n# One\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: x # left\n  b: \"1\"\n"
	const two = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  c: |\n    x\n    y\n"
	parse := func(text string) *Package {
		t.Helper()
		p, err := Parse([]File{{Path: "f.yaml", Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	same := func(p *Package, text string) {
		t.Helper()
		f, _ := p.Read("f.yaml")
		if string(f.Data) != text {
			t.Errorf("got\n%s\nwant\n%s", f.Data, text)
		}
		got, want := p.Resources(), parse(text).Resources()
		for i := range want {
			if len(got) != len(want) || !sameNodes(got[i].document(), want[i].document()) || got[i].Line() != want[i].Line() {
				t.Fatalf("resource %d is not as it is parsed in\n%s", i, text)
			}
		}
	}
	for reason, text := range map[string]string{
		"words":           strings.Replace(one, "x # left", "z # right", 1) + two,
		"another line":    strings.Replace(one, "data:\n", "data:\n  new: line\n", 1) + two,
		"a comment gone":  strings.Replace(one, " # left", "", 1) + two,
		"another order":   two + one,
		"a document more": one + strings.Replace(two, "name: b", "name: d", 1) + two,
		"a document less": two,
		"as it is":        one + two,
	} {
		t.Run(reason, func(t *testing.T) {
			p := parse(one + two)
			if !p.WriteIf(File{Path: "f.yaml", Data: []byte(text)}, parse(strings.ReplaceAll(one+two, `"1"`, `"2"`)), func(_, _ []*Resource) bool { return true }) {
				t.Fatal("it was not written")
			}
			same(p, text)
		})
	}
	for reason, tc := range map[string]struct{ text, value, want string }{
		"the value is there": {"# Two\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: x # left\n  b: \"1\"\n", "x", "---\n# Two\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: x # left\n  b: \"1\"\n"},
		"it is written":      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  # more\n  a: x # left\n  b: \"1\"\n", "z", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  # more\n  a: z # left\n  b: \"1\"\n"},
	} {
		t.Run(reason, func(t *testing.T) {
			p := parse(one + two)
			r := p.Resources()[0]
			tree := parse(one).Resources()[0].Edit()
			if err := tree.PipeE(yaml.Lookup("data"), yaml.SetField("a", yaml.NewStringRNode(tc.value))); err != nil {
				t.Fatal(err)
			}
			tree.Field("data").Value.Field("a").Value.YNode().LineComment = "# left"
			if changed, ok := r.PutText([]byte(tc.text), tree.YNode()); !changed || !ok {
				t.Fatalf("changed: %t, written: %t", changed, ok)
			}
			if err := p.Reread(); err != nil {
				t.Fatal(err)
			}
			same(p, tc.want+two)
		})
	}
	t.Run("nothing changes", func(t *testing.T) {
		p := parse(one + two)
		r := p.Resources()[0]
		if changed, ok := r.PutText([]byte(strings.TrimPrefix(one, "---\n")), parse(one).Resources()[0].Node().YNode()); changed || !ok || p.Dirty() {
			t.Errorf("changed: %t, written: %t", changed, ok)
		}
	})
}
