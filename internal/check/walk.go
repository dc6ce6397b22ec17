package check

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/yamltree"
)

// objectMeta is the type of an object's metadata.
const objectMeta = "meta.v1.ObjectMeta"

// walk checks a value against a type of Kubernetes. A null is an absent value for the
// server, everywhere.
func (c *checker) walk(n *yaml.Node, expr string, in minors, at string) {
	n = yamltree.Deref(n)
	if yamltree.IsNull(n) || expr == "any" {
		return
	}
	if of, ok := strings.CutPrefix(expr, "[]"); ok {
		if c.is(n, yaml.SequenceNode, at) {
			for i, item := range n.Content {
				c.walk(item, of, in, fmt.Sprintf("%s[%d]", at, i))
			}
		}
		return
	}
	if of, ok := strings.CutPrefix(expr, "{}"); ok {
		if c.is(n, yaml.MappingNode, at) {
			for k, v := range yamltree.Fields(n) {
				c.walk(v, of, in, yamltree.JoinField(at, k.Value))
			}
		}
		return
	}
	if name, ok := strings.CutPrefix(expr, "."); ok {
		if c.is(n, yaml.MappingNode, at) {
			c.fieldsOf(n, name, in, at)
		}
		return
	}
	if values, ok := strings.CutPrefix(expr, "="); ok {
		if c.scalar(n, "string", at) {
			c.oneOf(n, strings.Split(values, "|"), at)
		}
		return
	}
	c.scalar(n, expr, at)
}

// fieldsOf checks the fields of a mapping against those of a type.
func (c *checker) fieldsOf(n *yaml.Node, typeName string, in minors, at string) {
	for k, v := range yamltree.Fields(n) {
		if k.Value == yamltree.MergeKey {
			continue
		}
		field := yamltree.JoinField(at, k.Value)
		switch exprs := c.field(typeName, k.Value, in); {
		case len(exprs) == 0:
			c.found(UnknownField, k, field, "unknown field "+field, api.DidYouMean(k.Value, c.fieldNames(typeName, in)))
		case typeName == objectMeta && (k.Value == "labels" || k.Value == "annotations"):
			c.strings(v, k.Value == "labels", field)
		default: // the types of several minor versions: that of the last one accepts what the others do
			c.walk(v, exprs[len(exprs)-1], in, field)
		}
	}
	have := yamltree.Merged(n)
	for _, name := range c.required(typeName, in) {
		if v := yamltree.Deref(have[name]); yamltree.IsNull(v) || yamltree.IsScalar(v) && v.Value == "" || yamltree.IsSeq(v) && len(v.Content) == 0 { // the server reads these as absent
			c.found(Required, n, yamltree.JoinField(at, name), "required field "+yamltree.JoinField(at, name)+" is missing", "")
		}
	}
}

// strings checks labels or annotations.
func (c *checker) strings(n *yaml.Node, labels bool, at string) {
	n = yamltree.Deref(n)
	if yamltree.IsNull(n) || !c.is(n, yaml.MappingNode, at) {
		return
	}
	what := "annotation"
	if labels {
		what = "label"
	}
	for k, v := range yamltree.Fields(n) {
		key, value := k.Value, yamltree.Deref(v)
		if key == yamltree.MergeKey {
			continue
		}
		field := yamltree.JoinField(at, key)
		tag := typeOf(value)
		if tag != "string" && tag != "null" {
			c.found(Label, k, field, fmt.Sprintf("%s %s is not a string but %s", what, key, article(tag)), "put the value in quotes")
			continue
		}
		problems := validation.IsQualifiedName(strings.ToLower(key))
		if labels {
			if problems = validation.IsQualifiedName(key); tag == "string" {
				problems = append(problems, validation.IsValidLabelValue(value.Value)...)
			}
		}
		if len(problems) > 0 {
			c.found(Label, k, field, fmt.Sprintf("%s %s is invalid: %s", what, key, brief(problems[0])), "")
		}
	}
}

// brief is a rule's text without its example and expression.
func brief(rule string) string {
	rule, _, _ = strings.Cut(rule, " (e.g.")
	return rule
}

// is reports whether a value is of a kind, and finds that it is not.
func (c *checker) is(n *yaml.Node, kind yaml.Kind, at string) bool {
	if n.Kind != kind {
		c.found(Type, n, at, fmt.Sprintf("%s is %s and must be %s", at, article(typeOf(n)), article(map[yaml.Kind]string{yaml.MappingNode: "map", yaml.SequenceNode: "list"}[kind])), "")
	}
	return n.Kind == kind
}

// typeOf names the type of a value as the server reads it; "" for one with a tag of its own.
func typeOf(n *yaml.Node) string {
	switch {
	case yamltree.IsNull(n):
		return "null"
	case n.Kind == yaml.MappingNode:
		return "map"
	case n.Kind == yaml.SequenceNode:
		return "list"
	}
	switch tag := yamltree.Tag(n); tag {
	case yaml.NodeTagString, "!!timestamp": // the server reads a date as text
		return "string"
	case yaml.NodeTagInt:
		return "integer"
	case yaml.NodeTagFloat:
		return "number"
	case yaml.NodeTagBool:
		return "boolean"
	default:
		return ""
	}
}

// article is a type in a sentence.
func article(name string) string {
	switch name {
	case "integer":
		return "an integer"
	case "null":
		return "null"
	default:
		return "a " + name
	}
}

// accepted are the types of values that a scalar's type accepts, and how it is named.
var accepted = map[string]struct {
	types []string
	name  string
}{
	"string": {[]string{"string"}, "a string"}, "byte": {[]string{"string"}, "a string in base64"}, "date-time": {[]string{"string"}, "a time"},
	"boolean": {[]string{"boolean"}, "a boolean"}, "integer": {[]string{"integer", "number"}, "an integer"}, "int32": {[]string{"integer", "number"}, "an integer"}, "int64": {[]string{"integer", "number"}, "an integer"},
	"number": {[]string{"integer", "number"}, "a number"}, "quantity": {[]string{"string", "integer", "number"}, "a quantity"}, "int-or-string": {[]string{"string", "integer", "number"}, "an integer or a string"},
}

// scalar reports whether a value is of a scalar's type, and finds that it is not.
func (c *checker) scalar(n *yaml.Node, want, at string) bool {
	have, to := typeOf(n), accepted[want]
	if have == "" || to.types == nil || have == "null" {
		return false
	}
	if !slices.Contains(to.types, have) {
		hint := ""
		switch {
		case want == "string" && n.Kind == yaml.ScalarNode:
			hint = "put the value in quotes"
		case have == "string" && n.Style != 0 && typeOf(&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value, Line: 1}) == to.types[0]:
			hint = "remove the quotes"
		}
		c.found(Type, n, at, fmt.Sprintf("%s is %s and must be %s", at, article(have), to.name), hint)
		return false
	}
	check, problem := Value, ""
	switch {
	case want == "byte":
		if _, err := base64.StdEncoding.DecodeString(n.Value); err != nil {
			problem = "is not in base64"
		}
	case want == "date-time":
		if _, err := time.Parse(time.RFC3339, n.Value); err != nil {
			problem = "is not a time such as 2026-01-31T09:00:00Z"
		}
	case want == "quantity" && have == "string":
		if _, err := resource.ParseQuantity(strings.TrimSpace(n.Value)); err != nil {
			problem = "is not a quantity such as 500m or 2Gi"
		}
	case have == "string" || want == "number" || want == "quantity" || want == "boolean":
	case !integral(n, want):
		check, problem = Type, "must be an integer"
		if want == "int32" || want == "int-or-string" {
			problem += " of 32 bits"
		}
	}
	if problem != "" { // without the value: it may be secret
		c.found(check, n, at, at+" "+problem, "")
	}
	return problem == ""
}

// integral reports whether a number has an integer of a type.
func integral(n *yaml.Node, want string) bool {
	var f float64
	if err := n.Decode(&f); err != nil {
		return true // of a form that is not known here
	}
	bits := 63.0
	if want == "int32" || want == "int-or-string" {
		bits = 31
	}
	return f == math.Trunc(f) && f >= -math.Pow(2, bits) && f <= math.Pow(2, bits)-1
}

// oneOf checks a value against those that are allowed. Empty is as absent.
func (c *checker) oneOf(n *yaml.Node, values []string, at string) {
	if n.Value == "" || slices.Contains(values, n.Value) {
		return
	}
	hint := "use " + strings.Join(values, ", ")
	if i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, n.Value) }); i >= 0 || len(values) > 10 {
		hint = api.DidYouMean(n.Value, values)
	}
	c.found(Value, n, at, fmt.Sprintf("%s is %s, which is not allowed", at, strconv.Quote(n.Value)), hint)
}

// name checks an object's name, by the rule of its kind.
func (c *checker) name(metadata *yaml.Node, kind groupKind, at string) {
	name, rule := yamltree.Child(metadata, "name"), validation.IsDNS1123Subdomain
	switch {
	case kind == groupKind{"", "LimitRange"} && yamltree.Text(metadata, "name") == "":
		return // the server gives it a name
	case kind.group == "rbac.authorization.k8s.io", kind.group == "certificates.k8s.io", kind.group == "policy", kind.group == "networking.k8s.io" && kind.kind == "IPAddress":
		rule = nil // a segment of a path, or anything
	case kind.group == "" && (kind.kind == "Namespace" || kind.kind == "Service"):
		rule = validation.IsDNS1123Label
	}
	at = yamltree.JoinField(at, "name")
	switch {
	case yamltree.IsNull(name) && yamltree.IsNull(yamltree.Child(metadata, "generateName")):
		c.found(Required, metadata, at, "required field "+at+" is missing", "")
	case rule == nil || typeOf(name) != "string":
	default:
		if problems := rule(name.Value); len(problems) > 0 {
			c.found(Name, name, at, fmt.Sprintf("the name %q is invalid: %s", name.Value, brief(problems[0])), "")
		}
	}
}
