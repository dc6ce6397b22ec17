package krm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// A package that is worth several cores is read and written like small ones: each
// file as if it were alone, in order, with each error.
func TestOnCores(t *testing.T) {
	for _, size := range []int{0, bytesPerCore, 100 * bytesPerCore} {
		for _, n := range []int{0, 1, 3, 1000} {
			seen := make([]atomic.Int32, n)
			onCores(n, size, func(i int) { seen[i].Add(1) })
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Fatalf("%d bytes, %d of %d: %d calls", size, i, n, seen[i].Load())
				}
			}
		}
	}
	var list, want []File
	problems := 0
	for i := range 300 {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\ndata:\n  a: \"1\" # kept\n# %s\n", i, strings.Repeat("x", 4*bytesPerCore/300))
		if i%50 == 7 {
			text = "a: ["
			problems++
		}
		list = append(list, File{Path: fmt.Sprintf("f%03d.yaml", (i*7)%300), Data: []byte(text)})
	}
	edited := func(files ...File) []File {
		p, err := Parse(files)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 1 && len(p.Problems()) != problems {
			t.Errorf("%d problems, want %d", len(p.Problems()), problems)
		}
		for _, r := range p.Resources() {
			if n, _ := strconv.Atoi(r.Name()[1:]); n%3 == 0 {
				if _, err := r.Modify(func(root *yaml.Node) error {
					yamltree.SetString(yamltree.Child(root, "data"), nil, "a", r.Name())
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		out, err := p.Files()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := edited(list...)
	for _, f := range list {
		want = append(want, edited(f)...)
	}
	slices.SortFunc(want, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-alone +together:\n%s", d)
	}
}
