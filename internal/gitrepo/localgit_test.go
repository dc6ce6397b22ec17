package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/variform/variform/internal/gittest"
)

// A local repository may be the work of whoever wrote the management directory:
// nothing that it names is run. What would judge a push is not passed by either.
func TestLocalRepositoryRunsNothing(t *testing.T) {
	hook := func(name string) func(*testing.T, *gittest.Repo, string) {
		return func(t *testing.T, r *gittest.Repo, ran string) { r.Hook(t, name, "echo "+name+" >>"+ran) }
	}
	config := func(settings ...string) func(*testing.T, *gittest.Repo, string) {
		return func(t *testing.T, r *gittest.Repo, ran string) {
			for i := 0; i < len(settings); i += 2 {
				r.Git(t, "config", settings[i], strings.ReplaceAll(settings[i+1], "RAN", "echo "+settings[i]+" >>"+ran+";"))
			}
		}
	}
	for title, test := range map[string]struct {
		set     func(t *testing.T, r *gittest.Repo, ran string)
		refused bool
	}{
		"pre-receive":           {hook("pre-receive"), true},
		"update":                {hook("update"), true},
		"reference-transaction": {hook("reference-transaction"), true},
		"post-receive":          {hook("post-receive"), false},
		"post-update":           {hook("post-update"), false},
		"push-to-checkout":      {hook("push-to-checkout"), false},
		"hooks elsewhere": {func(t *testing.T, r *gittest.Repo, ran string) {
			r.Hook(t, "update", "echo x >>"+ran)
			if err := os.Rename(filepath.Join(r.Dir, "hooks"), filepath.Join(r.Dir, "Mine")); err != nil {
				t.Fatal(err)
			}
			r.Git(t, "config", "core.hooksPath", "Mine")
		}, true},
		"gc": {config("receive.autogc", "true", "gc.auto", "1", "gc.recentObjectsHook", "RAN true", "gc.autoDetach", "false"), false},
		"alternates": {func(t *testing.T, r *gittest.Repo, ran string) {
			other := gittest.NewRepo(t)
			other.Commit(t, "main", "x", gittest.Text{"x": "y"})
			if err := os.WriteFile(filepath.Join(r.Dir, "objects", "info", "alternates"), []byte(other.Dir+"/objects\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			config("core.alternateRefsCommand", "RAN true")(t, r, ran)
		}, false},
		"filters and monitors": {config("core.fsmonitor", "RAN true", "filter.x.smudge", "RAN cat", "core.sshCommand", "RAN true", "core.pager", "RAN cat"), false},
	} {
		t.Run(title, func(t *testing.T) {
			repo := gittest.NewRepo(t)
			repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a"), ".gitattributes": "* filter=x\n"})
			ran := filepath.Join(t.TempDir(), "ran")
			test.set(t, repo, ran)
			r := open(t, repo.Dir)
			b := r.NewBatch()
			draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
			_, err := b.Push(context.Background(), PushOptions{})
			_, moved := repo.Refs(t)["refs/heads/drafts/app/w"]
			if test.refused && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "hook") || moved) || !test.refused && (err != nil || !moved) {
				t.Errorf("moved %t, %v", moved, err)
			}
			if what, err := os.ReadFile(ran); err == nil {
				t.Errorf("it ran %q", what)
			}
		})
	}
}

// A local git that hangs ends with the run.
func TestLocalPushIsStopped(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	r := open(t, repo.Dir)
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\ntouch "+bin+"/started\nexec tail -f /dev/null\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if _, err := os.Stat(bin + "/started"); err == nil {
				cancel()
				return
			}
		}
	}()
	if _, err := b.Push(ctx, PushOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// writes counts them.
type writes int

func (w *writes) Write(data []byte) (int, error) {
	*w++
	return len(data), nil
}

func (*writes) Close() error { return nil }

// A push of many refs is written to git in pieces: each write wakes it.
func TestLocalPushIsWrittenInPieces(t *testing.T) {
	var in writes
	s := &localSession{adv: packp.NewAdvRefs(), in: &in, out: bufio.NewReader(strings.NewReader("000eunpack ok\n0000"))}
	req := packp.NewReferenceUpdateRequest()
	size := 10 * pieceBytes
	for i := range 1000 {
		c := &packp.Command{Name: plumbing.ReferenceName(fmt.Sprintf("refs/heads/b%d", i)), New: plumbing.NewHash("aa")}
		req.Commands = append(req.Commands, c)
		size += len(c.Name) + 100
	}
	req.Packfile = io.NopCloser(bytes.NewReader(make([]byte, 10*pieceBytes)))
	if _, err := s.ReceivePack(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if most := size/pieceBytes + 1; int(in) > most {
		t.Errorf("%d writes, want %d at most", in, most)
	}
}
