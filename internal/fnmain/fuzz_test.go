package fnmain

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/yamltree"
)

// seed adds the functions' own test inputs.
func seed(f *testing.F) {
	f.Helper()
	inputs, err := filepath.Glob(filepath.Join(functionsDir, "*", "testdata", "*", "input.yaml"))
	if err != nil || len(inputs) == 0 {
		f.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		f.Add(readFile(f, input))
	}
	for _, in := range []string{
		oneItem, head + item1 + at("a.yaml", "0", "a") + at("../a.yaml", "0", "a"),
		"kind: ResourceList\nitems: [&a {kind: A, metadata: *a}]\n",
		"kind: ResourceList\nitems:\n- kind: A\n  spec:\n" + laughs("    "),
		"kind: ResourceList\nitems:\n- kind: \"A\n- b\"\n# c\n- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a, annotations: {config.kubernetes.io/path: Kptfile}}}\n",
	} {
		f.Add(in)
	}
}

// FuzzCut holds that a list that is read item by item is the list that YAML has.
func FuzzCut(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, in string) {
		c, ok := cut([]byte(in))
		if !ok {
			return
		}
		got := c.parse([]byte(in))
		if got == nil {
			return
		}
		want, err := parseWhole([]byte(in))
		if err != nil {
			t.Fatalf("as a whole it is wrong: %v", err)
		}
		if len(got.items) != len(want.items) || !same(got.config, want.config) {
			t.Fatalf("%d items, want %d, or another functionConfig", len(got.items), len(want.items))
		}
		for i := range want.items {
			if yamltree.Check(want.items[i].node.YNode()) == nil && !same(got.items[i].node, want.items[i].node) {
				t.Fatalf("items[%d] is\n%s, want\n%s", i, got.items[i].node.MustString(), want.items[i].node.MustString())
			}
		}
	})
}

func same(a, b *yaml.RNode) bool {
	if a == nil || b == nil {
		return a == b
	}
	return yamltree.Check(b.YNode()) != nil || yamltree.SameValue(a.YNode(), b.YNode())
}

// FuzzFunctions holds that each function answers each input with a list, that
// it reads what it wrote, and that validate-package changes no item.
func FuzzFunctions(f *testing.F) {
	seed(f)
	names := slices.Sorted(maps.Keys(function.Builtin))
	f.Fuzz(func(t *testing.T, in string) {
		for _, name := range names {
			out, text, code := exec(name, nil, in)
			if code != exitDone && code != exitFailed || strings.Contains(text, "the function broke") {
				t.Fatalf("%s: exit %d: %s", name, code, text)
			}
			if _, err := fn.ParseResourceList([]byte(out)); err != nil {
				t.Fatalf("%s: exit %d, output is no ResourceList: %v\n%s", name, code, err, out)
			}
			if code == exitDone && name == "validate-package" {
				checkUnchanged(t, in, out)
			}
		}
	})
}

func checkUnchanged(t *testing.T, in, out string) {
	t.Helper()
	before, err := parseList([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseList([]byte(out))
	if err != nil {
		t.Fatalf("the output cannot be read: %v\n%s", err, out)
	}
	if len(before.items) != len(after.items) {
		t.Fatalf("%d items became %d:\n%s", len(before.items), len(after.items), out)
	}
	for i := range before.items {
		if !same(after.items[i].node, before.items[i].node) {
			t.Fatalf("items[%d] changed:\n%s", i, out)
		}
	}
}
