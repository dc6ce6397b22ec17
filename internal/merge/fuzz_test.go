package merge

import (
	"bytes"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// FuzzDocuments: merging any three texts does not panic, and a merge that
// succeeds obeys the identities and is stable.
func FuzzDocuments(f *testing.F) {
	a := deployment("      containers:\n      - name: a\n        image: a:1 # here\n        ports:\n        - containerPort: 80\n        args: [x, y]\n")
	b := deployment("      containers:\n      - name: a\n        image: a:2\n        ports:\n        - containerPort: 80\n          protocol: TCP\n        args: [x, y, z]\n      - name: b\n")
	c := deployment("      containers:\n      - name: c\n      - name: a\n        image: 'a:1'\n        args: [w, y]\n")
	f.Add([]byte(a), []byte(b), []byte(c))
	f.Add([]byte("a: &x [1]\nb: *x\n"), []byte("a: &x [2]\nb: *x\n"), []byte("a: &x [1]\nb: *x\nc: ~\n"))
	f.Add([]byte("- {a: 1}\n- {a: 2}\n"), []byte("- {a: 1}\n- {a: 3}\n- 4\n"), []byte("- {a: 2}\n- {b: 1}\n"))
	f.Add([]byte("0: []\n"), []byte("0x0: [1]\n"), []byte("a: 1\n00: 0\n"))
	f.Add([]byte("0: []\n"), []byte("0: !0 []\n"), []byte("0: [0]\n"))
	f.Add([]byte("\"0\": 0\n"), []byte("0: 0\n"), []byte("0: !0 [0]\n0x0: [0]\n"))
	f.Add([]byte("0: 0\n"), []byte("0: [0]\n\"0\": 0\n"), []byte("- 0\n"))
	f.Add([]byte("? [a]\n: b\n"), []byte("? [a]\n: c\n"), []byte("<<: {a: b}\na: null\n"))
	f.Fuzz(func(t *testing.T, base, upstream, local []byte) {
		if len(base)+len(upstream)+len(local) > 1<<14 {
			return
		}
		got, _, err := Documents(base, base, local)
		if err == nil && !bytes.Equal(got, local) {
			t.Errorf("merge(base, base, x) is not x: %q", got)
		}
		got, conflicts, err := Documents(base, upstream, base)
		if err == nil {
			if len(conflicts) > 0 {
				t.Errorf("conflicts with untouched local: %v", conflicts)
			}
			if !equalText(t, got, upstream) {
				t.Errorf("merge(base, x, base) is not x: %q", got)
			}
		}
		if got, _, err = Documents(base, upstream, local); err != nil {
			return
		}
		again, _, err := Documents(base, upstream, got)
		if err != nil {
			t.Fatalf("the merged text does not merge again: %v\n%s", err, got)
		}
		if !hasNull(upstream) && !hasTwice(upstream) && !hasTwice(local) && !equalText(t, got, again) {
			t.Errorf("merging again changes something:\n%s\nthen\n%s", got, again)
		}
	})
}

// hasTwice says whether a mapping of a text may have a field twice, by its name
// in a merge (0, "0" and 0x0) or by its value. YAML leaves its meaning open: the
// last counts, as in kpt, which the next merge need not see in the same place.
func hasTwice(data []byte) bool {
	trees, err := parse(data)
	if err != nil {
		return true
	}
	var twice func(*yaml.Node) bool
	twice = func(n *yaml.Node) bool {
		if yamltree.IsMap(n) {
			names := map[string]bool{}
			for k := range yamltree.Fields(n) {
				names[name(k)] = true
			}
			if _, once := yamltree.Keys(n); !once || len(names) < len(n.Content)/2 {
				return true
			}
		}
		return slices.ContainsFunc(n.Content, twice)
	}
	return slices.ContainsFunc(trees, twice)
}

// hasNull says whether a text may have an explicit null. That of a field that
// upstream adds clears what local added there, as in kpt, but is itself there
// after the next merge.
func hasNull(data []byte) bool {
	trees, err := parse(data)
	if err != nil {
		return true
	}
	var null func(*yaml.Node) bool
	null = func(n *yaml.Node) bool {
		if isNull(n) || n.Kind == yaml.AliasNode {
			return true
		}
		for _, c := range n.Content {
			if null(c) {
				return true
			}
		}
		return false
	}
	for _, n := range trees {
		if null(n) {
			return true
		}
	}
	return false
}

func equalText(t *testing.T, a, b []byte) bool {
	t.Helper()
	x, err := parse(a)
	if err != nil {
		t.Fatalf("the merged text does not parse: %v\n%s", err, a)
	}
	y, err := parse(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		p, err1 := expand(x[i])
		q, err2 := expand(y[i])
		if err1 != nil || err2 != nil || !equal(p, q) {
			return false
		}
	}
	return true
}

// FuzzKptfile: merging any three Kptfiles does not panic, keeps what is
// local's, and is stable.
func FuzzKptfile(f *testing.F) {
	head := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n"
	f.Add([]byte(head+"pipeline:\n  mutators:\n  - image: a:v1\n  - image: a:v1\n"), []byte(head+"pipeline:\n  mutators:\n  - image: a:v2\n    name: n\n"),
		[]byte(head+"pipeline:\n  mutators:\n  - image: a:v1\n  - exec: b\n"), true)
	f.Add([]byte(head+"info:\n  readinessGates:\n  - conditionType: x\n"), []byte(head+"upstream:\n  type: git\nstatus:\n  conditions:\n  - type: Rendered\n"),
		[]byte(head+"info: {}\nstatus:\n  conditions:\n  - type: y\n    status: \"True\"\n"), false)
	f.Fuzz(func(t *testing.T, base, upstream, local []byte, follow bool) {
		if len(base)+len(upstream)+len(local) > 1<<14 {
			return
		}
		var nodes [3]*yaml.RNode
		for i, data := range [][]byte{base, upstream, local} {
			trees, err := parse(data)
			if err != nil || len(trees) != 1 || !yamltree.IsMap(trees[0]) {
				return
			}
			nodes[i] = yaml.NewRNode(trees[0])
		}
		before := yamltree.Copy(nodes[2].YNode())
		got, _, err := Kptfile(nodes[0], nodes[1], nodes[2], follow)
		if err != nil {
			return
		}
		if !yamltree.SameText(before, nodes[2].YNode()) {
			t.Error("local was changed")
		}
		l, errL := expand(nodes[2].YNode())
		g, errG := expand(got.YNode())
		if errL != nil || errG != nil {
			return
		}
		for _, field := range []string{"upstream", "upstreamLock"} {
			if !follow && !equal(yamltree.Child(l, field), yamltree.Child(g, field)) {
				t.Errorf("%s is not local's", field)
			}
		}
		// No name and a null are one.
		name, made := yamltree.Path(l, "metadata", "name"), yamltree.Path(g, "metadata", "name")
		if yamltree.IsMap(yamltree.Child(l, "metadata")) && !equal(name, made) && (!yamltree.IsNull(name) || !yamltree.IsNull(made)) {
			t.Error("the name is not local's")
		}
		again, _, err := Kptfile(nodes[0], nodes[1], got, follow)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := expand(again.YNode()); err == nil && !hasNull(upstream) && !hasTwice(upstream) && !hasTwice(local) && !equal(a, g) {
			t.Errorf("merging again changes something:\n%s\nthen\n%s", got.MustString(), again.MustString())
		}
	})
}

// FuzzPackages: merging three one-file packages of any text gives files that
// parse, and leaves the inputs alone.
func FuzzPackages(f *testing.F) {
	f.Add([]byte(configMap("a", "x: 1")), []byte(configMap("a", "x: 2")+"---\n"+configMap("b", "x: 1")), []byte("# head\n"+configMap("a", "x: 3 # c", "", "l: 'q'")))
	f.Add([]byte(custom("  l: [1, 2]\n")), []byte(custom("  l: [1, 2, 3]\n  m: {a: b}\n")), []byte(custom("  l:\n    - 0\n    - 1\n\n    - 2\n")))
	f.Fuzz(func(t *testing.T, base, upstream, local []byte) {
		if len(base)+len(upstream)+len(local) > 1<<14 {
			return
		}
		var pkgs [3]*krm.Package
		for i, data := range [][]byte{base, upstream, local} {
			p, err := krm.Parse([]krm.File{{Path: "a.yaml", Data: data}})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Problems()) > 0 {
				return
			}
			pkgs[i] = p
		}
		res, err := Packages(pkgs[0], pkgs[1], pkgs[2], Options{})
		for i, data := range [][]byte{base, upstream, local} {
			if got, _ := pkgs[i].Read("a.yaml"); !bytes.Equal(got.Data, data) {
				t.Error("an input was changed")
			}
		}
		if err != nil {
			return
		}
		files, err := res.Package.Files()
		if err != nil {
			return // a tree that krm cannot write is an error of its own
		}
		again, err := krm.Parse(files)
		if err != nil || len(again.Problems()) > 0 {
			t.Fatalf("the merged files do not parse: %v %v", err, again.Problems())
		}
		if bytes.Equal(base, upstream) && string(files[0].Data) != string(local) {
			t.Errorf("merge(base, base, x) is not x: %q", files[0].Data)
		}
	})
}
