package v1alpha1

import (
	"cmp"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PackageLock is the answer of a resolution, one per target, after Crossplane's
// packages v2 (docs/design/dependencies.md#the-lock). Its lists are sorted, so
// that one changed dependency changes its own lines only.
type PackageLock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the answer.
	Spec PackageLockSpec `json:"spec"`
}

// PackageLockSpec is the body of a PackageLock: exact versions with digests,
// and who owns which API.
type PackageLockSpec struct {
	// Target is the target that it is for.
	Target string `json:"target,omitempty"`
	// Packages are the instances, sorted by namespace and name.
	Packages []LockedPackage `json:"packages,omitempty"`
	// CustomResourceDefinitions ("group/Kind") map to the installation that owns them, "namespace/name" or "name".
	CustomResourceDefinitions map[string]string `json:"customResourceDefinitions,omitempty"`
	// Compositions map to the installation that owns them, likewise.
	Compositions map[string]string `json:"compositions,omitempty"`
	// Plan are waves of instances: all of a wave may run at once, after all waves before it. Publication follows it.
	Plan [][]string `json:"plan,omitempty"`
}

// LockedPackage is one instance.
type LockedPackage struct {
	// Name is the instance's.
	Name string `json:"name"`
	// Namespace is where it is; empty is global.
	Namespace string `json:"namespace,omitempty"`
	// Package is empty where it is the same as Name.
	Package string `json:"package,omitempty"`
	// Version is exact.
	Version string `json:"version" jsonschema:"format=semver"`
	// Source is where the content comes from.
	Source string `json:"source,omitempty"`
	// Digest is what was found there.
	Digest string `json:"digest,omitempty"`
	// Owner is what it was first made for, "namespace/name" or "name"; empty where it was asked for by itself.
	Owner string `json:"owner,omitempty"`
	// Why is Requested and NeededBy in a line for people; programs read those.
	Why string `json:"why,omitempty"`
	// Requested reports that it was asked for by itself.
	Requested bool `json:"requested,omitempty"`
	// NeededBy are the instances that need it, each with its alias for it, sorted.
	NeededBy []LockedEdge `json:"neededBy,omitempty"`
	// Share is the group that it is shared in, or mode none, as it was made; absent where all may share it.
	Share *Share `json:"share,omitempty"`
	// Dependencies are the instances that it needs, each with its alias for them, sorted.
	Dependencies []LockedEdge `json:"dependencies,omitempty"`
	// Wiring is where its inputs and outputs come from.
	Wiring []LockedWiring `json:"wiring,omitempty"`
}

// LockedEdge joins two instances of a lock.
type LockedEdge struct {
	// Alias is the dependency's name in the package that has it.
	Alias string `json:"alias,omitempty"`
	// Namespace is where the other instance is; empty is global.
	Namespace string `json:"namespace,omitempty"`
	// Name is the other instance's.
	Name string `json:"name"`
}

// Ref returns the other instance as maps and plans of the lock name it: "namespace/name" or "name".
func (e LockedEdge) Ref() string { return path.Join(e.Namespace, e.Name) }

// Compare orders edges by the other instance, then by alias.
func (e LockedEdge) Compare(o LockedEdge) int {
	return cmp.Or(strings.Compare(e.Namespace, o.Namespace), strings.Compare(e.Name, o.Name), strings.Compare(e.Alias, o.Alias))
}

// LockedWiring is where one input or output of an instance comes from.
type LockedWiring struct {
	// Field is "parameters.x", "credentials.x" or "outputs.x".
	Field string `json:"field"`
	// Template is the value, whose expressions read the scope of Parent.
	Template string `json:"template"`
	// Parent is the instance whose package has the template.
	Parent string `json:"parent,omitempty"`
}
