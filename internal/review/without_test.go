package review

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// Each edit goes alone, and all others stay; what is bound up with another one is
// refused.
func TestWithout(t *testing.T) {
	const list = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: list # by Ann\ndata:\n  a: one\nitems: [a, b, c]\nkeyed:\n- name: x\n  v: 1\n- name: y\n  v: 2\n"
	before := pkg(t, map[string]string{
		"deploy.yaml": deployment, "list.yaml": list, "notes.txt": "one\n", "old.txt": "old\n",
		"gone.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: gone\n", "style.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata: {a: b}\n",
	})
	after := pkg(t, map[string]string{
		"deploy.yaml": edited(edited(edited(deployment, "replicas: 1", "replicas: 5\n  paused: true"), "web:v1", "web:v9"), "  name: web\nspec", "  name: web\n  labels: {a: b}\nspec"),
		"list.yaml":   edited(edited(edited(edited(list, "[a, b, c]", "[a, c, d]"), "  v: 2", "  v: 3"), "- name: x\n  v: 1\n", ""), "by Ann", "by Bo"),
		"notes.txt":   "two\n", "new.txt": "new\n", "style.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  a: b\n",
		"more.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: more\n",
	})
	all, err := Edits(before, after)
	if err != nil || len(all) < 13 {
		t.Fatal(all, err)
	}
	var together []string
	for _, e := range all {
		out, err := Without(before, after, e)
		if errors.Is(err, errTogether) {
			together = append(together, e.what())
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.what(), err)
			continue
		}
		left, err := Edits(before, out)
		if err != nil || slices.Contains(left, e) || len(left) != len(all)-1 {
			t.Errorf("%s: left are %v, %v", e.what(), left, err)
		}
	}
	if got := strings.Join(together, "; "); got != "" {
		t.Errorf("not alone: %s", got)
	}
	out, err := Without(before, after, all...)
	if same, e := krm.SameContent(before, out); err != nil || e != nil || !same {
		t.Errorf("without all of them it is not what it was: %v, %v", err, e)
	}
	if _, err := Without(before, after, Edit{File: "deploy.yaml", Resource: "Deployment web", Field: "spec.nosuch", ID: all[0].ID}); err == nil {
		t.Error("what is no edit was taken back")
	}
}

func TestCalled(t *testing.T) {
	edits := []Edit{
		{File: "a.yaml", Resource: "Service a", Field: "spec.type"},
		{File: "a.yaml", Resource: "Service a", Field: "spec.port"},
		{File: "b.yaml", Resource: "Service a", Field: "spec.type"},
		{File: "notes.txt"},
		{File: "c.yaml", Resource: "Service c"},
	}
	for name, want := range map[string]int{
		"Service a spec.port": 1, "spec.port": 1, "b.yaml Service a spec.type": 2, "notes.txt": 3, "Service c": 4, "c.yaml": 4, "b.yaml": 2,
		"Service a spec.type": -1, "spec.type": -1, "a.yaml": -1, "Service a": -1, "spec": -2, "": -2,
	} {
		e, err := Called(edits, name)
		switch {
		case want >= 0 && (err != nil || e != edits[want]):
			t.Errorf("%q: %v, %v", name, e, err)
		case want < 0 && (err == nil || errors.Is(err, ErrNoEdit) != (want == -2)):
			t.Errorf("%q: %v", name, err)
		}
	}
}
