package render

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// fieldError is a place of a pipeline that is not as Kptfiles have it.
type fieldError struct {
	field, why string
	line       int // of the document's tree, 0 where unknown
}

// checkFields compares a tree with the Go type that it is to be read into, and
// lists all that does not fit in the Kptfile's terms: unknown fields, and values of
// another shape.
func checkFields(n *yaml.Node, t reflect.Type, field string) []fieldError {
	n = yamltree.Deref(n)
	if n == nil || yamltree.IsNull(n) {
		return nil
	}
	wrong := func(want string) []fieldError {
		return []fieldError{{field, "it is " + shape(n) + ", not " + want, n.Line}}
	}
	var out []fieldError
	switch t.Kind() {
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			return wrong("a mapping")
		}
		names, types := yamlFields(t)
		for k, v := range yamltree.Fields(n) {
			i := slices.Index(names, k.Value)
			if i < 0 {
				out = append(out, fieldError{field, fmt.Sprintf("there is no field %q; there are %s", k.Value, strings.Join(names, ", ")), k.Line})
				continue
			}
			out = append(out, checkFields(v, types[i], field+"."+k.Value)...)
		}
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return wrong("a list")
		}
		for i, item := range n.Content {
			out = append(out, checkFields(item, t.Elem(), fmt.Sprintf("%s[%d]", field, i))...)
		}
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			return wrong("a mapping")
		}
		for k, v := range yamltree.Fields(n) {
			out = append(out, checkFields(v, t.Elem(), field+"."+k.Value)...)
		}
	default:
		if n.Kind != yaml.ScalarNode {
			return wrong("a single value")
		}
	}
	return out
}

func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}

// yamlFields are the names and types that a struct's fields have in YAML.
func yamlFields(t reflect.Type) (names []string, types []reflect.Type) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		names, types = append(names, name), append(types, t.Field(i).Type)
	}
	return names, types
}
