package catalogfn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// toValue turns a tree into a Starlark value; aliases and merge keys are
// written out, timestamps are text. It is bounded: aliases of aliases grow fast.
func toValue(n *yaml.Node) (starlark.Value, error) {
	c := converter{budget: maxValues}
	return c.value(n)
}

type converter struct{ budget int }

func (c *converter) value(n *yaml.Node) (starlark.Value, error) {
	if c.budget--; c.budget < 0 {
		return nil, errors.New("too many values")
	}
	n = yamltree.Deref(n)
	if n == nil {
		return starlark.None, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.dict(n)
	case yaml.SequenceNode:
		items := make([]starlark.Value, len(n.Content))
		for i, e := range n.Content {
			v, err := c.value(e)
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		return starlark.NewList(items), nil
	case yaml.ScalarNode:
		return toScalar(n)
	}
	return nil, fmt.Errorf("line %d: neither mapping, list nor value", n.Line)
}

func (c *converter) dict(n *yaml.Node) (starlark.Value, error) {
	d := starlark.NewDict(len(n.Content) / 2)
	put := func(key string, value *yaml.Node) error {
		v, err := c.value(value)
		if err != nil {
			return err
		}
		return d.SetKey(starlark.String(key), v)
	}
	var entries map[string]*yaml.Node
	for k, v := range yamltree.Fields(n) {
		if k.Value == yamltree.MergeKey {
			entries = yamltree.Merged(n)
			continue
		}
		if err := put(k.Value, v); err != nil {
			return nil, err
		}
	}
	for _, key := range keysOf(entries) {
		if _, found, _ := d.Get(starlark.String(key)); found {
			continue
		}
		if err := put(key, entries[key]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func toScalar(n *yaml.Node) (starlark.Value, error) {
	switch n.ShortTag() {
	case yaml.NodeTagNull:
		return starlark.None, nil
	case yaml.NodeTagBool:
		return starlark.Bool(strings.EqualFold(n.Value, "true")), nil
	case yaml.NodeTagInt:
		var v int64
		if err := n.Decode(&v); err == nil {
			return starlark.MakeInt64(v), nil
		}
		var u uint64
		if err := n.Decode(&u); err == nil {
			return starlark.MakeUint64(u), nil
		}
	case yaml.NodeTagFloat:
		var f float64
		if err := n.Decode(&f); err == nil {
			return starlark.Float(f), nil
		}
	}
	return starlark.String(n.Value), nil
}

// toNode turns a value back into a tree; budget bounds how many values.
func toNode(v starlark.Value, budget *int) (*yaml.Node, error) {
	if *budget--; *budget < 0 {
		return nil, errors.New("the script left too many values")
	}
	switch v := v.(type) {
	case starlark.NoneType:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}, nil
	case starlark.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(bool(v))}, nil
	case starlark.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagInt, Value: v.String()}, nil
	case starlark.Float:
		s := strconv.FormatFloat(float64(v), 'g', -1, 64)
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
		n.Tag = n.ShortTag()
		return n, nil
	case starlark.String:
		n := stringNode(string(v))
		if strings.Contains(string(v), "\n") {
			n.Style = yaml.LiteralStyle
		}
		return n, nil
	case *starlark.Dict:
		return dictNode(v, budget)
	case starlark.Iterable:
		return listNode(v, budget)
	}
	return nil, fmt.Errorf("a %s cannot be written as YAML", v.Type())
}

func dictNode(d *starlark.Dict, budget *int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, kv := range d.Items() {
		key, ok := starlark.AsString(kv[0])
		if !ok {
			return nil, fmt.Errorf("key %s is no string", kv[0])
		}
		v, err := toNode(kv[1], budget)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		n.Content = append(n.Content, stringNode(key), v)
	}
	return n, nil
}

func listNode(v starlark.Iterable, budget *int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	it := v.Iterate()
	defer it.Done()
	var e starlark.Value
	for i := 0; it.Next(&e); i++ {
		c, err := toNode(e, budget)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		n.Content = append(n.Content, c)
	}
	return n, nil
}

func keysOf(m map[string]*yaml.Node) []string {
	set := make(map[string]string, len(m))
	for k := range m {
		set[k] = ""
	}
	return sortedKeys(set)
}
