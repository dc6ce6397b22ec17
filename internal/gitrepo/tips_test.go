package gitrepo

import (
	"context"
	"errors"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/variform/variform/test/gittest"
)

// TestBehindTips reads what servers, as over ssh, give out only along with what
// refs name.
func TestBehindTips(t *testing.T) {
	server := gittest.NewMemory()
	server.TipsOnly = true
	stored := server.NewRepo("fleet")
	const url = "http://git.test/fleet.git"
	with := func() *Repo { return openWith(t, url, Options{Transport: server}) }

	r := with()
	b := r.NewBatch()
	first := draft(t, b, "app", "w", nil, files("app", 2))
	second := draftCommit(t, b, "app", "w", first, files("app", 3))
	third := draftCommit(t, b, "app", "w", second, files("app", 4))
	if err := b.Create("refs/heads/drafts/app/long", third.Hash); err != nil {
		t.Fatal(err)
	}
	draft(t, b, "other", "w", nil, files("other", 1))
	push(t, b)
	stored.With(func(s *memory.Storage) {
		o := s.NewEncodedObject()
		tag := object.Tag{Name: "noted", Target: third.Hash, TargetType: plumbing.CommitObject, Message: "n\n"}
		if err := tag.Encode(o); err != nil {
			t.Fatal(err)
		}
		annotated, err := s.SetEncodedObject(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []plumbing.ReferenceName{"refs/heads/drafts/app/w", "refs/heads/drafts/app/long"} {
			_ = s.RemoveReference(name)
		}
		_ = s.SetReference(plumbing.NewHashReference("refs/tags/noted", annotated))
	})
	ctx := context.Background()
	t.Run("a commit behind a tag's", func(t *testing.T) {
		r := with()
		if _, err := r.Commits(ctx, third.Hash); err != nil {
			t.Fatal(err)
		}
		if err := r.Fetch(ctx, first.Hash); !errors.Is(err, ErrMissingObject) {
			t.Errorf("nothing that is known leads to it: %v", err)
		}
		if _, err := r.FindAncestors(ctx, []Hash{third.Hash}, 10, func(_ int, c *Commit) bool { return c.Hash == first.Hash }); err != nil {
			t.Fatal(err)
		}
		if err := r.Fetch(ctx, first.Hash, second.Hash); err != nil {
			t.Fatal(err)
		}
		for n, c := range map[int]*Commit{2: first, 3: second} {
			tree, ok, err := r.TreeAt(ctx, c.Hash, "app")
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if fs, err := r.ReadFiles(ctx, tree); err != nil || len(fs) != n {
				t.Errorf("%d files, %v", len(fs), err)
			}
		}
	})
	t.Run("what no ref leads to", func(t *testing.T) {
		gone := plumbing.NewHash("1111111111111111111111111111111111111111")
		if err := with().Fetch(ctx, gone); !errors.Is(err, ErrMissingObject) {
			t.Error(err)
		}
	})
}
