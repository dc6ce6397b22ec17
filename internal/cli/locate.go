package cli

import (
	"errors"
	"fmt"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
)

// locate puts in front of a plan's failures the file and line of the set, the
// variant or the Repository that they are about: that is what a person opens.
func (s *session) locate(p *reconcile.Plan) {
	for _, set := range p.Sets {
		for i, err := range set.Failures {
			set.Failures[i] = s.located(v1alpha2.KindPackageVariantSet, set.Namespace, set.Name, err)
		}
	}
	for _, i := range p.Items {
		switch {
		case i.Err == nil || i.Variant == nil:
		case i.Set != "":
			i.Err = s.located(v1alpha2.KindPackageVariantSet, i.Namespace, i.Set, i.Err)
		default:
			i.Err = s.located(v1alpha1.KindPackageVariant, i.Namespace, i.Name, i.Err)
		}
	}
	for i, err := range p.Problems {
		var r *reconcile.RepositoryError
		if errors.As(err, &r) {
			p.Problems[i] = s.located(v1alpha1.KindRepository, r.Namespace, r.Name, err)
		}
	}
}

func (s *session) located(kind, namespace, name string, err error) error {
	at := s.fleet.Origin(source.Key{Group: v1alpha1.Group, Kind: kind, Namespace: namespace, Name: name})
	if at.File == "" {
		return err
	}
	return fmt.Errorf("%s: %w", at, err)
}
