package krm

import (
	"bytes"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// bookkeeping are the fields in which other tools note how they handled a package
// (docs/design/hydration-and-update.md#bookkeeping): of a kind, or of every kind where
// that is "". A field that ends with "*" stands for all fields that begin with the rest.
var bookkeeping = []struct{ kind, field string }{
	{kptfilev1.KptFileKind, "status.renderStatus"},
	{kptfilev1.KptFileKind, "status.conditions[type=" + kptfilev1.ConditionTypeRendered + "]"},
	{"", "metadata.annotations[internal.config.kubernetes.io/*"},
	{"", "metadata.annotations[" + LegacyPathAnnotation + "]"},
	{"", "metadata.annotations[" + LegacyIndexAnnotation + "]"},
	{"", "metadata.annotations[config.k8s.io/id]"},
	{"", "metadata.annotations[internal.kpt.dev/upstream-identifier]"},
}

// mergeComment begins the comment in which kpt and Porch note a resource's name upstream.
const mergeComment = "kpt-merge:"

// IsBookkeeping reports whether a field of a resource of that kind is one in which
// other tools note how they handled a package, or is below one. Such a field is no
// difference between two packages, and nobody's edit.
func IsBookkeeping(kind, field string) bool {
	for _, b := range bookkeeping {
		if b.kind != "" && b.kind != kind {
			continue
		}
		if prefix, all := strings.CutSuffix(b.field, "*"); all && strings.HasPrefix(field, prefix) {
			return true
		}
		if rest, ok := strings.CutPrefix(field, b.field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// SameContent reports whether b holds the files, modes, values and comments of a, and no
// others. The layout of KRM resources (the order of keys, quotes, indents and blank
// lines) and IsBookkeeping fields do not count, nor do comments that b lacks in a
// Kptfile: kpt writes that without them. It fails only where a package cannot be written.
func SameContent(a, b *Package) (bool, error) {
	x, err := a.Files()
	if err != nil {
		return false, err
	}
	return SameWritten(a, x, b)
}

// SameWritten is SameContent of a package whose Files are x.
func SameWritten(a *Package, x []File, b *Package) (bool, error) {
	y, err := b.Files()
	return err == nil && slices.EqualFunc(x, y, func(f, g File) bool {
		return f.Path == g.Path && f.Mode == g.Mode && (bytes.Equal(f.Data, g.Data) || SameLayout(a, b, f.Path))
	}), err
}

// SameLayout reports whether a file of two packages differs at most in the layout and
// bookkeeping of its resources: see SameContent. It is false for a file that holds
// anything but resources.
func SameLayout(a, b *Package, path string) bool {
	x, y := a.meanings(path), b.meanings(path)
	return x != nil && slices.EqualFunc(x, y, meaning.same)
}

// meaning is what SameContent compares of a resource.
type meaning struct {
	kind     string
	tree     *yaml.Node
	comments []string
}

func (m meaning) same(o meaning) bool {
	if m.kind == kptfilev1.KptFileKind {
		m.comments = slices.DeleteFunc(slices.Clone(m.comments), func(c string) bool { return !slices.Contains(o.comments, c) })
	}
	return yamltree.SameValue(m.tree, o.tree) && slices.Equal(m.comments, o.comments)
}

// meanings are those of a file's resources; nil where it holds anything else, or is
// encrypted: a digest of its text may be a part of it.
func (p *Package) meanings(path string) (out []meaning) {
	i, ok := p.find(path)
	if !ok || p.files[i].problem != nil {
		return nil
	}
	f := p.files[i]
	for k := range f.parsed.docs {
		if d := &f.parsed.docs[k]; d.meta.kind == "" && (!yamltree.IsNull(d.root) || !f.given && bytes.ContainsRune(f.Data[d.start:d.end], '#')) {
			return nil
		}
	}
	for _, r := range f.docs {
		switch {
		case r.deleted:
			continue
		case r.Encrypted():
			return nil
		}
		kind := r.Kind()
		tree := yamltree.Without(r.document(), func(field string) bool { return IsBookkeeping(kind, field) })
		comments := slices.DeleteFunc(yamltree.Comments(tree), func(c string) bool { return strings.Contains(c, mergeComment) })
		out = append(out, meaning{kind, tree, comments})
	}
	return out
}
