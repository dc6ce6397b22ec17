package ocirepo

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestImageDigest(t *testing.T) {
	srv := httptest.NewServer(registry.New())
	t.Cleanup(srv.Close)
	image := strings.TrimPrefix(srv.URL, "http://") + "/fn/of-two-platforms"
	idx, err := random.Index(16, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	want, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"v1", "latest"} {
		ref, err := name.NewTag(image + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(ref, idx); err != nil {
			t.Fatal(err)
		}
	}
	s := NewStore(Options{})
	for _, ref := range []string{image, image + ":v1"} {
		if got, err := s.ImageDigest(context.Background(), ref); err != nil || got != want.String() {
			t.Errorf("%s: got %s, %v; want %s", ref, got, err, want)
		}
	}
	for ref, want := range map[string]error{image + ":gone": ErrNotFound, "not an image": ErrAddress, image + "@" + want.String(): ErrAddress} {
		if got, err := s.ImageDigest(context.Background(), ref); !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v; want %v", ref, got, err, want)
		}
	}
}
