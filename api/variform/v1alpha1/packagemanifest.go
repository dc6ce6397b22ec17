package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PackageManifest says what one package offers and what it needs (design section 3). It stands in the
// package as package.yaml, local to it.
type PackageManifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PackageManifestSpec `json:"spec"`
}

// PackageManifestSpec is the body of a PackageManifest.
type PackageManifestSpec struct {
	Version string `json:"version,omitempty"`
	// Scope is Cluster, Namespace or Any (the default): how many instances there may be.
	Scope       string           `json:"scope,omitempty"`
	Parameters  []ManifestInput  `json:"parameters,omitempty"`
	Credentials []ManifestInput  `json:"credentials,omitempty"`
	Outputs     []ManifestOutput `json:"outputs,omitempty"`
	Provides    []Provide        `json:"provides,omitempty"`
	Requires    []Requirement    `json:"requires,omitempty"`
}

// ManifestField names a parameter, a credential or an output. ID is a well-known identifier that stands for the name.
type ManifestField struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	ID   string `json:"id,omitempty"`
}

// ManifestInput is a parameter or a credential; To says where in the package its value goes.
type ManifestInput struct {
	ManifestField `json:",inline"`
	Required      *bool        `json:"required,omitempty"`
	Default       *string      `json:"default,omitempty"`
	To            *InputTarget `json:"to,omitempty"`
}

// InputTarget is where a value goes: exactly one of its fields.
type InputTarget struct {
	ContextKey string `json:"contextKey,omitempty"`
	Setter     string `json:"setter,omitempty"`
	FieldPath  string `json:"fieldPath,omitempty"`
}

// ManifestOutput is an output; ValueFrom is a field path or a CEL expression over the rendered resources.
type ManifestOutput struct {
	ManifestField `json:",inline"`
	ValueFrom     string `json:"valueFrom,omitempty"`
}

// GroupVersionKind names an API.
type GroupVersionKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Provide is an API or a well-known interface that a package offers: exactly one of them.
type Provide struct {
	GVK       *GroupVersionKind  `json:"gvk,omitempty"`
	Interface *ProvidedInterface `json:"interface,omitempty"`
}

// ProvidedInterface is a well-known interface at a version.
type ProvidedInterface struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
}

// Requirement is one need: a package or an interface (or both), an API, a platform, or alternatives.
type Requirement struct {
	Alias    string `json:"alias,omitempty"`
	Optional bool   `json:"optional,omitempty"`

	Package   string             `json:"package,omitempty"`
	Version   string             `json:"version,omitempty"`
	Default   string             `json:"default,omitempty"`
	Interface *RequiredInterface `json:"interface,omitempty"`
	GVK       *GroupVersionKind  `json:"gvk,omitempty"`
	Platform  *Platform          `json:"platform,omitempty"`
	AnyOf     []Requirement      `json:"anyOf,omitempty"`

	Share       *Share            `json:"share,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Namespace   *string           `json:"namespace,omitempty"`
	Parameters  map[string]string `json:"parameters,omitempty"`
	Credentials map[string]string `json:"credentials,omitempty"`
	Outputs     map[string]string `json:"outputs,omitempty"`
	Lifecycle   *Lifecycle        `json:"lifecycle,omitempty"`
}

// RequiredInterface says what may stand in for a dependency; Reference and Document exclude each other.
type RequiredInterface struct {
	ID        string             `json:"id,omitempty"`
	Version   string             `json:"version,omitempty"`
	Reference string             `json:"reference,omitempty"`
	Document  *InterfaceDocument `json:"document,omitempty"`
}

// InterfaceDocument lists what an implementation has at least.
type InterfaceDocument struct {
	Parameters  []ManifestField `json:"parameters,omitempty"`
	Credentials []ManifestField `json:"credentials,omitempty"`
	Outputs     []ManifestField `json:"outputs,omitempty"`
}

// Platform is what a package runs on, with a range of versions.
type Platform struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Share is how an instance is shared: mode none, or group (the default) with a group's name.
type Share struct {
	Mode  string `json:"mode,omitempty"`
	Group string `json:"group,omitempty"`
}

// Lifecycle says which actions on a parent also act on the dependency; nil follows Managed.
type Lifecycle struct {
	Managed   bool  `json:"managed,omitempty"`
	Upgrade   *bool `json:"upgrade,omitempty"`
	Invoke    *bool `json:"invoke,omitempty"`
	Uninstall *bool `json:"uninstall,omitempty"`
}
