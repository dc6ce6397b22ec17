package merge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// in is a file of a package with some documents.
func in(file string, docs ...string) string {
	return "-- " + file + " --\n" + strings.Join(docs, "---\n")
}

// namespaced is a ConfigMap in a namespace, "" for none.
func namespaced(namespace, name, data string) string {
	cm := configMap(name, data)
	if namespace == "" {
		return cm
	}
	return strings.Replace(cm, "  name: "+name+"\n", "  name: "+name+"\n  namespace: "+namespace+"\n", 1)
}

// TestResourcesAreMatched: which resource of one version is which of another.
func TestResourcesAreMatched(t *testing.T) {
	a1, a2, al := configMap("a", "x: 1"), configMap("a", "x: 2"), configMap("a", "x: 1", "l: 1")
	both := configMap("a", "x: 2", "l: 1")
	runCases(t, map[string]mergeCase{
		"no namespace is the default one": {
			base: in("f.yaml", namespaced("", "a", "x: 1")), upstream: in("f.yaml", namespaced("default", "a", "x: 2")), local: in("f.yaml", al),
			want: in("f.yaml", strings.Replace(both, "name: a\n", "name: a\n  namespace: default\n", 1)),
		},
		"and when it moves to another file": {
			base: in("f.yaml", namespaced("default", "a", "x: 1")), upstream: in("f.yaml", namespaced("default", "a", "x: 2")), local: in("g.yaml", al),
			want: in("g.yaml", both),
		},
		"two namespaces are two things": {
			base: in("f.yaml", namespaced("m", "a", "x: 1"), namespaced("z", "a", "x: 1")), upstream: in("f.yaml", namespaced("m", "a", "x: 2"), namespaced("z", "a", "x: 3")),
			local: in("f.yaml", namespaced("z", "a", "x: 1"), namespaced("m", "a", "x: 1")),
			want:  in("f.yaml", namespaced("z", "a", "x: 3"), namespaced("m", "a", "x: 2")),
		},
		"another kind is another thing": {
			base: in("f.yaml", a1), upstream: in("f.yaml", a2), local: in("f.yaml", al, strings.Replace(a1, "ConfigMap", "Other", 1)),
			want: in("f.yaml", both, strings.Replace(a1, "ConfigMap", "Other", 1)),
		},
		"another version of its API is not": {
			base: in("f.yaml", "apiVersion: apps/v1beta1\nkind: X\nmetadata:\n  name: a\nspec: 1\n"), upstream: in("f.yaml", "apiVersion: apps/v1\nkind: X\nmetadata:\n  name: a\nspec: 1\n"),
			local: in("f.yaml", "apiVersion: apps/v1beta1\nkind: X\nmetadata:\n  name: a\nspec: 2\n"), want: in("f.yaml", "apiVersion: apps/v1\nkind: X\nmetadata:\n  name: a\nspec: 2\n"),
		},
		"moved locally while a copy stays": {
			reason: "a resource that is there twice is found at its place only",
			base:   in("f.yaml", a1) + in("g.yaml", a1), upstream: in("f.yaml", a2) + in("g.yaml", a1), local: in("g.yaml", a1) + in("h.yaml", al),
			want: in("g.yaml", a1) + in("h.yaml", al), conflicts: []string{"f.yaml: ConfigMap/a: local wins with (deleted); upstream was {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: 2}}"},
		},
		"given another namespace upstream, edited locally": {
			base: in("f.yaml", namespaced("m", "a", "x: 1")), upstream: in("f.yaml", namespaced("z", "a", "x: 1")), local: in("f.yaml", namespaced("m", "a", "x: 3")),
			want: in("f.yaml", namespaced("z", "a", "x: 3")),
		},
		"without metadata": {
			base: in("f.yaml", "apiVersion: v1\nkind: X\nspec: {a: 1, b: 1}\n"), upstream: in("f.yaml", "apiVersion: v1\nkind: X\nspec: {a: 2, b: 1}\n"),
			local: in("f.yaml", "apiVersion: v1\nkind: X\nspec: {a: 1, b: 3}\n"), want: in("f.yaml", "apiVersion: v1\nkind: X\nspec: {a: 2, b: 3}\n"),
		},
		"renamed upstream by a mark": {
			base: in("f.yaml", a1), upstream: in("f.yaml", strings.Replace(configMap("new", "x: 2"), "metadata:", "metadata: # kpt-merge: /a", 1)), local: in("f.yaml", al),
			want: in("f.yaml", strings.Replace(configMap("new", "x: 2", "l: 1"), "metadata:", "metadata: # kpt-merge: /a", 1)),
		},
	})
}

// TestWholeFilesAndResources: a file that one side left alone is the other
// side's, and what the other moved into or out of it is not there twice.
func TestWholeFilesAndResources(t *testing.T) {
	a1, a2, al := configMap("a", "x: 1"), configMap("a", "x: 2"), configMap("a", "x: 1", "l: 1")
	both, b1 := configMap("a", "x: 2", "l: 1"), configMap("b", "x: 1")
	digestOf := func(text string) string { return fileDigest(&krm.File{Data: []byte(text)}) }
	runCases(t, map[string]mergeCase{
		"moved upstream into a file that is new": {base: in("f.yaml", a1), upstream: in("g.yaml", a2), local: in("f.yaml", al), want: in("g.yaml", both)},
		"moved upstream into a file that was there": {
			base: in("f.yaml", a1) + in("g.yaml", b1), upstream: in("g.yaml", b1, a2), local: in("f.yaml", al) + in("g.yaml", b1), want: in("g.yaml", b1, both),
		},
		"moved upstream into a file that both edited": {
			base: in("f.yaml", a1) + in("g.yaml", b1), upstream: in("g.yaml", b1, a2), local: in("f.yaml", al) + in("g.yaml", configMap("b", "x: 1", "l: 1")),
			want: in("g.yaml", configMap("b", "x: 1", "l: 1"), both),
		},
		"moved upstream, alone in an edited file": {
			base: in("f.yaml", a1, b1), upstream: in("f.yaml", b1) + in("g.yaml", a1), local: in("f.yaml", a1, configMap("b", "x: 1", "l: 1")),
			want: in("f.yaml", configMap("b", "x: 1", "l: 1")) + in("g.yaml", a1),
		},
		"added by both, to other files": {
			base: in("f.yaml", b1), upstream: in("f.yaml", b1, a2), local: in("f.yaml", b1) + in("g.yaml", al),
			want: in("f.yaml", b1, both), conflicts: []string{"f.yaml: ConfigMap/a: both added it: upstream wins with data.x: 2; local was data.x: 1"},
		},
		"deleted locally, in a file that is upstream's": {
			base: in("f.yaml", a1) + in("g.yaml", b1), upstream: in("g.yaml", b1, a1), local: in("g.yaml", b1), want: in("g.yaml", b1),
		},
		"deleted upstream, moved locally": {base: in("f.yaml", a1), upstream: in("g.yaml", b1), local: in("h.yaml", a1), want: in("g.yaml", b1)},
		"deleted upstream, moved and edited locally": {
			base: in("f.yaml", a1), upstream: in("g.yaml", b1), local: in("h.yaml", al), want: in("g.yaml", b1) + in("h.yaml", al),
			conflicts: []string{"h.yaml: ConfigMap/a: removed upstream, kept for an edit: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: 1, l: 1}}"},
		},
		"all of the root deleted upstream, edited locally": {
			base: "-- f --\n1\n", upstream: "", local: "-- f --\n2\n", want: "-- f --\n2\n",
			conflicts: []string{"f: removed upstream, kept for an edit: " + digestOf("2\n") + ""},
		},
		"both added a file, the same":    {base: "", upstream: "-- f --\n1\n", local: "-- f --\n1\n", want: "-- f --\n1\n"},
		"both added a file, another one": {base: "", upstream: "-- f --\n1\n", local: "-- f --\n2\n", want: "-- f --\n2\n", conflicts: []string{"f: local wins with " + digestOf("2\n") + "; upstream was " + digestOf("1\n")}},
		"deleted locally, changed upstream": {
			base: "-- f --\n1\n-- g --\n", upstream: "-- f --\n2\n-- g --\n", local: "-- g --\n", want: "-- g --\n",
			conflicts: []string{"f: local wins with (deleted); upstream was " + digestOf("2\n")},
		},
		"deleted by both":                {base: "-- f --\n1\n-- g --\n", upstream: "-- g --\n", local: "-- g --\n", want: "-- g --\n"},
		"deleted locally, left upstream": {base: "-- f --\n1\n-- g --\n", upstream: "-- f --\n1\n-- g --\n2\n", local: "-- g --\n", want: "-- g --\n2\n"},
		"documents that do not match": {
			base: in("v.yaml", "x: 1\n"), upstream: in("v.yaml", "x: 2\n", "z: 1\n"), local: in("v.yaml", "x: 3\n"), want: in("v.yaml", "x: 3\n"),
			conflicts: []string{"v.yaml: local wins with " + digestOf("x: 3\n") + "; upstream was " + digestOf("x: 2\n---\nz: 1\n")},
		},
		"text in conflict": {
			base: in("v.yaml", "x: 1\n"), upstream: in("v.yaml", "x: 2\n"), local: in("v.yaml", "x: 3\n"), want: in("v.yaml", "x: 2\n"),
			conflicts: []string{"v.yaml: x: upstream wins with 2; local was 3"},
		},
		"added by both as YAML": {base: "", upstream: in("v.yaml", "x: 2\n"), local: in("v.yaml", "z: 3\n"), want: in("v.yaml", "z: 3\nx: 2\n")},
	})
}

// TestSubpackageConflicts: what a conflict about a whole subpackage holds.
func TestSubpackageConflicts(t *testing.T) {
	sub := func(data string) string { return subpackage("sub", "") + "-- sub/f --\n" + data + "\n" }
	cases := map[string]struct {
		upstream, local string
		want            Conflict
	}{
		"deleted locally":  {sub("2") + "-- x --\n", "-- x --\n", Conflict{Path: "sub", Base: "(subpackage)", Upstream: "(changed)", Winner: Local, Fate: Kept}},
		"deleted upstream": {"-- x --\n", sub("2") + "-- x --\n", Conflict{Path: "sub", Base: "(subpackage)", Local: "(changed)", Winner: Local, Fate: KeptThoughRemoved}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := Packages(pkg(t, sub("1")+"-- x --\n"), pkg(t, tc.upstream), pkg(t, tc.local), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Conflict{tc.want}, res.Conflicts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConflictsAreInOrder: by file, and of both sides' files.
func TestConflictsAreInOrder(t *testing.T) {
	all := func(v string) string {
		return in("a.txt", v+"\n") + in("b.yaml", configMap("b", "x: "+v)) + in("c.yaml", configMap("c", "x: "+v)) + in("d.txt", v+"\n")
	}
	res, err := Packages(pkg(t, all("1")), pkg(t, all("2")), pkg(t, all("3")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range res.Conflicts {
		got = append(got, c.Path)
	}
	if diff := cmp.Diff([]string{"a.txt", "b.yaml", "c.yaml", "d.txt"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTwins: one resource twice in one file of a version.
func TestTwins(t *testing.T) {
	a1, a2 := configMap("a", "x: 1"), configMap("a", "x: 2")
	edited := configMap("b", "x: 1", "l: 1")
	b1, b2 := configMap("b", "x: 1"), configMap("b", "x: 2")
	cases := map[string]struct {
		base, upstream, local, want string
		side                        string
	}{
		"in a file that local left alone":   {in("f.yaml", a1, a1), in("f.yaml", a2, a1), in("f.yaml", a1, a1), in("f.yaml", a2, a1), ""},
		"in upstream, alike in base":        {in("f.yaml", a1, a1, b1), in("f.yaml", a1, a1, b2), in("f.yaml", a1, a1, edited), in("f.yaml", a1, a1, configMap("b", "x: 2", "l: 1")), ""},
		"in upstream, alike in local":       {in("f.yaml", a1, b1), in("f.yaml", a1, a2, b1), in("f.yaml", a1, a2, edited), in("f.yaml", a1, a2, edited), ""},
		"in upstream, changed there":        {in("f.yaml", a1, b1), in("f.yaml", a1, a2, b1), in("f.yaml", a1, edited), "", "upstream"},
		"in base, changed upstream":         {in("f.yaml", a1, a2, b1), in("f.yaml", a1, b1), in("f.yaml", a1, edited), "", ""},
		"in all, changed upstream":          {in("f.yaml", a1, a1, b1), in("f.yaml", a1, a2, b1), in("f.yaml", a1, a1, edited), "", "local"},
		"in other files, they are no twins": {in("f.yaml", a1) + in("g.yaml", a1), in("f.yaml", a2) + in("g.yaml", a1), in("f.yaml", configMap("a", "x: 1", "l: 1")) + in("g.yaml", a1), in("f.yaml", configMap("a", "x: 2", "l: 1")) + in("g.yaml", a1), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := Packages(pkg(t, tc.base), pkg(t, tc.upstream), pkg(t, tc.local), Options{})
			var twin *DuplicateError
			if errors.As(err, &twin) {
				for _, part := range []string{"f.yaml", "ConfigMap/a", tc.side} {
					if !strings.Contains(err.Error(), part) || twin.Side != tc.side {
						t.Errorf("got %v, want one that names %s", err, part)
					}
				}
				return
			}
			if err != nil || tc.side != "" {
				t.Fatalf("got %v, want the side %q", err, tc.side)
			}
			if tc.want == "" {
				tc.want = tc.local
			}
			if diff := cmp.Diff(tc.want, textOf(t, res.Package)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryTwinIsNamed: in order of their names, as one error.
func TestEveryTwinIsNamed(t *testing.T) {
	doc := func(name, x string) string { return configMap(name, "x: "+x) }
	base := in("f.yaml", doc("a", "1"), doc("b", "1"))
	upstream := in("f.yaml", doc("a", "2"), doc("b", "2"))
	local := in("f.yaml", doc("b", "1"), doc("b", "1"), doc("a", "1"), doc("a", "1"))
	_, err := Packages(pkg(t, base), pkg(t, upstream), pkg(t, local), Options{})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "ConfigMap/a") || !strings.Contains(lines[1], "ConfigMap/b") {
		t.Errorf("got %v", err)
	}
}

// TestModesOfFiles: the mode of a file is merged beside its content.
func TestModesOfFiles(t *testing.T) {
	file := func(mode krm.Mode, data string) *krm.File {
		return &krm.File{Path: "run.sh", Mode: mode, Data: []byte(data)}
	}
	r, x, l := krm.Regular, krm.Executable, krm.Symlink
	cases := map[string]struct {
		b, u, l, want *krm.File
		conflicts     int
	}{
		"upstream made it executable":              {file(r, "1"), file(x, "1"), file(r, "1"), file(x, "1"), 0},
		"upstream made it executable, local wrote": {file(r, "1"), file(x, "1"), file(r, "2"), file(x, "2"), 0},
		"local made it executable, upstream wrote": {file(r, "1"), file(r, "2"), file(x, "1"), file(x, "2"), 0},
		"local took it back":                       {file(x, "1"), file(x, "2"), file(r, "1"), file(r, "2"), 0},
		"both wrote the same, upstream's mode":     {file(r, "1"), file(x, "2"), file(r, "2"), file(x, "2"), 0},
		"new":                                      {nil, file(x, "1"), nil, file(x, "1"), 0},
		"a link for a file":                        {file(r, "1"), file(l, "1"), file(r, "1"), file(l, "1"), 0},
		"a link for an edited file":                {file(r, "1"), file(l, "1"), file(r, "2"), file(r, "2"), 1},
		"a file for a link that was edited":        {file(l, "1"), file(r, "1"), file(l, "2"), file(l, "2"), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var pkgs [3]*krm.Package
			for i, f := range []*krm.File{tc.b, tc.u, tc.l} {
				var files []krm.File
				if f != nil {
					files = append(files, *f)
				}
				p, err := krm.Parse(files)
				if err != nil {
					t.Fatal(err)
				}
				pkgs[i] = p
			}
			res, err := Packages(pkgs[0], pkgs[1], pkgs[2], Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := res.Package.Read("run.sh")
			if diff := cmp.Diff(*tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(res.Conflicts) != tc.conflicts {
				t.Errorf("conflicts: %v, want %d", res.Conflicts, tc.conflicts)
			}
		})
	}
}

// TestModesOfYAML: of a file with resources, and of YAML without.
func TestModesOfYAML(t *testing.T) {
	for name, text := range map[string]func(x string) string{
		"resources": func(x string) string { return configMap("a", x) },
		"values":    func(x string) string { return x + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			one := func(mode krm.Mode, x string) *krm.Package {
				p, err := krm.Parse([]krm.File{{Path: "a.yaml", Mode: mode, Data: []byte(text(x))}})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			for what, tc := range map[string]struct{ b, u, l, want *krm.Package }{
				"with an edit": {one(krm.Regular, "x: 1"), one(krm.Executable, "x: 1"), one(krm.Regular, "x: 3"), one(krm.Executable, "x: 3")},
				"with both":    {one(krm.Regular, "{x: 1, z: 1}"), one(krm.Executable, "{x: 2, z: 1}"), one(krm.Regular, "{x: 1, z: 3}"), one(krm.Executable, "{x: 2, z: 3}")},
			} {
				if name == "resources" && what == "with both" {
					continue // the data of a ConfigMap is no flow here
				}
				res, err := Packages(tc.b, tc.u, tc.l, Options{})
				if err != nil {
					t.Fatal(err)
				}
				got, _ := res.Package.Read("a.yaml")
				want, _ := tc.want.Read("a.yaml")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// TestStrategiesInSubpackages: what each strategy leaves and takes.
func TestStrategiesInSubpackages(t *testing.T) {
	root := func(name, more string) string {
		return "-- Kptfile --\n" + strings.Replace(kptfileHead, "app", name, 1) + more
	}
	sub := func(x string) string { return subpackage("sub", "") + "-- sub/f --\n" + x + "\n" }
	own := "-- package-context.yaml --\n" + configMap("kptfile.kpt.dev", "name: mine")
	status := "status:\n  renderStatus:\n    errorSummary: none\n  conditions:\n  - type: Rendered\n    status: \"True\"\n"
	oneMore := "  - type: x\n    status: \"True\"\n"
	up, other := "upstream:\n  git:\n    ref: v2\n", "upstream:\n  git:\n    ref: v1\n"
	replace, forward, copied := Options{Strategy: "force-delete-replace"}, Options{Strategy: "fast-forward", Own: []string{"package-context.yaml"}}, Options{Strategy: "copy-merge", Own: []string{"package-context.yaml"}}
	runCases(t, map[string]mergeCase{
		"replace takes subpackages":           {base: root("u", "") + sub("1"), upstream: root("u", "") + sub("2"), local: root("l", "") + sub("3"), want: root("l", "") + sub("2"), options: replace},
		"replace removes subpackages":         {base: root("u", "") + sub("1"), upstream: root("u", ""), local: root("l", "") + sub("3"), want: root("l", ""), options: replace},
		"replace merges the root's Kptfile":   {base: root("u", ""), upstream: root("u", "info:\n  site: u\n"), local: root("l", "pipeline: {}\n"), want: root("l", "pipeline: {}\ninfo:\n  site: u\n"), options: replace},
		"replace follows the upstream":        {base: root("u", ""), upstream: root("u", up), local: root("l", other), want: root("l", up), options: replace},
		"replace has no Kptfile to keep":      {base: "-- f --\n1\n", upstream: root("u", "") + "-- f --\n2\n", local: "-- f --\n3\n", want: root("u", "") + "-- f --\n2\n", options: replace},
		"replace leaves a Kptfile of its own": {base: "-- f --\n1\n", upstream: "-- f --\n2\n", local: root("l", "") + "-- f --\n3\n", want: root("l", "") + "-- f --\n2\n", options: replace},
		"fast-forward":                        {base: root("u", "") + sub("1"), upstream: root("u", "") + sub("2"), local: root("l", "") + own + sub("1"), want: root("l", "") + own + sub("2"), options: forward},
		"fast-forward of what was rendered": {
			base: root("u", ""), upstream: root("u", "info:\n  site: u\n"), local: root("l", status), want: root("l", "info:\n  site: u\n"), options: forward,
		},
		"fast-forward of what was rendered, another condition": {
			base: root("u", "status:\n  conditions:\n"+oneMore), upstream: root("u", "status:\n  conditions:\n"+oneMore+"info:\n  site: u\n"), local: root("l", status+oneMore),
			want: root("l", "status:\n  conditions:\n"+oneMore+"info:\n  site: u\n"), options: forward,
		},
		"fast-forward around a subpackage that follows another upstream": {
			base: root("u", "") + subpackage("sub", "v1") + "-- sub/f --\n1\n", upstream: root("u", "") + subpackage("sub", "v2") + "-- sub/f --\n2\n",
			local: root("l", "") + subpackage("sub", "v9") + "-- sub/f --\n9\n", want: root("l", "") + subpackage("sub", "v9") + "-- sub/f --\n9\n", options: forward,
		},
		"fast-forward without a base": {base: "", upstream: root("u", "") + sub("2"), local: root("l", ""), want: root("l", "") + sub("2"), options: forward},
		"copy takes subpackages": {
			base: root("u", "") + sub("1"), upstream: root("u", "") + sub("2"), local: root("l", "") + sub("1"), want: root("l", "") + sub("2"), options: copied,
		},
		"copy removes what upstream removed": {
			base: root("u", "") + "-- f --\n1\n", upstream: root("u", ""), local: root("l", "") + "-- f --\n1\n-- mine --\n1\n", want: root("l", "") + "-- mine --\n1\n", options: copied,
		},
		"copy tells what is removed with an edit": {
			base: root("u", "") + "-- f --\n1\n", upstream: root("u", ""), local: root("l", "") + "-- f --\n2\n", want: root("l", ""), options: copied,
			conflicts: []string{"f: upstream wins with (deleted); local was " + fileDigest(&krm.File{Data: []byte("2\n")})},
		},
		"copy loses nothing where both have the same": {
			base: root("u", "") + "-- f --\n1\n", upstream: root("u", "") + "-- f --\n2\n", local: root("l", "") + "-- f --\n2\n", want: root("l", "") + "-- f --\n2\n", options: copied,
		},
		"copy replaces a subpackage's Kptfile": {
			base: root("u", "") + sub("1"), upstream: root("u", "") + sub("1"), local: root("l", "") + strings.Replace(sub("1"), "name: sub", "name: mine", 1), want: root("l", "") + sub("1"), options: copied,
		},
		"copy replaces the variant's own file": {
			base: root("u", ""), upstream: root("u", "") + own, local: root("l", "") + strings.Replace(own, "name: mine", "name: other", 1), want: root("l", "") + own, options: copied,
		},
	})
}

// TestFastForwardIsRefused: for each kind of local change, by name and in order.
func TestFastForwardIsRefused(t *testing.T) {
	root := "-- Kptfile --\n" + kptfileHead
	sub := func(x string) string { return subpackage("sub", "") + "-- sub/f --\n" + x + "\n" }
	cases := map[string]struct {
		base, local string
		want        []string
	}{
		"edited":                    {root + "-- f --\n1\n", root + "-- f --\n2\n", []string{"f"}},
		"added and removed":         {root + "-- f --\n1\n", root + "-- a --\n1\n", []string{"a", "f"}},
		"in a subpackage":           {root + sub("1"), root + sub("2"), []string{"sub/f"}},
		"a subpackage's Kptfile":    {root + sub("1"), root + strings.Replace(sub("1"), "name: sub", "name: mine", 1), []string{"sub/Kptfile"}},
		"a function in the Kptfile": {root, root + "pipeline:\n  mutators:\n  - image: a\n", []string{"Kptfile"}},
		"no Kptfile any more":       {root + "-- f --\n1\n", "-- f --\n1\n", []string{"Kptfile"}},
		"the name is its own":       {root, strings.Replace(root, "app", "mine", 1), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Packages(pkg(t, tc.base), pkg(t, tc.base), pkg(t, tc.local), Options{Strategy: "fast-forward"})
			var modified *ModifiedError
			if !errors.As(err, &modified) {
				if err != nil || tc.want != nil {
					t.Fatalf("got %v, want %v", err, tc.want)
				}
				return
			}
			if diff := cmp.Diff(tc.want, modified.Paths); diff != "" || !strings.Contains(err.Error(), strings.Join(tc.want, ", ")) || !strings.Contains(err.Error(), "resource-merge") {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAliasesAreBounded: a document that grows beyond all bounds is an error
// that says so.
func TestAliasesAreBounded(t *testing.T) {
	bomb := "x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < 8; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	plain := yaml.MustParse(kptfileHead)
	for name, versions := range map[string][3]*yaml.RNode{
		"base": {yaml.MustParse(bomb), plain, plain}, "upstream": {plain, yaml.MustParse(bomb), plain}, "local": {plain, plain, yaml.MustParse(bomb)},
	} {
		if _, _, err := Kptfile(versions[0], versions[1], versions[2], false); !errors.Is(err, errExpanded) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := new(doc).merge(nil, versions[0].YNode(), versions[1].YNode(), versions[2].YNode()); !errors.Is(err, errExpanded) || !strings.Contains(err.Error(), name+" version") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n, err := expand(yaml.MustParse("a: &a {x: 1}\nb: *a # why\n").YNode()); err != nil || yaml.NewRNode(n).MustString() != "a: &a {x: 1}\nb: {x: 1} # why\n" {
		t.Errorf("got %v", err)
	}
}

// TestKptfilesOfSubpackages: what becomes of a Kptfile that only some versions
// have.
func TestKptfilesOfSubpackages(t *testing.T) {
	root := "-- Kptfile --\n" + kptfileHead
	kf := func(more string) string { return "-- sub/Kptfile --\n" + subKptfile + more }
	f := func(x string) string { return "-- sub/f --\n" + x + "\n" }
	none := "-- sub/Kptfile --\n- no Kptfile\n"
	runCases(t, map[string]mergeCase{
		"upstream made it a subpackage": {base: root + f("1"), upstream: root + kf("") + f("2"), local: root + f("1"), want: root + kf("") + f("2")},
		"local made it a subpackage":    {base: root + f("1"), upstream: root + f("2"), local: root + kf("") + f("1"), want: root + kf("") + f("2")},
		"local made it none":            {base: root + kf("") + f("1"), upstream: root + kf("info: {}\n") + f("2"), local: root + f("1"), want: root + f("2")},
		"both made it one":              {base: root + f("1"), upstream: root + kf("info:\n  site: u\n") + f("1"), local: root + kf("pipeline: {}\n") + f("1"), want: root + kf("pipeline: {}\ninfo:\n  site: u\n") + f("1")},
		"its name is its own":           {base: root + kf(""), upstream: root + strings.Replace(kf("info:\n  site: u\n"), "name: sub", "name: theirs", 1), local: root + strings.Replace(kf(""), "name: sub", "name: mine", 1), want: root + strings.Replace(kf("info:\n  site: u\n"), "name: sub", "name: mine", 1)},
		"a Kptfile again":               {base: root + none, upstream: root + kf(""), local: root + none, want: root + kf("")},
	})
}

// TestOwnershipIsNotInherited: a package does not take from its upstream whose
// it is, and keeps its own.
func TestOwnershipIsNotInherited(t *testing.T) {
	kf := func(name, value string) string {
		return "-- Kptfile --\n" + strings.Replace(kptfileHead, "name: app\n", "name: app\n  annotations:\n    "+name+": "+value+"\n", 1)
	}
	plain := "-- Kptfile --\n" + kptfileHead
	cases := map[string]mergeCase{}
	for _, name := range []string{"variform.dev/variant", "variform.dev/set", "variform.dev/deletion-policy"} {
		cases[name+", theirs"] = mergeCase{base: plain, upstream: kf(name, "theirs"), local: plain, want: plain}
		cases[name+", gone there"] = mergeCase{base: kf(name, "theirs"), upstream: plain, local: kf(name, "mine"), want: kf(name, "mine")}
	}
	cases["another annotation is"] = mergeCase{base: plain, upstream: kf("a", "theirs"), local: plain, want: kf("a", "theirs")}
	runCases(t, cases)
}

// TestPlacesOfUpstreamFields: a Kptfile gets upstream and upstreamLock where
// Kptfiles have them.
func TestPlacesOfUpstreamFields(t *testing.T) {
	up, lock := "upstream:\n  type: git\n", "upstreamLock:\n  type: git\n"
	for name, tc := range map[string]struct{ upstream, local, want string }{
		"both new":             {up + lock, "info: {}\n", up + lock + "info: {}\n"},
		"behind upstream":      {up + lock, up + "info: {}\n", up + lock + "info: {}\n"},
		"in their place":       {"upstream:\n  type: oci\n", "info: {}\n" + up, "info: {}\nupstream:\n  type: oci\n"},
		"none there":           {"", up + lock, up + lock},
		"the same another way": {"upstream: {type: git}\n", up, up},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := Kptfile(yaml.MustParse(kptfileHead), yaml.MustParse(kptfileHead+tc.upstream), yaml.MustParse(kptfileHead+tc.local), true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(kptfileHead+tc.want, got.MustString()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestShownValues: one line, cut where long, without credentials.
func TestShownValues(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for name, tc := range map[string]struct {
		value, want string
		path        []string
		secret      bool
	}{
		"in flow":                      {value: "a:\n  - b\n  - c # why\n", want: "{a: [b, c]}"},
		"many lines":                   {value: "|\n  one\n  two\n", want: `"one\ntwo\n"`},
		"cut between letters":          {value: "'x" + long + "'", want: "'x" + strings.Repeat("ä", 59) + "…"},
		"an alias":                     {value: "[&a b, *a]", want: "[b, '*a']"},
		"credentials in an address":    {value: "https://me:pw@host/x", want: "https://…@host/x"},
		"no credentials in an address": {value: "https://host/a@b", want: "https://host/a@b"},
		"below a password":             {value: "x", path: []string{"spec", "password"}, want: redacted},
		"the name of a secret":         {value: "x", path: []string{"spec", "secretName"}, want: "x"},
		"a secret's data":              {value: "x", path: []string{"data", "k"}, secret: true, want: redacted},
		"a secret's text":              {value: "x", path: []string{"stringData", "k"}, secret: true, want: redacted},
		"a secret's labels":            {value: "x", path: []string{"metadata", "labels", "k"}, secret: true, want: "x"},
		"another's data":               {value: "x", path: []string{"data", "k"}, want: "x"},
		"a whole secret":               {value: "{kind: Secret, data: {k: x}, stringData: {k: x}, type: Opaque}", secret: true, want: "{kind: Secret, data: (redacted), stringData: (redacted), type: Opaque}"},
		"a field of it":                {value: "{token: x, tokenRef: z, nested: {apiKey: x}}", want: "{token: (redacted), tokenRef: z, nested: {apiKey: (redacted)}}"},
		"a map of such a name":         {value: "{secrets: {a: b}}", want: "{secrets: {a: b}}"},
		"a variable":                   {value: "x", path: []string{"env", "[name=DB_PASSWORD]", "value"}, want: redacted},
		"another variable":             {value: "x", path: []string{"env", "[name=URL]", "value"}, want: "x"},
		"a variable as a whole":        {value: "{name: MY_TOKEN, value: x}", want: "{name: MY_TOKEN, value: (redacted)}"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &doc{path: tc.path, secret: tc.secret}
			if diff := cmp.Diff(tc.want, d.show(yaml.MustParse(tc.value).YNode())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
