package build

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/render"
)

// maxRenders is how often a package with edits is rendered until it rests.
const maxRenders = 3

// rendering is how a merged package is rendered: once, where it is not known
// whether that is enough; until it rests; not at all, where each render changes it.
type rendering int

const (
	once rendering = iota
	untilRest
	never
)

// rests says whether what the machine made is a fixed point: rendering it again
// changes nothing. That is found out once for an upstream and its functions. Where
// it is none, other names a function that is not idempotent.
func (m *maker) rests(ctx context.Context, made *krm.Package) (ok bool, other string, err error) {
	if m.functions == 0 {
		return true, "", nil
	}
	pipeline, err := json.Marshal(m.Variant().Spec.Pipeline)
	if err != nil {
		return false, "", err
	}
	key := decide.Digest(append([]string{m.Upstream.Content, m.Upstream.Path, string(pipeline)}, m.Parts.Versions...)...)
	if known, found := m.restless.Load(key); found {
		return known == "", known.(string), nil
	}
	again, err := m.again(ctx, made)
	if err != nil {
		return false, "", err
	}
	same, err := samePackage(made, again)
	if err != nil {
		return false, "", err
	}
	if !same {
		other = m.mover(ctx, made, again)
	}
	m.restless.Store(key, other)
	return same, other, nil
}

// comesToRest says whether rendering leads to a fixed point, of a package whose edits changed
// what functions run: what is known of the machine's own says nothing of it. Where it does
// not, other names the function that is not idempotent.
func (m *maker) comesToRest(ctx context.Context) (ok bool, other string, err error) {
	if m.Renderer == nil {
		return true, "", nil
	}
	var was, is *krm.Package = nil, m.pkg
	for range maxRenders + 1 {
		was = is
		if is, err = m.again(ctx, was); err != nil {
			return false, "", err
		}
		if ok, err = samePackage(was, is); ok || err != nil {
			return ok, "", err
		}
	}
	return false, m.mover(ctx, was, is), nil
}

func samePipelines(a, b *krm.Package) (bool, error) {
	for _, dir := range slices.Concat([]string{""}, a.Subpackages(), b.Subpackages()) {
		var pipelines [2]*kptfilev1.Pipeline
		for i, p := range []*krm.Package{a, b} {
			if p.Kptfile(dir) == nil {
				continue
			}
			k, err := mutate.Read(p, dir)
			if err != nil {
				return false, err
			}
			pipelines[i] = k.Pipeline
		}
		if !reflect.DeepEqual(pipelines[0], pipelines[1]) {
			return false, nil
		}
	}
	return true, nil
}

// again renders a package that was rendered, as it is written: comments may
// configure functions, and a text can have comments that its tree lacks.
func (m *maker) again(ctx context.Context, p *krm.Package) (*krm.Package, error) {
	written := p.Clone()
	err := written.Reread()
	var res *render.Result
	if err == nil {
		res, err = m.Renderer.Render(ctx, written)
	}
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("rendering %s again: %w", m.Package.Path, err))
	}
	return m.rendered(written, res)
}

// toRest renders a package with edits until it is a fixed point.
func (m *maker) toRest(ctx context.Context) error {
	if m.functions == 0 {
		return nil
	}
	for n := 1; ; n++ {
		again, err := m.again(ctx, m.pkg)
		if err != nil {
			return err
		}
		if same, err := samePackage(m.pkg, again); err != nil || same {
			return err
		}
		if n == maxRenders {
			m.Restless = m.mover(ctx, m.pkg, again)
			m.Warnings = append(m.Warnings, fmt.Sprintf("was rendered %d times, and %s changes it again", maxRenders, m.Restless))
			return nil
		}
		m.pkg = again
	}
}
