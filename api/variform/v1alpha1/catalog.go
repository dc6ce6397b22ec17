package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Catalog says where versions come from, and which package implements an interface by default (design section 3).
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CatalogSpec `json:"spec"`
}

// CatalogSpec is the body of a Catalog.
type CatalogSpec struct {
	Sources []CatalogSource `json:"sources,omitempty"`
	// Defaults are the default implementations by interface.
	Defaults map[string]string `json:"defaults,omitempty"`
}

// CatalogSource is a Git repository, whose tags are versions, or an OCI repository: exactly one of them.
type CatalogSource struct {
	Git *GitSource `json:"git,omitempty"`
	OCI *OCISource `json:"oci,omitempty"`
	// Packages are the packages to take; empty means all.
	Packages []string `json:"packages,omitempty"`
}

// GitSource is a Git repository and the directory of its packages.
type GitSource struct {
	Repo      string `json:"repo"`
	Directory string `json:"directory,omitempty"`
}

// OCISource is a repository of an OCI registry.
type OCISource struct {
	Repository string `json:"repository"`
}
