package merge

import (
	"strings"
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

// TestFetchedIsNotEdited: a package that kpt fetched follows deletions of upstream as
// one that was copied does; what somebody wrote into it stays.
func TestFetchedIsNotEdited(t *testing.T) {
	sub := "-- sub/Kptfile --\n" + kptfileHead + "-- sub/s.yaml --\n" + configMap("s", "x: 1")
	base := "-- Kptfile --\n" + kptfileHead + "-- a.yaml --\n" + configMap("a", "x: 1") + "-- b.yaml --\n" + configMap("b", "x: 1") + "---\n" + configMap("c", "x: 1") + sub
	upstream := "-- Kptfile --\n" + kptfileHead + "-- b.yaml --\n" + configMap("b", "x: 1")
	cases := map[string]struct {
		edit func(local string) string
		want []string // resources
	}{
		"untouched": {func(s string) string { return s }, []string{"b"}},
		"edited":    {func(s string) string { return strings.Replace(s, "name: a\n", "name: a\n  labels: {l: m}\n", 1) }, []string{"a", "b"}},
		"another note": {func(s string) string {
			return strings.Replace(s, "    internal.kpt.dev", "    mine: x\n    internal.kpt.dev", 1)
		}, []string{"a", "b"}},
		"edited below":     {func(s string) string { return strings.Replace(s, "name: s\n", "name: s\n  labels: {l: m}\n", 1) }, []string{"b", "s"}},
		"added below":      {func(s string) string { return s + "-- sub/new.yaml --\n" + configMap("new", "x: 1") }, []string{"b", "new", "s"}},
		"text added below": {func(s string) string { return s + "-- sub/new.txt --\nmine\n" }, []string{"b", "s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			local := pkg(t, base)
			if err := AddMergeComments(local); err != nil {
				t.Fatal(err)
			}
			res, err := Packages(pkg(t, base), pkg(t, upstream), pkg(t, tc.edit(textOf(t, local))), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range res.Package.Resources() {
				if r.Kind() != "Kptfile" {
					got = append(got, r.Name())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if kept := len(tc.want) > 1; kept != (len(res.Conflicts) > 0) {
				t.Errorf("conflicts: %v", res.Conflicts)
			}
		})
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
	if got, conflicts, err := Documents([]byte("a: 1\nb: 2\nc: 3\nd: 4\n"), []byte("a: 1\n\nb: 2\nc: 3\nd: 4\n"), []byte("a: 1\nb: 2\nc: 3\n\nd: 4\n")); err != nil || len(conflicts) > 0 || string(got) != "a: 1\n\nb: 2\nc: 3\n\nd: 4\n" {
		t.Errorf("blank lines of both sides: %v, %v\n%s", err, conflicts, got)
	}
}
