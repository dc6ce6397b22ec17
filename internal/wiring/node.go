package wiring

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// isSecret says whether a map is a core Secret, wherever it stands: a List may
// hold one.
func isSecret(n *yaml.Node) bool {
	group := krm.GroupOf(yamltree.Text(n, "apiVersion"))
	return api.IsSecret(group, yamltree.Text(n, "kind"))
}

// withoutContent is a Secret without what it holds. Annotations go too: kubectl
// keeps a copy of the content in one.
func withoutContent(n *yaml.Node) *yaml.Node {
	out := yamltree.Map()
	for _, key := range []string{"apiVersion", "kind", "type"} {
		if c := yamltree.Child(n, key); c != nil {
			yamltree.Set(out, nil, key, c)
		}
	}
	meta := yamltree.Map()
	for _, key := range []string{"name", "namespace", "labels"} {
		if c := yamltree.Path(n, "metadata", key); c != nil {
			yamltree.Set(meta, nil, key, c)
		}
	}
	yamltree.Set(out, nil, "metadata", meta)
	return out
}

// toValue turns a tree into what expressions work on: maps, lists, strings,
// int64, uint64, float64, bool and nil. A tree too large once its aliases are
// followed is nil.
func toValue(n *yaml.Node) any {
	if aliased(n) {
		plain, err := yamltree.Plain(n)
		if err != nil {
			return nil
		}
		n = plain
	}
	return valueOf(n)
}

func aliased(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.ShortTag() == yaml.MergeTag && n.Kind == yaml.ScalarNode || slices.ContainsFunc(n.Content, aliased)
}

func valueOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		if isSecret(n) {
			n = withoutContent(n)
		}
		out := make(map[string]any, len(n.Content)/2)
		for k, v := range yamltree.Fields(n) {
			out[k.Value] = valueOf(v)
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			out[i] = valueOf(c)
		}
		return out
	}
	return scalarOf(n)
}

func scalarOf(n *yaml.Node) any {
	switch yamltree.Tag(n) {
	case yaml.NodeTagString:
		return n.Value
	case yaml.NodeTagNull:
		return nil
	case yaml.NodeTagBool:
		b, _ := yamltree.Bool(n)
		return b
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		var v any
		if n.Decode(&v) == nil {
			switch x := v.(type) {
			case int:
				return int64(x)
			case int64, uint64, float64:
				return x
			}
		}
	}
	return n.Value
}

// textOf is a scalar in its canonical form: numbers as short as they can be,
// booleans true or false.
func textOf(n *yaml.Node) string {
	switch x := scalarOf(n).(type) {
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case float64:
		return floatText(x)
	}
	return n.Value
}

// floatText writes a float as JSON does: an exponent only where it is long without.
func floatText(f float64) string {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// step follows one step of a path; nil where it leads nowhere. Merge keys count.
func step(n *yaml.Node, s api.FieldStep) *yaml.Node {
	n = yamltree.Deref(n)
	if s.Field != "" {
		if c := yamltree.Child(n, s.Field); c != nil {
			return c
		}
		if yamltree.Child(n, "<<") != nil {
			if plain, err := yamltree.Plain(n); err == nil {
				return yamltree.Child(plain, s.Field)
			}
		}
		return nil
	}
	if i := element(n, s); i >= 0 {
		return yamltree.Deref(n.Content[i])
	}
	return nil
}

// element is the place of a list's element, -1 where there is none.
func element(n *yaml.Node, s api.FieldStep) int {
	if n == nil || n.Kind != yaml.SequenceNode {
		return -1
	}
	if len(s.Keys) == 0 {
		if s.Index < len(n.Content) {
			return s.Index
		}
		return -1
	}
	return slices.IndexFunc(n.Content, func(c *yaml.Node) bool {
		for _, k := range s.Keys {
			v := yamltree.Child(c, k.Name)
			if v == nil || v.Kind != yaml.ScalarNode || v.Value != k.Value {
				return false
			}
		}
		return true
	})
}

// describe says what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	if yamltree.IsNull(n) {
		return "null"
	}
	return fmt.Sprintf("the %s %q", kindOf(n), n.Value)
}

func kindOf(n *yaml.Node) string {
	switch yamltree.Tag(n) {
	case yaml.NodeTagBool:
		return "boolean"
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		return "number"
	}
	return "string"
}
