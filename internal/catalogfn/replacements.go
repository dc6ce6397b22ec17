package catalogfn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// openAPI serializes access to kyaml's global schema.
var openAPI sync.Mutex

// replacementRules are the differences between releases, which come from the kustomize
// that each release uses.
type replacementRules struct {
	// whole copies the source's node, with type, style and comments, and skips a target
	// that lacks the field (kustomize api v0.10). Otherwise the target keeps its type and
	// its style, a missing field is an error, and * stands for every element of a list.
	whole bool
	// literal allows sourceValue in place of a source.
	literal bool
}

// run copies values between fields as kustomize's replacements do.
// Config: an ApplyReplacements with `replacements`.
func (rules replacementRules) run(_ context.Context, c *function.Call) error {
	cfg := config(c)
	if !isConfigKind(cfg, "ApplyReplacements") {
		wrongConfig(c, cfg, "a "+configAPIVersion+" ApplyReplacements")
		return nil
	}
	var doc struct {
		Replacements []types.Replacement `json:"replacements"`
	}
	s, err := c.Config.String()
	if err == nil {
		err = k8syaml.Unmarshal([]byte(s), &doc)
	}
	if err != nil {
		c.Results.Errorf("functionConfig: replacements: %v", err)
		return nil
	}
	r := &replacer{replacementRules: rules, Call: c, resources: c.Resources()}
	for _, res := range r.resources {
		r.nodes = append(r.nodes, res.Node().Copy())
		r.ids = append(r.ids, resid.NewResIdWithNamespace(resid.NewGvk(res.Group(), res.Version(), res.Kind()), res.Name(), res.Namespace()))
	}
	if !r.replace(doc.Replacements) {
		return nil
	}
	n := 0
	for i, res := range r.resources {
		if !yamltree.SameValue(res.Node().YNode(), r.nodes[i].YNode()) {
			res.Replace(r.nodes[i])
			n++
		}
	}
	c.Results.Infof("%d resource(s) changed", n)
	return nil
}

// replacer is one call: resources with their trees and identities, index by index.
type replacer struct {
	replacementRules
	*function.Call
	resources []*krm.Resource
	nodes     []*yaml.RNode
	ids       []resid.ResId
}

// replace makes the replacements in order and reports whether all of them succeeded. The
// first error ends it and is a result.
func (r *replacer) replace(replacements []types.Replacement) bool {
	openAPI.Lock()
	defer openAPI.Unlock()
	scalars := 0
	for _, n := range r.nodes {
		scalars += leaves(n.YNode())
	}
	for i := range replacements {
		r.Work(steps(replacements[i], len(r.nodes), scalars))
		value, err := r.source(&replacements[i])
		if err != nil {
			r.Results.Errorf("functionConfig: replacements[%d]: %v", i, err)
			return false
		}
		for j, t := range replacements[i].Targets {
			if t == nil || t.Select == nil {
				r.Results.Errorf("functionConfig: replacements[%d].targets[%d]: select is missing; give the resources to change", i, j)
				return false
			}
			if !r.target(t, value, fmt.Sprintf("replacements[%d].targets[%d]", i, j)) {
				return false
			}
		}
	}
	return true
}

// The steps that a replacement takes, in the unit of function.Call.Work, for which
// a regular expression's step is the measure: to look whether a target selects a
// resource, and to find a field of one that it selects.
const (
	stepsToSelect = 16
	stepsToFind   = 128
)

// steps returns how many steps a replacement takes at most.
func steps(r types.Replacement, nodes, scalars int) (n int) {
	for _, t := range r.Targets {
		if t == nil {
			continue
		}
		n += nodes * stepsToSelect
		for _, p := range t.FieldPaths {
			if strings.Contains(p, "*") {
				n += scalars * stepsToFind
			} else {
				n += nodes * stepsToFind
			}
		}
	}
	return n
}

// source returns the value that a replacement copies.
func (r *replacer) source(rep *types.Replacement) (*yaml.RNode, error) {
	switch literal := r.literal && rep.SourceValue != nil; {
	case rep.Targets == nil || rep.Source == nil && !literal:
		return nil, errors.New("it needs a source and at least one target")
	case literal && rep.Source != nil:
		return nil, errors.New("source and sourceValue exclude each other; give one of them")
	case literal:
		return yaml.NewScalarRNode(*rep.SourceValue), nil
	}
	var from *yaml.RNode
	for i, id := range r.ids {
		switch {
		case !id.IsSelectedBy(rep.Source.ResId):
		case from != nil:
			return nil, fmt.Errorf("source: several resources match %s; select one", rep.Source)
		default:
			from = r.nodes[i]
		}
	}
	if from == nil {
		return nil, fmt.Errorf("source: no resource matches %s", rep.Source)
	}
	field := rep.Source.FieldPath
	if field == "" {
		field = types.DefaultReplacementFieldPath
	}
	value, err := lookup(from, field, 0)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if value.IsNilOrEmpty() {
		return nil, fmt.Errorf("source: %s has no field %s, or an empty one", rep.Source.ResId, field)
	}
	return part(rep.Source.Options, value)
}

// part returns the part of a source that its options choose.
func part(options *types.FieldOptions, value *yaml.RNode) (*yaml.RNode, error) {
	if options == nil || options.Delimiter == "" {
		return value, nil
	}
	if value.YNode().Kind != yaml.ScalarNode {
		return nil, errors.New("source: options.delimiter is for single values")
	}
	parts := strings.Split(value.YNode().Value, options.Delimiter)
	if options.Index < 0 || options.Index >= len(parts) {
		return nil, fmt.Errorf("source: options.index is %d, and %q has %d part(s)", options.Index, value.YNode().Value, len(parts))
	}
	value = value.Copy()
	value.YNode().Value = parts[options.Index]
	return value, nil
}

// lookup finds one field; nil where there is none. A field of a kind that is not 0 is
// created.
func lookup(n *yaml.RNode, field string, create yaml.Kind) (found *yaml.RNode, err error) {
	defer func() {
		if v := recover(); v != nil { // kyaml panics on some empty fields
			err = fmt.Errorf("field %q cannot be read: %v", field, v)
		}
	}()
	path := utils.SmarterPathSplitter(field, ".")
	if i := slices.Index(path, "*"); i >= 0 {
		// The release's kyaml takes * for the name of a field.
		parent, err := n.Pipe(yaml.Lookup(path[:i]...))
		if err != nil || parent.IsNil() {
			return nil, err
		}
		return nil, yaml.ErrorIfInvalid(parent, yaml.MappingNode)
	}
	if create != 0 {
		return n.Pipe(yaml.LookupCreate(create, path...))
	}
	return n.Pipe(yaml.Lookup(path...))
}

// fields finds the fields that a path stands for; there is at least one.
func fields(n *yaml.RNode, field string, create yaml.Kind) (found []*yaml.RNode, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("field %q cannot be read: %v", field, v)
		}
	}()
	list, err := n.Pipe(&yaml.PathMatcher{Path: utils.SmarterPathSplitter(field, "."), Create: create})
	if err == nil {
		found, err = list.Elements()
	}
	held := map[*yaml.Node]bool{}
	collect(held, n.YNode())
	missing := slices.ContainsFunc(found, func(f *yaml.RNode) bool { return !held[f.YNode()] }) // in YAML that is a text's content
	if err == nil && (len(found) == 0 || missing) {
		err = errors.New("there is no such field; name another, or create it with options.create")
	}
	return found, err
}

// collect adds the nodes of a tree to a set.
func collect(into map[*yaml.Node]bool, tree *yaml.Node) {
	into[tree] = true
	for _, n := range tree.Content {
		collect(into, n)
	}
}

// target writes a value to the fields of one target and reports whether it could.
func (r *replacer) target(t *types.TargetSelector, value *yaml.RNode, at string) bool {
	paths := t.FieldPaths
	if len(paths) == 0 {
		paths = []string{types.DefaultReplacementFieldPath}
	}
	for i, n := range r.nodes {
		selected, err := r.selects(t, i)
		if err != nil {
			r.Results.Errorf("functionConfig: %s: %v", at, err)
			return false
		}
		for _, field := range paths {
			if !selected {
				break
			}
			if err := r.write(n, field, t.Options, value); err != nil {
				say(r.Call, r.resources[i], "error", field, fmt.Sprintf("%s: %v", at, err))
				return false
			}
		}
	}
	return true
}

// selects reports whether a target selects a resource.
func (r *replacer) selects(t *types.TargetSelector, i int) (bool, error) {
	if !r.ids[i].IsSelectedBy(t.Select.ResId) {
		return false, nil
	}
	if ok, err := hasMeta(r.nodes[i], t.Select); !ok || err != nil {
		return false, err
	}
	for _, reject := range t.Reject {
		if reject == nil {
			continue
		}
		if !reject.ResId.IsEmpty() && r.ids[i].IsSelectedBy(reject.ResId) {
			return false, nil
		}
		if reject.AnnotationSelector == "" && reject.LabelSelector == "" {
			continue
		}
		if ok, err := hasMeta(r.nodes[i], reject); ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// hasMeta reports whether a resource has the annotations and labels of a selector.
func hasMeta(n *yaml.RNode, s *types.Selector) (bool, error) {
	if ok, err := n.MatchesAnnotationSelector(s.AnnotationSelector); !ok || err != nil {
		return false, err
	}
	return n.MatchesLabelSelector(s.LabelSelector)
}

// write copies a value to the fields of a resource that a path stands for.
func (r *replacer) write(n *yaml.RNode, field string, options *types.FieldOptions, value *yaml.RNode) error {
	create := yaml.Kind(0)
	if options != nil && options.Create {
		create = value.YNode().Kind
	}
	if r.whole {
		to, err := lookup(n, field, create)
		if err != nil || to.IsNil() && create == 0 {
			return err
		}
		return r.set(to.YNode(), options, value)
	}
	found, err := fields(n, field, create)
	if err != nil {
		return err
	}
	for _, to := range found {
		if err := r.set(to.YNode(), options, value); err != nil {
			return err
		}
	}
	return nil
}

// set copies a value to a field.
func (r *replacer) set(to *yaml.Node, options *types.FieldOptions, value *yaml.RNode) error {
	next := value.Copy().YNode()
	if options != nil && options.Delimiter != "" {
		if to.Kind != yaml.ScalarNode {
			return errors.New("options.delimiter is for single values")
		}
		parts := strings.Split(to.Value, options.Delimiter)
		switch i := options.Index; {
		case i < 0:
			parts = slices.Insert(parts, 0, next.Value)
		case i >= len(parts):
			parts = append(parts, next.Value)
		default:
			parts[i] = next.Value
		}
		next.Value = strings.Join(parts, options.Delimiter)
	}
	r.Spend(size(next))
	if r.whole || to.Kind != yaml.ScalarNode {
		*to = *next
		return nil
	}
	return setTyped(to, next)
}

// setTyped gives a scalar another value and keeps its type. A field without a value has no
// type: it takes that of the value.
func setTyped(to, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return errors.New("the field is a single value, and the source is a mapping or a list")
	}
	switch tag := to.ShortTag(); tag {
	case yaml.NodeTagString:
		if to.Value != value.Value {
			setText(to, value.Value)
		}
		return nil
	case yaml.NodeTagNull:
		if to.Tag = value.ShortTag(); to.Tag == yaml.NodeTagString {
			setText(to, value.Value)
			return nil
		}
		to.Value, to.Style = value.Value, 0
		return nil
	default:
		text := value.Value
		if word, ok := boolWords[strings.ToLower(text)]; ok && tag == yaml.NodeTagBool {
			text = word
		}
		next := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
		if is := next.ShortTag(); is != tag && (is != yaml.NodeTagInt || tag != yaml.NodeTagFloat) {
			return fmt.Errorf("the field is %s (%s), and %q is not; if the field takes a text, quote its value in the package", typeNames[tag], to.Value, value.Value)
		}
		to.Value, to.Tag, to.Style = text, next.ShortTag(), 0
		return nil
	}
}

// boolWords are the words that an API server reads as booleans.
var boolWords = map[string]string{
	"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false",
}

var typeNames = map[string]string{
	yaml.NodeTagInt: "an integer", yaml.NodeTagFloat: "a number", yaml.NodeTagBool: "a boolean",
	"!!timestamp": "a date", "!!binary": "binary data",
}

func leaves(n *yaml.Node) int {
	if len(n.Content) == 0 {
		return 1
	}
	total := 0
	for _, e := range n.Content {
		total += leaves(e)
	}
	return total
}
