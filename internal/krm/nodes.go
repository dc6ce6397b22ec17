package krm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// The annotations with which kpt says where an item of a ResourceList is, the
// present ones first.
const (
	PathAnnotation        = "internal.config.kubernetes.io/path"
	IndexAnnotation       = "internal.config.kubernetes.io/index"
	LegacyPathAnnotation  = "config.kubernetes.io/path"
	LegacyIndexAnnotation = "config.kubernetes.io/index"
)

// FromItems makes a package of the items of a ResourceList. pathOf gives the
// path of an item that is not nil, clean and relative to the package; indexes
// are those of kpt's annotations. Resources keeps the order given; Edit copies,
// so that the trees given stay as they are. It fails for paths that leave the
// package, naming all of them. Nodes is the way back.
func FromItems(nodes []*yaml.RNode, pathOf func(*yaml.RNode) string) (*Package, error) {
	p := &Package{limits: Limits{}.withDefaults(), order: make([]*Resource, 0, len(nodes))}
	var errs []error
	byPath := map[string][]*Resource{}
	for i, n := range nodes {
		if n.IsNil() {
			errs = append(errs, fmt.Errorf("item %d is empty", i))
			continue
		}
		r := &Resource{pkg: p, given: n}
		r.path = pathOf(n)
		if err := checkPath(r.path); err != nil {
			errs = append(errs, fmt.Errorf("item %d, %s: %w", i, r.ID(), err))
			continue
		}
		if index, err := strconv.Atoi(placeOf(r, IndexAnnotation, LegacyIndexAnnotation, "0")); err == nil {
			r.index = index
		}
		byPath[r.path] = append(byPath[r.path], r)
		p.order = append(p.order, r)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for name, docs := range byPath {
		slices.SortStableFunc(docs, func(a, b *Resource) int { return a.index - b.index })
		src := &parsed{File: File{Path: name}, krm: len(docs), given: true}
		for _, r := range docs {
			r.from = src
		}
		p.files = append(p.files, &file{parsed: src, docs: docs})
	}
	slices.SortFunc(p.files, func(a, b *file) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

func placeOf(r *Resource, key, legacy, otherwise string) string {
	for _, k := range []string{key, legacy} {
		if v, ok := r.Annotation(k); ok && v != "" {
			return v
		}
	}
	return otherwise
}

// Nodes returns the present trees of Resources in their order, for a
// ResourceList. All annotations that came with them are there still; a
// resource that was added or moved has kpt's path and index annotations set.
// The trees are for reading, as those of Node are.
func (p *Package) Nodes() []*yaml.RNode {
	rs := p.Resources()
	out := make([]*yaml.RNode, 0, len(rs))
	for _, r := range rs {
		if r.given == nil || r.path != placeOf(r, PathAnnotation, LegacyPathAnnotation, r.path) {
			out = append(out, r.placed())
			continue
		}
		out = append(out, r.Node())
	}
	return out
}

// placed is a copy of the tree with the annotations that say where it is.
func (r *Resource) placed() *yaml.RNode {
	twin := Resource{path: r.path, node: copyRNode(r.Node())}
	index := strconv.Itoa(r.index)
	pairs := [][2]string{{PathAnnotation, r.path}, {IndexAnnotation, index}, {LegacyPathAnnotation, r.path}, {LegacyIndexAnnotation, index}}
	for _, kv := range pairs {
		if err := twin.SetAnnotation(kv[0], kv[1]); err != nil {
			return r.Node() // metadata is no mapping: there is no place for them
		}
	}
	return twin.node
}

// withoutPlace is a copy of a tree without the annotations that only a
// ResourceList has.
func withoutPlace(n *yaml.Node) *yaml.Node {
	twin := Resource{node: yaml.NewRNode(yamltree.Copy(n))}
	m := yamltree.Path(n, "metadata", annotations)
	if m == nil {
		return n
	}
	for key := range yamltree.Fields(m) {
		k := key.Value
		if strings.HasPrefix(k, "internal.config.kubernetes.io/") || k == LegacyPathAnnotation || k == LegacyIndexAnnotation || k == "config.k8s.io/id" {
			twin.RemoveAnnotation(k)
		}
	}
	return twin.node.Document()
}
