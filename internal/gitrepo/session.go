package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/variform/variform/internal/wire"
)

// withSession runs f in a session of git-upload-pack, or of git-receive-pack
// where write. A server that asks for a login is asked again with the user's
// own for that server, once for each server that a redirect leads to. f runs
// again only then: a server that asks for a login has done nothing. f uses the
// context that it is given.
func (r *Repo) withSession(ctx context.Context, write bool, f func(context.Context, transport.Session) error) error {
	if !r.loc.http() {
		return r.explain(ctx, r.stream(ctx, write, f))
	}
	for range maxLogins {
		v := &visit{repo: r}
		noted := wire.Noted(ctx)
		err := r.session(context.WithValue(noted, visitKey{}, v), write, f)
		if slow := wire.TooSlow(noted); err != nil && slow != nil {
			return slow
		}
		again, err := r.retriable(ctx, v, err)
		if !again {
			return r.explain(ctx, err)
		}
	}
	return errKind(ErrAuth, "%s asks for a login again and again", r.URL())
}

// maxLogins bounds how many servers of one chain of redirects may ask for one.
const maxLogins = 4

// stream is session over ssh or git's own protocol, or with a local git, which
// know neither budgets nor, while they connect, contexts.
func (r *Repo) stream(ctx context.Context, write bool, f func(context.Context, transport.Session) error) error {
	r.mu.Lock()
	slow := r.slow
	r.mu.Unlock()
	if slow != nil {
		return slow
	}
	watched, reader, end := r.store.opts.Budget.Watch(ctx, r.URL(), write)
	defer end()
	done := make(chan error, 1) // a session that hangs is left behind
	go func() {
		done <- r.session(context.WithValue(watched, streamKey{}, reader), write, f)
	}()
	var err error
	select {
	case err = <-done:
	case <-watched.Done():
		select {
		case err = <-done:
		case <-time.After(streamGrace):
			err = watched.Err()
		}
	}
	if cause := context.Cause(watched); err != nil && wire.IsSlow(cause) {
		err = cause
		if !write {
			r.mu.Lock()
			r.slow = cause
			r.mu.Unlock()
		}
	}
	return err
}

// streamGrace is for a session that ends by itself when its context does.
const streamGrace = 200 * time.Millisecond

// streamKey is where a stream's context has the reader that keeps to its budget.
type streamKey struct{}

func (r *Repo) session(ctx context.Context, write bool, f func(context.Context, transport.Session) error) (err error) {
	r.mu.Lock()
	ep := r.endpoint
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
		s, err = tr.NewReceivePackSession(&ep, nil)
	} else {
		s, err = tr.NewUploadPackSession(&ep, nil)
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
	if err := f(ctx, s); err != nil {
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

// explain gives transport errors this package's kinds, and takes secrets out.
func (r *Repo) explain(ctx context.Context, err error) error {
	var ke *kindError
	switch {
	case err == nil || wire.IsSlow(err) || wire.IsRateLimited(err):
		return err
	case errors.As(err, &ke): // without the client's own words around it
		return ke
	case ctx.Err() != nil: // whatever it broke
		return ctx.Err()
	case isAuth(err):
		return errKind(ErrAuth, "%s refuses access: %s; make ssh log in there without a question: give it a key that the host accepts, and add the host to known_hosts", r.URL(), r.scrub(oneLine(err.Error())))
	case errors.Is(err, transport.ErrRepositoryNotFound):
		_, reply, _ := strings.Cut(err.Error(), transport.ErrRepositoryNotFound.Error())
		return errKind(ErrNoRepository, "there is no Git repository at %s, or you may not see it%s", r.URL(), said(r.scrub(strings.TrimPrefix(reply, ": "))))
	case isSHA256(err):
		return errKind(ErrUnsupported, "the Git repository at %s cannot be read: %s; is it a SHA-256 repository? only SHA-1 is supported", r.URL(), r.scrub(err.Error()))
	}
	var status *githttp.Err
	if errors.As(within(err), &status) {
		err = &repliedError{err, said(status.Reason)}
	}
	text := err.Error()
	if clean := r.scrub(text); clean != text {
		return &scrubbedError{text: clean, temporary: isTemporary(err), passing: IsPassing(err)}
	}
	return err
}

// repliedError is an HTTP error with the text that the server sent.
type repliedError struct {
	error
	said string
}

// Error returns the error with the server's text.
func (e *repliedError) Error() string { return e.error.Error() + e.said }

// Unwrap returns the error without the server's text.
func (e *repliedError) Unwrap() error { return e.error }

// said is the clause of an error message that quotes a server's reply, "" where the reply
// is empty or a web page.
func said(reply string) string {
	if reply = oneLine(reply); reply == "" || strings.HasPrefix(reply, "<") {
		return ""
	}
	return "; the server said: " + reply
}

// maxReply bounds how much of a server's reply a message quotes, in bytes.
const maxReply = 400

// oneLine makes text of a server fit for a line of a message.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) > maxReply {
		text = strings.ToValidUTF8(text[:maxReply], "") + "…"
	}
	return text
}

type scrubbedError struct {
	text               string
	temporary, passing bool
}

func (e *scrubbedError) Error() string { return e.text }

// scrub takes the logins out of text that a server or a library made.
func (r *Repo) scrub(s string) string {
	for _, secret := range slices.Concat(r.logins.secrets(), r.store.config().secrets(), []string{r.loc.password}) {
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

// IsPassing reports whether a server could not be reached, was too slow or too busy, or
// failed: nothing that a person has to change.
func IsPassing(err error) bool {
	var scrubbed *scrubbedError
	var network net.Error
	return errors.As(err, &scrubbed) && scrubbed.passing || isTemporary(err) || wire.IsSlow(err) || wire.IsRateLimited(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(within(err), &network)
}

// isTemporary says whether reading again may help.
func isTemporary(err error) bool {
	var scrubbed *scrubbedError
	if errors.As(err, &scrubbed) {
		return scrubbed.temporary
	}
	if wire.IsSlow(err) || wire.IsRateLimited(err) {
		return false
	}
	if err = within(err); httpStatus(err) != 0 {
		c := httpStatus(err)
		return c >= 500 || c == 429 || c == 408
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op != "dial" || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

const (
	readAttempts = 3
	// maxFailing is how many reads in a row may fail after all their attempts; those
	// behind them have one, until one succeeds: a server that is down would keep a run
	// waiting for each package.
	maxFailing = 2
)

// retryRead repeats a read that failed for a passing reason, waiting a little
// longer each time. The wait is different per repository and the same every run.
func (r *Repo) retryRead(ctx context.Context, f func() error) error {
	attempts := readAttempts
	if r.failing.Load() >= maxFailing {
		attempts = 1
	}
	for attempt := 1; ; attempt++ {
		err := f()
		switch {
		case err == nil || !isTemporary(err):
			r.failing.Store(0)
			return err
		case ctx.Err() != nil:
			return err
		case attempt == attempts:
			r.failing.Add(1)
			return err
		}
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, r.loc.key, attempt)
		wait := time.Duration(attempt*attempt)*100*time.Millisecond + time.Duration(h.Sum32()%100)*time.Millisecond
		r.store.opts.Log("reading %s failed (%v), again in %s", r.URL(), err, wait)
		if err := wire.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}
