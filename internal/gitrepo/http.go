package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// answerTransport bounds what is read of answers that the library takes in whole.
type answerTransport struct {
	inner  http.RoundTripper
	limits Limits
}

// maxRefusal is read of the page that comes with a refusal.
const maxRefusal = 16 << 10

// packKey is where a push's context has the pack that goes with it.
type packKey struct{}

func withPack(ctx context.Context, p *pack) context.Context {
	return context.WithValue(ctx, packKey{}, p)
}

// refsBuffer is read of refs at once: the library reads each of them in two pieces, and each
// piece that comes from the connection has a clock. A thousand repositories have one each.
const refsBuffer = 16 << 10

// RoundTrip implements http.RoundTripper. A pack follows what the library says of it.
func (t *answerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if p, _ := req.Context().Value(packKey{}).(*pack); p != nil && isPush(req) {
		req = req.Clone(req.Context())
		said := req.GetBody
		req.Body = body{io.MultiReader(req.Body, p.reader()), req.Body}
		req.GetBody = func() (io.ReadCloser, error) {
			again, err := said()
			return body{io.MultiReader(again, p.reader()), again}, err
		}
		req.ContentLength += p.size()
	}
	resp, err := t.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = body{io.LimitReader(resp.Body, maxRefusal), resp.Body}
	case (req.Method == http.MethodGet || isPush(req)) && isPage(resp):
		_ = resp.Body.Close()
		return nil, errKind(ErrNoRepository, "%s answers with a web page where Git was expected: a login page, or not the address of a repository; see that git ls-remote reads it without a browser", strings.TrimSuffix(repositoryAt(req.URL), "/"))
	case isPush(req):
		resp.Body = &spooled{in: resp.Body, left: t.limits.RefsBytes}
	case !isFetch(req):
		refs := &limitedReader{r: resp.Body, left: t.limits.RefsBytes, what: "the refs that the server sends are"}
		resp.Body = body{bufio.NewReaderSize(refs, refsBuffer), resp.Body}
	}
	return resp, nil
}

func isPage(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

type body struct {
	io.Reader
	io.Closer
}

// spooled is a push's answer, taken in whole: the library reads the report and
// leaves what follows, so that neither the connection nor its clocks would end.
type spooled struct {
	in   io.ReadCloser
	left int64
	data *bytes.Reader
	err  error
}

// Read implements io.Reader.
func (s *spooled) Read(p []byte) (int, error) {
	if s.data == nil {
		all, err := io.ReadAll(&limitedReader{r: s.in, left: s.left, what: "the answer to a push is"})
		_ = s.in.Close()
		s.data, s.err = bytes.NewReader(all), err
	}
	n, err := s.data.Read(p)
	if errors.Is(err, io.EOF) && s.err != nil {
		err = s.err
	}
	return n, err
}

// Close implements io.Closer.
func (s *spooled) Close() error { return s.in.Close() }

func isFetch(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+transport.UploadPackServiceName)
}

func isPush(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+transport.ReceivePackServiceName)
}
