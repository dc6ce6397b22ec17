package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// definition is a CustomResourceDefinition: its file, and the schemas of the versions that it
// serves, nil for one without a schema.
type definition struct {
	served  []string
	schemas map[string]*yaml.Node
	lax     bool // unknown fields are kept
}

// definitions are CustomResourceDefinitions by what they define. In a folder with many
// packages there may be several for one kind.
type definitions map[groupKind][]definition

// add adds a CustomResourceDefinition; it ignores any other resource.
func (d definitions) add(r *krm.Resource) {
	if r.Group() != "apiextensions.k8s.io" || r.Kind() != "CustomResourceDefinition" || r.Version() != "v1" {
		return
	}
	root := r.Node().YNode()
	def := definition{schemas: map[string]*yaml.Node{}, lax: yamltree.Text(root, "spec", "preserveUnknownFields") == "true"}
	for _, v := range yamltree.Items(root, "spec", "versions") {
		if name := yamltree.Text(v, "name"); yamltree.Text(v, "served") == "true" {
			def.served = append(def.served, name)
			def.schemas[name] = yamltree.Path(v, "schema", "openAPIV3Schema")
		}
	}
	key := groupKind{yamltree.Text(root, "spec", "group"), yamltree.Text(root, "spec", "names", "kind")}
	d[key] = append(d[key], def)
}

// custom checks an object against the definitions of its kind. Where there are several, those findings
// count that the best one leaves.
func (c *checker) custom(n *yaml.Node, apiVersion, kind, at string, known []definition) {
	before, best := len(c.Findings), -1
	var findings []Finding
	for _, d := range known {
		c.Findings = c.Findings[:before:before]
		c.defined(n, apiVersion, kind, at, d)
		if mine := c.Findings[before:]; best < 0 || len(mine) < best {
			best, findings = len(mine), mine
		}
	}
	c.Findings = append(c.Findings[:before:before], findings...)
}

// defined checks an object against one definition.
func (c *checker) defined(n *yaml.Node, apiVersion, kind, at string, d definition) {
	group, version := splitVersion(apiVersion)
	if !slices.Contains(d.served, version) {
		hint := ""
		if len(d.served) > 0 {
			hint = "use " + joinVersion(group, d.served[len(d.served)-1])
		}
		c.found(Version, yamltree.Child(n, "apiVersion"), yamltree.JoinField(at, "apiVersion"), fmt.Sprintf("the CustomResourceDefinition does not serve %s %s", apiVersion, kind), hint)
		return
	}
	if schema := d.schemas[version]; schema != nil {
		c.follow(n, schema, at, d.lax, true)
	}
	if metadata := yamltree.Child(n, "metadata"); yamltree.IsMap(metadata) {
		c.fieldsOf(metadata, objectMeta, c.selected(""), yamltree.JoinField(at, "metadata"))
	}
}

// ofObject are the fields that each object has, whatever its schema.
var ofObject = []string{"apiVersion", "kind", "metadata"}

// follow checks a value against a schema of a CustomResourceDefinition. object means that it
// is an object with metadata of its own, lax that unknown fields are kept at any depth.
func (c *checker) follow(n, schema *yaml.Node, at string, lax, object bool) {
	n = yamltree.Deref(n)
	if yamltree.IsNull(n) { // the server drops it, or it is nullable
		return
	}
	kind := yamltree.Text(schema, "type")
	switch {
	case yes(schema, "x-kubernetes-int-or-string"):
		c.scalar(n, "int-or-string", at)
	case kind == "object":
		if c.is(n, yaml.MappingNode, at) {
			c.members(n, schema, at, lax, object || yes(schema, "x-kubernetes-embedded-resource"))
		}
	case kind == "array":
		if c.is(n, yaml.SequenceNode, at) {
			c.size(len(n.Content), schema, "Items", "items", at, n)
			for i, item := range n.Content {
				c.follow(item, yamltree.Child(schema, "items"), fmt.Sprintf("%s[%d]", at, i), lax, false)
			}
		}
	case kind != "":
		if c.scalar(n, kind, at) {
			c.values(n, schema, kind, at)
		}
	}
}

func yes(schema *yaml.Node, key string) bool { return yamltree.Text(schema, key) == "true" }

// members checks the fields of a mapping.
func (c *checker) members(n, schema *yaml.Node, at string, lax, object bool) {
	properties, additional := yamltree.Child(schema, "properties"), yamltree.Child(schema, "additionalProperties")
	keeps := lax || yes(schema, "x-kubernetes-preserve-unknown-fields") || yamltree.IsScalar(additional) && additional.Value == "true"
	for k, v := range yamltree.Fields(n) {
		field, property := yamltree.JoinField(at, k.Value), yamltree.Child(properties, k.Value)
		switch {
		case k.Value == yamltree.MergeKey || object && slices.Contains(ofObject, k.Value) || object && k.Value == "status":
		case property != nil:
			c.follow(v, property, field, lax, false)
		case yamltree.IsMap(additional):
			c.follow(v, additional, field, lax, false)
		case !keeps:
			c.found(UnknownField, k, field, "unknown field "+field, api.DidYouMean(k.Value, keysOf(properties)))
		}
	}
	have := yamltree.Merged(n)
	for _, name := range yamltree.Items(schema, "required") {
		field := yamltree.Deref(name).Value
		if object && (field == "status" || slices.Contains(ofObject, field)) || yamltree.Path(properties, field, "default") != nil || have[field] != nil {
			continue
		}
		at := yamltree.JoinField(at, field)
		c.found(Required, n, at, "required field "+at+" is missing", "")
	}
}

func keysOf(n *yaml.Node) (keys []string) {
	for k := range yamltree.Fields(n) {
		keys = append(keys, k.Value)
	}
	return keys
}

// values checks a scalar against the values that a schema allows.
func (c *checker) values(n, schema *yaml.Node, kind, at string) {
	if enum := yamltree.Items(schema, "enum"); len(enum) > 0 && !slices.ContainsFunc(enum, func(e *yaml.Node) bool { return yamltree.SameData(e, n) }) {
		names := make([]string, len(enum))
		for i, e := range enum {
			names[i] = yamltree.Deref(e).Value
		}
		if n.Value == "" { // is not as absent here
			c.found(Value, n, at, at+" is empty, which is not allowed", "")
		}
		c.oneOf(n, names, at)
		return
	}
	if kind == "string" {
		c.size(utf8.RuneCountInString(n.Value), schema, "Length", "characters", at, n)
		if p := yamltree.Text(schema, "pattern"); p != "" {
			if re, err := regexp.Compile(p); err == nil && !re.MatchString(n.Value) {
				c.found(Value, n, at, fmt.Sprintf("%s does not match %s", at, p), "")
			}
		}
		return
	}
	var v float64
	if kind == "boolean" || n.Decode(&v) != nil {
		return
	}
	if limit, err := strconv.ParseFloat(yamltree.Text(schema, "minimum"), 64); err == nil && v < limit {
		c.found(Value, n, at, fmt.Sprintf("%s must be at least %v", at, limit), "")
	}
	if limit, err := strconv.ParseFloat(yamltree.Text(schema, "maximum"), 64); err == nil && v > limit {
		c.found(Value, n, at, fmt.Sprintf("%s must be at most %v", at, limit), "")
	}
}

// size checks a number of items or characters.
func (c *checker) size(have int, schema *yaml.Node, of, noun, at string, n *yaml.Node) {
	if limit, err := strconv.Atoi(yamltree.Text(schema, "min"+of)); err == nil && have < limit {
		c.found(Value, n, at, fmt.Sprintf("%s has %d %s and must have at least %d", at, have, noun, limit), "")
	}
	if limit, err := strconv.Atoi(yamltree.Text(schema, "max"+of)); err == nil && have > limit {
		c.found(Value, n, at, fmt.Sprintf("%s has %d %s and must have at most %d", at, have, noun, limit), "")
	}
}
