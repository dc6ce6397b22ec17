package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tags named jsonschema are the one place for what a value may be: the
// validation of package api and the files of docs/schema both read them.

// PackageManifest says what one package offers and what it needs
// (docs/design/kinds.md). It stands in the package as package.yaml, local to
// it; its name is the package's.
type PackageManifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the package offers and needs.
	Spec PackageManifestSpec `json:"spec"`
}

// PackageManifestSpec is the body of a PackageManifest.
type PackageManifestSpec struct {
	// Version is the package's own, a full semantic version. Where it is empty the version is that of the tag.
	Version string `json:"version,omitempty" jsonschema:"format=semver"`
	// Scope says how many installations there may be: one per cluster, one per namespace, or Any number (the default).
	Scope string `json:"scope,omitempty" jsonschema:"enum=Cluster,enum=Namespace,enum=Any"`
	// Parameters are values that the package takes.
	Parameters []ManifestInput `json:"parameters,omitempty"`
	// Credentials are values that the package takes as references to secrets.
	Credentials []ManifestInput `json:"credentials,omitempty"`
	// Outputs are values that other packages can read of it.
	Outputs []ManifestOutput `json:"outputs,omitempty"`
	// Provides are the APIs and well-known interfaces that it offers.
	Provides []Provide `json:"provides,omitempty"`
	// Requires are its needs, in any order.
	Requires []Requirement `json:"requires,omitempty"`
}

// ManifestField names a parameter, a credential or an output.
type ManifestField struct {
	// Name is what templates call it.
	Name string `json:"name,omitempty"`
	// Type is a type of JSON schema, such as string.
	Type string `json:"type,omitempty"`
	// ID is a well-known identifier that stands for the name where both sides have one.
	ID string `json:"id,omitempty"`
}

// ManifestInput is a parameter or a credential.
type ManifestInput struct {
	ManifestField `json:",inline"`
	// Required is true unless there is a default or it says otherwise.
	Required *bool `json:"required,omitempty"`
	// Default is the value where nobody gives one, as it is written: 3 is "3".
	Default *string `json:"default,omitempty" jsonschema:"oneof_type=string;number;boolean"`
	// To is where in the package the value goes.
	To *InputTarget `json:"to,omitempty"`
}

// InputTarget is where a value goes: exactly one of its fields.
type InputTarget struct {
	// ContextKey is a key of the package context.
	ContextKey string `json:"contextKey,omitempty"`
	// Setter is a setter of the package's pipeline.
	Setter string `json:"setter,omitempty"`
	// FieldPath is a field of one of the package's resources.
	FieldPath string `json:"fieldPath,omitempty"`
}

// ManifestOutput is an output.
type ManifestOutput struct {
	ManifestField `json:",inline"`
	// ValueFrom is a field path or a CEL expression over the rendered resources.
	ValueFrom string `json:"valueFrom,omitempty"`
}

// GroupVersionKind names an API exactly.
type GroupVersionKind struct {
	// APIVersion is "group/version", or the version alone in the core group.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind, such as ConfigMap.
	Kind string `json:"kind"`
}

// String is "group/version Kind".
func (g GroupVersionKind) String() string { return g.APIVersion + " " + g.Kind }

// Group is the part of the API version before the slash, empty for the core group.
func (g GroupVersionKind) Group() string {
	group, _, ok := strings.Cut(g.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// GroupKind is "group/Kind": what has one owner in a cluster, whatever the version.
func (g GroupVersionKind) GroupKind() string { return g.Group() + "/" + g.Kind }

// Provide is an API, a well-known interface or an object that a package offers: exactly one of them.
type Provide struct {
	// GVK is an API that the package brings.
	GVK *GroupVersionKind `json:"gvk,omitempty"`
	// Interface is a well-known interface that the package implements.
	Interface *ProvidedInterface `json:"interface,omitempty"`
	// Object is a cluster-scoped object that a controller creates from the package, as Crossplane creates Compositions:
	// no file of the package has it. Only one package of a cluster may bring it.
	Object *ProvidedObject `json:"object,omitempty"`
}

// ProvidedObject is a cluster-scoped object.
type ProvidedObject struct {
	// Group is its API group, such as apiextensions.crossplane.io; empty for Kubernetes' core group.
	Group string `json:"group,omitempty"`
	// Kind is its kind.
	Kind string `json:"kind"`
	// Name is its name.
	Name string `json:"name"`
}

// String is Kind.group/name.
func (o ProvidedObject) String() string {
	kind := o.Kind
	if o.Group != "" {
		kind += "." + o.Group
	}
	return kind + "/" + o.Name
}

// ProvidedInterface is a well-known interface at a version.
type ProvidedInterface struct {
	// ID is the interface's identifier, usually a URI.
	ID string `json:"id"`
	// Version is the version that is implemented, a full semantic version.
	Version string `json:"version,omitempty" jsonschema:"format=semver"`
}

// Requirement is one need: a package or an interface (or both: the package is
// then the default implementation), an API, a platform, or alternatives.
type Requirement struct {
	// Alias is what templates and overrides call it; unique in its package.
	Alias string `json:"alias,omitempty"`
	// Optional leaves it out where it cannot be had.
	Optional bool `json:"optional,omitempty"`

	// Package is the package that is needed.
	Package string `json:"package,omitempty"`
	// Version is a range of the package's versions, such as ">=1.2 <2"; "-0" in it admits prereleases. A digest in its
	// place, such as sha256:…, is met by exactly the version that has it.
	Version string `json:"version,omitempty" jsonschema:"format=semver-range-or-digest"`
	// Default is the version that is taken where there is no range, or no version in it.
	Default string `json:"default,omitempty" jsonschema:"format=semver"`
	// Interface says what may stand in for the package.
	Interface *RequiredInterface `json:"interface,omitempty"`
	// GVK is an API that is needed at exactly this version.
	GVK *GroupVersionKind `json:"gvk,omitempty"`
	// Platform is what the package runs on.
	Platform *Platform `json:"platform,omitempty"`
	// AnyOf are alternatives: what is installed or locked comes first, then their order.
	AnyOf []Requirement `json:"anyOf,omitempty"`

	// Share says with whom the instance is shared.
	Share *Share `json:"share,omitempty"`
	// Labels select an installation, and are put on a new one.
	Labels map[string]string `json:"labels,omitempty"`
	// Namespace is where a new installation is made: the parent's where it is left out, global where it is empty.
	Namespace *string `json:"namespace,omitempty"`
	// Parameters are templates by the dependency's names of its parameters.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Credentials are templates by the dependency's names of its credentials.
	Credentials map[string]string `json:"credentials,omitempty"`
	// Outputs are templates by this package's names of its outputs, made of the dependency's.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Lifecycle says which actions on this package also act on the dependency.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
}

// RequiredInterface says what may stand in for a dependency; Reference and Document exclude each other.
type RequiredInterface struct {
	// ID is the identifier of a well-known interface.
	ID string `json:"id,omitempty"`
	// Version is a range of the interface's versions.
	Version string `json:"version,omitempty" jsonschema:"format=semver-range"`
	// Reference is a package, "name", "name:version" or "name@digest", that an implementation must match.
	Reference string `json:"reference,omitempty"`
	// Document lists what an implementation must have.
	Document *InterfaceDocument `json:"document,omitempty"`
}

// InterfaceDocument lists what an implementation has at least.
type InterfaceDocument struct {
	// Parameters that it takes.
	Parameters []ManifestField `json:"parameters,omitempty"`
	// Credentials that it takes.
	Credentials []ManifestField `json:"credentials,omitempty"`
	// Outputs that it has.
	Outputs []ManifestField `json:"outputs,omitempty"`
}

// Platform is what a package runs on, with a range of versions.
type Platform struct {
	// Name is the platform's, such as kubernetes or crossplane.
	Name string `json:"name"`
	// Version is a range of the platform's versions.
	Version string `json:"version,omitempty" jsonschema:"format=semver-range"`
}

// Share is with whom an instance is shared (Porter PEP003, "sharing").
type Share struct {
	// Mode is none (never shared) or group (the default).
	Mode string `json:"mode,omitempty" jsonschema:"enum=none,enum=group"`
	// Group is the group's name, a template; empty is a group too.
	Group string `json:"group,omitempty"`
}

// Lifecycle says which actions on a parent also act on the dependency (Porter
// PEP003, provisional: "Managed Dependency"). An action that is left out
// follows Managed.
type Lifecycle struct {
	// Managed makes every action follow.
	Managed bool `json:"managed,omitempty"`
	// Upgrade follows an upgrade of the parent.
	Upgrade *bool `json:"upgrade,omitempty"`
	// Invoke follows a custom action of the parent.
	Invoke *bool `json:"invoke,omitempty"`
	// Uninstall removes the dependency with its parent, unless something else uses it.
	Uninstall *bool `json:"uninstall,omitempty"`
}

// Does says whether an action on the parent acts on the dependency as well: as the action's own field says, else
// as Managed does.
func (l Lifecycle) Does(action *bool) bool {
	if action != nil {
		return *action
	}
	return l.Managed
}

// Removes says whether the dependency goes with its parent.
func (l Lifecycle) Removes() bool { return l.Does(l.Uninstall) }

// Invokes says whether a custom action of the parent acts on the dependency.
func (l Lifecycle) Invokes() bool { return l.Does(l.Invoke) }

// Upgrades says whether the dependency is upgraded with its parent.
func (l Lifecycle) Upgrades() bool { return l.Does(l.Upgrade) }
