package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/test/gittest"
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
	started := filepath.Join(t.TempDir(), "started")
	fakeGit(t, "touch "+started+"\nexec tail -f /dev/null")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
		}
	}()
	if _, err := b.Push(ctx, PushOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// fakeGit puts a script in git's place, which may run the real one as $GIT.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nGIT="+real+"\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// Git is started while the record's commit is made, and takes the push; it is not told the
// folder that the run is in, whose name it would look up for each ref.
func TestLocalPushStartsAhead(t *testing.T) {
	k := newKeeper(t)
	k.url = k.git.Dir
	k.open(t.TempDir())
	log := filepath.Join(t.TempDir(), "log")
	fakeGit(t, `case "$*" in *receive-pack*)
	echo started >>`+log+`
	if tr '\0' '\n' </proc/$$/environ 2>/dev/null | grep -q ^PWD=; then echo told >>`+log+`; fi
esac
exec "$GIT" "$@"`)
	t.Setenv("PWD", t.TempDir())
	b := k.repo.NewBatch()
	e := k.edited(b, "app", 1)
	if err := k.push(b, 0); err != nil {
		t.Fatal(err)
	}
	if refs := k.git.Refs(t); refs[lifecycle.DraftRef("app", e.Workspace)] != e.Commit || k.git.Git(t, "rev-parse", recordRef) != k.repo.Refs().Record(recordRef).String() {
		t.Errorf("refs are %v", refs)
	}
	if said, err := os.ReadFile(log); err != nil || string(said) != "started\n" {
		t.Errorf("git said %q, %v", said, err)
	}
}

// A git that was started ahead is that of one session, of that service alone, and ends with
// it; where no session needs it the run does not wait for it.
func TestStartedAhead(t *testing.T) {
	repo := gittest.NewRepo(t)
	r := open(t, repo.Dir)
	fakeGit(t, "exec tail -f /dev/null")
	session := func(ctx context.Context, service string) *exec.Cmd {
		s := &localSession{path: r.loc.endpoint.Path, service: service}
		ctx, cancel := context.WithCancel(ctx)
		if err := s.start(ctx); err != nil {
			t.Fatal(err)
		}
		cmd := s.cmd
		cancel()
		_ = s.Close()
		return cmd
	}
	ctx, end := r.startAhead(t.Context())
	first := ctx.Value(aheadKey{}).(*ahead).session.cmd
	if session(ctx, "upload-pack") == first || session(ctx, "receive-pack") != first || session(ctx, "receive-pack") == first {
		t.Error("another session has it")
	}
	end()

	ctx, end = r.startAhead(t.Context())
	second := ctx.Value(aheadKey{}).(*ahead).session.cmd
	ended := make(chan struct{})
	go func() {
		end()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it is waited for")
	}
	if second.ProcessState == nil || session(ctx, "receive-pack") == second {
		t.Error("it runs on, or is taken after it ended")
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
	git := &localGit{in: &in, out: bufio.NewReader(strings.NewReader("000eunpack ok\n0000"))}
	s := &localSession{adv: packp.NewAdvRefs(), localGit: git}
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
