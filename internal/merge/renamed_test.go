package merge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// TestKeepIdentities: what a pipeline renamed is marked with the name that its
// upstream knows it by; nothing else is touched.
func TestKeepIdentities(t *testing.T) {
	in := func(file string, docs ...string) string { return "-- " + file + " --\n" + strings.Join(docs, "---\n") }
	cm := func(name string) string { return configMap(name, "x: 1") }
	marked := func(name, was string) string {
		return strings.Replace(cm(name), "metadata:\n", "metadata: # kpt-merge: "+was+"\n", 1)
	}
	secret := func(name string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\n  namespace: ns\n"
	}
	grouped := func(text string) string {
		return strings.Replace(text, "apiVersion: v1", "apiVersion: example.com/v1", 1)
	}
	cases := map[string]struct{ before, after, want string }{
		"nothing renamed":       {in("a.yaml", cm("a"), cm("b")), in("a.yaml", cm("b"), cm("a")), ""},
		"one":                   {in("a.yaml", cm("a")), in("a.yaml", cm("p-a")), in("a.yaml", marked("p-a", "/a"))},
		"all, in order":         {in("a.yaml", cm("a"), cm("b")), in("a.yaml", cm("p-a"), cm("p-b")), in("a.yaml", marked("p-a", "/a"), marked("p-b", "/b"))},
		"one of two":            {in("a.yaml", cm("a"), cm("b")), in("a.yaml", cm("a"), cm("p-b")), in("a.yaml", cm("a"), marked("p-b", "/b"))},
		"with a namespace":      {in("a.yaml", secret("a")), in("a.yaml", secret("p-a")), in("a.yaml", strings.Replace(secret("p-a"), "metadata:", "metadata: # kpt-merge: ns/a", 1))},
		"each kind by itself":   {in("a.yaml", cm("a"), secret("a")), in("a.yaml", secret("p-a"), cm("a")), in("a.yaml", strings.Replace(secret("p-a"), "metadata:", "metadata: # kpt-merge: ns/a", 1), cm("a"))},
		"kinds change places":   {in("a.yaml", cm("a"), secret("b")), in("a.yaml", secret("a"), cm("b")), in("a.yaml", strings.Replace(secret("a"), "metadata:", "metadata: # kpt-merge: ns/b", 1), marked("b", "/a"))},
		"groups change places":  {in("a.yaml", cm("a"), grouped(cm("b"))), in("a.yaml", grouped(cm("a")), cm("b")), in("a.yaml", grouped(marked("a", "/b")), marked("b", "/a"))},
		"each file by itself":   {in("a.yaml", cm("a")) + in("b.yaml", cm("b")), in("a.yaml", cm("a")) + in("b.yaml", cm("p-b")), in("a.yaml", cm("a")) + in("b.yaml", marked("p-b", "/b"))},
		"one came":              {in("a.yaml", cm("a")), in("a.yaml", cm("a"), cm("b")), ""},
		"one renamed, one came": {in("a.yaml", cm("a")), in("a.yaml", cm("p-a"), cm("b")), ""},
		"one went":              {in("a.yaml", cm("a"), cm("b")), in("a.yaml", cm("a")), ""},
		"moved to another file": {in("a.yaml", cm("a")), in("b.yaml", cm("p-a")), ""},
		"marked already":        {in("a.yaml", marked("a", "/first")), in("a.yaml", strings.Replace(marked("p-a", "/first"), "x: 1", "x: 2", 1)), ""},
		"a package's name":      {in("Kptfile", kptfileHead), in("Kptfile", strings.Replace(kptfileHead, "app", "other", 1)), ""},
		"the file's other text stays": {
			in("a.yaml", "# head\n"+cm("a")), in("a.yaml", "# head\n\n"+cm("p-a")+"# foot\n"), in("a.yaml", "# head\n\n"+marked("p-a", "/a")+"# foot\n"),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := pkg(t, tc.before), pkg(t, tc.after)
			got, err := KeepIdentities(before, after)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if got != after {
					t.Errorf("another package came back:\n%s", textOf(t, got))
				}
				return
			}
			if diff := cmp.Diff(tc.want, textOf(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.after, textOf(t, after)); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
		})
	}
}

// TestRenamedByPipeline: the marks are what a later merge finds a resource by.
func TestRenamedByPipeline(t *testing.T) {
	base, upstream := "-- a.yaml --\n"+configMap("a", "x: 1"), "-- a.yaml --\n"+configMap("a", "x: 2")
	rendered, err := KeepIdentities(pkg(t, base), pkg(t, strings.Replace(base, "name: a", "name: p-a", 1)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Packages(pkg(t, base), pkg(t, upstream), rendered, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "-- a.yaml --\n" + strings.Replace(configMap("p-a", "x: 2"), "metadata:", "metadata: # kpt-merge: /a", 1)
	if diff := cmp.Diff(want, textOf(t, res.Package)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAddMergeCommentsToWhatKptMarks: resources that kpt can know again.
func TestAddMergeCommentsToWhatKptMarks(t *testing.T) {
	const id = "    internal.kpt.dev/upstream-identifier: "
	cases := map[string]struct{ in, want string }{
		"a namespace": {
			"-- a.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  namespace: ns\n",
			"-- a.yaml --\napiVersion: apps/v1\nkind: Deployment\nmetadata: # kpt-merge: ns/a\n  name: a\n  namespace: ns\n  annotations:\n" + id + "apps|Deployment|ns|a\n",
		},
		"labels alone": {
			"-- a.yaml --\napiVersion: v1\nkind: List\nmetadata:\n  labels:\n    a: b\n",
			"-- a.yaml --\napiVersion: v1\nkind: List\nmetadata: # kpt-merge: /\n  labels:\n    a: b\n  annotations:\n" + id + "\"|List|default|\"\n",
		},
		"nothing to know it by": {
			"-- a.yaml --\napiVersion: v1\nkind: List\nmetadata:\n  annotations:\n    a: b\n", "-- a.yaml --\napiVersion: v1\nkind: List\nmetadata:\n  annotations:\n    a: b\n",
		},
		"a comment of another kind stays": {
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: # mine\n  name: a\n",
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: # mine\n  name: a\n  annotations:\n" + id + "\"|ConfigMap|default|a\"\n",
		},
		"marked already": {
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: ns/first\n  name: a\n",
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: ns/first\n  name: a\n  annotations:\n" + id + "\"|ConfigMap|ns|first\"\n",
		},
		"lines of Windows": {
			"-- a.yaml --\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: a\r\n  annotations: {}\r\n",
			"",
		},
		"a Kptfile": {"-- Kptfile --\n" + kptfileHead, "-- Kptfile --\n" + kptfileHead},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, tc.in)
			if err := AddMergeComments(p); err != nil {
				t.Fatal(err)
			}
			got := textOf(t, p)
			if tc.want == "" {
				if !strings.Contains(got, "metadata: # kpt-merge: /a\r\n") {
					t.Errorf("got %q", got)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOtherFiles: the files that are no YAML, as kpt syncs them.
func TestOtherFiles(t *testing.T) {
	f := func(name, data string) string { return "-- " + name + " --\n" + data + "\n" }
	cases := map[string]struct {
		base, upstream, local, want string
		conflicts                   int
	}{
		"followed":                  {f("f", "1"), f("f", "2"), f("f", "1"), f("f", "2"), 0},
		"added":                     {"", f("f", "2"), "", f("f", "2"), 0},
		"removed":                   {f("f", "1"), "", f("f", "1"), "", 0},
		"edited":                    {f("f", "1"), f("f", "1"), f("f", "3"), f("f", "3"), 0},
		"edited by both":            {f("f", "1"), f("f", "2"), f("f", "3"), f("f", "3"), 1},
		"edited and removed":        {f("f", "1"), "", f("f", "3"), f("f", "3"), 1},
		"removed locally":           {f("f", "1"), f("f", "2"), "", "", 1},
		"JSON is such a file":       {f("f.json", "{}"), f("f.json", "[]"), f("f.json", "{}"), f("f.json", "[]"), 0},
		"YAML is not":               {f("f.yaml", "a: 1"), f("f.yaml", "a: 2"), f("f.yaml", "a: 1"), f("f.yaml", "a: 1"), 0},
		"nor is yml":                {f("f.yml", "a: 1"), f("f.yml", "a: 2"), f("f.yml", "a: 1"), f("f.yml", "a: 1"), 0},
		"nor a Kptfile":             {f("Kptfile", "a: 1"), f("Kptfile", "a: 2"), f("Kptfile", "a: 1"), f("Kptfile", "a: 1"), 0},
		"in a subpackage it is too": {subpackage("s", "") + f("s/f", "1"), subpackage("s", "") + f("s/f", "2"), subpackage("s", "") + f("s/f", "1"), subpackage("s", "") + f("s/f", "2"), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := OtherFiles(pkg(t, tc.base), pkg(t, tc.upstream), pkg(t, tc.local))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, textOf(t, res.Package)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(res.Conflicts) != tc.conflicts {
				t.Errorf("conflicts: %v, want %d", res.Conflicts, tc.conflicts)
			}
		})
	}
}

// TestConflictTexts: what a person reads of a conflict.
func TestConflictTexts(t *testing.T) {
	id := krm.ID{Kind: "ConfigMap", Name: "a"}
	cases := map[string]struct {
		c               Conflict
		text, undecided string
	}{
		"a field": {
			Conflict{Path: "f", Resource: id, Field: "data.x", Base: "1", Upstream: "2", Local: "3", Winner: Upstream},
			"f: ConfigMap/a: data.x: upstream wins with 2; local was 3", "f: ConfigMap/a: data.x: upstream has 2; local has 3",
		},
		"a deletion": {
			Conflict{Path: "f", Resource: id, Base: "1", Upstream: "", Local: "3", Winner: Local, Fate: KeptThoughRemoved},
			"f: ConfigMap/a: removed upstream, kept for an edit: 3", "f: ConfigMap/a: upstream has (deleted); local has 3",
		},
		"a file": {Conflict{Path: "f", Upstream: "2", Local: "", Winner: Local}, "f: local wins with (deleted); upstream was 2", "f: upstream has 2; local has (deleted)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.text, tc.undecided}, []string{tc.c.String(), tc.c.Undecided()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
