package krm

import (
	"fmt"
	"sync"
	"testing"
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
