package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
)

// InjectConfig is the functionConfig of inject-config. Its fields stand at the
// top level, as function configurations have them; under `spec` they are
// accepted too.
type InjectConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Namespace is the only one whose objects are candidates; "default" if empty.
	Namespace string `json:"namespace,omitempty"`

	// Injectors are tried in order for each injection point.
	Injectors []configv1alpha1.InjectionSelector `json:"injectors,omitempty"`

	// Resources are context objects given inline, beside those of the
	// ResourceList that carry ContextAnnotation.
	Resources []*yaml.RNode `json:"resources,omitempty"`
}
