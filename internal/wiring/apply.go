package wiring

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/yamltree"
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
	_, err = r.Modify(func(root *yaml.Node) error { return setField(root, f.Path, v) })
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
		places[i] = objectOf(r)
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
	i := place(n, last)
	switch {
	case i < 0 && last.Field == "":
		return fmt.Errorf("%s has no element %s; add it to the package", where, last)
	case i < 0 && n.Kind != yaml.MappingNode:
		return fmt.Errorf("%s is %s, so it can have no field %s", where, describe(n), last)
	case i < 0:
		node, err := typed(v.Text, v.Type, nil)
		if err == nil {
			yamltree.Set(n, nil, last.Field, node)
		}
		return err
	}
	have := n.Content[i]
	node, err := typed(v.Text, v.Type, yamltree.Deref(have))
	if err != nil || yamltree.SameValue(have, node) {
		return err
	}
	if have.Kind == yaml.ScalarNode && node.Kind == yaml.ScalarNode {
		node.HeadComment, node.LineComment, node.FootComment = have.HeadComment, have.LineComment, have.FootComment
	}
	n.Content[i] = node
	return unshare(root, have)
}

// place is where in a node's content the value of a step stands, -1 where it is
// missing.
func place(n *yaml.Node, s api.FieldStep) int {
	if s.Field == "" {
		return element(n, s)
	}
	if i := yamltree.Index(n, s.Field); i >= 0 {
		return i + 1
	}
	return -1
}

// own follows one step to a node that nothing else in the document shares, so
// that changing it changes one place. It returns nil where the step leads
// nowhere.
func own(root, n *yaml.Node, s api.FieldStep) (*yaml.Node, error) {
	i := place(n, s)
	if i < 0 {
		return nil, nil
	}
	c := n.Content[i]
	switch {
	case c.Kind == yaml.AliasNode:
		return yamltree.Own(n, i)
	case yamltree.IsNull(c):
		empty := yamltree.Map()
		empty.HeadComment, empty.FootComment = c.HeadComment, c.FootComment
		n.Content[i] = empty
	default:
		if err := unshare(root, c); err != nil {
			return nil, err
		}
	}
	return n.Content[i], nil
}

// unshare gives every alias of a node a copy of its own and drops the node's
// anchor, so that the node can be changed or go.
func unshare(root, anchored *yaml.Node) error {
	if anchored.Kind == yaml.AliasNode || anchored.Anchor == "" {
		return nil
	}
	if err := expand(root, anchored); err != nil {
		return err
	}
	anchored.Anchor = ""
	return nil
}

func expand(n, anchored *yaml.Node) error {
	for i, c := range n.Content {
		if c.Kind != yaml.AliasNode {
			if err := expand(c, anchored); err != nil {
				return err
			}
			continue
		}
		if c.Alias != anchored {
			continue
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].ShortTag() == yaml.MergeTag {
			return fmt.Errorf("the anchor &%s is merged with \"<<\" elsewhere; write the value out there", anchored.Anchor)
		}
		if _, err := yamltree.Own(n, i); err != nil {
			return err
		}
	}
	return nil
}
