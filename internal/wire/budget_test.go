package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stub answers requests by hand and ends with the test.
func stub(t *testing.T, h func(w http.ResponseWriter, r *http.Request, over <-chan struct{})) (url string, asked *atomic.Int32) {
	t.Helper()
	over := make(chan struct{})
	asked = &atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h(w, r, over)
	}))
	t.Cleanup(func() { close(over); srv.Close() })
	return srv.URL, asked
}

func short() Budget {
	return Budget{Connect: time.Second, FirstByte: 20 * time.Second, Silence: 50 * time.Millisecond, Push: 60 * time.Millisecond, Request: time.Minute}
}

func transport(b Budget) *Transport {
	return NewTransport(b, func(r *http.Request) string { return r.URL.Path }, func(r *http.Request) bool { return r.Method == http.MethodPost })
}

func fetch(t *testing.T, tr http.RoundTripper, method, url string) (string, error) {
	t.Helper()
	ctx := Noted(context.Background())
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		var data []byte
		data, err = io.ReadAll(resp.Body)
		if err == nil {
			return string(data), nil
		}
	}
	if noted := TooSlow(ctx); IsSlow(err) != IsSlow(noted) {
		t.Errorf("the error is %v, noted is %v", err, noted)
	}
	return "", err
}

func TestSlowServersEnd(t *testing.T) {
	for title, test := range map[string]struct {
		budget func(*Budget)
		answer func(w http.ResponseWriter, r *http.Request, over <-chan struct{})
		want   string
	}{
		"silent": {func(b *Budget) { b.FirstByte = 50 * time.Millisecond }, func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over }, noAnswer},
		"silent after the first bytes": {nil, func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
			_ = http.NewResponseController(w).Flush()
			<-over
		}, noProgress},
		"trickles": {nil, func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
			trickle(w, over, 1)
		}, noProgress},
		"never ends": {func(b *Budget) { b.Silence, b.Request = time.Minute, 500*time.Millisecond }, func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
			trickle(w, over, 5000)
		}, noEnd},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			url, asked := stub(t, test.answer)
			b := short()
			if test.budget != nil {
				test.budget(&b)
			}
			tr := transport(b)
			for range 3 { // the second time nothing is waited for
				if _, err := fetch(t, tr, http.MethodGet, url+"/a"); !IsSlow(err) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
			}
			if n := reached(asked, 1); n != 1 {
				t.Errorf("asked %d times", n)
			}
			tr.Budget.FirstByte = 50 * time.Millisecond
			_, _ = fetch(t, tr, http.MethodGet, url+"/b")
			if n := reached(asked, 2); n != 2 {
				t.Error("another repository of the server is given up as well")
			}
		})
	}
}

// reached waits until a count is n, and says what it is: a request that was given up may be
// on its way to its handler still.
func reached(count *atomic.Int32, n int32) int32 {
	for end := time.Now().Add(20 * time.Second); count.Load() < n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return count.Load()
}

// trickle writes so many bytes every few milliseconds until it is over.
func trickle(w io.Writer, over <-chan struct{}, n int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			if _, err := w.Write([]byte(strings.Repeat("x", n))); err != nil {
				return
			}
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
		}
	}
}

// steady is a server whose answer has so many bytes, SlowBytes of them in a while.
type steady struct {
	left  int
	every time.Duration
}

func (s *steady) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(s)}, nil
}

func (s *steady) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), s.left, SlowBytes)
	s.left -= n
	time.Sleep(s.every * time.Duration(n) / SlowBytes)
	return n, nil
}

// A server that goes on is let go on, however long it takes, and a reader that
// takes its time is not the server's fault.
func TestSteadyServersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := transport(short())
		tr.Inner = &steady{40 * SlowBytes, tr.Budget.Silence / 2}
		if got, err := fetch(t, tr, http.MethodGet, "http://example.com/a"); err != nil || len(got) != 40*SlowBytes {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		tr.Inner = &steady{2 * SlowBytes, tr.Budget.Silence / 2}
		req, _ := http.NewRequest(http.MethodGet, "http://example.com/a", http.NoBody)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(3 * tr.Budget.Silence)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("after a pause of the reader: %v", err)
		}
		tr.Inner = &steady{4 * SlowBytes, 2 * tr.Budget.Silence}
		if _, err := fetch(t, tr, http.MethodGet, "http://example.com/a"); !IsSlow(err) {
			t.Errorf("a server that takes longer than is borne: %v", err)
		}
	})
}

// A push that is not answered leaves the repository readable: what came of it is read there.
func TestSlowPushLeavesNoMark(t *testing.T) {
	url, _ := stub(t, func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
		if r.Method == http.MethodPost {
			<-over
		}
		_, _ = io.WriteString(w, "here")
	})
	tr := transport(short())
	if _, err := fetch(t, tr, http.MethodPost, url); !IsSlow(err) {
		t.Errorf("got %v", err)
	}
	if got, err := fetch(t, tr, http.MethodGet, url); err != nil || got != "here" {
		t.Errorf("got %q, %v", got, err)
	}
}

type dead struct{ dials int }

func (d *dead) RoundTrip(*http.Request) (*http.Response, error) {
	d.dials++
	return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
}

// A server that accepts no connection costs one wait, not one for each of its repositories.
func TestDeadServerIsTriedOnce(t *testing.T) {
	tr, d := transport(short()), &dead{}
	tr.Inner = d
	for _, u := range []string{"http://a.example.com/1", "http://a.example.com/2", "http://a.example.com/3"} {
		if _, err := fetch(t, tr, http.MethodGet, u); !IsSlow(err) || !strings.Contains(err.Error(), noConnection) {
			t.Errorf("got %v", err)
		}
	}
	_, _ = fetch(t, tr, http.MethodGet, "http://b.example.com/1")
	if d.dials != 2 {
		t.Errorf("dialled %d times", d.dials)
	}
}

func TestStoppedIsNotSlow(t *testing.T) {
	url, _ := stub(t, func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over })
	tr := transport(short())
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	resp, err := tr.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.Canceled) || IsSlow(err) {
		t.Errorf("got %v", err)
	}
}
