package function

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/utils"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// FieldsConfig is the functionConfig of set-fields, of any kind. It is usually an
// injection point: its spec comes from a context object.
type FieldsConfig struct {
	APIVersion string               `yaml:"apiVersion"`
	Kind       string               `yaml:"kind"`
	Metadata   yaml.Node            `yaml:"metadata"`
	Spec       map[string]yaml.Node `yaml:"spec,omitempty"`
	Fields     []FieldRule          `yaml:"fields"`
}

// FieldRule sets one value at several places.
type FieldRule struct {
	// Name is a parameter: if spec has it, its value is used.
	Name string `yaml:"name,omitempty"`
	// Value is used otherwise. ${NAME} stands for another parameter.
	Value string `yaml:"value,omitempty"`
	// From and Values look the value up by another parameter's.
	From   string               `yaml:"from,omitempty"`
	Values map[string]yaml.Node `yaml:"values,omitempty"`
	// Targets are where the value is set.
	Targets []FieldTarget `yaml:"targets"`
}

// FieldTarget is fields of one resource.
type FieldTarget struct {
	Select     FieldSelector `yaml:"select"`
	FieldPaths []string      `yaml:"fieldPaths"`
	// Optional skips paths that the resource lacks.
	Optional bool `yaml:"optional,omitempty"`
}

// FieldSelector names a resource as the upstream has it.
type FieldSelector struct {
	Group     string `yaml:"group,omitempty"`
	Kind      string `yaml:"kind"`
	Namespace string `yaml:"namespace,omitempty"`
	Name      string `yaml:"name"`
	// File decides between several resources.
	File string `yaml:"file,omitempty"`
}

func (s FieldSelector) String() string { return s.Kind + " " + s.Name }

// SetFields sets fields by upstream resource and path. A resource that the function
// renamed in an earlier run is found by its new name.
func SetFields(_ context.Context, c *Call) error {
	if empty(c.Config) {
		c.configResult(fn.Error, "", "functionConfig: it is missing; give it as the function's configPath")
		return nil
	}
	s := fieldSetter{Call: c, renamed: map[string]*yaml.Node{}, seen: map[*krm.Resource]bool{}}
	s.unknown()
	if err := c.Config.YNode().Decode(&s.config); err != nil { // not by way of a text: a table of values is long
		c.configResult(fn.Error, "", "functionConfig: %v", err)
	}
	if c.failed() {
		return nil
	}
	s.plan()
	if c.failed() {
		return nil
	}
	for _, identity := range []bool{false, true} { // a resource is found by its name, so that a name is set last
		for _, w := range s.writes {
			if isIdentity(w.path) == identity {
				s.write(w)
			}
		}
	}
	c.add(fn.Info, nil, "", "%s set in %s", number(s.changed, "field"), number(len(s.seen), "resource"))
	return nil
}

type fieldSetter struct {
	*Call
	config FieldsConfig
	writes []fieldWrite
	// renamed has the values of writes by resource and path.
	renamed map[string]*yaml.Node
	seen    map[*krm.Resource]bool
	changed int
}

type fieldWrite struct {
	target *FieldTarget
	path   string
	steps  []string
	value  *yaml.Node
}

func isIdentity(path string) bool { return path == "metadata.name" || path == "metadata.namespace" }

func renameKey(s FieldSelector, path string) string {
	return strings.Join([]string{s.Kind, s.Namespace, s.Name, path}, "\x00")
}

// unknown reports keys of the functionConfig that nothing reads.
func (s *fieldSetter) unknown() {
	check := func(n *yaml.Node, at string, keys ...string) {
		for k := range yamltree.Fields(n) {
			if !contains(keys, k.Value) {
				s.configResult(fn.Error, at, "functionConfig: unknown field %q in %s; there are %q", k.Value, orRoot(at), keys)
			}
		}
	}
	root := s.Config.YNode()
	check(root, "", "apiVersion", "kind", "metadata", "spec", "fields")
	for i, rule := range yamltree.Items(root, "fields") {
		at := fmt.Sprintf("fields[%d]", i)
		check(rule, at, "name", "value", "from", "values", "targets")
		for j, target := range yamltree.Items(rule, "targets") {
			at := fmt.Sprintf("%s.targets[%d]", at, j)
			check(target, at, "select", "fieldPaths", "optional")
			check(yamltree.Child(target, "select"), at+".select", "group", "kind", "namespace", "name", "file")
		}
	}
}

// plan lists what is to be set.
func (s *fieldSetter) plan() {
	for i := range s.config.Fields {
		rule := &s.config.Fields[i]
		value := s.valueOf(rule, 0)
		for j := range rule.Targets {
			t := &rule.Targets[j]
			if t.Select.Kind == "" || t.Select.Name == "" || len(t.FieldPaths) == 0 {
				s.configResult(fn.Error, fmt.Sprintf("fields[%d].targets[%d]", i, j), "functionConfig: a target needs select.kind, select.name and fieldPaths")
				continue
			}
			for _, path := range t.FieldPaths {
				if value == nil { // nothing is known: the field stays as it is
					continue
				}
				s.renamed[renameKey(t.Select, path)] = value
				s.writes = append(s.writes, fieldWrite{target: t, path: path, steps: utils.SmarterPathSplitter(path, "."), value: value})
			}
		}
	}
}

const maxReferences = 20 // parameters that follow from another

// valueOf returns the value of a rule, nil where nothing gives one.
func (s *fieldSetter) valueOf(rule *FieldRule, depth int) *yaml.Node {
	if v := s.given(rule.Name); v != nil {
		return v
	}
	if rule.From != "" {
		from := s.parameter(rule.From, depth+1)
		if from == nil {
			return nil
		}
		if v, ok := rule.Values[from.Value]; ok && yamltree.IsScalar(&v) {
			return &v
		}
		return nil
	}
	if rule.Value == "" {
		return nil
	}
	var out strings.Builder
	rest := rule.Value
	for {
		before, after, ok := strings.Cut(rest, "${")
		name, behind, closed := strings.Cut(after, "}")
		if !ok || !closed {
			out.WriteString(rest)
			return yamltree.String(out.String())
		}
		v := s.parameter(name, depth+1)
		switch {
		case v == nil:
			return nil
		case "${"+name+"}" == rule.Value:
			return v
		}
		out.WriteString(before + v.Value)
		rest = behind
	}
}

// given is a value of spec, nil where spec lacks it.
func (s *fieldSetter) given(name string) *yaml.Node {
	v, ok := s.config.Spec[name]
	if n := yamltree.Deref(&v); ok && n != nil && n.Kind == yaml.ScalarNode && !yamltree.IsNull(n) {
		return n
	}
	return nil
}

// parameter is a value of spec, or of the rule of that name.
func (s *fieldSetter) parameter(name string, depth int) *yaml.Node {
	if v := s.given(name); v != nil {
		return v
	}
	for i := range s.config.Fields {
		if rule := &s.config.Fields[i]; rule.Name == name && depth < maxReferences {
			return s.valueOf(rule, depth)
		}
	}
	return nil
}

// write sets one field of the resource that a target selects.
func (s *fieldSetter) write(w fieldWrite) {
	found := s.find(w.target.Select)
	switch {
	case len(found) == 0 && !w.target.Optional:
		s.configResult(fn.Error, "", "functionConfig: the package has no %s in %s, whose %s is to be set; %s. Change select, or set optional: true",
			w.target.Select, orAny(w.target.Select.File), w.path, s.nearest(w.target.Select))
	case len(found) > 1:
		s.configResult(fn.Error, "", "functionConfig: %d resources are %s (%s, %s); give select.file or select.namespace", len(found), w.target.Select, found[0].Path(), found[1].Path())
	}
	if len(found) != 1 {
		return
	}
	r := found[0]
	missing := ""
	changed, err := r.Modify(func(root *yaml.Node) (err error) {
		missing, err = s.set(root, w)
		return err
	})
	switch {
	case err != nil:
		s.add(fn.Error, r, w.path, "%v", err)
	case missing != "" && !w.target.Optional:
		s.add(fn.Error, r, w.path, "%s, so that %s cannot be set; change the path in the functionConfig, or set optional: true", missing, w.path)
	case changed:
		s.changed++
		s.seen[r] = true
	}
}

func orAny(file string) string {
	if file == "" {
		return "any file"
	}
	return file
}

// find returns the resources that a selector means: by the name that the function gives,
// or by the upstream's.
func (s *fieldSetter) find(sel FieldSelector) (found []*krm.Resource) {
	name, namespace := sel.Name, sel.Namespace
	if v := s.renamed[renameKey(sel, "metadata.name")]; v != nil {
		name = v.Value
	}
	if v := s.renamed[renameKey(sel, "metadata.namespace")]; v != nil {
		namespace = v.Value
	}
	for _, r := range s.Resources() {
		if r.Deleted() || r.Kind() != sel.Kind || sel.Group != "" && r.Group() != sel.Group {
			continue
		}
		named := r.Name() == name || r.Name() == sel.Name
		if named && (sel.Namespace == "" || r.Namespace() == sel.Namespace || r.Namespace() == namespace) {
			found = append(found, r)
		}
	}
	for _, narrower := range []func(*krm.Resource) bool{
		func(r *krm.Resource) bool { return r.Path() == sel.File },
		func(r *krm.Resource) bool { return r.Name() == name },
	} {
		if some := slices.DeleteFunc(slices.Clone(found), func(r *krm.Resource) bool { return !narrower(r) }); len(found) > 1 && len(some) > 0 {
			found = some
		}
	}
	return found
}

// nearest names the resources of the kind that there are.
func (s *fieldSetter) nearest(sel FieldSelector) string {
	var names []string
	for _, r := range s.Resources() {
		if r.Kind() == sel.Kind && len(names) < foldedNames {
			names = append(names, r.Name()+" in "+r.Path())
		}
	}
	if len(names) == 0 {
		return "there is no " + sel.Kind
	}
	return "there is " + sel.Kind + " " + strings.Join(names, ", ")
}

// set sets a field of a tree, or reports the step that is missing.
func (s *fieldSetter) set(root *yaml.Node, w fieldWrite) (missing string, err error) {
	n, done := root, ""
	for i, step := range w.steps {
		var at int
		if match, ok := strings.CutPrefix(step, "["); ok && n.Kind == yaml.SequenceNode {
			at = s.element(n, w, i, strings.TrimSuffix(match, "]"))
		} else if at = yamltree.Index(n, step); at >= 0 {
			at++
		} else if n.Kind == yaml.SequenceNode && step == "0" && len(n.Content) == 1 { // an index is safe for an only item
			at = 0
		}
		if at < 0 {
			return fmt.Sprintf("%s has no %s: it has %s", orRoot(done), step, there(n)), nil
		}
		if i == len(w.steps)-1 {
			if old := yamltree.Deref(n.Content[at]); !yamltree.IsScalar(old) && w.target.Optional {
				return "", nil
			} else if !yamltree.IsScalar(old) {
				return "", fmt.Errorf("%s is not a single value", w.path)
			} else if !yamltree.SameValue(old, w.value) {
				n.Content[at] = like(n.Content[at], w.value)
			}
			return "", nil
		}
		if n, err = yamltree.Own(n, at); err != nil {
			return "", err
		}
		done = strings.TrimPrefix(done+"."+step, ".")
	}
	return "", nil
}

// like is a value in the place of another one, whose quotes and comments it keeps.
func like(old, value *yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: value.Tag, Value: value.Value, Style: value.Style}
	n.HeadComment, n.LineComment, n.FootComment = old.HeadComment, old.LineComment, old.FootComment
	if quotes := old.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle); old.Kind == yaml.ScalarNode && quotes != 0 && yamltree.Tag(value) == yaml.NodeTagString {
		n.Style = quotes
	}
	return n
}

func orRoot(path string) string {
	if path == "" {
		return "the resource"
	}
	return path
}

// element finds the item of a list that key=value names, also where value was set by an
// earlier run; =value names an item that is a single value.
func (s *fieldSetter) element(list *yaml.Node, w fieldWrite, i int, match string) int {
	key, want, ok := strings.Cut(match, "=")
	if !ok {
		return -1
	}
	path := strings.Join(w.steps[:i+1], ".")
	if key != "" {
		path += "." + key
	}
	for _, value := range []*yaml.Node{s.renamed[renameKey(w.target.Select, path)], {Value: want}} {
		if value == nil {
			continue
		}
		for at, item := range list.Content {
			item = yamltree.Deref(item)
			if key != "" && yamltree.Text(item, key) == value.Value || key == "" && yamltree.IsScalar(item) && item.Value == value.Value {
				return at
			}
		}
	}
	return -1
}

// there lists what a node has in the place of a missing step.
func there(n *yaml.Node) string {
	var names []string
	for k := range yamltree.Fields(n) {
		names = append(names, k.Value)
	}
	if n.Kind == yaml.SequenceNode {
		key := yamltree.ListKey(n)
		for _, item := range n.Content {
			if item = yamltree.Deref(item); yamltree.IsScalar(item) {
				names = append(names, "[="+item.Value+"]")
			} else if key != "" {
				names = append(names, "["+key+"="+yamltree.Text(item, key)+"]")
			}
		}
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
