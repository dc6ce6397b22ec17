package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// busy is a server that refuses so many requests, and keeps what it was sent.
type busy struct {
	mu     sync.Mutex
	status int
	after  string
	times  int
	asked  int
	bodies []string
}

func (b *busy) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		b.bodies = append(b.bodies, string(data))
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	if b.asked <= b.times {
		resp.StatusCode = b.status
		if b.after != "" {
			resp.Header.Set("Retry-After", b.after)
		}
	}
	return resp, nil
}

// asleep is a Throttle whose clock is moved by its sleep alone.
func asleep(inner http.RoundTripper) (t *Throttle, slept *time.Duration) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	slept = new(time.Duration)
	return &Throttle{
		Inner: inner,
		now:   func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		sleep: func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			now, *slept = now.Add(d), *slept+d
			return ctx.Err()
		},
	}, slept
}

func get(t *testing.T, body string) *http.Request {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://forge.example.com/a.git/git-receive-pack", in)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestThrottle(t *testing.T) {
	for name, c := range map[string]struct {
		busy   *busy
		asked  int
		status int // of the answer, 0 for a RateLimitedError
		slept  time.Duration
	}{
		"not refused":                     {&busy{status: 429}, 1, 200, 0},
		"seconds":                         {&busy{status: 429, after: "7", times: 1}, 2, 200, 7 * time.Second},
		"a date":                          {&busy{status: 429, after: "Thu, 01 Jan 2026 00:00:30 GMT", times: 1}, 2, 200, 30 * time.Second},
		"no time said":                    {&busy{status: 429, times: 3}, 4, 200, (2 + 4 + 8) * time.Second},
		"unavailable until":               {&busy{status: 503, after: "5", times: 1}, 2, 200, 5 * time.Second},
		"unavailable, and not until when": {&busy{status: 503, times: 1}, 1, 503, 0},
		"another refusal":                 {&busy{status: 403, after: "5", times: 1}, 1, 403, 0},
		"for an hour":                     {&busy{status: 429, after: "3600", times: 9}, 1, 0, 0},
		"for ever":                        {&busy{status: 429, after: "50", times: 9}, 3, 0, 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			throttle, slept := asleep(c.busy)
			req := get(t, "pack")
			resp, err := throttle.RoundTrip(req)
			if resp != nil {
				_ = resp.Body.Close()
			}
			switch {
			case c.status == 0:
				if !IsRateLimited(err) || !strings.HasPrefix(err.Error(), "https://forge.example.com refuses requests for ") {
					t.Fatalf("%v, %v", resp, err)
				}
			case err != nil || resp.StatusCode != c.status:
				t.Fatalf("%v, %v", resp, err)
			}
			if c.busy.asked != c.asked {
				t.Errorf("asked %d times, want %d", c.busy.asked, c.asked)
			}
			if *slept < c.slept || *slept > c.slept+c.slept/10 {
				t.Errorf("waited for %s, want %s and a tenth at most", *slept, c.slept)
			}
			for _, b := range c.busy.bodies {
				if b != "pack" {
					t.Errorf("sent %q", b)
				}
			}
		})
	}
}

// TestThrottleOfAServer: what one request is told, all others to the server keep to, and those to others do not.
func TestThrottleOfAServer(t *testing.T) {
	server := &busy{status: 429, after: "3600", times: 1}
	throttle, _ := asleep(server)
	for range 3 {
		if _, err := throttle.RoundTrip(get(t, "")); !IsRateLimited(err) {
			t.Fatal(err)
		}
	}
	if server.asked != 1 {
		t.Errorf("asked %d times of what refuses for an hour", server.asked)
	}
	other := get(t, "")
	other.URL.Host = "other.example.com"
	resp, err := throttle.RoundTrip(other)
	if err != nil || server.asked != 2 {
		t.Errorf("another server: %v, asked %d times", err, server.asked)
	} else {
		_ = resp.Body.Close()
	}
}

// TestThrottleCannotRepeat: what cannot be sent again is answered as the server did.
func TestThrottleCannotRepeat(t *testing.T) {
	server := &busy{status: 429, after: "1", times: 1}
	throttle, slept := asleep(server)
	req := get(t, "pack")
	req.GetBody = nil
	resp, err := throttle.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests || server.asked != 1 || *slept != 0 {
		t.Errorf("%v, %v, asked %d times", resp, err, server.asked)
	}
	_ = resp.Body.Close()
}

func TestThrottleIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := &busy{status: 429, after: "60", times: 9}
	throttle := &Throttle{Inner: server, Log: func(string, ...any) { cancel() }}
	if _, err := throttle.RoundTrip(get(t, "").WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": -1, "soon": -1, "-3": -1, "0": 0, "90": 90 * time.Second, "99999999999": 7 * 24 * time.Hour,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute, "Wed, 31 Dec 2025 00:00:00 GMT": 0, "Sat, 01 Jan 2028 00:00:00 GMT": 7 * 24 * time.Hour,
	} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {text}}, now); ok != (want >= 0) || got != max(want, 0) {
			t.Errorf("%q: %s, %t, want %s", text, got, ok, want)
		}
	}
}
