package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/variform/variform/test/ocitest"
)

func inProcess(t *testing.T, options ...registry.Option) string {
	t.Helper()
	options = append(options, registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(registry.New(options...))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// TestPush pushes one image to registries with and without the Referrers API.
func TestPush(t *testing.T) {
	out := t.TempDir()
	built, err := BuildFolder(binaries(t, "amd64/a", "arm64/a"), out, release())
	if err != nil {
		t.Fatal(err)
	}
	image := built[0]
	cases := map[string]struct {
		start func(t *testing.T) string
		api   bool
	}{
		"ReferrersAPI": {func(t *testing.T) string { return inProcess(t, registry.WithReferrersSupport(true)) }, true},
		"FallbackTag":  {func(t *testing.T) string { return inProcess(t) }, false},
		"Debian":       {func(t *testing.T) string { return ocitest.Registry(t) }, false},
	}
	for caseName, tc := range cases {
		t.Run(caseName, func(t *testing.T) {
			host := tc.start(t)
			for range 2 { // again: nothing changes
				pushed, err := Push(context.Background(), image.Layout, host+"/team", "a", []string{"v1", "latest"})
				if err != nil {
					t.Fatal(err)
				}
				if want := host + "/team/a@" + image.Digest.String(); pushed.Image != want || pushed.Referrers != 3 {
					t.Errorf("got %+v, want %s and 3 referrers", pushed, want)
				}
			}
			repo, err := name.NewRepository(host + "/team/a")
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range []string{"v1", "latest"} {
				if d, err := remote.Head(repo.Tag(tag)); err != nil || d.Digest != image.Digest {
					t.Errorf("tag %s is %v, %v", tag, d, err)
				}
			}
			idx, err := remote.Index(repo.Digest(image.Digest.String()))
			if err != nil {
				t.Fatal(err)
			}
			m, err := idx.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			subjects := []string{image.Digest.String()}
			for _, d := range m.Manifests {
				if _, err := idx.Image(d.Digest); err != nil {
					t.Error(err)
				}
				subjects = append(subjects, d.Digest.String())
			}
			if len(subjects) != 3 {
				t.Errorf("images of the index: %v", subjects[1:])
			}
			for _, s := range subjects {
				checkListed(t, repo, s)
			}
			url := fmt.Sprintf("http://%s/v2/team/a/manifests/%s", host, strings.Replace(image.Digest.String(), ":", "-", 1))
			if got := status(t, url); (got == http.StatusOK) == tc.api {
				t.Errorf("the fallback tag answers %d, Referrers API: %v", got, tc.api)
			}
		})
	}
}

// checkListed finds the list of contents of a subject as scanners do.
func checkListed(t *testing.T, repo name.Repository, subject string) {
	t.Helper()
	list, err := remote.Referrers(repo.Digest(subject))
	if err != nil {
		t.Fatal(err)
	}
	m, err := list.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 {
		t.Fatalf("what refers to %s: %+v", subject, m.Manifests)
	}
	img, err := remote.Image(repo.Digest(m.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.ArtifactType != SBOMType || manifest.Subject.Digest.String() != subject { // registries' own lists of types differ
		t.Errorf("what refers to %s: %+v", subject, manifest)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		rc, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(rc)
		_ = rc.Close()
		if err != nil || !json.Valid(data) || !bytes.Contains(data, []byte(`"SPDX-2.3"`)) {
			t.Errorf("the list of contents of %s: %v, %.80s", subject, err, data)
		}
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/vnd.oci.image.index.v1+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestPushRefuses(t *testing.T) {
	empty := t.TempDir()
	cases := map[string]struct{ dir, registry, want string }{
		"NotBuilt":    {empty, "example.com/x", "make images"},
		"BadRegistry": {empty, "https://example.com/x", "write it as registry.example.com/path"},
	}
	for name, tc := range cases {
		if _, err := Push(context.Background(), tc.dir, tc.registry, "a", nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}
