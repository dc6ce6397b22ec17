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

	// Spec is what is wanted.
	Spec PackageVariantSetSpec `json:"spec,omitempty"`
	// Status is written by a controller; here it is decoded and left alone.
	Status PackageVariantSetStatus `json:"status,omitempty"`
}

// PackageVariantSetSpec is an upstream and a list of targets. Upstreams stands in
// the place of Upstream where each target is to have several; Porch has no such
// field.
type PackageVariantSetSpec struct {
	// Upstream is the package that each target gets.
	Upstream *v1alpha1.Upstream `json:"upstream,omitempty"`
	// Upstreams stand in the place of upstream where each target gets several packages; Porch has no such field.
	Upstreams []v1alpha1.Upstream `json:"upstreams,omitempty"`
	// Targets say where; each has exactly one of repositories, repositorySelector and objectSelector.
	Targets []Target `json:"targets,omitempty"`
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
	// Repositories are named one by one.
	Repositories []RepositoryTarget `json:"repositories,omitempty"`
	// RepositorySelector selects Repositories by label.
	RepositorySelector *metav1.LabelSelector `json:"repositorySelector,omitempty"`
	// ObjectSelector selects any objects of the set's own namespace.
	ObjectSelector *ObjectSelector `json:"objectSelector,omitempty"`
	// PackageNames are the packages to make for each selected object; empty means one of the upstream's name.
	PackageNames []string `json:"packageNames,omitempty"`

	// Template gives the target's variants their fields.
	Template *PackageVariantTemplate `json:"template,omitempty"`
}

// RepositoryTarget is one Repository by name and the packages to make in it.
type RepositoryTarget struct {
	// Name is the Repository's.
	Name string `json:"name" jsonschema:"example=cluster-01"`
	// PackageNames are the packages to make in it; empty means one of the upstream's name.
	PackageNames []string `json:"packageNames,omitempty"`
}

// ObjectSelector selects any objects of the set's own namespace.
type ObjectSelector struct {
	metav1.LabelSelector `json:",inline"`

	// APIVersion is that of the objects; left out, any.
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"example=platform.example.com/v1alpha1"`
	// Kind is that of the objects; left out, any.
	Kind string `json:"kind,omitempty" jsonschema:"example=Team"`
	// Name is that of one object.
	Name *string `json:"name,omitempty" jsonschema:"example=storefront"`
}

// PackageVariantTemplate makes a PackageVariant from a target. Plain fields
// are constants, Expr fields CEL; an Expr entry beats a plain one of its key.
type PackageVariantTemplate struct {
	// Downstream overrides the target's Repository and package.
	Downstream *DownstreamTemplate `json:"downstream,omitempty"`
	// AdoptionPolicy is that of a PackageVariant.
	AdoptionPolicy *v1alpha1.AdoptionPolicy `json:"adoptionPolicy,omitempty" jsonschema:"enum=adoptExisting,enum=adoptNone,default=adoptNone"`
	// DeletionPolicy is that of a PackageVariant.
	DeletionPolicy *v1alpha1.DeletionPolicy `json:"deletionPolicy,omitempty" jsonschema:"enum=delete,enum=orphan,default=delete"`
	// Labels are those of each new Draft.
	Labels map[string]string `json:"labels,omitempty"`
	// LabelExprs compute further labels.
	LabelExprs []MapExpr `json:"labelExprs,omitempty"`
	// Annotations are those of each new Draft.
	Annotations map[string]string `json:"annotations,omitempty"`
	// AnnotationExprs compute further annotations.
	AnnotationExprs []MapExpr `json:"annotationExprs,omitempty"`
	// PackageContext edits the package's kptfile.kpt.dev ConfigMap.
	PackageContext *PackageContextTemplate `json:"packageContext,omitempty"`
	// Pipeline are functions that stand before those of the package's own pipeline.
	Pipeline *PipelineTemplate `json:"pipeline,omitempty"`
	// Injectors name context objects for the package's injection points.
	Injectors []InjectionSelectorTemplate `json:"injectors,omitempty"`
}

// DownstreamTemplate overrides the target's default repository and package.
type DownstreamTemplate struct {
	// Repo is a Repository; left out, the target's.
	Repo *string `json:"repo,omitempty" jsonschema:"example=cluster-01"`
	// Package is the folder to make; left out, the target's name of it.
	Package *string `json:"package,omitempty" jsonschema:"example=web-app"`
	// RepoExpr computes repo.
	RepoExpr *string `json:"repoExpr,omitempty" jsonschema:"example='tenants-' + target.labels['region']"`
	// PackageExpr computes package.
	PackageExpr *string `json:"packageExpr,omitempty" jsonschema:"example='team-' + target.name"`
}

// PackageContextTemplate makes spec.packageContext.
type PackageContextTemplate struct {
	// Data are keys to set.
	Data map[string]string `json:"data,omitempty"`
	// RemoveKeys are keys to take out.
	RemoveKeys []string `json:"removeKeys,omitempty"`
	// DataExprs compute further keys to set.
	DataExprs []MapExpr `json:"dataExprs,omitempty"`
	// RemoveKeyExprs compute further keys to take out.
	RemoveKeyExprs []string `json:"removeKeyExprs,omitempty" jsonschema:"example=repository.labels['env'] + '-only'"`
}

// InjectionSelectorTemplate makes one injector; exactly one of Name and NameExpr is set.
type InjectionSelectorTemplate struct {
	// Group is the context object's API group; left out, any.
	Group *string `json:"group,omitempty" jsonschema:"example=platform.example.com"`
	// Version is the context object's API version; left out, any.
	Version *string `json:"version,omitempty" jsonschema:"example=v1"`
	// Kind is the context object's kind; left out, any.
	Kind *string `json:"kind,omitempty" jsonschema:"example=RegionConfig"`
	// Name is the context object's.
	Name *string `json:"name,omitempty" jsonschema:"example=eu-north"`
	// NameExpr computes name.
	NameExpr *string `json:"nameExpr,omitempty" jsonschema:"example=repository.labels['region']"`
	// Point is the name of the one injection point that it is for, "" for all;
	// Porch has no such field.
	Point string `json:"point,omitempty"`
}

// MapExpr makes one map entry.
type MapExpr struct {
	// Key is the entry's.
	Key *string `json:"key,omitempty" jsonschema:"example=region"`
	// Value is what it has.
	Value *string `json:"value,omitempty" jsonschema:"example=eu"`
	// KeyExpr computes key.
	KeyExpr *string `json:"keyExpr,omitempty"`
	// ValueExpr computes value.
	ValueExpr *string `json:"valueExpr,omitempty" jsonschema:"example=repository.labels['region']"`
}

// PipelineTemplate makes spec.pipeline.
type PipelineTemplate struct {
	// Validators check the rendered package.
	Validators []FunctionTemplate `json:"validators,omitempty"`
	// Mutators change it.
	Mutators []FunctionTemplate `json:"mutators,omitempty"`
}

// FunctionTemplate is a Kptfile function whose configMap may be computed.
type FunctionTemplate struct {
	kptfilev1.Function `json:",inline"`

	// ConfigMapExprs compute further keys of the function's configMap.
	ConfigMapExprs []MapExpr `json:"configMapExprs,omitempty"`
}

// PackageVariantSetStatus follows Porch's PackageVariant design,
// "PackageVariantSet Status".
type PackageVariantSetStatus struct {
	// Conditions are Porch's.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
