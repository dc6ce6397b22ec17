package build

import (
	"context"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/yamltree"
)

// pipeline is a Renderer that changes the values of the package's ConfigMap.
type pipeline struct {
	change func(key, value string) string
	runs   int
}

func (r *pipeline) Render(_ context.Context, p *krm.Package) (*render.Result, error) {
	r.runs++
	p = p.Clone()
	for _, res := range p.Resources() {
		if res.Kind() != "ConfigMap" || res.Name() != "cm" {
			continue
		}
		data := yamltree.Child(res.Node().YNode(), "data")
		for k, v := range yamltree.Fields(data) {
			if now := r.change(k.Value, v.Value); now != v.Value {
				if _, err := res.Modify(func(root *yaml.Node) error {
					yamltree.SetString(yamltree.Child(root, "data"), nil, k.Value, now)
					return nil
				}); err != nil {
					return nil, err
				}
			}
		}
	}
	return &render.Result{Package: p, Functions: []render.FunctionResult{{Name: "pipeline"}}}, nil
}

// TestRest: where rendering what was rendered changes nothing, a package with edits
// is rendered until that is so of it too; where each render changes it, it is not
// rendered again.
func TestRest(t *testing.T) {
	countDown := func(k, v string) string {
		if n, ok := strings.CutPrefix(v, "count"); ok && n > "0" {
			return "count" + string(n[0]-1)
		}
		return v
	}
	for name, c := range map[string]struct {
		change func(key, value string) string
		edit   string
		want   string
		warns  string
		runs   int // of the update, beside those of what it starts from
	}{
		"at rest at once":    {func(_, v string) string { return v }, "mine", "a: mine", "", 4},
		"at rest after some": {countDown, "count2", "a: count0", "", 5},
		"never at rest":      {countDown, "count9", "a: count6", "was rendered 3 times, and the package's pipeline changes it again", 6},
		"not idempotent": {func(k, v string) string {
			if k == "b" {
				return v + "+"
			}
			return v
		}, "mine", "b: second+\n", "changes what it has made already", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newShop(t), &pipeline{change: c.change}
			s.builder.Renderer = r
			s.put(s.make())
			s.edit("drafts/foo/packagevariant-1", "a: one", "a: "+c.edit)
			s.release(2, "one", "second")
			r.runs = 0
			m := s.make()
			text := s.file(m.Tree, "cm.yaml")
			if !strings.Contains(text, c.want) {
				t.Errorf("no %q in:\n%s", c.want, text)
			}
			warned := slices.ContainsFunc(m.Warnings, func(w string) bool { return c.warns != "" && strings.Contains(w, c.warns) })
			if warned != (c.warns != "") {
				t.Errorf("warnings: %q", m.Warnings)
			}
			if r.runs != c.runs {
				t.Errorf("%d renders, want %d", r.runs, c.runs)
			}
			r.runs = 0
			if again := s.make(); r.runs != c.runs-1 {
				t.Errorf("%d renders the next time, want %d: %v", r.runs, c.runs-1, again.Err)
			}
		})
	}
}
