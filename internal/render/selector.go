package render

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Selector chooses resources: all fields that are given must be equal (AND);
// a list of selectors takes what any of them takes (OR). An empty selector
// matches everything, an empty exclusion nothing, as in kpt.
type Selector struct {
	APIVersion  string            `yaml:"apiVersion,omitempty"`
	Kind        string            `yaml:"kind,omitempty"`
	Name        string            `yaml:"name,omitempty"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

func (s Selector) empty() bool {
	return s.APIVersion == "" && s.Kind == "" && s.Name == "" && s.Namespace == "" &&
		len(s.Labels) == 0 && len(s.Annotations) == 0
}

func (s Selector) matches(r *krm.Resource) bool {
	if s.APIVersion != "" && s.APIVersion != r.APIVersion() ||
		s.Kind != "" && s.Kind != r.Kind() ||
		s.Name != "" && s.Name != r.Name() ||
		s.Namespace != "" && s.Namespace != r.Namespace() {
		return false
	}
	return contains(r.Node(), yaml.LabelsField, s.Labels) && contains(r.Node(), yaml.AnnotationsField, s.Annotations)
}

func contains(n *yaml.RNode, field string, want map[string]string) bool {
	m := yamltree.Path(n.YNode(), yaml.MetadataField, field)
	for k, v := range want {
		if f := yamltree.Child(m, k); f == nil || f.Value != v {
			return false
		}
	}
	return true
}

// selectResources keeps the order of in; each resource is taken once. What SOPS
// encrypted is never taken: its signature covers all values.
func selectResources(in []*krm.Resource, selectors, exclude []Selector) []*krm.Resource {
	out := make([]*krm.Resource, 0, len(in))
	for _, r := range in {
		if !r.Encrypted() && (len(selectors) == 0 || anyMatches(selectors, r, true)) && !anyMatches(exclude, r, false) {
			out = append(out, r)
		}
	}
	return out
}

func anyMatches(ss []Selector, r *krm.Resource, emptyMatches bool) bool {
	for _, s := range ss {
		if s.empty() {
			if emptyMatches {
				return true
			}
			continue
		}
		if s.matches(r) {
			return true
		}
	}
	return false
}
