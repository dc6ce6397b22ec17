package ocirepo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/variform/variform/internal/wire"
)

const maxManifestBytes = 4 << 20 // what registries accept at most, as a rule

// Packages lists the packages below the registered path by name, sorted. It
// needs the registry's catalogue: ErrNoCatalog where that is not given (public
// registries as a rule), ErrAuth where it is for others.
func (r *Repo) Packages(ctx context.Context) ([]string, error) {
	place := Error{Op: "listing the packages", Registry: r.registry.RegistryStr(), Repository: r.path}
	names, err := r.catalog(ctx)
	if err != nil {
		failed := r.store.fail(place, err)
		if e := (*Error)(nil); errors.As(failed, &e) && noCatalog(e) {
			e.Kind = ErrNoCatalog
			e.Remedy = "name the packages (spec.sources[].packages of a Catalog, spec.upstream.package of a variant)"
		}
		return nil, failed
	}
	var out []string
	for _, n := range names {
		if r.path == "" {
			out = append(out, n)
		} else if pkg, ok := strings.CutPrefix(n, r.path+"/"); ok {
			out = append(out, pkg)
		}
	}
	sort.Strings(out)
	return out, nil
}

func noCatalog(e *Error) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return false
}

func (r *Repo) catalog(ctx context.Context) ([]string, error) {
	pages, err := r.store.puller.Catalogger(ctx, r.registry)
	if err != nil {
		return nil, err
	}
	var out []string
	for pages.HasNext() {
		page, err := pages.Next(ctx)
		if err != nil {
			return nil, err
		}
		if out = append(out, page.Repos...); len(out) > r.store.opts.Limits.Names {
			return nil, badContent(ErrLimit, "the registry has more than %d repositories", r.store.opts.Limits.Names)
		}
	}
	return out, nil
}

// tagNames lists the tags of a package, as the registry has them.
func (r *Repo) tagNames(ctx context.Context, repo name.Repository) ([]string, error) {
	tags, err := r.tags.get(ctx, repo.Name(), func() ([]string, error) {
		return retried(ctx, func() ([]string, error) { return r.listTags(ctx, repo) })
	})
	return tags, r.store.fail(at("listing the tags", repo, ""), err)
}

func (r *Repo) listTags(ctx context.Context, repo name.Repository) ([]string, error) {
	pages, err := r.store.puller.Lister(ctx, repo)
	if err != nil {
		return nil, err
	}
	var out []string
	for pages.HasNext() {
		page, err := pages.Next(ctx)
		if err != nil {
			return nil, err
		}
		if out = append(out, page.Tags...); len(out) > r.store.opts.Limits.Names {
			return nil, badContent(ErrLimit, "it has more than %d tags", r.store.opts.Limits.Names)
		}
	}
	return out, nil
}

// tagDigest is the digest that a tag points at, ErrNotFound where it does not exist.
func (r *Repo) tagDigest(ctx context.Context, repo name.Repository, tag string) (string, error) {
	digest, err := r.digests.get(ctx, repo.Name()+":"+tag, func() (string, error) {
		return retried(ctx, func() (string, error) { return r.store.headTag(ctx, repo.Tag(tag)) })
	})
	return digest, r.store.fail(at("reading the tag", repo, tag), err)
}

// headTag asks with HEAD, which registries do not count as a pull, and with GET
// where the answer to that is of no use.
func (s *Store) headTag(ctx context.Context, tag name.Tag) (string, error) {
	desc, err := s.puller.Head(ctx, tag)
	if err == nil {
		return desc.Digest.String(), nil
	}
	var answer *transport.Error
	if answered(ctx, err) && !(errors.As(err, &answer) && answer.StatusCode == http.StatusMethodNotAllowed) {
		return "", err
	}
	got, err := s.puller.Get(ctx, tag)
	if err != nil {
		return "", err
	}
	return digestOf(got.Manifest), nil
}

// imageManifest is a manifest of one image, an index followed to the image that
// is read.
type imageManifest struct {
	v1.Manifest
	of *imageManifest // the index, nil where there is none
}

// rawManifest is what v1.Manifest and v1.IndexManifest have between them.
type rawManifest struct {
	v1.Manifest
	Manifests []v1.Descriptor `json:"manifests"`
}

const maxIndexDepth = 3

// image reads the manifest with a digest.
func (r *Repo) image(ctx context.Context, repo name.Repository, digest string) (*imageManifest, error) {
	m, err := r.images.get(ctx, repo.Name()+"@"+digest, func() (*imageManifest, error) {
		return r.follow(ctx, repo, digest, maxIndexDepth)
	})
	return m, r.store.fail(at("reading the manifest", repo, digest), err)
}

func (r *Repo) follow(ctx context.Context, repo name.Repository, digest string, depth int) (*imageManifest, error) {
	if depth == 0 {
		return nil, badContent(ErrPackage, "image indexes stand in one another more than %d deep", maxIndexDepth)
	}
	data, err := retried(ctx, func() ([]byte, error) { return r.store.manifest(ctx, repo.Digest(digest)) })
	if err != nil {
		return nil, err
	}
	var raw rawManifest
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, badContent(ErrPackage, "its manifest is not JSON of an image: %v", err)
	}
	if len(raw.Manifests) == 0 {
		return &imageManifest{Manifest: raw.Manifest}, nil
	}
	child, ok := choose(raw.Manifests)
	if !ok {
		return nil, badContent(ErrPackage, "its index lists no image")
	}
	m, err := r.follow(ctx, repo, child.Digest.String(), depth-1)
	if err != nil {
		return nil, err
	}
	out := *m
	out.of = &imageManifest{Manifest: raw.Manifest}
	return &out, nil
}

// choose takes the image for linux/amd64, or else the first that is for some
// platform: all carry the same package.
func choose(all []v1.Descriptor) (v1.Descriptor, bool) {
	var first *v1.Descriptor
	for i, d := range all {
		known := d.Platform == nil || d.Platform.OS != "unknown" // attestations have no platform
		if !known || !(d.MediaType.IsImage() || d.MediaType.IsIndex()) {
			continue
		}
		if d.Platform != nil && d.Platform.OS == "linux" && d.Platform.Architecture == "amd64" {
			return d, true
		}
		if first == nil {
			first = &all[i]
		}
	}
	if first == nil {
		return v1.Descriptor{}, false
	}
	return *first, true
}

// manifest reads a manifest from the cache or the registry. Both compare it with
// its digest.
func (s *Store) manifest(ctx context.Context, ref name.Digest) ([]byte, error) {
	digest := ref.DigestStr()
	if data, ok := s.cache.get(digest, maxManifestBytes); ok {
		return data, nil
	}
	got, err := s.puller.Get(ctx, ref)
	if err != nil {
		if own := (*contentError)(nil); answered(ctx, err) || errors.As(err, &own) {
			return nil, err
		}
		// What is left of the library's errors is that the digests differ.
		return nil, badContent(ErrDigest, "%s; the registry or something before it has damaged or changed it: do not use it", detail(err))
	}
	if len(got.Manifest) > maxManifestBytes {
		return nil, badContent(ErrLimit, "its manifest has %d bytes, more than %d", len(got.Manifest), maxManifestBytes)
	}
	s.cache.put(digest, got.Manifest)
	return got.Manifest, nil
}

// answered: the call ended in an HTTP status, in the network or in the context.
func answered(ctx context.Context, err error) bool {
	var answer *transport.Error
	var late *throttledError
	var call interface{ Timeout() bool } // *url.Error and net.Error
	return ctx.Err() != nil || errors.As(err, &answer) || errors.As(err, &late) || errors.As(err, &call) || broken(err)
}

// broken: an answer ended early.
func broken(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// blob reads a layer from the cache or the registry, and compares it with its
// digest.
func (s *Store) blob(ctx context.Context, repo name.Repository, desc v1.Descriptor) ([]byte, error) {
	digest := desc.Digest.String()
	switch {
	case desc.Size > s.opts.Limits.BlobBytes:
		return nil, badContent(ErrLimit, "layer %s has %d bytes, more than %d", digest, desc.Size, s.opts.Limits.BlobBytes)
	case !isDigest(digest) || desc.Size < 0:
		return nil, badContent(ErrPackage, "layer %q has no SHA-256 digest or no size", digest)
	}
	if data, ok := s.cache.get(digest, desc.Size); ok && int64(len(data)) == desc.Size {
		return data, nil
	}
	var last error
	for attempt := 1; attempt <= s.opts.Retry.Attempts; attempt++ {
		if attempt > 1 {
			s.opts.Log("reading layer %s of %s: %s; asking again", digest, repo.Name(), detail(last))
			if err := wire.Sleep(ctx, s.opts.Retry.wait(attempt-1)); err != nil {
				return nil, err
			}
		}
		data, err := s.fetchBlob(ctx, repo, desc)
		if err == nil {
			s.cache.put(digest, data)
			return data, nil
		}
		if last = err; !errors.Is(err, errCut) || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, badContent(ErrDigest, "%s, each time; the registry or something before it has damaged it", detail(last))
}

// errCut: a layer ended before its size.
var errCut = errors.New("the layer was cut short")

func (s *Store) fetchBlob(ctx context.Context, repo name.Repository, desc v1.Descriptor) ([]byte, error) {
	layer, err := s.puller.Layer(ctx, repo.Digest(desc.Digest.String()))
	if err != nil {
		return nil, err
	}
	body, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	// An error of reading shows in the length or the digest; nothing else counts.
	data, _ := io.ReadAll(io.LimitReader(body, desc.Size+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case int64(len(data)) < desc.Size:
		return nil, fmt.Errorf("layer %s: %w: %d of %d bytes", desc.Digest, errCut, len(data), desc.Size)
	case int64(len(data)) > desc.Size || digestOf(data) != desc.Digest.String():
		return nil, badContent(ErrDigest, "layer %s came with other content; the registry or something before it has damaged or changed it: do not use it", desc.Digest)
	}
	return data, nil
}

// retried runs work once more when its answer ended early, or when it failed
// because another caller, whose session it shared, was stopped.
func retried[T any](ctx context.Context, work func() (T, error)) (T, error) {
	v, err := work()
	if err != nil && ctx.Err() == nil && (broken(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return work()
	}
	return v, err
}

// heldLayer is a layer that was read; the library finds its compression.
type heldLayer struct {
	desc v1.Descriptor
	data []byte
}

func (l heldLayer) Digest() (v1.Hash, error)            { return l.desc.Digest, nil }
func (l heldLayer) Size() (int64, error)                { return l.desc.Size, nil }
func (l heldLayer) MediaType() (types.MediaType, error) { return l.desc.MediaType, nil }
func (l heldLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.data)), nil
}
