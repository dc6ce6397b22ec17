// Package v1alpha1 holds Porch's config.porch.kpt.dev/v1alpha1 kinds as
// Variform reads and writes them: PackageVariant and Repository, and Porch's
// porch.kpt.dev/v1alpha1 PackageRevision as data.
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

	Spec   PackageVariantSpec   `json:"spec,omitempty"`
	Status PackageVariantStatus `json:"status,omitempty"`
}

// PackageVariantSpec is the type of that name in Porch's PackageVariant design.
type PackageVariantSpec struct {
	Upstream   *Upstream   `json:"upstream,omitempty"`
	Downstream *Downstream `json:"downstream,omitempty"`

	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty"`
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	PackageContext *PackageContext     `json:"packageContext,omitempty"`
	Pipeline       *kptfilev1.Pipeline `json:"pipeline,omitempty"`
	Injectors      []InjectionSelector `json:"injectors,omitempty"`
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
	Repo          string   `json:"repo,omitempty"`
	Package       string   `json:"package,omitempty"`
	Revision      Revision `json:"revision,omitempty"`
	WorkspaceName string   `json:"workspaceName,omitempty"`
}

// Downstream names the package to make. It has no revision: approval numbers it.
type Downstream struct {
	Repo    string `json:"repo,omitempty"`
	Package string `json:"package,omitempty"`
}

// PackageContext edits the data of the kptfile.kpt.dev ConfigMap. A key in
// both is removed.
type PackageContext struct {
	Data       map[string]string `json:"data,omitempty"`
	RemoveKeys []string          `json:"removeKeys,omitempty"`
}

// InjectionSelector picks a context object by name and by those of group,
// version and kind that are not nil.
type InjectionSelector struct {
	Group   *string `json:"group,omitempty"`
	Version *string `json:"version,omitempty"`
	Kind    *string `json:"kind,omitempty"`
	Name    string  `json:"name"`
	// Point is the name of the one injection point that it is for, "" for all;
	// Porch has no such field.
	Point string `json:"point,omitempty"`
}

// PackageVariantStatus follows Porch's PackageVariant design, "PackageVariant
// Status".
type PackageVariantStatus struct {
	Conditions        []metav1.Condition `json:"conditions,omitempty"`
	DownstreamTargets []DownstreamTarget `json:"downstreamTargets,omitempty"`
}

// DownstreamTarget names one owned Draft or Proposed package revision, or the
// latest Published one where there is neither.
type DownstreamTarget struct {
	Name         string        `json:"name,omitempty"`
	RenderStatus *RenderStatus `json:"renderStatus,omitempty"`
}

// RenderStatus is Porch's; Variform decodes it and never writes it.
type RenderStatus struct {
	Result json.RawMessage `json:"result,omitempty"`
	Err    string          `json:"error"`
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

	Spec   RepositorySpec   `json:"spec,omitempty"`
	Status RepositoryStatus `json:"status,omitempty"`
}

// RepositorySpec is Porch's RepositorySpec.
type RepositorySpec struct {
	Description string          `json:"description,omitempty"`
	Deployment  bool            `json:"deployment,omitempty"`
	Type        RepositoryType  `json:"type,omitempty"`
	Git         *GitRepository  `json:"git,omitempty"`
	OCI         *OCIRepository  `json:"oci,omitempty"`
	Sync        *RepositorySync `json:"sync,omitempty"`

	// Content is decoded for Porch's sake; "Package" is its only value.
	Content string `json:"content,omitempty"`
}

// GitRepository is a Git address. Branch defaults to "main", Directory to the root.
type GitRepository struct {
	Repo         string    `json:"repo"`
	Branch       string    `json:"branch,omitempty"`
	CreateBranch bool      `json:"createBranch,omitempty"`
	Directory    string    `json:"directory,omitempty"`
	Author       string    `json:"author,omitempty"`
	Email        string    `json:"email,omitempty"`
	SecretRef    SecretRef `json:"secretRef,omitempty"`
}

// OCIRepository is a registry address.
type OCIRepository struct {
	Registry  string    `json:"registry"`
	SecretRef SecretRef `json:"secretRef,omitempty"`
}

// SecretRef names a Secret; off-cluster it has no effect.
type SecretRef struct {
	Name string `json:"name,omitempty"`
}

// RepositorySync is Porch's polling schedule; without effect here.
type RepositorySync struct {
	Schedule  string       `json:"schedule,omitempty"`
	RunOnceAt *metav1.Time `json:"runOnceAt,omitempty"`
}

// RepositoryStatus is Porch's; decoded and ignored.
type RepositoryStatus struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	LastFullSyncTime   *metav1.Time       `json:"lastFullSyncTime,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ObservedRunOnceAt  *metav1.Time       `json:"observedRunOnceAt,omitempty"`
	PackageCount       int                `json:"packageCount,omitempty"`
	GitCommitHash      string             `json:"gitCommitHash,omitempty"`
	NextFullSyncTime   *metav1.Time       `json:"nextFullSyncTime,omitempty"`
}
