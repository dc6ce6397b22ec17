package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PackageLock is the answer of a resolution, one per target (design section 3, seed 004). Its lists are sorted,
// so that one changed dependency changes its own lines only.
type PackageLock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PackageLockSpec `json:"spec"`
}

// PackageLockSpec is the body of a PackageLock.
type PackageLockSpec struct {
	Target   string          `json:"target,omitempty"`
	Packages []LockedPackage `json:"packages"`
	// CustomResourceDefinitions ("group/Kind") and Compositions map to the installation that owns them.
	CustomResourceDefinitions map[string]string `json:"customResourceDefinitions,omitempty"`
	Compositions              map[string]string `json:"compositions,omitempty"`
}

// LockedPackage is one instance. Dependencies are names, with their namespace where that is another.
type LockedPackage struct {
	Name         string         `json:"name"`
	Namespace    string         `json:"namespace,omitempty"`
	Package      string         `json:"package,omitempty"`
	Version      string         `json:"version"`
	Source       string         `json:"source,omitempty"`
	Digest       string         `json:"digest,omitempty"`
	Dependencies []string       `json:"dependencies,omitempty"`
	Wiring       []LockedWiring `json:"wiring,omitempty"`
}

// LockedWiring is where one input or output of an instance comes from.
type LockedWiring struct {
	Field    string `json:"field"`
	Template string `json:"template"`
	Parent   string `json:"parent,omitempty"`
}
