package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

// Validate checks any object that Parse returns, after Default. It returns all
// findings, none for a type that it does not know.
func Validate(obj any) Issues {
	switch o := obj.(type) {
	case *v1alpha1.PackageVariant:
		return ValidatePackageVariant(o)
	case *v1alpha2.PackageVariantSet:
		return ValidatePackageVariantSet(o)
	case *v1alpha1.Repository:
		return ValidateRepository(o)
	case *v1alpha1.PackageRevision:
		return ValidatePackageRevision(o)
	case *variformv1alpha1.InjectConfig:
		return ValidateInjectConfig(o)
	case *variformv1alpha1.PackageManifest:
		return ValidatePackageManifest(o)
	case *variformv1alpha1.Installation:
		return ValidateInstallation(o)
	case *variformv1alpha1.Catalog:
		return ValidateCatalog(o)
	case *variformv1alpha1.PackageLock:
		return ValidatePackageLock(o)
	case *variformv1alpha1.Fleet:
		return ValidateFleet(o)
	case *variformv1alpha1.Rollout:
		return ValidateRollout(o)
	case *variformv1alpha1.RolloutStrategy:
		return ValidateRolloutStrategy(o)
	}
	return nil
}

// metadata checks what Kubernetes would check.
func (i *Issues) metadata(m *metav1.ObjectMeta) {
	if m.Name == "" {
		i.add("metadata.name", "metadata.name is a required field", "")
	} else {
		i.name("metadata.name", m.Name)
	}
	i.namespace("metadata.namespace", m.Namespace)
	i.labels("metadata.labels", m.Labels)
	i.annotations("metadata.annotations", m.Annotations)
}

func (i *Issues) name(field, value string) {
	if msgs := validation.IsDNS1123Subdomain(value); len(msgs) > 0 {
		i.add(field, fmt.Sprintf("%s: %q is not a valid name", field, value), msgs[0])
	}
}

func (i *Issues) namespace(field, value string) {
	if value == "" {
		return
	}
	if msgs := validation.IsDNS1123Label(value); len(msgs) > 0 {
		i.add(field, fmt.Sprintf("%s: %q is not a valid namespace", field, value), msgs[0])
	}
}

func (i *Issues) labels(field string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := CheckLabel(k, m[k]); err != nil {
			at := keyed(field, k)
			i.add(at, fmt.Sprintf("%s: %v", at, err), "")
		}
	}
}

func (i *Issues) annotations(field string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := CheckAnnotation(k); err != nil {
			at := keyed(field, k)
			i.add(at, fmt.Sprintf("%s: %v", at, err), "")
		}
	}
	if says, ok := m[variformv1alpha1.ReviewDraftAnnotation]; ok && says != "true" && says != "false" {
		at := keyed(field, variformv1alpha1.ReviewDraftAnnotation)
		i.add(at, "annotation "+variformv1alpha1.ReviewDraftAnnotation+` can only be "true" or "false"`, wrongWord(says, "true", "false"))
	}
	if says, ok := m[variformv1alpha1.ReviewAutoMergeAnnotation]; ok && !slices.Contains(autoMerges, says) {
		at := keyed(field, variformv1alpha1.ReviewAutoMergeAnnotation)
		i.add(at, "annotation "+variformv1alpha1.ReviewAutoMergeAnnotation+" can only be "+strings.Join(autoMerges, ", "), wrongWord(says, autoMerges...))
	}
}

var autoMerges = []string{variformv1alpha1.AutoMergeMerge, variformv1alpha1.AutoMergeSquash, variformv1alpha1.AutoMergeRebase, variformv1alpha1.AutoMergeNever}

func (i *Issues) policies(field, wordAfterAdoption string, adoption v1alpha1.AdoptionPolicy, deletion v1alpha1.DeletionPolicy) {
	switch adoption {
	case "", v1alpha1.AdoptNone, v1alpha1.AdoptExisting:
	default:
		at := field + ".adoptionPolicy"
		i.add(at, at+wordAfterAdoption+` can only be "adoptNone" or "adoptExisting"`,
			wrongWord(string(adoption), "adoptNone", "adoptExisting"))
	}
	switch deletion {
	case "", v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan:
	default:
		at := field + ".deletionPolicy"
		i.add(at, at+` can only be "orphan" or "delete"`, wrongWord(string(deletion), "orphan", "delete"))
	}
}

func wrongWord(got string, known ...string) string {
	if hint := didYouMean(got, known); hint != "" {
		return hint
	}
	return fmt.Sprintf("it is %q", got)
}

// reservedContextKeys belong to kpt (Porch's PackageVariant design, "Package
// Context Injection").
var reservedContextKeys = []string{"name", "package-path"}

// IsReservedContextKey says whether a key of the package context is kpt's own.
func IsReservedContextKey(key string) bool {
	return key == reservedContextKeys[0] || key == reservedContextKeys[1]
}

func (i *Issues) packageContext(field string, data map[string]string, removeKeys []string) {
	for _, key := range reservedContextKeys {
		if _, ok := data[key]; ok {
			i.reservedKey(field+".data", data, key)
		}
		for _, k := range removeKeys {
			if k == key {
				i.reservedKey(field+".removeKeys", removeKeys, key)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(data)) {
		i.contextKey(keyed(field+".data", k), k)
	}
	for n, k := range removeKeys {
		if k == "" {
			at := index(field+".removeKeys", n)
			i.add(at, at+" must not be empty", "")
		}
	}
}

func (i *Issues) contextKey(field, key string) {
	if msgs := validation.IsConfigMapKey(key); len(msgs) > 0 {
		i.add(field, fmt.Sprintf("%s: %q is not a valid key of a ConfigMap", field, key), msgs[0])
	}
}

func (i *Issues) reservedKey(field string, value any, key string) {
	i.add(field, fmt.Sprintf("%s: Invalid value: %s: must not contain the key %q", field, compactJSON(value), key),
		"kpt sets this key itself; remove it")
}

func compactJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
