package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Owned is local with upstream's values of what is owned elsewhere, where local has
// what base has: nobody set them there. Nothing else changes.
func Owned(base, upstream, local *krm.Package) *krm.Package {
	type place struct {
		path string
		id   krm.ID
	}
	at := func(p *krm.Package) map[place]*krm.Resource {
		found := map[place]*krm.Resource{}
		for _, r := range p.Resources() {
			found[place{r.Path(), r.ID()}] = r
		}
		return found
	}
	out, was, now := local.Clone(), at(base), at(upstream)
	m := newMerger(base, upstream, local, Options{})
	for _, l := range out.Resources() {
		of := place{l.Path(), l.ID()}
		tree, f := ynode(l), schemaField{next: schemaFor(l.APIVersion(), l.Kind())}
		if yamltree.HasAlias(tree) {
			continue // one node may be many fields
		}
		if n := m.doc(l).taken(f, ynode(was[of]), ynode(now[of]), tree); n != tree {
			l.Replace(yaml.NewRNode(n))
		}
	}
	return out
}

// HasOwned says whether a package may have anything that is owned elsewhere.
func HasOwned(p *krm.Package) (bool, error) {
	files, err := p.Files()
	return slices.ContainsFunc(files, func(f krm.File) bool {
		return bytes.Contains(f.Data, []byte(imageMarker)) || bytes.Contains(f.Data, []byte(v1alpha1.OwnedElsewhereAnnotation))
	}), err
}

// taken is l with what u has of what is owned elsewhere. It returns l itself where
// nothing changes.
func (d *doc) taken(f schemaField, b, u, l *yaml.Node) *yaml.Node {
	switch {
	case b == nil || u == nil || l == nil:
		return l
	case d.owned(l):
		if yamltree.SameText(b, l) && !yamltree.SameText(u, l) {
			return adopt(u)
		}
		return l
	case yamltree.IsMap(b) && yamltree.IsMap(u) && yamltree.IsMap(l):
		content := slices.Clone(l.Content)
		eb, eu := entries(b), entries(u)
		for i := 1; i < len(content); i += 2 {
			k := name(content[i-1])
			content[i] = d.at(k, func() *yaml.Node { return d.taken(f.next.field(k), eb[k].val, eu[k].val, content[i]) })
		}
		return changed(l, content)
	case yamltree.IsSeq(b) && yamltree.IsSeq(u) && yamltree.IsSeq(l):
		m := matcherFor(f, b, u, l)
		if m == nil {
			return l
		}
		t := match(m, b.Content, u.Content, l.Content)
		content := slices.Clone(l.Content)
		for k, n := range content {
			if i := t.lb[k]; i >= 0 && t.bu[i] >= 0 {
				content[k] = d.at(m.label(n), func() *yaml.Node { return d.taken(schemaField{next: f.next}, t.b[i], t.u[t.bu[i]], n) })
			}
		}
		return changed(l, content)
	}
	return l
}
