package api

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func (d *decoder) str(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, "a string")
		return "", false
	}
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool":
		if strings.Contains(path, ".credentials[") { // it may be a secret
			d.wrongType(n, path, "a string")
			return "", false
		}
		d.errorf(n, path, fmt.Sprintf("%s must be a string, not the %s %s", path, noun(n), n.Value),
			fmt.Sprintf("quote it: %q", n.Value))
		return "", false
	}
	return n.Value, true
}

func (d *decoder) boolean(n *yaml.Node, path string) (bool, bool) {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on", "y":
			return true, true
		case "false", "no", "off", "n":
			return false, true
		}
	}
	d.wrongType(n, path, "true or false")
	return false, false
}

func (d *decoder) integer(n *yaml.Node, path string) (int64, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i, true
		}
	}
	d.wrongType(n, path, "an integer")
	return 0, false
}

func (d *decoder) wrongType(n *yaml.Node, path, want string) {
	d.errorf(n, path, fmt.Sprintf("%s must be %s, not %s", orDocument(path), want, noun(n)), "")
}

func noun(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	case "!!bool":
		return "boolean"
	case "!!null":
		return "null"
	}
	return "a string"
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "a map"
	}
	return "a value"
}
