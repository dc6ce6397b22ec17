package render

import (
	"context"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// What the Kptfile of the package that is rendered may ask of kpt, by "true" in
// any case (published documentation of kpt, "Kptfile Annotations"). Those of
// subpackages do not count.
const (
	annParentsFirst = "kpt.dev/bfs-rendering"
	annSavePartial  = "kpt.dev/save-on-render-failure"
)

func asks(p *krm.Package, annotation string) bool {
	kf := p.Kptfile("")
	if kf == nil {
		return false
	}
	value, _ := kf.Annotation(annotation)
	return strings.EqualFold(value, "true")
}

// childrenFirst renders a package after its subpackages and returns the
// resources that its parent's pipeline sees: the subpackages' first, then its own.
func (h *hydration) childrenFirst(ctx context.Context, n *pkgNode) ([]*krm.Resource, error) {
	var input []*krm.Resource
	for _, c := range n.children {
		below, err := h.childrenFirst(ctx, c)
		if err != nil {
			return nil, err
		}
		input = append(input, below...)
	}
	h.own(n)
	return h.pipeline(ctx, n, append(input, n.local...), originalConfigs(n))
}

// parentsFirst renders a package before its subpackages, level by level: each
// pipeline sees its own package and all below it, as the levels above left them.
func (h *hydration) parentsFirst(ctx context.Context, root *pkgNode) error {
	levels := root.levels()
	configs := map[*pkgNode]map[string]*yaml.RNode{}
	for _, n := range levels {
		h.own(n)
		configs[n] = originalConfigs(n)
	}
	for _, n := range levels {
		out, err := h.pipeline(ctx, n, n.all(), configs[n])
		if err != nil {
			return err
		}
		n.share(out, h.pkgDir)
	}
	return nil
}

// own notes which package n's resources belong to.
func (h *hydration) own(n *pkgNode) {
	for _, res := range n.local {
		h.pkgDir[res] = n.dir
	}
	h.result.Packages++
}

// levels lists n and the packages below it, each level before the next.
func (n *pkgNode) levels() []*pkgNode {
	out := []*pkgNode{n}
	for i := 0; i < len(out); i++ {
		out = append(out, out[i].children...)
	}
	return out
}

// all are the resources of n, then those of the packages below it.
func (n *pkgNode) all() []*krm.Resource {
	out := append([]*krm.Resource(nil), n.local...)
	for _, c := range n.children {
		out = append(out, c.all()...)
	}
	return out
}

// share gives n and the packages below it what a pipeline left of them.
func (n *pkgNode) share(out []*krm.Resource, pkgDir map[*krm.Resource]string) {
	local := map[string][]*krm.Resource{}
	for _, res := range out {
		local[pkgDir[res]] = append(local[pkgDir[res]], res)
	}
	for _, m := range n.levels() {
		m.local = local[m.dir]
	}
}

// partial is what a rendering that failed leaves where the package asks for it:
// all that functions did up to the one that failed, and no file less.
func (h *hydration) partial(before *krm.Package) *krm.Package {
	done := h.work
	if h.undone != nil {
		done = h.undone
	}
	kept := map[string]bool{}
	files, err := done.Files()
	if err != nil {
		return nil // what cannot be written is not left; the function's error is reported
	}
	for _, f := range files {
		kept[f.Path] = true
	}
	for _, name := range before.Paths() {
		if f, ok := before.Read(name); ok && !kept[name] {
			done.Write(f)
		}
	}
	return done
}
