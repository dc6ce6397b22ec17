package merge

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Owned is a Draft with what stands on the branch of what is owned elsewhere, where
// the Draft has what the machine made of it, and the branch has not what the machine
// made of that: nobody set it on the Draft, and another did on the branch. Nothing else
// changes.
func Owned(made, draft, published, branch *krm.Package) *krm.Package {
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
	out, was, then, now := draft.Clone(), at(made), at(published), at(branch)
	m := newMerger(made, branch, draft, Options{})
	for _, l := range out.Resources() {
		of := place{l.Path(), l.ID()}
		tree, f := ynode(l), schemaField{next: schemaFor(l.APIVersion(), l.Kind())}
		if yamltree.HasAlias(tree) {
			continue // one node may be many fields
		}
		if n := m.doc(l).taken(f, ynode(was[of]), ynode(then[of]), ynode(now[of]), tree); n != tree {
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

// taken is the Draft's value l, or the branch's u of what is owned elsewhere: b and p
// are what the machine made of both, p nil where it made nothing.
func (d *doc) taken(f schemaField, b, p, u, l *yaml.Node) *yaml.Node {
	switch {
	case b == nil || u == nil || l == nil:
		return l
	case d.owned(l):
		if yamltree.SameText(b, l) && !yamltree.SameText(u, l) && !yamltree.SameText(u, p) {
			return adopt(u)
		}
		return l
	case yamltree.IsMap(b) && yamltree.IsMap(u) && yamltree.IsMap(l):
		content := slices.Clone(l.Content)
		eb, ep, eu := entries(b), entries(p), entries(u)
		for i := 1; i < len(content); i += 2 {
			k := name(content[i-1])
			content[i] = d.at(k, func() *yaml.Node { return d.taken(f.next.field(k), eb[k].val, ep[k].val, eu[k].val, content[i]) })
		}
		return changed(l, content)
	case yamltree.IsSeq(b) && yamltree.IsSeq(u) && yamltree.IsSeq(l):
		m := matcherFor(f, b, u, l)
		if m == nil {
			return l
		}
		t, content := match(m, b.Content, u.Content, l.Content), slices.Clone(l.Content)
		then := inverse(m.pair(yamltree.Items(p), u.Content), len(u.Content))
		for k, n := range content {
			i := t.lb[k]
			if i < 0 || t.bu[i] < 0 {
				continue
			}
			var was *yaml.Node
			if j := then[t.bu[i]]; j >= 0 {
				was = p.Content[j]
			}
			content[k] = d.at(m.label(n), func() *yaml.Node {
				return d.taken(schemaField{next: f.next}, b.Content[i], was, u.Content[t.bu[i]], n)
			})
		}
		return changed(l, content)
	}
	return l
}
