package krm

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

func parseWith(t *testing.T, c *Cache, files ...File) *Package {
	t.Helper()
	p, err := Parse(files, WithCache(c))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCache: equal files are parsed once, wherever they are, and edits of one
// do not reach another.
func TestCache(t *testing.T) {
	var c Cache
	one := parseWith(t, &c, File{Path: "a.yaml", Data: []byte(cm)}, File{Path: "dir/b.yaml", Data: []byte(cm)})
	other := parseWith(t, &c, File{Path: "c.yaml", Data: []byte(cm)})
	other.Write(File{Path: "d.yaml", Data: []byte(cm)})
	for _, r := range append(one.Resources(), other.Clone().Resources()...) {
		if r.Node().YNode() != one.Resources()[0].Node().YNode() {
			t.Errorf("%s was parsed anew", r.Path())
		}
	}
	if err := one.Resources()[0].SetAnnotation("k", "v"); err != nil {
		t.Fatal(err)
	}
	files, err := one.Files()
	if err != nil || bytes.Equal(files[0].Data, []byte(cm)) || !bytes.Equal(files[1].Data, []byte(cm)) {
		t.Errorf("%v %v", files, err)
	}
	if files, err = other.Files(); err != nil || !bytes.Equal(files[0].Data, []byte(cm)) {
		t.Errorf("%v %v", files, err)
	}
	runtime.KeepAlive(one)
}

// TestCacheOfTheSameAgain: what is read again under its path is known by its bytes, without
// a sum, within its own limits alone.
func TestCacheOfTheSameAgain(t *testing.T) {
	var c Cache
	one := parseWith(t, &c, File{Path: "a.yaml", Data: []byte(cm)})
	c.files = nil // what is known by sums
	again := parseWith(t, &c, File{Path: "a.yaml", Data: []byte(cm)})
	if one.Resources()[0].Node().YNode() != again.Resources()[0].Node().YNode() || len(c.files) > 0 {
		t.Error("it was parsed anew, or looked for by its sum")
	}
	strict, err := Parse([]File{{Path: "a.yaml", Data: []byte(cm)}}, WithCache(&c), WithLimits(Limits{FileSize: 3}))
	if err != nil || len(strict.Problems()) != 1 {
		t.Errorf("%v %v", strict.Problems(), err)
	}
	runtime.KeepAlive(one)
}

// TestCacheKeepsProblemsApart: a broken file is one wherever it is, under its
// own name, and only within its own limits.
func TestCacheKeepsProblemsApart(t *testing.T) {
	var c Cache
	broken := []byte("a: [")
	p := parseWith(t, &c, File{Path: "a.yaml", Data: broken}, File{Path: "b.yaml", Data: broken})
	var got []string
	for _, problem := range p.Problems() {
		got = append(got, problem.Path)
	}
	if diff := cmp.Diff([]string{"a.yaml", "b.yaml"}, got); diff != "" {
		t.Error(diff)
	}
	strict, err := Parse([]File{{Path: "a.yaml", Data: []byte(cm)}}, WithCache(&c), WithLimits(Limits{FileSize: 3}))
	if err != nil || len(strict.Problems()) != 1 {
		t.Errorf("%v %v", strict.Problems(), err)
	}
	if loose := parseWith(t, &c, File{Path: "a.yaml", Data: []byte(cm)}); len(loose.Problems()) > 0 {
		t.Errorf("%v", loose.Problems())
	}
}

// TestCacheOfVersions: of another version of a file only what changed is read anew.
func TestCacheOfVersions(t *testing.T) {
	var c Cache
	const two = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s # %[1]s\n---\n" + cm
	read := func(name string) []*Resource {
		return parseWith(t, &c, File{Path: "a.yaml", Data: fmt.Appendf(nil, two, name)}).Resources()
	}
	a, b := read("a"), read("b")
	if a[0].Name() != "a" || b[0].Name() != "b" || b[0].String() != strings.ReplaceAll(a[0].String(), " a", " b") {
		t.Errorf("got\n%s\nand\n%s", a[0], b[0])
	}
	if a[1].Node().YNode() != b[1].Node().YNode() || a[0].Node().YNode() == b[0].Node().YNode() {
		t.Error("only the document that is as it was is to be shared")
	}
	kind := func(r *Resource) *yaml.Node { return yamltree.Child(r.Node().YNode(), "kind") }
	if kind(a[0]) != kind(b[0]) {
		t.Error("what is as it was in a document that is not is to be shared")
	}
}

// TestCacheForgets: what no package uses any more is let go.
func TestCacheForgets(t *testing.T) {
	var c Cache
	func() {
		for i := range 10 {
			parseWith(t, &c, File{Path: "a.yaml", Data: fmt.Appendf(nil, "%sn: %d\n", cm, i)})
		}
	}()
	left := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.files) + len(c.last)
	}
	for range 100 {
		if runtime.GC(); left() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d files are still held", left())
}

// TestCacheConcurrently parses, edits and writes side by side; the race
// detector watches.
func TestCacheConcurrently(t *testing.T) {
	var c Cache
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			p := parseWith(t, &c, File{Path: fmt.Sprintf("f%d.yaml", i), Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")})
			err := p.Resources()[0].SetAnnotation("k", fmt.Sprintf("x%d", i%3))
			files, ferr := p.Files()
			want := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {k: x%d}}\n", i%3)
			if err != nil || ferr != nil || string(files[0].Data) != want {
				t.Errorf("%v %v, want %q", err, ferr, want)
			}
		})
	}
	wg.Wait()
}
