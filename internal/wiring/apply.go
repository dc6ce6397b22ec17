package wiring

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/mutate/tree"
)

// Value is one parameter's value and where in the package it goes.
type Value struct {
	Parameter string               // for messages
	To        v1alpha1.InputTarget // exactly one of its fields
	Text      string
	Type      string // the parameter's, a type of JSON schema; empty follows the field that is there, else string
}

// Apply puts values into a package that was not rendered yet: keys of the
// package context, setters, fields of resources. The errors are joined, each
// names its parameter; after one the package, which should be a clone, may be
// changed in part. Applying the same again changes no byte.
//
// A setter's value goes into the configuration of every apply-setters function
// that has the setter; where none has it but a `# kpt-set:` comment names it,
// into that of the nearest package above the comment, where a function
// apply-setters is added to the root Kptfile if there is none.
func Apply(p *krm.Package, values []Value) error {
	a := applier{pkg: p, targets: map[v1alpha1.InputTarget]*Value{}}
	var errs []error
	for i := range values {
		v := &values[i]
		if err := a.apply(v); err != nil {
			for _, e := range mutate.Split(err) {
				errs = append(errs, fmt.Errorf("parameter %s: %w", v.Parameter, e))
			}
		}
	}
	return errors.Join(errs...)
}

type applier struct {
	pkg     *krm.Package
	targets map[v1alpha1.InputTarget]*Value // the first value of each
	setters *setters                        // read when first needed
}

func (a *applier) apply(v *Value) error {
	if first, ok := a.targets[v.To]; ok && (first.Text != v.Text || first.Type != v.Type) {
		return fmt.Errorf("parameter %s has another value for the same place; give each a place of its own", first.Parameter)
	}
	a.targets[v.To] = v
	if _, err := typed(v.Text, v.Type, nil); err != nil {
		return fmt.Errorf("the value is %w", err)
	}
	to := v.To
	switch {
	case to == v1alpha1.InputTarget{ContextKey: to.ContextKey} && to.ContextKey != "":
		return mutate.SetContext(a.pkg, map[string]string{to.ContextKey: v.Text})
	case to == v1alpha1.InputTarget{Setter: to.Setter} && to.Setter != "":
		return a.setter(to.Setter, v.Text)
	case to == v1alpha1.InputTarget{FieldPath: to.FieldPath} && to.FieldPath != "":
		return a.field(v)
	}
	return errors.New("its target must be exactly one of contextKey, setter and fieldPath")
}

// field sets the field of a resource, made where its parent exists.
func (a *applier) field(v *Value) error {
	f, err := api.ParseResourceField(v.To.FieldPath)
	if err != nil {
		return err
	}
	if err := f.CheckSettable(); err != nil {
		return fmt.Errorf("%s: %w", f, err)
	}
	r, err := a.resource(f)
	if err != nil {
		return err
	}
	_, err = tree.Edit(r, func(root *yaml.Node) error { return setField(root, f.Path, v) })
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", r.Path(), r.Kind(), r.Name(), err)
	}
	return nil
}

func (a *applier) resource(f *api.ResourceField) (*krm.Resource, error) {
	var found []*krm.Resource
	for _, r := range a.pkg.Resources() {
		if r.Kind() == f.Kind && (f.Group == "" || r.Group() == f.Group) && (f.Name == "" || r.Name() == f.Name) && ordinary(r) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s: the package has no such resource before it is rendered; correct the fieldPath or use a setter", f.Resource())
	case 1:
		return found[0], nil
	}
	places := make([]*object, len(found))
	for i, r := range found {
		places[i] = newObject(r.Node().YNode(), r.Path())
	}
	_, err := newSpace(places).one(f, "")
	return nil, err
}

// setField sets the value at a path; all but the last step must be there. A
// null counts as an empty map.
func setField(root *yaml.Node, path api.FieldPath, v *Value) error {
	n := root
	for i, s := range path[:len(path)-1] {
		next, err := own(root, n, s)
		if err != nil {
			return err
		}
		if next == nil {
			return fmt.Errorf("field %s is not there, so %s cannot be set; add it to the package", path[:i+1], path)
		}
		n = next
	}
	return setLast(root, n, path, v)
}

func setLast(root, n *yaml.Node, path api.FieldPath, v *Value) error {
	last, parent := path[len(path)-1], path[:len(path)-1]
	where := "the resource"
	if len(parent) > 0 {
		where = parent.String()
	}
	if last.Field == "" {
		i := element(n, last)
		if i < 0 {
			return fmt.Errorf("%s has no element %s; add it to the package", where, last)
		}
		node, err := typed(v.Text, v.Type, tree.Deref(n.Content[i]))
		if err != nil || tree.Equal(n.Content[i], node) {
			return err
		}
		keepComments(n.Content[i], node)
		n.Content[i] = node
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s is %s, so it can have no field %s", where, describe(n), last)
	}
	have := tree.Child(n, last.Field)
	node, err := typed(v.Text, v.Type, have)
	if err != nil {
		return err
	}
	if have == nil || !tree.Equal(have, node) {
		if have != nil && have.Anchor != "" {
			if err := unshare(root, have); err != nil {
				return err
			}
		}
		tree.Set(n, nil, last.Field, node)
	}
	return nil
}

func keepComments(from, to *yaml.Node) {
	if from.Kind == yaml.ScalarNode && to.Kind == yaml.ScalarNode {
		to.HeadComment, to.LineComment, to.FootComment = from.HeadComment, from.LineComment, from.FootComment
	}
}

// own follows one step to a node that nothing else in the document shares, so
// that changing it changes one place. It returns nil where the step leads
// nowhere.
func own(root, n *yaml.Node, s api.FieldStep) (*yaml.Node, error) {
	i := element(n, s)
	if s.Field != "" {
		i = -1
		if n.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(n.Content); j += 2 {
				if n.Content[j].Value == s.Field {
					i = j + 1
				}
			}
		}
	}
	if i < 0 {
		return nil, nil
	}
	c := n.Content[i]
	switch {
	case c.Kind == yaml.AliasNode:
		plain, err := tree.Plain(c)
		if err != nil {
			return nil, err
		}
		n.Content[i] = plain
	case c.Anchor != "":
		if err := unshare(root, c); err != nil {
			return nil, err
		}
	case tree.IsNull(c):
		empty := tree.Map()
		empty.HeadComment, empty.FootComment = c.HeadComment, c.FootComment
		n.Content[i] = empty
	}
	return n.Content[i], nil
}

// unshare gives every alias of a node a copy of its own and drops the anchor.
func unshare(root, anchored *yaml.Node) error {
	for i, c := range root.Content {
		if c.Kind != yaml.AliasNode {
			if err := unshare(c, anchored); err != nil {
				return err
			}
			continue
		}
		if c.Alias != anchored {
			continue
		}
		if i > 0 && root.Kind == yaml.MappingNode && root.Content[i-1].ShortTag() == yaml.MergeTag {
			return fmt.Errorf("the anchor &%s is merged with \"<<\" elsewhere; write the value out there", anchored.Anchor)
		}
		plain, err := tree.Plain(c)
		if err != nil {
			return err
		}
		root.Content[i] = plain
	}
	if slices.Contains(root.Content, anchored) {
		anchored.Anchor = ""
	}
	return nil
}
