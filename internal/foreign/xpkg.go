package foreign

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver/dialect"
)

// Reference is what packages call an image, a repository without a tag, where they
// need it: what the source mirrors that it is in, else the image itself.
func Reference(image string, sources ...*v1alpha1.OCISource) string {
	for _, s := range sources {
		_, repository, has := strings.Cut(s.Repository, "://")
		if !has {
			repository = s.Repository
		}
		below, in := strings.CutPrefix(image+"/", strings.Trim(repository, "/")+"/")
		if in && s.MirrorOf != "" {
			return path.Join(s.MirrorOf, below)
		}
	}
	return image
}

// metaGroup is that of the document that describes a Crossplane package in its
// stream, pkgGroup that of the objects that install one.
const (
	metaGroup = "meta.pkg.crossplane.io"
	pkgGroup  = "pkg.crossplane.io"
)

var kinds = []string{"Configuration", "Function", "Provider"}

// Xpkg is a Crossplane package as a kpt package: the object that installs it, by its
// digest, and a manifest of what it brings and needs under a name. Dependencies are
// resolved here, and Crossplane is told not to.
func Xpkg(stream []byte, image, digest, name string) ([]krm.File, error) {
	p, err := One("package.yaml", stream)
	if p == nil || err != nil {
		return nil, fmt.Errorf("the package.yaml of %s is no Crossplane package that can be read: %w", image, cmp.Or(err, dialect.ErrNoDocument))
	}
	docs, err := krm.Parse([]krm.File{{Path: "package.yaml", Data: stream}})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(docs.Resources(), func(r *krm.Resource) bool { return r.Group() == metaGroup && slices.Contains(kinds, r.Kind()) })
	if at < 0 {
		return nil, fmt.Errorf("the package.yaml of %s is of none of %s", image, strings.Join(kinds, ", "))
	}
	kind, base := docs.Resources()[at].Kind(), path.Base(name)
	p.Package = name
	m, _ := Manifest(p)
	if issues := api.Validate(m); len(issues) > 0 {
		return nil, fmt.Errorf("what %s needs cannot be said: %w", image, issues)
	}
	manifest, err := api.Encode(m)
	if err != nil {
		return nil, err
	}
	return []krm.File{
		{Path: "Kptfile", Data: fmt.Appendf(nil, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: %s\ninfo:\n  description: Installs the %s %s with Crossplane\n", base, kind, name)},
		{Path: "package.yaml", Data: manifest},
		{Path: strings.ToLower(kind) + ".yaml", Data: fmt.Appendf(nil, "apiVersion: %s/v1\nkind: %s\nmetadata:\n  name: %s\nspec:\n  package: %s@%s\n  skipDependencyResolution: true\n", pkgGroup, kind, base, image, digest)},
	}, nil
}
