package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Budget bounds how long a server may keep one request waiting, and how much is asked
// of servers at once; zero fields take the defaults.
type Budget struct {
	Connect   time.Duration // until there is a connection: 15 s
	FirstByte time.Duration // from the request to the first byte of its answer: 60 s
	Silence   time.Duration // while an answer arrives, for the next SlowBytes: 30 s
	Push      time.Duration // the last two for a push, whose hooks take their time: 3 min
	Request   time.Duration // one request as a whole: 30 min

	// Repositories are talked to at once: Repositories of this package. Most of their
	// time is a round trip, whatever the number of processors.
	Repositories int

	// Slow is what was too slow in earlier runs; nil is nothing.
	Slow *Slow
	// Notice hears of what goes wrong with a server, by its host, and of waits that it asks
	// for; nil is nobody.
	Notice func(host string, what Trouble, waited time.Duration)
}

// Trouble is what went wrong with a server.
type Trouble string

// The troubles.
const (
	Unreachable Trouble = "unreachable"
	TooLate     Trouble = "slow"
	Failed      Trouble = "failed"  // an answer from 500 on
	Limited     Trouble = "limited" // it was asked too much
	Waited      Trouble = "waited"  // for as long as it asked to
)

// notice tells of trouble.
func (b Budget) notice(u *url.URL, what Trouble, waited time.Duration) {
	if b.Notice != nil {
		b.Notice(u.Host, what, waited)
	}
}

// troubleOf is what an answer, or the lack of one, says of a server, "" where it is well.
func troubleOf(resp *http.Response, err error) Trouble {
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case IsSlow(err):
		return TooLate
	case err != nil:
		return Unreachable
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return Limited
	case resp.StatusCode >= http.StatusInternalServerError:
		return Failed
	}
	return ""
}

// Repositories is how many are talked to at once where nobody says.
const Repositories = 32

// SlowBytes is what has to come within Budget.Silence: a server that trickles is
// as good as a silent one.
const SlowBytes = 1000

// Patience is the budget of a user who waits this long for a silent server.
func Patience(silence time.Duration) Budget {
	return Budget{Connect: min(silence, 15*time.Second), FirstByte: 2 * silence, Silence: silence, Push: 6 * silence, Request: 60 * silence}
}

// WithDefaults fills what is zero.
func (b Budget) WithDefaults() Budget {
	usual := Patience(30 * time.Second)
	for _, f := range []struct{ field, value *time.Duration }{
		{&b.Connect, &usual.Connect}, {&b.FirstByte, &usual.FirstByte}, {&b.Silence, &usual.Silence}, {&b.Push, &usual.Push}, {&b.Request, &usual.Request},
	} {
		if *f.field <= 0 {
			*f.field = *f.value
		}
	}
	if b.Repositories <= 0 {
		b.Repositories = Repositories
	}
	return b
}

// SlowError is a server that used up a Budget. It is no passing failure: asking
// again would take as long again.
type SlowError struct {
	Server string
	What   string // "did not answer"
	After  time.Duration
}

// Error says who was waited for, for what and how long.
func (e *SlowError) Error() string {
	return fmt.Sprintf("%s %s for %s: see whether it is up, or give it longer (--server-timeout)", e.Server, e.What, e.After)
}

// IsSlow says that a call ended because a server was too slow.
func IsSlow(err error) bool {
	var slow *SlowError
	return errors.As(err, &slow)
}

// What a server did not do in time.
const (
	noConnection = "accepted no connection"
	noAnswer     = "did not answer"
	noProgress   = "sent next to nothing of its answer"
	noEnd        = "did not finish its answer"
)

// Slow remembers, between runs that share it, which servers and repositories were too
// slow: they are asked again after a minute, and later and later within five. Safe for
// concurrent use.
type Slow struct {
	mu   sync.Mutex
	seen map[string]slowness
}

type slowness struct {
	err   *SlowError
	until time.Time
	pause time.Duration
}

const (
	// leftAlone is how long a run asks nothing of what was too slow, and the longest
	// pause between runs.
	leftAlone  = 5 * time.Minute
	firstPause = time.Minute
)

// known returns the SlowError that one of these has earned, nil where none has.
func (s *Slow) known(now time.Time, keys ...string) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if one, ok := s.seen[k]; ok && now.Before(one.until) {
			return one.err
		}
	}
	return nil
}

// remember notes what was too slow, the first time for a pause.
func (s *Slow) remember(now time.Time, key string, err *SlowError, pause time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]slowness{}
	}
	if one, ok := s.seen[key]; ok {
		pause = min(2*one.pause, leftAlone)
	}
	s.seen[key] = slowness{err, now.Add(pause), pause}
}

// forget notes that a server answered in time.
func (s *Slow) forget(keys ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		delete(s.seen, k)
	}
}

// Transport keeps requests to a Budget. What was too slow is left alone for a
// while, so that a run waits for it once: a server that accepts no connection,
// and a repository that does not answer. Safe for concurrent use.
type Transport struct {
	Inner  http.RoundTripper
	Budget Budget
	// Repository names the repository that a request is about, and Push says
	// whether it is a push, which leaves no mark on the repository.
	Repository func(*http.Request) string
	Push       func(*http.Request) bool

	slow Slow // of this run
}

// NewTransport is a Transport on connections of its own.
func NewTransport(b Budget, repository func(*http.Request) string, push func(*http.Request) bool) *Transport {
	b = b.WithDefaults()
	t := &Transport{Budget: b, Repository: repository, Push: push, Inner: http.DefaultTransport}
	if base, ok := http.DefaultTransport.(*http.Transport); ok {
		own := base.Clone()
		own.DialContext = (&net.Dialer{Timeout: b.Connect, KeepAlive: 30 * time.Second}).DialContext
		own.TLSHandshakeTimeout = b.Connect
		own.MaxIdleConnsPerHost = b.Repositories // a fleet has many on one server
		own.MaxIdleConns = max(own.MaxIdleConns, b.Repositories)
		t.Inner = own
	}
	return t
}

// CloseIdleConnections ends the connections that wait for another request, of a Transport
// that has its own.
func (t *Transport) CloseIdleConnections() {
	if own, ok := t.Inner.(*http.Transport); ok && t.Inner != http.DefaultTransport {
		own.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if bundled.Load() {
		trustBundle()
	}
	o := OriginOf(req.URL)
	repository, push := t.Repository(req), t.Push(req)
	if err := t.known(string(o), repository); err != nil {
		note(req.Context(), err)
		return nil, err
	}
	w := newWatch(req.Context(), o.Shown(), t.Budget.Request)
	w.first, w.silence = t.Budget.FirstByte, t.Budget.Silence
	if push {
		w.first, w.silence = t.Budget.Push, t.Budget.Push
	} else {
		w.spent = func(err *SlowError) { t.remember(repository, err) }
	}
	sent := req.Clone(w.ctx)
	if req.Body != nil && req.Body != http.NoBody {
		sent.Body = &sending{req.Body, w}
	}
	w.wait(noAnswer, w.first)
	resp, err := t.Inner.RoundTrip(sent)
	w.rest()
	if err != nil {
		defer w.end()
		err = t.explain(w, o, err)
	}
	if what := troubleOf(resp, err); what != "" {
		t.Budget.notice(req.URL, what, 0)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = &arriving{
		in: resp.Body, w: w, left: w.silence,
		done: func() { t.Budget.Slow.forget(string(o), repository) }, late: func() { t.Budget.notice(req.URL, TooLate, 0) },
	}
	return resp, nil
}

func (t *Transport) known(keys ...string) error {
	now := time.Now()
	if err := t.slow.known(now, keys...); err != nil {
		return err
	}
	return t.Budget.Slow.known(now, keys...)
}

func (t *Transport) remember(key string, err *SlowError) {
	now := time.Now()
	t.slow.remember(now, key, err, leftAlone)
	t.Budget.Slow.remember(now, key, err, firstPause)
}

// explain makes a SlowError of what came of a budget.
func (t *Transport) explain(w *watch, o Origin, err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		if IsSlow(cause) {
			return cause
		}
		return err
	}
	var op *net.OpError
	var late interface{ Timeout() bool }
	if errors.As(err, &op) && op.Op != "dial" || !errors.As(err, &late) || !late.Timeout() {
		return err
	}
	slow := &SlowError{o.Shown(), noConnection, t.Budget.Connect} // the dialer's, or that of TLS
	t.remember(string(o), slow)
	note(w.ctx, slow)
	return slow
}

// Noted gives a context whose requests leave here what was too slow for them:
// libraries between keep an error's text at best.
func Noted(ctx context.Context) context.Context {
	return context.WithValue(ctx, noteKey{}, &noteBox{})
}

// TooSlow is the note in a context that Noted made, nil where there is none.
func TooSlow(ctx context.Context) error {
	if n, ok := ctx.Value(noteKey{}).(*noteBox); ok {
		return n.get()
	}
	return nil
}

type noteKey struct{}

type noteBox struct {
	mu  sync.Mutex
	err error
}

func (n *noteBox) get() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func note(ctx context.Context, err error) {
	if n, ok := ctx.Value(noteKey{}).(*noteBox); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.err = err
	}
}

// watch ends a request's context when it has waited for too long.
type watch struct {
	ctx            context.Context //nolint:containedctx // lives for one request
	cancel         context.CancelCauseFunc
	server         string
	first, silence time.Duration
	whole          *time.Timer
	spent          func(*SlowError) // hears of a budget that was used up; nil is nobody

	mu    sync.Mutex
	timer *time.Timer
}

func newWatch(ctx context.Context, server string, whole time.Duration) *watch {
	w := &watch{server: server}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.whole = time.AfterFunc(whole, func() { w.stop(&SlowError{server, noEnd, whole}) })
	return w
}

func (w *watch) stop(err *SlowError) {
	if w.spent != nil {
		w.spent(err)
	}
	note(w.ctx, err)
	w.cancel(err)
}

// wait starts a wait, in place of the one before.
func (w *watch) wait(what string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(d, func() { w.stop(&SlowError{w.server, what, max(d, w.silence)}) })
}

// rest is while the server is not waited for.
func (w *watch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) end() {
	w.rest()
	w.whole.Stop()
	w.cancel(nil)
}

// sending is a request's body: as long as the server takes it, its answer is not due.
type sending struct {
	io.ReadCloser
	w *watch
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	s.w.wait(noAnswer, s.w.first)
	return s.ReadCloser.Read(p)
}

// arriving is an answer's body. Only the time that is spent waiting for it counts.
type arriving struct {
	goesOn bool // past its end: the stream is closed in the same context
	in     io.ReadCloser
	w      *watch
	left   time.Duration // for the next SlowBytes
	got    int
	// done hears that all of it came, late that it did not in time; nil is nobody.
	done, late func()
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	start := time.Now()
	a.w.wait(noProgress, a.left)
	n, err := a.in.Read(p)
	a.w.rest()
	a.left -= time.Since(start)
	if a.got += n; a.got >= SlowBytes {
		a.got, a.left = 0, a.w.silence
	}
	if cause := context.Cause(a.w.ctx); err != nil && IsSlow(cause) {
		err = cause
		if a.late != nil {
			a.late()
		}
	}
	if err == io.EOF && a.done != nil { //nolint:errorlint // readers return it as it is
		a.done()
	}
	if err != nil && !a.goesOn {
		a.w.end()
	}
	return n, err
}

// Close implements io.Closer.
func (a *arriving) Close() error {
	a.w.end()
	return a.in.Close()
}

// Watch bounds a stream that is not HTTP's, of a push or not: the context that
// it returns ends with a SlowError when the stream is silent for too long or
// takes too long in all. An answer of some length is read through the reader.
func (b Budget) Watch(ctx context.Context, server string, push bool) (watched context.Context, reader func(io.Reader) io.Reader, end func()) {
	w := newWatch(ctx, server, b.Request)
	w.silence = b.Silence
	first := b.FirstByte
	if push {
		first = b.Push
	}
	w.wait(noAnswer, b.Connect+first)
	return w.ctx, func(in io.Reader) io.Reader {
		return &arriving{in: io.NopCloser(in), w: w, left: w.silence, goesOn: true}
	}, w.end
}
