package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Pinned is one function of a pipeline after Pin.
type Pinned struct {
	File  string // path of its Kptfile
	Field string // pipeline.mutators[0].image
	Image string // as it stands there now, with its digest
	Was   string // as it stood there; equal to Image where it was pinned before
	// Builtin says that the image ran in process so far. A digest is a promise
	// about the image, so that it now needs a container engine.
	Builtin bool
}

// Pin puts the digest that its tag points at now in the place of the tag of
// each function image of p's Kptfiles, with the registry that was asked, so
// that what runs cannot change under the same name
// (docs/design/trust.md#nothing-runs-without-leave). A tag beside the digest
// would be refused by kpt. All else in the Kptfiles keeps its bytes, and a
// second time nothing changes.
//
// digest is asked once for each image that is not pinned, with its registry.
// AllowedImages, Registry and the builtins count of o. What cannot be pinned is
// reported for all functions at once, as PipelineErrors and FunctionErrors; p is
// then as it was.
func Pin(ctx context.Context, p *krm.Package, o Options, digest func(ctx context.Context, image string) (string, error)) ([]Pinned, error) {
	if o.Registry == "" {
		o.Registry = DefaultRegistry
	}
	pins, err := pinsOf(p, o)
	digests, failed := askDigests(ctx, pins, digest)
	if err := errors.Join(append(err, failed...)...); err != nil {
		return nil, err
	}
	out := make([]Pinned, 0, len(pins))
	for _, f := range pins {
		if f.ref.digest == "" {
			f.Image = f.ref.repository + "@" + digests[f.ref.String()]
			f.in(f.kptfile.Edit()).Value = f.Image
		}
		out = append(out, f.Pinned)
	}
	return out, nil
}

// pin is a function that has an image.
type pin struct {
	Pinned
	of      Function
	ref     reference // with its registry
	kptfile *krm.Resource
}

func pinsOf(p *krm.Package, o Options) (pins []pin, errs []error) {
	builtin := newBuiltins(o)
	for _, dir := range packageDirs(p) {
		if _, ok := p.Read(path.Join(dir, "Kptfile")); !ok {
			continue // the root may be a folder of packages
		}
		functions, bad := readPipeline(p, dir, o.Registry)
		if errs = append(errs, bad...); len(bad) > 0 {
			continue
		}
		for _, f := range functions {
			if f.Image == "" {
				continue
			}
			next := pin{of: f, kptfile: p.Kptfile(dir)}
			next.ref, _ = parseImage(f.Image) // it was parsed with the pipeline
			was := next.in(next.kptfile.Node()).Value
			_, err := builtin.Resolve(f)
			next.Pinned = Pinned{File: next.kptfile.Path(), Field: f.field() + ".image", Was: was, Image: was, Builtin: err == nil}
			if err := next.check(o); err != nil {
				errs = append(errs, f.fail(err))
			}
			pins = append(pins, next)
		}
	}
	return pins, errs
}

func (f pin) check(o Options) error {
	switch {
	case f.ref.digest != "":
		return nil
	case f.of.Tag != "":
		return &UnavailableError{
			Reason: fmt.Sprintf("it has a tag of its own, %q, which a digest would overrule", f.of.Tag),
			Hint:   "write one tag after the image's name and remove the field tag, then pin again",
		}
	case o.AllowedImages != nil && !f.ref.allowed(o.AllowedImages):
		return &UnavailableError{
			Reason: "the image is not on the list of allowed images",
			Hint:   fmt.Sprintf("review it, then pin it with --allow-image %s", f.ref),
		}
	}
	return nil
}

// in is the image's place in the tree of its Kptfile.
func (f pin) in(kptfile *yaml.RNode) *yaml.Node {
	list := yamltree.Path(kptfile.YNode(), "pipeline", f.of.Type)
	return yamltree.Child(list.Content[f.of.Index], "image")
}

// registryJobs is how many images are looked up at once.
const registryJobs = 8

// askDigests looks each image up once; all failures name their function.
func askDigests(ctx context.Context, pins []pin, digest func(context.Context, string) (string, error)) (map[string]string, []error) {
	users := map[string]pin{} // the first function of each image
	for _, f := range pins {
		if _, ok := users[f.ref.String()]; !ok && f.ref.digest == "" {
			users[f.ref.String()] = f
		}
	}
	type answer struct {
		digest string
		err    error
	}
	var jobs errgroup.Group
	jobs.SetLimit(registryJobs)
	images := make([]string, 0, len(users))
	for image := range users {
		images = append(images, image)
	}
	slices.Sort(images)
	answers := make([]answer, len(images))
	for i, image := range images {
		jobs.Go(func() error {
			answers[i].digest, answers[i].err = digest(ctx, image)
			return nil
		})
	}
	_ = jobs.Wait()
	digests, errs := map[string]string{}, []error(nil)
	for i, image := range images {
		if err := answers[i].err; err != nil {
			errs = append(errs, users[image].of.fail(err))
		}
		digests[image] = answers[i].digest
	}
	return digests, errs
}
