package build

import (
	"cmp"
	"context"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/yamltree"
)

// steps are a package as the steps of its making leave it: what it is made of,
// after the variant's own mutations, with values of other packages, with its place in
// the order of the target, rendered.
type steps [5]*krm.Package

// trace makes a package once more and notes its steps: what wrote a value is seldom
// asked, and copies of a large package cost as much as its merge.
type trace func() (steps, error)

// made is that of a package which was rendered already.
func (m *maker) made(rendered *krm.Package, make func(*maker) error) trace {
	return sync.OnceValues(func() (steps, error) {
		again, made := *m, *m.Made
		again.Made, again.watch, again.rendering, again.trace, again.Blame = &made, true, never, nil, false
		err := make(&again)
		again.steps[len(again.steps)-1] = rendered
		return again.steps, err
	})
}

// step notes a package, where that is asked for.
func (m *maker) step(i int, p *krm.Package) {
	if i == 0 {
		m.steps = steps{}
	}
	if m.watch {
		m.steps[i] = p.Clone()
	}
}

// writer says where a value of a resource is set that people are not to edit; ""
// where no step wrote it. wrote reports whether a package has what is asked about.
func (m *maker) writer(ctx context.Context, made trace, id krm.ID, wrote func(*krm.Package) (bool, error)) (string, error) {
	s, err := made()
	if err != nil {
		return "", err
	}
	for i, p := range s {
		if p == nil {
			continue
		}
		if found, err := wrote(p); err != nil || !found {
			if err != nil {
				return "", err
			}
			continue
		}
		switch {
		case i == 0:
			return "", nil
		case i == 2:
			return "the output of the package that it is wired to", nil
		case i == 3:
			return "annotation " + variformv1alpha1.OrderAnnotation + " of Repository " + m.Repository, nil
		case i == 4:
			return m.function(ctx, s[3], wrote), nil
		case id.Kind == "ConfigMap" && id.Name == mutate.PackageContextName:
			return m.spec("packageContext"), nil
		case id.Kind == "Kptfile":
			return m.spec("pipeline or injectors"), nil
		}
		return "the context object that is injected there", nil
	}
	return "", nil
}

// spec names a field of what says how the package is made.
func (m *maker) spec(field string) string {
	if m.Set != "" {
		return field + " in PackageVariantSet " + m.Set
	}
	return "spec." + field + " of PackageVariant " + m.Name
}

// function names the first function of a package's pipeline that leaves what is
// asked about.
func (m *maker) function(ctx context.Context, p *krm.Package, wrote func(*krm.Package) (bool, error)) string {
	mutators := func(p *krm.Package) *yaml.Node {
		return yamltree.Path(p.Kptfile("").Edit().YNode(), "pipeline", "mutators")
	}
	for i, f := range yamltree.Items(mutators(p)) {
		part := p.Clone()
		first := mutators(part)
		first.Content = first.Content[:i+1]
		res, err := m.Renderer.Render(ctx, part)
		if err != nil {
			return pipelineOf
		}
		if found, err := wrote(res.Package); err != nil || !found {
			continue
		}
		name := "function " + cmp.Or(yamltree.Text(f, "image"), yamltree.Text(f, "exec"))
		if mutate.Owns(m.Name, yamltree.Text(f, "name")) {
			return name + ", " + m.spec("pipeline")
		}
		return name + " of the Kptfile's pipeline"
	}
	return pipelineOf
}

// pipelineOf stands for a function that is not found.
const pipelineOf = "the package's pipeline"

// touches reports whether an edit changes the field of a conflict, one around it
// or one below it. A whole resource that comes tells nothing: it may have been
// renamed.
func touches(e review.Edit, c merge.Conflict) bool {
	of := review.Edit{File: c.Path, Field: c.Field, Resource: e.Resource}
	return e.Field != "" && e.ID == c.Resource && e.Within(of)
}
