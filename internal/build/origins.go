package build

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/yamltree"
)

// Places says where what a package is made of is written. It is safe for
// concurrent use.
type Places interface {
	// Template is a field of a variant's spec, named by its steps, where its set or a
	// person wrote it.
	Template(w *decide.Want, steps ...string) provenance.Origin
	// Object is a field of a context object.
	Object(ref *injection.Ref, field string) provenance.Origin
}

// nowhere knows no place.
type nowhere struct{}

func (nowhere) Template(w *decide.Want, steps ...string) provenance.Origin {
	o := provenance.Origin{Kind: provenance.Template, Object: "PackageVariant " + w.Name, Field: "spec." + strings.Join(steps, ".")}
	if w.Set != "" {
		o.Object, o.Field = "PackageVariantSet "+w.Set, strings.Join(steps, ".")
	}
	return o
}

func (nowhere) Object(ref *injection.Ref, field string) provenance.Origin {
	return provenance.Origin{Kind: provenance.Object, Object: ref.Kind + " " + ref.Name, Field: field}
}

func (m *maker) places() Places {
	if m.Places == nil {
		return nowhere{}
	}
	return m.Places
}

// watcher is a Renderer that shows what each function does.
type watcher interface {
	Watch(ctx context.Context, p *krm.Package, show func(provenance.Call)) (*render.Result, error)
}

// note tells the trace of a step, where there is one.
func (m *maker) note(p *krm.Package, set provenance.Setter) {
	if m.trace != nil {
		m.trace.Step(p, set)
	}
}

// upstreamTrace is what the traces of packages that are made of one upstream begin with.
type upstreamTrace struct {
	pkg  *krm.Package
	name string
}

// begin starts the trace of a package that is made of an upstream, where origins
// are asked for.
func (m *maker) begin(o origin) {
	if !m.tracing {
		return
	}
	at := upstreamTrace{o.pkg, m.named(o)}
	t, ok := m.traces.Load(at)
	if !ok {
		t, _ = m.traces.LoadOrStore(at, provenance.New(at.pkg, at.name))
	}
	m.trace = t.(*provenance.Trace).Clone()
}

func machine(field string) provenance.Origin {
	return provenance.Origin{Kind: provenance.Machine, Field: field}
}

// cloned says where values come from that a clone of the upstream has for itself.
func (m *maker) cloned(v provenance.Value) provenance.Origin {
	steps := fieldSteps(v.Field)
	switch {
	case isContext(v) && (v.Field == "data.name" || v.Field == "data.package-path"),
		path.Base(v.File) == kptfilev1.KptFileName && v.Field == "metadata.name":
		return provenance.Origin{Kind: provenance.Name, Field: steps[len(steps)-1]}
	case v.File != kptfilev1.KptFileName:
	case steps[0] == "upstream":
		return m.places().Template(m.Want, m.upstreamField(v.Field)...)
	case len(steps) == 3 && (steps[1] == "labels" || steps[1] == "annotations") && !strings.HasPrefix(steps[2], mutate.AnnotationPrefix):
		return m.places().Template(m.Want, steps[1:]...)
	}
	return machine(v.Field)
}

// upstreamField is the field of a variant that a field of its Kptfile's upstream follows.
func (m *maker) upstreamField(field string) []string {
	u := m.Variant().Spec.Upstream
	switch {
	case u == nil:
	case field == "upstream.git.repo" && u.Repo != "":
		return []string{"upstream", "repo"}
	case field == "upstream.git.directory" && u.Package != "":
		return []string{"upstream", "package"}
	case field == "upstream.git.ref" && u.WorkspaceName != "":
		return []string{"upstream", "workspaceName"}
	case field == "upstream.git.ref" && u.Revision != "":
		return []string{"upstream", "revision"}
	}
	return []string{"upstream"}
}

// mutated says where values come from that a variant's own mutations set.
func (m *maker) mutated(v provenance.Value) provenance.Origin {
	steps := fieldSteps(v.Field)
	switch {
	case isContext(v) && steps[0] == "data" && len(steps) == 2 && v.Gone:
		return m.places().Template(m.Want, "packageContext", "removeKeys")
	case isContext(v) && steps[0] == "data" && len(steps) == 2:
		return m.places().Template(m.Want, "packageContext", "data", steps[1])
	case v.File == kptfilev1.KptFileName && steps[0] == "pipeline" && len(steps) > 2:
		if at := m.position(steps[2]); at >= 0 {
			return m.places().Template(m.Want, append([]string{"pipeline", steps[1], strconv.Itoa(at)}, steps[3:]...)...)
		}
	}
	if m.injected != nil {
		for i := range m.injected.Outcomes {
			o := &m.injected.Outcomes[i]
			if !o.Injected() || o.File != v.File || o.Kind != v.ID.Kind || o.Name != v.ID.Name {
				continue
			}
			if steps[0] == "metadata" {
				return m.places().Template(m.Want, "injectors", strconv.Itoa(o.Selector), "name")
			}
			from := m.places().Object(o.Object, v.Field)
			from.Via = append(from.Via, provenance.Via{Carrier: provenance.Object, Name: o.Kind + "/" + o.Name})
			return from
		}
	}
	return machine(v.Field)
}

// position is which of the variant's functions an element of the pipeline is, -1 for
// one that is the package's own. The variant's stand first.
func (m *maker) position(element string) int {
	name, named := strings.CutPrefix(element, "name=")
	if !named {
		i, err := strconv.Atoi(element)
		if p := m.Variant().Spec.Pipeline; err != nil || p == nil || i >= len(p.Mutators)+len(p.Validators) {
			return -1
		}
		return i
	}
	if !strings.HasPrefix(name, "PackageVariant."+m.Name+".") {
		return -1
	}
	i, err := strconv.Atoi(name[strings.LastIndexByte(name, '.')+1:])
	if err != nil {
		return -1
	}
	return i
}

// wired says where values come from that other packages gave.
func (m *maker) wired(v provenance.Value) provenance.Origin {
	if m.Wires != nil {
		for _, w := range m.Wires.values {
			if goesTo(w.To, v) {
				return provenance.Origin{Kind: provenance.Wired, Object: w.Parameter, Field: m.Wires.from[w.Parameter]}
			}
		}
	}
	return machine(v.Field)
}

// goesTo says that an input's target is a value.
func goesTo(to variformv1alpha1.InputTarget, v provenance.Value) bool {
	steps := fieldSteps(v.Field)
	last := steps[len(steps)-1]
	switch {
	case to.ContextKey != "":
		return isContext(v) && steps[0] == "data" && last == to.ContextKey
	case to.Setter != "":
		return last == to.Setter
	}
	f, err := api.ParseResourceField(to.FieldPath)
	if err != nil || f.Kind != v.ID.Kind || f.Name != "" && f.Name != v.ID.Name {
		return false
	}
	return slices.Equal(fieldSteps(f.Path.String()), steps)
}

// ordered says where the annotations come from that tell a package's place.
func (m *maker) placed(v provenance.Value) provenance.Origin {
	for _, k := range orderKeys {
		for _, key := range []string{k.annotation, k.noted} {
			if v.Field == yamltree.JoinField("metadata.annotations", key) {
				return provenance.Origin{Kind: provenance.Order, Field: key, Object: "Repository " + m.Repository}
			}
		}
	}
	return machine(v.Field)
}

// edited says where values of a merged package come from that the machine does not
// make: from the people whose edits base and ours differ in.
func (m *maker) edited(ctx context.Context, base, ours *krm.Package) (provenance.Setter, error) {
	edits, err := review.Edits(base, ours)
	if err == nil && m.From != nil {
		err = m.Job.Repo.FindWriters(ctx, m.Package.Path, m.editedAt(), base, edits)
	}
	return func(v provenance.Value) provenance.Origin {
		o := provenance.Origin{Kind: provenance.Person, File: v.File, Field: v.Field}
		for _, e := range edits {
			if e.File == v.File && e.ID == v.ID && e.Within(review.Edit{File: e.File, Resource: e.Resource, Field: v.Field}) {
				o.Author, o.Commit, _ = strings.Cut(strings.TrimSuffix(e.By, ")"), " (")
				break
			}
		}
		return o
	}, err
}

// unknownFunction is the origin of what a pipeline did unwatched.
func unknownFunction(provenance.Value) provenance.Origin {
	return provenance.Origin{Kind: provenance.Function, Function: pipelineOf}
}

// byHand is the origin of what was there where no base is known.
func byHand(v provenance.Value) provenance.Origin {
	return provenance.Origin{Kind: provenance.Person, File: v.File, Field: v.Field}
}

func isContext(v provenance.Value) bool {
	return v.ID.Kind == "ConfigMap" && v.ID.Name == mutate.PackageContextName
}

// fieldSteps are the steps of a path, those in brackets without them; one for none.
func fieldSteps(field string) []string {
	var out []string
	for field != "" {
		if rest, ok := strings.CutPrefix(field, "["); ok {
			inside, after, _ := strings.Cut(rest, "]")
			out, field = append(out, inside), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			end = len(field)
		}
		out, field = append(out, field[:end]), strings.TrimPrefix(field[end:], ".")
	}
	if out == nil {
		return []string{""}
	}
	return out
}
