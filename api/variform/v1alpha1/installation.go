package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Installation is what a target has or wants (design section 3). It lives in the management directory.
type Installation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   InstallationSpec   `json:"spec"`
	Status InstallationStatus `json:"status,omitempty"`
}

// InstallationSpec is the body of an Installation.
type InstallationSpec struct {
	Target  string `json:"target,omitempty"`
	Package string `json:"package"`
	// Constraints is a range of versions; Prereleases admits prereleases with these identifiers.
	Constraints string       `json:"constraints,omitempty"`
	Prereleases *Prereleases `json:"prereleases,omitempty"`
	// Activation is Automatic or Manual (the default in Git); HistoryLimit 0 keeps all revisions.
	Activation   string            `json:"activation,omitempty"`
	HistoryLimit *int              `json:"historyLimit,omitempty"`
	Pull         *Pull             `json:"pull,omitempty"`
	Share        *Share            `json:"share,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	// Parameters and Credentials are by name, and by "alias.name" for inputs that no dependency maps.
	// A credential is a reference to a secret, never its value.
	Parameters   map[string]string          `json:"parameters,omitempty"`
	Credentials  map[string]SecretReference `json:"credentials,omitempty"`
	Dependencies *InstallationDependencies  `json:"dependencies,omitempty"`
}

// Prereleases admits prereleases with one of the identifiers, any where there are none.
type Prereleases struct {
	Identifiers []string `json:"identifiers,omitempty"`
}

// Pull says how content is fetched and run; it flows to what is made for the installation.
type Pull struct {
	ImagePullSecrets          []string          `json:"imagePullSecrets,omitempty"`
	ImagePullPolicy           string            `json:"imagePullPolicy,omitempty"`
	ServiceAccountAnnotations map[string]string `json:"serviceAccountAnnotations,omitempty"`
}

// SecretReference names a key of a secret.
type SecretReference struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`
}

// InstallationDependencies is what the user decides about dependencies.
type InstallationDependencies struct {
	// Enabled and Install default to true: Install false only validates what is there.
	Enabled *bool `json:"enabled,omitempty"`
	Install *bool `json:"install,omitempty"`
	// Materialise is Graph (the default) or Direct.
	Materialise string `json:"materialise,omitempty"`
	// AllowChanges lists Upgrade and Downgrade; absent means Upgrade.
	AllowChanges []string             `json:"allowChanges,omitempty"`
	Overrides    []DependencyOverride `json:"overrides,omitempty"`
	Values       []DependencyValues   `json:"values,omitempty"`
}

// DependencyOverride is a user's choice for a dependency, by alias or by package.
type DependencyOverride struct {
	Alias        string       `json:"alias,omitempty"`
	Package      string       `json:"package,omitempty"`
	Installation string       `json:"installation,omitempty"`
	Reference    string       `json:"reference,omitempty"`
	Constraints  string       `json:"constraints,omitempty"`
	Prereleases  *Prereleases `json:"prereleases,omitempty"`
	Install      *bool        `json:"install,omitempty"`
}

// DependencyValues names a secret with values for a dependency, by alias or by package.
type DependencyValues struct {
	Alias     string          `json:"alias,omitempty"`
	Package   string          `json:"package,omitempty"`
	SecretRef SecretReference `json:"secretRef"`
}

// InstallationStatus is what became of an Installation.
type InstallationStatus struct {
	Conditions      []metav1.Condition `json:"conditions,omitempty"`
	CurrentRevision string             `json:"currentRevision,omitempty"`
	Dependencies    []DependencyStatus `json:"dependencies,omitempty"`
	Sharing         *SharingStatus     `json:"sharing,omitempty"`
}

// DependencyStatus is how one dependency was met (seed 003).
type DependencyStatus struct {
	Alias        string            `json:"alias,omitempty"`
	Created      bool              `json:"created,omitempty"`
	Installation string            `json:"installation,omitempty"`
	Package      string            `json:"package,omitempty"`
	Version      string            `json:"version,omitempty"`
	GVK          *GroupVersionKind `json:"gvk,omitempty"`
}

// SharingStatus caches what is queried when a dependency looks for an installation (seed 000).
type SharingStatus struct {
	InterfaceDigest string   `json:"interfaceDigest,omitempty"`
	Provides        []string `json:"provides,omitempty"`
}
