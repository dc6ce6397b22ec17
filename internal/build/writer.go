package build

import (
	"context"
	"strings"
	"sync"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/yamltree"
)

// traced follows the making of a package that is there, rendered, once more: what
// wrote a value is seldom asked, and costs as much as its making.
func (m *maker) traced(rendered *krm.Package, make func(*maker) error) func() (*provenance.Trace, error) {
	return sync.OnceValues(func() (*provenance.Trace, error) {
		again, made := *m, *m.Made
		again.Made, again.tracing, again.trace = &made, true, nil
		_, watched := m.Renderer.(watcher)
		switch {
		case !watched:
			again.rendering = never // that would tell nothing
		case m.rendering == untilRest:
			again.rendering = once
		}
		if err := make(&again); err != nil {
			return nil, err
		}
		again.note(rendered, unknownFunction)
		return again.trace, nil
	})
}

// setting says where a value of a resource is set that people are not to edit; ""
// where that is the upstream, or nobody's.
func (m *maker) setting(o provenance.Origin, id krm.ID) string {
	for o.Before != nil {
		o = *o.Before
	}
	if text := m.functionOf(o); text != "" {
		return text
	}
	kptfile := id.Kind == "Kptfile" && !strings.HasPrefix(o.Field, "metadata")
	switch {
	case o.Kind == provenance.Wired && !strings.Contains(o.Field, "${"):
		return "parameter " + o.Object + " in the Installation, or in what needs the package"
	case o.Kind == provenance.Wired:
		return "the output of the package that it is wired to"
	case o.Kind == provenance.Order:
		return "annotation " + variformv1alpha1.OrderAnnotation + " of Repository " + m.Repository
	case o.Kind == provenance.Object, o.Kind == provenance.Template && strings.Contains(o.Field, "injectors"):
		return "the context object that is injected there"
	case o.Kind == provenance.Template && id.Kind == "ConfigMap" && id.Name == mutate.PackageContextName:
		return m.spec("packageContext")
	case kptfile && (o.Kind == provenance.Template && strings.Contains(o.Field, "pipeline") || o.Kind == provenance.Machine && !strings.HasPrefix(o.Field, "upstream")):
		return m.spec("pipeline or injectors")
	}
	return ""
}

// spec names a field of what says how the package is made.
func (m *maker) spec(field string) string {
	if m.Set != "" {
		return field + " in PackageVariantSet " + m.Set
	}
	return "spec." + field + " of PackageVariant " + m.Name
}

// functionOf names the function that made or carried a value, "" where none did.
func (m *maker) functionOf(o provenance.Origin) string {
	via := o.Carrier()
	switch {
	case via == nil && o.Kind == provenance.Function:
		return o.Function
	case via == nil:
		return ""
	}
	if field, root := strings.CutPrefix(via.Place, "Kptfile "); root {
		if name, _ := yamltree.Nearest(m.pkg.Kptfile("").Node().YNode(), field+".name"); name != nil && mutate.Owns(m.Name, name.Value) {
			return "function " + via.Name + ", " + m.spec("pipeline")
		}
	}
	return "function " + via.Name + " of the Kptfile's pipeline"
}

// pipelineOf stands for a function that is not known.
const pipelineOf = "the package's pipeline"

// mover names the function that makes another package of one which was rendered.
func (m *maker) mover(ctx context.Context, p, again *krm.Package) string {
	moved, err := review.Edits(p, again)
	w, ok := m.Renderer.(watcher)
	if err != nil || !ok {
		return pipelineOf
	}
	t := provenance.New(p, "")
	if _, err := w.Watch(ctx, p, t.Function); err != nil {
		return pipelineOf
	}
	origins := t.Origins()
	for _, e := range moved {
		if by, _ := origins.At(e.File, e.ID, e.Field); m.functionOf(by) != "" {
			return m.functionOf(by)
		}
	}
	return pipelineOf
}

// written says where a field of a resource, or one below it, is set by the machine; ""
// where that is the upstream, or a person's.
func (m *maker) written(of func() (*provenance.Trace, error), file string, id krm.ID, field string) (string, error) {
	t, err := of()
	if err != nil {
		return "", err
	}
	origins := t.Origins()
	for _, l := range origins.Under(file, id, field) {
		if text := m.setting(l.Origin, id); text != "" {
			return text, nil
		}
	}
	by, _ := origins.At(file, id, field)
	return m.setting(by, id), nil
}
