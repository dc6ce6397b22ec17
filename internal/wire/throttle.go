package wire

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// RetryAfter reads the header of that name, seconds or a date (RFC 9110), and says whether it is there and is
// one of them. A date that is past is 0; a week is the most.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	const most = 7 * 24 * time.Hour
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(min(n, int(most/time.Second))) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), most), true
	}
	return 0, false
}

// Sleep waits, or until the context ends, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// RateLimitedError is a server that refuses requests for longer than is waited for.
type RateLimitedError struct {
	Server string
	After  time.Duration // what it asked for
}

// Error says for how long, and what helps.
func (e *RateLimitedError) Error() string {
	return fmt.Sprintf("%s refuses requests for %s: it was asked too much; run again then, or ask for less at once (--repository-concurrency)", e.Server, e.After)
}

// IsRateLimited says that a call ended because a server refuses requests for now.
func IsRateLimited(err error) bool {
	var limited *RateLimitedError
	return errors.As(err, &limited)
}

// Throttle is a transport that waits where a server says that it was asked too much (429, or 503 with
// Retry-After), and asks again: all requests to that server wait, and come back a little apart. What the server
// refused in this way it did not do, so that pushes are repeated as well. Safe for concurrent use.
type Throttle struct {
	Inner http.RoundTripper
	// MostWait bounds what a request waits for altogether; 0 is two minutes.
	MostWait time.Duration
	// Log is told of each wait; nil is nobody.
	Log func(format string, args ...any)
	// Budget has who hears of waits.
	Budget Budget

	now   func() time.Time // nil is the clock
	sleep func(ctx context.Context, d time.Duration) error

	mu    sync.Mutex
	until map[Origin]time.Time
}

const (
	mostWait = 2 * time.Minute
	// firstWait is that of a server which does not say how long; it doubles.
	firstWait = 2 * time.Second
)

// RoundTrip implements http.RoundTripper. The error is a *RateLimitedError where the wait would be too long.
func (t *Throttle) RoundTrip(req *http.Request) (*http.Response, error) {
	o, left := OriginOf(req.URL), t.MostWait
	if left <= 0 {
		left = mostWait
	}
	for attempt := 0; ; attempt++ {
		for { // another request may have been told to wait for longer meanwhile
			wait := t.refused(o)
			if wait <= 0 {
				break
			}
			if wait > left {
				err := &RateLimitedError{o.Shown(), wait.Round(time.Second)}
				note(req.Context(), err)
				return nil, err
			}
			wait += apart(req, attempt, wait)
			left -= wait
			if t.Log != nil {
				t.Log("%s asks for patience: asking again in %s", o.Shown(), wait.Round(time.Millisecond))
			}
			t.Budget.notice(req.URL, Waited, wait)
			if err := t.pause(req.Context(), wait); err != nil {
				return nil, err
			}
		}
		again := req
		if attempt > 0 && req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, fmt.Errorf("repeating a request to %s: %w", o.Shown(), err)
			}
			again = req.Clone(req.Context())
			again.Body = body
		}
		resp, err := t.Inner.RoundTrip(again)
		if err != nil || !t.refuse(o, resp, attempt) || !repeatable(req) {
			return resp, err
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection is used again
		_ = resp.Body.Close()
	}
}

func repeatable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// refused is how long a server wants to be left alone yet.
func (t *Throttle) refused(o Origin) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	until, ok := t.until[o]
	if !ok {
		return 0
	}
	wait := until.Sub(t.clock())
	if wait <= 0 {
		delete(t.until, o)
	}
	return wait
}

// refuse says whether an answer is a refusal for now, and keeps for how long.
func (t *Throttle) refuse(o Origin, resp *http.Response, attempt int) bool {
	now := t.clock()
	wait, _ := RetryAfter(resp.Header, now)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests && wait == 0:
		wait = firstWait << min(attempt, 10)
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable && wait > 0:
	default:
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until == nil {
		t.until = map[Origin]time.Time{}
	}
	if until := now.Add(wait); until.After(t.until[o]) {
		t.until[o] = until
	}
	return true
}

// apart spreads requests that waited for the same over a tenth of the wait, by what they ask for: different for
// each, and the same every run.
func apart(req *http.Request, attempt int, wait time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, req.URL, attempt)
	return wait / 10 * time.Duration(h.Sum32()%100) / 100
}

func (t *Throttle) clock() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}

func (t *Throttle) pause(ctx context.Context, d time.Duration) error {
	if t.sleep != nil {
		return t.sleep(ctx, d)
	}
	return Sleep(ctx, d)
}
