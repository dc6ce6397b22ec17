package resolver

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// What the documents of package v1alpha1 and the engine mean alike is one type.
type (
	// GVK names an API exactly.
	GVK = v1alpha1.GroupVersionKind
	// Object names a cluster-scoped object.
	Object = v1alpha1.ProvidedObject
	// Share says with whom an instance is shared.
	Share = v1alpha1.Share
	// Lifecycle says which actions on a parent also act on the dependency. A nil field follows Managed.
	Lifecycle = v1alpha1.Lifecycle
	// Prereleases admits prereleases with one of these identifiers, or any where there are none.
	Prereleases = v1alpha1.Prereleases
	// Override is a user's choice for a dependency, by the alias in what was asked for, or by package anywhere.
	Override = v1alpha1.DependencyOverride
	// Lock is the recorded answer: exact versions with digests, and who owns which API. Packages are sorted by
	// namespace and name.
	Lock = v1alpha1.PackageLockSpec
	// LockedPackage is one instance of a lock.
	LockedPackage = v1alpha1.LockedPackage
)

// Scope says how many instances of a package there may be.
type Scope string

// The scopes of a package; the empty scope is ScopeAny.
const (
	ScopeAny       Scope = "any"
	ScopeNamespace Scope = "namespace"
	ScopeCluster   Scope = "cluster"
)

// Sharing modes; the empty mode is ModeGroup with the group "".
const (
	ModeGroup = "group"
	ModeNone  = "none"
)

// Package is one version of a package: what it offers and what it needs.
type Package struct {
	Package string `json:"package"`
	Version string `json:"version"`
	// Tag is the name that the version has where it comes from; Source says where, Digest what was found there.
	Tag          string        `json:"tag,omitempty"`
	Source       string        `json:"source,omitempty"`
	Digest       string        `json:"digest,omitempty"`
	Scope        Scope         `json:"scope,omitempty"`
	Parameters   []Field       `json:"parameters,omitempty"`
	Credentials  []Field       `json:"credentials,omitempty"`
	Outputs      []Field       `json:"outputs,omitempty"`
	Provides     []Provide     `json:"provides,omitempty"`
	Requires     []Requirement `json:"requires,omitempty"`
	Compositions []string      `json:"compositions,omitempty"`
	// ContextKeys are the keys of the package context that parameters go to, by the parameter.
	ContextKeys map[string]string `json:"-"`
	// Private says that no catalogue has the version: it is only for who asks for it.
	Private bool `json:"-"`
	// Foreign is what kind of document of another system, such as a Carvel Package, is all that there is of the version:
	// no kpt package can be made of it.
	Foreign string `json:"-"`
	// Gone says that no source has the version with this digest any more: it is only for who has it locked.
	Gone bool `json:"-"`
}

// APIs are those that the package needs, alternatives included, in the order of its requirements.
func (p *Package) APIs() []GVK { return neededAPIs(p.Requires) }

func neededAPIs(list []Requirement) (out []GVK) {
	for i := range list {
		if g := list[i].GVK; g != nil {
			out = append(out, *g)
		}
		out = append(out, neededAPIs(list[i].AnyOf)...)
	}
	return out
}

// Provide adds APIs to those that the package provides, each once.
func (p *Package) Provide(apis ...GVK) {
	for _, g := range apis {
		if !slices.ContainsFunc(p.Provides, func(o Provide) bool { return o.GVK != nil && *o.GVK == g }) {
			p.Provides = append(slices.Clip(p.Provides), Provide{GVK: &g})
		}
	}
}

// Bring adds an object to those that the package brings.
func (p *Package) Bring(o Object) {
	if o.Group == compositionGroup && o.Kind == compositionKind {
		p.Compositions = append(p.Compositions, o.Name)
		return
	}
	p.Provides = append(p.Provides, Provide{Object: &o})
}

// Brought lists the objects that the package brings.
func (p *Package) Brought() (out []Object) {
	for _, o := range p.Provides {
		if o.Object != nil {
			out = append(out, *o.Object)
		}
	}
	for _, name := range p.Compositions {
		out = append(out, Object{Group: compositionGroup, Kind: compositionKind, Name: name})
	}
	return out
}

// Field is a parameter, a credential or an output. ID, where both sides have one, stands for its name.
type Field struct {
	Name     string  `json:"name,omitempty"`
	Type     string  `json:"type,omitempty"`
	ID       string  `json:"id,omitempty"`
	Required *bool   `json:"required,omitempty"`
	Default  *string `json:"default,omitempty"`
}

// needsValue tells whether a person has to give a value: there is no default and it is not optional.
func (f Field) needsValue() bool { return f.Default == nil && (f.Required == nil || *f.Required) }

// Provide is one thing that a package offers beside itself: an API, a well-known interface, or an object that no other
// package of a cluster may bring.
type Provide struct {
	GVK       *GVK    `json:"gvk,omitempty"`
	Interface string  `json:"interface,omitempty"`
	Version   string  `json:"version,omitempty"`
	Object    *Object `json:"object,omitempty"`
}

// The kind of the objects that [Package.Compositions] names.
const (
	compositionGroup = "apiextensions.crossplane.io"
	compositionKind  = "Composition"
)

// owned lists what no other package of a cluster may bring: APIs by group and kind, and objects as Kind.group/name.
func (p *Package) owned() []string {
	var out []string
	add := func(what string) {
		if !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	for _, o := range p.Provides {
		if o.GVK != nil {
			add(o.GVK.GroupKind())
		}
	}
	for _, o := range p.Brought() {
		add(o.String())
	}
	return out
}

// UnmarshalJSON reads the interface as a string or as {id, version}, and an API under gvk or bare.
func (p *Provide) UnmarshalJSON(data []byte) error {
	var raw struct {
		GVK        *GVK            `json:"gvk"`
		Interface  json.RawMessage `json:"interface"`
		Version    string          `json:"version"`
		Object     *Object         `json:"object"`
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // which a decoder that is told so does not pass on
	if err := d.Decode(&raw); err != nil {
		return err
	}
	*p = Provide{GVK: raw.GVK, Version: raw.Version, Object: raw.Object}
	if raw.Kind != "" {
		p.GVK = &GVK{APIVersion: raw.APIVersion, Kind: raw.Kind}
	}
	if len(raw.Interface) == 0 || json.Unmarshal(raw.Interface, &p.Interface) == nil {
		return nil
	}
	var o struct{ ID, Version string }
	if err := json.Unmarshal(raw.Interface, &o); err != nil {
		return err
	}
	p.Interface, p.Version = o.ID, o.Version
	return nil
}

// Document lists what an implementation of an interface has at least.
type Document struct {
	Parameters  []Field `json:"parameters,omitempty"`
	Credentials []Field `json:"credentials,omitempty"`
	Outputs     []Field `json:"outputs,omitempty"`
}

// Interface says what may stand in for a dependency. Reference (a package of the catalogue, "name" or
// "name:version") and Document exclude each other; the lists beside them are a short form of Document.
type Interface struct {
	ID        string    `json:"id,omitempty"`
	Name      string    `json:"name,omitempty"`
	Version   string    `json:"version,omitempty"`
	Reference string    `json:"reference,omitempty"`
	Document  *Document `json:"document,omitempty"`

	Parameters  []Field `json:"parameters,omitempty"`
	Credentials []Field `json:"credentials,omitempty"`
	Outputs     []Field `json:"outputs,omitempty"`
}

// id is the interface's identifier: its ID, or else its name.
func (i *Interface) id() string {
	if i == nil {
		return ""
	}
	if i.ID != "" {
		return i.ID
	}
	return i.Name
}

// Uses lists what a parent reads from a dependency or sets on it beyond what its templates say.
type Uses struct {
	Outputs    []string `json:"outputs,omitempty"`
	Parameters []string `json:"parameters,omitempty"`
}

// Requirement is one need of a package. Package, Interface, GVK, Platform and AnyOf say of what;
// Package and Interface may stand together: the package is then the default implementation.
type Requirement struct {
	Alias    string `json:"alias,omitempty"`
	Optional bool   `json:"optional,omitempty"`

	Package string `json:"package,omitempty"`
	// Version is a range in the syntax of Masterminds semver v3, or a digest, which exactly the version that has it meets.
	Version string `json:"version,omitempty"`
	// Default is the version (or the digest of one) that is taken where there is no range, or no version in it.
	Default   string        `json:"default,omitempty"`
	Interface *Interface    `json:"interface,omitempty"`
	GVK       *GVK          `json:"gvk,omitempty"`
	Platform  string        `json:"platform,omitempty"`
	AnyOf     []Requirement `json:"anyOf,omitempty"`

	// Prereleases admits some that the range leaves out.
	Prereleases *Prereleases `json:"prereleases,omitempty"`
	// After are the aliases of requirements that run before this one, whatever else orders them.
	After []string `json:"after,omitempty"`

	Uses      Uses              `json:"uses,omitempty"`
	Share     Share             `json:"share,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Namespace *string           `json:"namespace,omitempty"`

	Parameters  map[string]string `json:"parameters,omitempty"`
	Credentials map[string]string `json:"credentials,omitempty"`
	Outputs     map[string]string `json:"outputs,omitempty"`
	Lifecycle   Lifecycle         `json:"lifecycle,omitempty"`
}

// Actual is what an installation is found to have when one looks, as opposed to what is remembered of it.
type Actual struct {
	Outputs []Field `json:"outputs"`
}

// Installation is an instance of a package that exists. Namespace "" is global.
type Installation struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Package   string `json:"package"`
	// Version may be the digest of one, where that is all that is known. Digest is what was found to be there; empty
	// means that of the version in the catalogue.
	Version string            `json:"version,omitempty"`
	Digest  string            `json:"digest,omitempty"`
	Mode    string            `json:"mode,omitempty"`
	Group   string            `json:"group,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Owner is the installation that it was created for, ManagedBy the one that manages it.
	Owner     string `json:"owner,omitempty"`
	ManagedBy string `json:"managedBy,omitempty"`
	// Bindings are the installations, by alias, that its requirements got.
	Bindings map[string]string `json:"bindings,omitempty"`
	// Outputs are what it has; nil means what its version declares. Actual, when there, is the truth.
	Outputs []Field `json:"outputs,omitempty"`
	Actual  *Actual `json:"actual,omitempty"`
	// Values are the known values of its outputs.
	Values map[string]string `json:"values,omitempty"`
	// Fixed tells that others made it: no dependency changes it.
	Fixed bool `json:"-"`
	// Unversioned tells that nothing says which version it is: Version is a name for it alone.
	Unversioned bool `json:"-"`
	// Unmanaged is set if only an Installation states that it exists.
	Unmanaged bool `json:"-"`
	// Manifest is what it is, where the catalogue does not have its version.
	Manifest *Package `json:"-"`
}

// Ref is "namespace/name", or the name alone of a global installation.
func (i Installation) Ref() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}
