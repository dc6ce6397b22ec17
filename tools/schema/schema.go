// Package schema makes the JSON Schema files of docs/schema, which editors
// complete and check our kinds with, from the Go types and their comments, and
// the generated parts of the functions' pages from function.Docs.
//
//	# yaml-language-server: $schema=docs/schema/installation.json
//
// It knows what one field may be. Rules between fields are in package api,
// which reads the same jsonschema tags.
package schema

//go:generate go run ./mkschema -out ../../docs/schema -functions ../../functions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	configv1alpha2 "github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/api/variform/v1alpha1"
)

const module = "github.com/variform/variform"

// kinds are the documents that have a file.
var kinds = map[string]any{
	configv1alpha2.KindPackageVariantSet: configv1alpha2.PackageVariantSet{},
	configv1alpha1.KindPackageVariant:    configv1alpha1.PackageVariant{},
	configv1alpha1.KindRepository:        configv1alpha1.Repository{},
	v1alpha1.KindPackageManifest:         v1alpha1.PackageManifest{},
	v1alpha1.KindInstallation:            v1alpha1.Installation{},
	v1alpha1.KindCatalog:                 v1alpha1.Catalog{},
	v1alpha1.KindPackageLock:             v1alpha1.PackageLock{},
	v1alpha1.KindInjectConfig:            v1alpha1.InjectConfig{},
	v1alpha1.KindFleet:                   v1alpha1.Fleet{},
	v1alpha1.KindRollout:                 v1alpha1.Rollout{},
	v1alpha1.KindRolloutStrategy:         v1alpha1.RolloutStrategy{},
}

// versionOf is a kind's apiVersion.
func versionOf(kind string) string {
	switch kind {
	case configv1alpha2.KindPackageVariantSet:
		return configv1alpha2.APIVersion
	case configv1alpha1.KindPackageVariant, configv1alpha1.KindRepository:
		return configv1alpha1.APIVersion
	}
	return v1alpha1.APIVersion
}

// Files are the schemas by file name. root leads from the working directory to
// the module's, and dir is the working directory below the module: comments
// are read from the source files there.
func Files(root, dir string) (map[string][]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: foreign, LookupComment: comment}
	for _, src := range []string{"api/variform/v1alpha1", "api/config/v1alpha1", "api/config/v1alpha2"} {
		if err := r.AddGoComments(path.Join(module, dir), path.Join(root, src), jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("reading the comments of %s: %w", src, err)
		}
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	out, err := functionConfigs()
	if err != nil {
		return nil, err
	}
	for kind, obj := range kinds {
		s := r.Reflect(obj)
		s.Title = kind
		only(s, "apiVersion", versionOf(kind))
		only(s, "kind", kind)
		s.Required = append([]string{"apiVersion", "kind"}, s.Required...)
		if meta, ok := s.Properties.Get("metadata"); ok && kind != v1alpha1.KindInjectConfig {
			meta.Required = []string{"name"}
			s.Required = append(s.Required, "metadata")
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			return nil, fmt.Errorf("writing the schema of %s: %w", kind, err)
		}
		out[strings.ToLower(kind)+".json"] = b.Bytes()
	}
	return out, nil
}

// only makes a property have one value.
func only(s *jsonschema.Schema, property, value string) {
	s.Properties.Set(property, &jsonschema.Schema{Type: "string", Const: value})
}

// comment describes the fields that have no comment of their own in the source.
func comment(t reflect.Type, field string) string {
	if field == "ObjectMeta" {
		return "Kubernetes' metadata."
	}
	return others[path.Join(t.Name(), field)]
}

// others describe the fields that come from types of others.
var others = map[string]string{
	"Revision":                          "A revision: a number or a text.",
	"LabelSelector":                     "Kubernetes' selector: all that it says has to be met.",
	"LabelSelector/MatchLabels":         "Labels that it has to have, by key.",
	"LabelSelector/MatchExpressions":    "Requirements on labels.",
	"LabelSelectorRequirement":          "Kubernetes' requirement on a label.",
	"LabelSelectorRequirement/Key":      "The label's key.",
	"LabelSelectorRequirement/Operator": "In, NotIn, Exists or DoesNotExist.",
	"LabelSelectorRequirement/Values":   "What In and NotIn compare with.",
	"Pipeline":                          "kpt's pipeline.",
	"Pipeline/Mutators":                 "Functions that change the package, in order.",
	"Pipeline/Validators":               "Functions that check what the mutators made.",
	"Function":                          "A function of a Kptfile.",
	"Function/Image":                    "The function's image.",
	"Function/Tag":                      "A tag or a range of versions in the place of the image's own.",
	"Function/Exec":                     "A program on this machine; it needs --allow-exec.",
	"Function/ConfigPath":               "The file of the package with the functionConfig.",
	"Function/ConfigMap":                "The functionConfig as keys and values.",
	"Function/Name":                     "A name for messages.",
	"Function/Selectors":                "The resources that it gets; left out, all.",
	"Function/Exclusions":               "The resources that it does not get.",
	"Function/Condition":                "A CEL expression over the resources: whether it runs.",
	"Selector":                          "What resources have to have.",
	"Selector/APIVersion":               "The resources' apiVersion.",
	"Selector/Kind":                     "The resources' kind.",
	"Selector/Name":                     "The resources' name.",
	"Selector/Namespace":                "The resources' namespace.",
	"Selector/Labels":                   "Labels of the resources.",
	"Selector/Annotations":              "Annotations of the resources.",
}

// foreign are the types of others, as far as a document of ours has them.
func foreign(t reflect.Type) *jsonschema.Schema {
	texts := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}, Description: description}
	}
	switch t {
	case reflect.TypeOf(metav1.ObjectMeta{}):
		props := jsonschema.NewProperties()
		props.Set("name", &jsonschema.Schema{Type: "string", Description: "The object's name, a DNS name."})
		props.Set("namespace", &jsonschema.Schema{Type: "string", Description: "The object's namespace."})
		props.Set("labels", texts("Labels of the object."))
		props.Set("annotations", texts("Annotations of the object."))
		return &jsonschema.Schema{Type: "object", Properties: props}
	case reflect.TypeOf(metav1.Condition{}):
		return &jsonschema.Schema{Type: "object", Description: "Kubernetes' condition."}
	case reflect.TypeOf(configv1alpha1.Revision("")):
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}, Examples: []any{"v2", ">=1.2.0 <2"}}
	case reflect.TypeOf(json.RawMessage{}):
		return &jsonschema.Schema{Description: "Any value."}
	case reflect.TypeOf(yaml.RNode{}):
		return &jsonschema.Schema{Type: "object", Description: "A whole object."}
	}
	return nil
}
