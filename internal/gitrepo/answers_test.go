package gitrepo

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// openAnswers counts the answers that nobody has closed.
type openAnswers struct{ count atomic.Int32 }

func (o *openAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		o.count.Add(1)
		resp.Body = &counted{ReadCloser: resp.Body, open: &o.count}
	}
	return resp, err
}

type counted struct {
	io.ReadCloser
	open   *atomic.Int32
	closed bool
}

func (c *counted) Close() error {
	if !c.closed {
		c.closed = true
		c.open.Add(-1)
	}
	return c.ReadCloser.Close()
}

// Every answer is closed in the end, a push's too: what stays open keeps its
// connection, and the clocks that watch it.
func TestAnswersAreClosed(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"README.md": "hi\n"})
	answers := &openAnswers{}
	r := openWith(t, s.urls["http"], Options{Transport: answers})
	b := r.NewBatch()
	draft(t, b, "app", "packagevariant-1", head(t, r, "main"), files("app", 2))
	push(t, b)
	if n := answers.count.Load(); n != 0 {
		t.Errorf("%d answers are open after a push", n)
	}
}
