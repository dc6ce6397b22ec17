package fleet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/source"
)

// ErrNoVersion is of a name that no set or variant of a fleet has.
var ErrNoVersion = errors.New("no PackageVariantSet or PackageVariant has that name")

// Versioned is a changed version of a set or variant in the management directory.
type Versioned struct {
	Kind     string // PackageVariantSet or PackageVariant
	At       source.Origin
	Was, Now string
	// Text is the file's with the change.
	Text []byte
}

// SetVersion changes the upstream version of the set or variant of a name, NAME or
// NAMESPACE/NAME: the field that has it, spec.upstream.workspaceName or
// spec.upstream.revision. All other bytes of the file stay.
func SetVersion(d *source.Directory, f *source.Fleet, name, version string) (Versioned, error) {
	var of []source.Key
	var names []string
	upstreams := map[source.Key]*v1alpha1.Upstream{}
	add := func(k source.Key, u *v1alpha1.Upstream) {
		names = append(names, k.Name)
		if name == k.Name || name == k.Namespace+"/"+k.Name {
			of, upstreams[k] = append(of, k), u
		}
	}
	for _, s := range f.Sets {
		add(source.Key{Group: v1alpha1.Group, Kind: v1alpha2.KindPackageVariantSet, Namespace: s.Namespace, Name: s.Name}, s.Spec.Upstream)
	}
	for _, v := range f.Variants {
		add(source.Key{Group: v1alpha1.Group, Kind: v1alpha1.KindPackageVariant, Namespace: v.Namespace, Name: v.Name}, v.Spec.Upstream)
	}
	switch {
	case len(of) == 0:
		return Versioned{}, fmt.Errorf("%s: %w: %s", name, ErrNoVersion, decide.Hint(name, names, "there is "+strings.Join(decide.Limit(names, 9), ", ")))
	case len(of) > 1:
		return Versioned{}, fmt.Errorf("%s is the name of %s (%s) and of %s (%s): give NAMESPACE/NAME, or change the file by hand", name, of[0], f.Origin(of[0]), of[1], f.Origin(of[1]))
	}
	field, u := "spec.upstream.revision", upstreams[of[0]]
	if u != nil && u.WorkspaceName != "" {
		field = "spec.upstream.workspaceName"
	}
	out := Versioned{Kind: of[0].Kind, At: f.Origin(of[0]), Now: version}
	var err error
	if out.Text, out.Was, err = d.Replace(out.At, field, version); err != nil {
		return Versioned{}, fmt.Errorf("%s %s: %w", out.Kind, name, err)
	}
	out.At.Line = d.Line(out.At, field)
	return out, nil
}
