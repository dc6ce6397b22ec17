package fleet

import (
	"errors"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
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
		var v variantgen.Failure
		var asked *decide.InstallationError
		if errors.As(err, &r) {
			p.Problems[i] = located(f, kindKey(v1alpha1.KindRepository, r.Namespace, r.Name), err)
		} else if errors.As(err, &asked) {
			p.Problems[i] = located(f, ourKey(variformv1alpha1.KindInstallation, asked.Namespace, asked.Name), err)
		} else if errors.As(err, &v) && v.Variant != "" {
			p.Problems[i] = located(f, kindKey(v1alpha1.KindPackageVariant, v.Namespace, v.Variant), err)
		} else if text := Explained(f, err); text != err.Error() {
			p.Problems[i] = &locatedError{text: text, err: err}
		}
	}
}

// Explained is an error's text, where the hints of conflicts that name fields say in
// which file and line those are.
func Explained(f *source.Fleet, err error) string {
	lines := strings.Split(err.Error(), "\n")
	for _, c := range conflicts(err) {
		for _, e := range c.Edits {
			for n := range lines {
				if places := placesOf(f, e); places != "" && lines[n] == "hint: "+e.Hint.String() {
					lines[n] += " (" + places + ")"
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// conflicts are all those that an error is about.
func conflicts(err error) (out []*depend.Conflict) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *depend.Conflict:
		return []*depend.Conflict{e}
	case interface{ Unwrap() error }:
		return conflicts(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			out = append(out, conflicts(err)...)
		}
	}
	return out
}

// placesOf says where the field of a hint is, or where what there is none of for yet.
func placesOf(f *source.Fleet, e depend.Edit) string {
	var there, without []string
	add := func(list *[]string, at source.Origin) {
		if s := at.String(); s != "" && !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	if e.Hint.Field == resolver.FieldDefaults {
		for _, c := range f.Catalogs {
			add(&there, f.FieldOrigin(ourKey(variformv1alpha1.KindCatalog, c.Namespace, c.Name), e.Hint.Field))
		}
	}
	for _, i := range e.Installations {
		add(&there, f.FieldOrigin(ourKey(variformv1alpha1.KindInstallation, i.Namespace, i.Name), e.Hint.Field))
	}
	for _, v := range e.Variants {
		k := kindKey(v1alpha1.KindPackageVariant, v.PackageVariant.Namespace, v.PackageVariant.Name)
		if v.Set != "" {
			k = kindKey(v1alpha2.KindPackageVariantSet, v.PackageVariant.Namespace, v.Set)
		}
		add(&without, f.Origin(k))
	}
	text := strings.Join(decide.Limit(there, 3), ", ")
	if len(without) > 0 {
		text = strings.TrimPrefix(text+"; ", "; ") + "no Installation yet for what " + strings.Join(decide.Limit(without, 3), ", ") + " asks for"
	}
	return text
}

func ourKey(kind, namespace, name string) source.Key {
	return source.Key{Group: variformv1alpha1.Group, Kind: kind, Namespace: api.NamespaceOr(namespace), Name: name}
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
	return &locatedError{at, at.String() + ": " + Explained(f, err), err}
}

// locatedError is a failure with the places that a person opens.
type locatedError struct {
	at   source.Origin
	text string
	err  error
}

func (e *locatedError) Error() string { return e.text }
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
