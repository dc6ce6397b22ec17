package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// quietGit is configuration for a git that serves a local repository: whatever
// that one's own says, no program of its choice is run. Its author may be that of
// a management directory, and not the user.
var quietGit = []string{
	"core.hooksPath=" + os.DevNull,
	"core.alternateRefsCommand=true",
	"gc.recentObjectsHook=",

	"core.fsmonitor=false",
	"gc.auto=0",

	"receive.autogc=false",
	"maintenance.auto=false",
	"receive.denyCurrentBranch=refuse", // to update a work tree runs its filters
}

// localTransport runs git for a local repository.
type localTransport struct{}

// NewUploadPackSession implements transport.Transport. It gives refs alone: objects
// are read from their files.
func (localTransport) NewUploadPackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.UploadPackSession, error) {
	return &localSession{path: ep.Path, service: "upload-pack"}, nil
}

// NewReceivePackSession implements transport.Transport.
func (localTransport) NewReceivePackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.ReceivePackSession, error) {
	return &localSession{path: ep.Path, service: "receive-pack"}, nil
}

// localSession is one git of a service.
type localSession struct {
	path    string
	service string
	argv    []string // of another program that reaches it, nil for git
	*localGit
	adv  *packp.AdvRefs
	done bool
}

// localGit is a git that runs, or a program that speaks with one.
type localGit struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr stderr16k
	stop   context.CancelFunc
}

// stderr16k keeps the beginning of what a program writes.
type stderr16k struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *stderr16k) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), max(0, 16<<10-b.Len()))])
	return len(p), nil
}

// localError is a git, or a program that speaks with one, that ended before it gave refs.
type localError struct {
	error
	stderr string
	exit   int
}

// Unwrap returns what reading the refs failed with.
func (e *localError) Unwrap() error { return e.error }

// localDelay is for a git that was stopped to go.
const localDelay = 200 * time.Millisecond

// runLocalGit starts a git, which ends with the context.
func runLocalGit(ctx context.Context, service, path string) (*localGit, error) {
	var args []string
	for _, c := range quietGit {
		args = append(args, "-c", c)
	}
	return runProgram(ctx, "git", append(args, service, path)...)
}

func runProgram(ctx context.Context, name string, args ...string) (*localGit, error) {
	g := &localGit{}
	ctx, g.stop = context.WithCancel(ctx)
	g.cmd = exec.CommandContext(ctx, name, args...)
	// It goes into the repository's folder, and looks for each ref that it moves whether that is
	// the folder it was started in by another name.
	g.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PWD=") })
	g.cmd.WaitDelay = localDelay
	g.cmd.Stderr = &g.stderr
	var out io.ReadCloser
	var err error
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		out, err = g.cmd.StdoutPipe()
	}
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.stop()
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = out.Close() }) // a child of it may have the other end
	g.out = bufio.NewReader(out)
	return g, nil
}

// aheadKey is where a push's context has the git that was started for it.
type aheadKey struct{}

// ahead is a git-receive-pack that starts while what it is to take is made. The first
// session of its context has it.
type ahead struct {
	session localSession
	taken   atomic.Bool
}

// startAhead starts one for a push to a local repository; end is to be called when that is over.
// Should git not start, the session says why.
func (r *Repo) startAhead(ctx context.Context) (with context.Context, end func()) {
	a := &ahead{session: localSession{path: r.loc.endpoint.Path, service: "receive-pack"}}
	var err error
	if a.session.localGit, err = runLocalGit(ctx, a.session.service, a.session.path); err != nil {
		return ctx, func() {}
	}
	return context.WithValue(ctx, aheadKey{}, a), func() {
		if a.taken.CompareAndSwap(false, true) {
			a.session.stop() // it was asked nothing
			_ = a.session.Close()
		}
	}
}

func (s *localSession) start(ctx context.Context) (err error) {
	a, ok := ctx.Value(aheadKey{}).(*ahead)
	if ok && a.session.service == s.service && a.session.path == s.path && a.taken.CompareAndSwap(false, true) {
		s.localGit = a.session.localGit
		context.AfterFunc(ctx, s.stop)
		return nil
	}
	if s.argv != nil {
		s.localGit, err = runProgram(ctx, s.argv[0], s.argv[1:]...)
		return err
	}
	s.localGit, err = runLocalGit(ctx, s.service, s.path)
	return err
}

// AdvertisedReferences implements transport.Session.
func (s *localSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(context.Background())
}

// AdvertisedReferencesContext implements transport.Session.
func (s *localSession) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	if s.adv != nil {
		return s.adv, nil
	}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("running git %s: %w", s.service, err)
	}
	adv := packp.NewAdvRefs()
	err := adv.Decode(s.out)
	if err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
		git := s.localGit
		_ = s.Close()
		text := strings.TrimSpace(git.stderr.String())
		if text != "" {
			err = errors.New(strings.Map(printable, text))
		}
		return nil, &localError{fmt.Errorf("git %s: %w", s.service, err), text, git.cmd.ProcessState.ExitCode()}
	}
	s.adv = adv
	return adv, nil
}

// ReceivePack implements transport.ReceivePackSession.
func (s *localSession) ReceivePack(ctx context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	if _, err := s.AdvertisedReferencesContext(ctx); err != nil {
		return nil, err
	}
	in := bufio.NewWriterSize(s.in, pieceBytes) // git is woken by each write
	err := req.Encode(in)
	if err == nil {
		err = in.Flush()
	}
	if err := errors.Join(err, s.in.Close()); err != nil {
		return nil, err
	}
	s.done = true
	var r io.Reader = s.out
	if req.Capabilities.Supports(capability.Sideband64k) {
		d := sideband.NewDemuxer(sideband.Sideband64k, r)
		d.Progress = req.Progress
		r = d
	}
	report := packp.NewReportStatus()
	if err := report.Decode(r); err != nil {
		return nil, err
	}
	return report, report.Error()
}

// UploadPack implements transport.UploadPackSession.
func (s *localSession) UploadPack(context.Context, *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	return nil, errKind(ErrUnsupported, "the objects of %q are read from its files", s.path)
}

// Close implements io.Closer. A git that was asked nothing is told so.
func (s *localSession) Close() error {
	if s.localGit == nil {
		return nil
	}
	if !s.done {
		s.done = true
		_, _ = s.in.Write([]byte("0000"))
		_ = s.in.Close()
	}
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.cmd.Wait() // what it had to say was said
	s.stop()
	s.localGit = nil
	return nil
}

// guards are the hooks with which a repository refuses what is pushed.
var guards = []string{"pre-receive", "update", "reference-transaction", "proc-receive"}

// guarded says which hook of a local repository would judge a push, "" for none.
// Hooks are not run, and one that may protect a branch is not passed by.
func (d *gitDirs) guarded() string {
	dirs := []string{filepath.Join(d.common, "hooks")}
	if d.hooks != "" {
		dirs = append(dirs, d.hooks)
	}
	for _, dir := range dirs {
		for _, name := range guards {
			st, err := os.Stat(filepath.Join(dir, name))
			if err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				return filepath.Join(dir, name)
			}
		}
	}
	return ""
}
