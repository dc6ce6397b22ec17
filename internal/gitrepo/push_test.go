package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"

	"github.com/variform/variform/internal/lifecycle"
)

func TestPushAndReadBack(t *testing.T) {
	want := append(files("app", 3),
		krm.File{Path: "bin/run.sh", Mode: krm.Executable, Data: []byte("#!/bin/sh\n")},
		krm.File{Path: "bin-x/a", Data: []byte("sorts between bin and bin/")},
		krm.File{Path: "link", Mode: krm.Symlink, Data: []byte("bin/run.sh")},
		krm.File{Path: "odd names/ä ö \"x\".txt", Data: nil},
	)
	for _, kind := range []string{"path", "file", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			there := gittest.Text{"other/Kptfile": kptfile("other"), "README.md": "hi\n"}
			for i := range 30 { // large enough for a thin pack
				there[fmt.Sprintf("pub-%d/Kptfile", i)] = kptfile("pub")
			}
			base := s.repo.Commit(t, "main", "base", there)
			r := open(t, s.urls[kind])
			b := r.NewBatch()
			c := draft(t, b, "deep/er/app", "packagevariant-1", head(t, r, "main"), want)
			rep := push(t, b)
			if !rep.Atomic || rep.Refs[0].Outcome != Moved {
				t.Errorf("report: %+v", rep)
			}
			s.repo.Fsck(t)
			if got := s.repo.Refs(t)["refs/heads/drafts/deep/er/app/packagevariant-1"]; got != c.Hash.String() {
				t.Errorf("draft is %s, want %s", got, c.Hash)
			}
			if got := s.repo.Git(t, "rev-parse", c.Hash.String()+"^"); got != base {
				t.Errorf("parent is %s, want %s", got, base)
			}
			if got := s.repo.Show(t, c.Hash.String(), "README.md"); got != "hi\n" {
				t.Errorf("a sibling changed: %q", got)
			}

			again := open(t, s.urls[kind])
			ctx := context.Background()
			if err := again.Fetch(ctx, c.Hash); err != nil {
				t.Fatal(err)
			}
			tree, ok, err := again.TreeAt(ctx, c.Hash, "deep/er/app")
			if err != nil || !ok {
				t.Fatalf("TreeAt: %v %v", ok, err)
			}
			pkg, err := again.ReadPackage(ctx, tree)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pkg.Files()
			if err != nil {
				t.Fatal(err)
			}
			sorted, _ := krm.Parse(want)
			wantFiles, _ := sorted.Files()
			if d := cmp.Diff(wantFiles, got, cmp.Transformer("str", func(b []byte) string { return string(b) })); d != "" {
				t.Error(d)
			}
			cs, err := again.Commits(ctx, c.Hash)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c, cs[0]); d != "" {
				t.Errorf("commit differs: %s", d)
			}
			if cs[0].Trailers.Inputs != "sha256:00" || cs[0].Annotations[0].WorkspaceName != "packagevariant-1" {
				t.Errorf("message not read: %+v", cs[0])
			}
		})
	}
}

func TestEmptyRepository(t *testing.T) {
	for _, kind := range []string{"path", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			r := open(t, s.urls[kind])
			if r.Refs().Len() != 0 {
				t.Fatalf("refs: %v", r.Refs().All())
			}
			b := r.NewBatch()
			draft(t, b, "app", "w", nil, files("app", 2))
			push(t, b)
			s.repo.Fsck(t)
			if err := r.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, ok := r.Refs().Branch("drafts/app/w"); !ok {
				t.Errorf("refs: %v", r.Refs().All())
			}
		})
	}
}

func TestPushConditions(t *testing.T) {
	tests := map[string]struct {
		reason string
		update func(head, draft Hash) RefUpdate
		want   error
	}{
		"StaleUpdate": {"the ref has moved since", func(h, d Hash) RefUpdate {
			return RefUpdate{Name: "refs/heads/drafts/old/w", Old: Hash{1}, New: d}
		}, ErrStale},
		"CreateExisting": {"someone made it first", func(h, d Hash) RefUpdate {
			return RefUpdate{Name: "refs/heads/drafts/old/w", New: d}
		}, ErrStale},
		"DeleteMissing": {"someone deleted it first", func(h, d Hash) RefUpdate {
			return RefUpdate{Name: "refs/heads/drafts/gone/w", Old: h}
		}, ErrStale},
		"UpdateMissing": {"someone deleted it first", func(h, d Hash) RefUpdate {
			return RefUpdate{Name: "refs/heads/drafts/gone/w", Old: h, New: d}
		}, ErrStale},
		"FolderClash": {"git cannot hold a and a/b", func(h, d Hash) RefUpdate {
			return RefUpdate{Name: "refs/heads/drafts/old/w/x", New: d}
		}, ErrRejected},
	}
	for name, tc := range tests {
		for _, kind := range []string{"path", "http"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := newSite(t)
				h := s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
				s.repo.Branch(t, "drafts/old/w", h)
				before := s.repo.Refs(t)
				r := open(t, s.urls[kind])
				b := r.NewBatch()
				draft(t, b, "fine", "w", head(t, r, "main"), files("fine", 2))
				c := draftCommit(t, b, "app", "w", head(t, r, "main"), files("app", 2))
				u := tc.update(plumbing.NewHash(h), c.Hash)
				if err := b.Together(u); err != nil {
					t.Fatal(err)
				}
				rep, err := b.Push(context.Background(), PushOptions{})
				if !errors.Is(err, tc.want) {
					t.Fatalf("%s: got %v, want %v", tc.reason, err, tc.want)
				}
				if !strings.Contains(err.Error(), u.Name) || strings.Contains(err.Error(), "fine") {
					t.Errorf("the error does not name the one ref: %v", err)
				}
				if d := cmp.Diff(before, s.repo.Refs(t)); d != "" {
					t.Errorf("something moved: %s", d)
				}
				for _, res := range rep.Refs {
					if res.Outcome != Unmoved {
						t.Errorf("outcome %+v", res)
					}
				}
			})
		}
	}
}

// A ref that moves after the server's first answer: the server itself refuses,
// blames every ref, and we find the one.
func TestLostRaceDuringPush(t *testing.T) {
	s := newSite(t)
	h := s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	s.repo.Branch(t, "drafts/a/w", h)
	theirs := s.repo.CommitFrom(t, "side", h, "theirs", gittest.Text{"a/x": "1"})
	r := open(t, s.urls["http"])
	s.srv.Before(func(kind, _ string) {
		if kind == gittest.Push {
			s.repo.Branch(t, "drafts/a/w", theirs)
		}
	})
	b := r.NewBatch()
	draft(t, b, "new", "w", head(t, r, "main"), files("new", 2))
	c := draftCommit(t, b, "a", "w", head(t, r, "main"), files("a", 2))
	if err := b.Update("refs/heads/drafts/a/w", plumbing.NewHash(h), c.Hash); err != nil {
		t.Fatal(err)
	}
	_, err := b.Push(context.Background(), PushOptions{})
	var stale *StaleError
	if !errors.As(err, &stale) {
		t.Fatalf("got %v, want a StaleError", err)
	}
	want := []StaleRef{{Name: "refs/heads/drafts/a/w", Expected: plumbing.NewHash(h), Actual: plumbing.NewHash(theirs)}}
	if d := cmp.Diff(want, stale.Refs); d != "" {
		t.Error(d)
	}
	if _, ok := s.repo.Refs(t)["refs/heads/drafts/new/w"]; ok {
		t.Error("a part of the push landed")
	}
	if ref, _ := r.Refs().Branch("drafts/a/w"); ref.Hash.String() != theirs {
		t.Error("the snapshot was not read again")
	}
}

func TestHookRefuses(t *testing.T) {
	for _, kind := range []string{"http"} { // those of local repositories: TestLocalHooks
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			s.repo.Hook(t, "pre-receive", `printf 'drafts\302\233 need\342\200\256 a ticket\n' >&2; exit 1`) // what steers a terminal is dropped
			before := s.repo.Refs(t)
			r := open(t, s.urls[kind])
			b := r.NewBatch()
			draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
			draft(t, b, "bpp", "w", head(t, r, "main"), files("bpp", 2))
			rep, err := b.Push(context.Background(), PushOptions{})
			var rejected *RejectedError
			if !errors.As(err, &rejected) || !strings.Contains(err.Error(), "drafts need a ticket") {
				t.Fatalf("got %v, want the hook's words", err)
			}
			if len(rejected.Refs) != 2 || !strings.Contains(strings.Join(rep.Messages, "\n"), "drafts need a ticket") {
				t.Errorf("refs %v, messages %q", rejected.Refs, rep.Messages)
			}
			if d := cmp.Diff(before, s.repo.Refs(t)); d != "" {
				t.Errorf("something moved: %s", d)
			}
		})
	}
}

func TestRacingPushersOneWinner(t *testing.T) {
	for _, kind := range []string{"path", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			const n = 8
			errs := make([]error, n)
			var wg sync.WaitGroup
			for i := range n {
				r := open(t, s.urls[kind])
				b := r.NewBatch()
				base := head(t, r, "main")
				c := draftCommit(t, b, "app", "w", base, files(fmt.Sprintf("app-%d", i), 3))
				if err := errors.Join(b.Create(lifecycle.DraftRef("app", "w"), c.Hash), b.Create(fmt.Sprintf("refs/heads/drafts/own-%d/w", i), c.Hash)); err != nil {
					t.Fatal(err)
				}
				wg.Add(1)
				go func() {
					defer wg.Done()
					_, errs[i] = b.Push(context.Background(), PushOptions{})
				}()
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else if !errors.Is(err, ErrStale) {
					t.Errorf("a loser got %v, want ErrStale", err)
				}
			}
			if refs := s.repo.Refs(t); won != 1 || len(refs) != 3 {
				t.Errorf("%d winners, refs %v", won, refs)
			}
			s.repo.Fsck(t)
		})
	}
}

func TestServerDiesDuringPush(t *testing.T) {
	for _, after := range []int64{0, 100, 700, 3000} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			before := s.repo.Refs(t)
			r := open(t, s.urls["http"])
			b := r.NewBatch()
			for i := range 40 {
				p := fmt.Sprintf("app-%02d", i)
				draft(t, b, p, "w", head(t, r, "main"), files(p, 5))
			}
			s.srv.DropPushAfter(after)
			_, err := b.Push(context.Background(), PushOptions{})
			var unknown *UnknownOutcomeError
			if !errors.As(err, &unknown) || len(unknown.Unmoved) != 40 {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(before, s.repo.Refs(t)); d != "" {
				t.Errorf("half done: %s", d)
			}
			push(t, b) // the same batch again completes
			s.repo.Fsck(t)
		})
	}
}

func TestLostAnswerIsFoundOut(t *testing.T) {
	for name, order := range map[string]func(*gittest.Server){
		"DroppedReply": (*gittest.Server).DropPushReply,
		"EmptyReply":   (*gittest.Server).EmptyPushReply,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			r := open(t, s.urls["http"])
			b := r.NewBatch()
			draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
			order(s.srv)
			rep, err := b.Push(context.Background(), PushOptions{})
			if err != nil || rep.Refs[0].Outcome != Moved {
				t.Fatalf("the push had landed: %v %+v", err, rep)
			}
			if s.srv.Count(gittest.Push) != 1 {
				t.Errorf("pushed %d times", s.srv.Count(gittest.Push))
			}
		})
	}
}

func TestPushInParts(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	base := head(t, r, "main")
	for i := range 7 {
		p := fmt.Sprintf("app-%02d", i)
		c := draftCommit(t, b, p, "w", base, files(p, 5))
		if err := b.Together(RefUpdate{Name: lifecycle.DraftRef(p, "w"), New: c.Hash}, RefUpdate{Name: lifecycle.ProposedRef(p, "w"), New: c.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Push(context.Background(), PushOptions{MaxRefsPerPush: 5}); err != nil {
		t.Fatal(err)
	}
	if n := s.srv.Count(gittest.Push); n != 4 { // 4, 4, 4 and 2 refs: no group is cut
		t.Errorf("%d pushes", n)
	}
	s.repo.Fsck(t)
}

func TestNotAtomicServer(t *testing.T) {
	s := newSite(t)
	s.repo.Git(t, "config", "receive.advertiseAtomic", "false")
	h := s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	s.repo.Hook(t, "update", `case "$1" in */bad/*) exit 1;; esac`)
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	draft(t, b, "bad", "w", head(t, r, "main"), files("bad", 2))
	draft(t, b, "good", "w", head(t, r, "main"), files("good", 2))
	if _, err := b.Push(context.Background(), PushOptions{RequireAtomic: true}); !errors.Is(err, ErrUnsupported) {
		t.Fatalf("RequireAtomic: got %v", err)
	}
	rep, err := b.Push(context.Background(), PushOptions{})
	if !errors.Is(err, ErrRejected) || rep.Atomic {
		t.Fatalf("got %v, %+v", err, rep)
	}
	if rep.Refs[0].Outcome != Unmoved || rep.Refs[1].Outcome != Moved {
		t.Errorf("outcomes: %+v", rep.Refs)
	}
	if len(s.repo.Refs(t)) != 2 {
		t.Errorf("refs: %v (main %s)", s.repo.Refs(t), h)
	}
}

func TestLifecycleMoves(t *testing.T) {
	reason := "propose is an empty pack, delete alone none; approvals chain on main within one push"
	for _, kind := range []string{"path", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"old/Kptfile": kptfile("old"), "x/y/z/Kptfile": kptfile("z")})
			r := open(t, s.urls[kind])
			b := r.NewBatch()
			base := head(t, r, "main")
			var drafts []*Commit
			const n = 60
			for i := range n {
				p := fmt.Sprintf("app-%03d", i)
				drafts = append(drafts, draft(t, b, p, "w", base, files(p, 3)))
			}
			push(t, b)

			b = r.NewBatch()
			if err := b.Together(RefUpdate{Name: lifecycle.ProposedRef("app-000", "w"), New: drafts[0].Hash}, RefUpdate{Name: lifecycle.DraftRef("app-000", "w"), Old: drafts[0].Hash}); err != nil {
				t.Fatal(err)
			}
			if rep := push(t, b); rep.Objects != 0 {
				t.Errorf("%s: sent %d objects", reason, rep.Objects)
			}

			b = r.NewBatch()
			ctx := context.Background()
			tip := base
			var hashes []Hash
			for _, d := range drafts {
				hashes = append(hashes, d.Hash)
			}
			if err := r.Fetch(ctx, hashes...); err != nil {
				t.Fatal(err)
			}
			for i, d := range drafts {
				p := fmt.Sprintf("app-%03d", i)
				tree, ok, err := r.TreeAt(ctx, d.Hash, p)
				if err != nil || !ok {
					t.Fatal(err)
				}
				c, err := b.Commit(ctx, CommitSpec{Root: tip.Tree, Path: p, PackageTree: tree, Parents: []Hash{tip.Hash, d.Hash}, Author: machine, Message: "approve"})
				if err != nil {
					t.Fatal(err)
				}
				tip = c
				if err := b.Create(lifecycle.PublishedRef(p, 1), c.Hash); err != nil {
					t.Fatal(err)
				}
			}
			c, err := b.Commit(ctx, CommitSpec{Root: tip.Tree, Path: "x/y/z", Parents: []Hash{tip.Hash}, Author: machine, Message: "delete"})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Update("refs/heads/main", base.Hash, c.Hash); err != nil {
				t.Fatal(err)
			}
			push(t, b)
			s.repo.Fsck(t)
			ls := strings.Split(s.repo.Git(t, "ls-tree", "--name-only", "main"), "\n")
			if len(ls) != n+1 || strings.Contains(strings.Join(ls, " "), "x") {
				t.Errorf("main holds %v", ls)
			}
			if got := s.repo.Show(t, "app-007/v1", "app-007/Kptfile"); got != kptfile("app-007") {
				t.Errorf("published: %q", got)
			}

			b = r.NewBatch()
			if err := b.Delete(lifecycle.ProposedRef("app-000", "w"), drafts[0].Hash); err != nil {
				t.Fatal(err)
			}
			push(t, b)
			if _, ok := s.repo.Refs(t)[lifecycle.ProposedRef("app-000", "w")]; ok {
				t.Error("not deleted")
			}
		})
	}
}

func TestPackIsSmallAndSound(t *testing.T) {
	s := newSite(t)
	tree := gittest.Text{}
	for i := range 200 {
		tree[fmt.Sprintf("pub-%03d/Kptfile", i)] = kptfile(fmt.Sprintf("pub-%03d", i))
	}
	s.repo.Commit(t, "main", "base", tree)
	r := open(t, s.urls["path"])
	b := r.NewBatch()
	base := head(t, r, "main")
	for i := range 500 {
		p := fmt.Sprintf("app-%03d", i)
		draft(t, b, p, "w", base, files(p, 20))
	}
	rep := push(t, b)
	s.repo.Fsck(t)
	// 500 root trees of 500 entries are 8 MB when whole.
	if rep.Bytes > 1_400_000 {
		t.Errorf("500 drafts are a pack of %d bytes", rep.Bytes)
	}
	t.Logf("500 drafts: %d objects, %d bytes", rep.Objects, rep.Bytes)
}

func TestSendsOnlyWhatIsNew(t *testing.T) {
	for _, kind := range []string{"path", "http"} {
		t.Run(kind, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			r := open(t, s.urls[kind])
			b := r.NewBatch()
			fs := files("app", 20)
			draft(t, b, "app", "w", head(t, r, "main"), fs)
			push(t, b)

			other := open(t, s.urls[kind])
			c := head(t, other, "drafts/app/w")
			b = other.NewBatch()
			fs[3].Data = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: changed\n")
			c2 := draftCommit(t, b, "app", "w", c, fs)
			if err := b.Update(lifecycle.DraftRef("app", "w"), c.Hash, c2.Hash); err != nil {
				t.Fatal(err)
			}
			if rep := push(t, b); rep.Objects != 4 {
				t.Errorf("sent %d objects, want commit, root, package, file", rep.Objects)
			}
			s.repo.Fsck(t)
		})
	}
}

// A server that has lost the delta's base cannot complete a thin pack: it gets
// whole objects, once, and nothing is lost.
func TestBaseNotOnServer(t *testing.T) {
	s := newSite(t)
	tree := gittest.Text{}
	for i := range 20 {
		tree[fmt.Sprintf("pub-%03d/Kptfile", i)] = kptfile("x")
	}
	h := s.repo.Commit(t, "main", "base", tree)
	r := open(t, s.urls["http"])
	base := head(t, r, "main")
	b := r.NewBatch()
	c := draftCommit(t, b, "app", "w", &Commit{Tree: base.Tree}, files("app", 3))
	orphan, err := b.Commit(context.Background(), CommitSpec{Path: "app", Root: base.Tree, PackageTree: b.mustTree(t, files("app", 3)), Author: machine, Message: "orphan"})
	if err != nil {
		t.Fatal(err)
	}
	_ = c
	if err := b.Create(lifecycle.DraftRef("app", "w"), orphan.Hash); err != nil {
		t.Fatal(err)
	}
	// The base goes away between reading and pushing; its blobs stay in our pack only in part.
	s.repo.Git(t, "update-ref", "-d", "refs/heads/main", h)
	s.repo.Git(t, "gc", "--prune=now", "-q")
	if _, err = b.Push(context.Background(), PushOptions{}); err == nil {
		t.Fatal("pushed onto nothing")
	}
	if !errors.Is(err, ErrRejected) || s.srv.Count(gittest.Push) != 2 {
		t.Errorf("%d pushes: %v", s.srv.Count(gittest.Push), err)
	}
	if refs := s.repo.Refs(t); len(refs) != 0 {
		t.Errorf("refs %v", refs)
	}
}

func (b *Batch) mustTree(t *testing.T, fs []krm.File) Hash {
	t.Helper()
	h, err := b.PackageTree(fs)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestBatchRefuses(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"file": "x"})
	r := open(t, repo.Dir)
	root := head(t, r, "main").Tree
	b := r.NewBatch()
	tests := map[string]struct {
		reason string
		do     func() error
	}{
		"DotDot":     {"leaves the package", func() error { _, err := b.PackageTree([]krm.File{{Path: "../x"}}); return err }},
		"GitDir":     {"is git's", func() error { _, err := b.PackageTree([]krm.File{{Path: "a/.GIT/hooks/x"}}); return err }},
		"Absolute":   {"not relative", func() error { _, err := b.PackageTree([]krm.File{{Path: "/x"}}); return err }},
		"Twice":      {"one path", func() error { _, err := b.PackageTree([]krm.File{{Path: "x"}, {Path: "x"}}); return err }},
		"FileFolder": {"x and x/y", func() error { _, err := b.PackageTree([]krm.File{{Path: "x"}, {Path: "x/y"}}); return err }},
		"FolderFile": {"x-1 sorts between", func() error {
			_, err := b.PackageTree([]krm.File{{Path: "x/y"}, {Path: "x-1"}, {Path: "x"}})
			return err
		}},
		"OntoFile": {"a file is there", func() error {
			_, err := b.Commit(context.Background(), CommitSpec{Root: root, Path: "file/pkg", PackageTree: root, Author: machine})
			return err
		}},
		"UnsafePath": {"leaves the repository", func() error {
			_, err := b.Commit(context.Background(), CommitSpec{Root: root, Path: "a/../../b", PackageTree: root, Author: machine})
			return err
		}},
		"BadRef":   {"git's rules", func() error { return b.Create("refs/heads/a..b", root) }},
		"OtherRef": {"only heads and tags", func() error { return b.Create("refs/pull/1", root) }},
		"TwiceRef": {"ambiguous", func() error { return errors.Join(b.Create("refs/heads/t", root), b.Create("refs/heads/t", root)) }},
		"NoSuchBase": {"cannot graft", func() error {
			_, err := b.Commit(context.Background(), CommitSpec{Root: Hash{9}, Path: "a", PackageTree: root, Author: machine})
			return err
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tc.do(); err == nil {
				t.Errorf("accepted, though %s", tc.reason)
			}
		})
	}
}

// A Published revision's tag is made and goes, and never moves; other tags do.
func TestPublishedTagsNeverMove(t *testing.T) {
	a, b := Hash{1}, Hash{2}
	for name, c := range map[string]struct {
		update RefUpdate
		moves  bool
	}{
		"made":             {RefUpdate{Name: "refs/tags/app/v1", New: a}, true},
		"gone":             {RefUpdate{Name: "refs/tags/app/v1", Old: a}, true},
		"moved":            {RefUpdate{Name: "refs/tags/app/v1", Old: a, New: b}, false},
		"moved, in folder": {RefUpdate{Name: "refs/tags/eu/app/v12", Old: a, New: b}, false},
		"left":             {RefUpdate{Name: "refs/tags/app/v1", Old: a, New: a}, true},
		"a floating tag":   {RefUpdate{Name: "refs/tags/app/stable", Old: a, New: b}, true},
		"a semver tag":     {RefUpdate{Name: "refs/tags/app/v1.2.3", Old: a, New: b}, true},
		"no package's tag": {RefUpdate{Name: "refs/tags/v1", Old: a, New: b}, true},
		"a branch":         {RefUpdate{Name: "refs/heads/app/v1", Old: a, New: b}, true},
	} {
		err := (&Batch{refs: map[string]bool{}}).Together(c.update)
		if (err == nil) != c.moves {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBlames(t *testing.T) {
	const web, db = "refs/tags/web/v1", "refs/tags/db/v1"
	all := func(message string) []RefMessage { return []RefMessage{{db, message}, {web, message}} }
	for name, c := range map[string]struct {
		reason  string
		err     RejectedError
		web, db bool
	}{
		"one of them":         {"git says so", RejectedError{Refs: []RefMessage{{db, "hook declined"}, {web, "atomic push failure"}}}, false, true},
		"told before sending": {"the others are not told of", RejectedError{Refs: []RefMessage{{db, "is in the way"}}}, false, true},
		"all":                 {"whatever for", RejectedError{Refs: all("pre-receive hook declined")}, true, true},
		"all, one named":      {"by the hook", RejectedError{Refs: all("pre-receive hook declined"), Message: "no: " + db + "."}, false, true},
		"another named":       {"of a like name", RejectedError{Refs: all("pre-receive hook declined"), Message: "no: " + db + "0"}, true, true},
	} {
		if got := [2]bool{c.err.Blames("refs/heads/main", web), c.err.Blames(db)}; got != [2]bool{c.web, c.db} {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
	}
}
