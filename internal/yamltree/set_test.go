package yamltree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestSet(t *testing.T) {
	order := []string{"a", "b", "c"}
	cases := map[string]struct {
		reason, in, key, want string
		order                 []string
	}{
		"after its predecessor": {"a new key stands where readers look for it", "a: 1\nc: 3\nz: 9\n", "b", "a: 1\nb: x\nc: 3\nz: 9\n", order},
		"before its successor":  {"with no predecessor there", "z: 9\nc: 3\n", "a", "z: 9\na: x\nc: 3\n", order},
		"unknown to the order":  {"at the end", "a: 1\n", "q", "a: 1\nq: x\n", order},
		"into an empty map":     {"flow style opens", "{}\n", "b", "b: x\n", order},
		"existing":              {"place and comment stay", "b: 1 # why\na: 2\n", "b", "b: x # why\na: 2\n", order},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(t, c.in)
			Set(n, c.order, c.key, String("x"))
			if diff := cmp.Diff(c.want, text(t, n)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestEnsureDoesNotWriteThroughAliases(t *testing.T) {
	n := node(t, "a: &x {k: v}\nb: *x\n")
	SetString(Ensure(n, nil, "b"), nil, "k", "changed")
	if got := Text(n, "a", "k"); got != "v" {
		t.Errorf("a.k became %q", got)
	}
	if got := Text(n, "b", "k"); got != "changed" {
		t.Errorf("b.k is %q", got)
	}
	if Ensure(n, nil, "a") == nil || EnsureSeq(n, nil, "a") != nil {
		t.Error("Ensure and EnsureSeq must return nil for other kinds alone")
	}
}

func TestSortBy(t *testing.T) {
	n := node(t, "- {k: b} # second\n- {k: a}\n- {k: b, v: 2}\n")
	SortBy(n, func(c *yaml.Node) string { return Text(c, "k") })
	if diff := cmp.Diff("- {k: a}\n- {k: b} # second\n- {k: b, v: 2}\n", text(t, n)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
