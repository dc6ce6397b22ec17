package wiring

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// types are the types of JSON schema that a parameter or output can have; ""
// is one that was left out.
var types = []string{"", "string", "integer", "number", "boolean", "object", "array"}

func checkType(typ string) error {
	if slices.Contains(types, typ) {
		return nil
	}
	return fmt.Errorf("%q is no type; use %s", typ, strings.Join(types[1:], ", "))
}

var (
	integerText = lazyregexp.New(`^-?(0|[1-9][0-9]*)$`)
	numberText  = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// typed makes a node of a value's text. Without a type it follows like, the
// node that is there now, as far as the text allows.
func typed(text, typ string, like *yaml.Node) (*yaml.Node, error) {
	scalar := func(tag string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
	}
	switch typ {
	case "":
		return untyped(text, like), nil
	case "string":
		return yamltree.String(text), nil
	case "integer":
		if isInteger(text) {
			return scalar(yaml.NodeTagInt)
		}
	case "number":
		if isInteger(text) {
			return scalar(yaml.NodeTagInt)
		}
		if numberText.MatchString(text) {
			return scalar(yaml.NodeTagFloat)
		}
	case "boolean":
		if text == "true" || text == "false" {
			return scalar(yaml.NodeTagBool)
		}
	case "object", "array":
		if n := collection(text); n != nil && (typ == "object") == (n.Kind == yaml.MappingNode) {
			return n, nil
		}
	default:
		return nil, checkType(typ)
	}
	return nil, fmt.Errorf("%q, which is not of type %s", shorten(text), typ)
}

// isInteger says whether a text is an integer of 64 bits, as Kubernetes has them.
func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && integerText.MatchString(text)
}

// untyped is a string, unless a number or a boolean is there now and the text
// is one as well.
func untyped(text string, like *yaml.Node) *yaml.Node {
	if like != nil && like.Kind == yaml.ScalarNode {
		typ := map[string]string{yaml.NodeTagInt: "number", yaml.NodeTagFloat: "number", yaml.NodeTagBool: "boolean"}[yamltree.Tag(like)]
		if typ != "" {
			if n, err := typed(text, typ, nil); err == nil {
				return n
			}
		}
	}
	return yamltree.String(text)
}

// collection reads a map or a list from YAML or JSON, nil where it is none.
func collection(text string) *yaml.Node {
	parsed, err := yaml.Parse(text)
	if err != nil || parsed.YNode() == nil || parsed.YNode().Kind == yaml.ScalarNode {
		return nil
	}
	n, err := yamltree.Plain(parsed.YNode())
	if err != nil {
		return nil
	}
	return n
}

func shorten(s string) string {
	if len(s) <= 80 {
		return s
	}
	return s[:77] + "..."
}
