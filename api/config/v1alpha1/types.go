// Package v1alpha1 holds Porch's config.porch.kpt.dev/v1alpha1 kinds as
// Variform reads and writes them: PackageVariant and Repository, and Porch's
// porch.kpt.dev PackageRevision of v1alpha1 and v1alpha2 as data.
//
// The shapes are those of Porch's PackageVariant design, "PackageVariant API",
// so that existing manifests work unchanged. Decoding is in package api.
package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strconv"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// API identity of the kinds in this package.
const (
	Group              = "config.porch.kpt.dev"
	APIVersion         = Group + "/v1alpha1"
	KindPackageVariant = "PackageVariant"
	KindRepository     = "Repository"

	PorchAPIVersion     = "porch.kpt.dev/v1alpha1"
	PorchAPIVersionV2   = "porch.kpt.dev/v1alpha2"
	KindPackageRevision = "PackageRevision"
)

// AdoptionPolicy says what happens to an existing package of the downstream's
// name that no variant owns. Empty means AdoptNone.
type AdoptionPolicy string

// DeletionPolicy says what happens to the downstream when its variant goes
// away. Empty means Delete.
type DeletionPolicy string

// The policies of Porch's PackageVariant design, "Basic Spec Fields".
const (
	AdoptExisting AdoptionPolicy = "adoptExisting"
	AdoptNone     AdoptionPolicy = "adoptNone"

	DeletionDelete DeletionPolicy = "delete"
	DeletionOrphan DeletionPolicy = "orphan"
)

// PackageVariant derives one downstream package from an upstream one.
type PackageVariant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec PackageVariantSpec `json:"spec,omitempty"`
	// Status is written by a controller; here it is decoded and left alone.
	Status PackageVariantStatus `json:"status,omitempty"`
}

// PackageVariantSpec is the type of that name in Porch's PackageVariant design.
type PackageVariantSpec struct {
	// Upstream is the package to derive from.
	Upstream *Upstream `json:"upstream,omitempty"`
	// Downstream is the package to make.
	Downstream *Downstream `json:"downstream,omitempty"`

	// AdoptionPolicy says whether an existing package of that name that no variant owns is taken over.
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty" jsonschema:"enum=adoptExisting,enum=adoptNone,default=adoptNone"`
	// DeletionPolicy says whether the package is proposed for deletion, or left as it is, when the variant goes away.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty" jsonschema:"enum=delete,enum=orphan,default=delete"`

	// Labels are those of each new Draft.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are those of each new Draft.
	Annotations map[string]string `json:"annotations,omitempty"`

	// PackageContext edits the package's kptfile.kpt.dev ConfigMap.
	PackageContext *PackageContext `json:"packageContext,omitempty"`
	// Pipeline are functions that stand before those of the package's own pipeline.
	Pipeline *kptfilev1.Pipeline `json:"pipeline,omitempty"`
	// Injectors name context objects for the package's injection points; the first that fits a point counts.
	Injectors []InjectionSelector `json:"injectors,omitempty"`
}

// Revision names an upstream revision: an integer (Porch's form, "2"), or a
// string: vN, a tag, a branch, a commit or a semver range
// (docs/design/kinds.md#revisions). Empty with no workspace means the highest
// Published revision.
type Revision string

// UnmarshalJSON accepts a JSON number or string.
func (r *Revision) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*r = Revision(s)
		return nil
	}
	if string(b) == "null" {
		return nil
	}
	var n int64
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("revision must be a string or an integer, not %s", b)
	}
	*r = Revision(strconv.FormatInt(n, 10))
	return nil
}

// MarshalJSON writes a decimal integer as a number, as Porch's CRD wants it,
// and everything else as a string.
func (r Revision) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(r), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(r) {
		return []byte(r), nil
	}
	return json.Marshal(string(r))
}

// Upstream names a package revision. Repo is a Repository in the variant's
// own namespace.
type Upstream struct {
	// Repo is a Repository in the variant's own namespace.
	Repo string `json:"repo,omitempty" jsonschema:"example=catalog"`
	// Package is a folder with a Kptfile, from the directory of the Repository.
	Package string `json:"package,omitempty" jsonschema:"example=web-app"`
	// Revision is a number, a tag, a branch, a commit, latest, or a range of versions; empty with no workspaceName means the highest Published one.
	Revision Revision `json:"revision,omitempty"`
	// WorkspaceName names an open revision, a Published one by the workspace it was drafted in, or the tag PACKAGE/NAME.
	WorkspaceName string `json:"workspaceName,omitempty" jsonschema:"example=v2"`
}

// Downstream names the package to make. It has no revision: approval numbers it.
type Downstream struct {
	// Repo is a Repository in the variant's own namespace; in a template, empty means the target's.
	Repo string `json:"repo,omitempty" jsonschema:"example=cluster-01"`
	// Package is the folder to make there; empty means the upstream's.
	Package string `json:"package,omitempty" jsonschema:"example=web-app"`
}

// PackageContext edits the data of the kptfile.kpt.dev ConfigMap. A key in
// both is removed.
type PackageContext struct {
	// Data are keys to set.
	Data map[string]string `json:"data,omitempty"`
	// RemoveKeys are keys to take out.
	RemoveKeys []string `json:"removeKeys,omitempty"`
}

// InjectionSelector picks a context object by name and by those of group,
// version and kind that are not nil.
type InjectionSelector struct {
	// Group is the context object's API group; left out, any.
	Group *string `json:"group,omitempty" jsonschema:"example=platform.example.com"`
	// Version is the context object's API version; left out, any.
	Version *string `json:"version,omitempty" jsonschema:"example=v1"`
	// Kind is the context object's kind; left out, any.
	Kind *string `json:"kind,omitempty" jsonschema:"example=ConfigMap"`
	// Name is the context object's.
	Name string `json:"name" jsonschema:"example=eu-north"`
	// Point is the name of the one injection point that it is for, "" for all;
	// Porch has no such field.
	Point string `json:"point,omitempty"`
}

// PackageVariantStatus follows Porch's PackageVariant design, "PackageVariant
// Status".
type PackageVariantStatus struct {
	// Conditions are Ready and Stalled.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// DownstreamTargets are the package revisions of the variant.
	DownstreamTargets []DownstreamTarget `json:"downstreamTargets,omitempty"`
}

// DownstreamTarget names one owned Draft or Proposed package revision, or the
// latest Published one where there is neither.
type DownstreamTarget struct {
	// Name is the package revision's.
	Name string `json:"name,omitempty"`
	// RenderStatus is Porch's; decoded and never written.
	RenderStatus *RenderStatus `json:"renderStatus,omitempty"`
}

// RenderStatus is Porch's; Variform decodes it and never writes it.
type RenderStatus struct {
	// Result is what its functions answered.
	Result json.RawMessage `json:"result,omitempty"`
	// Err is why rendering failed.
	Err string `json:"error"`
}

// RepositoryType is where a Repository keeps packages.
type RepositoryType string

// Repository types.
const (
	RepositoryGit RepositoryType = "git"
	RepositoryOCI RepositoryType = "oci"
)

// Repository registers a place that holds packages.
type Repository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is where packages are kept.
	Spec RepositorySpec `json:"spec,omitempty"`
	// Status is Porch's; decoded and left alone.
	Status RepositoryStatus `json:"status,omitempty"`
}

// RepositorySpec is Porch's RepositorySpec.
type RepositorySpec struct {
	// Description is for people.
	Description string `json:"description,omitempty"`
	// Deployment says that what is Published there is deployed: unmet readiness gates hold approval.
	Deployment bool `json:"deployment,omitempty" jsonschema:"default=false"`
	// Type is git or oci; left out, that of the section that is there.
	Type RepositoryType `json:"type,omitempty" jsonschema:"enum=git,enum=oci"`
	// Git is a Git repository.
	Git *GitRepository `json:"git,omitempty"`
	// OCI is a registry: of upstreams alone, variants are written to Git.
	OCI *OCIRepository `json:"oci,omitempty"`
	// Sync is Porch's polling; without effect here.
	Sync *RepositorySync `json:"sync,omitempty"`

	// Content is decoded for Porch's sake; Package is its only value.
	Content string `json:"content,omitempty" jsonschema:"default=Package"`
}

// GitRepository is a Git address. Branch defaults to "main", Directory to the root.
type GitRepository struct {
	// Repo is an address, or a path from the current folder.
	Repo string `json:"repo" jsonschema:"example=https://git.example.com/clusters.git"`
	// Branch is where Published packages are merged.
	Branch string `json:"branch,omitempty" jsonschema:"default=main"`
	// CreateBranch lets an approval create the branch where it does not exist. The new
	// branch holds the approved packages alone.
	CreateBranch bool `json:"createBranch,omitempty" jsonschema:"default=false"`
	// Directory is the folder of the packages; left out, the root.
	Directory string `json:"directory,omitempty" jsonschema:"example=clusters/eu-north-1"`
	// Author is Porch's; without effect here, commits have a fixed identity.
	Author string `json:"author,omitempty"`
	// Email is Porch's; without effect here, as author.
	Email string `json:"email,omitempty"`
	// SecretRef is Porch's; without effect here, Git's own configuration has the credentials.
	SecretRef SecretRef `json:"secretRef,omitempty"`
}

// OCIRepository is a registry address.
type OCIRepository struct {
	// Registry is the address and the path below which packages are.
	Registry string `json:"registry" jsonschema:"example=registry.example.com/packages"`
	// SecretRef is Porch's; without effect here.
	SecretRef SecretRef `json:"secretRef,omitempty"`
}

// SecretRef names a Secret; off-cluster it has no effect.
type SecretRef struct {
	// Name is the Secret's.
	Name string `json:"name,omitempty"`
}

// RepositorySync is Porch's polling schedule; without effect here.
type RepositorySync struct {
	// Schedule is in the form of cron.
	Schedule string `json:"schedule,omitempty"`
	// RunOnceAt is a time.
	RunOnceAt *metav1.Time `json:"runOnceAt,omitempty"`
}

// RepositoryStatus is Porch's; decoded and ignored.
type RepositoryStatus struct {
	// Porch's.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Porch's.
	LastFullSyncTime *metav1.Time `json:"lastFullSyncTime,omitempty"`
	// Porch's.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Porch's.
	ObservedRunOnceAt *metav1.Time `json:"observedRunOnceAt,omitempty"`
	// Porch's.
	PackageCount int `json:"packageCount,omitempty"`
	// Porch's.
	GitCommitHash string `json:"gitCommitHash,omitempty"`
	// Porch's.
	NextFullSyncTime *metav1.Time `json:"nextFullSyncTime,omitempty"`
}
