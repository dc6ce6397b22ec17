package schema

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/invopop/jsonschema"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// fleetRules are what one field of a Fleet may be only with another: the API server
// refuses the rest at once, the controller says it again of what was there before.
var fleetRules = []map[string]any{
	{"rule": "has(self.source.git) != has(self.source.objects)", "message": "spec.source needs exactly one of git, objects"},
	{"rule": "!has(self.source.objects) || has(self.manager)", "message": "spec.manager is required with spec.source.objects"},
}

// CRDs are the CustomResourceDefinitions of the kinds that the controller acts on, by
// file name, from the same types and comments as the other schemas.
func CRDs(root, dir string) (map[string][]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, Mapper: foreign, LookupComment: comment}
	if err := r.AddGoComments(path.Join(module, dir), path.Join(root, "api/variform/v1alpha1"), jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("reading the comments of kinds: %w", err)
	}
	data, err := json.Marshal(r.Reflect(v1alpha1.Fleet{}))
	if err != nil {
		return nil, err
	}
	var s map[string]any
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	properties, _ := s["properties"].(map[string]any)
	spec, _ := structural(properties["spec"]).(map[string]any)
	status, _ := structural(properties["status"]).(map[string]any)
	spec["x-kubernetes-validations"] = fleetRules
	conditions(status)
	crd := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "fleets." + v1alpha1.Group},
		"spec": map[string]any{
			"group": v1alpha1.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": v1alpha1.KindFleet, "listKind": v1alpha1.KindFleet + "List", "plural": "fleets", "singular": "fleet"},
			"versions": []any{map[string]any{
				"name": strings.TrimPrefix(v1alpha1.APIVersion, v1alpha1.Group+"/"), "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": []any{
					map[string]any{"name": "Ready", "type": "string", "jsonPath": `.status.conditions[?(@.type=="Ready")].status`},
					map[string]any{"name": "Why", "type": "string", "jsonPath": `.status.conditions[?(@.type=="Ready")].message`},
				},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "required": []any{"spec"},
					"properties": map[string]any{
						"apiVersion": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"}, "metadata": map[string]any{"type": "object"},
						"spec": spec, "status": status,
					},
				}},
			}},
		},
	}
	out, err := yaml.Marshal(crd)
	return map[string][]byte{"fleets.variform.dev.yaml": out}, err
}

// structural is a schema as an API server takes it: unknown fields are its own business.
func structural(s any) any {
	switch s := s.(type) {
	case map[string]any:
		if extra, ok := s["additionalProperties"].(bool); ok && !extra {
			delete(s, "additionalProperties")
		}
		for k, v := range s {
			s[k] = structural(v)
		}
	case []any:
		for n := range s {
			s[n] = structural(s[n])
		}
	}
	return s
}

// conditions makes those of a status Kubernetes' own, which several managers may write.
func conditions(status map[string]any) {
	text := map[string]any{"type": "string"}
	properties, _ := status["properties"].(map[string]any)
	properties["conditions"] = map[string]any{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		"items": map[string]any{
			"type": "object", "required": []any{"type", "status", "lastTransitionTime", "reason", "message"},
			"properties": map[string]any{
				"type": text, "status": map[string]any{"type": "string", "enum": []any{"True", "False", "Unknown"}}, "reason": text, "message": text,
				"lastTransitionTime": map[string]any{"type": "string", "format": "date-time"}, "observedGeneration": map[string]any{"type": "integer", "format": "int64"},
			},
		},
	}
}
