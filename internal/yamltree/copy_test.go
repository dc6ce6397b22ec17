package yamltree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestCopy holds that a copy is the same tree and shares nothing: neither nodes
// nor the room behind a list, and aliases stand for the copy's own nodes.
func TestCopy(t *testing.T) {
	n := node(t, "# head\na: &x {b: [1, 2]} # line\nc: *x\nd: [e]\n")
	before := text(t, n)
	c := Copy(n)
	if !SameText(n, c) || text(t, c) != before {
		t.Fatalf("got\n%s", text(t, c))
	}
	if Child(c, "c") != Child(c, "a") || Child(c, "a") == Child(n, "a") {
		t.Error("an alias of the copy must stand for the copy's own node")
	}
	Child(c, "a").Content[1].Content = append(Items(c, "a", "b"), node(t, "3"))
	Child(c, "d").Content = append(Items(c, "d"), String("f"))
	SetString(c, nil, "g", "new")
	if got := text(t, n); got != before {
		t.Errorf("the original became\n%s", got)
	}
	if got, want := text(t, c), "# head\na: &x {b: [1, 2, 3]} # line\nc: *x\nd: [e, f]\ng: new\n"; got != want {
		t.Errorf("the copy became\n%s", got)
	}
	if Copy(nil) != nil || Copy(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{nil}}).Content[0] != nil {
		t.Error("what is missing stays missing")
	}
}

func TestHasAlias(t *testing.T) {
	for s, want := range map[string]bool{"a: &x [b]": false, "a: &x b\nc: [{d: *x}]": true} {
		if HasAlias(node(t, s)) != want {
			t.Errorf("%s: got %v", s, !want)
		}
	}
	if HasAlias(nil) {
		t.Error("nothing has an alias")
	}
}
