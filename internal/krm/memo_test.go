package krm

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/variform/variform/internal/yamltree"
)

// TestMemoKeepsClonesApart edits clones of one document alike and differently,
// more often than texts are kept, and changes trees after they were written.
func TestMemoKeepsClonesApart(t *testing.T) {
	p, err := Parse([]File{{Path: "cm.yaml", Data: []byte("# top\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # here\n")}})
	if err != nil {
		t.Fatal(err)
	}
	write := func(p *Package) string {
		t.Helper()
		files, err := p.Files()
		if err != nil {
			t.Fatal(err)
		}
		return string(files[0].Data)
	}
	edited := func(value string) *Package {
		t.Helper()
		c := p.Clone()
		if err := c.Resources()[0].SetLabel("l", value); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i := range 5 * memoTexts {
		value := fmt.Sprintf("v%d", i%(memoTexts+1))
		c := edited(value)
		want := "# top\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # here\n  labels:\n    l: " + value + "\n"
		for range 2 {
			if got := write(c); got != want {
				t.Fatalf("round %d:\n%s\nwant\n%s", i, got, want)
			}
		}
		if err := c.Resources()[0].SetLabel("l", "later"); err != nil {
			t.Fatal(err)
		}
		if got := write(c); got == want {
			t.Fatalf("round %d: an edit after writing is not written:\n%s", i, got)
		}
	}
	if p.Resources()[0].doc.memo.texts == nil {
		t.Fatal("no text was kept: the test shows nothing")
	}
}

// TestMemoOfOnce: an edit that no other clone has is not kept.
func TestMemoOfOnce(t *testing.T) {
	p, err := Parse([]File{{Path: "cm.yaml", Data: []byte(cm)}})
	if err != nil {
		t.Fatal(err)
	}
	write := func(value string) {
		c := p.Clone()
		err := c.Resources()[0].SetLabel("l", value)
		if _, ferr := c.Files(); err != nil || ferr != nil {
			t.Fatal(err, ferr)
		}
	}
	for i := range 2 * memoSeen {
		write(fmt.Sprintf("v%d", i))
	}
	m := p.Resources()[0].doc.memo
	if len(m.texts) != 0 || len(m.seen) != memoSeen {
		t.Errorf("%d texts are kept, %d told from new ones", len(m.texts), len(m.seen))
	}
	if write(fmt.Sprintf("v%d", 2*memoSeen-1)); len(m.texts) != 1 {
		t.Errorf("%d texts are kept of what was written twice", len(m.texts))
	}
}

// TestMemoConcurrently writes clones side by side; the race detector watches.
func TestMemoConcurrently(t *testing.T) {
	p, err := Parse([]File{{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := p.Clone()
			err := c.Resources()[0].SetAnnotation("k", fmt.Sprintf("x%d", i%3))
			files, ferr := c.Files()
			want := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {k: x%d}}\n", i%3)
			if err != nil || ferr != nil || string(files[0].Data) != want {
				t.Errorf("%v %v %q, want %q", err, ferr, files[0].Data, want)
			}
		}()
	}
	wg.Wait()
}

// TestPut holds that clones share a tree that was put, and its text, and that an
// edit of one leaves the others.
func TestPut(t *testing.T) {
	p, err := Parse([]File{{Path: "a.yaml", Data: []byte("apiVersion: v1\nkind: A\nmetadata:\n  name: a # kept\nspec: 1\n")}})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Resources()[0]
	tree := yamltree.Copy(r.Node().YNode())
	yamltree.Child(tree, "metadata").Content[1].Value = "b"
	r.Put(tree)
	if !r.Settled() || !r.Dirty() || !r.Changed() || r.Name() != "b" || r.Node().YNode() != tree {
		t.Errorf("%s: not what was put", r.ID())
	}
	twin := p.Clone().Resources()[0]
	text, err := r.Text()
	again, err2 := twin.Text()
	if want := "apiVersion: v1\nkind: A\nmetadata:\n  name: b # kept\nspec: 1\n"; err != nil || err2 != nil || string(text) != want || &text[0] != &again[0] {
		t.Errorf("got %q, and of a clone %q (%v, %v)", text, again, err, err2)
	}
	if err := twin.SetLabel("l", "x"); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Label("l"); ok || twin.Settled() || twin.Name() != "b" || !strings.Contains(twin.String(), "l: x") {
		t.Errorf("the clone is\n%sand the original\n%s", twin, r)
	}
	if r.Replace(nil); r.Dirty() || r.Name() != "a" {
		t.Errorf("%s: not as it was parsed", r.ID())
	}
}
