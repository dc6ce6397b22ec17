// Package v1alpha2 holds Porch's config.porch.kpt.dev/v1alpha2
// PackageVariantSet (Porch's PackageVariant design, "PackageVariantSet API").
package v1alpha2

import (
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
)

// API identity of the kind in this package.
const (
	APIVersion            = v1alpha1.Group + "/v1alpha2"
	KindPackageVariantSet = "PackageVariantSet"
)

// PackageVariantSet fans one upstream package out over targets.
type PackageVariantSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PackageVariantSetSpec   `json:"spec,omitempty"`
	Status PackageVariantSetStatus `json:"status,omitempty"`
}

// PackageVariantSetSpec is an upstream and a list of targets. Upstreams stands in
// the place of Upstream where each target is to have several; Porch has no such
// field.
type PackageVariantSetSpec struct {
	Upstream  *v1alpha1.Upstream  `json:"upstream,omitempty"`
	Upstreams []v1alpha1.Upstream `json:"upstreams,omitempty"`
	Targets   []Target            `json:"targets,omitempty"`
}

// AllUpstreams are the set's upstreams, however it names them.
func (s *PackageVariantSetSpec) AllUpstreams() []v1alpha1.Upstream {
	if s.Upstream != nil {
		return []v1alpha1.Upstream{*s.Upstream}
	}
	return s.Upstreams
}

// Target has exactly one of Repositories, RepositorySelector and
// ObjectSelector. PackageNames stands beside either selector; empty means one
// package of the upstream's name.
type Target struct {
	Repositories       []RepositoryTarget    `json:"repositories,omitempty"`
	RepositorySelector *metav1.LabelSelector `json:"repositorySelector,omitempty"`
	ObjectSelector     *ObjectSelector       `json:"objectSelector,omitempty"`
	PackageNames       []string              `json:"packageNames,omitempty"`

	Template *PackageVariantTemplate `json:"template,omitempty"`
}

// RepositoryTarget is one Repository by name and the packages to make in it.
type RepositoryTarget struct {
	Name         string   `json:"name"`
	PackageNames []string `json:"packageNames,omitempty"`
}

// ObjectSelector selects any objects of the set's own namespace.
type ObjectSelector struct {
	metav1.LabelSelector `json:",inline"`

	APIVersion string  `json:"apiVersion,omitempty"`
	Kind       string  `json:"kind,omitempty"`
	Name       *string `json:"name,omitempty"`
}

// PackageVariantTemplate makes a PackageVariant from a target. Plain fields
// are constants, Expr fields CEL; an Expr entry beats a plain one of its key.
type PackageVariantTemplate struct {
	Downstream      *DownstreamTemplate         `json:"downstream,omitempty"`
	AdoptionPolicy  *v1alpha1.AdoptionPolicy    `json:"adoptionPolicy,omitempty"`
	DeletionPolicy  *v1alpha1.DeletionPolicy    `json:"deletionPolicy,omitempty"`
	Labels          map[string]string           `json:"labels,omitempty"`
	LabelExprs      []MapExpr                   `json:"labelExprs,omitempty"`
	Annotations     map[string]string           `json:"annotations,omitempty"`
	AnnotationExprs []MapExpr                   `json:"annotationExprs,omitempty"`
	PackageContext  *PackageContextTemplate     `json:"packageContext,omitempty"`
	Pipeline        *PipelineTemplate           `json:"pipeline,omitempty"`
	Injectors       []InjectionSelectorTemplate `json:"injectors,omitempty"`
}

// DownstreamTemplate overrides the target's default repository and package.
type DownstreamTemplate struct {
	Repo        *string `json:"repo,omitempty"`
	Package     *string `json:"package,omitempty"`
	RepoExpr    *string `json:"repoExpr,omitempty"`
	PackageExpr *string `json:"packageExpr,omitempty"`
}

// PackageContextTemplate makes spec.packageContext.
type PackageContextTemplate struct {
	Data           map[string]string `json:"data,omitempty"`
	RemoveKeys     []string          `json:"removeKeys,omitempty"`
	DataExprs      []MapExpr         `json:"dataExprs,omitempty"`
	RemoveKeyExprs []string          `json:"removeKeyExprs,omitempty"`
}

// InjectionSelectorTemplate makes one injector; exactly one of Name and NameExpr is set.
type InjectionSelectorTemplate struct {
	Group    *string `json:"group,omitempty"`
	Version  *string `json:"version,omitempty"`
	Kind     *string `json:"kind,omitempty"`
	Name     *string `json:"name,omitempty"`
	NameExpr *string `json:"nameExpr,omitempty"`
	// Point is the name of the one injection point that it is for, "" for all;
	// Porch has no such field.
	Point string `json:"point,omitempty"`
}

// MapExpr makes one map entry.
type MapExpr struct {
	Key       *string `json:"key,omitempty"`
	Value     *string `json:"value,omitempty"`
	KeyExpr   *string `json:"keyExpr,omitempty"`
	ValueExpr *string `json:"valueExpr,omitempty"`
}

// PipelineTemplate makes spec.pipeline.
type PipelineTemplate struct {
	Validators []FunctionTemplate `json:"validators,omitempty"`
	Mutators   []FunctionTemplate `json:"mutators,omitempty"`
}

// FunctionTemplate is a Kptfile function whose configMap may be computed.
type FunctionTemplate struct {
	kptfilev1.Function `json:",inline"`

	ConfigMapExprs []MapExpr `json:"configMapExprs,omitempty"`
}

// PackageVariantSetStatus follows Porch's PackageVariant design,
// "PackageVariantSet Status".
type PackageVariantSetStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
