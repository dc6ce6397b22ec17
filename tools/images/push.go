package images

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Pushed is an image in a registry.
type Pushed struct {
	Image     string   // "registry.example.com/variform/inject-config@sha256:…"
	Tags      []string // sorted as they were given
	Referrers int
}

// Push writes the image of a layout folder to <registry>/<name>, with what
// refers to it, and then the tags. A registry without the Referrers API gets the
// list of referrers under the tag that the distribution-spec has for that. What
// is there already is not sent again.
func Push(ctx context.Context, dir, registry, function string, tags []string, options ...remote.Option) (Pushed, error) {
	repo, err := name.NewRepository(registry + "/" + function)
	if err != nil || strings.Contains(registry, "://") {
		return Pushed{}, fmt.Errorf("registry %q is none: write it as registry.example.com/path", registry)
	}
	idx, referrers, err := readLayout(dir)
	if err != nil {
		return Pushed{}, err
	}
	digest, err := idx.Digest()
	if err != nil {
		return Pushed{}, err
	}
	at := repo.Digest(digest.String())
	out := Pushed{Image: at.Name(), Tags: tags, Referrers: len(referrers)}
	options = append(options, remote.WithContext(ctx))
	if err := remote.WriteIndex(at, idx, options...); err != nil {
		return out, fmt.Errorf("pushing %s: %w", at, err)
	}
	for _, r := range referrers { // one after the other: a list of referrers is read and written back
		h, err := r.Digest()
		if err != nil {
			return out, err
		}
		if err := remote.Write(repo.Digest(h.String()), r, options...); err != nil {
			return out, fmt.Errorf("pushing what refers to %s: %w", at, err)
		}
	}
	for _, t := range tags {
		tag, err := name.NewTag(repo.Name()+":"+t, name.StrictValidation)
		if err != nil {
			return out, fmt.Errorf("tag %q: %w", t, err)
		}
		if err := remote.Tag(tag, idx, options...); err != nil {
			return out, fmt.Errorf("tagging %s as %s: %w", at, t, err)
		}
	}
	return out, nil
}

// readLayout reads what WriteLayout wrote: the entry with a name, and the others.
func readLayout(dir string) (v1.ImageIndex, []v1.Image, error) {
	fail := func(err error) (v1.ImageIndex, []v1.Image, error) {
		return nil, nil, fmt.Errorf("reading the layout %q: %w: build it first (make images)", dir, err)
	}
	p, err := layout.FromPath(dir)
	if err != nil {
		return fail(err)
	}
	top, err := p.ImageIndex()
	if err != nil {
		return fail(err)
	}
	m, err := top.IndexManifest()
	if err != nil {
		return fail(err)
	}
	var idx v1.ImageIndex
	var referrers []v1.Image
	for _, d := range m.Manifests {
		if d.Annotations[refName] != "" {
			if idx, err = top.ImageIndex(d.Digest); err != nil {
				return fail(err)
			}
			continue
		}
		img, err := top.Image(d.Digest)
		if err != nil {
			return fail(err)
		}
		referrers = append(referrers, img)
	}
	if idx == nil {
		return fail(errors.New("it has no entry with a name"))
	}
	return idx, referrers, nil
}
