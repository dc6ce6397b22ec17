package build

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
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

// again renders a package that was rendered.
func (m *maker) again(ctx context.Context, p *krm.Package) (*krm.Package, error) {
	res, err := m.Renderer.Render(ctx, p)
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("rendering %s again: %w", m.Package.Path, err))
	}
	return m.rendered(p, res)
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
