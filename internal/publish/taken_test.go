package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/test/gittest"
)

const headBranch = "variform/fleet/k1"

// headBench has Drafts of two packages and a head that is made of them.
func headBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	h := &Head{Ref: "refs/heads/" + headBranch}
	for _, p := range []string{"apps/shop", "web"} {
		c := b.draft(p)
		c.Commit.Tree = b.tree("cm.yaml", settings("1", "1"))
		if b.push(nil, c); c.Err != nil {
			t.Fatal(c.Err)
		}
		h.Drafts = append(h.Drafts, HeadDraft{Path: p, Commit: c.Hash})
	}
	b.refresh()
	h.Message = HeadMessage("2 packages: image 1 → 2", h.Drafts)
	if err := PushHeads(t.Context(), b.repo, []*Head{h}); err != nil {
		t.Fatal(err)
	}
	b.refresh()
	return b
}

func settings(a, b string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: %q\n  b: %q\n", a, b)
}

func (b *bench) takeEdits() (*Taken, error) {
	b.t.Helper()
	b.refresh()
	if main, ok := b.repo.Git.Refs().Branch("main"); ok {
		b.repo.Head = decide.Hash(main.Commit)
	}
	ref, _ := b.repo.Git.Refs().Branch(headBranch)
	return TakeEdits(b.t.Context(), b.repo, ref)
}

// What people committed to a head comes onto its Drafts, each commit as it is, and the
// head is made of them; or all stays where it is, with the reason.
func TestTakeEdits(t *testing.T) {
	const shop, web = "drafts/apps/shop/packagevariant-1", "drafts/web/packagevariant-1"
	edit := func(b *bench, branch, message string, files ...string) string {
		tree := gittest.Text{}
		for i := 0; i < len(files); i += 2 {
			tree[files[i]] = files[i+1]
		}
		return b.git.Commit(b.t, branch, message, tree)
	}
	for name, tt := range map[string]struct {
		do    func(b *bench)
		taken []string // Drafts; nil for none
		left  string   // part of why
		want  map[string]string
	}{
		"nobody committed": {do: func(*bench) {}},
		"two commits": {func(b *bench) {
			edit(b, headBranch, "More\n\nbecause", "web/cm.yaml", settings("1", "2"), "apps/shop/new.txt", "x\n")
			edit(b, headBranch, "Even more", "web/cm.yaml", settings("1", "3"))
		}, []string{"apps/shop", "web"}, "", map[string]string{web + ":web/cm.yaml": settings("1", "3"), shop + ":apps/shop/new.txt": "x\n", shop + ":apps/shop/cm.yaml": settings("1", "1")}},
		"its Draft moved elsewhere": {func(b *bench) {
			edit(b, web, "On the Draft", "web/cm.yaml", settings("7", "1"))
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
		}, []string{"web"}, "", map[string]string{web + ":web/cm.yaml": settings("7", "2")}},
		"another Draft moved": {func(b *bench) {
			edit(b, shop, "On the Draft", "apps/shop/cm.yaml", settings("7", "1"))
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
		}, []string{"web"}, "", map[string]string{shop + ":apps/shop/cm.yaml": settings("7", "1"), web + ":web/cm.yaml": settings("1", "2")}},
		"its Draft has it already": {func(b *bench) {
			edit(b, web, "On the Draft", "web/cm.yaml", settings("1", "2"))
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
		}, []string{}, "", map[string]string{web + ":web/cm.yaml": settings("1", "2")}},
		"its Draft moved there": {do: func(b *bench) {
			edit(b, web, "On the Draft", "web/cm.yaml", settings("1", "7"))
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
		}, left: "and so did its Draft drafts/web/packagevariant-1 since"},
		"its Draft has gone": {do: func(b *bench) {
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
			b.git.Git(b.t, "update-ref", "-d", "refs/heads/"+web)
		}, left: "web has no Draft any more"},
		"another Draft has gone": {func(b *bench) {
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
			b.git.Git(b.t, "update-ref", "-d", "refs/heads/"+shop)
		}, []string{"web"}, "", map[string]string{web + ":web/cm.yaml": settings("1", "2")}},
		"more than packages": {do: func(b *bench) {
			edit(b, headBranch, "All over", "web/cm.yaml", settings("1", "2"), "notes/a.md", "a\n", "README.md", "y\n")
		}, left: "README.md, notes is outside of its packages"},
		"it was merged": {do: func(b *bench) {
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
			b.git.Git(b.t, "update-ref", "refs/heads/main", "refs/heads/"+headBranch)
		}},
		"main was merged into it": {func(b *bench) {
			main := edit(b, "main", "beside", "README.md", "y\n")
			at := edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
			tree := edit(b, "other", "a tree", "README.md", "y\n", "web/cm.yaml", settings("1", "2"), "apps/shop/cm.yaml", settings("1", "1"))
			merge := b.git.Git(b.t, "-c", "user.name=Fay", "-c", "user.email=fay@example.com", "commit-tree", "-p", at, "-p", main, "-m", "Merge main", tree+"^{tree}")
			b.git.Git(b.t, "update-ref", "refs/heads/"+headBranch, merge)
		}, []string{"web"}, "", map[string]string{web + ":web/cm.yaml": settings("1", "2")}},
		"another branch was merged into it": {do: func(b *bench) {
			at := b.git.Refs(b.t)["refs/heads/"+headBranch]
			side := b.git.CommitFrom(b.t, "side", at, "aside", gittest.Text{"web/cm.yaml": settings("1", "2")})
			merge := b.git.Git(b.t, "commit-tree", "-p", at, "-p", side, "-m", "Merge side", side+"^{tree}")
			b.git.Git(b.t, "update-ref", "refs/heads/"+headBranch, merge)
		}, left: "changes web: bring its change onto drafts/web/packagevariant-1 by hand"},
		"a message of Variform's": {do: func(b *bench) {
			edit(b, headBranch, "Picked\n\nVariform-Inputs: sha256:0\n", "web/cm.yaml", settings("1", "2"))
		}, left: "is that of a commit of Variform's"},
		"Variform's commit was made anew": {do: func(b *bench) {
			at := b.git.CommitFrom(b.t, "amended", "main", "Amended", gittest.Text{"web/cm.yaml": settings("1", "2")})
			b.git.Git(b.t, "update-ref", "refs/heads/"+headBranch, at)
		}, left: "commits is Variform's"},
		"another run was there": {do: func(b *bench) {
			edit(b, headBranch, "On the head", "web/cm.yaml", settings("1", "2"))
			b.server.Before(func(kind, _ string) {
				if kind == gittest.Push {
					b.server.Before(nil)
					edit(b, headBranch, "Once more", "web/cm.yaml", settings("1", "3"))
				}
			})
		}, left: "moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := headBench(t)
			tt.do(b)
			before := b.git.Refs(t)
			taken, err := b.takeEdits()
			if err != nil {
				t.Fatal(err)
			}
			after := b.git.Refs(t)
			if tt.taken == nil && tt.left == "" {
				if d := cmp.Diff(before, after); taken != nil || d != "" {
					t.Errorf("%+v %s", taken, d)
				}
				return
			}
			if taken == nil {
				t.Fatal("nothing is said")
			}
			if tt.left != "" {
				delete(before, "refs/heads/"+headBranch)
				delete(after, "refs/heads/"+headBranch)
				if d := cmp.Diff(before, after); d != "" || taken.Err == nil || !strings.Contains(taken.Err.Error(), tt.left) {
					t.Errorf("%v, want %q; -before +after:\n%s", taken.Err, tt.left, d)
				}
				return
			}
			if taken.Err != nil || strings.Join(taken.Drafts, " ") != strings.Join(tt.taken, " ") {
				t.Errorf("%v, %v", taken.Drafts, taken.Err)
			}
			for at, want := range tt.want {
				branch, file, _ := strings.Cut(at, ":")
				for _, of := range []string{branch, headBranch} {
					if got := b.git.Git(t, "show", of+":"+file) + "\n"; got != want {
						t.Errorf("%s of %s:\n%s", file, of, got)
					}
				}
			}
			if got := b.git.Git(t, "log", "-1", "--format=%ce %s", headBranch); got != "variform@variform.dev 2 packages: image 1 → 2" {
				t.Errorf("the head is %s", got)
			}
			if again, err := b.takeEdits(); again != nil || err != nil {
				t.Errorf("once more: %+v, %v", again, err)
			}
			b.git.Fsck(t)
		})
	}
}

// Each commit stays its author's, with its date and message, on each Draft that it
// changes.
func TestTakenCommits(t *testing.T) {
	b := headBench(t)
	b.git.Commit(t, headBranch, "More\n\nbecause of that\n", gittest.Text{"web/cm.yaml": settings("1", "2"), "apps/shop/cm.yaml": settings("1", "2")})
	b.git.Commit(t, headBranch, "Even more", gittest.Text{"web/cm.yaml": settings("1", "3")})
	const format = "--format=%an <%ae> %ad, %cn <%ce> %cd: %s|%b"
	want := b.git.Git(t, "log", "-2", format, headBranch)
	if taken, err := b.takeEdits(); err != nil || taken.Err != nil || !strings.HasPrefix(taken.By, "Ann Tester (") {
		t.Fatalf("%+v, %v", taken, err)
	}
	if got := b.git.Git(t, "log", "-2", format, "drafts/web/packagevariant-1"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := b.git.Git(t, "log", "-2", "--format=%s", "drafts/apps/shop/packagevariant-1"); got != "More\nDraft of apps/shop" {
		t.Errorf("got\n%s", got)
	}
}
