package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddMergeComments(t *testing.T) {
	p := pkg(t, "-- Kptfile --\n"+kptfileHead+"-- a.yaml --\n# head\n"+configMap("a", "x: 1")+"---\n"+configMap("b", "x: 1")+
		"-- flow.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\n-- text.yaml --\n- a\n")
	want := "-- Kptfile --\n" + kptfileHead + "-- a.yaml --\n# head\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: \"|ConfigMap|default|a\"\ndata:\n  x: 1\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /b\n  name: b\n  annotations:\n    internal.kpt.dev/upstream-identifier: \"|ConfigMap|default|b\"\ndata:\n  x: 1\n" +
		"-- flow.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns, annotations: {internal.kpt.dev/upstream-identifier: \"|ConfigMap|ns|c\"}}\n-- text.yaml --\n- a\n"
	for range 2 { // the second time changes nothing
		if err := AddMergeComments(p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, textOf(t, p)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMergeIdentity(t *testing.T) {
	cases := map[string]struct {
		comment, namespace, name string
		ok                       bool
	}{
		"full":         {" # kpt-merge: ns/name", "ns", "name", true},
		"no namespace": {" # kpt-merge: /name", "", "name", true},
		"no slash":     {" # kpt-merge: name", "name", "", false},
		"another":      {" # something", "", "", false},
		"none":         {"", "", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, "-- r.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:"+tc.comment+"\n  name: a\n")
			namespace, got, ok := mergeIdentity(p.Resources()[0].Node().YNode())
			if ok != tc.ok || ok && (namespace != tc.namespace || got != tc.name) {
				t.Errorf("mergeIdentity = %q, %q, %v, want %q, %q, %v", namespace, got, ok, tc.namespace, tc.name, tc.ok)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	cases := map[string]struct{ base, upstream, local, want string }{
		"unchanged":     {"a: 1\n", "a: 1\n", "a:   1 # mine\n", "a:   1 # mine\n"},
		"merged":        {"a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 3\n", "a: 2\nb: 3\n"},
		"several":       {"a: 1\n---\nb: 1\n", "a: 2\n---\nb: 1\n", "a: 1\n---\nb: 3\n", "a: 2\n---\nb: 3\n"},
		"without base":  {"", "a: 1\nb: 2\n", "a: 1\nc: 3\n", "a: 1\nc: 3\nb: 2\n"},
		"wide sequence": {"a:\n  - 1\n", "a:\n  - 1\n  - 2\n", "a:\n  - 0\n  - 1\n", "a:\n  - 0\n  - 1\n  - 2\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, conflicts, err := Documents([]byte(tc.base), []byte(tc.upstream), []byte(tc.local))
			if err != nil || len(conflicts) > 0 {
				t.Fatalf("Documents: %v, %v", conflicts, err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := Documents(nil, []byte("a: 1\n---\nb: 1\n"), []byte("a: 1\n")); err == nil {
		t.Error("different numbers of documents are merged")
	}
	if _, _, err := Documents(nil, []byte("a: [\n"), []byte("a: 1\n")); err == nil {
		t.Error("bad YAML is merged")
	}
}
