package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// withSession runs f in a session of git-upload-pack, or of git-receive-pack
// where write. A server that asks for a login is asked again with the user's
// credentials, once. f runs a second time only then: a server that asks for a
// login has done nothing.
func (r *Repo) withSession(ctx context.Context, write bool, f func(transport.Session) error) error {
	err := r.session(ctx, write, f)
	if !isAuth(err) || !r.loc.http() {
		return r.explain(err)
	}
	used, err2 := r.login(ctx)
	if err2 != nil {
		return err2
	}
	if used == nil {
		return r.explain(err)
	}
	err = r.session(ctx, write, f)
	if r.store.opts.Credentials == nil {
		tellHelpers(ctx, !isAuth(err), r.loc.key, used.Username, used.Password)
	}
	if isAuth(err) {
		r.mu.Lock()
		r.auth = nil
		r.mu.Unlock()
	}
	return r.explain(err)
}

func (r *Repo) session(ctx context.Context, write bool, f func(transport.Session) error) (err error) {
	r.mu.Lock()
	ep := r.endpoint
	var auth transport.AuthMethod
	if r.auth != nil {
		auth = r.auth
	}
	r.mu.Unlock()

	tr, err := r.store.transport(ep.Protocol)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var s transport.Session
	if write {
		s, err = tr.NewReceivePackSession(&ep, auth)
	} else {
		s, err = tr.NewUploadPackSession(&ep, auth)
	}
	if err != nil {
		return err
	}
	defer func() {
		// A session that has failed already says little by failing to close.
		if cerr := s.Close(); err == nil && cerr != nil && !errors.Is(cerr, io.ErrClosedPipe) && !isClosed(cerr) {
			err = cerr
		}
	}()
	if err := f(s); err != nil {
		return err
	}
	if r.loc.http() { // a redirect of the first request moves the later ones
		r.mu.Lock()
		r.endpoint = ep
		r.mu.Unlock()
	}
	return nil
}

func isClosed(err error) bool {
	return strings.Contains(err.Error(), "file already closed") || strings.Contains(err.Error(), "broken pipe")
}

// login asks for credentials, once per Repo; nil where there are none.
func (r *Repo) login(ctx context.Context) (*githttp.BasicAuth, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.authTried || r.loc.password != "" {
		return nil, nil
	}
	r.authTried = true
	var user, password string
	var err error
	if f := r.store.opts.Credentials; f != nil {
		user, password, err = f(ctx, r.loc.key)
	} else {
		user, password, err = helperCredentials(ctx, r.loc.key, r.loc.user)
	}
	if err != nil {
		return nil, errKind(ErrAuth, "%s asks for a login and no credentials were found: %v; set up a Git credential helper (git help credentials)", r.URL(), err)
	}
	if user == "" && password == "" {
		return nil, nil
	}
	r.auth = &githttp.BasicAuth{Username: user, Password: password}
	return r.auth, nil
}

// explain gives transport errors this package's kinds, and takes secrets out.
func (r *Repo) explain(err error) error {
	var ke *kindError
	switch {
	case err == nil || errors.As(err, &ke):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case isAuth(err):
		return errKind(ErrAuth, "%s refuses access: %s; set up a Git credential helper (git help credentials) or an SSH agent", r.URL(), r.scrub(err.Error()))
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errKind(ErrNoRepository, "there is no Git repository at %s, or you may not see it", r.URL())
	case isSHA256(err):
		return errKind(ErrUnsupported, "the Git repository at %s cannot be read: %s; is it a SHA-256 repository? only SHA-1 is supported", r.URL(), r.scrub(err.Error()))
	}
	text := err.Error()
	if clean := r.scrub(text); clean != text {
		return &scrubbedError{text: clean, temporary: isTemporary(err)}
	}
	return err
}

type scrubbedError struct {
	text      string
	temporary bool
}

func (e *scrubbedError) Error() string { return e.text }

// scrub takes the login out of text that a server or a library made.
func (r *Repo) scrub(s string) string {
	r.mu.Lock()
	secrets := []string{r.loc.password}
	if r.loc.http() {
		secrets = append(secrets, r.loc.user) // tokens are put there too
	}
	if r.auth != nil {
		secrets = append(secrets, r.auth.Password, r.auth.Username)
	}
	r.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return s
}

func isAuth(err error) bool {
	return errors.Is(err, transport.ErrAuthenticationRequired) || errors.Is(err, transport.ErrAuthorizationFailed)
}

func isEmptyRemote(err error) bool {
	return errors.Is(err, transport.ErrEmptyRemoteRepository)
}

func isMissing(err error) bool { return errors.Is(err, ErrMissingObject) }

// isSHA256 recognises how go-git stumbles over 64-digit object names.
func isSHA256(err error) bool {
	var unexpected *packp.ErrUnexpectedData
	return errors.As(err, &unexpected) && (strings.Contains(err.Error(), "no space after hash") ||
		strings.Contains(err.Error(), "malformed zero-id ref") || strings.Contains(err.Error(), "malformed ref data"))
}

// isTemporary says whether reading again may help.
func isTemporary(err error) bool {
	var scrubbed *scrubbedError
	if errors.As(err, &scrubbed) {
		return scrubbed.temporary
	}
	var status *githttp.Err
	if errors.As(err, &status) && status.Response != nil {
		c := status.StatusCode()
		return c >= 500 || c == 429 || c == 408
	}
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		if errors.As(unexpected.Err, &status) && status.Response != nil {
			c := status.StatusCode()
			return c >= 500 || c == 429 || c == 408
		}
		err = unexpected.Err
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op != "dial" || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

const readAttempts = 3

// retryRead repeats a read that failed for a passing reason, waiting a little
// longer each time. The wait is different per repository and the same every run.
func (r *Repo) retryRead(ctx context.Context, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == readAttempts || ctx.Err() != nil || !isTemporary(err) {
			return err
		}
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, r.loc.key, attempt)
		wait := time.Duration(attempt*attempt)*100*time.Millisecond + time.Duration(h.Sum32()%100)*time.Millisecond
		r.store.opts.Log("reading %s failed (%v), again in %s", r.URL(), err, wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
