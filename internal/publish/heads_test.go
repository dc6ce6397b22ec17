package publish

import (
	"errors"
	"strings"
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/test/gittest"
)

// A head is one commit upon the branch with the packages of all its Drafts; the same
// Drafts give the same commit, and no push. It moves from where it was, and from
// nowhere else.
func TestPushHeads(t *testing.T) {
	b := newBench(t)
	drafts := func(pkgs ...string) (out []HeadDraft) {
		for _, p := range pkgs {
			c := b.draft(p)
			if b.push(nil, c); c.Err != nil {
				t.Fatal(c.Err)
			}
			out = append(out, HeadDraft{Path: p, Commit: c.Hash})
		}
		b.refresh()
		return out
	}
	list := drafts("apps/shop", "apps/cart", "web")
	const ref = "refs/heads/variform/fleet/k1"
	push := func(old decide.Hash, list []HeadDraft) (decide.Hash, error) {
		h := &Head{Ref: ref, Old: old, Drafts: list, Message: "three packages\n"}
		err := PushHeads(t.Context(), b.repo, []*Head{h})
		b.refresh()
		return h.Commit, err
	}
	first, err := push(decide.Hash{}, list)
	if err != nil || b.git.Refs(t)[ref] != first.String() {
		t.Fatal(first, err)
	}
	if got, want := b.git.Git(t, "log", "-1", "--format=%an %P %s", ref), "Variform "+b.main.String()+" three packages"; got != want {
		t.Errorf("commit %q, want %q", got, want)
	}
	when := func(rev string) string { return b.git.Git(t, "log", "-1", "--format=%ct", rev) }
	if got, want := when(ref), max(when("main"), when(list[0].Commit.String())); got != want {
		t.Errorf("its time is %s, want that of the newest commit in it, %s", got, want)
	}
	for _, d := range list {
		if got, want := b.git.Git(t, "rev-parse", ref+":"+d.Path), b.git.Git(t, "rev-parse", d.Commit.String()+":"+d.Path); got != want {
			t.Errorf("%s is %s, want %s", d.Path, got, want)
		}
	}
	if got := b.git.Git(t, "ls-tree", "-r", "--name-only", ref); got != "README.md\napps/cart/cm.yaml\napps/shop/cm.yaml\nweb/cm.yaml" {
		t.Errorf("files %q", got)
	}
	b.git.Fsck(t)

	pushes := b.server.Count("push")
	if again, err := push(first, list); err != nil || again != first || b.server.Count("push") != pushes {
		t.Errorf("%s, %v, %d pushes", again, err, b.server.Count("push")-pushes)
	}
	if _, err := push(b.main, list[:2]); !errors.Is(err, gitrepo.ErrStale) || b.git.Refs(t)[ref] != first.String() {
		t.Errorf("moved from elsewhere: %v", err)
	}
	second, err := push(first, list[:2])
	if err != nil || second == first || strings.Contains(b.git.Git(t, "ls-tree", "-r", "--name-only", ref), "web/") {
		t.Errorf("%s, %v", second, err)
	}
	if _, err := push(second, nil); err != nil || b.git.Refs(t)[ref] != "" {
		t.Errorf("it stays: %v", err)
	}
	if _, err := push(decide.Hash{}, []HeadDraft{{Path: "web", Commit: decide.Hash{1}}}); err == nil || !strings.Contains(err.Error(), "making "+ref) {
		t.Errorf("a Draft that is not there: %v", err)
	}
	if err := PushHeads(t.Context(), b.repo, nil); err != nil {
		t.Error(err)
	}
}

// A head is what its Drafts make, whoever says that they committed it.
func TestHeadIs(t *testing.T) {
	b := newBench(t)
	h := &Head{Ref: "refs/heads/variform/fleet/k1", Message: "two packages\n"}
	for _, p := range []string{"apps/shop", "web"} {
		c := b.draft(p)
		if b.push(nil, c); c.Err != nil {
			t.Fatal(c.Err)
		}
		h.Drafts = append(h.Drafts, HeadDraft{Path: p, Commit: c.Hash})
	}
	b.refresh()
	if err := PushHeads(t.Context(), b.repo, []*Head{h}); err != nil {
		t.Fatal(err)
	}
	main := b.git.Git(t, "rev-parse", "main")
	other := b.git.Git(t, "commit-tree", "main^{tree}", "-m", "of no branch")
	with := func(file string) string {
		b.git.Git(t, "branch", "-f", "work", h.Commit.String())
		b.git.Commit(t, "work", "x", gittest.Text{file: "a: b\n"})
		return b.git.Git(t, "rev-parse", "work^{tree}")
	}
	commit := func(tree string, parents ...string) string {
		args := []string{"commit-tree", tree, "-m", "two packages"}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return b.git.Git(t, args...)
	}
	tips := map[string]struct {
		tip  string
		want bool
	}{
		"as it was made":        {h.Commit.String(), true},
		"made again":            {commit(h.Commit.String()+"^{tree}", main), true},
		"another file":          {commit(with("web/x.yaml"), main), false},
		"another package":       {commit(with("apps/other/x.yaml"), main), false},
		"a file of no package":  {commit(with("ci.yaml"), main), false},
		"upon another commit":   {commit(h.Commit.String()+"^{tree}", other), false},
		"a merge":               {commit(h.Commit.String()+"^{tree}", main, other), false},
		"upon nothing":          {commit(h.Commit.String() + "^{tree}"), false},
		"without what it holds": {commit("main^{tree}", main), false},
	}
	for name, tt := range tips {
		b.git.Git(t, "update-ref", "refs/heads/tips/"+strings.ReplaceAll(name, " ", "-"), tt.tip)
	}
	for _, moved := range []bool{false, true} {
		if moved {
			b.git.Commit(t, "main", "another package", gittest.Text{"more/cm.yaml": "a: b\n"})
		}
		b.refresh()
		for name, tt := range tips {
			if got, err := h.Is(t.Context(), b.repo, decide.ParseHash(tt.tip)); err != nil || got != tt.want {
				t.Errorf("%s, main moved: %t: %t, %v", name, moved, got, err)
			}
		}
	}
}
