package ocirepo

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
)

// ImageDigest is the digest that an image's tag points at, "latest" where it
// has none: of the index, where the image is of several platforms. The image
// need not be a package. Errors are those of the registry: ErrAddress,
// ErrNotFound, ErrAuth, ErrRateLimited, ErrUnavailable.
func (s *Store) ImageDigest(ctx context.Context, image string) (string, error) {
	if s.err != nil {
		return "", fmt.Errorf("preparing access to OCI registries: %w", s.err)
	}
	rest, options, err := parseScheme(image)
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(rest, options...)
	if err != nil {
		return "", badContent(ErrAddress, "%q is no image with a tag: write registry.example.com/path/image:tag", image)
	}
	r := &Repo{store: s, registry: tag.Registry}
	return r.tagDigest(ctx, tag.Repository, tag.TagStr())
}
