package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Activation policies of an Installation.
const (
	ActivationAutomatic = "Automatic"
	ActivationManual    = "Manual"
)

// Installation is what a target has or wants (docs/design/kinds.md). It lives
// in the management directory. Its namespace is that of the target's Repository;
// a namespace in the target is a folder of it, which Target names.
type Installation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec InstallationSpec `json:"spec"`
	// Status is what is there.
	Status InstallationStatus `json:"status,omitempty"`
}

// InstallationSpec is the body of an Installation.
type InstallationSpec struct {
	// Target is the target that it is for, such as a deployment repository, or a folder of one.
	Target string `json:"target,omitempty"`
	// Package is the package to install.
	Package string `json:"package"`
	// Constraints is a version, a range of versions, or the digest of one; empty means the newest.
	Constraints string `json:"constraints,omitempty" jsonschema:"format=semver-range-or-digest"`
	// Prereleases admits prereleases of the package.
	Prereleases *Prereleases `json:"prereleases,omitempty"`
	// Activation is Automatic or Manual (the default in Git): whether a new revision becomes active by itself.
	Activation string `json:"activation,omitempty" jsonschema:"enum=Automatic,enum=Manual"`
	// HistoryLimit is how many inactive revisions are kept; 0 (the default in Git) keeps all.
	HistoryLimit *int `json:"historyLimit,omitempty" jsonschema:"minimum=0"`
	// Share says with whom the installation is shared.
	Share *Share `json:"share,omitempty"`
	// Labels are what dependencies select by.
	Labels map[string]string `json:"labels,omitempty"`
	// Parameters are values by name, and by "alias.name" for what no dependency maps.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Credentials are references to secrets by name, and by "alias.name" for what no dependency maps; never values.
	Credentials map[string]SecretReference `json:"credentials,omitempty"`
	// Dependencies are the user's decisions about dependencies.
	Dependencies *InstallationDependencies `json:"dependencies,omitempty"`
}

// Prereleases admits prereleases with one of the identifiers, any where there are none.
type Prereleases struct {
	// Identifiers are parts of a prerelease, such as beta.
	Identifiers []string `json:"identifiers,omitempty"`
}

// SecretReference names a key of a secret.
type SecretReference struct {
	// Name is the secret's.
	Name string `json:"name"`
	// Key is the key in it; empty means all of them.
	Key string `json:"key,omitempty"`
}

// InstallationDependencies is what the user decides about dependencies.
type InstallationDependencies struct {
	// Enabled is true by default; false leaves the dependencies alone altogether.
	Enabled *bool `json:"enabled,omitempty"`
	// Install is true by default; false only validates what is there.
	Install *bool `json:"install,omitempty"`
	// SearchProviders lets a package of the catalogue be brought that provides an API which nothing else offers.
	SearchProviders bool `json:"searchProviders,omitempty"`
	// Materialise is Graph (the default: everything is created) or Direct (direct dependencies only).
	Materialise string `json:"materialise,omitempty" jsonschema:"enum=Graph,enum=Direct"`
	// AllowChanges lists how existing installations may change; left out it is Upgrade, an empty list allows nothing.
	AllowChanges []string `json:"allowChanges,omitempty" jsonschema:"enum=Upgrade,enum=Downgrade"`
	// Overrides are choices for single dependencies.
	Overrides []DependencyOverride `json:"overrides,omitempty"`
}

// DependencyOverride is a user's choice for a dependency, by the alias in the
// installed package, or by package anywhere. With an alias, Package and
// Reference ("name", "name:version" or "name@digest") say which package to take.
type DependencyOverride struct {
	// Alias is the dependency's in the installed package.
	Alias string `json:"alias,omitempty"`
	// Package is the dependency's package.
	Package string `json:"package,omitempty"`
	// Installation is the installation to use.
	Installation string `json:"installation,omitempty"`
	// Reference is the package to take, "name", "name:version" or "name@digest".
	Reference string `json:"reference,omitempty"`
	// Constraints replaces the range of versions, or is the digest of one.
	Constraints string `json:"constraints,omitempty" jsonschema:"format=semver-range-or-digest"`
	// Prereleases admits prereleases.
	Prereleases *Prereleases `json:"prereleases,omitempty"`
	// Install false declines an optional dependency, and lets others only be validated.
	Install *bool `json:"install,omitempty"`
}

// InstallationStatus is what became of an Installation.
type InstallationStatus struct {
	// Conditions are Kubernetes' own.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// CurrentRevision is the digest (or the version) of the active revision; empty where nothing is installed.
	CurrentRevision string `json:"currentRevision,omitempty"`
	// Outputs are what it has for others, if no catalogue has its version; spec.parameters give the values.
	Outputs []ManifestField `json:"outputs,omitempty"`
	// Provides are the APIs and well-known interfaces that it offers, if no catalogue has its version.
	Provides []Provide `json:"provides,omitempty"`
	// Dependencies are how another tool met its dependencies; what variform resolves is in the target's lock.
	Dependencies []DependencyStatus `json:"dependencies,omitempty"`
}

// DependencyStatus is how one dependency was met (Carvel's dependencies
// proposal).
type DependencyStatus struct {
	// Alias is the dependency's.
	Alias string `json:"alias,omitempty"`
	// Created says that it was made for this installation.
	Created bool `json:"created,omitempty"`
	// Installation is what meets it, "namespace/name" or "name".
	Installation string `json:"installation,omitempty"`
	// Package is the package that meets it.
	Package string `json:"package,omitempty"`
	// Version is the package's.
	Version string `json:"version,omitempty"`
	// GVK is the API that was asked for.
	GVK *GroupVersionKind `json:"gvk,omitempty"`
}
