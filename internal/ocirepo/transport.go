package ocirepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/variform/variform/internal/wire"
)

// Retry says how often and how patiently a registry is asked again.
type Retry struct {
	// Attempts is how often one request is made in all; 0 is 4, 1 never repeats.
	Attempts int
	// Base is the wait after the first failure, doubled after each; 0 is 500 ms.
	Base time.Duration
	// MaxWait bounds one wait, a registry's Retry-After included: where that asks
	// for more, the call fails with ErrRateLimited at once. 0 is 30 s.
	MaxWait time.Duration
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.MaxWait <= 0 {
		r.MaxWait = 30 * time.Second
	}
	return r
}

// wait is the pause after the given attempt, from 1.
func (r Retry) wait(attempt int) time.Duration {
	return min(r.Base<<min(attempt-1, 20), r.MaxWait)
}

// throttledError is a 429 that is not waited for any longer.
type throttledError struct{ after time.Duration }

func (e *throttledError) Error() string { return "429 Too Many Requests" }

// retrier repeats requests that may be repeated, and keeps to Retry-After. The
// library below repeats nothing, so that attempts do not multiply.
type retrier struct {
	inner   http.RoundTripper
	policy  Retry
	log     func(format string, args ...any)
	secrets *secrets
}

// RoundTrip implements http.RoundTripper.
func (t *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		again, err := repeated(req, attempt)
		if err != nil {
			return nil, err
		}
		resp, err := t.inner.RoundTrip(again)
		if err == nil && resp.StatusCode < 400 {
			return resp, nil
		}
		t.secrets.see(req)
		wait, ok := t.again(req, resp, err, attempt)
		if !ok {
			if err == nil && resp.StatusCode == http.StatusTooManyRequests {
				discard(resp)
				return nil, &throttledError{wait}
			}
			return resp, err
		}
		t.log("%s of %s: %s; asking again in %s", req.Method, req.URL.Host, reason(resp, err), wait)
		if resp != nil {
			discard(resp)
		}
		if err := wire.Sleep(req.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// again says whether and when to repeat. For a 429 that is not repeated, the
// wait is what the registry asked for.
func (t *retrier) again(req *http.Request, resp *http.Response, err error, attempt int) (time.Duration, bool) {
	asked := time.Duration(0)
	if err == nil {
		asked, _ = wire.RetryAfter(resp.Header, time.Now())
	}
	wait := max(asked, t.policy.wait(attempt))
	if attempt >= t.policy.Attempts || wait > t.policy.MaxWait || !repeatable(req, resp, err) {
		return asked, false
	}
	if end, ok := req.Context().Deadline(); ok && time.Until(end) < wait {
		return asked, false
	}
	return wait, true
}

// repeatable: reads may always be repeated, writes where the registry refused
// them before doing anything; Push repeats the rest as a whole.
func repeatable(req *http.Request, resp *http.Response, err error) bool {
	read := req.Method == http.MethodGet || req.Method == http.MethodHead
	if err != nil {
		return read && flaky(req.Context(), err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return read || req.Body == nil || req.GetBody != nil
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return read
	}
	return false
}

// flaky errors are those of a connection that broke.
func flaky(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// repeated is the request for an attempt, with its body from the start.
func repeated(req *http.Request, attempt int) (*http.Request, error) {
	if attempt == 1 || req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("sending the request again: %w", err)
	}
	out := req.Clone(req.Context())
	out.Body = body
	return out, nil
}

func reason(resp *http.Response, err error) string {
	if err != nil {
		return detail(err)
	}
	return resp.Status
}

func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
	_ = resp.Body.Close()
}
