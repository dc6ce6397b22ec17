package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Owner is what it was first made for, a name as in Dependencies; empty where it was asked for by itself.
	Owner string `json:"owner,omitempty"`
	// Why says who asked for it.
	Why string `json:"why,omitempty"`
	// Share is the group that it is shared in, or mode none, as it was made; absent where all may share it.
	Share *Share `json:"share,omitempty"`
	// Dependencies are names of instances, sorted, with their namespace where that is another.
	Dependencies []string `json:"dependencies,omitempty"`
	// Wiring is where its inputs and outputs come from.
	Wiring []LockedWiring `json:"wiring,omitempty"`
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
