package gitrepo

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/test/gittest"
)

// TestHasLoose asks for objects in files of their own, again and in turn.
func TestHasLoose(t *testing.T) {
	repo := gittest.NewRepo(t)
	a, b := plumbing.NewHash(repo.Commit(t, "main", "a", gittest.Text{"a": "a"})), plumbing.NewHash(repo.Commit(t, "main", "b", gittest.Text{"b": "b"}))
	d := open(t, repo.Dir).objects
	for range 2 {
		for _, h := range []Hash{a, a, b, a, b} {
			if !d.has(h) {
				t.Fatalf("%s is not there", h)
			}
			if d.has(Hash{9}) {
				t.Fatal("what is nowhere is there")
			}
		}
	}
	repo.Git(t, "gc", "-q")
	for _, h := range []Hash{a, b} {
		if _, _, err := d.read(h, 0); err != nil || !d.has(h) {
			t.Errorf("%s, now in a pack: %v", h, err)
		}
	}
}
