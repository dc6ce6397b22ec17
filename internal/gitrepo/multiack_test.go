package gitrepo

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/test/gittest"
)

// azure answers for a server as Azure DevOps does: it does not know v2, and no request
// without multi_ack.
func azure() roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		req.Header.Del("Git-Protocol")
		if !isFetch(req) {
			return http.DefaultTransport.RoundTrip(req)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(body, []byte("multi_ack")) {
			text := "TF401041: Clients must support multi-ack.\n::error::see \x1b[1mthe docs\n"
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return http.DefaultTransport.RoundTrip(req)
	}
}

// A server that requires multi_ack is read: first, again upon what the cache has, and
// behind a Draft.
func TestMultiAck(t *testing.T) {
	for _, filters := range []bool{false, true} {
		s := newSite(t)
		if filters {
			s.repo.Git(t, "config", "uploadpack.allowFilter", "true")
		}
		var last Hash
		for i := range 20 {
			last = plumbing.NewHash(s.repo.Commit(t, "main", "n", gittest.Text{"web/Kptfile": kptfile("web"), "web/a.yaml": strings.Repeat("a: 1\n", i+1)}))
		}
		o := Options{CacheDir: t.TempDir(), Transport: azure()}
		r := openWith(t, s.urls["http"], o)
		if c := head(t, r, "main"); c.Hash != last {
			t.Fatalf("main is %s", c.Hash)
		}
		if line, err := r.FirstParents(t.Context(), last, 20); err != nil || len(line) != 20 {
			t.Fatalf("%d commits, %v", len(line), err)
		}
		draft(t, r.NewBatch(), "web", "packagevariant-1", head(t, r, "main"), files("web", 3))
		next := plumbing.NewHash(s.repo.Commit(t, "main", "next", gittest.Text{"web/b.yaml": "b: 1\n"}))
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		commits, err := r.Commits(t.Context(), next)
		if err != nil || len(commits) != 1 {
			t.Fatal(err)
		}
		keep, finish := r.packSink(r.objects)
		if err := r.upload(t.Context(), request{wants: []Hash{next}, haves: []Hash{last}}, keep); err != nil {
			t.Fatal(err)
		}
		if err := finish(); err != nil {
			t.Fatal(err)
		}
		if _, there, err := r.TreeAt(t.Context(), next, "web"); err != nil || !there {
			t.Fatal(there, err)
		}
	}
}

// An error over HTTP quotes the server, on one line, without what moves a terminal.
func TestServersText(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "n", gittest.Text{"a.txt": "a\n"})
	for name, c := range map[string]struct{ kind, text, want string }{
		"text":             {"text/plain", "TF401041: no.\n::error::see \x1b[1mthe docs\n", "status code: 400; the server said: TF401041: no. ::error::see [1mthe docs"},
		"a page":           {"text/html", "<html>no", "status code: 400"},
		"nothing":          {"text/plain", "", "status code: 400"},
		"more than a line": {"text/plain", strings.Repeat("x", 9000), "xxx…"},
	} {
		refuse := roundTripper(func(req *http.Request) (*http.Response, error) {
			if !isFetch(req) {
				return http.DefaultTransport.RoundTrip(req)
			}
			return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.text)), Request: req}, nil
		})
		r := openWith(t, s.urls["http"], Options{Transport: refuse})
		ref, _ := r.Refs().Branch("main")
		_, err := r.Commits(t.Context(), ref.Commit)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > maxReply+400 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
