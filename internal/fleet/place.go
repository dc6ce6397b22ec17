package fleet

import (
	"errors"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
)

// Locate puts in front of a plan's failures the file and line of the set, the
// variant or the Repository that they are about: that is what a person opens.
func Locate(f *source.Fleet, p *reconcile.Plan) {
	for _, set := range p.Sets {
		for i, err := range set.Failures {
			set.Failures[i] = located(f, kindKey(v1alpha2.KindPackageVariantSet, set.Namespace, set.Name), err)
		}
	}
	for _, i := range p.Items {
		if i.Err != nil && i.Variant != nil {
			i.Err = located(f, keyOf(i), i.Err)
		}
	}
	for i, err := range p.Problems {
		var r *observe.RepositoryError
		if errors.As(err, &r) {
			p.Problems[i] = located(f, kindKey(v1alpha1.KindRepository, r.Namespace, r.Name), err)
		}
	}
}

// Origin is where an item's variant is written: the set that generated it, or
// the variant itself; nothing for an item that none of them stands for.
func Origin(f *source.Fleet, i *reconcile.Item) source.Origin {
	if i.Variant == nil {
		return source.Origin{}
	}
	return f.Origin(keyOf(i))
}

func keyOf(i *reconcile.Item) source.Key {
	if i.Set != "" {
		return kindKey(v1alpha2.KindPackageVariantSet, i.Namespace, i.Set)
	}
	return kindKey(v1alpha1.KindPackageVariant, i.Namespace, i.Name)
}

func kindKey(kind, namespace, name string) source.Key {
	return source.Key{Group: v1alpha1.Group, Kind: kind, Namespace: namespace, Name: name}
}

func located(f *source.Fleet, k source.Key, err error) error {
	at := f.Origin(k)
	if at.File == "" {
		return err
	}
	return &locatedError{at, err}
}

// locatedError is a failure with the place that a person opens.
type locatedError struct {
	at  source.Origin
	err error
}

func (e *locatedError) Error() string { return e.at.String() + ": " + e.err.Error() }
func (e *locatedError) Unwrap() error { return e.err }

// PlaceOf parts an error into its place in the management directory, where it
// has one, and what it says.
func PlaceOf(err error) (at source.Origin, message string) {
	var located *locatedError
	if errors.As(err, &located) {
		return located.at, located.err.Error()
	}
	var issue api.Issue
	if errors.As(err, &issue) && issue.File != "" && err.Error() == issue.Error() {
		at = source.Origin{File: issue.File, Line: issue.Line}
		issue.File, issue.Line = "", 0
		return at, issue.Error()
	}
	return source.Origin{}, err.Error()
}
