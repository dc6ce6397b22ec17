package render

import (
	"context"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/provenance"
)

// seen is a call before it runs, as who watches is shown it. Only what is built in
// can be run again: all else may cost what it likes.
func (h *hydration) seen(ctx context.Context, s step, c *Call) *provenance.Call {
	before := h.work.Clone()
	out := &provenance.Call{Dir: s.Package, Field: s.field(), Function: s.id(), Before: before}
	if s.ConfigPath != "" {
		out.ConfigFile = path.Join(s.Package, s.ConfigPath)
	}
	if c.Config != nil {
		out.Config = c.Config.Copy().YNode()
	}
	if s.runtime != builtinRuntime {
		return out
	}
	first := h.twin(c, before) // while the work is as it was
	place := map[*krm.Resource]int{}
	for i, res := range before.Resources() {
		place[res] = i
	}
	out.Again = func(config *yaml.Node, edit func(*krm.Package)) (*krm.Package, error) {
		again := before.Clone()
		resources := again.Resources()
		dirs := map[*krm.Resource]string{}
		for res, i := range place {
			dirs[resources[i]] = first.PkgDir(res)
		}
		if edit != nil {
			edit(again)
		}
		call := &Call{Call: &function.Call{Package: again, Selected: make([]*krm.Resource, len(first.Selected))}, Dir: c.Dir, PkgDir: func(res *krm.Resource) string { return dirs[res] }}
		for i, res := range first.Selected {
			call.Selected[i] = resources[place[res]]
		}
		if config != nil {
			call.Config = yaml.NewRNode(config)
		}
		ctx, cancel := context.WithTimeout(ctx, h.r.opts.Timeout)
		defer cancel()
		_, err := safely(func() (Output, error) { return s.call.Run(ctx, call) })
		return again, err
	}
	return out
}
