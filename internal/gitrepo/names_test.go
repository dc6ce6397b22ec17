package gitrepo

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/gittest"
	"github.com/variform/variform/internal/krm"
)

// A file that stands in many packages is named once, and one of other bytes, or of fewer of
// the same, is not taken for it.
func TestNamesOfFiles(t *testing.T) {
	repo := gittest.NewRepo(t)
	r := open(t, repo.Dir)
	s := r.NewStage()
	defer func() { _ = s.Close() }()
	shared, own := []byte("all: alike\n"), 0
	tree := func(of *Stage) Hash {
		own++
		h, err := of.PackageTree([]krm.File{
			{Path: "empty"}, {Path: "own.yaml", Data: fmt.Appendf(nil, "n: %d\n", own)}, {Path: "shared.yaml", Data: shared}, {Path: "start.yaml", Data: shared[:4]},
		})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	names := &r.store.names
	if tree(s); len(names.of) != 0 {
		t.Errorf("%d names are kept of files that were seen once", len(names.of))
	}
	first := tree(s)
	for _, data := range [][]byte{shared, shared[:4]} {
		if h, known := names.name(data); !known || h != hashObject(plumbing.BlobObject, data) {
			t.Errorf("%q: %s, %t", data, h, known)
		}
	}
	if _, known := names.name(bytes.Clone(shared)); known || len(names.of) != 2 {
		t.Errorf("%d names are kept, and of a copy %t", len(names.of), known)
	}
	own--
	if again := tree(r.NewStage()); again != first {
		t.Errorf("by names that are kept: %s, want %s", again, first)
	}
}

// Names are of bytes that are there: other bytes in their place are others, and what has
// gone is not kept for ever.
func TestNamesAreBounded(t *testing.T) {
	var n blobNames
	for i := range 2 * mostNames {
		data := fmt.Appendf(nil, "%032d", i)
		if h, known := n.name(data); known || h != hashObject(plumbing.BlobObject, data) {
			t.Fatalf("%q is taken for another", data)
		}
		n.keep(data, hashObject(plumbing.BlobObject, data))
		if len(n.of) > mostNames {
			t.Fatalf("%d names are kept", len(n.of))
		}
		if i%1000 == 0 {
			runtime.GC() // what follows may stand in its place
		}
	}
	if n.keep(nil, Hash{}); len(n.of) == 0 {
		t.Error("none is kept")
	}
}
