package mutate

import (
	"errors"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
)

// Options are what Apply needs beside the variant.
type Options struct {
	// Dir is the folder of the package in a tree of packages, "" for its root.
	Dir string
	// Context holds the objects that can be injected; nil holds none.
	Context *injection.Context
	// AllowKinds names kinds that are injected only by leave
	// (docs/design/injection.md#secrets).
	AllowKinds []string
	// DropStale removes the injection conditions of points that are gone; for
	// callers that have the whole package, not a selection of it.
	DropStale bool
	// Points, where not nil, are the injection points to fill instead of all.
	Points []injection.Point
}

// Apply makes a variant's mutations in the order of Porch's PackageVariant
// design: package context, pipeline, injection. The package should be a clone:
// after an error it may be changed in part. All errors are returned at once,
// joined.
//
// The report says what was injected; it is nil where injection failed.
func Apply(p *krm.Package, pv *v1alpha1.PackageVariant, opts Options) (*injection.Report, error) {
	if _, err := Kptfile(p, opts.Dir); err != nil {
		return nil, err
	}
	errs := []error{
		applyContext(p, opts.Dir, pv.Spec.PackageContext),
		applyPipeline(p, opts.Dir, pv.Name, pv.Spec.Pipeline),
	}
	report, err := Inject(p, pv, opts)
	return report, errors.Join(append(errs, err)...)
}

// Inject makes the last of a variant's mutations alone.
func Inject(p *krm.Package, pv *v1alpha1.PackageVariant, opts Options) (*injection.Report, error) {
	points := opts.Points
	if points == nil {
		points = injection.Find(p)
	}
	return injection.InjectInto(p, points, injection.Request{
		Namespace: pv.Namespace, Dir: opts.Dir, Injectors: pv.Spec.Injectors,
		Context: opts.Context, AllowKinds: opts.AllowKinds, DropStale: opts.DropStale,
	})
}
