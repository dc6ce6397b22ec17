package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/function"
)

// node is a JSON Schema as far as functionConfigs need one.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Title       string           `json:"title,omitempty"`
	Type        string           `json:"type,omitempty"`
	Const       string           `json:"const,omitempty"`
	Description string           `json:"description,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Items       *node            `json:"items,omitempty"`
	Additional  any              `json:"additionalProperties,omitempty"`
	Required    []string         `json:"required,omitempty"`
}

// schemaOf is the file with the schema of a function's functionConfig: that of
// the kind where it is ours, else one of the function's own.
func schemaOf(name string, config *yaml.RNode) string {
	if config.GetApiVersion() == v1alpha1.APIVersion {
		return strings.ToLower(config.GetKind()) + ".json"
	}
	return name + ".json"
}

// functionConfigs are the schemas of functionConfigs that are no kinds of ours,
// by file name, made from function.Docs. A ConfigMap's data has the function's
// options alone; a kind of others may have fields that the function leaves alone.
func functionConfigs() (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, doc := range function.Docs {
		config, err := yaml.Parse(doc.Config)
		if err != nil {
			return nil, fmt.Errorf("%s: its functionConfig: %w", name, err)
		}
		if schemaOf(name, config) != name+".json" {
			continue
		}
		root := &node{
			Schema: "https://json-schema.org/draft/2020-12/schema", Title: "functionConfig of " + name, Type: "object", Description: doc.Short + ".",
			Properties: map[string]*node{
				"apiVersion": {Type: "string", Const: config.GetApiVersion()},
				"kind":       {Type: "string", Const: config.GetKind()},
				"metadata":   {Type: "object", Description: "Kubernetes' metadata."},
			},
			Required: []string{"apiVersion", "kind"},
		}
		for _, f := range doc.Fields {
			root.put(strings.Split(f.Path, "."), f)
		}
		if config.GetKind() == "ConfigMap" {
			if root.Properties["data"] == nil { // a function without options
				root.Properties["data"] = &node{Type: "object"}
			}
			root.Properties["data"].Additional = false
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(root); err != nil {
			return nil, fmt.Errorf("writing the schema of %s: %w", name, err)
		}
		out[name+".json"] = b.Bytes()
	}
	return out, nil
}

// put adds a field below n; objects and lists on its way are made.
func (n *node) put(path []string, f function.Field) {
	name, list := strings.CutSuffix(path[0], "[]")
	if n.Properties == nil {
		n.Properties = map[string]*node{}
	}
	if len(path) == 1 {
		n.Properties[name] = fieldNode(f)
		if f.Required {
			n.Required = append(n.Required, name)
		}
		return
	}
	child := n.Properties[name]
	if child == nil {
		child = &node{Type: "object"}
		if list {
			child = &node{Type: "array", Items: &node{Type: "object"}}
		}
		n.Properties[name] = child
	}
	if list {
		child = child.Items
	}
	child.put(path[1:], f)
}

// fieldNode is the schema of one field; options in a ConfigMap are texts.
func fieldNode(f function.Field) *node {
	n := &node{Description: sentence(f.Text), Enum: f.Values, Pattern: f.Pattern}
	switch f.Type {
	case "strings", "objects":
		n.Type, n.Items = "array", &node{Type: strings.TrimSuffix(f.Type, "s")}
	case "texts":
		n.Type, n.Additional = "object", &node{Type: "string"}
	case "object":
		n.Type = f.Type
	default:
		n.Type = "string"
	}
	return n
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }
