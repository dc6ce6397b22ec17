package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/variform/variform/internal/lazyregexp"
)

// sshTransport runs the ssh program as git does, so that everything counts that its
// configuration has: aliases, users, ports, keys, jump hosts. The program is GIT_SSH_COMMAND,
// else core.sshCommand, else GIT_SSH, else ssh.
type sshTransport struct{ config func() *gitConfig }

// NewUploadPackSession implements transport.Transport.
func (t sshTransport) NewUploadPackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.UploadPackSession, error) {
	return t.session(ep, "upload-pack")
}

// NewReceivePackSession implements transport.Transport.
func (t sshTransport) NewReceivePackSession(ep *transport.Endpoint, _ transport.AuthMethod) (transport.ReceivePackSession, error) {
	return t.session(ep, "receive-pack")
}

func (t sshTransport) session(ep *transport.Endpoint, service string) (*sshSession, error) {
	from, program, shell := "", "ssh", false
	for _, s := range []struct {
		name, value string
		shell       bool
	}{
		{"GIT_SSH_COMMAND", os.Getenv("GIT_SSH_COMMAND"), true}, {"core.sshCommand", t.config().ssh, true}, {"GIT_SSH", os.Getenv("GIT_SSH"), false},
	} {
		if s.value != "" {
			from, program, shell = s.name, s.value, s.shell
			break
		}
	}
	args, err := sshArgs(program, ep, service)
	if err != nil {
		return nil, err
	}
	argv := append([]string{program}, args...)
	if shell {
		argv = append([]string{"sh", "-c", program + ` "$@"`, program}, args...)
	}
	return &sshSession{localSession: localSession{path: ep.Path, service: service, argv: argv}, from: from}, nil
}

// What a host and a user may be: neither is an option of ssh, nor has it characters that the
// shell of a ProxyCommand acts on.
var (
	sshHost = lazyregexp.New(`^[\pL\pN_:][\pL\pN._:%-]*$`)
	sshUser = lazyregexp.New(`^[\pL\pN_][\pL\pN._@+-]*$`)
)

// sshArgs returns what follows the program: it is not to ask anything, and a host that the
// address gives no port or user has those of its alias.
func sshArgs(program string, ep *transport.Endpoint, service string) ([]string, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(ep.Host, "["), "]")
	path := ep.Path
	if strings.HasPrefix(path, "/~") {
		path = path[1:] // of a user's folder
	}
	switch {
	case !sshHost.MatchString(host) || ep.User != "" && !sshUser.MatchString(ep.User):
		return nil, errKind(ErrUnsupported, "the user %q or the host %q is no name that ssh is given", ep.User, host)
	case strings.HasPrefix(path, "-"):
		return nil, errKind(ErrUnsupported, "the path %q begins like an option: write it with ./ before it", path)
	}
	var args []string
	port := "-p"
	switch name, _, _ := strings.Cut(program, " "); strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".exe") {
	case "ssh":
		args = append(args, "-o", "BatchMode=yes")
	case "plink":
		args = append(args, "-batch")
		port = "-P"
	case "tortoiseplink":
		port = "-P"
	}
	if ep.Port != 0 {
		args = append(args, port, strconv.Itoa(ep.Port))
	}
	if ep.User != "" {
		host = ep.User + "@" + host
	}
	quoted := strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path)
	return append(args, host, "git-"+service+" '"+quoted+"'"), nil
}

// sshSession is a session with a server that the ssh program reaches.
type sshSession struct {
	localSession
	from string // the setting that names the program, "" for none
}

// AdvertisedReferences implements transport.Session.
func (s *sshSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(context.Background())
}

// AdvertisedReferencesContext implements transport.Session.
func (s *sshSession) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	adv, err := s.localSession.AdvertisedReferencesContext(ctx)
	var failed *localError
	switch {
	case err == nil:
		transport.FilterUnsupportedCapabilities(adv.Capabilities)
		return adv, nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errKind(ErrUnsupported, "addresses of ssh need the program %s, which is not installed: install OpenSSH's client, or use https", s.argv[0])
	case errors.As(err, &failed):
		return nil, s.failure(failed)
	}
	return nil, err
}

// failure finds what a session that ended before it began ended for, by what the program or
// the server wrote.
func (s *sshSession) failure(e *localError) error {
	reason := oneLine(e.stderr)
	if s.from != "" {
		reason = strings.TrimSuffix(s.from+": "+reason, ": ")
	}
	switch {
	case containsAny(reason, "Permission denied", "Host key verification failed", "Too many authentication failures", "No supported authentication methods"):
		return fmt.Errorf("%w: %s", transport.ErrAuthorizationFailed, reason)
	case containsAny(reason, "Repository not found", "does not appear to be a git repository", "does not exist", "could not be found"):
		return fmt.Errorf("%w: %s", transport.ErrRepositoryNotFound, reason)
	case e.exit == sshFailed:
		return &net.OpError{Op: "dial", Net: "ssh", Err: errors.New(reason)}
	}
	return fmt.Errorf("ssh ended with exit status %d: %s", e.exit, reason)
}

// sshFailed is the exit status of ssh's own failures; others are the server's.
const sshFailed = 255

// UploadPack implements transport.UploadPackSession.
func (s *sshSession) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if req.IsEmpty() {
		return nil, transport.ErrEmptyUploadPackRequest
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if _, err := s.AdvertisedReferencesContext(ctx); err != nil {
		return nil, err
	}
	in := bufio.NewWriterSize(s.in, pieceBytes)
	err := req.UploadRequest.Encode(in)
	if err == nil {
		err = req.UploadHaves.Encode(in, true)
	}
	if err == nil {
		err = pktline.NewEncoder(in).Encodef("done\n")
	}
	if err == nil {
		err = in.Flush()
	}
	if err := errors.Join(err, s.in.Close()); err != nil {
		return nil, err
	}
	s.done = true
	if _, err := s.out.Peek(1); errors.Is(err, io.EOF) {
		return nil, transport.ErrEmptyUploadPackRequest
	}
	resp := packp.NewUploadPackResponse(req)
	if err := resp.Decode(body{s.out, s}); err != nil {
		return nil, fmt.Errorf("the answer of the server: %w", err)
	}
	return resp, nil
}

// Close implements io.Closer. The rest of a pack that nobody reads is not waited for.
func (s *sshSession) Close() error {
	if s.localGit != nil && s.done && s.service == "upload-pack" {
		s.stop()
	}
	return s.localSession.Close()
}
