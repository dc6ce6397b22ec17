package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lifecycle is where a package revision stands on its way to publication.
type Lifecycle string

// Porch's lifecycles.
const (
	LifecycleDraft            Lifecycle = "Draft"
	LifecycleProposed         Lifecycle = "Proposed"
	LifecyclePublished        Lifecycle = "Published"
	LifecycleDeletionProposed Lifecycle = "DeletionProposed"
)

// Open reports whether the revision can still change.
func (l Lifecycle) Open() bool { return l == LifecycleDraft || l == LifecycleProposed }

// Approved reports whether the revision was published, and may be going again.
func (l Lifecycle) Approved() bool {
	return l == LifecyclePublished || l == LifecycleDeletionProposed
}

// PackageRevision is Porch's porch.kpt.dev PackageRevision of v1alpha1 or
// v1alpha2, read-only and only as far as expressions and look-ups need it. Other
// fields of Porch's types are ignored when it is decoded.
type PackageRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PackageRevisionSpec   `json:"spec,omitempty"`
	Status PackageRevisionStatus `json:"status,omitempty"`
}

// PackageRevisionStatus has the number of a v1alpha2 PackageRevision, which
// api.Default copies to its Spec; v1alpha1 has it there.
type PackageRevisionStatus struct {
	Revision int `json:"revision,omitempty"`
}

// PackageRevisionSpec names one revision of one package. Revision is 0 for a
// Draft and -1 for the head of the registered branch, as in Porch.
type PackageRevisionSpec struct {
	PackageName   string    `json:"packageName,omitempty"`
	Repository    string    `json:"repository,omitempty"`
	WorkspaceName string    `json:"workspaceName,omitempty"`
	Revision      int       `json:"revision,omitempty"`
	Lifecycle     Lifecycle `json:"lifecycle,omitempty"`
}
