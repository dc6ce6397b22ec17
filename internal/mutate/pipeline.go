package mutate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// functionPrefix begins the name of every pipeline function that a variant adds.
const functionPrefix = "PackageVariant"

// FunctionName is the name of a variant's function in the Kptfile: Porch's
// PackageVariant design, "Kptfile Function Pipeline Editing".
func FunctionName(variant, function string, position int) string {
	return strings.Join([]string{functionPrefix, variant, function, strconv.Itoa(position)}, ".")
}

// Owns says whether a name is FunctionName of the variant, for a function name
// without dots. The variant's own name may have them. With dots in the
// function's name the text alone does not tell ("PackageVariant.a.b.c.0" is c
// of a.b or b.c of a): those are remembered in AnnotationFunctions.
func Owns(variant, name string) bool {
	rest, ok := strings.CutPrefix(name, functionPrefix+"."+variant+".")
	if !ok {
		return false
	}
	function, position, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(position, ".") || strings.Contains(function, ".") {
		return false
	}
	_, err := strconv.Atoi(position)
	return err == nil
}

// applyPipeline makes the variant's functions the first ones of the Kptfile's
// pipeline and removes those of earlier runs. Lists and a pipeline that are
// empty afterwards go.
func applyPipeline(p *krm.Package, dir, variant string, pipeline *kptfilev1.Pipeline) error {
	if pipeline == nil {
		pipeline = &kptfilev1.Pipeline{}
	}
	if variant == "" {
		return fieldf("metadata.name", "the variant needs a name, which its functions in the Kptfile carry")
	}
	r, err := Kptfile(p, dir)
	if err != nil {
		return err
	}
	if len(pipeline.Mutators)+len(pipeline.Validators) == 0 && !mayOwn(r.Node().YNode(), variant) {
		return nil // mostly: a trial would cost a copy
	}
	return editKptfile(p, dir, func(root *yaml.Node) error { return editPipeline(root, variant, pipeline) })
}

// mayOwn is false where no function of a Kptfile is the variant's, by a name that it has
// or one that is remembered.
func mayOwn(root *yaml.Node, variant string) bool {
	if yamltree.Path(root, "metadata", "annotations", AnnotationFunctions) != nil {
		return true
	}
	pipeline := yamltree.Child(root, "pipeline")
	if !yamltree.IsNull(pipeline) && !yamltree.IsMap(pipeline) {
		return true
	}
	return slices.ContainsFunc([]string{"mutators", "validators"}, func(field string) bool {
		list := yamltree.Child(pipeline, field)
		if !yamltree.IsNull(list) && !yamltree.IsSeq(list) {
			return true
		}
		return slices.ContainsFunc(yamltree.Items(list), func(f *yaml.Node) bool { return Owns(variant, yamltree.Text(f, "name")) })
	})
}

// DropFunctions removes from the root Kptfile's pipeline what a variant of that
// name added to it.
func DropFunctions(p *krm.Package, variant string) error { return applyPipeline(p, "", variant, nil) }

func editPipeline(root *yaml.Node, variant string, want *kptfilev1.Pipeline) error {
	remembered, err := readRemembered(root)
	if err != nil {
		return err
	}
	e := pipelineEdit{variant: variant, remembered: remembered}
	if err := errors.Join(
		e.list(root, "mutators", want.Mutators),
		e.list(root, "validators", want.Validators),
	); err != nil {
		return err
	}
	if e.dropped {
		yamltree.RemoveEmpty(root, "pipeline")
	}
	return e.remember(root)
}

type pipelineEdit struct {
	variant    string
	remembered []string // names with dots that earlier runs wrote
	dotted     []string // and this one
	dropped    bool
}

// list edits one of the pipeline's lists. A function of ours that is there
// already keeps its node, so that comments on it live.
func (e *pipelineEdit) list(root *yaml.Node, field string, functions []kptfilev1.Function) error {
	pipeline := yamltree.Child(root, "pipeline")
	if !yamltree.IsNull(pipeline) && pipeline.Kind != yaml.MappingNode {
		return fieldf("pipeline", "must be a map")
	}
	have := yamltree.Child(pipeline, field)
	if !yamltree.IsNull(have) && have.Kind != yaml.SequenceNode {
		return fieldf("pipeline."+field, "must be a list")
	}
	names := make([]string, len(functions))
	for i := range functions {
		names[i] = FunctionName(e.variant, functions[i].Name, i)
		if strings.Contains(functions[i].Name, ".") {
			e.dotted = append(e.dotted, names[i])
		}
	}
	if len(functions) == 0 && yamltree.IsNull(have) {
		return nil
	}
	seq := yamltree.EnsureSeq(yamltree.Ensure(root, kptfileOrder, "pipeline"), pipelineOrder, field)
	own, others := e.split(seq.Content, names)
	if len(own) > 0 && len(functions) == 0 {
		e.dropped = true
	}
	items := make([]*yaml.Node, 0, len(functions)+len(others))
	for i := range functions {
		n, err := e.entry(own[names[i]], &functions[i], names[i])
		if err != nil {
			return fieldf(fmt.Sprintf("pipeline.%s[%d]", field, i), "%w", err)
		}
		items = append(items, n)
	}
	seq.Content = append(items, others...)
	if e.dropped {
		yamltree.RemoveEmpty(yamltree.Child(root, "pipeline"), field)
	}
	return nil
}

// split separates the variant's functions, by name, from the others.
func (e *pipelineEdit) split(items []*yaml.Node, names []string) (own map[string]*yaml.Node, others []*yaml.Node) {
	own = map[string]*yaml.Node{}
	for _, n := range items {
		name := yamltree.Text(n, "name")
		if Owns(e.variant, name) || slices.Contains(names, name) || slices.Contains(e.remembered, name) {
			own[name] = n
			continue
		}
		others = append(others, n)
	}
	return own, others
}

// entry is a function as a node: have changed to mean it, or a new one.
func (e *pipelineEdit) entry(have *yaml.Node, f *kptfilev1.Function, name string) (*yaml.Node, error) {
	g := *f
	g.Name = name
	want, err := encode(&g)
	if err != nil {
		return nil, err
	}
	if have == nil || have.Kind != yaml.MappingNode {
		have = yamltree.Map()
	}
	ordered := yamltree.Map()
	for _, key := range functionOrder {
		if v := yamltree.Child(want, key); v != nil {
			yamltree.Set(ordered, functionOrder, key, v)
		}
	}
	yamltree.Assign(have, ordered, functionOrder)
	return have, nil
}

// remember keeps the names with dots in an annotation, so that the next run
// knows them for the variant's.
func (e *pipelineEdit) remember(root *yaml.Node) error {
	if len(e.dotted) == 0 {
		return setAnnotation(root, AnnotationFunctions, "")
	}
	text, err := json.Marshal(e.dotted)
	if err != nil {
		return err
	}
	return setAnnotation(root, AnnotationFunctions, string(text))
}

func readRemembered(root *yaml.Node) ([]string, error) {
	text := yamltree.Text(root, "metadata", "annotations", AnnotationFunctions)
	if text == "" {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fieldf("metadata.annotations["+AnnotationFunctions+"]", "must be a JSON list of names: %w; remove it and the functions it meant", err)
	}
	return names, nil
}
