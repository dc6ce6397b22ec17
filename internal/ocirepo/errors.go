package ocirepo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/lazyregexp"
)

// What errors of this package are; test with errors.Is.
var (
	// ErrAddress: the address of a registry, package or tag does not read as one.
	ErrAddress = errors.New("not an address in an OCI registry")
	// ErrNotFound: the registry has no such repository, tag or digest; see *NotFoundError.
	ErrNotFound = errors.New("not found")
	// ErrAuth: the registry wants other credentials, or refuses these.
	ErrAuth = errors.New("access refused")
	// ErrRateLimited: the registry asks to wait (429); see Error.RetryAfter.
	ErrRateLimited = errors.New("too many requests")
	// ErrUnavailable: the registry does not answer, or fails (5xx), after retries.
	ErrUnavailable = errors.New("the registry does not answer as it should")
	// ErrNoCatalog: the registry does not list its repositories.
	ErrNoCatalog = errors.New("the registry does not list its repositories")
	// ErrDigest: the registry's content is not what its digest says.
	ErrDigest = errors.New("the content is not what its digest says")
	// ErrLimit: something is larger than Limits allow.
	ErrLimit = boundary.ErrLimit
	// ErrPackage: the content is not a package, or not one that can be read safely.
	ErrPackage = errors.New("not a package that can be read")
	// ErrExists: the tag holds something else already.
	ErrExists = errors.New("the tag holds something else")
)

// Error is a failure of a call to a registry, or of reading what came from it.
type Error struct {
	Op         string // "listing the tags"
	Registry   string // host
	Repository string // "" where the call is the registry's
	Reference  string // tag or digest, "" where there is none
	Kind       error  // one of the errors above; nil where it is none of them
	Status     int    // of HTTP; 0 where there was no answer
	RetryAfter time.Duration
	Detail     string // what the registry or the reader said, without credentials
	Remedy     string // what to do

	cause error // a context's error
}

// Error says what failed, where, why and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s", e.Op, e.place())
	if e.Kind != nil {
		fmt.Fprintf(&b, ": %v", e.Kind)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, "; %s", e.Remedy)
	}
	return b.String()
}

// Unwrap gives the kind, and the context's error where that ended the call.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Kind, e.cause} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

func (e *Error) place() string {
	s := e.Registry
	if e.Repository != "" {
		s += "/" + e.Repository
	}
	switch {
	case strings.HasPrefix(e.Reference, digestPrefix):
		s += "@" + e.Reference
	case e.Reference != "":
		s += ":" + e.Reference
	}
	return s
}

// NotFoundError says that no revision fits a query.
type NotFoundError struct {
	Query      Query
	Repository string // with its registry
	Reason     string
	Available  []string // tags, the highest revision first
}

// Error says what was looked for and what exists.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString(e.Repository)
	switch {
	case e.Query.Revision != "":
		fmt.Fprintf(&b, ", revision %q", e.Query.Revision)
	case e.Query.Workspace != "":
		fmt.Fprintf(&b, ", workspace %q", e.Query.Workspace)
	}
	fmt.Fprintf(&b, ": %s", e.Reason)
	const most = 10
	if n := len(e.Available); n > 0 {
		fmt.Fprintf(&b, "; there is: %s", strings.Join(e.Available[:min(n, most)], ", "))
		if n > most {
			fmt.Fprintf(&b, " and %d more", n-most)
		}
	}
	return b.String()
}

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// contentError is about content, before it is known whose it is.
type contentError struct {
	kind error
	text string
}

func (e *contentError) Error() string { return e.text }
func (e *contentError) Unwrap() error { return e.kind }

func badContent(kind error, format string, args ...any) error {
	return &contentError{kind, fmt.Sprintf(format, args...)}
}

// outside is an error of the boundary's rules as one of this package.
func outside(err error) error {
	if errors.Is(err, boundary.ErrUnsafe) {
		return badContent(ErrPackage, "%v", err)
	}
	return badContent(ErrLimit, "%v", err)
}

// fail makes an *Error of what a call returned. at has Op and the place.
func (s *Store) fail(at Error, err error) error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, c) {
			at.cause = c
		}
	}
	at.Detail = s.secrets.hide(detail(err))
	s.classify(&at, err)
	return &at
}

func (s *Store) classify(at *Error, err error) {
	var content *contentError
	var late *throttledError
	var answer *transport.Error
	switch {
	case errors.As(err, &content):
		if at.Kind = content.kind; errors.Is(err, ErrPackage) {
			at.Remedy = "make it a kpt package of plain files and folders and push it again"
		}
	case errors.As(err, &late):
		at.Kind, at.Status, at.RetryAfter = ErrRateLimited, http.StatusTooManyRequests, late.after
		at.Detail, at.Remedy = "", "try again later, log in (docker login), or use a mirror"
		if late.after > 0 {
			at.Remedy = fmt.Sprintf("the registry asks to wait %s: try again then, log in (docker login), or use a mirror", late.after)
		}
	case errors.As(err, &answer):
		at.Status = answer.StatusCode
		at.answered(answer, s.keys)
	case at.cause != nil:
		if at.Kind = ErrUnavailable; errors.Is(at.cause, context.Canceled) {
			at.Kind = nil
		}
		at.Remedy = "the registry was too slow for the time given, or the run was stopped: run again"
	case credentialsMissing(err):
		at.Kind, at.Remedy = ErrAuth, s.keys.remedy(at.Registry)
	default:
		at.Kind, at.Remedy = ErrUnavailable, "check the address and the network (proxies, certificates), and run again"
	}
}

func (e *Error) answered(answer *transport.Error, keys *keyring) {
	has := func(codes ...transport.ErrorCode) bool {
		return slices.ContainsFunc(answer.Errors, func(d transport.Diagnostic) bool { return slices.Contains(codes, d.Code) })
	}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, has(transport.UnauthorizedErrorCode, transport.DeniedErrorCode):
		e.Kind, e.Remedy = ErrAuth, keys.remedy(e.Registry)
	case code == http.StatusNotFound:
		e.Kind, e.Remedy = ErrNotFound, "check the name and the tag"
	case code >= 500, code == http.StatusRequestTimeout:
		e.Kind, e.Remedy = ErrUnavailable, "it was asked several times: run again later"
	}
}

// credentialsMissing: the token server's and the keychain's errors are plain text.
func credentialsMissing(err error) bool {
	return strings.Contains(err.Error(), "error getting credentials") || strings.Contains(err.Error(), "unrecognized challenge")
}

// detail is the text of an error without the addresses that HTTP clients put in.
func detail(err error) string {
	if answer := (*transport.Error)(nil); errors.As(err, &answer) {
		var parts []string
		for _, d := range answer.Errors {
			parts = append(parts, strings.Trim(string(d.Code)+": "+d.Message, ": "))
		}
		return clip(strings.Join(parts, "; "))
	}
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost: others are joined with more
		err = u.Err
	}
	return clip(err.Error())
}

func clip(s string) string {
	const most = 500
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// secrets are the credentials that were sent, so that a registry which repeats
// them in its answer does not bring them into an error.
type secrets struct {
	mu    sync.Mutex
	known map[string]bool
}

var (
	userinfo = lazyregexp.New(`://[^/@\s"]+@`)
	query    = lazyregexp.New(`(https?://[^\s"?]+)\?[^\s"]*`)
)

// see notes the credentials of a request that failed.
func (s *secrets) see(req *http.Request) {
	var found []string
	if user, password, ok := req.BasicAuth(); ok {
		found = append(found, password, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	if _, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
		found = append(found, token)
	}
	if isLoginForm(req) {
		found = append(found, formSecrets(req)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) > 1000 {
		s.known = map[string]bool{}
	}
	for _, f := range found {
		if f != "" {
			s.known[f] = true
		}
	}
}

// isLoginForm: a login in exchange for a token is sent as a form, and nothing else is.
func isLoginForm(req *http.Request) bool {
	return req.GetBody != nil && req.Header.Get("Content-Type") == "application/x-www-form-urlencoded"
}

func formSecrets(req *http.Request) []string {
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	copied := &http.Request{Method: http.MethodPost, Header: req.Header, Body: body}
	if copied.ParseForm() != nil {
		return nil
	}
	return []string{copied.PostForm.Get("refresh_token"), copied.PostForm.Get("password")}
}

func (s *secrets) hide(text string) string {
	s.mu.Lock()
	for k := range s.known {
		text = strings.ReplaceAll(text, k, "***")
	}
	s.mu.Unlock()
	return query.ReplaceAllString(userinfo.ReplaceAllString(text, "://"), "$1")
}
