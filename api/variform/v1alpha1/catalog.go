package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Catalog says where versions come from, and which package implements an
// interface by default (docs/design/kinds.md).
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the catalogue.
	Spec CatalogSpec `json:"spec"`
}

// CatalogSpec is the body of a Catalog.
type CatalogSpec struct {
	// Sources are where versions are found.
	Sources []CatalogSource `json:"sources,omitempty"`
	// Defaults are the packages that implement an interface by default, by the interface's identifier.
	Defaults map[string]string `json:"defaults,omitempty"`
}

// CatalogSource is a Git repository, whose tags are versions, or an OCI repository: exactly one of them.
type CatalogSource struct {
	// Git is a Git repository.
	Git *GitSource `json:"git,omitempty"`
	// OCI is a repository of an OCI registry.
	OCI *OCISource `json:"oci,omitempty"`
	// Packages are the packages to take; empty means all.
	Packages []string `json:"packages,omitempty"`
}

// GitSource is a Git repository and the directory of its packages.
type GitSource struct {
	// Repo is a URL or a path.
	Repo string `json:"repo"`
	// Directory is where the packages are in it; empty is its root.
	Directory string `json:"directory,omitempty"`
	// Ref is a branch, tag or commit at which documents of Carvel or Porter stand that say their versions themselves, as
	// in a folder of a PackageRepository; empty means that tags are versions.
	Ref string `json:"ref,omitempty"`
}

// OCISource is a repository of an OCI registry.
type OCISource struct {
	// Repository is the registry and the repository, without a tag.
	Repository string `json:"repository"`
	// MirrorOf is what others call the repository where they need its Crossplane packages, such as xpkg.crossplane.io:
	// their names are full references, those of the repository itself where this is empty.
	MirrorOf string `json:"mirrorOf,omitempty"`
}
