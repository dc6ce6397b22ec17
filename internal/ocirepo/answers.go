package ocirepo

import (
	"io"
	"net/http"
	"strings"
)

// answers bounds what is read of the answers that the library takes in whole.
type answers struct{ inner http.RoundTripper }

// Bounds of answers that are no layers.
const (
	maxListBytes    = 32 << 20 // a page of tags or repositories
	maxRefusalBytes = 64 << 10
)

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.inner.RoundTrip(req)
	if err != nil || req.Method == http.MethodHead {
		return resp, err
	}
	most, what := int64(maxListBytes), "the registry's answer"
	switch path := req.URL.Path; {
	case resp.StatusCode >= http.StatusMultipleChoices:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxRefusalBytes), resp.Body}
		return resp, nil
	case strings.Contains(path, "/blobs/") || req.Response != nil: // a layer, as a rule from elsewhere
		return resp, nil
	case strings.Contains(path, "/manifests/"):
		most, what = maxManifestBytes, "its manifest"
	}
	resp.Body = &bounding{resp.Body, most, most, what}
	return resp, nil
}

// bounding fails, where io.LimitReader ends, past its bound.
type bounding struct {
	io.ReadCloser
	left, most int64
	what       string
}

// Read implements io.Reader.
func (b *bounding) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, badContent(ErrLimit, "%s has more than %d bytes", b.what, b.most)
	}
	return n, err
}
