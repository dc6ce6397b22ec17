package ocirepo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/wire"
)

// PushOptions changes how a package is pushed.
type PushOptions struct {
	// Force moves a tag that holds something else.
	Force bool
}

// Pushed is where a package is.
type Pushed struct {
	Name   string // "registry.example.com/blueprints/base-ns@sha256:…"
	Tag    string
	Digest string
	// Existed says that the tag held this package already: nothing was written.
	Existed bool
}

// Push writes a kpt package to "registry/path/package:tag". The image is as Porch
// reads it: one tar layer with the files at the root, an OCI manifest annotated
// kpt.dev/lifecycle: Published and, under a tag vN, kpt.dev/revision: N. It is a
// function of the files and that number: times, owners and order are fixed.
//
// A tag that holds the same package is left alone; one that holds something else
// is ErrExists without Force. Registries have no conditional write: of two who
// push different packages to one new tag at the same moment, the later one wins.
// Other errors: ErrAddress, ErrPackage for what could not be read back (no Kptfile,
// symbolic links), ErrLimit, and those of the registry.
func (s *Store) Push(ctx context.Context, ref string, p *krm.Package, o PushOptions) (Pushed, error) {
	if s.err != nil {
		return Pushed{}, fmt.Errorf("preparing access to OCI registries: %w", s.err)
	}
	tag, err := parseTag(ref)
	if err != nil {
		return Pushed{}, err
	}
	place := at("pushing the package", tag.Repository, tag.TagStr())
	img, err := s.imageOf(p, revisionOf(tag.TagStr()).Number)
	if err != nil {
		return Pushed{}, s.fail(place, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Pushed{}, s.fail(place, err)
	}
	there, same, err := s.holds(ctx, tag, img, digest.String())
	if err != nil {
		return Pushed{}, err
	}
	out := Pushed{Name: tag.Repository.Name() + "@" + digest.String(), Tag: tag.TagStr(), Digest: digest.String()}
	switch {
	case same:
		out.Name, out.Digest, out.Existed = tag.Repository.Name()+"@"+there, there, true
		return out, nil
	case there != "" && !o.Force:
		place.Kind, place.Detail = ErrExists, fmt.Sprintf("it is %s, this package is %s", there, digest)
		place.Remedy = "push to a new tag, or use --force to move this one"
		return Pushed{}, &place
	}
	return out, s.fail(place, s.upload(ctx, tag, img))
}

// PushNext is Push to the tag vN after the highest there is, as an approval
// numbers revisions in Git. A package that the highest holds is left there.
func (s *Store) PushNext(ctx context.Context, image string, p *krm.Package) (Pushed, error) {
	if s.err != nil {
		return Pushed{}, fmt.Errorf("preparing access to OCI registries: %w", s.err)
	}
	r, err := s.at(image) // not Open's, which remembers what tags there were
	if err != nil {
		return Pushed{}, err
	}
	revisions, err := r.Revisions(ctx, "")
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Pushed{}, err
	}
	highest := 0
	for _, rev := range revisions {
		highest = max(highest, rev.Number)
	}
	if highest > 0 {
		pushed, err := s.Push(ctx, fmt.Sprintf("%s:v%d", image, highest), p, PushOptions{})
		if !errors.Is(err, ErrExists) {
			return pushed, err
		}
	}
	return s.Push(ctx, fmt.Sprintf("%s:v%d", image, highest+1), p, PushOptions{})
}

func parseTag(ref string) (name.Tag, error) {
	rest, options, err := parseScheme(ref)
	if err != nil {
		return name.Tag{}, err
	}
	tag, err := name.NewTag(rest, append(options, name.StrictValidation)...)
	if err != nil || !tagForm.MatchString(tag.TagStr()) {
		return name.Tag{}, badContent(ErrAddress, "%q is no place to push to: write registry.example.com/path/package:tag", ref)
	}
	return tag, nil
}

// holds reads what a tag points at, "" for nothing, and whether that is the same
// package: the digest, or the configuration (it names the uncompressed content) and
// the annotations, for one that another version's compressor made.
func (s *Store) holds(ctx context.Context, tag name.Tag, img v1.Image, digest string) (there string, same bool, err error) {
	r := &Repo{store: s, registry: tag.Registry}
	there, err = r.tagDigest(ctx, tag.Repository, tag.TagStr())
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, err
	case there == digest:
		return there, true, nil
	}
	old, err := r.image(ctx, tag.Repository, there)
	if errors.Is(err, ErrPackage) || errors.Is(err, ErrLimit) {
		return there, false, nil
	}
	if err != nil {
		return "", false, err
	}
	m, err := img.Manifest()
	if err != nil {
		return "", false, err
	}
	same = old.of == nil && old.Config.Digest == m.Config.Digest && maps.Equal(old.Annotations, m.Annotations)
	return there, same, nil
}

// upload writes the image, again from where it stood when the registry failed.
func (s *Store) upload(ctx context.Context, tag name.Tag, img v1.Image) error {
	place := at("pushing the package", tag.Repository, tag.TagStr())
	for attempt := 1; ; attempt++ {
		// A new pusher: an old one remembers what a registry had once.
		pusher, err := remote.NewPusher(s.remote...)
		if err == nil {
			err = pusher.Push(ctx, tag, img)
		}
		err = s.fail(place, err)
		if err == nil {
			return nil
		}
		wait := s.opts.Retry.wait(attempt)
		if e := (*Error)(nil); errors.As(err, &e) {
			wait = max(wait, e.RetryAfter)
		}
		again := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRateLimited)
		if !again || attempt >= s.opts.Retry.Attempts || wait > s.opts.Retry.MaxWait || ctx.Err() != nil {
			return err
		}
		s.opts.Log("%v; trying again in %s", err, wait)
		if err := wire.Sleep(ctx, wait); err != nil {
			return s.fail(place, err)
		}
	}
}

// imageOf packs a package. number is that of a tag vN, 0 for others.
func (s *Store) imageOf(p *krm.Package, number int) (v1.Image, error) {
	files, err := p.Files()
	if err != nil {
		return nil, badContent(ErrPackage, "%v", err)
	}
	if err := s.pushable(files); err != nil {
		return nil, err
	}
	packed, err := pack(files)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: packed, History: v1.History{CreatedBy: "variform push"}})
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{lifecycleAnnotation: string(lifecycle.Published)}
	if number > 0 {
		annotations[revisionAnnotation] = strconv.Itoa(number)
	}
	if k := p.Kptfile(""); k != nil && k.Name() != "" {
		annotations[titleAnnotation] = k.Name()
	}
	out, ok := mutate.Annotations(img, annotations).(v1.Image)
	if !ok {
		return nil, errors.New("annotating the image gave no image")
	}
	return out, nil
}

// pushable refuses what ReadPackage, or Porch, would not read back; all at once.
func (s *Store) pushable(files []krm.File) error {
	var problems []string
	size, root := int64(0), false
	limits := s.opts.Limits
	for _, f := range files {
		root = root || f.Path == kptfile
		size += int64(len(f.Data))
		p, err := safePath(f.Path)
		switch {
		case err != nil:
			problems = append(problems, err.Error())
		case p != f.Path || strings.HasPrefix(p[strings.LastIndex(p, "/")+1:], whiteout):
			problems = append(problems, fmt.Sprintf("%s: a layer cannot hold a file of that name", f.Path))
		case f.Mode == krm.Symlink:
			problems = append(problems, fmt.Sprintf("%s is a symbolic link: put the file in its place", f.Path))
		case int64(len(f.Data)) > limits.FileBytes:
			return badContent(ErrLimit, "%s has %d bytes, more than %d", f.Path, len(f.Data), limits.FileBytes)
		}
	}
	switch {
	case len(files) > limits.PackageFiles || size > limits.PackageBytes:
		return badContent(ErrLimit, "the package has %d files and %d bytes, more than %d and %d", len(files), size, limits.PackageFiles, limits.PackageBytes)
	case !root:
		problems = append(problems, "it has no Kptfile at its root")
	}
	if len(problems) > 0 {
		return badContent(ErrPackage, "%s", strings.Join(problems, "; "))
	}
	return nil
}

// pack makes the layer: files in order, fixed owner, mode and time, no folders.
func pack(files []krm.File) (v1.Layer, error) {
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: 0o644, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0).UTC()}
		if f.Mode == krm.Executable {
			h.Mode = 0o755
		}
		if err := tw.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.Path, err)
		}
		if _, err := tw.Write(f.Data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		return nil, err
	}
	data := buf.Bytes()
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithMediaType(types.OCILayer),
	)
}
