package publish

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/test/gittest"
)

// hold is another push that is at a ref of a repository: its lock, until release is called.
func hold(t *testing.T, git *gittest.Repo, ref string) (release func()) {
	t.Helper()
	lock := filepath.Join(git.Dir, filepath.FromSlash(ref)+".lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return func() { _ = os.Remove(lock) }
}

// A ref that another push holds is no refusal: what is lost to it is decided about again.
func TestPushHeld(t *testing.T) {
	b := newBench(t)
	web, db := b.draft("web"), b.draft("db")
	release, asked := hold(t, b.git, draftRef("web")), 0
	p := &Pusher{Stage: b.stage, Again: func(ctx context.Context, git observe.Repository, lost []*Change) ([]*Change, error) {
		if asked++; asked == 2 {
			release()
		}
		return lost, git.Refresh(ctx)
	}}
	p.Push(t.Context(), b.repo.Git, []*Change{web, db})
	if refs := b.git.Refs(t); web.Err != nil || db.Err != nil || asked != 2 || refs[draftRef("web")] != web.Hash.String() || refs[draftRef("db")] != db.Hash.String() {
		t.Errorf("%v, %v, asked %d times: %v", web.Err, db.Err, asked, refs)
	}

	// One that never lets go is one that died, and the server's word for it is the error.
	late := b.draft("late")
	defer hold(t, b.git, draftRef("late"))()
	asked = 2
	p.Push(t.Context(), b.repo.Git, []*Change{late})
	if !errors.Is(late.Err, gitrepo.ErrRejected) || !strings.Contains(late.Err.Error(), "File exists") || asked != 2+attempts-1 {
		t.Errorf("%v, asked %d times", late.Err, asked)
	}

	ctx, stop := context.WithCancel(t.Context())
	stopped := b.draft("late")
	p.Again = func(context.Context, observe.Repository, []*Change) ([]*Change, error) {
		stop()
		return []*Change{stopped}, nil
	}
	p.Push(ctx, b.repo.Git, []*Change{b.draft("late")})
	if stopped.Err == nil {
		t.Error("an interrupt ended nothing")
	}
}

// What moves while the others of a refused push are pushed apart is decided about again.
func TestPushApartLostRace(t *testing.T) {
	r := newRaced(t)
	r.git.Hook(t, "update", `case "$1" in */bad/*) echo not this one >&2; exit 1;; esac`)
	a, bad, c, now := r.draft("a"), r.draft("bad"), r.draft("c"), r.draft("now")
	pushes, theirs := 0, ""
	r.server.Before(func(kind, _ string) {
		if kind != gittest.Push {
			return
		}
		if pushes++; pushes == 2 { // the first part of what was refused as one
			theirs = r.git.CommitFrom(t, short(draftRef("a")), r.main.String(), "another's", files("a/Kptfile", kptfile))
		}
	})
	lost := r.push([]*Change{now}, a, bad, c)
	r.server.Before(nil)
	if !slices.Equal(lost, []*Change{a}) || !errors.Is(bad.Err, gitrepo.ErrRejected) || c.Err != nil || now.Err != nil {
		t.Errorf("%d lost, bad: %v, c: %v, decided again: %v", len(lost), bad.Err, c.Err, now.Err)
	}
	if refs := r.git.Refs(t); refs[draftRef("a")] != theirs || theirs == "" || refs[draftRef("now")] != now.Hash.String() || refs[draftRef("c")] != c.Hash.String() || refs[draftRef("bad")] != "" {
		t.Errorf("refs %v", refs)
	}
}

// An approval waits for another push that holds the branch or a Draft, and leaves none of
// its own out for that.
func TestApproveHeld(t *testing.T) {
	for _, ref := range []string{"refs/heads/main", draftRef("web")} {
		t.Run(ref, func(t *testing.T) {
			r := newRaced(t, "web", "db")
			web, db := r.of("web"), r.of("db")
			release := hold(t, r.git, ref)
			refs := r.decideWhile(decide.Approve, func(push int) {
				if push == 2 {
					release()
				}
			}, web, db)
			if web.Err != nil || db.Err != nil || r.server.Count(gittest.Push) != 2 {
				t.Errorf("%v, %v after %d pushes", web.Err, db.Err, r.server.Count(gittest.Push))
			}
			if refs[draftRef("web")] != "" || refs[draftRef("db")] != "" {
				t.Errorf("refs %v", refs)
			}
		})
	}
}
